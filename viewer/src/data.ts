// Opens the data that heapscope embeds in the page: base64, gzip, a document and its columns (README.md).
// Knows the schema and nothing of the views. What does not fit the schema throws DataError.

import { visible } from "./format";

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Counts {
	allocated_bytes: number;
	allocations: number;
	peak_bytes: number;
	peak_blocks: number;
	live_bytes: number;
	live_blocks: number;
	/** what suppressions say is no leak, of what is live at the end */
	suppressed_bytes: number;
	suppressed_blocks: number;
	/** live but not suppressed; not in the data */
	leaked_bytes: number;
	leaked_blocks: number;
	max_bytes: number;
	temporary_bytes: number;
	temporary: number;
	moved_bytes: number;
	moved: number;
	reallocations: number;
	lifetime_us: number;
}

export type CountName = keyof Counts;

export interface Totals extends Counts {
	peak_us: number;
	frees: number;
	events: number;
}

export interface Facts {
	program: string;
	command: string[];
	cwd: string | null;
	pid: number;
	parent_pid: number;
	forked: boolean;
	start_unix_us: number;
	duration_us: number;
	/** Times of events are wrong by less; 1: exact; null: there are no events. */
	time_resolution_us: number | null;
	end: "exit" | "signal" | "exec" | "running" | "unknown";
	end_value: number | null;
	lost_events: number;
	truncated_stacks: number;
	broken_stacks: number;
	fallback_stacks: number;
	late_events: number;
	repaired_frees: number;
	unknown_frees: number;
	peak_rss_bytes: number;
	stopped: string | null;
	warning: string | null;
}

export interface Module {
	path: string;
	build_id: string | null;
	start: number;
	size: number;
	load_us: number;
	unload_us: number | null;
	own: boolean;
	has_lines: boolean;
}

export interface Mark {
	name: string;
	time_us: number;
	end_us: number | null;
}

export interface Source {
	file: number;
	first_line: number;
	text: string;
}

export interface Work {
	amount: "same" | "more" | "less";
	common_old_calls: number;
	common_new_calls: number;
	common_old_bytes: number;
	common_new_bytes: number;
	appeared_functions: number;
	appeared_calls: number;
	vanished_functions: number;
	vanished_calls: number;
}

export interface Baseline {
	path: string;
	facts: Facts;
	totals: Totals;
	site_count: number;
	work: Work | null;
	same_program: boolean;
}

export type Pruned = { stacks: number } & Partial<Counts>;

export interface Document {
	schema: string;
	heapscope: string;
	path: string;
	raw: boolean;
	facts: Facts;
	totals: Totals;
	site_count: number;
	modules: Module[];
	marks: Mark[];
	pruned: Pruned | null;
	notes: string[];
	sources: Source[];
	baseline: Baseline | null;
	bin_us: number;
	columns: Record<string, [string, number, number]>;
}

export const FRAME_INLINED = 1;
export const FRAME_INTERNAL = 2;
export const FRAME_OWN = 4;
export const FRAME_OTHER = 8;

export class DataError extends Error {}

const MAGIC = "HSPAGE1\0";
const SCHEMA = "heapscope-page-1";

function fail(what: string): never {
	throw new DataError(what);
}

/** The document and its columns, and the strings, decoded as they are asked for. */
export class Data {
	readonly document: Document;
	private readonly bytes: Uint8Array;
	private readonly base: number;
	private readonly stringEnds: Float64Array;
	private readonly stringBytes: Uint8Array;
	private readonly strings: string[] = [""];
	private readonly leaks = new Map<string, Column>();

	constructor(bytes: Uint8Array) {
		if (bytes.length < 16 || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC)
			fail("This is not the data of a heapscope page.");
		const view = new DataView(bytes.buffer, bytes.byteOffset);
		const length = view.getUint32(8, true);
		if (16 + length > bytes.length)
			fail("The data of this page is cut off.");
		this.bytes = bytes;
		this.base = Math.ceil((16 + length) / 8) * 8;
		this.document = JSON.parse(new TextDecoder().decode(bytes.subarray(16, 16 + length)),
			(key, value) => (typeof value !== "string" ? value : key === "text" ? value.split(/\r?\n/).map(visibleSource).join("\n") : visible(value)));
		if (this.document.schema !== SCHEMA)
			fail(`The data has the schema "${this.document.schema}"; this page reads "${SCHEMA}".`);
		for (const totals of [this.document.totals, this.document.baseline?.totals])
			if (totals) { // null stays what it is
				totals.leaked_bytes = totals.live_bytes && totals.live_bytes - totals.suppressed_bytes;
				totals.leaked_blocks = totals.live_blocks && totals.live_blocks - totals.suppressed_blocks;
			}
		const lengths = this.column("string.length");
		this.stringBytes = this.column("string.bytes") as Uint8Array;
		this.stringEnds = new Float64Array(lengths.length);
		let end = 0;
		for (let i = 0; i < lengths.length; i++)
			this.stringEnds[i] = end += lengths[i];
		if (end > this.stringBytes.length)
			fail("The strings of this page are cut off.");
	}

	has(name: string): boolean {
		return Object.hasOwn(this.document.columns, name);
	}

	/** A column by its name; zeros if it is left out, as many as `count` says. */
	column(name: string, count = 0): Column {
		if (!this.has(name))
			return new Uint8Array(count);
		const [type, offset, length] = this.document.columns[name];
		const start = this.bytes.byteOffset + this.base + offset;
		const width = { u8: 1, u16: 2, u32: 4, f64: 8 }[type] ?? fail(`The column ${name} has an unknown type.`);
		if (!(offset % 8 === 0 && length >= 0 && this.base + offset + length * width <= this.bytes.length))
			fail(`The column ${name} is cut off.`);
		const buffer = this.bytes.buffer as ArrayBuffer;
		switch (width) {
		case 1:
			return new Uint8Array(buffer, start, length);
		case 2:
			return new Uint16Array(buffer, start, length);
		case 4:
			return new Uint32Array(buffer, start, length);
		default:
			return new Float64Array(buffer, start, length);
		}
	}

	/** Whether the recording tells a count, and the older one if there is one: other tools' files leave some out. */
	knows(name: CountName): boolean {
		const { totals, baseline } = this.document;
		return [totals, baseline?.totals].every((one) => !one || (one[name] as number | null) !== null);
	}

	/** A count of stacks ("stack", "old") or of threads' parts ("part"). */
	counts(of: "stack" | "old" | "part", name: CountName, count: number): Column {
		const unit = /^leaked_(bytes|blocks)$/.exec(name)?.[1], whole = `${of}.${name}`;
		if (!unit)
			return this.column(whole, count);
		let leaked = this.leaks.get(whole);
		if (!leaked) {
			const live = this.column(`${of}.live_${unit}`, count), suppressed = this.column(`${of}.suppressed_${unit}`, count);
			leaked = this.has(`${of}.suppressed_${unit}`) ? Float64Array.from(live, (value, i) => value - suppressed[i]) : live;
			this.leaks.set(whole, leaked);
		}
		return leaked;
	}

	/** A column whose values index something that has `limit` items. */
	indices(name: string, limit: number, count = 0): Column {
		const column = this.column(name, count);
		for (let i = 0; i < column.length; i++)
			if (column[i] >= limit)
				fail(`The column ${name} points outside of what there is.`);
		return column;
	}

	get stringCount(): number {
		return this.stringEnds.length;
	}

	string(index: number): string {
		let text = this.strings[index];
		if (text === undefined) {
			const start = index ? this.stringEnds[index - 1] : 0;
			text = visible(new TextDecoder().decode(this.stringBytes.subarray(start, this.stringEnds[index])));
			this.strings[index] = text;
		}
		return text;
	}
}

/** A line of source: tabs are its own. */
function visibleSource(line: string): string {
	return line.split("\t").map(visible).join("\t");
}

const CODES = (() => {
	const codes = new Uint8Array(256).fill(255);
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (let i = 0; i < 64; i++)
		codes[letters.charCodeAt(i)] = i;
	return codes;
})();

/** Skips white space and padding. Without atob, which would copy a string of 20 MB several times. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
	const builtIn = (Uint8Array as { fromBase64?(text: string): Uint8Array<ArrayBuffer> }).fromBase64;
	if (builtIn) {
		try {
			return builtIn.call(Uint8Array, text);
		} catch {
			fail("The data of this page is damaged: it is no base64.");
		}
	}
	return decodeByTable(text);
}

/** For browsers that have no fromBase64 yet. */
export function decodeByTable(text: string): Uint8Array<ArrayBuffer> {
	const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
	let length = 0, bits = 0, pending = 0;
	for (let i = 0; i < text.length; i++) {
		const code = CODES[text.charCodeAt(i) & 255];
		if (code === 255)
			continue;
		bits = (bits << 6) | code;
		pending += 6;
		if (pending >= 8) {
			pending -= 8;
			bytes[length++] = bits >> pending;
			bits &= (1 << pending) - 1;
		}
	}
	return bytes.subarray(0, length);
}

/**
 * Writes all at once and reads piece by piece: a stream of a Blob goes through another process, and Response collects in
 * buffers that grow. The last four bytes of the only gzip member say how much it will be.
 */
export async function inflate(compressed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
	const damaged = () => fail("The data of this page is damaged: it does not inflate.");
	if (compressed.length < 18)
		return damaged();
	const size = new DataView(compressed.buffer, compressed.byteOffset).getUint32(compressed.length - 4, true);
	// nothing inflates to more than 1,032 times its size: a damaged size shall not ask for memory that there is not
	if (size > compressed.length * 1032)
		return damaged();
	const stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter(), reader = stream.readable.getReader();
	const out = new Uint8Array(size);
	let length = 0;
	try {
		const written = Promise.all([writer.write(compressed), writer.close()]);
		written.catch(() => {}); // the reader fails as well
		for (let piece; !(piece = await reader.read()).done; length += piece.value.length)
			out.set(piece.value, length);
		await written;
	} catch {
		return damaged();
	}
	return length === size ? out : damaged();
}
