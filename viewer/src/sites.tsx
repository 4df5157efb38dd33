// The table of sites: own lines, stacks, functions, files or modules with all their numbers.

import { useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { copyText } from "./clipboard";
import type { CountName } from "./data";
import { Details } from "./details";
import { Internals } from "./flame";
import { amount, bytes, count, counted, exact, share, time } from "./format";
import { GROUP_NAMES, groupFrame, groupLabel, groupPlace, makeGroups, order, parseSort, searched, sumGroups, toggleSort } from "./groups";
import { measure, profile, suppressed, weightsOf } from "./model";
import * as state from "./state";
import { Bar, SiteName, Table, type TableColumn } from "./table";

const SUMS = ["peak_bytes", "leaked_bytes", "allocated_bytes", "allocations", "temporary", "moved_bytes", "lifetime_us"] as const satisfies CountName[];
type Sums = Record<(typeof SUMS)[number] | "value", Float64Array>;

const VALUES: Record<string, (sums: Sums, group: number) => number> = {
	value: (sums, group) => sums.value[group],
	peak: (sums, group) => sums.peak_bytes[group],
	leaked: (sums, group) => sums.leaked_bytes[group],
	allocated: (sums, group) => sums.allocated_bytes[group],
	calls: (sums, group) => sums.allocations[group],
	temporary: (sums, group) => sums.temporary[group],
	moved: (sums, group) => sums.moved_bytes[group],
	size: (sums, group) => sums.allocated_bytes[group] / (sums.allocations[group] || 1),
	lifetime: (sums, group) => sums.lifetime_us[group] / (sums.allocations[group] || 1),
	name: () => 0, // by its text
};

/** What has to be known for a column. */
const NEEDED: Record<string, CountName[]> = { peak: ["peak_bytes"], leaked: ["leaked_bytes"], allocated: ["allocated_bytes"], calls: ["allocations"],
	temporary: ["temporary", "allocations"], moved: ["moved_bytes"], size: ["allocated_bytes", "allocations"], lifetime: ["lifetime_us", "allocations"] };

function useSites() {
	const groups = useComputed(() => makeGroups(state.groupBy.value));
	const sums = useComputed(() => {
		const all = { value: sumGroups(groups.value, measure.value.weights) } as Sums;
		for (const name of SUMS)
			all[name] = sumGroups(groups.value, weightsOf(name));
		return all;
	});
	const rows = useComputed(() => {
		const inRange = state.range.value !== null && profile.value.bins > 0, of = sums.value, found = searched(groups.value);
		const { key, up } = parseSort(state.sort.value, VALUES, inRange ? "value" : state.metric.value), shown: number[] = [];
		for (let group = 0; group < groups.value.count; group++)
			if ((of.value[group] || (!inRange && of.allocations[group])) && (!found || found(group)))
				shown.push(group);
		return order(shown, key === "name" ? (group) => groupLabel(groups.value, group) : (group) => VALUES[key](of, group), up, of.peak_bytes);
	});
	return { groups, sums, rows };
}

export function SitesTable() {
	const all = profile.value, inRange = state.range.value !== null && all.bins > 0, current = measure.value;
	const sites = useSites(), groups = sites.groups.value, sums = sites.sums.value, rows = sites.rows.value;
	const sorted = parseSort(state.sort.value, VALUES, inRange ? "value" : state.metric.value);
	const numeric = (key: string, label: string, text: (group: number) => ComponentChildren, width: string, from?: number, title?: string): TableColumn => ({
		key, label, title, number: true, width, from: sorted.key === key ? undefined : from, sortable: true, cell: (row) => text(rows[row]) });
	const value = inRange ? "value" : state.metric.value;
	const columns: TableColumn[] = [
		{ key: "name", label: GROUP_NAMES[groups.by][0], width: "minmax(150px, 1fr)", sortable: true,
			cell: (row) => {
				const frame = groupFrame(groups, rows[row]), label = groupLabel(groups, rows[row]), place = groupPlace(groups, rows[row]);
				return <SiteName name={label} place={place} title={frame >= 0 ? `${all.name(frame)}\n${all.wholePlace(frame)}` : label} />;
			} },
		numeric(value, current.label, (group) => <span title={exact(sums.value[group], current.unit)}>{amount(sums.value[group], current.unit).replace(/ calls?$/, "")}</span>, inRange ? "124px" : "92px"),
		{ key: "share", label: "Share", title: `of ${current.wholeName}`, number: true, width: "104px", from: 365,
			cell: (row) => <span class="share-cell"><Bar part={sums.value[rows[row]]} whole={current.whole} />{share(sums.value[rows[row]], current.whole)}</span> },
	];
	if (!inRange)
		columns.push(...[
			numeric("peak", "Peak", (group) => bytes(sums.peak_bytes[group]), "84px", 560),
			numeric("leaked", "Leaked", (group) => bytes(sums.leaked_bytes[group]), "84px", 640),
			numeric("allocated", "Allocated", (group) => bytes(sums.allocated_bytes[group]), "88px", 720),
			numeric("calls", "Calls", (group) => count(sums.allocations[group]), "86px", 640),
			numeric("temporary", "Temporary", (group) => share(sums.temporary[group], sums.allocations[group]), "88px", 820, "share of the row's calls that were temporary"),
			numeric("moved", "Moved", (group) => bytes(sums.moved_bytes[group]), "80px", 1180),
			numeric("size", "Avg size", (group) => bytes(Math.round(VALUES.size(sums, group))), "78px", 980),
			numeric("lifetime", "Avg life", (group) => time(VALUES.lifetime(sums, group)), "84px", 1080),
		].filter((column) => column.key !== value && NEEDED[column.key].every((name) => all.data.knows(name))));
	const selected = state.selection.value;
	return (
		<Table label={`Sites by ${groups.by}`} rows={rows.length} columns={columns} sort={sorted}
			onSort={(key) => { state.sort.value = toggleSort(sorted, key); }}
			selected={selected?.kind === groups.by ? rows.findIndex((group) => groups.key[group] === selected.id) : -1}
			onSelect={(row) => { state.selection.value = { kind: groups.by, id: groups.key[rows[row]] }; }}
			onOpen={(row) => {
				const frame = groupFrame(groups, rows[row]);
				if (frame >= 0)
					state.focus.value = [...state.focus.value.filter((one) => one !== `=${all.name(frame)}`), `=${all.name(frame)}`];
				else if (groups.by === "module" && groups.key[rows[row]])
					state.module.value = groups.key[rows[row]] - 1;
			}}
			empty={state.search.value ? `No row matches “${state.search.value}”.` : "Nothing with this filter."} />
	);
}

function tableText(): string {
	const groups = makeGroups(state.groupBy.value), current = measure.value, sums = sumGroups(groups, current.weights);
	return order([...groups.key.keys()].filter((group) => sums[group]), (group) => sums[group], false, sums)
		.map((group) => `${amount(sums[group], current.unit)}\t${share(sums[group], current.whole)}\t${groupLabel(groups, group)}\t${groupPlace(groups, group)}\n`)
		.join("");
}

export function GroupChooser() {
	return (
		<div class="segmented" role="group" aria-label="Group sites by">
			{state.GROUPINGS.map((by) => (
				<button key={by} type="button" aria-pressed={state.groupBy.value === by} onClick={() => { state.groupBy.value = by; }}>{GROUP_NAMES[by][1]}</button>
			))}
		</div>
	);
}

export function SitesView() {
	const current = measure.value;
	return (
		<div class="split">
			<section class="pane" aria-label="Sites">
				<div class="tools">
					<GroupChooser />
					<Internals />
					<span class="quiet">{amount(current.total, current.unit)}{current.total < current.whole ? `, ${share(current.total, current.whole)}` : ""} of {current.wholeName}, in {counted(profile.value.stacks, "stack")}. {suppressed.value}</span>
					<button type="button" class="push" onClick={() => copyText(tableText())} title="Copy all rows as text, separated by tabs">Copy</button>
				</div>
				<SitesTable />
			</section>
			<Details />
		</div>
	);
}
