// browser.mjs - a headless Chromium for the tests. No npm packages: speaks the DevTools protocol over
// --remote-debugging-pipe, so no port is opened.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

class Cdp {
  constructor(child) {
    this.out = child.stdio[3];
    this.next = 1;
    this.pending = new Map();
    this.listeners = [];
    let chunks = [];
    child.stdio[4].on("data", (buf) => {
      let start = 0, nul;
      while ((nul = buf.indexOf(0, start)) !== -1) {
        chunks.push(buf.subarray(start, nul));
        this.dispatch(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        chunks = [];
        start = nul + 1;
      }
      if (start < buf.length) chunks.push(Buffer.from(buf.subarray(start)));
    });
    child.on("exit", () => this.fail(new Error("the browser exited")));
    this.out.on("error", (e) => this.fail(e));
  }
  fail(err) {
    for (const p of this.pending.values()) p.reject(err);
    this.pending.clear();
  }
  dispatch(m) {
    if (m.id !== undefined) {
      const p = this.pending.get(m.id);
      if (!p) return;
      this.pending.delete(m.id);
      if (m.error) p.reject(new Error(`${p.method}: ${m.error.message}`));
      else p.resolve(m.result);
    } else {
      for (const l of this.listeners) l(m);
    }
  }
  send(method, params = {}, sessionId) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, method });
      this.out.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }
}

export class Browser {
  constructor(chromium = process.env.CHROMIUM || "/usr/bin/chromium", flags = []) {
    this.folder = mkdtempSync(join(tmpdir(), "browser-"));
    this.stderrTail = "";
    this.onError = () => {};
    this.child = spawn(chromium, [
      "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--disable-extensions", "--lang=en-US", `--user-data-dir=${this.folder}`, ...flags,
      "--disable-dev-shm-usage", "--remote-debugging-pipe", "about:blank",
    ], { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
         env: { ...process.env, LANG: "en_US.UTF-8", TMPDIR: this.folder } });
    this.child.stderr.on("data", (b) => { this.stderrTail = (this.stderrTail + b).slice(-2000); });
    this.child.on("error", (e) => this.onError(e));
    this.cdp = new Cdp(this.child);
  }

  // A page: send(method, params), evaluate(expression), listen(function of its events).
  async newPage() {
    const { targetId } = await this.cdp.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.cdp.send("Target.attachToTarget", { targetId, flatten: true });
    const send = (method, params) => this.cdp.send(method, params, sessionId);
    const evaluate = async (expression) => {
      const r = await send("Runtime.evaluate", { expression, returnByValue: true });
      if (r.exceptionDetails)
        throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
      return r.result.value;
    };
    const listen = (listener) => this.cdp.listeners.push((m) => m.sessionId === sessionId && listener(m));
    return { send, evaluate, listen };
  }

  async close() {
    const child = this.child;
    if (child.pid && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise((r) => child.once("exit", r));
      child.kill("SIGKILL"); // its own child; the renderers go when its pipes close
      await Promise.race([gone, new Promise((r) => setTimeout(r, 3000))]);
    }
    // The browser's other processes may write to the folder for a moment yet. rmSync's own retries do not
    // look for new files, so start afresh.
    for (let i = 0; i < 20; i++) {
      try { rmSync(this.folder, { recursive: true, force: true }); return; } catch {}
      await new Promise((r) => setTimeout(r, 50));
    }
  }
}
