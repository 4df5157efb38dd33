"""Flame graphs: their numbers are those worked out by hand (made_recording) and those of `print --json`; in a real browser
they zoom, search, obey keys and URLs, and let no name do anything."""

import collections
import json
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

import made_recording

SVG = "{http://www.w3.org/2000/svg}"
METRICS = {"peak": "peak_bytes", "allocated": "allocated_bytes", "calls": "allocations", "temporary": "temporary",
           "leaked": "live_bytes", "moved": "moved_bytes", "lifetime": "lifetime_us"}


def value(counts, metric):
    """A metric of a site or of the totals of print --json: what is suppressed is no leak."""
    return counts[METRICS[metric]] - (counts["suppressed_bytes"] if metric == "leaked" else 0)


# 1000 bytes at the peak, which is at the end: 600 by load, 300 by parse (100 itself), 100 by run
BLOCKS = [(("main", "load"), 600, False), (("main", "parse"), 100, False), (("main", "parse", "token"), 50, True),
          (("main", "parse", "parse", "token"), 200, False), (("run",), 100, False)]


@pytest.fixture
def make(tmp_path):
    """make(blocks, name="made") -> path of a recording of them."""

    def write(blocks, name="made", **options):
        path = tmp_path / f"{name}.hs.gz"
        path.write_bytes(made_recording.stacks(blocks, **options))
        return path

    return write


@pytest.fixture
def export(run_heapscope, tmp_path):
    """export(recording, *options) -> path of the SVG."""
    count = 0

    def run(recording, *options):
        nonlocal count
        count += 1
        path = tmp_path / f"out{count}.svg"
        done = run_heapscope("export", "--format", "svg", *options, "-o", path, recording)
        assert done.returncode == 0, done.stderr
        return path

    return run


class Box:
    """A box of the file, as it is without scripts."""

    def __init__(self, group):
        rect = group.find(SVG + "rect")
        self.x, self.y, self.width = [float(rect.get(key)) for key in ("x", "y", "width")]
        self.name, *self.lines = group.find(SVG + "title").text.split("\n")
        self.value, self.old = int(group.get("data-v")), int(group.get("data-o", 0))
        self.compared = "data-o" in group.keys()
        self.kind = group.get("class")
        self.label = group.findtext(SVG + "text", "")
        self.parent, self.children = None, []

    @property
    def path(self):
        return (self.parent.path if self.parent else ()) + (self.name,)


class Picture:
    def __init__(self, path):
        document = ElementTree.parse(path).getroot()
        self.inverted = document.get("data-inverted") == "1"
        self.title = document.findtext(SVG + "title")
        self.words = [text.text for text in document.find(f"{SVG}g[@id='head']").iter(SVG + "text")]
        assert self.words[0] == self.title
        self.boxes = [Box(group) for group in document.find(f"{SVG}g[@id='boxes']")]
        last = {}
        for box in self.boxes:
            level = (box.y - self.boxes[0].y) / 18 * (1 if self.inverted else -1)
            assert level == int(level)
            if level:
                box.parent = last[level - 1]
                box.parent.children.append(box)
                assert box.parent.x - 1e-3 <= box.x and box.x + box.width <= box.parent.x + box.parent.width + 1e-3
            last[level] = box
            if not box.compared and self.boxes[0].value:
                assert abs(box.width - 1180 * box.value / self.boxes[0].value) < 1e-4

    def values(self):
        """{path of names: value}; each path once."""
        values = {box.path[1:]: box.value for box in self.boxes[1:]}
        assert len(values) == len(self.boxes) - 1
        return values


# ---- numbers ---------------------------------------------------------------------------------------------


def test_values(make, export):
    picture = Picture(export(make(BLOCKS)))
    assert picture.title == "made --once: 1000 B live at the peak in 4 blocks"
    assert picture.values() == {
        ("main",): 900, ("main", "load"): 600, ("main", "parse"): 300, ("main", "parse", "parse"): 200,
        ("main", "parse", "parse", "token"): 200, ("run",): 100}
    details = {box.path[1:]: box.lines for box in picture.boxes}
    assert details[()] == ["1000 B (100.0%) in 4 blocks"]
    assert details["main",] == ["900 B (90.0%) in 3 blocks", "made.c:1, in made"]
    assert details["main", "parse"] == ["300 B (30.0%) in 2 blocks, itself 100 B (10.0%)", "made.c:3, in made"]
    assert details["main", "load"] == ["600 B (60.0%) in 1 block, all of it itself", "made.c:2, in made"]
    # widest first, callers below
    main, run = picture.boxes[0].children
    assert [child.name for child in main.children] == ["load", "parse"] and run.name == "run"
    assert main.y == picture.boxes[0].y - 18 and run.x == pytest.approx(10 + 1180 * 0.9)
    assert main.label == "main  900 B (90.0%)"
    assert any("Nothing is left out." in words for words in picture.words)


def test_other_metrics(make, export):
    recording = make(BLOCKS)
    picture = Picture(export(recording, "--metric", "allocated"))
    assert picture.title == "made --once: 1.0 KiB allocated in 5 calls"
    assert picture.values()["main", "parse"] == 350 and picture.values()["main", "parse", "token"] == 50
    picture = Picture(export(recording, "--metric", "temporary"))
    assert picture.title == "made --once: 1 temporary allocation of 50 B"
    assert picture.values() == {("main",): 1, ("main", "parse"): 1, ("main", "parse", "token"): 1}
    assert Picture(export(recording, "--metric", "calls")).title == "made --once: 5 allocation calls of 1.0 KiB"
    assert Picture(export(recording, "--metric", "leaked")).title == "made --once: 1000 B leaked in 4 blocks"


def test_orientation(make, export):
    picture = Picture(export(make(BLOCKS), "--inverted"))
    assert picture.inverted and picture.boxes[0].children[0].y == picture.boxes[0].y + 18
    assert picture.values()["main", "parse", "parse", "token"] == 200
    picture = Picture(export(make(BLOCKS), "--reverse"))
    assert picture.values() == {
        ("load",): 600, ("load", "main"): 600, ("token",): 200, ("token", "parse"): 200, ("token", "parse", "parse"): 200,
        ("token", "parse", "parse", "main"): 200, ("parse",): 100, ("parse", "main"): 100, ("run",): 100}


@pytest.mark.parametrize("metric", METRICS)
def test_totals(export, print_json, server, metric):
    document = print_json(server)
    for options in [], ["--reverse", "--inverted"], ["--chart"]:
        picture = Picture(export(server, "--metric", metric, *options, "--min-width", "0"))
        assert picture.boxes[0].value == value(document["totals"], metric)
        stacks = collections.Counter()
        for site in document["sites"]:
            names = [frame["function"] for frame in site["frames"]]
            names = names if "--reverse" in options else names[::-1]
            for depth in range(len(names)):
                stacks[tuple(names[:depth + 1])] += value(site, metric)
        shown = collections.Counter()
        for box in picture.boxes[1:]:
            if "rest" not in box.kind:
                shown[box.path[1:]] += box.value
        if "--chart" in options:  # whose narrowest boxes may be left out: there are too many
            assert all(value <= stacks[path] for path, value in shown.items())
            assert sum(box.value for box in picture.boxes[0].children) == picture.boxes[0].value
        else:
            assert shown == +stacks


def test_filters(export, make, print_json):
    recording = make(BLOCKS)
    picture = Picture(export(recording, "--focus", "token"))
    assert picture.title == "made --once: 200 B live at the peak in 1 block"
    assert "Only what this selects: --focus token" in picture.words
    assert picture.boxes[0].value == print_json(recording, "--focus", "token")["totals"]["peak_bytes"]


def test_narrow_boxes_are_joined(make, export):
    """900 bytes by one function, 10 each by ten others: below 2 % each, they are one box of 10 %."""
    blocks = [(("main", "large"), 900, False)] + [(("main", f"small{i}", "inner"), 10, False) for i in range(10)]
    picture = Picture(export(make(blocks), "--min-width", "2%"))
    assert picture.values() == {("main",): 1000, ("main", "large"): 900, ("main", "10 boxes, too narrow to draw"): 100}
    assert picture.boxes[-1].kind == "rest" and picture.boxes[-1].lines == ["100 B (10.0%)"]
    assert any("Drawn are 3 of 23 boxes, the widest, down to 20 B (2%); the others, together 100 B, are joined." in words
               for words in picture.words)


def test_many_sites(make, export, run_heapscope):
    """100,000 sites: a picture that a browser opens at once, with exact sums."""
    blocks = [(("main",) + tuple(f"f{number >> 17 - 2 * k}" for k in range(8)) + (f"leaf{number}",), 1 + number % 5000, False)
              for number in range(100000)]
    path = export(make(blocks))
    picture = Picture(path)
    assert picture.boxes[0].value == sum(size for _, size, _ in blocks) == 250050000
    assert len([box for box in picture.boxes if box.kind != "rest"]) == 5001 and len(picture.boxes) < 10000
    assert path.stat().st_size < 4_000_000
    for box in picture.boxes:
        assert sum(child.value for child in box.children) <= box.value


def test_deep_recursion(make, export):
    picture = Picture(export(make([(("main",) + ("deep",) * 1000, 100, False)])))
    assert len(picture.boxes) == 401
    assert picture.boxes[-1].name == "[deeper levels]" and picture.boxes[-1].value == 100


# ---- over time -------------------------------------------------------------------------------------------


def test_chart(make, export):
    """What is allocated alike and without anything between is one box; what comes back later is another."""
    blocks = [(("main", "setup"), 100, False), (("main", "setup"), 100, False), (("main", "work"), 300, True),
              (("main", "setup"), 50, False), (("main",), 50, False), (("main", "work"), 400, False)]
    picture = Picture(export(make(blocks), "--chart", "--metric", "allocated"))
    [main] = picture.boxes[0].children
    assert [(box.name, box.value) for box in main.children] == [("setup", 200), ("work", 300), ("setup", 50), ("work", 400)]
    assert [round((box.x - 10) / 1180 * 1000) for box in main.children] == [0, 200, 500, 600]  # main itself at 550
    assert main.children[1].lines[-1] == "allocated from 30 us to 50 us"
    assert main.children[3].lines[-1] == "allocated from 70 us to 80 us"
    assert any("Nothing is left out." in words for words in picture.words)
    # at the peak, which is at the end, the temporary block is gone
    picture = Picture(export(make(blocks), "--chart"))
    [main] = picture.boxes[0].children
    assert [(box.name, box.value) for box in main.children] == [("setup", 250), ("work", 400)]


def test_chart_is_as_fine_as_can_be_seen(make, export):
    """512 turns of two stacks are 512 pairs of boxes; of 51,200 turns, which nobody could see, a slice takes 200
    blocks together. What a slice has of one stack is one box."""
    def boxes(turns):
        picture = Picture(export(make([((name,), 100, False) for _ in range(turns) for name in ("a", "b")]), "--chart"))
        assert {name: sum(box.value for box in picture.boxes if box.name == name) for name in "ab"} == \
            {"a": 100 * turns, "b": 100 * turns}
        return picture.boxes[1:]

    assert [box.name for box in boxes(256)] == ["a", "b"] * 256
    many = boxes(51200)
    assert [box.name for box in many] == ["a", "b"] * 512 and {box.value for box in many} == {10000}


# ---- two recordings --------------------------------------------------------------------------------------


def test_difference(make, export):
    old = make([(("main", "grown"), 100, False), (("main", "same"), 200, False), (("main", "gone"), 400, False),
                (("main", "shrunk"), 100, False)], "old", source="/srv/other/made.c")
    new = make([(("main", "same"), 200, False), (("main", "shrunk"), 95, False), (("main", "new"), 50, False),
                (("main", "grown"), 300, False)], "new")
    picture = Picture(export(new, "--against", old))
    assert picture.title == "made --once: 645 B live at the peak, was 800 B: \u2212155 B (19.4% less)"
    boxes = {box.name: box for box in picture.boxes}
    assert {name: (box.value, box.old) for name, box in boxes.items()} == {
        "all": (645, 800), "main": (645, 800), "grown": (300, 100), "same": (200, 200), "shrunk": (95, 100), "new": (50, 0)}
    assert boxes["grown"].lines[0] == "300 B (46.5%), was 100 B: +200 B (3.0 times), all of it itself"
    assert boxes["same"].lines[0] == "200 B (31.0%), as before, all of it itself"
    assert boxes["new"].lines[0] == "50 B (7.8%), was 0 B: +50 B, all of it itself"
    assert boxes["shrunk"].label == "shrunk  \u22125 B" and boxes["same"].label == "same  200 B as before"
    # from blue over grey to orange, by how much it changed
    assert [boxes[name].kind for name in ("main", "shrunk", "same", "grown", "new")] == ["c1", "c2", "c3", "c6", "c6"]
    assert boxes["grown"].width == pytest.approx(1180 * 300 / 645)
    assert any("Not drawn: 400 B live at the peak, on stacks that only the old recording has (--widths larger draws them)." in words
               for words in picture.words)
    boxes = {box.name: box for box in Picture(export(new, "--against", old, "--widths", "larger")).boxes}
    assert (boxes["gone"].value, boxes["gone"].old, boxes["gone"].kind) == (0, 400, "c0")
    assert boxes["gone"].width == pytest.approx(1180 * 400 / (300 + 200 + 400 + 100 + 50))
    boxes = {box.name: box for box in Picture(export(new, "--against", old, "--widths", "old")).boxes}
    assert boxes["grown"].width == pytest.approx(1180 / 8) and "new" not in boxes


# ---- the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, message", [
    (["--format", "pprof", "--chart"], "--chart is for flame graphs, --format svg; not for pprof"),
    (["--format", "svg", "--widths", "old"], "--widths is for a comparison"),
    (["--format", "svg", "--chart", "--against", "x"], "--chart and --against do not go together"),
    (["--format", "svg", "--palette", "mem", "--against", "x"], "--palette and --against do not go together"),
    (["--format", "folded", "--against", "x"], "--against is for svg and html; folded holds one recording"),
    (["--format", "svg", "--min-width", "x"], '--min-width "x" is no percentage below 100'),
    (["--format", "svg", "--min-width", "100"], '--min-width "100" is no percentage below 100'),
    (["--format", "svg", "--palette", "blue"], "blue"),
])
def test_usage(run_heapscope, make, options, message):
    done = run_heapscope("export", *options, make(BLOCKS))
    assert done.returncode == 2 and message in done.stderr and done.stdout == ""


def test_names_and_standard_output(run_heapscope, make, export, tmp_path):
    recording = make(BLOCKS)
    done = run_heapscope("export", "-f", "svg", recording, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "made.peak.svg").exists()
    assert done.stderr == "heapscope: wrote made.peak.svg; next: xdg-open made.peak.svg\n"
    done = run_heapscope("export", "-f", "svg", "-o", "-", recording, binary=True)
    assert done.stdout == export(recording).read_bytes() and done.stderr == b""
    done = run_heapscope("export", "-f", "svg", "--against", tmp_path / "none.hs.gz", "-o", tmp_path / "x.svg", recording)
    assert done.returncode == 1 and "none.hs.gz" in done.stderr and not (tmp_path / "x.svg").exists()


def test_title_and_palettes(make, export):
    recording = make(BLOCKS)
    assert Picture(export(recording, "--title", "a <b> & c")).title == "a <b> & c"
    colours = set()
    for palette in "code", "module", "rust", "mem", "hot":
        text = export(recording, "--palette", palette).read_text()
        again = export(make(BLOCKS[:3], "other"), "--palette", palette)
        kinds = {box.name: box.kind for box in Picture(again).boxes}
        assert all(kinds[box.name] == box.kind for box in Picture(export(recording, "--palette", palette)).boxes
                   if box.name in kinds), "one function has the same colour in every file"
        colours.add(re.search(r"\.c1 \{ fill: (#\w{6}); \}", text).group(1))
    assert len(colours) >= 4


def test_nothing_allocated(export, tmp_path):
    path = tmp_path / "nothing.hs.gz"
    zeros = dict.fromkeys(["events", "allocations", "frees", "allocated_bytes", "peak_bytes", "peak_us", "live_bytes",
                           "live_blocks", "temporary"], 0)
    path.write_bytes(made_recording.header() + made_recording.modules() + made_recording.footer(**zeros))
    for options in [], ["--chart"], ["--against", path], ["--reverse", "--inverted"]:
        picture = Picture(export(path, *options))
        assert [(box.name, box.value) for box in picture.boxes] == [("all", 0)]
        assert "0 B live at the peak" in picture.title


def test_imported_and_merged(run_heapscope, make, export, tmp_path):
    """A profiler's samples draw as a flame graph, two of them as a differential one; what is not known is not shown."""
    for name, numbers in ("old", (30, 70)), ("new", (60, 40)):
        (tmp_path / f"{name}.folded").write_text("main;a;b %d\nmain;c %d\n" % numbers)
        assert run_heapscope("import", tmp_path / f"{name}.folded", "-o", tmp_path / f"{name}.hs.gz").returncode == 0
    new, old = tmp_path / "new.hs.gz", tmp_path / "old.hs.gz"
    picture = Picture(export(new))
    assert picture.title == "new.hs.gz: 100 samples" and "Imported from folded. Nothing is left out." in picture.words
    assert picture.values() == {("main",): 100, ("main", "a"): 60, ("main", "a", "b"): 60, ("main", "c"): 40}
    assert picture.boxes[-1].lines == ["40 (40.0%), all of it itself"] and "own code" not in picture.words
    boxes = {box.name: (box.value, box.old) for box in Picture(export(new, "--against", old)).boxes}
    assert boxes == {"all": (100, 100), "main": (100, 100), "a": (60, 30), "b": (60, 30), "c": (40, 70)}
    done = run_heapscope("export", "--format", "svg", "--chart", "-o", tmp_path / "x.svg", new)
    assert done.returncode == 1 and "does not tell when something was allocated" in done.stderr
    assert not (tmp_path / "x.svg").exists()
    merged = tmp_path / "merged.hs.gz"
    assert run_heapscope("merge", "-o", merged, make(BLOCKS, "one"), make(BLOCKS, "two")).returncode == 0
    picture = Picture(export(merged))
    assert picture.boxes[0].value == 2000 and picture.values()["main", "parse"] == 600
    assert any("Merged from 2 recordings, whose peaks are added up." in words for words in picture.words)


def test_json_is_what_print_writes(run_heapscope, make, server, tmp_path):
    for recording in make(BLOCKS), server:
        for options in [], ["--raw"], ["--hide", "parse", "--min-size", "60", "--config", ""]:
            done = run_heapscope("export", "-f", "json", *options, "-o", "-", recording)
            assert done.returncode == 0 and json.loads(done.stdout)["schema"] == "heapscope-print-1"
            assert done.stdout == run_heapscope("print", "--json", *options, recording).stdout


# ---- in a browser ----------------------------------------------------------------------------------------


@pytest.fixture
def drive(drive_page):
    """drive(steps) -> the results of its evals. What a page must never do fails here."""

    def run(*steps):
        report = drive_page(*steps)
        results = report.pop("results")
        assert report == {"exceptions": [], "errors": [], "dialogs": [], "requests": []}
        return results

    return run


# Of the picture of BLOCKS: the n-th box of a name; what it shows.
GROUP = "[...document.querySelectorAll('#boxes > g')].filter(g => g.querySelector('title').textContent.startsWith(NAME + '\\n'))[N]"
DETAILS = "document.querySelector('#details').textContent"
MATCHED = "document.querySelector('#controls output').textContent"
HITS = "[...document.querySelectorAll('#boxes .hit')].map(g => g.dataset.n)"
SHOWN = "[...document.querySelectorAll('#boxes > g')].filter(g => g.style.display !== 'none').map(g => g.dataset.n)"
FOCUSED = "document.activeElement.dataset.n"


def group(name, number=0):
    return GROUP.replace("NAME", json.dumps(name)).replace("[N]", f"[{number}]")


def pixels(name, number=0):
    return f"(r => [r.x, r.width].map(Math.round))({group(name, number)}.querySelector('rect').getBoundingClientRect())"


def middle(drive, url, *names):
    """Where boxes are in a window of 1220 x 700."""
    names = [name if isinstance(name, tuple) else (name, 0) for name in names]
    return drive(["size", 1220, 700], ["open", url],
                 *[["eval", f"(r => [r.x + r.width / 2, r.y + r.height / 2])({group(*name)}.querySelector('rect')"
                    ".getBoundingClientRect())"] for name in names])


@pytest.fixture
def url(make, export):
    return export(make(BLOCKS)).as_uri()


def test_hover_tells(drive, url):
    parse, run = middle(drive, url, "parse", "run")
    assert drive(["size", 1220, 700], ["open", url], ["eval", DETAILS], ["move", *parse], ["eval", DETAILS], ["move", *run],
                 ["eval", DETAILS]) == [
        "/ search, click zooms, ? all keys",
        "parse  \u00b7  300 B (30.0%) in 2 blocks, itself 100 B (10.0%)  \u00b7  made.c:3, in made",
        "run  \u00b7  100 B (10.0%) in 1 block, all of it itself  \u00b7  made.c:5, in made"]


def test_click_zooms_and_the_boxes_below_lead_back(drive, url):
    parse, root = middle(drive, url, "parse", "all")
    results = drive(
        ["size", 1220, 700], ["open", url], ["eval", pixels("parse")], ["eval", pixels("token")],
        ["click", *parse], ["eval", pixels("parse")], ["eval", pixels("token")], ["eval", SHOWN],
        ["eval", "[...document.querySelectorAll('#boxes .above')].map(g => g.dataset.n)"], ["eval", "location.hash"],
        # the root is below it: a way back, and so is the browser's own
        ["click", *root], ["eval", pixels("parse")], ["eval", "location.hash"],
        ["eval", "new Promise(done => { addEventListener('popstate', () => done(0), {once: true}); history.back(); })"],
        ["eval", pixels("parse")], ["double", *root], ["eval", SHOWN])
    # 1200 pixels for 1000 bytes; zoomed for 300
    assert [width for _, width in results[0:2]] == [360, 240]
    assert results[0][0] == 10 + 720
    assert results[2] == [10, 1200] and results[3] == [10, 800]
    assert results[4] == ["all", "main", "parse", "parse", "token"] and results[5] == ["all", "main"]
    assert re.fullmatch(r"#zoom=\d+", results[6])
    assert results[7][1] == 360 and results[8] == ""
    assert results[10] == [10, 1200]
    assert results[11] == ["all", "main", "load", "parse", "parse", "token", "run"]


def test_search_counts_the_outermost_match(drive, url):
    parse, = middle(drive, url, "parse")
    results = drive(
        ["size", 1220, 700], ["open", url], ["key", "/"], ["type", "PARSE"], ["eval", MATCHED], ["key", "Escape"],
        ["key", "f", 2], ["type", "parse"], ["eval", HITS], ["eval", MATCHED], ["eval", "location.hash"],
        ["key", "Escape"], ["eval", HITS], ["eval", MATCHED], ["eval", "location.hash"],
        ["key", "F3"], ["type", "^(token|run)$"], ["eval", HITS], ["eval", MATCHED],
        ["key", "Enter"], ["eval", FOCUSED], ["key", "n"], ["eval", FOCUSED], ["key", "Escape"],
        ["key", "/"], ["type", "a("], ["eval", MATCHED], ["key", "Escape"],
        ["click", *parse], ["key", "/"], ["type", "token"], ["eval", MATCHED])
    assert results == [
        "no match",  # capitals matter
        ["parse", "parse"], "30.0% matched: 300 B", "#search=parse", [], "", "",
        ["token", "run"], "30.0% matched: 300 B", "token", "run",
        "no match",  # no expression: the very words
        "66.7% matched: 200 B of this box"]


def test_keys(drive, url):
    results = drive(
        ["size", 1220, 700], ["open", url], ["key", "Tab"], ["eval", FOCUSED], ["key", "ArrowUp"], ["eval", FOCUSED],
        ["key", "ArrowUp"], ["eval", FOCUSED], ["key", "ArrowRight"], ["eval", FOCUSED], ["eval", DETAILS],
        ["key", "Enter"], ["eval", pixels("parse")], ["key", "ArrowDown"], ["eval", FOCUSED],
        ["key", "Escape"], ["eval", pixels("parse")], ["key", "?"], ["eval", "document.querySelectorAll('#help text').length"],
        ["key", "Escape"], ["eval", "document.querySelectorAll('#help text').length"])
    assert results[:4] == ["all", "main", "load", "parse"] and results[4].startswith("parse  \u00b7  300 B (30.0%)")
    assert results[5] == [10, 1200] and results[6] == "main" and results[7] == [730, 360]
    assert results[8] == 6 and results[9] == 0


def test_url_restores(drive, url):
    picture = [box.name for box in Picture(pathlib.Path(url.removeprefix("file://"))).boxes]
    results = drive(["size", 1220, 700], ["open", f"{url}#zoom={picture.index('parse')}&search=to.en"], ["eval", MATCHED],
                    ["eval", pixels("parse")], ["eval", HITS], ["eval", "document.querySelector('#controls input').value"],
                    ["open", url + "#zoom=999&search=%E0%A4%A&x"], ["eval", SHOWN], ["eval", MATCHED])
    assert results == ["66.7% matched: 200 B of this box", [10, 1200], ["token"], "to.en",
                       ["all", "main", "load", "parse", "parse", "token", "run"], ""]


def test_window_is_filled_and_labels_fit(drive, export, server):
    url = export(server, "--metric", "calls").as_uri()
    too_wide = ("[...document.querySelectorAll('#boxes > g')].filter(g => g.style.display !== 'none' && "
                "g.querySelector('text')?.textContent && g.querySelector('text').getBoundingClientRect().right > "
                "g.querySelector('rect').getBoundingClientRect().right + 1).map(g => g.dataset.n)")
    for width in 800, 1700:
        results = drive(["size", width, 900], ["open", url], ["eval", pixels("all")], ["eval", too_wide],
                        ["eval", "document.querySelectorAll('#boxes text').length"])
        assert results[0] == [10, width - 20] and results[1] == [] and results[2] > 10


def test_without_scripts(drive, make, export):
    steps = [["size", 1220, 700], ["eval", pixels("parse")], ["eval", group("parse") + ".querySelector('text').textContent"]]
    url = export(make(BLOCKS)).as_uri()
    assert drive(["scripts", False], ["open", url], *steps)[1] == "parse  300 B (30.0%)"
    path = export(make(BLOCKS), "--no-javascript")
    assert "<script" not in path.read_text()
    assert drive(["open", path.as_uri()], *steps)[1] == "parse  300 B (30.0%)"


def test_dark(drive, url):
    page = "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector('#title')).fill]"
    [light], [dark] = drive(["open", url], ["eval", page]), drive(["dark"], ["open", url], ["eval", page])
    assert light == ["rgb(255, 255, 255)", "rgb(27, 27, 31)"] and dark == ["rgb(24, 24, 27)", "rgb(241, 241, 243)"]


def test_contrast(make, export):
    """Every label can be read on every colour, by day and by night: 4.5 to 1, as WCAG asks for."""
    def luminance(colour):
        channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        return sum(share * (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4)
                   for share, c in zip((0.2126, 0.7152, 0.0722), channels))

    recording = make(BLOCKS)
    for options in *(["--palette", name] for name in ("code", "module", "rust", "mem", "hot")), ["--against", recording]:
        text = export(recording, *options).read_text()
        fills = re.findall(r"^(\t?)\.c\d+ \{ fill: (#\w{6}); \}", text, re.M)
        assert len(fills) in (14, 36)
        for night, fill in fills:
            bright, dark = sorted([luminance(fill), luminance("#f1f1f3" if night else "#1b1b1f")], reverse=True)
            assert (bright + 0.05) / (dark + 0.05) >= 4.5, (options, night, fill)


HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "]]><script>alert(3)</script>",
           "a\x01b\x1b[31m\nc", b"\xff\xfe<b>", "x\u202egnp.exe", "\ufffe\uffff", "&lt;i&gt; &amp;", "' onload='alert(4)",
           "javascript:alert(5)", "${alert(6)}", "漢字の関数名前" * 20]


@pytest.mark.parametrize("options", [[], ["--chart"], ["--reverse"], ["--against"]])
def test_names_do_nothing(drive, make, export, options):
    recording = make([((name,), 100, False) for name in HOSTILE], source='/s/"><script>alert(7)</script>.c',
                     command=["/srv/</title><script>alert(8)</script>", "\x1b[2J\n"])
    path = export(recording, *options, *([recording] if options == ["--against"] else []))
    kinds = "[...new Set([...document.querySelectorAll('*')].map(e => e.localName))].sort()"
    handlers = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on|href|src/.test(a.name)).length"
    search = f"{path.as_uri()}#search=%3Cscript%3E&zoom=%3Cimg%20src=x%20onerror=alert(9)%3E"
    results = drive(["size", 1220, 700], ["open", search], ["eval", kinds], ["eval", handlers], ["eval", MATCHED],
                    ["eval", "document.querySelectorAll('script').length"],
                    ["eval", "[...document.querySelectorAll('#boxes title')].map(t => t.textContent.split('\\n')[0])"])
    assert set(results[0]) <= {"svg", "title", "style", "g", "rect", "text", "line", "script", "foreignObject", "div", "span",
                               "output", "button", "input"}
    assert results[1] == 0 and results[3] == 1
    assert results[2].startswith("16.7% matched: 200 B")  # two of twelve names have it
    assert set(results[4]) == {
        "all", *HOSTILE[:3], "a b [31m c", "\ufffd\ufffd<b>", "x?gnp.exe", "??", *HOSTILE[7:]}


def test_large_picture_opens_at_once(drive, make, export):
    """Boxes are shown and respond; how long it takes is bounded by their number, not by that of the sites."""
    blocks = [((f"f{number % 40}", f"g{number % 800}", f"h{number}"), 100, False) for number in range(20000)]
    url = export(make(blocks), "--min-width", "0").as_uri()
    boxes, shown = drive(["size", 1220, 700], ["open", url], ["eval", "document.querySelectorAll('#boxes > g').length"],
                         ["key", "Tab"], ["key", "ArrowUp"], ["key", "Enter"], ["eval", SHOWN + ".length"])
    assert 5000 < boxes < 10000 and 50 < shown < 1000
