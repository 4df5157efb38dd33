// The boxes of a flame graph: which nodes of a tree are wide enough to be seen, and where. Runs of boxes below a
// pixel become one; how many boxes there are is bounded, whatever the tree.

import type { Tree, TreeNode } from "./tree";

export interface Box {
	/** null: a run of boxes too narrow to be seen, children of `parent` */
	node: TreeNode | null;
	parent: TreeNode | null;
	x: number;
	width: number;
	row: number;
}

/** A part of the root's width, in units of its total. */
export interface Span {
	from: number;
	to: number;
}

export interface Layout {
	boxes: Box[];
	rows: number;
	/** narrowest box in pixels */
	least: number;
}

const MOST_BOXES = 10000;

/** Lays out what the span shows in `width` pixels. Only rows in [firstRow, lastRow) are returned. */
export function layOut(tree: Tree, span: Span, width: number, firstRow: number, lastRow: number, most = MOST_BOXES): Layout {
	for (let least = 1; ; least *= 2) {
		const layout = tryLayout(tree, span, width, firstRow, lastRow, least, most);
		if (layout)
			return layout;
	}
}

function tryLayout(tree: Tree, span: Span, width: number, firstRow: number, lastRow: number, least: number,
	most: number): Layout | null {
	const scale = width / (span.to - span.from || 1);
	const boxes: Box[] = [];
	let level: TreeNode[] = [tree.root], row = 0, visited = 0;
	const put = (node: TreeNode | null, parent: TreeNode | null, from: number, to: number) => {
		const x = Math.max((from - span.from) * scale, 0);
		const right = Math.min((to - span.from) * scale, width);
		if (!node) {
			const before = boxes[boxes.length - 1];
			if (before && !before.node && before.row === row && x - (before.x + before.width) < 1) {
				before.width = right - before.x;
				before.parent = null;
				return;
			}
		}
		boxes.push({ node, parent, x, width: right - x, row });
	};
	put(tree.root, null, tree.root.start, tree.root.start + tree.root.total);
	for (; level.length; row++) {
		const below: TreeNode[] = [];
		for (const node of level) {
			const children = node.total * scale >= least ? tree.children(node) : [];
			const narrow = firstNarrow(children, least / scale);
			for (let i = firstVisible(children, narrow, span.from); i < narrow && children[i].start < span.to; i++)
				below.push(children[i]);
			if (narrow < children.length) {
				const last = children[children.length - 1];
				const from = children[narrow].start, to = last.start + last.total;
				if (from < span.to && to > span.from)
					below.push({ ...NARROW, parent: node, start: from, total: to - from });
			}
		}
		row++;
		const shown = row >= firstRow && row < lastRow;
		const next: TreeNode[] = [];
		for (const node of below) {
			if (shown)
				put(node.key === NARROW.key ? null : node, node.parent, node.start, node.start + node.total);
			if (node.key !== NARROW.key)
				next.push(node);
		}
		row--;
		visited += next.length;
		if (boxes.length > most || visited > most * 10)
			return null;
		level = next;
	}
	return { boxes: firstRow > 0 ? boxes.slice(1) : boxes, rows: row, least };
}

/** Stands for a run while a level is collected. */
const NARROW: TreeNode = { key: -2, frame: -1, parent: null, depth: 0, total: 0, old: 0, start: 0, children: [],
	items: [], weights: null, oldWeights: null };

/** Children are sorted, the largest first: from here on they are narrower than `least`. */
function firstNarrow(children: TreeNode[], least: number): number {
	let low = 0, high = children.length;
	while (low < high) {
		const half = (low + high) >> 1;
		if (children[half].total >= least)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

/** The first child that ends after `from`. */
function firstVisible(children: TreeNode[], count: number, from: number): number {
	let low = 0, high = count;
	while (low < high) {
		const half = (low + high) >> 1;
		if (children[half].start + children[half].total <= from)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

/** The box at a point; boxes are by rows, from left to right. */
export function boxAt(layout: Layout, x: number, row: number): Box | null {
	const boxes = layout.boxes;
	let low = 0, high = boxes.length;
	while (low < high) {
		const half = (low + high) >> 1;
		const box = boxes[half];
		if (box.row < row || (box.row === row && box.x + box.width <= x))
			low = half + 1;
		else
			high = half;
	}
	const box = boxes[low];
	return box && box.row === row && box.x <= x ? box : null;
}
