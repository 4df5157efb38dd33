import { describe, expect, it } from "vitest";
import { Data } from "../src/data";
import { boxAt, layOut } from "../src/layout";
import { heaviest, Profile, sum } from "../src/profile";
import { BottomUp, pathOf, TopDown, type Tree, type TreeNode } from "../src/tree";
import { encode } from "./encode";
import { make } from "./made";

/*
 * main (0) calls parse (1) twice, at lines 5 and 6, and parse calls itself; parse and main both call grow (2).
 *
 *   main:10
 *     parse:5           stack 0: 100 bytes
 *       parse:5
 *         grow:7        stack 1: 30
 *     parse:6
 *       grow:7          stack 2: 50
 *     grow:7            stack 3: 20
 */
const names = ["", "main", "parse", "grow", "a.c"];
const columns = {
	"string.length": names.map((name) => name.length), "string.bytes": [...names.join("")].map((c) => c.charCodeAt(0)),
	"frame.function": [1, 2, 2, 3], "frame.file": [4, 4, 4, 4], "frame.line": [10, 5, 6, 7], "frame.module": [1, 1, 1, 2], "frame.flags": [4, 4, 4, 0],
	"node.depth": [0, 1, 2, 3, 4, 2, 3, 2], "node.frame": [0, 0, 1, 1, 3, 2, 3, 3],
	"stack.node": [2, 4, 6, 7], "stack.own": [2, 3, 5, 1],
	"stack.peak_bytes": [100, 30, 50, 20], "stack.allocations": [1, 2, 3, 4],
	"stack.live_bytes": [10, 20, 0, 5], "stack.suppressed_bytes": [0, 20, 0, 1],
	"part.thread": [0, 0, 1], "part.stack": [0, 1, 1], "part.peak_bytes": [100, 10, 20], "part.live_bytes": [10, 5, 15], "part.suppressed_bytes": [0, 5, 15],
	"bin.end": [2, 3, 5], "change.stack": [0, 1, 0, 4, 2], "change.allocated_bytes": [100, 40, 0, 5, 50], "change.allocations": [1, 2, 0, 1, 3],
	"change.freed_bytes": [0, 10, 60, 0, 0], "change.frees": [0, 1, 1, 0, 0],
};
const document = { schema: "heapscope-page-1", facts: { cwd: null }, totals: { live_bytes: 35, suppressed_bytes: 21, live_blocks: 4, suppressed_blocks: 2 }, modules: [{ path: "/app" }, { path: "/lib/l.so" }], bin_us: 10 };
const profile = new Profile(new Data(encode(document, columns)));
const weights = profile.weights("peak_bytes", null), everything = { focus: [], ignore: [], module: null, thread: null };
const grouping = { keyOfFrame: profile.functionOf, hidden: null as Uint8Array | null };
const [main, parse, grow] = [0, 1, 3].map((frame) => profile.functionOf[frame]);

/** "main 200 (parse 180 (…))", children in the tree's order. */
function draw(tree: Tree, node: TreeNode = tree.root): string {
	const name = node.frame < 0 ? "all" : profile.name(node.frame), children = tree.children(node);
	return `${name} ${node.total}${children.length ? ` (${children.map((child) => draw(tree, child)).join(", ")})` : ""}`;
}

describe("the tree of a recording", () => {
	it("knows parents and ends of subtrees", () => {
		expect([...profile.parent]).toEqual([0, 0, 1, 2, 3, 1, 5, 1]);
		expect([...profile.end]).toEqual([8, 8, 5, 5, 5, 7, 7, 8]);
		expect(profile.stackFrames(1)).toEqual([3, 1, 1, 0]);
		expect(profile.stackText(2)).toBe("grow  a.c:7\nparse  a.c:6\nmain  a.c:10");
		expect(profile.ownPosition(1)).toBe(1);
	});
	it("adds up subtrees", () => {
		expect([...profile.totals(weights)]).toEqual([200, 200, 130, 30, 30, 50, 50, 20]);
	});
	it("is by function, whatever the line, from the root", () => {
		const tree = new TopDown(profile, grouping, profile.totals(weights), null);
		expect(draw(tree)).toBe("all 200 (main 200 (parse 180 (grow 50, parse 30 (grow 30)), grow 20))");
		const node = tree.follow([main, parse, grow]);
		expect(pathOf(node)).toEqual([main, parse, grow]);
		expect(tree.self(tree.follow([main, parse]))).toBe(100);
		expect([node.start, tree.follow([main, grow]).start]).toEqual([0, 180]);
	});
	it("is by line if asked", () => {
		const tree = new TopDown(profile, { keyOfFrame: profile.lineOf, hidden: null }, profile.totals(weights), null);
		expect(draw(tree)).toBe("all 200 (main 200 (parse 130 (parse 30 (grow 30)), parse 50 (grow 50), grow 20))");
	});
	it("is bottom-up from the allocating functions", () => {
		const tree = new BottomUp(profile, grouping, profile.stackNode, weights, null);
		expect(draw(tree)).toBe("all 200 (parse 100 (main 100), grow 100 (parse 80 (main 50, parse 30 (main 30)), main 20))");
	});
	it("leaves what hidden functions hold to their callers", () => {
		const hidden = profile.match("=parse");
		expect(draw(new TopDown(profile, { ...grouping, hidden }, profile.totals(weights), null))).toBe("all 200 (main 200 (grow 100))");
		expect(draw(new BottomUp(profile, { ...grouping, hidden }, profile.stackNode, weights, null))).toBe("all 200 (main 100, grow 100 (main 100))");
	});
	it("counts recursion once for one function's callers and callees", () => {
		const nodes = profile.outermost(profile.match("=parse")), totals = profile.totals(weights);
		expect(nodes).toEqual([2, 5]);
		expect(draw(new TopDown(profile, grouping, totals, null, nodes, parse, 1))).toBe("parse 180 (grow 50, parse 30 (grow 30))");
		expect(draw(new BottomUp(profile, grouping, nodes, nodes.map((node) => totals[node]), null, parse, 1))).toBe("parse 180 (main 180)");
	});
	it("keeps the older recording's part", () => {
		const old = Float64Array.from([10, 0, 50, 0]), both = weights.map((value, i) => value + old[i]);
		const tree = new TopDown(profile, grouping, profile.totals(both), profile.totals(old));
		const node = tree.follow([main, parse]);
		expect([node.total, node.old]).toEqual([240, 60]);
		const up = new BottomUp(profile, grouping, profile.stackNode, both, old);
		expect([up.follow([grow]).total, up.follow([grow]).old]).toEqual([150, 50]);
	});
});

describe("stacks without their innermost internal frames", () => {
	// stack 1 ends where stack 0 does, stack 3 in main
	const data = new Data(encode(document, { ...columns, "stack.folded": [0, 2, 0, 1] })), sites = new Profile(data), whole = new Profile(data, true);
	it("are one if they are the same", () => {
		expect([sites.stacks, whole.stacks]).toEqual([3, 4]);
		expect([...sites.stackNode]).toEqual([2, 6, 1]);
		expect([...sites.counts("peak_bytes")]).toEqual([130, 50, 20]);
		expect([...whole.counts("peak_bytes")]).toEqual([100, 30, 50, 20]);
		expect([...sites.stackFolded]).toEqual([2, 0, 1]);
	});
	it("have their threads and times together", () => {
		expect([...sites.weights("peak_bytes", null, 0)]).toEqual([110, 0, 0]);
		const { weights: live, rest } = sites.rangeWeights({ from: 0, to: 30 }, "live", null);
		expect([...live, rest]).toEqual([70, 50, 0, 5]);
	});
});

describe("what leaked", () => {
	it("is live and not suppressed", () => {
		expect([...profile.counts("leaked_bytes")]).toEqual([10, 0, 0, 4]);
		expect([...profile.weights("leaked_bytes", null, 0)]).toEqual([10, 0, 0, 0]);
		const { totals } = profile.data.document;
		expect([totals.leaked_bytes, totals.leaked_blocks]).toEqual([14, 2]);
	});
	it("is what is live where nothing is suppressed", () => {
		expect([...new Profile(new Data(encode(document, { ...columns, "stack.suppressed_bytes": [0, 0, 0, 0] }))).counts("leaked_bytes")]).toEqual([10, 20, 0, 5]);
	});
});

describe("filters", () => {
	const kept = (filter: object) => [...profile.kept({ ...everything, ...filter }) ?? [1, 1, 1, 1]];
	it("keeps stacks through a function, without one, and of a module", () => {
		expect(kept({})).toEqual([1, 1, 1, 1]);
		expect(kept({ focus: ["=grow"] })).toEqual([0, 1, 1, 1]);
		expect(kept({ ignore: ["=parse"] })).toEqual([0, 0, 0, 1]);
		expect(kept({ focus: ["gro", "/^PARSE$/i"] })).toEqual([0, 1, 1, 0]);
		expect(kept({ module: 0 })).toEqual([1, 1, 1, 1]);
		expect(kept({ module: 1 })).toEqual([0, 0, 0, 0]);
	});
	it("takes a thread's part", () => {
		expect([...profile.weights("peak_bytes", null, 0)]).toEqual([100, 10, 0, 0]);
		expect([...profile.weights("peak_bytes", Uint8Array.of(0, 1, 1, 1), 1)]).toEqual([0, 20, 0, 0]);
	});
	it("looks for text in names and files", () => {
		const found = (pattern: string) => [...profile.match(pattern)];
		expect(found("A.C")).toEqual([1, 1, 1]);
		expect(found("=pars")).toEqual([0, 0, 0]);
		expect(found("/^(main|grow)$/")).toEqual([1, 0, 1]);
		expect(found("/((/")).toEqual([0, 0, 0]);
	});
});

describe("ranges of time", () => {
	const at = (from: number, to: number, mode: "here" | "calls" | "live" | "grown") => {
		const { weights: found, rest } = profile.rangeWeights({ from, to }, mode, null);
		return [...found, rest];
	};
	it("answers what was allocated there", () => {
		expect(at(0, 30, "here")).toEqual([100, 40, 50, 0, 5]);
		expect(at(10, 30, "here")).toEqual([0, 0, 50, 0, 5]);
		expect(at(0, 10, "calls")).toEqual([1, 2, 0, 0, 0]);
	});
	it("answers what was live at its end, and what had grown", () => {
		expect(at(0, 10, "live")).toEqual([100, 30, 0, 0, 0]);
		expect(at(10, 30, "live")).toEqual([40, 30, 50, 0, 5]);
		expect(at(10, 30, "grown")).toEqual([0, 0, 50, 0, 5]);
	});
	it("takes whole bins, at least one, never outside", () => {
		expect(profile.binsOf({ from: 12, to: 13 })).toEqual([1, 2]);
		expect(profile.binsOf({ from: 1e9, to: 2e9 })).toEqual([2, 3]);
		expect(profile.binsOf({ from: 0, to: 0 })).toEqual([0, 1]);
	});
});

describe("boxes", () => {
	const tree = new TopDown(profile, grouping, profile.totals(weights), null);
	it("are as wide as their share", () => {
		const { boxes, rows } = layOut(tree, { from: 0, to: 200 }, 400, 0, 100);
		expect(rows).toBe(5);
		expect(boxes.map((box) => [box.node && box.node.frame >= 0 ? profile.name(box.node.frame) : "all", box.row, box.x, box.width]))
			.toEqual([["all", 0, 0, 400], ["main", 1, 0, 400], ["parse", 2, 0, 360], ["grow", 2, 360, 40], ["grow", 3, 0, 100], ["parse", 3, 100, 60], ["grow", 4, 100, 60]]);
	});
	it("are cut at the edges of what is shown", () => {
		const { boxes } = layOut(tree, { from: 170, to: 200 }, 300, 2, 3);
		expect(boxes.map((box) => [profile.name(box.node!.frame), box.x, box.width])).toEqual([["parse", 0, 100], ["grow", 100, 200]]);
	});
	it("are found by their place", () => {
		const layout = layOut(tree, { from: 0, to: 200 }, 400, 0, 100);
		expect(profile.name(boxAt(layout, 365, 2)!.node!.frame)).toBe("grow");
		expect(boxAt(layout, 170, 3)).toBeNull();
		expect(boxAt(layout, 399, 0)!.node).toBe(tree.root);
	});
	it("merge where they are narrower than a pixel", () => {
		const { boxes } = layOut(tree, { from: 0, to: 200 }, 6, 0, 100);
		expect(boxes.filter((box) => !box.node).map((box) => [box.row, Math.round(box.width * 10)])).toContainEqual([2, 6]);
	});
});

describe("made-up data", () => {
	const { document: made, columns: all } = make({ stacks: 3000, baseline: true, hostile: false, warning: false });
	const large = new Profile(new Data(encode(made, all)));
	it("adds up in every tree", () => {
		const values = large.weights("allocated_bytes", null), totals = large.totals(values);
		expect(totals[0]).toBe(made.totals.allocated_bytes);
		const down = new TopDown(large, { keyOfFrame: large.functionOf, hidden: null }, totals, null);
		const up = new BottomUp(large, { keyOfFrame: large.functionOf, hidden: null }, large.stackNode, values, null);
		expect(sum(down.children(down.root).map((node) => node.total))).toBe(totals[0]);
		expect(sum(up.children(up.root).map((node) => node.total))).toBe(totals[0]);
		expect(large.rangeWeights({ from: 0, to: 1e12 }, "live", null).weights.reduce((a, b) => a + b)).toBe(made.totals.live_bytes);
	});
	it("never draws more boxes than are asked for", () => {
		const tree = new TopDown(large, { keyOfFrame: large.lineOf, hidden: null }, large.totals(large.weights("allocations", null)), null);
		const layout = layOut(tree, { from: 0, to: tree.root.total }, 1000, 0, 1000, 200);
		expect(layout.boxes.length).toBeLessThanOrEqual(200);
		expect(layout.least).toBeGreaterThan(1);
	});
	it("finds the heaviest stacks", () => {
		const values = large.weights("peak_bytes", null), sorted = [...values].sort((a, b) => b - a);
		expect(heaviest(values, 5).map((stack) => values[stack])).toEqual(sorted.slice(0, 5));
		expect(heaviest([0, 0, 3], 5)).toEqual([2]);
	});
});
