// The first thing one sees: how much, and which lines of code hold it.

import { Chart } from "./chart";
import type { CountName } from "./data";
import type { Metric, MetricName } from "./profile";
import { amount, bytes, count, counted, exact, lastComponent, share, time } from "./format";
import { describeEnd, hasTime, lineKeys, measure, metrics, profile, suppressed } from "./model";
import * as state from "./state";
import { Bar } from "./table";

const TOP = 10;

export function Summary() {
	const current = measure.value;
	return (
		<div class="summary">
			<Tiles />
			<div class="summary-columns">
				<section class="card answer" aria-labelledby="answer">
					<h2 id="answer">{current.question}</h2>
					<TopLines />
				</section>
				<div class="summary-side">
					<section class="card" aria-labelledby="over-time">
						<h2 id="over-time">Heap over time</h2>
						{hasTime.value ? <Chart height={170} compact /> : <p class="quiet">The file does not tell.</p>}
					</section>
					<Facts />
				</div>
			</div>
		</div>
	);
}

export function Headline() {
	const { facts } = profile.value.data.document;
	return (
		<header class="headline">
			<h1 class="code" title={facts.command.join(" ")}>{facts.command.join(" ") || facts.program || profile.value.data.document.path}</h1>
			<p class="quiet">{describeEnd(facts)}{facts.duration_us !== null && ` after ${time(facts.duration_us)}`}{facts.pid !== null && ` · pid ${facts.pid}`}</p>
		</header>
	);
}

function tileNote(metric: Metric): string {
	const { totals } = profile.value.data.document, knows = (...names: CountName[]) => names.every((name) => profile.value.data.knows(name));
	const needed: Record<MetricName, CountName[]> = { peak: ["peak_blocks"], leaked: ["leaked_blocks"], allocated: ["allocations"], calls: ["reallocations"],
		temporary: ["allocations"], moved: ["moved"] };
	if (!knows(...needed[metric.name]))
		return "";
	switch (metric.name) {
	case "peak": return `${hasTime.value ? `at ${time(totals.peak_us)}, ` : ""}in ${counted(totals.peak_blocks, "block")}`;
	case "leaked": return `${counted(totals.leaked_blocks, "block")} never freed${totals.suppressed_blocks ? `; ${bytes(totals.suppressed_bytes)} suppressed` : ""}`;
	case "allocated": return `${bytes(totals.allocations ? Math.round(totals.allocated_bytes / totals.allocations) : 0)} a call on average`;
	case "calls": return `${share(totals.reallocations, totals.allocations)} of them reallocs`;
	case "temporary": return `${share(totals.temporary, totals.allocations)} of all calls`;
	case "moved": return `copied by ${counted(totals.moved, "realloc")}`;
	}
}

/** The totals, which choose what the list below is about. */
function Tiles() {
	const { totals } = profile.value.data.document;
	return (
		<div class="tiles" role="group" aria-label="Totals; choose what to list">
			{metrics.value.map((metric) => (
				<button key={metric.name} type="button" class="tile" aria-pressed={state.metric.value === metric.name}
					onClick={() => { state.metric.value = metric.name; }}>
					<span class="tile-label">{metric.label}</span>
					<span class="tile-value" title={exact(totals[metric.column], metric.unit)}>{metric.unit === "bytes" ? bytes(totals[metric.column]) : count(totals[metric.column])}
						{metric.unit !== "bytes" && <small> calls</small>}</span>
					<span class="tile-note">{tileNote(metric)}</span>
				</button>
			))}
		</div>
	);
}

function TopLines() {
	const all = profile.value, current = measure.value;
	const sums = all.sumByLine(current.weights, lineKeys.value);
	const shown = sums.slice(0, TOP), most = shown[0]?.[1] ?? 0;
	const rest = current.total - shown.reduce((total, [, value]) => total + value, 0);
	if (!shown.length)
		return <p class="empty">Nothing{state.isFiltered.value ? " with this filter" : ""}. {suppressed.value}</p>;
	return (
		<>
			<ol class="top-lines">
				{shown.map(([line, value]) => {
					const frame = all.lineFrame[line];
					return (
						<li key={line}>
							<button type="button" title={`${all.name(frame)}\n${all.wholePlace(frame)}`} onClick={() => {
								state.selection.value = { kind: "line", id: line };
								state.groupBy.value = "line";
								state.view.value = "sites";
							}}>
								<span class="top-share">{share(value, current.whole)}</span>
								<span class="top-value" title={exact(value, current.unit)}>{amount(value, current.unit)}</span>
								<span class="top-name">
									<span class="code">{all.shortName(frame)}</span>{" "}
									<span class="code quiet place">{all.place(frame)}</span>
									{all.isNameless(frame) && <NamedCaller line={line} />}
									<Bar part={value} whole={most} kind={all.isOwn(frame) ? "own" : ""} />
								</span>
							</button>
						</li>
					);
				})}
			</ol>
			<p class="quiet foot">
				{rest > 0 ? `${counted(sums.length - shown.length, "more line")}: ${amount(rest, current.unit)} (${share(rest, current.whole)}). `
					: "That is all. "}
				<button type="button" class="link" onClick={() => { state.view.value = "sites"; }}>All sites</button>{" · "}
				<button type="button" class="link" onClick={() => { state.view.value = "flame"; }}>Flame graph</button>
			</p>
			<p class="quiet small foot">Shares are of {current.wholeName}, {amount(current.whole, current.unit)}. {suppressed.value} <Owners /></p>
		</>
	);
}

/** An address says nothing to people: the next caller with a name, of the heaviest of its stacks. */
function NamedCaller({ line }: { line: number }) {
	const all = profile.value, { weights } = measure.value;
	let most = -1;
	lineKeys.value.forEach((key, stack) => { if (key === line && (most < 0 || weights[stack] > weights[most])) most = stack; });
	const frames = most < 0 ? [] : all.stackFrames(most), caller = frames.slice(all.ownPosition(most)).find((frame) => !all.isNameless(frame));
	return caller === undefined ? null : <span class="quiet"> in calls by <span class="code">{all.shortName(caller)}</span></span>;
}

/** "2026-11-29 14:37:50", as print has it, in the time zone of the reader. */
function date(at: Date): string {
	const two = (value: number) => String(value).padStart(2, "0");
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** What the two colours mean. */
export function Owners() {
	return <span class="owners"><i class="key own" />your code <i class="key library" />libraries</span>;
}

function Facts() {
	const { document } = profile.value.data, { facts, totals } = document, knows = (name: CountName) => profile.value.data.knows(name);
	const threads = profile.value.data.column("thread.tid").length, started = new Date(facts.start_unix_us / 1000);
	const rows: [string, string, string?][] = [
		["Program", lastComponent(facts.program) || "unknown", facts.program],
		["Recorded", facts.start_unix_us ? date(started) : "unknown", started.toISOString?.()],
		["Ran", facts.duration_us === null ? describeEnd(facts) : `${time(facts.duration_us)}, ${describeEnd(facts)}`],
		["Peak RSS", facts.peak_rss_bytes ? bytes(facts.peak_rss_bytes) : "unknown", "of the process, heapscope's buffers included"],
		["Allocated", facts.duration_us && knows("allocations") && knows("allocated_bytes") ? `${count(Math.round(totals.allocations / (facts.duration_us / 1e6)))} calls/s, ${
			bytes(Math.round(totals.allocated_bytes / (facts.duration_us / 1e6)))}/s` : "unknown how fast"],
		["Threads", threads ? count(threads) : "unknown"],
		["Sites", count(document.site_count)],
		["Complete", facts.lost_events || facts.warning || facts.stopped ? "no, see above"
			: facts.truncated_stacks + facts.broken_stacks ? `yes; ${counted(facts.truncated_stacks + facts.broken_stacks, "stack")} without outer callers` : "yes"],
		["File", document.path],
	];
	return (
		<section class="card" aria-labelledby="facts">
			<h2 id="facts">The recording</h2>
			<dl class="facts">
				{rows.map(([name, value, title]) => <div key={name}><dt>{name}</dt><dd title={title}>{value}</dd></div>)}
			</dl>
			{document.pruned && <p class="quiet small">{counted(document.pruned.stacks, "stack")} too small to be seen
				{document.pruned.stacks === 1 ? " stands" : " stand"} as “(other)” below their callers; all sums are exact.</p>}
			{document.notes.map((note) => <p key={note} class="quiet small">{note}</p>)}
		</section>
	);
}
