// The table of sites: own lines, stacks, functions, files or modules with all their numbers.

import { useComputed } from "@preact/signals";
import { copyText } from "./clipboard";
import type { CountName } from "./data";
import { Details } from "./details";
import { amount, bytes, count, counted, share, time } from "./format";
import { groupKeys, kept, measure, moduleName, profile, weightsOf } from "./model";
import { tester } from "./profile";
import * as state from "./state";
import { Bar, Table, type TableColumn } from "./table";

const SUMS = ["peak_bytes", "live_bytes", "allocated_bytes", "allocations", "temporary", "moved_bytes", "lifetime_us"] as const satisfies CountName[];
type SumName = (typeof SUMS)[number];

export interface Group {
	key: number;
	label: string;
	place: string;
	frame: number;
	stacks: number;
	/** by the chosen measure */
	value: number;
	sums: Record<SumName, number>;
}

/** Groups of stacks with their sums; those with nothing in them are left out. */
function makeGroups(): Group[] {
	const all = profile.value, by = state.groupBy.value, keys = groupKeys(by);
	const dense = new Map<number, number>(), index = new Uint32Array(all.stacks), groups: Group[] = [];
	const mask = kept.value, weights = measure.value.weights;
	for (let stack = 0; stack < all.stacks; stack++) {
		let at = dense.get(keys[stack]);
		if (at === undefined) {
			dense.set(keys[stack], (at = groups.length));
			const frame = all.frameOf[all.stackOwn[stack]];
			groups.push({ key: keys[stack], label: "", place: "", frame: by === "file" || by === "module" ? -1 : frame, stacks: 0, value: 0,
				sums: Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<SumName, number> });
		}
		index[stack] = at;
		if (!mask || mask[stack]) {
			groups[at].stacks++;
			groups[at].value += weights[stack];
		}
	}
	for (const name of SUMS) {
		const values = weightsOf(name);
		for (let stack = 0; stack < all.stacks; stack++)
			groups[index[stack]].sums[name] += values[stack];
	}
	return groups.filter((group) => group.value || (!state.range.value && group.sums.allocations));
}

export function groupLabel(group: Group): string {
	const all = profile.value;
	if (group.frame >= 0)
		return all.shortName(group.frame);
	return state.groupBy.value === "file" ? all.data.string(group.key) || "(no file)" : moduleName(group.key);
}

function groupPlace(group: Group): string {
	if (group.frame < 0)
		return "";
	const place = profile.value.shortPlace(group.frame);
	return state.groupBy.value === "function" ? place.replace(/:\d+$/, "") : place;
}

const VALUES: Record<string, (group: Group) => number | string> = {
	value: (group) => group.value,
	peak: (group) => group.sums.peak_bytes,
	leaked: (group) => group.sums.live_bytes,
	allocated: (group) => group.sums.allocated_bytes,
	calls: (group) => group.sums.allocations,
	temporary: (group) => group.sums.temporary,
	moved: (group) => group.sums.moved_bytes,
	size: (group) => group.sums.allocated_bytes / (group.sums.allocations || 1),
	lifetime: (group) => group.sums.lifetime_us / (group.sums.allocations || 1),
	name: (group) => groupLabel(group),
};

/** "peak" and "-peak": the largest first, and the other way. Without one: by the chosen metric. */
export function parseSort(text: string, known: object, standard: string): { key: string; up: boolean } {
	const up = text.startsWith("-"), key = up ? text.slice(1) : text;
	return Object.hasOwn(known, key) ? { key, up: up !== (key === "name") } : { key: standard, up: false };
}

export function toggleSort(current: { key: string; up: boolean }, key: string): string {
	const first = key === "name" ? "name" : key;
	return current.key === key && current.up === (key === "name") ? `-${first}` : first;
}

export function SitesTable() {
	const all = profile.value, inRange = state.range.value !== null && all.bins > 0;
	const standard = inRange ? "value" : state.metric.value;
	const groups = useComputed(makeGroups);
	const order = parseSort(state.sort.value, VALUES, standard);
	const sorted = useComputed(() => {
		const { key, up } = parseSort(state.sort.value, VALUES, state.range.value && profile.value.bins ? "value" : state.metric.value);
		const of = VALUES[key], test = state.search.value ? tester(state.search.value) : null;
		return groups.value
			.filter((group) => !test || test(groupLabel(group)) || test(groupPlace(group))
				|| (group.frame >= 0 && (test(profile.value.name(group.frame)) || test(profile.value.file(group.frame)))))
			.map((group) => ({ group, value: of(group) }))
			.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) * (up ? 1 : -1)
				|| b.group.sums.peak_bytes - a.group.sums.peak_bytes || a.group.key - b.group.key)
			.map(({ group }) => group);
	});
	const rows = sorted.value, current = measure.value;
	const numeric = (key: string, label: string, text: (group: Group) => string, width: string, from?: number, title?: string): TableColumn => ({
		key, label, title, number: true, width, from: order.key === key ? undefined : from, sortable: true, cell: (row) => text(rows[row]) });
	const columns: TableColumn[] = [
		{ key: "name", label: { line: "Own line", stack: "Stack", function: "Function", file: "File", module: "Module" }[state.groupBy.value],
			width: "minmax(150px, 1fr)", sortable: true,
			cell: (row) => {
				const group = rows[row], label = groupLabel(group), place = groupPlace(group);
				return <span class="site" title={group.frame >= 0 ? `${all.name(group.frame)}\n${all.file(group.frame)}` : label}>
					<span class="code">{label}</span>{place && <span class="code quiet place">{place}</span>}</span>;
			} },
		{ key: "value", label: current.label, number: true, width: "92px", sortable: true, cell: (row) => amount(rows[row].value, current.unit).replace(/ calls?$/, "") },
		{ key: "share", label: "Share", title: `of ${current.wholeName}`, number: true, width: "104px", from: 420,
			cell: (row) => <span class="share-cell"><Bar part={rows[row].value} whole={current.whole} />{share(rows[row].value, current.whole)}</span> },
	];
	if (!inRange) {
		columns[1].key = state.metric.value;
		const others: [state: string, column: TableColumn][] = [
			["peak", numeric("peak", "Peak", (group) => bytes(group.sums.peak_bytes), "84px", 560)],
			["leaked", numeric("leaked", "Leaked", (group) => bytes(group.sums.live_bytes), "84px", 640)],
			["allocated", numeric("allocated", "Allocated", (group) => bytes(group.sums.allocated_bytes), "88px", 720)],
			["calls", numeric("calls", "Calls", (group) => count(group.sums.allocations), "86px", 640)],
			["temporary", numeric("temporary", "Temporary", (group) => share(group.sums.temporary, group.sums.allocations), "88px", 820, "share of the row's calls that were temporary")],
			["moved", numeric("moved", "Moved", (group) => bytes(group.sums.moved_bytes), "80px", 1180)],
			["size", numeric("size", "Avg size", (group) => bytes(Math.round(group.sums.allocated_bytes / (group.sums.allocations || 1))), "78px", 980)],
			["lifetime", numeric("lifetime", "Avg life", (group) => time(group.sums.lifetime_us / (group.sums.allocations || 1)), "84px", 1080)],
		];
		columns.push(...others.filter(([name]) => name !== state.metric.value).map(([, column]) => column));
	}
	const selected = state.selection.value;
	return (
		<Table label={`Sites by ${state.groupBy.value}`} rows={rows.length} columns={columns} sort={order}
			onSort={(key) => { state.sort.value = toggleSort(order, key); }}
			selected={selected?.kind === state.groupBy.value ? rows.findIndex((group) => group.key === selected.id) : -1}
			onSelect={(row) => { state.selection.value = { kind: state.groupBy.value, id: rows[row].key }; }}
			onOpen={(row) => {
				const { frame } = rows[row];
				if (frame >= 0)
					state.focus.value = [...state.focus.value.filter((one) => one !== `=${all.name(frame)}`), `=${all.name(frame)}`];
				else if (state.groupBy.value === "module" && rows[row].key)
					state.module.value = rows[row].key - 1;
			}}
			empty={state.search.value ? `No row matches “${state.search.value}”.` : "Nothing with this filter."} />
	);
}

function tableText(): string {
	const groups = makeGroups().sort((a, b) => b.value - a.value), current = measure.value;
	return groups.map((group) => `${amount(group.value, current.unit)}\t${share(group.value, current.whole)}\t${groupLabel(group)}\t${groupPlace(group)}`)
		.join("\n") + "\n";
}

export function SitesView() {
	const names: Record<state.GroupBy, string> = { line: "Lines", stack: "Stacks", function: "Functions", file: "Files", module: "Modules" };
	const current = measure.value;
	return (
		<div class="split">
			<section class="pane" aria-label="Sites">
				<div class="tools">
					<div class="segmented" role="group" aria-label="Group sites by">
						{state.GROUPINGS.map((by) => (
							<button key={by} type="button" aria-pressed={state.groupBy.value === by} onClick={() => { state.groupBy.value = by; }}>{names[by]}</button>
						))}
					</div>
					<span class="quiet">{amount(current.total, current.unit)}{current.total < current.whole ? `, ${share(current.total, current.whole)}` : ""} of {current.wholeName}, in {counted(profile.value.stacks, "stack")}</span>
					<button type="button" class="push" onClick={() => copyText(tableText())} title="Copy all rows as text, separated by tabs">Copy</button>
				</div>
				<SitesTable />
			</section>
			<Details />
		</div>
	);
}
