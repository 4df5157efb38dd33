import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Allows the page's own script and style by their hashes, and nothing else: not even a request. */
function contentSecurityPolicy(): Plugin {
	let file = "";
	return {
		name: "content-security-policy",
		apply: "build",
		configResolved(config) {
			file = join(config.root, config.build.outDir, "index.html");
			if (config.build.outDir.startsWith("/"))
				file = join(config.build.outDir, "index.html");
		},
		closeBundle() {
			const page = readFileSync(file, "utf8");
			const hashes = (element: string) =>
				[...page.matchAll(new RegExp(`<${element}[^>]*>([^]*?)</${element}>`, "g"))]
					.map(([, content]) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`).join(" ");
			const policy = `default-src 'none'; script-src ${hashes("script")}; style-src ${hashes("style")}; `
				+ "img-src data:; base-uri 'none'; form-action 'none'";
			const place = "<!--content-security-policy-->";
			if (page.split(place).length !== 2 || page.split("<!--heapscope-data-->").length !== 2)
				throw new Error("index.html lost one of its two marks");
			writeFileSync(file, page.replace(place, () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`));
		},
	};
}

export default defineConfig({
	base: "./",
	esbuild: { jsx: "automatic", jsxImportSource: "preact" },
	build: { target: "es2022", modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 1 << 20, reportCompressedSize: false },
	plugins: [viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
	test: { include: ["test/*.test.ts"] },
} as any);
