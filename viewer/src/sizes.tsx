// Histograms: how large blocks are, how long they live; and which lines make the blocks of one bucket.

import { useComputed } from "@preact/signals";
import { Details } from "./details";
import { amount, bytes, count, counted, exact, share, time, type Unit } from "./format";
import { kept, lineKeys, profile } from "./model";
import { sum } from "./profile";
import * as state from "./state";
import { Bar } from "./table";

interface Histogram {
	key: string;
	title: string;
	note: string;
	unit: Unit;
	/** of all stacks */
	column: string;
	/** of single stacks: column prefix and the value's name */
	parts: string | null;
	value: string;
	bucket(low: number, high: number): string;
}

const sizeBucket = (low: number, high: number) => (high <= 1 ? "0 B" : high - 1 === low ? bytes(low) : high <= 1024 ? `${low}–${high - 1} B` : `${bytes(low).replace(".0", "")} – ${bytes(high).replace(".0", "")}`);
const timeBucket = (low: number, high: number) => (high <= 1 ? "under 1 µs" : `${time(low)} – ${time(high)}`);
const ageBucket = (low: number, high: number) => (high <= 1 ? "nothing" : `${bytes(low).replace(".0 ", " ")} – ${bytes(high).replace(".0 ", " ")}`);

const HISTOGRAMS: Histogram[] = [
	{ key: "size", title: "Calls by size", note: "How large blocks are", unit: "calls", column: "size.blocks", parts: "size_of", value: "blocks", bucket: sizeBucket },
	{ key: "bytes", title: "Bytes by size", note: "Where the allocated bytes come from", unit: "bytes", column: "size.bytes", parts: "size_of", value: "bytes", bucket: sizeBucket },
	{ key: "lifetime", title: "Calls by lifetime", note: "From allocation to free, or to the end", unit: "calls", column: "lifetime.blocks", parts: "lifetime_of", value: "blocks", bucket: timeBucket },
	{ key: "age", title: "Calls by bytes allocated meanwhile", note: "Lifetime in allocated bytes, whatever the clock says", unit: "calls", column: "age.blocks", parts: null, value: "blocks", bucket: ageBucket },
];

/** Only the stacks that the filter keeps, if the page has histograms of single stacks. */
function values(histogram: Histogram): { values: number[]; filtered: boolean } {
	const { data } = profile.value, mask = kept.value;
	if (!mask || !histogram.parts || !data.has(`${histogram.parts}.stack`))
		return { values: [...data.column(histogram.column, 65)], filtered: false };
	const out = new Array<number>(65).fill(0), stack = profile.value.stackColumn(`${histogram.parts}.stack`);
	const bucket = data.indices(`${histogram.parts}.bucket`, 65, stack.length), value = data.column(`${histogram.parts}.${histogram.value}`, stack.length);
	for (let i = 0; i < stack.length; i++)
		if (mask[stack[i]])
			out[bucket[i]] += value[i];
	return { values: out, filtered: true };
}

function bounds(bucket: number): [number, number] {
	return bucket ? [2 ** (bucket - 1), 2 ** bucket] : [0, 1];
}

function Bars({ histogram }: { histogram: Histogram }) {
	const shown = useComputed(() => values(histogram));
	const { values: all, filtered } = shown.value, total = sum(all), most = Math.max(...all);
	const first = all.findIndex((value) => value > 0), last = all.findLastIndex((value) => value > 0);
	const id = `histogram-${histogram.key}`, resolution = profile.value.data.document.facts.time_resolution_us ?? 1;
	return (
		<section class="card" aria-labelledby={id}>
			<h2 id={id}>{histogram.title}</h2>
			<p class="quiet small">{histogram.note}{histogram.key === "lifetime" && resolution > 1 ? `; times are known to ${time(resolution)}` : ""}{state.isFiltered.value && !filtered ? "; of the whole run, not only of the filter" : ""}</p>
			{first < 0 ? <p class="empty">No allocations.</p> : (
				<ul class="histogram">
					{all.slice(first, last + 1).map((value, i) => {
						const bucket = first + i, [low, high] = bounds(bucket), name = `${histogram.key}.${bucket}`;
						const choosable = histogram.parts !== null && profile.value.data.has(`${histogram.parts}.stack`);
						const content = <>
							<span class="number">{histogram.bucket(low, high)}</span>
							<Bar part={value} whole={most} />
							<span class="number strong" title={exact(value, histogram.unit)}>{amount(value, histogram.unit)}</span>
							<span class="number quiet">{value ? share(value, total) : ""}</span>
						</>;
						return <li key={bucket}>{choosable
							? <button type="button" aria-pressed={state.bucket.value === name}
								onClick={() => { state.bucket.value = state.bucket.value === name ? "" : name; }}>{content}</button>
							: <div>{content}</div>}</li>;
					})}
				</ul>
			)}
		</section>
	);
}

/** The lines whose blocks are in the chosen bucket. */
function BucketLines() {
	const [key, number] = state.bucket.value.split("."), bucket = Number(number);
	const histogram = HISTOGRAMS.find((one) => one.key === key), all = profile.value;
	if (!histogram?.parts || !all.data.has(`${histogram.parts}.stack`) || !(bucket >= 0 && bucket < 65))
		return <p class="hint">Choose a bar to see which lines its blocks come from.</p>;
	const stack = all.stackColumn(`${histogram.parts}.stack`), buckets = all.data.column(`${histogram.parts}.bucket`, stack.length);
	const value = all.data.column(`${histogram.parts}.${histogram.value}`, stack.length), sums = new Map<number, number>();
	let total = 0;
	for (let i = 0; i < stack.length; i++)
		if (buckets[i] === bucket && (!kept.value || kept.value[stack[i]])) {
			const line = lineKeys.value[stack[i]];
			sums.set(line, (sums.get(line) ?? 0) + value[i]);
			total += value[i];
		}
	const lines = [...sums].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
	return (
		<section class="card" aria-labelledby="bucket-lines">
			<h2 id="bucket-lines">{histogram.title}: {histogram.bucket(...bounds(bucket))}</h2>
			<p class="quiet small">{amount(total, histogram.unit)} from {counted(lines.length, "line")}</p>
			<ol class="plain-list">
				{lines.slice(0, 30).map(([line, part]) => {
					const frame = all.lineFrame[line];
					return <li key={line}><button type="button" class="plain" aria-pressed={state.selection.value?.kind === "line" && state.selection.value.id === line}
						onClick={() => { state.selection.value = { kind: "line", id: line }; }}>
						<span class="number strong">{amount(part, histogram.unit)}</span> <span class="code">{all.shortName(frame)}</span>{" "}
						<span class="code quiet">{all.place(frame)}</span></button></li>;
				})}
			</ol>
			{lines.length > 30 && <p class="quiet small">and {count(lines.length - 30)} more</p>}
		</section>
	);
}

export function Sizes() {
	return (
		<div class="split">
			<section class="pane scroll" aria-label="Sizes and lifetimes">
				<div class="cards">
					{HISTOGRAMS.map((histogram) => <Bars key={histogram.key} histogram={histogram} />)}
				</div>
			</section>
			<div class="side"><BucketLines /><Details /></div>
		</div>
	);
}
