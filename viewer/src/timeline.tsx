// Heap and RSS over time; a dragged range answers what was allocated there, and what was live when it ended.

import { Chart } from "./chart";
import { Details } from "./details";
import { bytes, counted, time } from "./format";
import { hasBins, measure, profile, RANGE_MODES, rangeLabel, shownRange } from "./model";
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
				<div class="chart-box" tabIndex={0} role="group" onKeyDown={onKeyDown}
					aria-label="Range of time: left and right arrows move its end, with Shift its beginning">
					<Chart height={230} />
				</div>
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
				{document.marks.length > 0 && <Marks />}
				<h2 class="table-title">{measure.value.question}
					{measure.value.rest > 0 && <span class="quiet small"> · {bytes(measure.value.rest)} of it in stacks too small for a history of their own</span>}</h2>
				<SitesTable />
				{range && <p class="quiet small foot">Times are exact to {time(document.bin_us)}, the width of one of {counted(profile.value.bins, "bin")}.</p>}
			</section>
			<Details />
		</div>
	);
}

function Marks() {
	const { marks, facts } = profile.value.data.document;
	return (
		<div class="marks" role="group" aria-label="Marks of the program; choose one as the range">
			{marks.slice(0, 200).map((mark, i) => (
				<button key={i} type="button" title={`${time(mark.time_us)}${mark.end_us === null ? "" : ` to ${time(mark.end_us)}`}`}
					onClick={() => { state.range.value = { from: mark.time_us, to: mark.end_us ?? marks[i + 1]?.time_us ?? facts.duration_us }; }}>
					{mark.name}
				</button>
			))}
		</div>
	);
}
