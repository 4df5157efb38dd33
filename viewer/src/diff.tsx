// Two recordings: what grew and what shrank, as a table and as a flame graph in orange and blue.

import { useComputed } from "@preact/signals";
import { CallTree } from "./calltree";
import { Details } from "./details";
import { FlameGraph, FlameTools, type FlameWords } from "./flame";
import { amount, bytes, change, count, counted, relative, time } from "./format";
import { forest, groupKeys, kept, profile } from "./model";
import { METRICS, metricOf, tester } from "./profile";
import { groupLabel, parseSort, toggleSort, type Group } from "./sites";
import * as state from "./state";
import { Table, type TableColumn } from "./table";

interface Change {
	group: Group;
	old: number;
	now: number;
}

const VALUES: Record<string, (one: Change) => number | string> = {
	name: (one) => groupLabel(one.group),
	old: (one) => one.old,
	new: (one) => one.now,
	change: (one) => Math.abs(one.now - one.old),
	relative: (one) => (one.old ? one.now / one.old : Infinity),
};

function makeChanges(): Change[] {
	const all = profile.value, keys = groupKeys(state.groupBy.value), at = new Map<number, Change>(), column = metricOf(state.metric.value).column;
	const now = all.weights(column, kept.value), old = all.weights(column, kept.value, null, "old");
	for (let stack = 0; stack < all.stacks; stack++) {
		if (!now[stack] && !old[stack])
			continue;
		let one = at.get(keys[stack]);
		if (!one) {
			const named = state.groupBy.value !== "file" && state.groupBy.value !== "module";
			at.set(keys[stack], (one = { old: 0, now: 0, group: { key: keys[stack], label: "", place: "", frame: named ? all.frameOf[all.stackOwn[stack]] : -1,
				stacks: 0, value: 0, sums: {} as Group["sums"] } }));
		}
		one.old += old[stack];
		one.now += now[stack];
	}
	return [...at.values()];
}

/** How many times wider than the largest change; from the middle, to the right what grew. */
function ChangeBar({ value, most }: { value: number; most: number }) {
	const part = most ? (Math.abs(value) / most) * 50 : 0;
	return <span class="change-bar" aria-hidden="true"><span class={value > 0 ? "more" : "less"}
		style={value > 0 ? { left: "50%", width: `${part}%` } : { right: "50%", width: `${part}%` }} /></span>;
}

function Totals() {
	const { totals, baseline, facts } = profile.value.data.document, old = baseline!;
	const work = old.work;
	return (
		<div class="diff-head">
			<div class="tiles" role="group" aria-label="Totals of both recordings; choose what to compare">
				{METRICS.map((metric) => {
					const before = old.totals[metric.column], now = totals[metric.column];
					return (
						<button key={metric.name} type="button" class="tile" aria-pressed={state.metric.value === metric.name}
							onClick={() => { state.metric.value = metric.name; }}>
							<span class="tile-label">{metric.label}</span>
							<span class={`tile-value ${now > before ? "more" : now < before ? "less" : ""}`}>{change(now - before, metric.unit).replace(/ calls?$/, "")}</span>
							<span class="tile-note">{metric.unit === "bytes" ? bytes(before) : count(before)} → {metric.unit === "bytes" ? bytes(now) : count(now)} ({relative(before, now)})</span>
						</button>
					);
				})}
			</div>
			<p class="quiet small">{old.path} ({time(old.facts.duration_us)}) → {profile.value.data.document.path} ({time(facts.duration_us)}).{" "}
				{work && (work.amount === "same" ? "Both runs did the same amount of work: code that both have made the same number of calls, within 1%."
					: `The new run did ${work.amount} work: code that both have made ${count(work.common_new_calls)} calls after ${count(work.common_old_calls)}.`)}
				{work && work.appeared_functions > 0 && ` ${counted(work.appeared_functions, "function")} appeared.`}
				{work && work.vanished_functions > 0 && ` ${counted(work.vanished_functions, "function")} vanished.`}</p>
		</div>
	);
}

function ChangeTable() {
	const changes = useComputed(makeChanges), all = profile.value;
	const order = parseSort(state.sort.value, VALUES, "change"), { unit, label } = metricOf(state.metric.value);
	const test = state.search.value ? tester(state.search.value) : null, of = VALUES[order.key];
	const rows = changes.value.filter((one) => !test || test(groupLabel(one.group)) || (one.group.frame >= 0 && test(all.file(one.group.frame))))
		.map((one) => ({ one, value: of(one) }))
		.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0) * (order.up ? 1 : -1) || b.one.now - a.one.now || a.one.group.key - b.one.group.key)
		.map(({ one }) => one);
	const most = rows.reduce((largest, one) => Math.max(largest, Math.abs(one.now - one.old)), 0);
	const plain = (value: number) => amount(value, unit).replace(/ calls?$/, "");
	const columns: TableColumn[] = [
		{ key: "name", label: { line: "Own line", stack: "Stack", function: "Function", file: "File", module: "Module" }[state.groupBy.value], width: "minmax(150px, 1fr)", sortable: true,
			cell: (row) => <span class="site"><span class="code">{groupLabel(rows[row].group)}</span>
				{rows[row].group.frame >= 0 && <span class="code quiet place">{all.shortPlace(rows[row].group.frame)}</span>}</span> },
		{ key: "bar", label: "", width: "110px", from: 640, cell: (row) => <ChangeBar value={rows[row].now - rows[row].old} most={most} /> },
		{ key: "change", label: "Change", number: true, width: "104px", sortable: true, cell: (row) => {
			const by = rows[row].now - rows[row].old;
			return <span class={by > 0 ? "more" : by < 0 ? "less" : ""}>{change(by, unit).replace(/ calls?$/, "")}</span>;
		} },
		{ key: "relative", label: "Relative", number: true, width: "84px", from: 420, sortable: true, cell: (row) => relative(rows[row].old, rows[row].now) },
		{ key: "old", label: `Old ${label.toLowerCase()}`, number: true, width: "112px", from: 560, sortable: true, cell: (row) => plain(rows[row].old) },
		{ key: "new", label: `New ${label.toLowerCase()}`, number: true, width: "112px", from: 560, sortable: true, cell: (row) => plain(rows[row].now) },
	];
	const selected = state.selection.value;
	return <Table label="What changed" rows={rows.length} columns={columns} sort={order} onSort={(key) => { state.sort.value = toggleSort(order, key); }}
		selected={selected?.kind === state.groupBy.value ? rows.findIndex((one) => one.group.key === selected.id) : -1}
		onSelect={(row) => { state.selection.value = { kind: state.groupBy.value, id: rows[row].group.key }; }} empty="Nothing in either recording." />;
}

function DiffFlame() {
	const column = metricOf(state.metric.value);
	const both = useComputed(() => {
		const metric = metricOf(state.metric.value), all = profile.value;
		const old = all.weights(metric.column, kept.value, null, "old"), sums = all.weights(metric.column, kept.value);
		for (let i = 0; i < sums.length; i++)
			sums[i] += old[i];
		return forest(sums, all.totals(sums), old);
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
	const names: Record<state.GroupBy, string> = { line: "Lines", stack: "Stacks", function: "Functions", file: "Files", module: "Modules" };
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
					{!graph && <div class="segmented" role="group" aria-label="Group by">
						{state.GROUPINGS.map((by) => (
							<button key={by} type="button" aria-pressed={state.groupBy.value === by} onClick={() => { state.groupBy.value = by; }}>{names[by]}</button>
						))}
					</div>}
				</div>
				{graph ? <DiffFlame /> : <ChangeTable />}
			</section>
			<Details />
		</div>
	);
}
