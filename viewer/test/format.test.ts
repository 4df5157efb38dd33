import { describe, expect, it } from "vitest";
import { bytes, change, count, plainPath, relative, share, shortName, shortPath, time, visible } from "../src/format";

describe("numbers", () => {
	it("has bytes in units of 1024, rounded as print does", () => {
		expect([0, 1023, 1024, 1536, 1048524, 1048525, 6396313, 2 ** 40].map(bytes))
			.toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1023.9 KiB", "1.0 MiB", "6.1 MiB", "1.0 TiB"]);
		expect(bytes(-2048)).toBe("−2.0 KiB");
	});
	it("groups digits", () => {
		expect([0, 999, 1000, 1234567].map(count)).toEqual(["0", "999", "1,000", "1,234,567"]);
	});
	it("never rounds a part to nothing or to the whole", () => {
		expect([share(0, 10), share(1, 100000), share(99999, 100000), share(10, 10), share(1, 3), share(1, 0)])
			.toEqual(["0.0%", "<0.1%", ">99.9%", "100.0%", "33.3%", "–"]);
	});
	it("chooses the unit of a time", () => {
		expect([0, 999, 1000, 999949, 1e6, 59.99e6, 60e6, 3600e6, 90061e6].map(time))
			.toEqual(["0 µs", "999 µs", "1.0 ms", "999.9 ms", "1.00 s", "59.99 s", "1 min 00 s", "1 h 00 min", "25 h 01 min"]);
	});
	it("says how much a change is", () => {
		expect([relative(100, 112), relative(100, 50), relative(0, 5), relative(5, 0), relative(5, 5), relative(1, 34), relative(1e6, 1), relative(1e6, 1e6 + 1)])
			.toEqual(["+12.0%", "−50.0%", "new", "gone", "same", "×34.0", "> −99.9%", "< +0.1%"]);
		expect([change(2048, "bytes"), change(-1, "calls"), change(0, "bytes")]).toEqual(["+2.0 KiB", "−1 call", "±0 B"]);
	});
});

describe("names", () => {
	const names: [string, string][] = [
		["cache_put", "cache_put"],
		["std::map<int, std::string>::insert(int, char const*)", "std::map<…>::insert"],
		["void app::Parser<a::B>::run<int>(int) const [clone .cold]", "app::Parser<…>::run<…>"],
		["(anonymous namespace)::work(int)", "(anonymous namespace)::work"],
		["operator new(unsigned long)", "operator new"],
		["std::ostream& operator<< <char>(std::ostream&, char const*)", "operator<< <…>"],
		["bool operator<(a const&, b const&)", "operator<"],
		["main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"],
		["<alloc::vec::Vec<u8> as core::clone::Clone>::clone", "<Vec<…> as Clone>::clone"],
		["core::iter::traits::Iterator::map::<u32>", "core::iter::traits::Iterator::map<…>"],
		["a<b", "a<b"],
		["f(", "f("],
		["", ""],
	];
	for (const [long, short] of names)
		it(`shortens ${long || "nothing"}`, () => expect(shortName(long)).toBe(short));
	it("ends, whatever the name", () => {
		expect(shortName("<".repeat(100000)).length).toBeLessThan(5000);
		expect(shortName("a<".repeat(50000) + ">".repeat(50000)).length).toBeLessThan(5000);
	});
	it("shows what cannot be seen", () => {
		expect(visible("a\u0000b\u202ec\n")).toBe("a\\x00b\\u202ec\\x0a");
	});
});

describe("paths", () => {
	it("takes back what .. takes back", () => {
		expect(plainPath("/a/b/../c/./d.c")).toBe("/a/c/d.c");
		expect(plainPath("../a/../../b.c")).toBe("../../b.c");
		expect(plainPath("/../a.c")).toBe("/a.c");
		expect(plainPath("/a/b.c")).toBe("/a/b.c");
	});
	it("is as short as it tells files apart", () => {
		expect(shortPath("/home/me/app/src/x.c", "/home/me/app")).toBe("src/x.c");
		expect(shortPath("/usr/src/lib/deep/x.c", "/home/me/app")).toBe("deep/x.c");
		expect(shortPath("x.c", null)).toBe("x.c");
	});
});
