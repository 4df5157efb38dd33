"""speedscope itself, in headless Chromium: what it shows of files, and what it has understood of them."""

import contextlib
import functools
import http.server
import json
import os
import pathlib
import tempfile
import threading
import urllib.parse

# The title and the rows of the sandwich view (total, self, function), which come a little after their header. Rejects with
# the page's text where speedscope gives up.
READY = """new Promise((done, fail) => {
  const end = Date.now() + 30000;
  (function look() {
    const text = document.body?.innerText ?? "";
    const [, title] = /Sandwich\\n([^]*)\\n.*Export/.exec(text) ?? [];
    const all = [...document.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.innerText));
    const rows = all.filter((cells) => /%\\)$/.test(cells[0]));
    if (title?.endsWith(TITLE) && (rows.length || EMPTY && all.some((cells) => cells[2] === "Symbol Name")))
      done([title, rows]);
    else if (/Something went wrong/.test(text) || Date.now() > end)
      fail(new Error("speedscope: " + text));
    else
      setTimeout(look, 10);
  })();
})"""
# What it would save when asked to is kept instead.
CATCH = "URL.createObjectURL = (blob) => { window.saved = blob.text(); }; HTMLAnchorElement.prototype.click = () => {}"


@contextlib.contextmanager
def served(folder):
    """The address at which the folder's files can be had, from this machine alone."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def stacks_of(document):
    """{profile: {stack of (function, file, line), outermost first: weight of its own}} of a file that speedscope saved:
    calls that begin and end at positions on the axis of weights."""
    frames = [(frame["name"], frame.get("file"), frame.get("line")) for frame in document["shared"]["frames"]]
    profiles = {}
    for profile in document["profiles"]:
        stacks, stack, position = {}, [], 0
        for event in profile["events"]:
            if event["at"] != position:
                stacks[tuple(stack)] = stacks.get(tuple(stack), 0) + event["at"] - position
                position = event["at"]
            if event["type"] == "O":
                stack.append(frames[event["frame"]])
            else:
                assert stack.pop() == frames[event["frame"]]
        assert not stack and position == profile["endValue"] and profile["name"] not in profiles
        profiles[profile["name"]] = stacks
    return profiles


def read(release, drive, files):
    """What speedscope makes of the files, {path: how many profiles it has; 0: one with nothing in it}; `release` is the folder
    with its page, `drive` runs drive_page.mjs. Gives two things of each: what it shows, {profile: sorted list of (function,
    total, self)}, weights as it writes them; and stacks_of() what it saves. Fails if there is an error, or a request to
    another machine."""
    files = [(pathlib.Path(path), count) for path, count in files.items()]
    with tempfile.TemporaryDirectory() as folder, served(folder) as address:
        os.symlink(release, pathlib.Path(folder, "speedscope"))
        steps = [["size", 1200, 800]]
        for number, (path, count) in enumerate(files):
            os.mkdir(pathlib.Path(folder, str(number)))
            os.symlink(path, pathlib.Path(folder, str(number), path.name))
            profile = urllib.parse.quote(f"/{number}/{path.name}", safe="")
            steps.append(["open", f"{address}speedscope/index.html#view=sandwich&profileURL={profile}"])
            for index in range(count or 1):
                title = f" ({index + 1}/{count})" if count > 1 else ""
                ready = READY.replace("TITLE", json.dumps(title)).replace("EMPTY", json.dumps(count == 0))
                steps += [["key", "n"]] * (index > 0) + [["eval", ready]]
            steps += [["eval", CATCH], ["key", "s", 2], ["eval", "window.saved"]]
        report = drive(*steps)
    assert report["exceptions"] == report["errors"] == report["dialogs"] == []
    assert [url for url in report["requests"] if not url.startswith(address)] == []
    results, read_files = iter(report["results"]), []
    for _, count in files:
        shown = {}
        for title, rows in (next(results) for _ in range(count or 1)):
            # without the share: "2.93 KB (100%)"
            shown[title.rsplit(" (", 1)[0]] = sorted(
                (name, total.split(" (")[0], own.split(" (")[0]) for total, own, name in rows)
        next(results)
        read_files.append((shown, stacks_of(json.loads(next(results)))))
    return read_files
