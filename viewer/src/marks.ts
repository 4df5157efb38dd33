// What a program said of itself, phases and moments, in lanes: one for each name, in the order of their beginning.

import type { Mark } from "./data";

export interface MarkSpan {
	from: number;
	/** a moment's is `from` */
	to: number;
	moment: boolean;
	/** how many phases or moments it stands for */
	times: number;
}

export interface Lane {
	name: string;
	spans: MarkSpan[];
}

/** So many can be told apart, and chosen. */
const MOST_SPANS = 100;

/** Joins neighbours that are not further apart than a hundredth of the run, if there are too many. */
function join(spans: MarkSpan[], duration: number): MarkSpan[] {
	const joined: MarkSpan[] = [];
	if (spans.length <= MOST_SPANS)
		return spans;
	for (const span of spans) {
		const last = joined[joined.length - 1];
		if (last && last.moment === span.moment && span.from - last.to <= duration / MOST_SPANS) {
			last.to = Math.max(last.to, span.to);
			last.times += span.times;
		} else {
			joined.push({ ...span });
		}
	}
	return joined;
}

/** marks: in the order of time. */
export function lanes(marks: Mark[], duration: number): Lane[] {
	const found = new Map<string, Lane>();
	for (const mark of marks) {
		let lane = found.get(mark.name);
		if (!lane)
			found.set(mark.name, (lane = { name: mark.name, spans: [] }));
		lane.spans.push({ from: mark.time_us, to: mark.end_us ?? mark.time_us, moment: mark.end_us === null, times: 1 });
	}
	return [...found.values()].map((lane) => ({ ...lane, spans: join(lane.spans, duration) }));
}
