// Runs the checks of the page in Chromium: node run.mjs PLAN.json [NAME…]. A line of JSON for each: name, error (null: it
// passed), note, seconds. `--list` prints the names only.

import { readFileSync } from "node:fs";
import { Session, startBrowser } from "./browser.mjs";
import { checks } from "./checks.mjs";
import { withLeaks } from "./expected.mjs";

const [planFile, ...names] = process.argv.slice(2);
if (planFile === "--list") {
	console.log(JSON.stringify(Object.keys(checks)));
} else {
	const plan = JSON.parse(readFileSync(planFile, "utf8"));
	const facts = Object.fromEntries(Object.entries(plan.facts).map(([name, file]) => [name, withLeaks(JSON.parse(readFileSync(file, "utf8")))]));
	const { browser, axe } = await startBrowser(plan.modules, plan.browser);
	for (const [name, check] of Object.entries(checks).filter(([one]) => !names.length || names.includes(one))) {
		const session = new Session(browser, axe, plan.pages), began = Date.now();
		let error = null, note = null;
		try {
			note = (await check(session, facts)) ?? null;
			await session.close();
		} catch (problem) {
			error = `${problem.stack}\n${session.complaints.join("\n")}`;
			await session.close().catch(() => {});
		}
		console.log(JSON.stringify({ name, error, note, seconds: (Date.now() - began) / 1000 }));
	}
	await browser.close();
}
