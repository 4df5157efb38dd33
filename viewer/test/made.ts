// Made-up data of any size. The same options give the same data; its sums are right.

import { type Columns, Strings } from "./encode";

const COUNTS = ["allocated_bytes", "allocations", "peak_bytes", "peak_blocks", "live_bytes", "live_blocks", "suppressed_bytes", "suppressed_blocks", "max_bytes", "temporary_bytes",
	"temporary", "moved_bytes", "moved", "reallocations", "lifetime_us"] as const;

const HOSTILE = ["</script><script>window.injected=1</script>", "<img src=x onerror=\"window.injected=1\">", "]]>\"'&lt;<!--", "javascript:window.injected=1",
	"\u202egnp.exe", "a".repeat(3000), "operator<<(std::ostream&, x) {\u0000\u0001}", "__proto__", "constructor"];

function random(seed: number) {
	return () => {
		seed = (seed + 0x6d2b79f5) | 0;
		let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

const WORDS = ["parse", "read", "write", "cache", "index", "table", "grow", "insert", "lookup", "session", "request", "token", "node", "buffer", "page", "flush",
	"merge", "visit", "emit", "resolve", "load", "store", "open", "split"];

export interface Options {
	stacks: number;
	baseline: boolean;
	hostile: boolean;
	warning: boolean;
}

function makeFrames(options: Options, next: () => number, strings: Strings): Columns {
	const count = Math.min(60000, Math.max(40, Math.floor(options.stacks / 20)));
	const columns = { "frame.function": [] as number[], "frame.file": [] as number[], "frame.line": [] as number[], "frame.module": [] as number[],
		"frame.flags": [] as number[] };
	const pick = <T>(list: readonly T[]) => list[Math.floor(next() * list.length)];
	for (let i = 0; i < count; i++) {
		const own = next() < 0.6, word = `${pick(WORDS)}_${pick(WORDS)}`;
		const name = options.hostile && i % 3 === 0 ? HOSTILE[(i / 3) % HOSTILE.length]
			: own ? `app::${pick(WORDS)}<std::pair<int, std::string>, ${i}>::${word}(int, char const*)` : `${word}_${i % 977}`;
		columns["frame.function"].push(strings.add(name));
		columns["frame.file"].push(strings.add(options.hostile && i % 5 === 0 ? HOSTILE[i % HOSTILE.length] : `${own ? "/src/app" : "/usr/src/lib"}/${pick(WORDS)}.cc`));
		columns["frame.line"].push(1 + Math.floor(next() * 900));
		columns["frame.module"].push(own ? 1 : 2 + Math.floor(next() * 3));
		columns["frame.flags"].push((own ? 4 : 0) | (next() < 0.2 ? 1 : 0));
	}
	return columns;
}

/** A tree with `stacks` stacks in it, pre-order: every function calls a few others, and one of them most of the time. */
function makeStacks(options: Options, next: () => number, frames: number): Columns {
	const depth: number[] = [], frame: number[] = [], stackNode: number[] = [], stackOwn: number[] = [];
	const pending = [{ depth: 0, frame: 0, stacks: options.stacks }];
	for (let at; (at = pending.pop());) {
		depth.push(at.depth);
		frame.push(at.frame);
		let left = at.stacks;
		if (at.depth > 2 && (left === 1 || next() < 0.4 || at.depth > 60)) {
			stackNode.push(depth.length - 1);
			stackOwn.push(depth.length - 1);
			left--;
		}
		// siblings never are the same function, so that no two stacks are the same
		for (let child = 0; left > 0; child++) {
			const part = Math.max(1, Math.min(left, Math.floor(left * (child === 0 ? 0.3 + 0.6 * next() : next()))));
			pending.push({ depth: at.depth + 1, frame: (at.frame * 31 + child * 7919 + 1) % frames, stacks: part });
			left -= part;
		}
	}
	return { "node.depth": depth, "node.frame": frame, "stack.node": stackNode, "stack.own": stackOwn };
}

function makeCounts(next: () => number): Record<(typeof COUNTS)[number], number> {
	const calls = 1 + Math.floor(next() ** 8 * 20000), size = 8 + Math.floor(next() ** 6 * 65536);
	const live = next() < 0.3 ? Math.floor(next() * calls) : 0, peak = Math.max(live, Math.floor(next() ** 2 * calls * 0.4)), temporary = Math.floor(next() ** 2 * (calls - live));
	const suppressed = live % 5 ? 0 : live, moved = next() < 0.1 ? Math.floor(next() * calls) : 0;
	return { allocated_bytes: calls * size, allocations: calls, peak_bytes: peak * size, peak_blocks: peak, live_bytes: live * size, live_blocks: live,
		suppressed_bytes: suppressed * size, suppressed_blocks: suppressed, max_bytes: Math.max(peak, 1) * size, temporary_bytes: temporary * size, temporary, moved_bytes: moved * Math.floor(size / 2), moved, reallocations: moved,
		lifetime_us: calls * Math.floor(next() * 5000) };
}

function sumColumn(values: ArrayLike<number>) {
	let sum = 0;
	for (let i = 0; i < values.length; i++)
		sum += values[i];
	return sum;
}

export function make(options: Options): { document: Record<string, any>; columns: Columns } {
	const next = random(7), strings = new Strings(), stacks = options.stacks, duration = 12_400_000, bins = 128;
	const frames = makeFrames(options, next, strings), columns: Columns = { ...frames, ...makeStacks(options, next, frames["frame.line"].length) };
	const sides = options.baseline ? ["stack", "old"] : ["stack"];
	for (const side of sides) {
		for (const name of COUNTS)
			columns[`${side}.${name}`] = new Float64Array(stacks);
		for (let i = 0; i < stacks; i++) {
			const kind = i % 10;
			if (options.baseline && ((side === "stack" && kind === 3) || (side === "old" && kind === 4)))
				continue; // vanished, appeared
			const counts = makeCounts(side === "old" && kind > 4 ? random(i + 1000) : random(i));
			for (const name of COUNTS)
				(columns[`${side}.${name}`] as Float64Array)[i] = counts[name];
		}
	}
	const totalsOf = (side: string) => ({ ...Object.fromEntries(COUNTS.map((name) => [name, sumColumn(columns[`${side}.${name}`])])), peak_us: 8_210_000, frees: 1, events: 1 });

	// a stack's blocks come in one bin; what is live at the end stays, the rest goes in a later bin
	const changes: number[][] = [];
	for (let i = 0; i < stacks; i++) {
		const bin = Math.floor(next() * bins), later = Math.min(bins - 1, bin + 1 + Math.floor(next() * 20));
		const allocated = columns["stack.allocated_bytes"][i], calls = columns["stack.allocations"][i];
		const freed = allocated - columns["stack.live_bytes"][i], frees = calls - columns["stack.live_blocks"][i];
		if (later === bin) {
			changes.push([bin, i, allocated, calls, freed, frees]);
		} else {
			changes.push([bin, i, allocated, calls, 0, 0]);
			if (frees)
				changes.push([later, i, 0, 0, freed, frees]);
		}
	}
	changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	const ends = new Array<number>(bins).fill(0), heap = new Array<number>(bins).fill(0);
	changes.forEach(([bin, , allocated, , freed], i) => {
		ends[bin] = i + 1;
		heap[bin] += allocated - freed;
	});
	for (let bin = 1; bin < bins; bin++) {
		ends[bin] = Math.max(ends[bin], ends[bin - 1]);
		heap[bin] += heap[bin - 1];
	}
	columns["bin.end"] = ends;
	["stack", "allocated_bytes", "allocations", "freed_bytes", "frees"].forEach((name, at) => { columns[`change.${name}`] = changes.map((change) => change[at + 1]); });
	const width = Math.ceil(duration / bins), times = heap.map((_, bin) => bin * width);
	columns["timeline.time_us"] = times;
	columns["timeline.heap_bytes"] = heap;
	columns["rss.time_us"] = times.filter((_, i) => i % 4 === 0);
	columns["rss.bytes"] = heap.filter((_, i) => i % 4 === 0).map((value) => Math.round(value * 1.2) + 4_000_000);
	if (options.baseline) {
		columns["old_timeline.time_us"] = times;
		columns["old_timeline.heap_bytes"] = heap.map((value) => Math.round(value * 0.8));
	}

	const threads = options.stacks > 100000 ? 0 : 4;
	columns["thread.tid"] = Array.from({ length: Math.max(threads, 1) }, (_, i) => 4242 + i);
	columns["thread.name"] = Array.from({ length: Math.max(threads, 1) }, (_, i) => strings.add(options.hostile ? HOSTILE[i] : i ? `worker-${i}` : "server"));
	if (threads) {
		columns["part.thread"] = Array.from({ length: stacks }, (_, i) => Math.floor((i * threads) / stacks));
		columns["part.stack"] = Array.from({ length: stacks }, (_, i) => i);
		for (const name of COUNTS.filter((one) => one !== "max_bytes"))
			columns[`part.${name}`] = columns[`stack.${name}`];
	}
	const sizes = Array.from({ length: stacks }, (_, i) => Math.round(columns["stack.allocated_bytes"][i] / Math.max(columns["stack.allocations"][i], 1)));
	const buckets = sizes.map((size) => (size ? Math.floor(Math.log2(size)) + 1 : 0));
	const histogram = (values: ArrayLike<number>) => {
		const out = new Array<number>(65).fill(0);
		buckets.forEach((bucket, i) => { out[bucket] += values[i]; });
		return out;
	};
	columns["size.blocks"] = histogram(columns["stack.allocations"]);
	columns["size.bytes"] = histogram(columns["stack.allocated_bytes"]);
	columns["lifetime.blocks"] = histogram(columns["stack.allocations"]);
	columns["age.blocks"] = histogram(columns["stack.allocations"]);
	if (threads) {
		columns["size_of.stack"] = columns["part.stack"];
		columns["size_of.bucket"] = buckets;
		columns["size_of.blocks"] = columns["stack.allocations"];
		columns["size_of.bytes"] = columns["stack.allocated_bytes"];
	}
	const source = strings.add("/src/app/parse.cc");
	Object.assign(columns, strings.columns());
	const facts = { program: "/src/app/server", command: options.hostile ? HOSTILE : ["./server", "--once"], cwd: "/src/app", pid: 4242, parent_pid: 0, forked: false,
		start_unix_us: 1764430670000000, duration_us: duration, end: "exit", end_value: 0, lost_events: options.warning ? 12 : 0, truncated_stacks: 0, broken_stacks: 0,
		fallback_stacks: 0, late_events: 0, time_resolution_us: 1, repaired_frees: 0, unknown_frees: 0, peak_rss_bytes: Math.max(...Array.from(columns["rss.bytes"])), stopped: null,
		warning: options.warning ? "the recording is cut off after 4 of 9 members" : null };
	const module = (path: string, own: boolean) => ({ path, build_id: "3f2a91c07d5be8aa4410", start: 1, size: 2, load_us: 1200, unload_us: null, own, has_lines: own });
	const document: Record<string, any> = {
		schema: "heapscope-page-1", heapscope: "made", path: options.hostile ? HOSTILE[0] : "server.hs.gz", raw: false, facts, totals: totalsOf("stack"), site_count: stacks,
		modules: [module(options.hostile ? HOSTILE[1] : "/src/app/server", true), module("/usr/lib/libc.so.6", false), module("/usr/lib/libssl.so.3", false), module("/usr/lib/libz.so.1", false)],
		marks: [{ name: options.hostile ? HOSTILE[1] : "load", time_us: 400_000, end_us: 2_000_000 }, { name: options.hostile ? HOSTILE[0] : "serve", time_us: 2_500_000, end_us: null }],
		pruned: null, notes: options.hostile ? [HOSTILE[0]] : [],
		sources: [{ file: source, first_line: 1, text: Array.from({ length: 900 }, (_, i) => (options.hostile ? HOSTILE[i % HOSTILE.length] : `\tline_${i + 1}(buffer, size);`)).join("\n") }],
		baseline: options.baseline ? { path: "server.old.hs.gz", facts: { ...facts, lost_events: 0, warning: null }, totals: totalsOf("old"), site_count: stacks, same_program: true,
			work: { amount: "same", common_old_calls: 1000, common_new_calls: 1001, common_old_bytes: 1, common_new_bytes: 1, appeared_functions: 2, appeared_calls: 3,
				vanished_functions: 1, vanished_calls: 1 } } : null,
		bin_us: width,
	};
	return { document, columns };
}
