// What the checks of the page stand on: Chromium, pages opened from their files, numbers read back from them.
// Every page that is opened is watched: a request, a script error, a dialog, or a message on the console fails its check.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

export { assert };

/** `modules`: a folder with node_modules in it. */
export async function startBrowser(modules, program) {
	const require = createRequire(modules + "/");
	const { chromium } = require("playwright-core");
	const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
	return { browser, axe: require.resolve("axe-core/axe.min.js") };
}

export class Session {
	constructor(browser, axe, pages) {
		Object.assign(this, { browser, axe, pages, contexts: [], complaints: [] });
	}

	/** Opens one of the pages; waits until it has drawn itself. */
	async open(name, hash = "", { width = 1280, height = 800, dark = false, motion = false } = {}) {
		const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light",
			reducedMotion: motion ? "no-preference" : "reduce", permissions: ["clipboard-read", "clipboard-write"] });
		this.contexts.push(context);
		const page = await context.newPage(), file = `file://${this.pages[name]}`;
		page.setDefaultTimeout(30000);
		page.on("request", (request) => {
			if (request.url().split("#")[0] !== file && !request.url().startsWith("data:,"))
				this.complaints.push(`a request for ${request.url()}`);
		});
		page.on("pageerror", (error) => this.complaints.push(`an error: ${error.stack}`));
		page.on("console", (message) => {
			if (!message.text().startsWith("Canvas2D: Multiple readback")) // the checks look at pixels, the page does not
				this.complaints.push(`on the console: ${message.text()}`);
		});
		page.on("dialog", (dialog) => { this.complaints.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
		await page.goto(file + (hash ? `#${hash}` : ""));
		if (name !== "empty" && name !== "damaged")
			await page.waitForFunction(() => document.body.dataset.ready);
		await settle(page);
		return page;
	}

	async close() {
		await Promise.all(this.contexts.map((context) => context.close()));
		assert.deepEqual(this.complaints, []);
	}
}

/** Until what was asked for has been drawn. */
export function settle(page) {
	return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

export async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
	await settle(page);
}

/** Waits for a condition on a value that `read` gives. */
export async function until(read, wanted) {
	let value;
	for (let i = 0; i < 100; i++) {
		value = await read();
		if (wanted(value))
			return value;
		await new Promise((done) => setTimeout(done, 50));
	}
	throw new assert.AssertionError({ message: `waited in vain; the last value was ${JSON.stringify(value)}` });
}

/** The number in an element's tooltip, which has all its digits. */
export async function exact(locator) {
	const title = await locator.getAttribute("title");
	return Number(title.replace("−", "-").replace(/[^\d-]/g, ""));
}

export function hashOf(page) {
	return page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
}

/** The flame graph's line of what is selected: its name and its exact weight. */
export async function status(page) {
	const line = page.locator("#flame-status");
	return { name: await line.locator(".code").innerText(), value: await exact(line.locator("span").nth(1)), text: await line.innerText() };
}

/** The table's cells that are in sight, as texts, with the exact value of the first number. */
export async function rows(page) {
	return page.locator("[role=grid] .rows [role=row]").evaluateAll((all) => all
		.sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
		.map((row) => ({ index: Number(row.getAttribute("aria-rowindex")), selected: row.getAttribute("aria-selected") === "true",
			cells: [...row.children].map((cell) => cell.innerText),
			value: Number((row.querySelector(".number [title]")?.title ?? "").replace("−", "-").replace(/[^\d-]/g, "")) })));
}
