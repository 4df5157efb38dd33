// Numbers and names as people read them; the same rules as the reports of `heapscope print`.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytes(value: number): string {
	if (value < 0)
		return "−" + bytes(-value);
	if (value < 1024)
		return `${Math.round(value)} B`;
	for (let unit = 0, scaled = value / 1024; ; unit++, scaled /= 1024) {
		const tenths = Math.round(scaled * 10);
		if (tenths < 10240 || unit === UNITS.length - 1)
			return `${Math.floor(tenths / 10)}.${tenths % 10} ${UNITS[unit]}`;
	}
}

export function count(value: number): string {
	if (value < 0)
		return "−" + count(-value);
	return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function counted(value: number, noun: string): string {
	return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

export function share(part: number, whole: number): string {
	if (!whole)
		return "–";
	if (part < 0)
		return "−" + share(-part, whole);
	const tenths = Math.round((part / whole) * 1000);
	if (tenths === 0 && part > 0)
		return "<0.1%";
	if (tenths === 1000 && part < whole)
		return ">99.9%";
	return `${Math.floor(tenths / 10)}.${tenths % 10}%`;
}

export function time(us: number): string {
	if (us < 1000)
		return `${Math.round(us)} µs`;
	if (us < 999950)
		return `${(us / 1e3).toFixed(1)} ms`;
	if (us < 59995000)
		return `${(us / 1e6).toFixed(2)} s`;
	if (us < 3599500000) {
		const seconds = Math.round(us / 1e6);
		return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
	}
	const minutes = Math.round(us / 60e6);
	return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

export type Unit = "bytes" | "calls" | "blocks";

/** A value with its unit; `short` leaves out the word where the heading says it. */
export function amount(value: number, unit: Unit): string {
	if (unit === "bytes")
		return bytes(value);
	return `${count(value)} ${unit.slice(0, -1)}${Math.abs(value) === 1 ? "" : "s"}`;
}

/** All digits, for a tooltip. */
export function exact(value: number, unit: Unit): string {
	return `${count(value)} ${unit}`;
}

export function change(value: number, unit: Unit): string {
	return (value > 0 ? "+" : value < 0 ? "" : "±") + amount(value, unit);
}

/** The ratio of new to old in words: "+12.0%", "×3.4", "new", "gone". */
export function relative(old: number, now: number): string {
	if (old === now)
		return "same";
	if (!old)
		return "new";
	if (!now)
		return "gone";
	if (now / old >= 10)
		return `×${(now / old).toFixed(now / old < 100 ? 1 : 0)}`;
	const part = share(Math.abs(now - old), old);
	return /^[<>]/.test(part) ? `${part[0]} ${now > old ? "+" : "−"}${part.slice(1)}` : (now > old ? "+" : "−") + part;
}

export function lastComponent(path: string): string {
	const slash = path.lastIndexOf("/");
	return slash >= 0 && slash + 1 < path.length ? path.slice(slash + 1) : path;
}

/** A path without "." and without what a ".." takes back. */
export function plainPath(path: string): string {
	if (!/(^|\/)\.\.?\//.test(path))
		return path;
	const out: string[] = [];
	for (const piece of path.split("/")) {
		const last = out[out.length - 1];
		if (piece === ".." && last && last !== "..")
			out.pop();
		else if (piece !== "." && !(piece === ".." && last === ""))
			out.push(piece);
	}
	return out.join("/");
}

/** As much of a path as tells files apart at a glance: below `directory` all of it, else the last two components. */
export function shortPath(path: string, directory: string | null): string {
	const plain = plainPath(path), above = directory ? directory.replace(/\/*$/, "/") : "";
	if (above && plain.startsWith(above))
		return plain.slice(above.length);
	return plain.split("/").slice(-2).join("/");
}

/** Control characters, and those that turn the direction of text, as escapes: a name cannot pose as another. */
export function visible(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (c) => {
		const code = c.charCodeAt(0).toString(16);
		return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
	});
}

/** Middle-cut text. */
export function middle(text: string, most: number): string {
	if (text.length <= most)
		return text;
	const head = Math.ceil((most - 1) / 2);
	return text.slice(0, head) + "…" + text.slice(text.length - (most - 1 - head));
}

/** For each bracket that opens, where it closes; -1 elsewhere. One pass: names may be hostile. Arrows close nothing. */
function closings(name: string): Int32Array {
	const found = new Int32Array(name.length).fill(-1), open: Record<string, number[]> = { ">": [], ")": [], "]": [], "}": [] };
	for (let i = 0; i < name.length; i++) {
		const kind = "<({[".indexOf(name[i]);
		if (kind >= 0)
			open[">)}]"[kind]].push(i);
		else if (open[name[i]]?.length && !(name[i] === ">" && name[i - 1] === "-"))
			found[open[name[i]].pop()!] = i;
	}
	return found;
}

const LONGEST_NAME = 4096;

/**
 * A demangled name without what does not help to recognise it: template arguments become <…>; parameters, what
 * follows them, and the return type go.
 */
export function shortName(name: string): string {
	if (name.length > LONGEST_NAME)
		name = name.slice(0, LONGEST_NAME);
	const ends = closings(name);
	let out = "";
	for (let i = 0; i < name.length;) {
		const c = name[i];
		const operator = /(^|[^\w])operator$/.test(out.slice(-9));
		if (c === "<" && operator) {
			const symbols = /^[<=>]+/.exec(name.slice(i, i + 3))![0];
			out += symbols;
			i += symbols.length;
			continue;
		}
		if (c === "<") {
			const end = ends[i];
			if (end > i) {
				const inside = name.slice(i + 1, end);
				if (out === "" || (/[\s(&*]$/.test(out) && !/operator<<? $/.test(out.slice(-12))) || /^(impl|lambda|unnamed)/.test(inside)) {
					// <T as Trait> of Rust: the last components of both
					const trait = / as /.exec(inside);
					out += trait ? `<${tail(inside.slice(0, trait.index))} as ${tail(inside.slice(trait.index + 4))}>`
						: `<${tail(inside)}>`;
				} else {
					out = out.replace(/::$/, "") + "<…>";
				}
				i = end + 1;
				continue;
			}
		}
		if (c === "(") {
			if (name.startsWith("(anonymous namespace)", i)) {
				out += "(anonymous namespace)";
				i += 21;
				continue;
			}
			if (operator && name[i + 1] === ")") {
				out += "()";
				i += 2;
				continue;
			}
			const end = ends[i];
			if (end > i && out) {
				i = end + 1;
				if (name[i] !== ":" && name[i] !== "(")
					break; // only qualifiers follow
				continue;
			}
		}
		if (c === "{") {
			const end = ends[i];
			if (end > i) {
				out += name.slice(i, end + 1);
				i = end + 1;
				continue;
			}
		}
		if (c === " " && name.startsWith(" [clone", i))
			break;
		out += c;
		i++;
	}
	return withoutReturnType(out) || name;
}

/** The last component of a path of Rust's, its arguments left out. */
function tail(type: string): string {
	const plain = type.indexOf("<") > 0 ? type.slice(0, type.indexOf("<")) + "<…>" : type;
	const colons = plain.lastIndexOf("::");
	return colons < 0 ? plain : /^[&*\s]*(?:mut |const |dyn )*/.exec(plain)![0] + plain.slice(colons + 2);
}

function withoutReturnType(name: string): string {
	if (name.includes(" thunk to "))
		return name;
	let start = 0, depth = 0;
	for (let i = 0; i < name.length; i++) {
		if (name.startsWith("operator", i) && !/\w/.test(name[i - 1] ?? " "))
			break;
		if ("<({[".includes(name[i]))
			depth++;
		else if (")}]".includes(name[i]) || (name[i] === ">" && name[i - 1] !== "-"))
			depth--;
		else if (name[i] === " " && depth === 0)
			start = i + 1;
	}
	return name.slice(start).replace(/^[*&]+/, "");
}
