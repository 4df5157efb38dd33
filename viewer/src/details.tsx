// The pane beside every view: what is selected, its numbers, what can be done with it, its source, its stacks.

import { computed, useComputed, useSignal } from "@preact/signals";
import { heaviest, metricOf } from "./profile";
import { copyText } from "./clipboard";
import { amount, bytes, change, count, counted, exact, relative, share, time } from "./format";
import { bothSides, compares, frameOfSelection, kept, measure, metrics, moduleName, profile, stacksOf, sumCount, sumOver } from "./model";
import * as state from "./state";

function add(target: { value: string[] }, pattern: string) {
	if (!target.value.includes(pattern))
		target.value = [...target.value, pattern];
}

/** What the keys f, i, m and c do with a function. */
export const actions = {
	focus: (frame: number) => add(state.focus, `=${profile.value.name(frame)}`),
	ignore: (frame: number) => add(state.ignore, `=${profile.value.name(frame)}`),
	merge: (frame: number) => add(state.merge, `=${profile.value.name(frame)}`),
	pivot: (frame: number) => {
		state.pivot.value = profile.value.functionOf[frame];
		state.path.value = [];
		state.zoom.value = [];
		if (state.view.value !== "diff")
			state.view.value = "flame";
	},
};

const STACKS_AT_FIRST = 5;

export function Details() {
	const selected = state.selection.value;
	const stacks = useComputed(() => (state.selection.value ? stacksOf(state.selection.value) : []));
	if (!selected || !stacks.value.length)
		return (
			<aside class="details" aria-label="Heaviest stacks">
				<p class="hint">Select a row or a box to see its numbers, source and stacks. <kbd>?</kbd> lists the keys.</p>
				<Heaviest />
			</aside>
		);
	return <Selected key={`${selected.kind} ${selected.id}`} selected={selected} stacks={stacks.value} />;
}

function Selected({ selected, stacks }: { selected: state.Selection; stacks: number[] }) {
	const all = profile.value, frame = frameOfSelection(selected);
	const isFunction = selected.kind === "function";
	const heading = frame >= 0 ? all.shortName(frame)
		: selected.kind === "file" ? all.data.string(selected.id) || "(no file)" : moduleName(selected.id);
	const whole = frame >= 0 ? all.name(frame) : heading;
	return (
		<aside class="details" aria-label="Selection">
			<div class="details-head">
				<h2 class="code">{heading}</h2>
				<button type="button" class="close" aria-label="Clear the selection" title="Clear the selection (Esc)"
					onClick={() => { state.selection.value = null; state.path.value = []; }}>×</button>
			</div>
			{whole !== heading && <p class="code whole">{whole}</p>}
			{frame >= 0 && <p class="code quiet">{selected.kind === "function" ? all.wholePlace(frame).replace(/:\d+$/, "") : all.wholePlace(frame)}</p>}
			{frame >= 0 && all.file(frame) && all.module(frame) && <p class="quiet small">in {all.module(frame)}</p>}
			{compares.value ? <Changes stacks={stacks} /> : <Numbers stacks={stacks} />}
			{isFunction && <p class="quiet small">What passes through this function, its callees included.</p>}
			{frame >= 0 && !all.isOther(frame) && (
				<div class="actions" role="group" aria-label="What to do with this function">
					<button type="button" title="Only stacks through this function (f)" onClick={() => actions.focus(frame)}>Focus</button>
					<button type="button" title="Leave out stacks through this function (i)" onClick={() => actions.ignore(frame)}>Ignore</button>
					<button type="button" title="Hide this function; its callers take what it holds (m)" onClick={() => actions.merge(frame)}>Merge</button>
					<button type="button" title="Who calls it, and what it calls (c)" onClick={() => actions.pivot(frame)}>Callers &amp; callees</button>
				</div>
			)}
			{frame >= 0 && <SourceLines frame={frame} />}
			<Stacks stacks={stacks} />
		</aside>
	);
}

function Numbers({ stacks }: { stacks: number[] }) {
	const all = profile.value, current = measure.value, inRange = state.range.value !== null && all.bins > 0;
	const life = sumCount(stacks, "lifetime_us"), suppressed = sumCount(stacks, "suppressed_bytes"), calls = sumCount(stacks, "allocations");
	return (
		<table class="numbers">
			<tbody>
				{inRange && <tr class="current"><th scope="row">{current.label}</th>
					<td title={exact(sumOver(stacks, current.weights), current.unit)}>{amount(sumOver(stacks, current.weights), current.unit)}</td><td>{share(sumOver(stacks, current.weights), current.whole)}</td></tr>}
				{metrics.value.map((metric) => {
					const value = sumCount(stacks, metric.column);
					const also = metric.also && metric.alsoUnit !== "bytes" && metric.name !== "allocated" ? sumCount(stacks, metric.also) : 0;
					return (
						<tr key={metric.name} class={!inRange && metric.name === state.metric.value ? "current" : ""}>
							<th scope="row">{metric.label}</th>
							<td title={exact(value, metric.unit)}>{amount(value, metric.unit)}{also > 0 && <span class="quiet small"> in {amount(also, metric.alsoUnit)}</span>}
								{metric.name === "leaked" && suppressed > 0 && <div class="quiet small">and {bytes(suppressed)} suppressed</div>}</td>
							<td title={`of ${metric.whole}`}>{share(value, all.data.document.totals[metric.column])}</td>
						</tr>
					);
				})}
				{calls > 0 && all.data.knows("allocated_bytes") && all.data.knows("lifetime_us") && <tr><th scope="row">A block</th><td colSpan={2}>{amount(Math.round(sumCount(stacks, "allocated_bytes") / calls), "bytes")}
					, lives {time(life / calls)} on average</td></tr>}
			</tbody>
		</table>
	);
}

/** The same of two recordings. */
function Changes({ stacks }: { stacks: number[] }) {
	return (
		<table class="numbers">
			<thead><tr><td /><th scope="col">old</th><th scope="col">new</th><th scope="col">change</th></tr></thead>
			<tbody>
				{metrics.value.map((metric) => {
					const old = sumCount(stacks, metric.column, "old"), now = sumCount(stacks, metric.column);
					const plain = (value: number) => (metric.unit === "bytes" ? bytes(value) : count(value));
					return (
						<tr key={metric.name} class={metric.name === state.metric.value ? "current" : ""}>
							<th scope="row">{metric.label}</th>
							<td title={exact(old, metric.unit)}>{plain(old)}</td><td title={exact(now, metric.unit)}>{plain(now)}</td>
							<td class={now > old ? "more" : now < old ? "less" : ""}>{relative(old, now)}</td>
						</tr>
					);
				})}
			</tbody>
		</table>
	);
}

/** Source around a frame's line, with what each line holds, if the page has it. */
function SourceLines({ frame }: { frame: number }) {
	const all = profile.value, line = all.frameLine[frame], file = all.frameFile[frame];
	const around = useSignal(6);
	const sources = all.data.document.sources.filter((source) => source.file === file);
	const source = sources.find((one) => line >= one.first_line && line < one.first_line + one.text.split("\n").length) ?? sources[0];
	if (!source || !file)
		return null;
	const weights = measure.value.weights, held = new Map<number, number>();
	for (let stack = 0; stack < all.stacks; stack++) {
		const own = all.frameOf[all.stackOwn[stack]];
		if (weights[stack] && all.frameFile[own] === file)
			held.set(all.frameLine[own], (held.get(all.frameLine[own]) ?? 0) + weights[stack]);
	}
	const lines = source.text.split("\n"), center = (line || source.first_line) - source.first_line;
	const from = Math.max(0, center - around.value), to = Math.min(lines.length, center + around.value + 1);
	return (
		<section class="source">
			<h3>Source</h3>
			<div class="source-lines code" tabIndex={0} role="region" aria-label="Source lines">
				{lines.slice(from, to).map((text, i) => {
					const number = source.first_line + from + i, value = held.get(number);
					return (
						<div key={number} class={number === line ? "source-line current" : "source-line"}>
							<span class="held">{value ? amount(value, measure.value.unit) : ""}</span>
							<span class="line-number">{number}</span>
							<span class="source-text">{text}</span>
						</div>
					);
				})}
			</div>
			{(from > 0 || to < lines.length) && <button type="button" onClick={() => { around.value += 30; }}>More lines</button>}
		</section>
	);
}

const changeOfStacks = computed(() => bothSides.value.now.map((value, stack) => Math.abs(value - bothSides.value.old[stack])));

/** What a stack weighs, in words. */
function weightOf(stack: number): { value: string; note: string; exact: string } {
	if (compares.value) {
		const { now, old } = bothSides.value, { unit } = metricOf(state.metric.value);
		return { value: change(now[stack] - old[stack], unit), note: `${amount(old[stack], unit)} → ${amount(now[stack], unit)}`,
			exact: exact(now[stack] - old[stack], unit) };
	}
	const current = measure.value;
	return { value: amount(current.weights[stack], current.unit), note: `${share(current.weights[stack], current.whole)} of ${current.wholeName}`,
		exact: exact(current.weights[stack], current.unit) };
}

/** The stacks that weigh most of all; what there is to see before anything is selected. */
function Heaviest() {
	const stacks = useComputed(() => heaviest(compares.value ? changeOfStacks.value : measure.value.weights, STACKS_AT_FIRST));
	return (
		<section class="stacks">
			<h2>{compares.value ? "Stacks that changed most" : "Heaviest stacks"}</h2>
			{stacks.value.map((stack, i) => <Stack key={stack} stack={stack} open={i === 0} />)}
		</section>
	);
}

function Stacks({ stacks }: { stacks: number[] }) {
	const most = useSignal(STACKS_AT_FIRST);
	const current = measure.value, mask = kept.value, weights = compares.value ? changeOfStacks.value : current.weights;
	const sorted = stacks.filter((stack) => !mask || mask[stack]).sort((a, b) => weights[b] - weights[a] || a - b);
	const shown = sorted.slice(0, most.value);
	return (
		<section class="stacks">
			<h3>{counted(sorted.length, "stack")}</h3>
			{shown.map((stack, i) => <Stack key={stack} stack={stack} open={i === 0} />)}
			{sorted.length > shown.length && <button type="button" onClick={() => { most.value += 20; }}>
				{counted(sorted.length - shown.length, "more stack")}{!compares.value && `, ${amount(sumOver(sorted.slice(most.value), weights), current.unit)}`}</button>}
		</section>
	);
}

function Stack({ stack, open }: { stack: number; open: boolean }) {
	const all = profile.value, own = all.ownPosition(stack), weight = weightOf(stack);
	const isOpen = useSignal(open), copied = useSignal(false);
	const frames = isOpen.value ? all.stackFrames(stack) : [];
	const folded = all.stackFolded[stack];
	return (
		<div class="stack">
			<div class="stack-head">
				<button type="button" class="plain" aria-expanded={isOpen.value} onClick={() => { isOpen.value = !isOpen.value; }}>
					<span aria-hidden="true">{isOpen.value ? "▾" : "▸"} </span>
					<b title={weight.exact}>{weight.value}</b>
					<span class="quiet"> {weight.note}</span>
				</button>
				<button type="button" onClick={async () => {
					copied.value = await copyText(`${weight.value} (${weight.note})\n${all.stackText(stack)}\n`);
				}}>{copied.value ? "Copied" : "Copy"}</button>
			</div>
			{isOpen.value && (
				<ol class="frames">
					{folded > 0 && <li class="quiet small">{counted(folded, "frame")} of allocators or containers left out (r shows them)</li>}
					{frames.map((frame, i) => (
						<li key={i} class={i === own ? "own" : all.isOwn(frame) ? "" : "library"}>
							<button type="button" class="plain code" title={all.name(frame)}
								onClick={() => { state.selection.value = { kind: "function", id: all.functionOf[frame] }; }}>{all.shortName(frame)}</button>
							<span class="code quiet place" title={all.wholePlace(frame)}>{all.place(frame)}
								{all.isInlined(frame) && <span class="tag">inlined</span>}</span>
						</li>
					))}
				</ol>
			)}
		</div>
	);
}
