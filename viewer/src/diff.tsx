// Two recordings: what grew and what shrank, as a table and as a flame graph in orange and blue.

import { useComputed } from "@preact/signals";
import { CallTree } from "./calltree";
import { Details } from "./details";
import { FlameGraph, FlameTools, type FlameWords } from "./flame";
import { amount, bytes, change, count, counted, exact, relative, time } from "./format";
import { GROUP_NAMES, groupLabel, groupPlace, makeGroups, order, parseSort, searched, sumGroups, toggleSort } from "./groups";
import { bothSides, forest, metrics, profile } from "./model";
import { metricOf } from "./profile";
import { GroupChooser } from "./sites";
import * as state from "./state";
import { SiteName, Table, type TableColumn } from "./table";

/** A change as a part of the largest one; from the middle, to the right what grew. */
function ChangeBar({ value, most }: { value: number; most: number }) {
	const part = most ? (Math.abs(value) / most) * 50 : 0;
	return <span class="change-bar" aria-hidden="true">{value !== 0 && <span class={value > 0 ? "more" : "less"}
		style={value > 0 ? { left: "50%", width: `${part}%` } : { right: "50%", width: `${part}%` }} />}</span>;
}

function Totals() {
	const { totals, baseline, facts } = profile.value.data.document, old = baseline!;
	const work = old.work;
	return (
		<div class="diff-head">
			<div class="tiles" role="group" aria-label="Totals of both recordings; choose what to compare">
				{metrics.value.map((metric) => {
					const before = old.totals[metric.column], now = totals[metric.column];
					return (
						<button key={metric.name} type="button" class="tile" aria-pressed={state.metric.value === metric.name}
							onClick={() => { state.metric.value = metric.name; }}>
							<span class="tile-label">{metric.label}</span>
							<span class={`tile-value ${now > before ? "more" : now < before ? "less" : ""}`}>{change(now - before, metric.unit).replace(/ calls?$/, "")}</span>
							<span class="tile-note">{metric.unit === "bytes" ? bytes(before) : count(before)} → {amount(now, metric.unit)} ({relative(before, now)})</span>
						</button>
					);
				})}
			</div>
			{(old.totals.suppressed_blocks > 0 || totals.suppressed_blocks > 0) && state.metric.value === "leaked" && <p class="quiet small">
				Not among what leaked, since suppressed: {amount(old.totals.suppressed_bytes, "bytes")} in {counted(old.totals.suppressed_blocks, "block")
				} → {amount(totals.suppressed_bytes, "bytes")} in {counted(totals.suppressed_blocks, "block")}.</p>}
			<p class="quiet small">{old.path} ({time(old.facts.duration_us)}) → {profile.value.data.document.path} ({time(facts.duration_us)}).{" "}
				{work && (work.amount === "same" ? "Both runs did the same amount of work: code that both have made the same number of calls, within 1%."
					: `The new run did ${work.amount} work: code that both have made ${count(work.common_new_calls)} calls after ${count(work.common_old_calls)}.`)}
				{work && work.appeared_functions > 0 && ` ${counted(work.appeared_functions, "function")} appeared.`}
				{work && work.vanished_functions > 0 && ` ${counted(work.vanished_functions, "function")} vanished.`}</p>
		</div>
	);
}

/** A change and how it sorts. */
const VALUES: Record<string, (old: number, now: number) => number> = {
	name: () => 0, // by its text
	old: (old) => old,
	new: (_, now) => now,
	change: (old, now) => Math.abs(now - old),
	relative: (old, now) => (old ? now / old : Infinity),
};

function useChanges() {
	const groups = useComputed(() => makeGroups(state.groupBy.value));
	const sums = useComputed(() => {
		const { now, old } = bothSides.value;
		return { now: sumGroups(groups.value, now), old: sumGroups(groups.value, old) };
	});
	const rows = useComputed(() => {
		const { now, old } = sums.value, found = searched(groups.value), { key, up } = parseSort(state.sort.value, VALUES, "change"), shown: number[] = [];
		for (let group = 0; group < groups.value.count; group++)
			if ((now[group] || old[group]) && (!found || found(group)))
				shown.push(group);
		return order(shown, key === "name" ? (group) => groupLabel(groups.value, group) : (group) => VALUES[key](old[group], now[group]), up, now);
	});
	return { groups, sums, rows };
}

function ChangeTable() {
	const changes = useChanges(), groups = changes.groups.value, { now, old } = changes.sums.value, rows = changes.rows.value;
	const sorted = parseSort(state.sort.value, VALUES, "change"), { unit, label } = metricOf(state.metric.value);
	const most = rows.reduce((largest, group) => Math.max(largest, Math.abs(now[group] - old[group])), 0);
	const plain = (value: number) => amount(value, unit).replace(/ calls?$/, "");
	const columns: TableColumn[] = [
		{ key: "name", label: GROUP_NAMES[groups.by][0], width: "minmax(150px, 1fr)", sortable: true,
			cell: (row) => <SiteName name={groupLabel(groups, rows[row])} place={groupPlace(groups, rows[row])} title={groupLabel(groups, rows[row])} /> },
		{ key: "bar", label: "less · more", width: "110px", from: 640, cell: (row) => <ChangeBar value={now[rows[row]] - old[rows[row]]} most={most} /> },
		{ key: "change", label: "Change", number: true, width: "104px", sortable: true, cell: (row) => {
			const by = now[rows[row]] - old[rows[row]];
			return <span title={exact(by, unit)} class={by > 0 ? "more" : by < 0 ? "less" : ""}>{change(by, unit).replace(/ calls?$/, "")}</span>;
		} },
		{ key: "relative", label: "Relative", number: true, width: "84px", from: 420, sortable: true, cell: (row) => relative(old[rows[row]], now[rows[row]]) },
		{ key: "old", label: `Old ${label.toLowerCase()}`, number: true, width: "112px", from: 560, sortable: true, cell: (row) => plain(old[rows[row]]) },
		{ key: "new", label: `New ${label.toLowerCase()}`, number: true, width: "112px", from: 560, sortable: true, cell: (row) => plain(now[rows[row]]) },
	];
	const selected = state.selection.value;
	return <Table label="What changed" rows={rows.length} columns={columns} sort={sorted} onSort={(key) => { state.sort.value = toggleSort(sorted, key); }}
		selected={selected?.kind === groups.by ? rows.findIndex((group) => groups.key[group] === selected.id) : -1}
		onSelect={(row) => { state.selection.value = { kind: groups.by, id: groups.key[rows[row]] }; }} empty="Nothing in either recording." />;
}

function DiffFlame() {
	const column = metricOf(state.metric.value);
	const both = useComputed(() => {
		const { now, old } = bothSides.value, sums = now.map((value, stack) => value + old[stack]);
		return forest(sums, profile.value.totals(sums), old);
	});
	const words: FlameWords = { unit: column.unit, whole: both.value.main.root.total, wholeName: "both", compares: true };
	return (
		<>
			<FlameTools />
			<p class="quiet small tools">Width: old and new together. <span class="key more" /> more <span class="key less" /> less <span class="key same" /> the same</p>
			{both.value.main.root.total === 0 ? <p class="empty">Nothing in either recording.</p>
				: state.asTree.value ? <CallTree forest={both.value} words={words} /> : <FlameGraph forest={both.value} words={words} />}
		</>
	);
}

export function Diff() {
	const graph = state.bucket.value === "graph";
	return (
		<div class="split">
			<section class="pane" aria-label="Differences">
				<Totals />
				<div class="tools">
					<div class="segmented" role="group" aria-label="Show as">
						<button type="button" aria-pressed={!graph} onClick={() => { state.bucket.value = ""; }}>Table</button>
						<button type="button" aria-pressed={graph} onClick={() => { state.bucket.value = "graph"; }}>Flame graph</button>
					</div>
					{!graph && <GroupChooser />}
				</div>
				{graph ? <DiffFlame /> : <ChangeTable />}
			</section>
			<Details />
		</div>
	);
}
