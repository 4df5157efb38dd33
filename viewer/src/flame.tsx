// The flame graph: a canvas the size of the window, whatever the tree; or the same tree as rows, for those who read
// numbers or listen to them.

import { computed, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { CallTree } from "./calltree";
import { boxColor, diffColor, palette } from "./colors";
import { Details } from "./details";
import { amount, change, exact, share, type Unit } from "./format";
import { boxAt, layOut, type Box, type Layout, type Span } from "./layout";
import { flame, type Forest, internals, matched, matchedTotal, measure, pivotFunction, profile, suppressed } from "./model";
import * as state from "./state";
import { Owners } from "./summary";
import { pathOf, type TreeNode } from "./tree";

const ROW = 20;
const FONT = "11.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
/** begins the path of a box among the callers of a pivot */
export const CALLERS = 4294967295;

export interface FlameWords {
	unit: Unit;
	whole: number;
	wholeName: string;
	/** total is old + new */
	compares: boolean;
}

function nodeAt(forest: Forest, path: number[]): TreeNode {
	if (forest.callers && path[0] === CALLERS)
		return forest.callers.follow(path.slice(1));
	return forest.main.follow(path);
}

function isIn(tree: { root: TreeNode } | null, node: TreeNode): boolean {
	let at = node;
	while (at.parent)
		at = at.parent;
	return at === tree?.root;
}

export function pathIn(forest: Forest, node: TreeNode): number[] {
	return node.parent && isIn(forest.callers, node) ? [CALLERS, ...pathOf(node)] : pathOf(node);
}

function label(node: TreeNode, byLine: boolean): string {
	if (node.frame < 0)
		return "all";
	const name = profile.value.shortName(node.frame);
	return byLine && profile.value.file(node.frame) ? `${name}  ${profile.value.shortPlace(node.frame)}` : name;
}

/** "5.8 MiB, 94.9% of the peak", or with two recordings "1.0 MiB → 3.0 MiB (+2.0 MiB)". */
export function weigh(node: TreeNode, words: FlameWords): string {
	if (words.compares)
		return `${amount(node.old, words.unit)} → ${amount(node.total - node.old, words.unit)} (${change(node.total - 2 * node.old, words.unit)})`;
	return amount(node.total, words.unit) + (words.whole ? `, ${share(node.total, words.whole)} of ${words.wholeName}` : "");
}

function describe(forest: Forest, node: TreeNode, words: FlameWords): string {
	const parts = [weigh(node, words)];
	const tree = isIn(forest.callers, node) && node.parent ? null : forest.main;
	if (tree && !words.compares && node.parent && !state.bottomUp.value) {
		const self = tree.self(node);
		if (self > 0)
			parts.push(`itself ${amount(self, words.unit)}`);
	}
	return parts.join(" · ");
}

/** Makes a box the selected one, here and (as its function) in every other view. */
export function select(forest: Forest, node: TreeNode) {
	state.path.value = pathIn(forest, node);
	if (node.frame >= 0 && !profile.value.isOther(node.frame))
		state.selection.value = { kind: "function", id: profile.value.functionOf[node.frame] };
}

export function zoomTo(forest: Forest, node: TreeNode) {
	if (isIn(forest.main, node))
		state.zoom.value = pathOf(node);
}

export function FlameGraph({ forest, words }: { forest: Forest; words: FlameWords }) {
	const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null), sizer = useRef<HTMLDivElement>(null);
	const hover = useSignal<{ node: TreeNode | null; parent: TreeNode | null; x: number; y: number } | null>(null);
	const view = useRef({ span: null as Span | null, main: null as Layout | null, callers: null as Layout | null, up: 0,
		rows: 0, frame: 0, animation: 0, dragging: null as { x: number; span: Span; moved: boolean } | null });
	const width = () => box.current!.clientWidth, height = () => box.current!.clientHeight;

	const rootSpan = (): Span => ({ from: 0, to: forest.main.root.total || 1 });
	const zoomSpan = (): Span => {
		const node = forest.main.follow(state.zoom.value);
		return { from: node.start, to: node.start + (node.total || 1) };
	};
	/** where the first row of the main tree is, and which way the rows go */
	const rowTop = (row: number, callers: boolean) => {
		const { up, rows } = view.current;
		if (forest.callers)
			return (callers ? up - row : up + row) * ROW;
		return state.rootBelow.value ? Math.max(rows * ROW, height()) - (row + 1) * ROW : row * ROW;
	};

	const draw = () => {
		view.current.frame = 0;
		if (!box.current || !canvas.current)
			return;
		const began = performance.now();
		const surface = canvas.current, w = width(), h = height(), ratio = devicePixelRatio || 1;
		const current = view.current;
		const span = (current.span ??= zoomSpan());
		if (surface.width !== Math.round(w * ratio) || surface.height !== Math.round(h * ratio)) {
			surface.width = Math.round(w * ratio);
			surface.height = Math.round(h * ratio);
			surface.style.width = `${w}px`;
			surface.style.height = `${h}px`;
		}
		const scroll = box.current.scrollTop;
		let first = Math.floor(scroll / ROW), last = first + Math.ceil(h / ROW) + 1;
		if (forest.callers) {
			const all = rootSpan();
			current.callers = layOut(forest.callers, all, w, 0, 1e9);
			current.main = layOut(forest.main, span, w, 0, 1e9);
			current.up = current.callers.rows - 1;
			current.rows = current.up + current.main.rows;
		} else if (state.rootBelow.value) {
			// which rows are in sight depends on how many there are
			const all = layOut(forest.main, span, w, 0, 1e9);
			current.main = all;
			current.rows = all.rows;
			current.callers = null;
		} else {
			current.main = layOut(forest.main, span, w, first, last);
			current.rows = current.main.rows;
			current.callers = null;
		}
		sizer.current!.style.height = `${Math.max(current.rows * ROW + 4, h)}px`;
		const context = surface.getContext("2d")!;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		const colors = palette(state.dark.value);
		context.fillStyle = colors.background;
		context.fillRect(0, 0, w, h);
		context.font = FONT;
		context.textBaseline = "middle";
		const character = context.measureText("mmmmmmmmmm").width / 10;
		const mask = matched.value, selected = nodeAt(forest, state.path.value), lines = state.byLine.value;
		const zoomed = forest.main.follow(state.zoom.value);
		let drawn = 0;
		const paint = (layout: Layout, callers: boolean) => {
			for (const item of layout.boxes) {
				if (callers && item.row === 0)
					continue;
				const y = rowTop(item.row, callers) - scroll;
				if (y + ROW < 0 || y > h)
					continue;
				drawn++;
				const gap = item.width > 3 ? 1 : 0;
				const node = item.node;
				context.globalAlpha = 1;
				if (!node) {
					context.fillStyle = colors.merged;
					context.fillRect(item.x, y, Math.max(item.width - gap, 0.5), ROW - 1);
					continue;
				}
				const middle = node.depth === 0 && node.frame >= 0; // the pivot, between its callers and its callees
				const matches = mask && node.frame >= 0 && mask[profile.value.functionOf[node.frame]];
				context.fillStyle = middle ? colors.selected : matches ? colors.match : words.compares ? diffColor(node, state.dark.value)
					: boxColor(profile.value, node.frame, state.dark.value);
				if ((mask && !matches) || node.depth < zoomed.depth)
					context.globalAlpha = 0.45;
				context.fillRect(item.x, y, Math.max(item.width - gap, 0.5), ROW - 1);
				context.globalAlpha = 1;
				if (node === selected && node.parent) {
					context.strokeStyle = colors.selected;
					context.lineWidth = 2;
					context.strokeRect(item.x + 1, y + 1, Math.max(item.width - gap - 2, 1), ROW - 3);
				}
				const room = Math.floor((item.width - 8) / character);
				if (room >= 3) {
					let text = label(node, lines);
					const more = words.compares ? change(node.total - 2 * node.old, words.unit) : amount(node.total, words.unit);
					if (text.length + more.length + 2 <= room)
						text += `  ${more}`;
					if (text.length > room)
						text = text.slice(0, room - 1) + "…";
					context.fillStyle = middle ? colors.background : matches ? colors.matchInk : colors.ink;
					context.fillText(text, item.x + 4, y + ROW / 2);
				}
			}
		};
		if (current.callers)
			paint(current.callers, true);
		paint(current.main, false);
		surface.dataset.boxes = String(drawn);
		surface.dataset.frameMs = (performance.now() - began).toFixed(2);
	};
	const redraw = () => { view.current.frame ||= requestAnimationFrame(draw); };

	/** Glides from the span that is shown to another, unless the reader wants no motion. */
	const glide = (to: Span) => {
		const current = view.current, from = current.span ?? to, began = performance.now();
		cancelAnimationFrame(current.animation);
		if (matchMedia("(prefers-reduced-motion: reduce)").matches || (from.from === to.from && from.to === to.to)) {
			current.span = to;
			redraw();
			return;
		}
		const step = () => {
			const part = Math.min((performance.now() - began) / 140, 1), eased = 1 - (1 - part) ** 3;
			current.span = part === 1 ? to : { from: from.from + (to.from - from.from) * eased, to: from.to + (to.to - from.to) * eased };
			draw();
			if (part < 1)
				current.animation = requestAnimationFrame(step);
		};
		current.animation = requestAnimationFrame(step);
	};

	useLayoutEffect(() => {
		view.current.span = null;
		redraw();
		if (forest.callers)
			requestAnimationFrame(() => { if (box.current) box.current.scrollTop = Math.max(0, view.current.up * ROW - height() / 2); });
		else if (state.rootBelow.value)
			requestAnimationFrame(() => { if (box.current) box.current.scrollTop = 1e9; });
	}, [forest]);
	useEffect(() => {
		const observer = new ResizeObserver(redraw);
		observer.observe(box.current!);
		return () => {
			observer.disconnect();
			cancelAnimationFrame(view.current.frame);
			cancelAnimationFrame(view.current.animation);
			view.current.frame = 0;
		};
	}, [forest]);
	const shown = useMemo(() => computed(() => [matched.value, state.path.value, state.dark.value, state.rootBelow.value]), []);
	useSignalEffect(() => { shown.value; redraw(); });
	useSignalEffect(() => { state.zoom.value; if (box.current) glide(zoomSpan()); });

	const find = (event: MouseEvent): Box | null => {
		const area = box.current!.getBoundingClientRect(), current = view.current;
		const x = event.clientX - area.left, y = event.clientY - area.top + box.current!.scrollTop;
		const row = state.rootBelow.value && !forest.callers ? Math.floor((Math.max(current.rows * ROW, height()) - y) / ROW)
			: Math.floor(y / ROW) - (forest.callers ? current.up : 0);
		if (row < 0)
			return current.callers && boxAt(current.callers, x, -row);
		return current.main && boxAt(current.main, x, row);
	};
	const onMove = (event: PointerEvent) => {
		const current = view.current;
		if (current.dragging && event.buttons & 1) {
			const { x, span } = current.dragging, moved = event.clientX - x;
			if (Math.abs(moved) > 4)
				current.dragging.moved = true;
			if (current.dragging.moved) {
				const all = rootSpan(), length = span.to - span.from;
				const from = Math.min(Math.max(span.from - (moved / width()) * length, 0), all.to - length);
				current.span = { from, to: from + length };
				hover.value = null;
				redraw();
				return;
			}
		}
		const found = find(event), area = box.current!.getBoundingClientRect();
		hover.value = found && { node: found.node, parent: found.parent, x: event.clientX - area.left, y: event.clientY - area.top };
	};
	const onWheel = (event: WheelEvent) => {
		if (!event.ctrlKey && !event.metaKey)
			return;
		event.preventDefault();
		const current = view.current, all = rootSpan(), span = current.span ?? all;
		const at = (event.clientX - box.current!.getBoundingClientRect().left) / width();
		const length = Math.min((span.to - span.from) * Math.exp(event.deltaY / 300), all.to);
		const from = Math.min(Math.max(span.from + at * (span.to - span.from - length), 0), all.to - length);
		current.span = { from, to: from + length };
		redraw();
	};
	useEffect(() => {
		const element = box.current!;
		element.addEventListener("wheel", onWheel, { passive: false });
		return () => element.removeEventListener("wheel", onWheel);
	}, [forest]);
	const onClick = (event: MouseEvent) => {
		const dragged = view.current.dragging?.moved;
		view.current.dragging = null;
		const found = dragged ? null : find(event);
		if (found?.node)
			select(forest, found.node);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const node = nodeAt(forest, state.path.value);
		const callers = forest.callers && node.parent && isIn(forest.callers, node);
		const tree = callers ? forest.callers! : forest.main;
		const outward = callers || (state.rootBelow.value && !forest.callers) ? "ArrowUp" : "ArrowDown";
		const inward = outward === "ArrowUp" ? "ArrowDown" : "ArrowUp";
		let next: TreeNode | null | undefined;
		if (event.key === outward)
			next = tree.children(node)[0];
		else if (event.key === inward)
			next = node.parent ?? (forest.callers && node === forest.main.root ? forest.callers.children(forest.callers.root)[0] : null);
		else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && node.parent) {
			const siblings = tree.children(node.parent);
			next = siblings[siblings.indexOf(node) + (event.key === "ArrowRight" ? 1 : -1)];
		} else if (event.key === "Enter")
			zoomTo(forest, node);
		else if (event.key === "Home")
			next = forest.main.root;
		else
			return;
		event.preventDefault();
		if (!next)
			return;
		select(forest, next);
		const y = rowTop(next.depth, next.parent !== null && isIn(forest.callers, next));
		if (y < box.current!.scrollTop)
			box.current!.scrollTop = y;
		else if (y + ROW > box.current!.scrollTop + height())
			box.current!.scrollTop = y + ROW - height();
	};
	const pointed = hover.value;
	return (
		<div class="flame-box">
			<div class="flame" ref={box} tabIndex={0} role="application" aria-roledescription="flame graph"
				aria-label="Flame graph. Arrow keys move between boxes, Enter zooms, t shows the same as a tree."
				aria-describedby="flame-status" onKeyDown={onKeyDown} onScroll={redraw} onPointerMove={onMove}
				onPointerDown={(event) => {
					if (event.button === 0 && event.pointerType === "mouse")
						view.current.dragging = { x: event.clientX, span: view.current.span ?? rootSpan(), moved: false };
				}}
				onPointerLeave={() => { hover.value = null; }} onClick={onClick}
				onDblClick={(event) => { const found = find(event); if (found?.node) zoomTo(forest, found.node); }}>
				<canvas ref={canvas} aria-hidden="true" />
				<div ref={sizer} class="sizer" />
			</div>
			{pointed && <Tip {...pointed} forest={forest} words={words} width={box.current?.clientWidth ?? 0} height={box.current?.clientHeight ?? 0} />}
		</div>
	);
}

function Tip({ node, parent, x, y, forest, words, width, height }: { node: TreeNode | null; parent: TreeNode | null; x: number; y: number;
	forest: Forest; words: FlameWords; width: number; height: number }) {
	const style = {
		...(x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` }),
		...(y > height / 2 ? { bottom: `${height - y + 12}px` } : { top: `${y + 16}px` }),
	};
	if (!node)
		return <div class="tip" style={style}>Boxes too narrow to be drawn{parent && parent.frame >= 0
			? `, called by ${profile.value.shortName(parent.frame)}` : ""}. Zoom in to see them.</div>;
	const frame = node.frame;
	return (
		<div class="tip" style={style}>
			<b class="code">{frame < 0 ? "all stacks" : profile.value.shortName(frame)}</b>
			{frame >= 0 && <div class="code quiet">{profile.value.place(frame)}{profile.value.isInlined(frame) ? " (inlined)" : ""}</div>}
			<div>{describe(forest, node, words)}</div>
		</div>
	);
}

/** What is selected, in one line that does not jump about. */
function Status({ forest, words }: { forest: Forest; words: FlameWords }) {
	const node = nodeAt(forest, state.path.value), frame = node.frame;
	return (
		<div class="status" id="flame-status" aria-live="polite">
			<span class="code strong">{frame < 0 ? "all stacks" : profile.value.shortName(frame)}</span>
			<span title={exact(node.total, words.unit)}>{describe(forest, node, words)}</span>
			{!words.compares && suppressed.value && <span class="quiet">{suppressed.value}</span>}
			{matched.value && !words.compares && (
				<span class="matched" title={exact(matchedTotal.value, words.unit)}>matched {amount(matchedTotal.value, words.unit)}, {share(matchedTotal.value, words.whole)} of {words.wholeName}</span>
			)}
		</div>
	);
}

function Toggle({ on, label, title, set }: { on: boolean; label: string; title: string; set(on: boolean): void }) {
	return <button type="button" class="toggle" aria-pressed={on} title={title} onClick={() => set(!on)}>{label}</button>;
}

/** All views show them, or none does. */
export function toggleInternals() {
	if (state.selection.value?.kind === "stack")
		state.selection.value = null; // stacks are numbered anew
	state.internals.value = internals.value ? "hidden" : "shown";
}

export function Internals() {
	return <Toggle on={internals.value} label="Internals" title="Show the innermost frames of allocators and containers (r)" set={toggleInternals} />;
}

export function FlameTools({ owners = false }: { owners?: boolean }) {
	const pivot = pivotFunction.value;
	return (
		<div class="tools" role="group" aria-label="How the graph is drawn">
			{pivot === null ? <>
				<Toggle on={state.bottomUp.value} label="Bottom-up" title="Begin with the allocating functions, their callers below them (b)"
					set={(on) => { state.bottomUp.value = on; state.zoom.value = state.path.value = []; }} />
				<Toggle on={state.rootBelow.value} label="Root below" title="Flames instead of icicles (v)" set={(on) => { state.rootBelow.value = on; }} />
				<Toggle on={state.byLine.value} label="Lines" title="A box for each line instead of each function (l)"
					set={(on) => { state.byLine.value = on; state.zoom.value = state.path.value = []; }} />
			</> : (
				<span class="chip">callers and callees of <b class="code">{profile.value.shortName(profile.value.functionFrame[pivot])}</b>
					<button type="button" aria-label="Back to all stacks" onClick={() => { state.pivot.value = null; state.path.value = state.zoom.value = []; }}>×</button>
				</span>
			)}
			<Internals />
			<Toggle on={state.asTree.value} label="As tree" title="The same as rows with numbers (t)" set={(on) => { state.asTree.value = on; }} />
			{state.zoom.value.length > 0 && !state.asTree.value && <button type="button" onClick={() => { state.zoom.value = []; }}>Zoom out (Esc)</button>}
			{owners && <span class="push quiet small"><Owners /></span>}
		</div>
	);
}

export function FlameView() {
	const forest = flame.value, current = measure.value;
	const words = useComputed<FlameWords>(() => ({ unit: measure.value.unit, whole: measure.value.whole, wholeName: measure.value.wholeName, compares: false }));
	return (
		<div class="split">
			<section class="pane" aria-label="Stacks">
				<FlameTools owners />
				<Status forest={forest} words={words.value} />
				{forest.main.root.total === 0 ? <p class="empty">Nothing {state.isFiltered.value ? "with this filter" : "in this recording"} by this metric ({current.label.toLowerCase()}).</p>
					: state.asTree.value ? <CallTree forest={forest} words={words.value} /> : <FlameGraph forest={forest} words={words.value} />}
			</section>
			<Details />
		</div>
	);
}
