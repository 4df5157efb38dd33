// Trees that are made as they are looked at: of a million nodes only those wide enough to be seen are ever grouped.
// Frames of the same function (or line) under the same parent are one node, however many nodes of the recording that
// is; hidden functions vanish and leave what they hold to their callers.

import type { Profile } from "./profile";

export interface TreeNode {
	/** function or line, by what the tree groups; -1 the root */
	key: number;
	/** a frame that is it; -1 for the root */
	frame: number;
	parent: TreeNode | null;
	depth: number;
	total: number;
	/** the older recording's part of total (with a baseline: total is old + new) */
	old: number;
	/** where it begins, in units of total, from the root's beginning */
	start: number;
	/** made by Tree.children; largest first */
	children: TreeNode[] | null;
	/** what it stands for: nodes of the recording */
	items: number[];
	/** the items' weights where they are not the nodes' totals (callers) */
	weights: number[] | null;
	oldWeights: number[] | null;
}

export interface Grouping {
	keyOfFrame: Uint32Array;
	/** by function; null: none hidden */
	hidden: Uint8Array | null;
}

function makeNode(key: number, frame: number, parent: TreeNode | null): TreeNode {
	return { key, frame, parent, depth: parent ? parent.depth + 1 : 0, total: 0, old: 0, start: 0, children: null,
		items: [], weights: null, oldWeights: null };
}

export abstract class Tree {
	abstract readonly root: TreeNode;

	constructor(protected readonly profile: Profile, protected readonly grouping: Grouping) {}

	protected abstract expand(node: TreeNode): TreeNode[];

	children(node: TreeNode): TreeNode[] {
		if (!node.children) {
			node.children = this.expand(node).sort((a, b) => b.total - a.total || a.key - b.key);
			let start = node.start;
			for (const child of node.children) {
				child.start = start;
				start += child.total;
			}
		}
		return node.children;
	}

	/** The node that a path of keys leads to, as far as it goes. */
	follow(path: number[]): TreeNode {
		let node = this.root;
		for (const key of path) {
			const next = this.children(node).find((child) => child.key === key);
			if (!next)
				break;
			node = next;
		}
		return node;
	}

	self(node: TreeNode): number {
		return this.children(node).reduce((rest, child) => rest - child.total, node.total);
	}
}

export function pathOf(node: TreeNode): number[] {
	const path = [];
	for (let at: TreeNode | null = node; at && at.parent; at = at.parent)
		path.push(at.key);
	return path.reverse();
}

/** Callees below their callers. */
export class TopDown extends Tree {
	readonly root: TreeNode;

	/** totals (and old, a part of them) are of the recording's nodes; roots: what the tree begins with. */
	constructor(profile: Profile, grouping: Grouping, private readonly totals: Float64Array,
		private readonly oldTotals: Float64Array | null, roots: number[] = [0], key = -1, frame = -1) {
		super(profile, grouping);
		this.root = makeNode(key, frame, null);
		for (const node of roots)
			this.add(this.root, node);
	}

	private add(to: TreeNode, node: number) {
		to.items.push(node);
		to.total += this.totals[node];
		if (this.oldTotals)
			to.old += this.oldTotals[node];
	}

	protected expand(node: TreeNode): TreeNode[] {
		const { end, frameOf, functionOf } = this.profile;
		const { keyOfFrame, hidden } = this.grouping;
		const children = new Map<number, TreeNode>();
		for (const item of node.items) {
			// a hidden node's children are looked at in its place
			for (let at = item + 1, last = end[item]; at < last;) {
				const frame = frameOf[at];
				if (!this.totals[at]) {
					at = end[at];
				} else if (hidden && hidden[functionOf[frame]]) {
					at++;
				} else {
					const key = keyOfFrame[frame];
					let child = children.get(key);
					if (!child)
						children.set(key, (child = makeNode(key, frame, node)));
					this.add(child, at);
					at = end[at];
				}
			}
		}
		return [...children.values()];
	}
}

/** Callers below their callees: each item is walked outwards. */
export class BottomUp extends Tree {
	readonly root: TreeNode;

	/**
	 * Begins with nodes of the recording and their weights. With a key the root is those nodes, and its
	 * children their callers; without one the nodes themselves are the root's children.
	 */
	constructor(profile: Profile, grouping: Grouping, nodes: ArrayLike<number>, weights: ArrayLike<number>,
		old: ArrayLike<number> | null, key = -1, frame = -1) {
		super(profile, grouping);
		this.root = makeNode(key, frame, null);
		this.begin(this.root, old);
		for (let i = 0; i < nodes.length; i++)
			if (weights[i])
				this.add(this.root, nodes[i], weights[i], old ? old[i] : 0);
	}

	private begin(node: TreeNode, old: unknown) {
		node.weights = [];
		node.oldWeights = old ? [] : null;
	}

	private add(to: TreeNode, node: number, weight: number, old: number) {
		const last = to.items.length - 1;
		to.total += weight;
		to.old += old;
		if (last >= 0 && to.items[last] === node) { // siblings meet in their parent
			to.weights![last] += weight;
			if (to.oldWeights)
				to.oldWeights[last] += old;
			return;
		}
		to.items.push(node);
		to.weights!.push(weight);
		to.oldWeights?.push(old);
	}

	private outwards(node: TreeNode, next: (item: number) => number) {
		const { parent, frameOf, functionOf } = this.profile;
		const { keyOfFrame, hidden } = this.grouping;
		const children = new Map<number, TreeNode>();
		node.items.forEach((item, i) => {
			let at = next(item);
			while (at && hidden && hidden[functionOf[frameOf[at]]])
				at = parent[at];
			if (!at)
				return;
			const key = keyOfFrame[frameOf[at]];
			let child = children.get(key);
			if (!child) {
				children.set(key, (child = makeNode(key, frameOf[at], node)));
				this.begin(child, node.oldWeights);
			}
			this.add(child, at, node.weights![i], node.oldWeights ? node.oldWeights[i] : 0);
		});
		return [...children.values()];
	}

	protected expand(node: TreeNode): TreeNode[] {
		const { parent } = this.profile;
		const begins = node === this.root && node.key < 0;
		return this.outwards(node, begins ? (item) => item : (item) => parent[item]);
	}
}
