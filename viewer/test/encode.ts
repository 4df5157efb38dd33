// Writes the page's data as README.md describes it: what the analyzer does in C, for made-up data.

import { gzipSync } from "node:zlib";

export type Columns = Record<string, ArrayLike<number>>;

function encodeColumn(values: ArrayLike<number>): [string, Uint8Array] {
	let most = 0;
	for (let i = 0; i < values.length; i++)
		most = Math.max(most, values[i]);
	const [type, array] = most < 256 ? ["u8", Uint8Array.from(values)] : most < 65536 ? ["u16", Uint16Array.from(values)]
		: most < 2 ** 32 ? ["u32", Uint32Array.from(values)] : ["f64", Float64Array.from(values)];
	return [type as string, new Uint8Array((array as Uint8Array).buffer)];
}

export function encode(document: Record<string, unknown>, columns: Columns): Uint8Array {
	const directory: Record<string, [string, number, number]> = {}, parts: Uint8Array[] = [];
	let offset = 0;
	for (const [name, values] of Object.entries(columns)) {
		const [type, bytes] = encodeColumn(values);
		directory[name] = [type, offset, values.length];
		parts.push(bytes, new Uint8Array(-bytes.length & 7));
		offset += (bytes.length + 7) & ~7;
	}
	const json = new TextEncoder().encode(JSON.stringify({ ...document, columns: directory }));
	const base = (16 + json.length + 7) & ~7, out = new Uint8Array(base + offset);
	out.set(new TextEncoder().encode("HSPAGE1\0"));
	new DataView(out.buffer).setUint32(8, json.length, true);
	out.set(json, 16);
	let at = base;
	for (const part of parts) {
		out.set(part, at);
		at += part.length;
	}
	return out;
}

export class Strings {
	private readonly index = new Map<string, number>([["", 0]]);

	add(text: string): number {
		let at = this.index.get(text);
		if (at === undefined)
			this.index.set(text, (at = this.index.size));
		return at;
	}

	columns(): Columns {
		const encoded = [...this.index.keys()].map((text) => new TextEncoder().encode(text));
		const bytes = new Uint8Array(encoded.reduce((sum, one) => sum + one.length, 0));
		let at = 0;
		for (const one of encoded) {
			bytes.set(one, at);
			at += one.length;
		}
		return { "string.length": encoded.map((one) => one.length), "string.bytes": bytes };
	}
}

const MARK = "<!--heapscope-data-->";

export function putIntoPage(page: string, data: Uint8Array): string {
	if (page.split(MARK).length !== 2)
		throw new Error("the built page has lost its mark");
	const base64 = gzipSync(data, { level: 1 }).toString("base64");
	return page.replace(MARK, () => `<!--heapscope-data:${base64}-->`);
}
