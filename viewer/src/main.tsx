// Opens the data in the page, or asks for it, and shows it.

import { render } from "preact";
import { App } from "./app";
import { Data, DataError, decodeBase64, inflate } from "./data";
import { lastComponent } from "./format";
import { opened } from "./model";
import { metricsOf } from "./profile";
import { followTheme, followUrl } from "./state";
import "./style.css";

const root = document.getElementById("app")!;

function Message({ title, text }: { title: string; text: string }) {
	return <main class="message"><h1>{title}</h1><p role="status">{text}</p></main>;
}

function show(bytes: Uint8Array) {
	opened.value = new Data(bytes);
	const { facts, path, baseline } = opened.value.document;
	document.title = `${lastComponent(facts.program)} · ${path} · heapscope`;
	followUrl(baseline ? "diff" : "summary", metricsOf(opened.value).map((metric) => metric.name));
	render(<App />, root);
	document.body.dataset.ready = String(Math.round(performance.now()));
}

function complain(error: unknown) {
	render(<Message title="This page cannot be shown" text={error instanceof DataError ? error.message : `The page's data is damaged (${error}).`} />, root);
}

function ask() {
	const open = (file: File | null | undefined) => {
		if (file)
			file.arrayBuffer().then((buffer) => inflate(new Uint8Array(buffer))).then(show).catch(complain);
	};
	render(
		<main class="message" onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); open(event.dataTransfer?.files[0]); }}>
			<h1>heapscope</h1>
			<p>This page has no recording in it. <code>heapscope view FILE</code> makes one that has.</p>
			<p><label>Or open a page's data: <input type="file" onChange={(event) => open(event.currentTarget.files?.[0])} /></label></p>
		</main>, root);
}

const MARK = "heapscope-data:";

/** The comment that holds the data; null: there is none. */
function findData(): Node | null {
	const walker = document.createTreeWalker(document, NodeFilter.SHOW_COMMENT);
	while (walker.nextNode())
		if (walker.currentNode.nodeValue!.startsWith(MARK))
			return walker.currentNode;
	return null;
}

async function start() {
	followTheme();
	const comment = findData();
	if (!comment)
		return ask();
	render(<Message title="heapscope" text="Opening the recording…" />, root);
	await new Promise((resolve) => setTimeout(resolve)); // let that be seen
	const compressed = decodeBase64(comment.nodeValue!.slice(MARK.length));
	comment.parentNode!.removeChild(comment); // its text is as large as all the rest
	show(await inflate(compressed));
}

start().catch(complain);
