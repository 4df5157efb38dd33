// The tree of stacks as rows: an ARIA tree, of which only the rows in sight are in the document.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { FlameWords, pathIn, select, weigh, zoomTo } from "./flame";
import { amount, change, share } from "./format";
import { type Forest, matched, profile } from "./model";
import * as state from "./state";
import { Bar } from "./table";
import type { Tree, TreeNode } from "./tree";

const ROW = 26;

interface Row {
	node: TreeNode;
	tree: Tree;
	level: number;
	position: number;
	siblings: number;
}

/** Open at first: the heaviest path, as long as one child holds most of its parent. */
function heaviest(tree: Tree): Set<TreeNode> {
	const open = new Set<TreeNode>([tree.root]);
	for (let node = tree.root; ;) {
		const [child] = tree.children(node);
		if (!child || child.total * 2 < node.total || open.size > 30)
			return open;
		open.add(child);
		node = child;
	}
}

function flatten(forest: Forest, open: Set<TreeNode>): Row[] {
	const rows: Row[] = [];
	const walk = (tree: Tree, root: TreeNode, level: number, position: number, siblings: number) => {
		const pending = [{ node: root, tree, level, position, siblings }];
		for (let row; (row = pending.pop());) {
			rows.push(row);
			if (!open.has(row.node))
				continue;
			const children = tree.children(row.node), below = row.level + 1;
			for (let i = children.length - 1; i >= 0; i--)
				pending.push({ node: children[i], tree, level: below, position: i + 1, siblings: children.length });
		}
	};
	walk(forest.main, forest.main.root, 1, 1, forest.callers ? 2 : 1);
	if (forest.callers)
		walk(forest.callers, forest.callers.root, 1, 2, 2);
	return rows;
}

function samePath(a: number[], b: number[]) {
	return a.length === b.length && a.every((key, i) => key === b[i]);
}

export function CallTree({ forest, words }: { forest: Forest; words: FlameWords }) {
	const box = useRef<HTMLDivElement>(null);
	const open = useMemo(() => {
		const set = heaviest(forest.main);
		if (forest.callers)
			heaviest(forest.callers).forEach((node) => set.add(node));
		let node = forest.main.root;
		for (const key of state.path.value) { // what is selected is in sight
			set.add(node);
			const next = forest.main.children(node).find((child) => child.key === key);
			if (!next)
				break;
			node = next;
		}
		return set;
	}, [forest]);
	const changes = useSignal(0);
	const rows = useMemo(() => flatten(forest, open), [forest, open, changes.value]);
	const [scroll, setScroll] = useState(0);
	const [height, setHeight] = useState(600);
	const path = state.path.value;
	const selected = Math.max(rows.findIndex((row) => samePath(pathIn(forest, row.node), path)), 0);
	useLayoutEffect(() => {
		const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		const element = box.current!, top = selected * ROW;
		if (top < element.scrollTop)
			element.scrollTop = top;
		else if (top + ROW > element.scrollTop + element.clientHeight)
			element.scrollTop = top + ROW - element.clientHeight;
	}, [selected]);

	const set = (node: TreeNode, isOpen: boolean) => {
		if (isOpen)
			open.add(node);
		else
			open.delete(node);
		changes.value++;
	};
	const onKeyDown = (event: KeyboardEvent) => {
		const row = rows[selected];
		if (!row || event.ctrlKey || event.altKey || event.metaKey)
			return;
		const go = (to: number) => select(forest, rows[Math.min(Math.max(to, 0), rows.length - 1)].node);
		const children = row.tree.children(row.node);
		switch (event.key) {
		case "ArrowDown": go(selected + 1); break;
		case "ArrowUp": go(selected - 1); break;
		case "Home": go(0); break;
		case "End": go(rows.length - 1); break;
		case "PageDown": go(selected + Math.floor(height / ROW) - 1); break;
		case "PageUp": go(selected - Math.floor(height / ROW) + 1); break;
		case "ArrowRight":
			if (children.length && !open.has(row.node))
				set(row.node, true);
			else if (children.length)
				go(selected + 1);
			break;
		case "ArrowLeft":
			if (open.has(row.node) && children.length)
				set(row.node, false);
			else if (row.node.parent)
				go(rows.findIndex((other) => other.node === row.node.parent));
			break;
		case "*": // as in every tree: all siblings open
			for (const sibling of row.node.parent ? row.tree.children(row.node.parent) : [row.node])
				open.add(sibling);
			changes.value++;
			break;
		case "Enter": zoomTo(forest, row.node); break;
		default: return;
		}
		event.preventDefault();
	};

	const first = Math.max(0, Math.floor(scroll / ROW) - 5), last = Math.min(rows.length, Math.ceil((scroll + height) / ROW) + 5);
	const mask = matched.value;
	return (
		<div class="call-tree" role="tree" aria-label="Tree of stacks" tabIndex={0} ref={box} onKeyDown={onKeyDown}
			aria-activedescendant={selected >= first && selected < last ? `tree-${selected}` : undefined}
			onScroll={() => setScroll(box.current!.scrollTop)}>
			<div class="rows" role="presentation" style={{ height: `${rows.length * ROW}px` }}>
				{rows.slice(first, last).map((row, i) => {
					const { node, tree } = row, index = first + i, frame = node.frame;
					const parent = tree.children(node).length > 0, isOpen = open.has(node);
					const isCallers = tree === forest.callers;
					const name = node === tree.root && isCallers ? "callers" : frame < 0 ? "all stacks"
						: node === tree.root ? `${profile.value.shortName(frame)} and its callees` : profile.value.shortName(frame);
					const place = frame >= 0 && node.parent ? profile.value.place(frame) : "";
					const value = words.compares ? change(node.total - 2 * node.old, words.unit) : amount(node.total, words.unit);
					return (
						<div key={index} id={`tree-${index}`} role="treeitem" aria-level={row.level} aria-setsize={row.siblings}
							aria-posinset={row.position} aria-expanded={parent ? isOpen : undefined} aria-selected={index === selected}
							class={`tree-row ${index === selected ? "selected" : ""} ${mask && frame >= 0 && mask[profile.value.functionOf[frame]] ? "match" : ""}`}
							style={{ transform: `translateY(${index * ROW}px)` }}
							onClick={() => select(forest, node)} onDblClick={() => set(node, !isOpen)}>
							{/* heard in this order; the numbers are seen first */}
							<span class="code name">{name}</span>
							<span class="number" title={weigh(node, words)}>{value}</span>
							<span class="number share">{words.compares ? "" : share(node.total, words.whole)}</span>
							<Bar part={node.total} whole={forest.main.root.total} />
							<span class="indent" aria-hidden="true" style={{ width: `${Math.min(row.level - 1, 40) * 12}px` }} />
							<span class="twist" aria-hidden="true" onClick={(event) => { event.stopPropagation(); set(node, !isOpen); }}>
								{parent ? (isOpen ? "▾" : "▸") : ""}
							</span>
							<span class="code quiet place">{place}{frame >= 0 && profile.value.isInlined(frame) ? " (inlined)" : ""}</span>
						</div>
					);
				})}
			</div>
		</div>
	);
}
