// A table of any length: only the rows in sight are in the document. Arrow keys move, Enter opens; for screen
// readers it is a grid with all its rows counted.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface TableColumn {
	key: string;
	label: string;
	title?: string;
	/** numbers stand at the right */
	number?: boolean;
	/** of the grid's track */
	width: string;
	/** hidden where the table is narrower than this */
	from?: number;
	sortable?: boolean;
	cell(row: number): ComponentChildren;
}

interface Props {
	label: string;
	rows: number;
	columns: TableColumn[];
	sort?: { key: string; up: boolean };
	onSort?(key: string): void;
	/** -1: none */
	selected: number;
	onSelect(row: number): void;
	onOpen?(row: number): void;
	rowClass?(row: number): string;
	/** grows with its rows up to this many, then scrolls */
	fit?: number;
	empty?: string;
}

export const ROW_HEIGHT = 30;
/** browsers do not scroll further than some ten million pixels */
const MOST_ROWS = 500000;

let tables = 0;

export function Table(props: Props) {
	const { rows: allRows, selected } = props;
	const rows = Math.min(allRows, MOST_ROWS);
	const box = useRef<HTMLDivElement>(null);
	const [id] = useState(() => `table${tables++}`);
	const [scroll, setScroll] = useState(0);
	const [size, setSize] = useState({ width: 800, height: 600 });
	useLayoutEffect(() => {
		const element = box.current!;
		const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
		observer.observe(element);
		setSize({ width: element.clientWidth, height: element.clientHeight });
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		const element = box.current!;
		if (selected < 0)
			return;
		const top = selected * ROW_HEIGHT, room = element.clientHeight - 2 * ROW_HEIGHT;
		if (top < element.scrollTop)
			element.scrollTop = top;
		else if (top > element.scrollTop + room)
			element.scrollTop = top - room;
	}, [selected, rows]);

	const columns = props.columns.filter((column) => !column.from || size.width >= column.from);
	const grid = { gridTemplateColumns: columns.map((column) => column.width).join(" ") };
	const first = Math.max(0, Math.floor(scroll / ROW_HEIGHT) - 5);
	const last = Math.min(rows, Math.ceil((scroll + size.height) / ROW_HEIGHT) + 5);
	const page = Math.max(1, Math.floor(size.height / ROW_HEIGHT) - 2);
	const onKeyDown = (event: KeyboardEvent) => {
		const steps: Record<string, number> = { ArrowDown: selected + 1, ArrowUp: selected < 0 ? rows - 1 : selected - 1,
			PageDown: selected + page, PageUp: selected - page, Home: 0, End: rows - 1 };
		if (event.ctrlKey || event.altKey || event.metaKey || event.target !== box.current)
			return;
		if (event.key in steps && rows) {
			props.onSelect(Math.min(Math.max(steps[event.key], 0), rows - 1));
			event.preventDefault();
		} else if (event.key === "Enter" && selected >= 0) {
			props.onOpen?.(selected);
			event.preventDefault();
		}
	};
	const visible = [];
	for (let row = first; row < last; row++)
		visible.push(
			<div key={row} id={`${id}-${row}`} role="row" aria-rowindex={row + 2} aria-selected={row === selected}
				class={`row ${row === selected ? "selected" : ""} ${props.rowClass?.(row) ?? ""}`}
				style={{ ...grid, transform: `translateY(${row * ROW_HEIGHT}px)` }}
				onClick={() => props.onSelect(row)} onDblClick={() => props.onOpen?.(row)}>
				{columns.map((column) => (
					<div key={column.key} role="gridcell" class={column.number ? "cell number" : "cell"}>{column.cell(row)}</div>
				))}
			</div>);
	const fit = props.fit ? { height: `${(Math.min(rows, props.fit) + 1) * ROW_HEIGHT + 2}px`, flex: "none" } : {};
	return (
		<div class="table" role="grid" aria-label={props.label} aria-rowcount={rows + 1} aria-colcount={columns.length} tabIndex={0}
			aria-activedescendant={selected >= first && selected < last ? `${id}-${selected}` : undefined}
			ref={box} style={fit} onKeyDown={onKeyDown} onScroll={() => setScroll(box.current!.scrollTop)}>
			<div class="head row" role="row" aria-rowindex={1} style={grid}>
				{columns.map((column) => {
					const sorted = props.sort?.key === column.key ? (props.sort.up ? "ascending" : "descending") : undefined;
					return (
						<div key={column.key} role="columnheader" aria-sort={sorted} class={column.number ? "cell number" : "cell"}
							title={column.title}>
							{column.sortable && props.onSort
								? <button type="button" onClick={() => props.onSort!(column.key)}>
									{column.label}{sorted && <span aria-hidden="true">{sorted === "ascending" ? " ↑" : " ↓"}</span>}
								</button>
								: column.label}
						</div>
					);
				})}
			</div>
			<div class="rows" role="rowgroup" style={{ height: `${rows * ROW_HEIGHT}px` }}>{visible}</div>
			{rows === 0 && <div class="empty" role="row"><div role="gridcell">{props.empty ?? "Nothing here."}</div></div>}
		</div>
	);
}

/** A name and its place. If there is too little room the place goes first, then the outer scopes of the name. */
export function SiteName({ name, place, title }: { name: string; place: string; title: string }) {
	const colons = name.lastIndexOf("::"), split = colons > 0 ? colons + 2 : 0;
	return (
		<span class="site" title={title}>
			<span class="code">{split > 0 && <span class="scope">{name.slice(0, split)}</span>}<span class="leaf">{name.slice(split)}</span></span>
			{place && <span class="code quiet place">{place}</span>}
		</span>
	);
}

/** A share as a bar with its number. */
export function Bar({ part, whole, kind = "" }: { part: number; whole: number; kind?: string }) {
	const percent = whole > 0 ? Math.min(Math.max((part / whole) * 100, 0), 100) : 0;
	return <span class={`bar ${kind}`} aria-hidden="true">{percent > 0 && <span style={{ width: `${percent}%` }} />}</span>;
}
