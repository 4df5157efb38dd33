// The heap and the resident size over time on a canvas. Dragging chooses a range of time for all views. (A chart
// library would be a third of the whole page, for two series.)

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { palette } from "./colors";
import { bytes, time } from "./format";
import { hasBins, profile, shownRange } from "./model";
import * as state from "./state";

const MOST_MARKS = 60; // more would be a grey wall
/** as wide as the margins of .lane */
const LEFT = 64, RIGHT = 12, TOP = 14, BOTTOM = 22;
const FONT = "11px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

interface Line {
	name: string;
	times: ArrayLike<number>;
	values: ArrayLike<number>;
	/** where the line ends */
	end: number;
	/** a value holds until the next; else they are joined */
	steps: boolean;
}

function lines(): Line[] {
	const { data } = profile.value, { document } = data;
	const line = (name: string, prefix: string, values: string, end: number, steps: boolean): Line =>
		({ name, times: data.column(`${prefix}.time_us`), values: data.column(`${prefix}.${values}`), end, steps });
	const all = [line("heap", "timeline", "heap_bytes", document.facts.duration_us, true), line("RSS", "rss", "bytes", document.facts.duration_us, false)];
	if (document.baseline) {
		all.push(line("older heap", "old_timeline", "heap_bytes", document.baseline.facts.duration_us, true));
		all.push(line("older RSS", "old_rss", "bytes", document.baseline.facts.duration_us, false));
	}
	return all.filter((one) => one.times.length > 0);
}

/** The last position whose time is not after `at`; -1 if there is none. */
function before(times: ArrayLike<number>, at: number): number {
	let low = 0, high = times.length;
	while (low < high) {
		const half = (low + high) >> 1;
		if (times[half] <= at)
			low = half + 1;
		else
			high = half;
	}
	return low - 1;
}

/** Round steps: of bytes in powers of 1024, of time in the units that people count in. */
export function stepOf(range: number, most: number, kind: "bytes" | "time"): number {
	const raw = range / most;
	if (kind === "bytes") {
		const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(raw, 1)) / Math.log(1024)));
		return unit * [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 100, 200, 300, 400, 500, 1024].find((step) => step * unit >= raw)!;
	}
	if (raw > 1e6)
		return 1e6 * ([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200].find((step) => step * 1e6 >= raw)
			?? Math.ceil(raw / 86400e6) * 86400);
	const unit = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
	return unit * [1, 2, 5, 10].find((step) => step * unit >= raw)!;
}

/** A time on the axis: all in the unit of the step. */
function tick(us: number, step: number): string {
	if (us === 0)
		return "0 s";
	if (step >= 60e6)
		return time(us);
	const [unit, name] = step >= 1e5 ? [1e6, "s"] : step >= 100 ? [1e3, "ms"] : [1, "µs"];
	return `${Number((us / unit).toFixed(2))} ${name}`;
}

/** What the width of the chart stands for, in microseconds. */
export function chartDuration(): number {
	const { facts, baseline } = profile.value.data.document;
	return Math.max(facts.duration_us, baseline?.facts.duration_us ?? 0, 1);
}

export function Chart({ height, compact = false }: { height: number; compact?: boolean }) {
	const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
	const pointer = useSignal<number | null>(null), drag = useSignal<{ from: number; to: number } | null>(null);
	const size = useSignal(0);
	const { document } = profile.value.data, { totals, facts } = document;
	// small, it is about the heap: what is resident would press that flat
	const shown = useComputed(() => lines().filter((line) => line.steps || !compact));
	const duration = chartDuration();
	const highest = useComputed(() => {
		let most = 1024;
		for (const line of shown.value)
			for (let i = 0; i < line.values.length; i++)
				most = Math.max(most, line.values[i]);
		return most * 1.06;
	});
	const timeAt = (x: number) => Math.min(Math.max(((x - LEFT) / (size.value - LEFT - RIGHT)) * duration, 0), duration);

	useEffect(() => {
		const observer = new ResizeObserver(() => { size.value = box.current?.clientWidth ?? 0; });
		observer.observe(box.current!);
		size.value = box.current!.clientWidth;
		return () => observer.disconnect();
	}, []);

	useSignalEffect(() => {
		const surface = canvas.current, width = size.value;
		if (!surface || width < LEFT + RIGHT + 20)
			return;
		const ratio = devicePixelRatio || 1, colors = palette(state.dark.value);
		surface.width = Math.round(width * ratio);
		surface.height = Math.round(height * ratio);
		surface.style.width = `${width}px`;
		surface.style.height = `${height}px`;
		const context = surface.getContext("2d")!;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, width, height);
		context.font = FONT;
		const right = width - RIGHT, bottom = height - BOTTOM;
		const x = (us: number) => LEFT + (us / duration) * (right - LEFT);
		const y = (value: number) => bottom - (value / highest.value) * (bottom - TOP);

		// grid and axes
		context.lineWidth = 1;
		context.textBaseline = "middle";
		context.textAlign = "right";
		const step = stepOf(highest.value, Math.max(2, (bottom - TOP) / 38), "bytes");
		for (let value = 0; value <= highest.value; value += step) {
			const at = Math.round(y(value)) + 0.5;
			context.strokeStyle = colors.grid;
			context.beginPath();
			context.moveTo(LEFT, at);
			context.lineTo(right, at);
			context.stroke();
			context.fillStyle = colors.axis;
			context.fillText(bytes(value).replace(".0 ", " "), LEFT - 7, at);
		}
		context.textBaseline = "top";
		const timeStep = stepOf(duration, Math.max(2, (right - LEFT) / 95), "time");
		for (let at = 0; at <= duration; at += timeStep) {
			context.textAlign = at === 0 ? "left" : x(at) > right - 24 ? "right" : "center";
			context.fillText(tick(at, timeStep), at === 0 ? LEFT : Math.min(x(at), right), bottom + 6);
		}

		// the lines
		const trace = (line: Line) => {
			context.beginPath();
			let last = 0;
			for (let i = 0; i < line.times.length; i++) {
				const here = x(line.times[i]), value = y(line.values[i]);
				if (i === 0)
					context.moveTo(here, value);
				else if (line.steps)
					context.lineTo(here, y(line.values[i - 1]));
				context.lineTo(here, value);
				last = value;
			}
			if (line.steps)
				context.lineTo(x(line.end), last);
		};
		for (const line of shown.value) {
			const old = line.name.startsWith("older");
			context.setLineDash(line.steps ? [] : [4, 3]);
			context.strokeStyle = line.steps ? (old ? colors.mark : colors.heap) : (old ? colors.mark : colors.rss);
			context.lineWidth = line.steps ? 1.5 : 1.2;
			trace(line);
			context.stroke();
			if (line.steps && !old) {
				context.lineTo(x(line.end), bottom);
				context.lineTo(x(line.times[0]), bottom);
				context.closePath();
				context.fillStyle = colors.heapFill;
				context.fill();
			}
		}

		// the peak, and where the program's own marks are; their names stand below (timeline.tsx)
		const mark = (us: number, color: string) => {
			const where = Math.round(x(us)) + 0.5;
			context.strokeStyle = color;
			context.lineWidth = 1;
			context.setLineDash([2, 3]);
			context.beginPath();
			context.moveTo(where, TOP - 8);
			context.lineTo(where, bottom);
			context.stroke();
		};
		if (!compact)
			for (const one of document.marks.slice(0, MOST_MARKS)) {
				if (one.end_us !== null) {
					context.fillStyle = colors.mark;
					context.globalAlpha = 0.07;
					context.fillRect(x(one.time_us), TOP, x(one.end_us) - x(one.time_us), bottom - TOP);
					context.globalAlpha = 1;
				} else {
					mark(one.time_us, colors.mark);
				}
			}
		if (shown.value.length)
			mark(totals.peak_us, colors.heap);
		context.setLineDash([]);
		const text = `peak ${bytes(totals.peak_bytes)}`, flip = x(totals.peak_us) + context.measureText(text).width + 8 > right;
		context.fillStyle = colors.heap;
		context.textBaseline = "top";
		context.textAlign = flip ? "right" : "left";
		context.fillText(text, x(totals.peak_us) + (flip ? -4 : 4), 2);

		const chosen = drag.value ?? shownRange.value;
		if (chosen) {
			context.fillStyle = colors.heapFill;
			context.fillRect(x(chosen.from), TOP - 8, x(chosen.to) - x(chosen.from), bottom - TOP + 8);
			context.fillStyle = colors.heap;
			context.fillRect(x(chosen.from) - 0.5, TOP - 8, 1, bottom - TOP + 8);
			context.fillRect(x(chosen.to) - 0.5, TOP - 8, 1, bottom - TOP + 8);
		}
		if (pointer.value !== null) {
			context.fillStyle = colors.axis;
			context.fillRect(x(pointer.value), TOP - 8, 1, bottom - TOP + 8);
		}
	});

	const position = (event: PointerEvent) => timeAt(event.clientX - canvas.current!.getBoundingClientRect().left);
	const onDown = (event: PointerEvent) => {
		if (event.button !== 0 || !hasBins.value)
			return;
		canvas.current!.setPointerCapture(event.pointerId);
		const at = position(event);
		drag.value = { from: at, to: at };
	};
	const onMove = (event: PointerEvent) => {
		const at = position(event);
		pointer.value = at;
		if (drag.value)
			drag.value = { from: drag.value.from, to: at };
	};
	const onUp = () => {
		const chosen = drag.value;
		drag.value = null;
		if (!chosen)
			return;
		const from = Math.round(Math.min(chosen.from, chosen.to)), to = Math.round(Math.max(chosen.from, chosen.to));
		// less than three pixels is a click, not a range
		if (((to - from) / duration) * (size.value - LEFT - RIGHT) >= 3) {
			state.thread.value = null; // what a thread did is not kept over time
			state.range.value = { from, to };
		}
	};
	const at = pointer.value, chosen = shownRange.value;
	return (
		<div class="chart" ref={box}>
			<canvas ref={canvas} role="img" aria-label={`Heap over ${time(facts.duration_us)}: peak ${bytes(totals.peak_bytes)} at ${
				time(totals.peak_us)}, ${bytes(totals.live_bytes)} at the end${
				facts.peak_rss_bytes ? `, resident at most ${bytes(facts.peak_rss_bytes)}` : ""}${chosen ? `; chosen: ${time(chosen.from)} to ${time(chosen.to)}` : ""}`}
				onPointerDown={onDown} onPointerMove={onMove} onPointerUp={onUp} onPointerCancel={() => { drag.value = null; }}
				onPointerLeave={() => { pointer.value = null; }} />
			<div class="legend" aria-hidden="true">
				<span>{at === null ? "" : time(at)}</span>
				{shown.value.map((line) => {
					const i = at === null || at > line.end ? -1 : before(line.times, at);
					return <span key={line.name}><i class={`line ${line.name.replace(" ", "-")}`} />{line.name}{i >= 0 && <b> {bytes(line.values[i])}</b>}</span>;
				})}
			</div>
		</div>
	);
}
