// The keys, and the overlay that lists them.

import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { actions } from "./details";
import { toggleInternals } from "./flame";
import { frameOfSelection, metrics, profile } from "./model";
import * as state from "./state";

export const helpOpen = signal(false);

export function shownViews(): state.View[] {
	const single = state.VIEWS.filter((view) => view !== "diff");
	return profile.value.data.document.baseline ? ["diff", ...single] : single;
}

export const VIEW_NAMES: Record<state.View, string> = { summary: "Summary", flame: "Flame graph", timeline: "Timeline", sites: "Sites", sizes: "Sizes & lifetimes",
	threads: "Threads", modules: "Modules", diff: "Diff" };

const LIST: [string, [string, string][]][] = [
	["Everywhere", [
		["1 … 8", "the views, in the order of the tabs"],
		["P L A C T M", "metric: peak, leaked, allocated, calls, temporary, moved (with Shift)"],
		["/", "search; Esc leaves it"],
		["f  i  m", "focus on, ignore, merge the selected function"],
		["c", "callers and callees of the selected function"],
		["r", "show the frames of allocators and containers"],
		["x", "clear the filter"],
		["y", "copy the link of this view"],
		["d", "dark, light, as the system has it"],
		["Esc", "one step back: zoom, callers, selection"],
		["?", "this list"],
	]],
	["Flame graph and tree", [
		["← → ↑ ↓", "neighbours, callers, callees"],
		["Enter", "zoom in (double click does, too)"],
		["Ctrl wheel, drag", "zoom and move freely"],
		["b", "bottom-up: allocating functions first"],
		["v", "root below: flames instead of icicles"],
		["l", "a box for each line"],
		["t", "the same as a tree of rows"],
		["*", "in the tree: open all siblings"],
	]],
	["Tables", [
		["↑ ↓ PgUp PgDn Home End", "move"],
		["Enter", "focus on the row"],
	]],
	["Timeline", [
		["drag", "choose a range of time; a phase or mark below the chart does, too"],
		["← →  with Shift", "move the range's end, its beginning"],
	]],
];

function back() {
	if (helpOpen.value)
		helpOpen.value = false;
	else if (state.zoom.value.length)
		state.zoom.value = state.zoom.value.slice(0, -1);
	else if (state.pivot.value !== null)
		state.pivot.value = null;
	else if (state.search.value)
		state.search.value = "";
	else {
		state.selection.value = null;
		state.path.value = [];
	}
}

export function onKey(event: KeyboardEvent) {
	const target = event.target as HTMLElement;
	const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
	if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented)
		return;
	if (typing) {
		if (event.key === "Escape")
			target.blur();
		return;
	}
	if (helpOpen.value && event.key !== "Escape" && event.key !== "?")
		return;
	const selected = state.selection.value, frame = selected ? frameOfSelection(selected) : -1;
	const restart = () => { state.zoom.value = state.path.value = []; };
	const commands: Record<string, () => void> = {
		"/": () => document.getElementById("search")?.focus(),
		"?": () => { helpOpen.value = !helpOpen.value; },
		Escape: back,
		r: toggleInternals,
		x: state.clearFilter,
		d: () => { state.theme.value = ({ system: "dark", dark: "light", light: "system" } as const)[state.theme.value]; },
		y: () => { navigator.clipboard?.writeText(location.href).catch(() => {}); },
		b: () => { state.bottomUp.value = !state.bottomUp.value; restart(); },
		v: () => { state.rootBelow.value = !state.rootBelow.value; },
		l: () => { state.byLine.value = !state.byLine.value; restart(); },
		t: () => { state.asTree.value = !state.asTree.value; },
	};
	if (frame >= 0 && !profile.value.isOther(frame)) {
		commands.f = () => actions.focus(frame);
		commands.i = () => actions.ignore(frame);
		commands.m = () => actions.merge(frame);
		commands.c = () => actions.pivot(frame);
	}
	for (const metric of metrics.value)
		commands[metric.label[0].toUpperCase()] = () => { state.metric.value = metric.name; };
	shownViews().forEach((view, i) => { commands[String(i + 1)] = () => { state.view.value = view; }; });
	const command = commands[event.key];
	if (command) {
		event.preventDefault();
		command();
	}
}

export function Help() {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	return (
		<dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => { helpOpen.value = false; }}
			onClick={(event) => { if (event.target === dialog.current) helpOpen.value = false; }}>
			<div class="help-head">
				<h2 id="help-title">Keys</h2>
				<button type="button" class="close" aria-label="Close" onClick={() => { helpOpen.value = false; }}>×</button>
			</div>
			<div class="help-columns">
				{LIST.map(([title, keys]) => (
					<section key={title}>
						<h3>{title}</h3>
						<dl>{keys.map(([key, what]) => <div key={key}><dt>{key.split(" ").map((one, i) => <>{i > 0 && " "}<kbd>{one}</kbd></>)}</dt><dd>{what}</dd></div>)}</dl>
					</section>
				))}
				<section>
					<h3>Patterns</h3>
					<p>Search and filters look for text in names and files. <code>/re/</code> and <code>/re/i</code> are regular expressions, <code>=name</code> is that very function.</p>
				</section>
				<section>
					<h3>Words</h3>
					<p><b>Peak</b>: live when the whole heap was largest. <b>Leaked</b>: live at exit and not suppressed (<code>heapscope suppressions FILE</code> lists the rules). <b>Temporary</b>: freed before its thread allocated again.
						{" "}<b>Moved</b>: what realloc had to copy. Sizes are the bytes that the program asked for.</p>
				</section>
			</div>
		</dialog>
	);
}
