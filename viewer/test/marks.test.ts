import { describe, expect, it } from "vitest";
import { lanes } from "../src/marks";

const mark = (name: string, time_us: number, end_us: number | null) => ({ name, time_us, end_us });

describe("lanes of marks", () => {
	it("are by name, in the order of their beginning", () => {
		expect(lanes([mark("load", 5, 20), mark("reload", 10, null), mark("load", 15, 40)], 100)).toEqual([
			{ name: "load", spans: [{ from: 5, to: 20, moment: false, times: 1 }, { from: 15, to: 40, moment: false, times: 1 }] },
			{ name: "reload", spans: [{ from: 10, to: 10, moment: true, times: 1 }] }]);
	});
	it("join neighbours where there are too many", () => {
		// 1,000 phases of 4, every 10; none between 5,000 and 7,000
		const marks = Array.from({ length: 1000 }, (_, i) => mark("tick", i * 10 + (i < 500 ? 0 : 2000), i * 10 + 4 + (i < 500 ? 0 : 2000)));
		expect(lanes(marks, 12000)).toEqual([{ name: "tick", spans: [{ from: 0, to: 4994, moment: false, times: 500 },
			{ from: 7000, to: 11994, moment: false, times: 500 }] }]);
		expect(lanes(marks.slice(0, 100), 12000)[0].spans.length).toBe(100);
	});
	it("do not join a phase and a moment", () => {
		const marks = Array.from({ length: 101 }, (_, i) => mark("x", i, i === 50 ? null : i + 1));
		expect(lanes(marks, 101000)[0].spans.map((span) => span.times)).toEqual([50, 1, 50]);
	});
});
