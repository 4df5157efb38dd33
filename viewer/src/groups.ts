// Stacks in groups with their sums, as the tables show them: by own line, stack, function, file or module. Columns, not
// objects: there may be a million groups.

import { groupKeys, moduleName, profile } from "./model";
import { tester } from "./profile";
import * as state from "./state";
import type { GroupBy } from "./state";

export interface Groups {
	by: GroupBy;
	count: number;
	/** what the group is: a line, a stack, a function, a string (file), a module */
	key: Uint32Array;
	/** one of its stacks */
	stack: Uint32Array;
	/** the group of each stack */
	of: Uint32Array;
}

export function makeGroups(by: GroupBy): Groups {
	const keys = groupKeys(by), stacks = keys.length;
	let most = 0;
	for (let stack = 0; stack < stacks; stack++)
		most = Math.max(most, keys[stack]);
	const place = new Int32Array(most + 1).fill(-1), of = new Uint32Array(stacks), key: number[] = [], first: number[] = [];
	for (let stack = 0; stack < stacks; stack++) {
		let at = place[keys[stack]];
		if (at < 0) {
			place[keys[stack]] = at = key.length;
			key.push(keys[stack]);
			first.push(stack);
		}
		of[stack] = at;
	}
	return { by, count: key.length, key: Uint32Array.from(key), stack: Uint32Array.from(first), of };
}

export function sumGroups(groups: Groups, values: ArrayLike<number>): Float64Array {
	const sums = new Float64Array(groups.count);
	for (let stack = 0; stack < groups.of.length; stack++)
		sums[groups.of[stack]] += values[stack];
	return sums;
}

/** A frame that the group is about; -1 for files and modules. */
export function groupFrame(groups: Groups, group: number): number {
	const all = profile.value;
	return groups.by === "file" || groups.by === "module" ? -1 : all.frameOf[all.stackOwn[groups.stack[group]]];
}

export function groupLabel(groups: Groups, group: number): string {
	const frame = groupFrame(groups, group);
	if (frame >= 0)
		return profile.value.shortName(frame);
	return groups.by === "file" ? profile.value.data.string(groups.key[group]) || "(no file)" : moduleName(groups.key[group]);
}

export function groupPlace(groups: Groups, group: number): string {
	const frame = groupFrame(groups, group);
	if (frame < 0)
		return "";
	const place = profile.value.shortPlace(frame);
	return groups.by === "function" ? place.replace(/:\d+$/, "") : place;
}

/** Which groups the search text is in the name or place of; null: there is no search. */
export function searched(groups: Groups): ((group: number) => boolean) | null {
	if (!state.search.value)
		return null;
	const all = profile.value, functions = all.match(state.search.value), test = tester(state.search.value);
	return (group) => {
		const frame = groupFrame(groups, group);
		return frame >= 0 ? functions[all.functionOf[frame]] === 1 || test(all.place(frame)) : test(groupLabel(groups, group));
	};
}

/** Group numbers by a value: numbers the largest first, texts in order; `up` turns that round. Ties by `second`. */
export function order(rows: number[], value: (group: number) => number | string, up: boolean, second: ArrayLike<number>): number[] {
	const values = rows.map(value), sign = up ? 1 : -1;
	return Uint32Array.from(rows.keys())
		.sort((a, b) => (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : second[rows[b]] - second[rows[a]] || rows[a] - rows[b]))
		.reduce<number[]>((sorted, at) => { sorted.push(rows[at]); return sorted; }, []);
}

/** "peak" and "-peak": as a column begins, and the other way. What no column is called gives `standard`. */
export function parseSort(text: string, known: object, standard: string): { key: string; up: boolean } {
	const turned = text.startsWith("-"), key = turned ? text.slice(1) : text;
	return Object.hasOwn(known, key) ? { key, up: turned !== (key === "name") } : { key: standard, up: false };
}

export function toggleSort(current: { key: string; up: boolean }, key: string): string {
	return current.key === key && current.up === (key === "name") ? `-${key}` : key;
}

export const GROUP_NAMES: Record<GroupBy, [one: string, many: string]> = {
	line: ["Own line", "Lines"],
	stack: ["Stack", "Stacks"],
	function: ["Function", "Functions"],
	file: ["File", "Files"],
	module: ["Module", "Modules"],
};
