// What all views share: the view, the metric, one filter, one selection. All of it stands in the URL's hash, so a
// link shows the same. Values that the hash may hold are checked as they come in: anybody can write a link.

import { batch, computed, effect, signal } from "@preact/signals";
import { METRICS, type Filter, type MetricName, type Range, type RangeMode } from "./profile";

export const VIEWS = ["summary", "flame", "timeline", "sites", "sizes", "threads", "modules", "diff"] as const;
export type View = (typeof VIEWS)[number];

export type GroupBy = "line" | "stack" | "function" | "file" | "module";
export const GROUPINGS: GroupBy[] = ["line", "stack", "function", "file", "module"];

/** One thing that all views point at, by its number: a file is a string's, a module's 0 is "no module". */
export interface Selection {
	kind: GroupBy;
	id: number;
}

export const view = signal<View>("summary");
export const metric = signal<MetricName>("peak");
/** what is shown where the hash does not say it, and the metrics that there are */
let home: View = view.value;
let offered: readonly MetricName[] = METRICS.map((one) => one.name);
export const rangeMode = signal<RangeMode>("here");
export const focus = signal<string[]>([]);
export const ignore = signal<string[]>([]);
export const merge = signal<string[]>([]);
export const module = signal<number | null>(null);
export const thread = signal<number | null>(null);
export const range = signal<Range | null>(null);
export const search = signal("");
export const selection = signal<Selection | null>(null);
/** the flame graph's selected box, and the one that it is zoomed to: keys from the root */
export const path = signal<number[]>([]);
export const zoom = signal<number[]>([]);
/** the function whose callers and callees are shown instead of the whole */
export const pivot = signal<number | null>(null);
export const bottomUp = signal(false);
export const rootBelow = signal(false);
export const byLine = signal(false);
export const asTree = signal(false);
/** the frames of allocators and containers; empty: as the page was made */
export const internals = signal<"" | "shown" | "hidden">("");
export const groupBy = signal<GroupBy>("line");
export const sort = signal("");
export const bucket = signal("");

export const filter = computed<Filter>(() => ({
	focus: focus.value,
	ignore: ignore.value,
	module: module.value,
	thread: range.value ? null : thread.value,
}));

export const isFiltered = computed(() => focus.value.length > 0 || ignore.value.length > 0 || module.value !== null
	|| thread.value !== null || range.value !== null);

// ---- the hash ------------------------------------------------------------------------------------------------------

interface Field {
	key: string;
	get(): string[];
	set(values: string[]): void;
}

function choice<T extends string>(key: string, target: { value: T }, values: () => readonly T[], standard: () => T): Field {
	return {
		key,
		get: () => (target.value === standard() ? [] : [target.value]),
		set: ([value]) => { target.value = values().includes(value as T) ? (value as T) : standard(); },
	};
}

function oneOf<T extends string>(key: string, target: { value: T }, values: readonly T[]): Field {
	const standard = target.value;
	return choice(key, target, () => values, () => standard);
}

function flag(key: string, target: { value: boolean }): Field {
	return { key, get: () => (target.value ? ["1"] : []), set: ([value]) => { target.value = value === "1"; } };
}

function text(key: string, target: { value: string }): Field {
	return { key, get: () => (target.value ? [target.value] : []), set: ([value]) => { target.value = value ?? ""; } };
}

const LONGEST_LIST = 1000;

function equal(a: readonly unknown[], b: readonly unknown[]) {
	return a.length === b.length && a.every((value, i) => value === b[i]);
}

function list(key: string, target: { value: string[] }): Field {
	return {
		key,
		get: () => target.value,
		set: (values) => { if (!equal(target.value, values)) target.value = values.slice(0, LONGEST_LIST); },
	};
}

function numbers(text: string | undefined): number[] {
	return text && /^\d+(\.\d+)*$/.test(text) ? text.split(".", LONGEST_LIST).map(Number) : [];
}

function keys(key: string, target: { value: number[] }): Field {
	return {
		key,
		get: () => (target.value.length ? [target.value.join(".")] : []),
		set: ([value]) => { const parsed = numbers(value); if (!equal(target.value, parsed)) target.value = parsed; },
	};
}

function index(key: string, target: { value: number | null }): Field {
	return {
		key,
		get: () => (target.value === null ? [] : [String(target.value)]),
		set: ([value]) => { target.value = value && /^\d+$/.test(value) ? Number(value) : null; },
	};
}

const FIELDS: Field[] = [
	choice("view", view, () => VIEWS, () => home),
	choice("metric", metric, () => offered, () => offered[0]),
	list("focus", focus),
	list("ignore", ignore),
	list("merge", merge),
	index("module", module),
	index("thread", thread),
	{
		key: "time",
		get: () => (range.value ? [`${range.value.from}-${range.value.to}`] : []),
		set: ([value]) => {
			const match = /^(\d+)-(\d+)$/.exec(value ?? "");
			const next = match && Number(match[1]) <= Number(match[2]) ? { from: Number(match[1]), to: Number(match[2]) } : null;
			if (next?.from !== range.value?.from || next?.to !== range.value?.to)
				range.value = next;
		},
	},
	oneOf("show", rangeMode, ["here", "calls", "live", "grown"]),
	text("search", search),
	{
		key: "select",
		get: () => (selection.value ? [`${selection.value.kind}.${selection.value.id}`] : []),
		set: ([value]) => {
			const match = /^(line|function|stack|file|module)\.(\d+)$/.exec(value ?? "");
			const next = match ? { kind: match[1] as GroupBy, id: Number(match[2]) } : null;
			if (next?.kind !== selection.value?.kind || next?.id !== selection.value?.id)
				selection.value = next;
		},
	},
	keys("path", path),
	keys("zoom", zoom),
	index("of", pivot),
	flag("bottomup", bottomUp),
	flag("below", rootBelow),
	flag("lines", byLine),
	flag("tree", asTree),
	oneOf("internals", internals, ["shown", "hidden"]),
	oneOf("by", groupBy, GROUPINGS),
	text("sort", sort),
	text("bucket", bucket),
];

/** The steps that "back" undoes; the rest replaces the entry of the history. */
const STEPS = ["view", "zoom", "of", "focus", "ignore", "merge", "module", "thread", "time"];

export function toHash(): string {
	const parameters = new URLSearchParams();
	for (const field of FIELDS)
		for (const value of field.get())
			parameters.append(field.key, value);
	return parameters.toString();
}

export function fromHash(hash: string) {
	const parameters = new URLSearchParams(hash.replace(/^#/, ""));
	batch(() => {
		for (const field of FIELDS)
			field.set(parameters.getAll(field.key));
	});
}

/** Reads the URL, then follows it, and writes to it what changes. What the URL does not say is `first` and the first metric. */
export function followUrl(first: View, metrics: readonly MetricName[]) {
	home = first;
	offered = metrics;
	fromHash(location.hash);
	addEventListener("popstate", () => fromHash(location.hash));
	addEventListener("hashchange", () => fromHash(location.hash));
	let begun = false;
	effect(() => {
		const hash = toHash();
		const before = new URLSearchParams(location.hash.replace(/^#/, ""));
		const after = new URLSearchParams(hash);
		if (!begun || before.toString() === hash) {
			begun = true;
			return;
		}
		const step = STEPS.some((key) => !equal(before.getAll(key), after.getAll(key)));
		history[step ? "pushState" : "replaceState"](null, "", hash ? `#${hash}` : location.pathname + location.search);
	});
}

export function clearFilter() {
	batch(() => {
		focus.value = [];
		ignore.value = [];
		module.value = null;
		thread.value = null;
		range.value = null;
	});
}

// ---- light and dark ------------------------------------------------------------------------------------------------

export type Theme = "system" | "light" | "dark";
export const theme = signal<Theme>("system");
export const dark = signal(false);

export function followTheme() {
	const query = matchMedia("(prefers-color-scheme: dark)");
	const systemDark = signal(query.matches);
	query.addEventListener("change", () => { systemDark.value = query.matches; });
	try {
		const kept = localStorage.getItem("heapscope-theme");
		if (kept === "light" || kept === "dark")
			theme.value = kept;
	} catch {
		// a file:// page of a browser that keeps nothing
	}
	effect(() => {
		dark.value = theme.value === "system" ? systemDark.value : theme.value === "dark";
		document.documentElement.dataset.theme = dark.value ? "dark" : "light";
		try {
			if (theme.value === "system")
				localStorage.removeItem("heapscope-theme");
			else
				localStorage.setItem("heapscope-theme", theme.value);
		} catch {
			// likewise
		}
	});
}
