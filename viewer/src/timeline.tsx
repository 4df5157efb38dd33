// Heap and RSS over time; a dragged range answers what was allocated there, and what was live when it ended.

import { Chart, chartDuration } from "./chart";
import { Details } from "./details";
import { bytes, count, counted, time } from "./format";
import { lanes } from "./marks";
import { hasBins, hasTime, measure, profile, RANGE_MODES, rangeLabel, shownRange } from "./model";
import { SitesTable } from "./sites";
import * as state from "./state";

/** Arrow keys move the end of the range, with Shift its beginning, by bins. */
function onKeyDown(event: KeyboardEvent) {
	const width = profile.value.data.document.bin_us, shown = shownRange.value;
	if (!width || (event.key !== "ArrowLeft" && event.key !== "ArrowRight") || event.ctrlKey || event.altKey || event.metaKey)
		return;
	event.preventDefault();
	const step = event.key === "ArrowLeft" ? -1 : 1, last = profile.value.bins;
	const first = shown ? Math.floor(shown.from / width) : 0, end = shown ? Math.ceil(shown.to / width) : last;
	const from = event.shiftKey ? Math.min(Math.max(first + step, 0), end - 1) : first;
	const to = event.shiftKey ? end : Math.min(Math.max(end + step, from + 1), last);
	state.range.value = { from: from * width, to: to * width };
}

export function Timeline() {
	const { document } = profile.value.data, range = shownRange.value;
	const seconds = (us: number) => String(Number((us / 1e6).toPrecision(7)));
	const read = (text: string) => Math.round(Number(text) * 1e6);
	const set = (from: number, to: number) => {
		if (from >= 0 && to > from)
			state.range.value = { from, to };
	};
	const all = { from: 0, to: document.facts.duration_us };
	return (
		<div class="split">
			<section class="pane" aria-label="Timeline">
				{hasTime.value && <div class="chart-box" tabIndex={0} role="group" onKeyDown={onKeyDown}
					aria-label="Range of time: left and right arrows move its end, with Shift its beginning">
					<Chart height={230} />
				</div>}
				{document.marks.length > 0 && <Marks />}
				{hasBins.value ? (
					<div class="tools range-tools">
						{range ? <>
							<div class="segmented" role="group" aria-label="What to show of this range">
								{RANGE_MODES.map((mode) => (
									<button key={mode} type="button" aria-pressed={state.rangeMode.value === mode}
										onClick={() => { state.rangeMode.value = mode; }}>{rangeLabel(mode, range)}</button>
								))}
							</div>
							<label>from <input type="number" min={0} step="any" value={seconds(range.from)} onChange={(event) => set(read(event.currentTarget.value), range.to)} /> s</label>
							<label>to <input type="number" min={0} step="any" value={seconds(range.to)} onChange={(event) => set(range.from, read(event.currentTarget.value))} /> s</label>
							<button type="button" onClick={() => { state.range.value = null; }}>Whole run</button>
						</> : (
							<>
								<span class="quiet">Drag over the chart to ask what was allocated in a range of time, and what was live at its end.</span>
								<button type="button" onClick={() => set(all.from, document.totals.peak_us || all.to)}>Up to the peak</button>
							</>
						)}
					</div>
				) : <p class="quiet tools">This page has no changes over time, so ranges cannot be asked for.</p>}
				<h2 class="table-title">{measure.value.question}
					{measure.value.rest > 0 && <span class="quiet small"> · {bytes(measure.value.rest)} of it in stacks too small for a history of their own</span>}</h2>
				<SitesTable />
				{range && <p class="quiet small foot">Times are exact to {time(document.bin_us)}, the width of one of {counted(profile.value.bins, "bin")}.{document.marks.some((mark) => mark.end_us !== null)
					&& <> <code>heapscope view --phase NAME</code> makes a page of just what a phase allocated.</>}</p>}
			</section>
			<Details />
		</div>
	);
}

const MOST_LANES = 100;

/** Phases and moments below the chart, each a button at its time that chooses its range of time. */
function Marks() {
	const { marks, bin_us } = profile.value.data.document, range = state.range.value;
	const duration = chartDuration(), all = lanes(marks, duration), left = (us: number) => `${(us / duration) * 100}%`;
	const choose = (from: number, to: number, moment: boolean, chosen: boolean) => {
		state.thread.value = null; // what a thread did is not kept over time
		state.range.value = chosen ? null : { from, to };
		if (moment)
			state.rangeMode.value = "live";
	};
	return (
		<div class="lanes" role="group" aria-label="Phases and marks of the program; choose one to ask about its time">
			{all.slice(0, MOST_LANES).map((lane) => (
				<div key={lane.name} class="lane" role="group" aria-label={lane.name}>
					<span class="lane-name" title={lane.name}>{lane.name || "(no name)"}</span>
					<div class="lane-bars">
						{lane.spans.map(({ from, to, moment, times }) => {
							// of a moment: what was live then
							const start = moment ? 0 : from, chosen = range?.from === start && range.to === to;
							const when = `${times > 1 ? `${count(times)} times, ` : ""}${from === to ? `at ${time(from)}` : `${time(from)} to ${time(to)}, ${time(to - from)}`}`;
							const words = `${lane.name || "(no name)"}, ${moment ? "mark" : "phase"}, ${when}`;
							return <button key={`${moment} ${from} ${to}`} type="button" class={moment ? "moment" : "phase"} disabled={!bin_us} aria-pressed={chosen}
								aria-label={words} title={`${words}${moment ? "; choose it for what was live then" : ""}`}
								style={moment ? { left: left((from + to) / 2) } : { left: left(from), width: left(to - from) }}
								onClick={() => choose(start, to, moment, chosen)} />;
						})}
					</div>
				</div>
			))}
			{all.length > MOST_LANES && <p class="quiet small">{counted(all.length - MOST_LANES, "more name")}: heapscope print --json has all marks.</p>}
		</div>
	);
}
