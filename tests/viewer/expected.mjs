// What a page should say, worked out from `heapscope print --json`: plain loops over its list of sites.

export const COLUMNS = { peak: "peak_bytes", leaked: "leaked_bytes", allocated: "allocated_bytes", calls: "allocations", temporary: "temporary", moved: "moved_bytes" };

/** Adds to the totals and the sites what print works out itself: leaked is live and not suppressed. */
export function withLeaks(document) {
	for (const counts of [document.totals, ...document.sites ?? []]) {
		counts.leaked_bytes = counts.live_bytes - counts.suppressed_bytes;
		counts.leaked_blocks = counts.live_blocks - counts.suppressed_blocks;
	}
	return document;
}

function framesOf(document, site) {
	return site.frames.map((index) => document.frames[index]);
}

function ownFrame(document, site) {
	return framesOf(document, site)[site.own_frame ?? 0];
}

/** The sum over sites that a test of their frames holds for. */
export function sumWhere(document, column, test) {
	return document.sites.reduce((sum, site) => sum + (test(framesOf(document, site)) ? site[column] : 0), 0);
}

export function passes(name) {
	return (frames) => frames.some((frame) => frame.function === name);
}

/** Sums by own line, the largest first: [function, file, line, value]. */
export function byLine(document, column) {
	const sums = new Map();
	for (const site of document.sites) {
		const frame = ownFrame(document, site), key = JSON.stringify([frame?.function, frame?.file, frame?.line, frame?.module]);
		sums.set(key, (sums.get(key) ?? 0) + site[column]);
	}
	return [...sums].filter(([, value]) => value).sort((a, b) => b[1] - a[1]).map(([key, value]) => [...JSON.parse(key).slice(0, 3), value]);
}

export function byOwnFunction(document, column) {
	const sums = new Map();
	for (const site of document.sites) {
		const name = ownFrame(document, site)?.function;
		sums.set(name, (sums.get(name) ?? 0) + site[column]);
	}
	return sums;
}
