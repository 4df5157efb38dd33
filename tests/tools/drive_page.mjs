#!/usr/bin/env node
// drive_page.mjs - does in a headless Chromium what people do, and says what came of it.
//
//   node drive_page.mjs < steps.json > report.json
//
// Steps, a JSON list, each a list of a word and its arguments:
//   open URL           a new document; waits until it is loaded
//   size W H           of the window, in pixels
//   dark               the preference for dark colours
//   scripts true|false whether documents opened from now on may run scripts
//   eval EXPRESSION    its value, or that of its promise, is a result
//   move X Y, click X Y, double X Y
//   key NAME [MODIFIERS]  as in KeyboardEvent.key; 1 Alt, 2 Ctrl, 4 Meta, 8 Shift
//   type TEXT          where the focus is
//   shot FILE          a PNG
// The report: results (of eval, in order), exceptions, errors (of the console), dialogs, requests (URLs, but for the
// documents opened).
// Exit status 2: browser trouble.

import { readFileSync, writeFileSync } from "node:fs";
import { Browser } from "./browser.mjs";

const steps = JSON.parse(readFileSync(0, "utf8"));
const report = { results: [], exceptions: [], errors: [], dialogs: [], requests: [] };
const browser = new Browser();
browser.onError = (e) => stop(2, String(e));
const guard = setTimeout(() => stop(2, "nothing after 60 s"), 60000);

async function stop(code, message) {
  clearTimeout(guard);
  if (message) console.error(`drive_page: ${message}\n${JSON.stringify(report)}\n${browser.stderrTail}`);
  await browser.close();
  process.exit(code);
}

async function main() {
  const { send, listen } = await browser.newPage();
  const opened = new Set();
  let onLoad = () => {};
  listen(({ method, params }) => {
    if (method === "Page.loadEventFired") onLoad();
    if (method === "Runtime.exceptionThrown")
      report.exceptions.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "assert"].includes(params.type))
      report.errors.push(params.args.map((one) => one.description ?? one.value).join(" "));
    if (method === "Page.javascriptDialogOpening") {
      report.dialogs.push(params.message);
      send("Page.handleJavaScriptDialog", { accept: false });
    }
    if (method === "Network.requestWillBeSent" && !opened.has(params.request.url) && params.request.url !== "about:blank")
      report.requests.push(params.request.url);
  });
  await send("Page.enable");
  await send("Runtime.enable");
  await send("Network.enable");
  const load = async (url) => {
    const loaded = new Promise((resolve) => { onLoad = resolve; });
    opened.add(url.split("#")[0]);
    const { errorText } = await send("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  };
  const mouse = (type, x, y, more = {}) => send("Input.dispatchMouseEvent", { type, x, y, ...more });
  const click = async (x, y, clickCount) => {
    await mouse("mousePressed", x, y, { button: "left", clickCount });
    await mouse("mouseReleased", x, y, { button: "left", clickCount });
  };
  const actions = {
    open: async (url) => { await load("about:blank"); await load(url); },
    size: (width, height) => send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false }),
    dark: () => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] }),
    scripts: (on) => send("Emulation.setScriptExecutionDisabled", { value: !on }),
    eval: async (expression) => {
      const r = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      if (r.exceptionDetails) throw new Error(`${expression}\n${r.exceptionDetails.exception?.description}`);
      report.results.push(r.result.value ?? null);
    },
    move: (x, y) => mouse("mouseMoved", x, y),
    click: async (x, y) => { await mouse("mouseMoved", x, y); await click(x, y, 1); },
    double: async (x, y) => { await mouse("mouseMoved", x, y); await click(x, y, 1); await click(x, y, 2); },
    key: async (key, modifiers = 0) => {
      const code = { "/": 191, "?": 191, Enter: 13, Escape: 27, Tab: 9, Home: 36, ArrowLeft: 37, ArrowUp: 38,
                     ArrowRight: 39, ArrowDown: 40, F3: 114 }[key] ?? key.toUpperCase().charCodeAt(0);
      const text = key.length === 1 && !(modifiers & 7) ? key : key === "Enter" ? "\r" : undefined;
      await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, modifiers, text,
                                             windowsVirtualKeyCode: code });
      await send("Input.dispatchKeyEvent", { type: "keyUp", key, modifiers, windowsVirtualKeyCode: code });
    },
    type: (text) => send("Input.insertText", { text }),
    shot: async (file) => {
      const { data } = await send("Page.captureScreenshot", { format: "png" });
      writeFileSync(file, Buffer.from(data, "base64"));
    },
  };
  for (const [name, ...words] of steps)
    await actions[name](...words);
  console.log(JSON.stringify(report));
}

main().then(() => stop(0), (e) => stop(2, e.message));
