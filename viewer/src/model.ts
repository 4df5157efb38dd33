// What the views show, computed from the profile and the shared state, once for all of them.

import { computed, signal } from "@preact/signals";
import type { CountName, Data } from "./data";
import { bytes, counted, time, type Unit } from "./format";
import { metricOf, metricsOf, Profile, sum, type Side } from "./profile";
import * as state from "./state";
import type { GroupBy, Selection } from "./state";
import { BottomUp, type Grouping, TopDown, type Tree } from "./tree";

/** What the page was opened with. */
export const opened = signal<Data>(undefined as unknown as Data);

/** Whether the innermost frames of allocators and containers are shown. */
export const internals = computed(() => (state.internals.value ? state.internals.value === "shown" : opened.value.document.raw));

export const metrics = computed(() => metricsOf(opened.value));

export const profile = computed(() => new Profile(opened.value, internals.value));

/** What everything is weighed by at the moment: a metric of the whole run, or of a range of time. */
export interface Measure {
	label: string;
	unit: Unit;
	/** of each stack, as the filter leaves it */
	weights: Float64Array;
	/** in stacks that have no history of their own (ranges only) */
	rest: number;
	/** with everything that the filter leaves out: what shares are of */
	whole: number;
	wholeName: string;
	question: string;
	/** sum of the weights and the rest */
	total: number;
}

export const kept = computed(() => profile.value.kept(state.filter.value));

export const hidden = computed<Uint8Array | null>(() => {
	if (!state.merge.value.length)
		return null;
	const mask = new Uint8Array(profile.value.functionFrame.length);
	for (const pattern of state.merge.value) {
		const matched = profile.value.match(pattern);
		for (let id = 0; id < mask.length; id++)
			mask[id] |= matched[id];
	}
	return mask;
});

/** Whether the heap's size over time is known. */
export const hasTime = computed(() => opened.value.has("timeline.time_us"));

export const hasBins = computed(() => profile.value.bins > 0);

const RANGES = {
	here: { label: "Allocated here", unit: "bytes" as Unit, whole: "what was allocated here", question: "What was allocated" },
	calls: { label: "Calls here", unit: "calls" as Unit, whole: "the calls here", question: "What allocated most often" },
	live: { label: "Live at the end", unit: "bytes" as Unit, whole: "what was live", question: "What was live" },
	grown: { label: "Grown here", unit: "bytes" as Unit, whole: "what grew", question: "What grew" },
};
export const RANGE_MODES = Object.keys(RANGES) as (keyof typeof RANGES)[];

export function rangeLabel(mode: keyof typeof RANGES, range: { from: number; to: number }): string {
	if (mode === "live")
		return `Live at ${time(range.to)}`;
	return RANGES[mode].label;
}

/** The bins that the chosen range really covers, in microseconds. */
export const shownRange = computed(() => {
	const range = state.range.value, { bins, data } = profile.value;
	if (!range || !bins)
		return null;
	const [first, last] = profile.value.binsOf(range);
	const width = data.document.bin_us;
	return { from: first * width, to: Math.min(last * width, data.document.facts.duration_us) };
});

export const measure = computed<Measure>(() => {
	const range = shownRange.value, all = profile.value;
	if (range) {
		const mode = state.rangeMode.value, words = RANGES[mode];
		const { weights, rest } = all.rangeWeights(range, mode, kept.value);
		const unfiltered = kept.value ? all.rangeWeights(range, mode, null) : { weights, rest };
		const when = mode === "live" ? `at ${time(range.to)}` : `from ${time(range.from)} to ${time(range.to)}`;
		return { label: rangeLabel(mode, range), unit: words.unit, weights, rest, total: sum(weights) + rest,
			whole: sum(unfiltered.weights) + unfiltered.rest, wholeName: `${words.whole} ${when}`,
			question: `${words.question} ${when}` };
	}
	const metric = metricOf(state.metric.value);
	const weights = all.weights(metric.column, kept.value, state.filter.value.thread);
	return { label: metric.label, unit: metric.unit, weights, rest: 0, total: sum(weights),
		whole: all.data.document.totals[metric.column], wholeName: metric.whole, question: metric.question };
});

/** With a baseline: the metric of the whole run in both recordings. */
export const bothSides = computed(() => {
	const { column } = metricOf(state.metric.value);
	return { now: profile.value.weights(column, kept.value), old: profile.value.weights(column, kept.value, null, "old") };
});

/** Whether what is shown is the difference of two recordings. */
export const compares = computed(() => state.view.value === "diff" && profile.value.data.document.baseline !== null);

/** Weights of another count under the same filter. */
export function weightsOf(name: CountName): Float64Array {
	return profile.value.weights(name, kept.value, state.filter.value.thread);
}

/** A sentence about what is live at exit and no leak; empty if there is nothing of that kind. */
export function notLeaked(bytesSuppressed: number, blocks: number): string {
	return blocks ? `Not among what leaked: ${bytes(bytesSuppressed)} in ${counted(blocks, "block")} suppressed.` : "";
}

/** The same for what is shown: nothing unless that is what leaked. */
export const suppressed = computed(() => {
	if (shownRange.value || state.metric.value !== "leaked")
		return "";
	return notLeaked(sum(weightsOf("suppressed_bytes")), sum(weightsOf("suppressed_blocks")));
});

export const totals = computed(() => profile.value.totals(measure.value.weights));

// ---- trees ---------------------------------------------------------------------------------------------------------

const grouping = computed<Grouping>(() => ({
	keyOfFrame: state.byLine.value ? profile.value.lineOf : profile.value.functionOf,
	hidden: hidden.value,
}));

function onlyFunction(id: number): Uint8Array {
	const mask = new Uint8Array(profile.value.functionFrame.length);
	mask[id] = 1;
	return mask;
}

export const pivotFunction = computed(() => {
	const id = state.pivot.value;
	return id !== null && id < profile.value.functionFrame.length ? id : null;
});

export interface Forest {
	/** grows from the middle or the edge; with a pivot the callees */
	main: Tree;
	/** with a pivot: its callers, grow the other way */
	callers: Tree | null;
}

/** With `both`, the weights are of two recordings: the sum, and the older one's part. */
export function forest(weights: Float64Array, nodeTotals: Float64Array, old: Float64Array | null): Forest {
	const all = profile.value, pivot = pivotFunction.value;
	const oldTotals = old && all.totals(old);
	if (pivot !== null) {
		const nodes = all.outermost(onlyFunction(pivot)), frame = all.functionFrame[pivot];
		const of = (values: Float64Array) => nodes.map((node) => values[node]);
		const sides = { keyOfFrame: all.functionOf, hidden: grouping.value.hidden };
		return {
			main: new TopDown(all, sides, nodeTotals, oldTotals, nodes, pivot, frame),
			callers: new BottomUp(all, sides, nodes, of(nodeTotals), oldTotals && of(oldTotals), pivot, frame),
		};
	}
	if (state.bottomUp.value)
		return { main: new BottomUp(all, grouping.value, all.stackNode, weights, old), callers: null };
	return { main: new TopDown(all, grouping.value, nodeTotals, oldTotals), callers: null };
}

export const flame = computed(() => forest(measure.value.weights, totals.value, null));

// ---- search --------------------------------------------------------------------------------------------------------

export const matched = computed<Uint8Array | null>(() =>
	state.search.value ? profile.value.match(state.search.value) : null);

/** What passes through matching functions; nested matches count once. */
export const matchedTotal = computed(() => {
	if (!matched.value)
		return 0;
	let total = 0;
	for (const node of profile.value.outermost(matched.value))
		total += totals.value[node];
	return total;
});

// ---- groups of stacks ----------------------------------------------------------------------------------------------

/** The group of every stack. */
export function groupKeys(by: GroupBy): Uint32Array {
	const all = profile.value, keys = new Uint32Array(all.stacks);
	for (let stack = 0; stack < all.stacks; stack++) {
		const frame = all.frameOf[all.stackOwn[stack]];
		keys[stack] = by === "stack" ? stack : by === "line" ? all.lineOf[frame] : by === "function" ? all.functionOf[frame]
			: by === "file" ? all.frameFile[frame] : all.frameModule[frame];
	}
	return keys;
}

export const lineKeys = computed(() => groupKeys("line"));

/** The stacks of a selection: those of a function are all that pass through it. */
export function stacksOf(selected: Selection): number[] {
	const all = profile.value, found: number[] = [];
	if (selected.kind === "function") {
		if (selected.id < all.functionFrame.length)
			all.through(onlyFunction(selected.id)).forEach((inside, stack) => { if (inside) found.push(stack); });
		return found;
	}
	const keys = selected.kind === "line" ? lineKeys.value : groupKeys(selected.kind);
	keys.forEach((key, stack) => { if (key === selected.id) found.push(stack); });
	return found;
}

/** A frame to speak of when a selection is meant; -1: there is none. */
export function frameOfSelection(selected: Selection): number {
	const all = profile.value;
	if (selected.kind === "line")
		return all.lineFrame[selected.id] ?? -1;
	if (selected.kind === "function")
		return all.functionFrame[selected.id] ?? -1;
	if (selected.kind === "stack" && selected.id < all.stacks)
		return all.frameOf[all.stackOwn[selected.id]];
	return -1;
}

export function moduleName(key: number): string {
	return key ? profile.value.data.document.modules[key - 1]?.path ?? "(none)" : "(no module)";
}

/** A count's sum over some stacks, as the filter leaves them. */
export function sumCount(stacks: number[], name: CountName, side: Side = "new"): number {
	const thread = state.filter.value.thread, mask = kept.value;
	if (thread !== null && side === "new")
		return sumOver(stacks, weightsOf(name));
	const counts = profile.value.counts(name, side);
	let total = 0;
	for (const stack of stacks)
		if (!mask || mask[stack])
			total += counts[stack];
	return total;
}

/** Sums of some stacks' weights. */
export function sumOver(stacks: number[], weights: ArrayLike<number>): number {
	let total = 0;
	for (const stack of stacks)
		total += weights[stack];
	return total;
}

export function describeEnd(facts: { end: string; end_value: number | null }): string {
	if (facts.end === "exit")
		return `exit status ${facts.end_value ?? 0}`;
	if (facts.end === "signal")
		return `killed by signal ${facts.end_value}`;
	if (facts.end === "exec")
		return "became another program (exec)";
	return facts.end === "running" ? "was still running, or the recording is cut off" : "end unknown";
}

/** What a person has to know before believing any number here. */
export const warnings = computed<string[]>(() => {
	const { facts, baseline } = profile.value.data.document, all: string[] = [];
	for (const [prefix, one] of [["", facts], ["Older recording: ", baseline?.facts]] as const) {
		if (!one)
			continue;
		if (one.warning)
			all.push(prefix + one.warning);
		if (one.lost_events)
			all.push(`${prefix}${counted(one.lost_events, "event")} could not be recorded; all numbers are that much too small.`);
		if (one.stopped)
			all.push(`${prefix}recording ended before the program did: ${one.stopped}`);
	}
	if (baseline && !baseline.same_program)
		all.push("The two recordings are of different programs.");
	return all;
});
