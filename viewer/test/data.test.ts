import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { Data, DataError, decodeBase64, decodeByTable, inflate } from "../src/data";
import { encode } from "./encode";

const strings = { "string.length": [0, 2, 3], "string.bytes": [...new TextEncoder().encode("abcüd")].slice(0, 5) };

describe("the embedded data", () => {
	it("gives back columns of every width", () => {
		const columns = { a: [1, 255], b: [1, 65535, 3], c: [1, 2 ** 32 - 1], d: [2 ** 53, 2 ** 40 + 1, 5] };
		const data = new Data(encode({ schema: "heapscope-page-1" }, { ...strings, ...columns }));
		expect(Object.keys(columns).map((name) => [...data.column(name)])).toEqual(Object.values(columns));
		expect(Object.values(data.document.columns).map(([type]) => type)).toEqual(["u8", "u8", "u8", "u16", "u32", "f64"]);
		expect([...data.column("missing", 3)]).toEqual([0, 0, 0]);
	});
	it("has strings, also such as are no UTF-8", () => {
		const data = new Data(encode({ schema: "heapscope-page-1" }, { "string.length": [0, 2, 2, 1], "string.bytes": [97, 98, 0xc3, 0xbc, 0xff] }));
		expect([0, 1, 2, 3].map((index) => data.string(index))).toEqual(["", "ab", "ü", "\ufffd"]);
	});
	it("does not look outside of what is there", () => {
		const good = encode({ schema: "heapscope-page-1" }, { ...strings, a: [7, 8] });
		expect(() => new Data(new Uint8Array(4))).toThrow(DataError);
		expect(() => new Data(good.subarray(0, 40))).toThrow(DataError);
		expect(() => new Data(encode({ schema: "heapscope-page-9" }, strings))).toThrow(/heapscope-page-9/);
		expect(() => new Data(encode({ schema: "heapscope-page-1" }, { ...strings, "string.length": [0, 100] }))).toThrow(DataError);
		const data = new Data(good);
		data.document.columns.a[2] = 1000;
		expect(() => data.column("a")).toThrow(DataError);
		data.document.columns.a[2] = 2;
		expect(() => data.indices("a", 8)).toThrow(DataError);
		expect([...data.indices("a", 9)]).toEqual([7, 8]);
	});
});

describe("base64 and gzip", () => {
	let bytes: Uint8Array<ArrayBuffer>;
	beforeEach(() => { bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7919) >> 3); });
	it("decodes what Node encodes, with line breaks", () => {
		for (const length of [0, 1, 2, 3, 1000]) {
			const text = Buffer.from(bytes.subarray(0, length)).toString("base64").replace(/(.{76})/g, "$1\n");
			expect([...decodeBase64(text)]).toEqual([...bytes.subarray(0, length)]);
			expect([...decodeByTable(text)]).toEqual([...bytes.subarray(0, length)]);
		}
	});
	it("inflates, and says when it cannot", async () => {
		const packed = Uint8Array.from(gzipSync(bytes));
		expect([...await inflate(packed)]).toEqual([...bytes]);
		await expect(inflate(packed.slice(0, 100))).rejects.toThrow(DataError);
	});
});
