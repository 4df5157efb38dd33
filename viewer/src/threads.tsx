// Threads and modules: tables of totals that set the filter.

import type { CountName } from "./data";
import { bytes, count, exact, lastComponent, share, time } from "./format";
import { parseSort, toggleSort } from "./groups";
import { notLeaked, profile } from "./model";
import { sum } from "./profile";
import * as state from "./state";
import { Bar, SiteName, Table, type TableColumn } from "./table";

const SUMS = ["peak_bytes", "leaked_bytes", "suppressed_bytes", "allocated_bytes", "allocations", "temporary", "moved_bytes"] as const satisfies CountName[];
const NOTHING = Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<(typeof SUMS)[number], number>;
type Line = typeof NOTHING & { id: number; name: string; note: string };

const VALUES: Record<string, (line: Line) => number | string> = {
	name: (line) => line.name,
	peak: (line) => line.peak_bytes,
	leaked: (line) => line.leaked_bytes,
	allocated: (line) => line.allocated_bytes,
	calls: (line) => line.allocations,
	temporary: (line) => line.temporary,
	moved: (line) => line.moved_bytes,
};

/** What has to be known for a column. */
const NEEDED: Record<string, CountName[]> = { peak: ["peak_bytes"], share: ["peak_bytes"], leaked: ["leaked_bytes"], allocated: ["allocated_bytes"], calls: ["allocations"],
	temporary: ["temporary", "allocations"], moved: ["moved_bytes"] };

function NotLeaked() {
	const { totals } = profile.value.data.document;
	return <>{notLeaked(totals.suppressed_bytes, totals.suppressed_blocks)}</>;
}

function Totals({ lines, label, noun, chosen, choose, extra = [] }: { lines: Line[]; label: string; noun: string; chosen: number | null;
	choose(id: number): void; extra?: [string, string, number, (line: Line) => string][] }) {
	const { totals } = profile.value.data.document;
	const order = parseSort(state.sort.value, VALUES, state.metric.value), of = VALUES[order.key];
	const rows = [...lines].sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (order.up ? 1 : -1) || a.id - b.id);
	const number = (key: string, text: string, from: number | undefined, cell: (line: Line) => string): TableColumn =>
		({ key, label: text, number: true, width: "96px", from: order.key === key ? undefined : from, sortable: true,
			cell: (row) => <span title={exact(Number(VALUES[key](rows[row])), key === "calls" || key === "temporary" ? "calls" : "bytes")
				+ (key === "leaked" && rows[row].suppressed_bytes ? `, and ${exact(rows[row].suppressed_bytes, "bytes")} suppressed` : "")}>{cell(rows[row])}</span> });
	const all: TableColumn[] = [
		{ key: "name", label: noun, width: "minmax(140px, 1fr)", sortable: true,
			cell: (row) => <SiteName name={rows[row].name} place={rows[row].note} title={rows[row].note} /> },
		...extra.map(([key, text, from, cell]): TableColumn => ({ key, label: text, width: "120px", from, cell: (row) => cell(rows[row]) })),
		number("peak", "Peak", undefined, (line) => bytes(line.peak_bytes)),
		{ key: "share", label: "Of the peak", number: true, width: "110px", from: 520, cell: (row) => (
			<span class="share-cell"><Bar part={rows[row].peak_bytes} whole={totals.peak_bytes} />{share(rows[row].peak_bytes, totals.peak_bytes)}</span>) },
		number("leaked", "Leaked", 620, (line) => bytes(line.leaked_bytes)),
		number("allocated", "Allocated", 420, (line) => bytes(line.allocated_bytes)),
		number("calls", "Calls", 720, (line) => count(line.allocations)),
		number("temporary", "Temporary", 820, (line) => share(line.temporary, line.allocations)),
		number("moved", "Moved", 900, (line) => bytes(line.moved_bytes)),
	];
	const columns = all.filter((column) => !(column.key in NEEDED) || NEEDED[column.key].every((name) => profile.value.data.knows(name)));
	return <Table label={label} rows={rows.length} columns={columns} sort={order} onSort={(key) => { state.sort.value = toggleSort(order, key); }}
		selected={chosen === null ? -1 : rows.findIndex((line) => line.id === chosen)} onSelect={(row) => choose(rows[row].id)} />;
}

export function Threads() {
	const { data, hasThreads } = profile.value;
	const tids = data.column("thread.tid"), names = data.column("thread.name", tids.length);
	const lines: Line[] = Array.from(tids, (tid, id) => ({ ...NOTHING, id, name: data.string(names[id]) || `thread ${tid}`, note: `tid ${tid}` }));
	if (hasThreads) {
		const thread = data.indices("part.thread", tids.length);
		for (const name of SUMS) {
			const values = data.counts("part", name, thread.length);
			for (let i = 0; i < thread.length; i++)
				lines[thread[i]][name] += values[i];
		}
	} else if (lines.length === 1) {
		for (const name of SUMS)
			lines[0][name] = sum(profile.value.counts(name));
	}
	const known = hasThreads || lines.length === 1;
	return (
		<div class="split whole-width">
			<section class="pane" aria-label="Threads">
				<p class="quiet tools">{known ? "By the thread that allocated. Choosing one filters every view; choosing it again shows all."
					: "This page does not say which thread allocated what."} <NotLeaked /></p>
				<Totals lines={lines} label="Threads" noun="Thread" chosen={state.thread.value}
					choose={(id) => { if (hasThreads) { state.range.value = null; state.thread.value = state.thread.value === id ? null : id; } }} />
			</section>
		</div>
	);
}

export function Modules() {
	const all = profile.value, { modules } = all.data.document;
	const lines: Line[] = [...modules.map((module, i) => ({ id: i + 1, name: lastComponent(module.path), note: module.path })),
		{ id: 0, name: "(no module)", note: "stacks without a module" }]
		.map((line) => ({ ...NOTHING, ...line }));
	const at = new Map(lines.map((line) => [line.id, line]));
	const key = (stack: number) => all.frameModule[all.frameOf[all.stackOwn[stack]]];
	for (const name of SUMS) {
		const values = all.counts(name);
		for (let stack = 0; stack < all.stacks; stack++)
			at.get(key(stack))![name] += values[stack];
	}
	const shown = lines.filter((line) => line.id || line.allocations);
	const module = (line: Line) => (line.id ? modules[line.id - 1] : null);
	return (
		<div class="split whole-width">
			<section class="pane" aria-label="Modules">
				<p class="quiet tools">By the module of each site's own line. Choosing one filters every view; choosing it again shows all. <NotLeaked /></p>
				<Totals lines={shown} label="Modules" noun="Module" chosen={state.module.value === null ? null : state.module.value + 1}
					choose={(id) => { if (id) state.module.value = state.module.value === id - 1 ? null : id - 1; }}
					extra={[
						["code", "Names", 640, (line) => (module(line) ? (module(line)!.has_lines ? "with lines" : "no lines") : "")],
						["build", "Build-id", 1150, (line) => module(line)?.build_id?.slice(0, 12) ?? ""],
						["loaded", "Loaded at", 1250, (line) => (module(line) ? time(module(line)!.load_us) : "")],
					]} />
			</section>
		</div>
	);
}
