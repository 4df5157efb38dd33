import { beforeEach, describe, expect, it } from "vitest";
import * as state from "../src/state";

describe("the hash", () => {
	beforeEach(() => state.fromHash(""));
	it("is empty at first", () => expect(state.toHash()).toBe(""));
	it("holds what differs, and gives it back", () => {
		const hash = "view=flame&metric=leaked&focus=%3Da+b&focus=%2Fx%26y%2F&ignore=z&merge=m&module=2&thread=1&time=5-9&show=live&search=%23&select=line.4&path=1.2&zoom=1"
			+ "&of=3&bottomup=1&below=1&lines=1&tree=1&internals=shown&by=file&sort=-calls&bucket=size.3";
		state.fromHash("#" + hash);
		expect(state.focus.value).toEqual(["=a b", "/x&y/"]);
		expect(state.range.value).toEqual({ from: 5, to: 9 });
		expect(state.selection.value).toEqual({ kind: "line", id: 4 });
		expect(state.toHash()).toBe(hash);
		state.fromHash("");
		expect(state.toHash()).toBe("");
	});
	it("does not take what is no value", () => {
		state.fromHash("#view=x&metric=__proto__&module=-1&thread=1e3&time=9-5&select=thing.4&zoom=1..2&by=constructor&show=1&bottomup=yes");
		expect(state.toHash()).toBe("");
	});
	it("leaves a thread's filter out while a range of time is chosen", () => {
		state.fromHash("#thread=1&time=1-2");
		expect(state.filter.value.thread).toBeNull();
		state.fromHash("#thread=1");
		expect(state.filter.value.thread).toBe(1);
	});
});
