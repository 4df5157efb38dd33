// The frame around the views: tabs, metric, filter, search, warnings.

import { useEffect, useRef } from "preact/hooks";
import { Diff } from "./diff";
import { FlameView } from "./flame";
import { middle, time } from "./format";
import { Help, helpOpen, onKey, shownViews, VIEW_NAMES } from "./keys";
import { measure, metrics, profile, shownRange, warnings } from "./model";
import { Sizes } from "./sizes";
import { SitesView } from "./sites";
import * as state from "./state";
import { Headline, Summary } from "./summary";
import { Modules, Threads } from "./threads";
import { Timeline } from "./timeline";
import { lastComponent } from "./format";

const VIEWS = { summary: Summary, flame: FlameView, timeline: Timeline, sites: SitesView, sizes: Sizes, threads: Threads, modules: Modules, diff: Diff };

function Tabs() {
	const tabs = useRef<HTMLElement>(null), view = state.view.value;
	useEffect(() => {
		tabs.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	}, [view]);
	return (
		<nav class="tabs" aria-label="Views" ref={tabs}>
			{shownViews().map((view, i) => (
				<button key={view} type="button" aria-current={state.view.value === view ? "page" : undefined} title={`${VIEW_NAMES[view]} (${i + 1})`}
					onClick={() => { state.view.value = view; }}>{VIEW_NAMES[view]}</button>
			))}
		</nav>
	);
}

function Chip({ word, text, remove }: { word: string; text: string; remove(): void }) {
	return (
		<span class="chip">
			<span class="quiet">{word}</span> <b title={text}>{middle(text, 40)}</b>
			<button type="button" aria-label={`Remove the filter: ${word} ${text}`} onClick={remove}>×</button>
		</span>
	);
}

function Chips() {
	const { data } = profile.value, lists = [["focus", state.focus], ["ignore", state.ignore], ["merge", state.merge]] as const;
	const tids = data.column("thread.tid"), thread = state.thread.value, module = state.module.value, range = shownRange.value;
	const words = { focus: "through", ignore: "without", merge: "merged" };
	const none = !state.isFiltered.value && !state.merge.value.length;
	return none ? null : (
		<div class="chips" role="group" aria-label="Filter">
			{lists.flatMap(([kind, list]) => list.value.map((pattern) => (
				<Chip key={kind + pattern} word={words[kind]} text={pattern.replace(/^=/, "")}
					remove={() => { list.value = list.value.filter((one) => one !== pattern); }} />
			)))}
			{module !== null && <Chip word="module" text={lastComponent(data.document.modules[module]?.path ?? "?")} remove={() => { state.module.value = null; }} />}
			{thread !== null && <Chip word="thread" text={data.string(data.column("thread.name", tids.length)[thread] ?? 0) || `${tids[thread] ?? "?"}`}
				remove={() => { state.thread.value = null; }} />}
			{range && <Chip word={measure.value.label.toLowerCase()} text={`${time(range.from)} – ${time(range.to)}`} remove={() => { state.range.value = null; }} />}
			<button type="button" class="link" title="Clear the filter (x)" onClick={() => { state.clearFilter(); state.merge.value = []; }}>Clear</button>
		</div>
	);
}

function Toolbar() {
	const view = state.view.value, inRange = shownRange.value !== null;
	const choosable = view !== "summary" && view !== "diff" && view !== "sizes" && view !== "threads" && view !== "modules" && view !== "timeline";
	return (
		<section class="toolbar" aria-label="Search and filter">
			{view === "summary" && <Headline />}
			{choosable && !inRange && (
				<div class="segmented" role="group" aria-label="Metric">
					{metrics.value.map((metric) => (
						<button key={metric.name} type="button" aria-pressed={state.metric.value === metric.name} title={`${metric.question} (${metric.label[0]})`}
							onClick={() => { state.metric.value = metric.name; }}>{metric.label}</button>
					))}
				</div>
			)}
			<Chips />
			<label class="search">
				<span class="visually-hidden">Search functions and files</span>
				<input id="search" type="search" placeholder="Search ( / )" value={state.search.value} spellcheck={false} autocomplete="off"
					onInput={(event) => { state.search.value = event.currentTarget.value; }} />
			</label>
		</section>
	);
}

export function App() {
	const { document: recording } = profile.value.data, View = VIEWS[state.view.value === "diff" && !recording.baseline ? "summary" : state.view.value];
	useEffect(() => {
		addEventListener("keydown", onKey);
		return () => removeEventListener("keydown", onKey);
	}, []);
	const themes = { system: "◐", light: "○", dark: "●" };
	return (
		<>
			<header class="top">
				<span class="brand" title={`heapscope ${recording.heapscope}`}>heapscope</span>
				<span class="file" title={recording.facts.command.join(" ")}>{recording.baseline && `${recording.baseline.path} → `}{recording.path}</span>
				<Tabs />
				<button type="button" class="icon" title={`Theme: ${state.theme.value} (d)`} aria-label={`Theme: ${state.theme.value}`}
					onClick={() => { state.theme.value = ({ system: "dark", dark: "light", light: "system" } as const)[state.theme.value]; }}>{themes[state.theme.value]}</button>
				<button type="button" class="icon" title="Keys (?)" aria-label="Keys" onClick={() => { helpOpen.value = true; }}>?</button>
			</header>
			{warnings.value.length > 0 && (
				<div class="warnings" role="alert">
					{warnings.value.map((warning) => <p key={warning}><b>Warning</b> {warning}</p>)}
				</div>
			)}
			<Toolbar />
			<main class={`view-${state.view.value}`}>
				{state.view.value !== "summary" && <h1 class="visually-hidden">{VIEW_NAMES[state.view.value]}</h1>}
				<View />
			</main>
			{helpOpen.value && <Help />}
		</>
	);
}
