// Writes a page with made-up data, and prints its totals as JSON for the tests.

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { encode, putIntoPage } from "./encode";
import { make } from "./made";

const { values, positionals: [file] } = parseArgs({
	args: process.argv.slice(2).filter((argument) => argument !== "--"),
	allowPositionals: true,
	options: { page: { type: "string", default: "dist/index.html" }, stacks: { type: "string", default: "1000" }, baseline: { type: "boolean", default: false },
		hostile: { type: "boolean", default: false }, warning: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
});
if (!file || values.help) {
	console.error("usage: npm run made -- FILE [--page BUILT_PAGE] [--stacks N] [--baseline] [--hostile] [--warning]");
	process.exit(2);
}
const { document, columns } = make({ ...values, stacks: Number(values.stacks) });
writeFileSync(file, putIntoPage(readFileSync(values.page, "utf8"), encode(document, columns)));
console.log(JSON.stringify({ totals: document.totals, old: document.baseline?.totals }));
