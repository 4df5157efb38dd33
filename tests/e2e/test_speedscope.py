"""The exports that speedscope reads, its own format and folded stacks: what it shows in a browser and what it has understood
(tests/tools/speedscope.py) are the numbers known by hand (made_recording) and, on a real program, those of `print --json`."""

import functools
import json
import pathlib
import re
import sys

import jsonschema
import pytest

import made_recording

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import speedscope as tool  # noqa: E402

METRICS = {"peak": "peak_bytes", "allocated": "allocated_bytes", "calls": "allocations", "temporary": "temporary",
           "leaked": "live_bytes", "moved": "moved_bytes"}
# parse calls itself; 1000 bytes at the peak, 50 freed before
RECURSIVE = [(("main", "load"), 600, False), (("main", "parse"), 100, False), (("main", "parse", "token"), 50, True),
             (("main", "parse", "parse", "token"), 200, False), (("</td><img src=x onerror=alert(1)>",), 100, False)]


@pytest.fixture
def release(viewer):
    """The folder with speedscope's page and the schema of its format."""
    return viewer / "node_modules" / "speedscope" / "dist" / "release"


@pytest.fixture
def speedscope(release, drive_page):
    """speedscope({path: number of profiles}) -> what it shows and what it understood of each (tests/tools/speedscope.py)."""
    return functools.partial(tool.read, release, drive_page)


def stacks_of(document, key, frame_of, less=None):
    """{stack of frame_of(frame), outermost first: sum of the key, less another one} of the sites of `print --json`."""
    stacks = {}
    for site in document["sites"]:
        value = site[key] - (site[less] if less else 0)
        if value:
            stack = tuple(frame_of(frame) for frame in reversed(site["frames"]))
            stacks[stack] = stacks.get(stack, 0) + value
    return stacks


def folded_lines(path):
    """The lines, sorted as promised; flamegraph.pl would take a second number for a difference."""
    lines = path.read_bytes().splitlines()
    assert lines == sorted(lines) and not any(re.search(rb" [\d.]+ \d+$", line) for line in lines)
    return lines


def test_folded_values(export, speedscope, whole, hostile, nothing):
    keep, drop = ("main", "keep"), ("main", "drop")
    expected = {
        "peak": {keep: 3000}, "allocated": {keep: 4000, drop: 500}, "calls": {keep: 2, drop: 1}, "temporary": {drop: 1},
        "leaked": {keep: 3000}, "moved": {keep: 1000},
        # from 10 to 40 us, from 40 to the end at 50; from 20 to 30
        "lifetime": {keep: 40, drop: 10}}
    paths = [export("folded", whole, "--metric", metric, suffix=f".{metric}") for metric in expected]
    paths.append(export("folded", hostile, "--metric", "allocated"))
    *found, (names_shown, names) = speedscope(dict.fromkeys(paths, 1))
    for values, path, (_, stacks) in zip(expected.values(), paths, found):
        assert stacks == {path.name: {tuple((name, None, None) for name in stack): value for stack, value in values.items()}}
        assert len(folded_lines(path)) == len(values)
    assert found[1][0] == {"out.folded.allocated": [("drop", "500", "500"), ("keep", "4,000", "4,000"), ("main", "4,500", "0")]}
    assert names_shown == {"out.folded": [("a:b snapshot=0", "4,500", "0"), ('c "\\ <d>#_1', "4,000", "4,000"),
                                          ("e\ufffd (in 7)_8", "500", "500")]}
    assert len(names["out.folded"]) == len(folded_lines(paths[-1])) == 2
    assert export("folded", nothing).read_bytes() == b""


def test_folded_totals(export, print_json, speedscope, server):
    metrics = [("peak", []), ("calls", []), ("peak", ["--raw"])]
    paths = [export("folded", server, "--metric", metric, *options, suffix=f".{number}")
             for number, (metric, options) in enumerate(metrics)]
    for path, (metric, options), (_, stacks) in zip(paths, metrics, speedscope(dict.fromkeys(paths, 1))):
        expected = stacks_of(print_json(server, *options), METRICS[metric], lambda frame: (frame["function"], None, None),
                             "suppressed_bytes" if metric == "leaked" else None)
        assert stacks == {path.name: expected} and len(folded_lines(path)) == len(expected)


def test_speedscope_values(export, speedscope, whole, hostile, nothing, tmp_path):
    recursive = tmp_path / "recursive.hs.gz"
    recursive.write_bytes(made_recording.stacks(RECURSIVE))
    paths = [export("speedscope", recording, suffix=f"{number}.json")
             for number, recording in enumerate((whole, recursive, hostile, nothing))]
    found = speedscope(dict(zip(paths, (6, 5, 6, 0))))

    # KB are of 1,024: 3000, 4000 and 4500 are 2.93, 3.91 and 4.39
    shown, stacks = found[0]
    peak = [("keep", "2.93 KB", "2.93 KB"), ("main", "2.93 KB", "0 B")]
    assert shown == {
        "Live at the peak": peak,
        "Allocated": [("drop", "500 B", "500 B"), ("keep", "3.91 KB", "3.91 KB"), ("main", "4.39 KB", "0 B")],
        "Allocation calls": [("drop", "1", "1"), ("keep", "2", "2"), ("main", "3", "0")],
        "Temporary allocations": [("drop", "1", "1"), ("main", "1", "0")],
        "Live at the end": peak,
        "Moved by realloc": [("keep", "1000 B", "1000 B"), ("main", "1000 B", "0 B")]}
    main, keep, drop = [(name, "/srv/made.c", line) for name, line in (("main", 10), ("keep", 20), ("drop", 30))]
    assert stacks == {
        "Live at the peak": {(main, keep): 3000},
        "Allocated": {(main, keep): 4000, (main, drop): 500},
        "Allocation calls": {(main, keep): 2, (main, drop): 1},
        "Temporary allocations": {(main, drop): 1},
        "Live at the end": {(main, keep): 3000},
        "Moved by realloc": {(main, keep): 1000}}

    image = RECURSIVE[-1][0][0]
    assert found[1][0]["Live at the peak"] == [
        (image, "100 B", "100 B"), ("load", "600 B", "600 B"), ("main", "900 B", "0 B"), ("parse", "300 B", "100 B"),
        ("token", "200 B", "200 B")]
    assert found[1][0]["Temporary allocations"] == [("main", "1", "0"), ("parse", "1", "0"), ("token", "1", "1")]

    main, keep = [(name, "/s\n/m#.c", line) for name, line in (("a;b snapshot=0", 10), ('c "\\ <d># 1', 20))]
    assert found[2][1]["Live at the peak"] == {(main, keep): 3000}
    assert found[2][0]["Allocation calls"] == [("a;b snapshot=0", "3", "0"), ('c "\\ <d># 1', "2", "2"),
                                               ("e\ufffd (in 7) 8", "1", "1")]
    assert found[3][1] == {"Live at the peak": {}}


def test_speedscope_totals(export, print_json, speedscope, release, server):
    path = export("speedscope", server)
    [(_, profiles)] = speedscope({path: 6})
    document = print_json(server)
    assert list(profiles.values()) == [
        stacks_of(document, key, lambda frame: (frame["function"], frame["file"], frame["line"])) for key in METRICS.values()]
    # for other readers of the format: what its schema asks for, and speedscope itself does not
    exported = json.loads(path.read_text("utf-8"))
    jsonschema.validate(exported, json.loads((release / "file-format-schema.json").read_text("utf-8")))
    assert [(profile["unit"], profile["endValue"]) for profile in exported["profiles"]] == [
        ("bytes" if key.endswith("_bytes") else "none", document["totals"][key]) for key in METRICS.values()]


def test_speedscope_says_what_it_cannot_read(export, speedscope, whole):
    """The tests above would notice."""
    path = export("speedscope", whole)
    path.write_text(path.read_text().replace('"weights":[2,1]', '"weights":[2]'))
    with pytest.raises(AssertionError, match="Something went wrong"):
        speedscope({path: 6})
