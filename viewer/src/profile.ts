// A recording as the views ask for it: the tree of stacks, functions and lines, what a filter keeps, what a metric
// weighs. Works on whole columns; knows nothing of the page.

import { type Column, type CountName, Data, FRAME_INLINED, FRAME_INTERNAL, FRAME_OTHER, FRAME_OWN } from "./data";
import { lastComponent, plainPath, shortName, shortPath, type Unit } from "./format";

export type MetricName = "peak" | "leaked" | "allocated" | "calls" | "temporary" | "moved";

export interface Metric {
	name: MetricName;
	label: string;
	column: CountName;
	unit: Unit;
	/** what a share is of: "12 % of …" */
	whole: string;
	/** heading of a list of sites */
	question: string;
	/** how many blocks or calls that is */
	also: CountName | null;
	alsoUnit: Unit;
}

export const METRICS: Metric[] = [
	{ name: "peak", label: "Peak", column: "peak_bytes", unit: "bytes", whole: "the peak",
		question: "What holds the memory at the peak", also: "peak_blocks", alsoUnit: "blocks" },
	{ name: "leaked", label: "Leaked", column: "leaked_bytes", unit: "bytes", whole: "all leaked bytes",
		question: "What was never freed", also: "leaked_blocks", alsoUnit: "blocks" },
	{ name: "allocated", label: "Allocated", column: "allocated_bytes", unit: "bytes", whole: "all allocated bytes",
		question: "What allocates the most bytes", also: "allocations", alsoUnit: "calls" },
	{ name: "calls", label: "Calls", column: "allocations", unit: "calls", whole: "all calls",
		question: "What allocates most often", also: "allocated_bytes", alsoUnit: "bytes" },
	{ name: "temporary", label: "Temporary", column: "temporary", unit: "calls", whole: "all temporary calls",
		question: "What allocates in vain", also: "temporary_bytes", alsoUnit: "bytes" },
	{ name: "moved", label: "Moved", column: "moved_bytes", unit: "bytes", whole: "all moved bytes",
		question: "What realloc had to copy", also: "moved", alsoUnit: "calls" },
];

export function metricOf(name: MetricName): Metric {
	return METRICS.find((metric) => metric.name === name)!;
}

/** The metrics that a recording tells; at least one. */
export function metricsOf(data: Data): Metric[] {
	const known = METRICS.filter((metric) => data.knows(metric.column));
	return known.length ? known : METRICS;
}

/** What a dragged range of time answers. */
export type RangeMode = "here" | "calls" | "live" | "grown";
export type Range = { from: number; to: number };

export interface Filter {
	focus: string[];
	ignore: string[];
	module: number | null;
	thread: number | null;
}

export type Side = "new" | "old";

export class Profile {
	readonly nodes: number;
	readonly depth: Column;
	readonly parent: Uint32Array;
	/** one past the last node of each node's subtree */
	readonly end: Uint32Array;
	readonly frameOf: Column;
	/** sites, or whole stacks if the frames of allocators and containers are shown */
	readonly stacks: number;
	readonly stackNode: Column;
	readonly stackOwn: Column;
	/** frames left out at the inner end, of the deepest */
	readonly stackFolded: Column;
	/** which of the stacks each one in the data is part of; null: itself */
	private readonly siteOf: Uint32Array | null = null;
	private readonly sums = new Map<string, Column>();
	readonly frames: number;
	readonly frameFunction: Column;
	readonly frameFile: Column;
	readonly frameLine: Column;
	readonly frameModule: Column;
	readonly frameFlags: Column;
	/** of each frame: its function (name and module), and its line (function, file and line) */
	readonly functionOf: Uint32Array;
	readonly lineOf: Uint32Array;
	/** of each function and line: a frame that is it */
	readonly functionFrame: number[] = [];
	readonly lineFrame: number[] = [];
	readonly bins: number;
	private readonly matches = new Map<string, Uint8Array>();
	private readonly shortNames: string[] = [];

	/** internals: whether the innermost frames of allocators and containers are shown. */
	constructor(readonly data: Data, readonly internals = false) {
		this.depth = data.column("node.depth");
		this.nodes = this.depth.length;
		this.frameFunction = data.indices("frame.function", data.stringCount);
		this.frames = this.frameFunction.length;
		this.frameFile = data.indices("frame.file", data.stringCount, this.frames);
		this.frameLine = data.column("frame.line", this.frames);
		this.frameModule = data.indices("frame.module", data.document.modules.length + 1, this.frames);
		this.frameFlags = data.column("frame.flags", this.frames);
		this.frameOf = data.indices("node.frame", Math.max(this.frames, 1), this.nodes);
		this.bins = data.document.bin_us ? data.column("bin.end").length : 0;
		this.parent = new Uint32Array(this.nodes);
		this.end = new Uint32Array(this.nodes).fill(this.nodes);
		this.linkNodes();
		const whole = data.indices("stack.node", this.nodes), folded = data.column("stack.folded", whole.length);
		this.stackNode = whole;
		this.stackOwn = data.has("stack.own") ? data.indices("stack.own", this.nodes) : whole;
		this.stackFolded = new Uint8Array(whole.length);
		if (!internals && folded.some((count) => count > 0)) {
			const sites = this.foldStacks(whole, folded);
			this.siteOf = sites.of;
			this.stackNode = sites.node;
			this.stackOwn = sites.first.map((stack) => this.stackOwn[stack]);
			this.stackFolded = sites.folded;
		}
		this.stacks = this.stackNode.length;
		this.functionOf = new Uint32Array(this.frames);
		this.lineOf = new Uint32Array(this.frames);
		this.nameFrames();
	}

	private linkNodes() {
		const { depth, parent, end } = this;
		const path: number[] = [];
		for (let node = 0; node < this.nodes; node++) {
			while (path.length > depth[node])
				end[path.pop()!] = node;
			parent[node] = path.length ? path[path.length - 1] : 0;
			path.push(node);
		}
	}

	/** Stacks that are the same without their innermost internal frames are one. */
	private foldStacks(whole: Column, folded: Column) {
		const place = new Int32Array(this.nodes).fill(-1), of = new Uint32Array(whole.length);
		const nodes: number[] = [], first: number[] = [], deepest: number[] = [];
		for (let stack = 0; stack < whole.length; stack++) {
			let node = whole[stack];
			for (let i = folded[stack]; i > 0 && this.parent[node]; i--)
				node = this.parent[node];
			let site = place[node];
			if (site < 0) {
				place[node] = site = nodes.length;
				nodes.push(node);
				first.push(stack);
				deepest.push(0);
			}
			of[stack] = site;
			deepest[site] = Math.max(deepest[site], folded[stack]);
		}
		return { of, node: Uint32Array.from(nodes), first: Uint32Array.from(first), folded: Uint32Array.from(deepest) };
	}

	private nameFrames() {
		const functions = new Map<string, number>(), lines = new Map<string, number>();
		const address = this.data.column("frame.address", this.frames);
		for (let frame = 0; frame < this.frames; frame++) {
			const name = this.frameFunction[frame];
			const key = `${name} ${this.frameModule[frame]} ${name ? "" : address[frame]} ${this.frameFlags[frame] & FRAME_OTHER}`;
			let id = functions.get(key);
			if (id === undefined) {
				functions.set(key, (id = functions.size));
				this.functionFrame.push(frame);
			}
			this.functionOf[frame] = id;
			const lineKey = `${id} ${this.frameFile[frame]} ${this.frameLine[frame]}`;
			let line = lines.get(lineKey);
			if (line === undefined) {
				lines.set(lineKey, (line = lines.size));
				this.lineFrame.push(frame);
			}
			this.lineOf[frame] = line;
		}
	}

	// ---- names -------------------------------------------------------------------------------------------------

	/** The whole name of a frame's function. */
	name(frame: number): string {
		const name = this.frameFunction[frame];
		if (this.frameFlags[frame] & FRAME_OTHER)
			return "(other)";
		if (name)
			return this.data.string(name);
		const address = this.data.column("frame.address", this.frames)[frame];
		return address ? `0x${address.toString(16)}` : "(unknown)";
	}

	shortName(frame: number): string {
		const id = this.functionOf[frame];
		return (this.shortNames[id] ??= shortName(this.name(frame)));
	}

	file(frame: number): string {
		return this.data.string(this.frameFile[frame]);
	}

	module(frame: number): string {
		const module = this.frameModule[frame];
		return module ? this.data.document.modules[module - 1].path : "";
	}

	/** The whole path with the line; the module if there is none. */
	wholePlace(frame: number): string {
		const file = this.file(frame), line = this.frameLine[frame];
		return file ? plainPath(file) + (line ? `:${line}` : "") : this.module(frame);
	}

	/** "src/cache.c:69": the path as short as it tells files apart; the module if there is no line. */
	place(frame: number): string {
		const file = this.file(frame);
		if (!file)
			return lastComponent(this.module(frame));
		const line = this.frameLine[frame];
		return shortPath(file, this.data.document.facts.cwd) + (line ? `:${line}` : "");
	}

	/** "cache.c:69": the place without its folders. */
	shortPlace(frame: number): string {
		return lastComponent(this.place(frame));
	}

	isOwn = (frame: number) => (this.frameFlags[frame] & FRAME_OWN) !== 0;
	isInlined = (frame: number) => (this.frameFlags[frame] & FRAME_INLINED) !== 0;
	isInternal = (frame: number) => (this.frameFlags[frame] & FRAME_INTERNAL) !== 0;
	isNameless = (frame: number) => this.frameFunction[frame] === 0 && !this.isOther(frame);
	isOther = (frame: number) => (this.frameFlags[frame] & FRAME_OTHER) !== 0;

	/** Frames of a stack, innermost first. */
	stackFrames(stack: number): number[] {
		const frames = [];
		for (let node = this.stackNode[stack]; node; node = this.parent[node])
			frames.push(this.frameOf[node]);
		return frames;
	}

	/** Which of a stack's frames is the own one. */
	ownPosition(stack: number): number {
		return this.depth[this.stackNode[stack]] - this.depth[this.stackOwn[stack]];
	}

	/** The line that a stack belongs to in lists of sites. */
	ownLine(stack: number): number {
		return this.lineOf[this.frameOf[this.stackOwn[stack]]];
	}

	stackText(stack: number): string {
		return this.stackFrames(stack).map((frame) => {
			const place = this.wholePlace(frame);
			return `${this.name(frame)}${place ? `  ${place}` : ""}${this.isInlined(frame) ? " (inlined)" : ""}`;
		}).join("\n");
	}

	// ---- what a pattern matches --------------------------------------------------------------------------------

	/**
	 * Which functions a pattern matches: "=name" that very name, "/re/" or "/re/i" a regular expression, else text
	 * in any case. Looks at name, file and module.
	 */
	match(pattern: string): Uint8Array {
		let mask = this.matches.get(pattern);
		if (!mask) {
			const test = tester(pattern);
			const exact = pattern.startsWith("=");
			mask = new Uint8Array(this.functionFrame.length);
			this.functionFrame.forEach((frame, id) => {
				if (test(this.name(frame)) || (!exact && test(this.file(frame))))
					mask![id] = 1;
			});
			if (this.matches.size > 50)
				this.matches.clear();
			this.matches.set(pattern, mask);
		}
		return mask;
	}

	/** Which stacks pass through a function of the mask. */
	through(functions: Uint8Array): Uint8Array {
		const { parent, frameOf, functionOf, stackNode } = this;
		const inside = new Uint8Array(this.nodes);
		for (let node = 1; node < this.nodes; node++)
			inside[node] = inside[parent[node]] | functions[functionOf[frameOf[node]]];
		const mask = new Uint8Array(this.stacks);
		for (let stack = 0; stack < this.stacks; stack++)
			mask[stack] = inside[stackNode[stack]];
		return mask;
	}

	/** Which stacks a filter keeps; null: all. The thread is not looked at: it splits stacks (weights). */
	kept(filter: Filter): Uint8Array | null {
		let mask: Uint8Array | null = null;
		const and = (other: Uint8Array, wanted: 0 | 1) => {
			mask ??= new Uint8Array(this.stacks).fill(1);
			for (let stack = 0; stack < this.stacks; stack++)
				mask[stack] &= other[stack] === wanted ? 1 : 0;
		};
		for (const pattern of filter.focus)
			and(this.through(this.match(pattern)), 1);
		for (const pattern of filter.ignore)
			and(this.through(this.match(pattern)), 0);
		if (filter.module !== null) {
			const of = new Uint8Array(this.stacks);
			for (let stack = 0; stack < this.stacks; stack++)
				of[stack] = this.frameModule[this.frameOf[this.stackOwn[stack]]] === filter.module + 1 ? 1 : 0;
			and(of, 1);
		}
		return mask;
	}

	// ---- what stacks weigh -------------------------------------------------------------------------------------

	counts(name: CountName, side: Side = "new"): Column {
		const of = side === "new" ? "stack" : "old", column = `${of}.${name}`, { siteOf } = this;
		if (!siteOf)
			return this.data.counts(of, name, this.stacks);
		let sums = this.sums.get(column);
		if (!sums) {
			const values = this.data.counts(of, name, siteOf.length);
			this.sums.set(column, (sums = new Float64Array(this.stacks)));
			for (let stack = 0; stack < siteOf.length; stack++)
				sums[siteOf[stack]] += values[stack];
		}
		return sums;
	}

	/** A column of stacks, as the stacks that are shown; one past the last stays that. */
	stackColumn(name: string): Column {
		const { siteOf } = this, count = siteOf ? siteOf.length : this.stacks;
		let column = this.sums.get(name);
		if (!column) {
			column = this.data.indices(name, count + 1);
			if (siteOf)
				column = Uint32Array.from(column, (stack) => (stack < count ? siteOf[stack] : this.stacks));
			this.sums.set(name, column);
		}
		return column;
	}

	get hasThreads(): boolean {
		return this.data.has("part.stack");
	}

	/** A count of every stack, as the filter leaves it. */
	weights(name: CountName, kept: Uint8Array | null, thread: number | null = null, side: Side = "new"): Float64Array {
		const weights = new Float64Array(this.stacks);
		if (thread === null || !this.hasThreads || side === "old") {
			weights.set(this.counts(name, side));
		} else {
			const threads = this.data.column("part.thread"), stack = this.stackColumn("part.stack");
			const values = this.data.counts("part", name, threads.length);
			for (let i = 0; i < threads.length; i++)
				if (threads[i] === thread)
					weights[stack[i]] += values[i];
		}
		if (kept)
			for (let i = 0; i < weights.length; i++)
				if (!kept[i])
					weights[i] = 0;
		return weights;
	}

	/** The bins that a range of time covers: [first, last). Bins that it touches count whole. */
	binsOf(range: Range): [number, number] {
		const width = this.data.document.bin_us;
		const first = Math.min(Math.max(Math.floor(range.from / width), 0), Math.max(this.bins - 1, 0));
		return [first, Math.min(Math.max(Math.ceil(range.to / width), first + 1), this.bins)];
	}

	/**
	 * What each stack did in a range of time, and, last, what the stacks without a history of their own did
	 * together. "live" is live at the range's end; "grown" how much more that is than at its start, if it is more.
	 */
	rangeWeights(range: Range, mode: RangeMode, kept: Uint8Array | null): { weights: Float64Array; rest: number } {
		const data = this.data, weights = new Float64Array(this.stacks + 1);
		const ends = data.column("bin.end"), stack = this.stackColumn("change.stack");
		const [first, last] = this.binsOf(range);
		const begin = first ? ends[first - 1] : 0, end = last ? ends[last - 1] : 0;
		if (mode === "here" || mode === "calls") {
			const values = data.column(mode === "here" ? "change.allocated_bytes" : "change.allocations", stack.length);
			for (let i = begin; i < end; i++)
				weights[stack[i]] += values[i];
		} else {
			const allocated = data.column("change.allocated_bytes", stack.length);
			const freed = data.column("change.freed_bytes", stack.length);
			for (let i = mode === "grown" ? begin : 0; i < end; i++)
				weights[stack[i]] += allocated[i] - freed[i];
			for (let i = 0; i < weights.length; i++)
				if (weights[i] < 0)
					weights[i] = 0;
		}
		if (kept)
			for (let i = 0; i < this.stacks; i++)
				if (!kept[i])
					weights[i] = 0;
		return { weights: weights.subarray(0, this.stacks), rest: kept ? 0 : weights[this.stacks] };
	}

	/** Sums of the stacks' weights over every subtree. */
	totals(weights: ArrayLike<number>): Float64Array {
		const totals = new Float64Array(this.nodes);
		const { stackNode, parent } = this;
		for (let stack = 0; stack < this.stacks; stack++)
			totals[stackNode[stack]] += weights[stack];
		for (let node = this.nodes - 1; node > 0; node--)
			totals[parent[node]] += totals[node];
		return totals;
	}

	/** The outermost nodes of functions in the mask: no recursion counts twice. */
	outermost(functions: Uint8Array): number[] {
		const found = [];
		for (let node = 1; node < this.nodes;)
			if (functions[this.functionOf[this.frameOf[node]]]) {
				found.push(node);
				node = this.end[node];
			} else {
				node++;
			}
		return found;
	}

	/** Sums over stacks by their lines: [line, weight] with the largest first; ties by line. */
	sumByLine(weights: ArrayLike<number>, lineOf: ArrayLike<number>): [number, number][] {
		const sums = new Float64Array(this.lineFrame.length), found: [number, number][] = [];
		for (let stack = 0; stack < this.stacks; stack++)
			sums[lineOf[stack]] += weights[stack];
		sums.forEach((weight, line) => { if (weight) found.push([line, weight]); });
		return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	}
}

/** A test for a pattern (Profile.match). What is no valid regular expression is looked for as it stands. */
export function tester(pattern: string): (text: string) => boolean {
	if (pattern.startsWith("="))
		return (text) => text === pattern.slice(1);
	const slashes = /^\/(.*)\/(i?)$/s.exec(pattern);
	if (slashes) {
		try {
			const expression = new RegExp(slashes[1], slashes[2]);
			return (text) => expression.test(text);
		} catch {
			// an expression that is still being typed
		}
	}
	const lower = pattern.toLowerCase();
	return (text) => text.toLowerCase().includes(lower);
}

export function sum(values: ArrayLike<number>): number {
	let total = 0;
	for (let i = 0; i < values.length; i++)
		total += values[i];
	return total;
}

/** The positions of the `most` largest values, the largest first; zeros are left out. */
export function heaviest(values: ArrayLike<number>, most: number): number[] {
	const top: number[] = [];
	for (let i = 0; i < values.length; i++) {
		if (!values[i] || (top.length === most && values[i] <= values[top[most - 1]]))
			continue;
		let at = top.length;
		while (at > 0 && values[top[at - 1]] < values[i])
			at--;
		top.splice(at, 0, i);
		top.length = Math.min(top.length, most);
	}
	return top;
}
