"""heapscope diff: rebuilt programs against each other, with numbers worked out by hand."""

import json
import re
import shutil

import pytest

import made_recording as made
from conftest import ROOT

# What differs: GREW's calls allocate more each, PADDING moves all lines, FEATURE names the function that is there.
SOURCE = """
#include <stdlib.h>
#include <string.h>
PADDING
static void *keep[64];
static int used;
__attribute__((noinline)) void grows(int i) { PADDING
\tkeep[used++] = memset(malloc(GREW), i, 1);
}
__attribute__((noinline)) void stays(int i) { PADDING PADDING
\tkeep[used++] = memset(malloc(300), i, 1);
}
__attribute__((noinline)) void FEATURE(int i) {
\tkeep[used++] = memset(malloc(5000), i, 1);
}
__attribute__((noinline)) void parses(int i) {
\tvoid *volatile block = malloc(10 + i);
\tfree(block);
}
PADDING
int main(void) {
\tfor (int i = 0; i < ROUNDS; i++) { PADDING
\t\tgrows(i);
\t\tstays(i);
\t\tparses(i);
\t}
\tFEATURE(1);
\treturn 0;
}
"""


def source(padding, grew, feature, rounds=10):
    return SOURCE.replace("PADDING", "\n" * padding).replace("GREW", str(grew)).replace("FEATURE", feature) \
        .replace("ROUNDS", str(rounds))


@pytest.fixture
def record_source(compile, record, tmp_path):
    """record_source(folder, name, ...) -> a recording of the program built in a folder of its own."""

    def make(folder, *arguments, name="serve", **options):
        place = tmp_path / folder
        place.mkdir()
        file = place / "serve.c"
        file.write_text(source(*arguments, **options))
        program = compile(file, "-O0", name=f"{folder}-{name}")
        moved = place / name
        shutil.move(program, moved)
        return record(moved)

    return make


@pytest.fixture
def diff_json(run_heapscope):
    def load(*arguments):
        done = run_heapscope("diff", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return load


def by_function(document):
    return {site["frames"][site["own_frame"]]["function"]: site for site in document["sites"]}


def test_rebuilt_program(record_source, diff_json, run_heapscope):
    old = record_source("one", 0, 1000, "left")
    new = record_source("two", 3, 3000, "came")
    for options in [[], ["--stacks"]]:
        document = diff_json(*options, old, new)
        sites = by_function(document)
        assert {name: site["kind"] for name, site in sites.items()} == \
            {"grows": "grew", "stays": "same", "parses": "same", "left": "vanished", "came": "appeared"}
        assert sites["grows"]["old"]["peak_bytes"] == sites["grows"]["old"]["allocated_bytes"] == 10 * 1000
        assert sites["grows"]["new"]["peak_bytes"] == 10 * 3000
        assert sites["grows"]["old"]["allocations"] == sites["grows"]["new"]["allocations"] == 10
        assert sites["stays"]["old"] | {"lifetime_us": 0} == sites["stays"]["new"] | {"lifetime_us": 0}
        assert sites["parses"]["new"]["temporary"] == 10
        assert sites["came"]["old"]["peak_bytes"] == 0 and sites["came"]["new"]["peak_bytes"] == 5000
        assert sites["left"]["old"]["live_bytes"] == 5000 and sites["left"]["new_sites"] == 0
        assert list(sites)[:3] in (["grows", "came", "left"], ["grows", "left", "came"])
        assert document["same_program"] is True
        assert document["work"]["amount"] == "same"
        assert document["new"]["totals"]["peak_bytes"] == 10 * (3000 + 300) + 5000
        lines = [site["frames"][site["own_frame"]]["line"] for site in (sites["grows"], sites["came"])]
        assert lines == [8 + 6, 14 + 12]  # of the new source; the old lines and what PADDING adds above

    text = run_heapscope("diff", old, new).stdout
    # 10 x 1000 + 10 x 300 + 5000 bytes = 17.6 KiB; 10 x 3000 + 10 x 300 + 5000 = 37.1 KiB; the difference 19.5 KiB
    assert re.search(r"^  peak +17\.6 KiB +37\.1 KiB +\+19\.5 KiB +\+111\.1%$", text, re.M)
    assert re.search(r"^  calls +31 +31 +0 +-$", text, re.M)
    assert re.search(r"^GREW BY PEAK +1 of 1 function, \+19\.5 KiB$", text, re.M)
    assert re.search(r"^ \+19\.5 KiB +\+200\.0% +9\.8 KiB +29\.3 KiB  grows +\S*serve\.c:14$", text, re.M)
    assert re.search(r"^APPEARED BY PEAK +1 of 1 function, \+4\.9 KiB$", text, re.M)
    assert re.search(r"^VANISHED BY PEAK +1 of 1 function, -4\.9 KiB$", text, re.M)
    assert "SHRANK" not in text and "different programs" not in text
    assert "work: both did the same amount of work: functions that both have made 30 calls" in text
    assert "2 functions are the same in both runs" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_more_work(record_source, run_heapscope, diff_json):
    """The same program with twice as much to do: more calls, not larger blocks."""
    old = record_source("one", 0, 1000, "same", rounds=10)
    new = record_source("two", 1, 1000, "same", rounds=20)
    text = " ".join(run_heapscope("diff", "--sort", "calls", old, new).stdout.split())
    # 31 calls, then 61
    assert "work: the runs did a different amount of work: functions that both have made 31 calls in the old " \
           "run and 61 in the new one (+96.8%)" in text
    assert "GREW BY CALLS 3 of 3 functions, +30 calls" in text
    document = diff_json("--sort", "calls", new, old)
    assert document["work"]["amount"] == "less" and document["work"]["common_new_calls"] == 31
    assert {name: site["kind"] for name, site in by_function(document).items()} == \
        {"grows": "shrank", "stays": "shrank", "parses": "shrank", "same": "same"}


def test_two_programs(record_source, run_heapscope, diff_json):
    old = record_source("one", 0, 1000, "same", name="serve")
    new = record_source("two", 0, 2000, "same", name="other")
    assert "these are two different programs" in run_heapscope("diff", old, new).stdout
    document = diff_json(old, new)
    assert document["same_program"] is False
    assert by_function(document)["grows"]["kind"] == "grew"  # compared all the same


def test_hidden_rows_are_counted(record_source, run_heapscope):
    old = record_source("one", 0, 1000, "same", rounds=10)
    new = record_source("two", 0, 1000, "same", rounds=20)
    text = run_heapscope("diff", "--sort", "calls", "-n", "1", old, new).stdout
    assert re.search(r"^GREW BY CALLS +1 of 3 functions, \+30 calls$", text, re.M)
    assert "    2 more functions, +20; -n 0 shows all\n" in text
    assert "more functions" not in run_heapscope("diff", "--sort", "calls", "-n", "0", old, new).stdout


def test_name_of_two_runs(compile, run_heapscope, tmp_path):
    """`heapscope diff NAME` takes what two runs left."""
    program = compile(source(0, 1000, "same"), "-O0")
    for _ in range(2):
        assert run_heapscope("run", "--", program, cwd=tmp_path).returncode == 0
    done = run_heapscope("diff", "target", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("old  target.old.hs.gz: ") and "\nnew  target.hs.gz: " in done.stdout
    assert " BY PEAK" not in done.stdout and "note: 4 functions are the same in both runs" in done.stdout
    assert run_heapscope("diff", "target.hs.gz", cwd=tmp_path).stdout == done.stdout


def test_logparse(compile, record, diff_json):
    """Tokens as Strings against slices of the line: the parser's temporaries are gone, nothing else of note."""
    program = compile(ROOT / "tests" / "bench" / "logparse.rs", "-O", compiler="rustc")
    lines = 3000
    old, new = record([program, "owned", str(lines), "1"]), record([program, "borrowed", str(lines), "1"])
    document = diff_json("--sort", "temporary", old, new)
    parser = document["sites"][0]
    assert parser["frames"][0]["function"].endswith("parse_owned")
    assert parser["kind"] == "vanished"
    # a line: 5 Strings, their Vec (room for 4, then for 8), two clones, of which the last is dropped at once unless
    # it is the first of the 17 components
    assert parser["old"]["allocations"] == 9 * lines
    assert parser["old"]["temporary"] == lines - 17
    assert parser["new"]["allocations"] == 0
    assert document["new"]["totals"]["allocations"] < 100
    for site in document["sites"][1:]:
        assert abs(site["new"]["temporary"] - site["old"]["temporary"]) <= 2
        assert abs(site["new"]["allocations"] - site["old"]["allocations"]) <= 20
        assert abs(site["new"]["peak_bytes"] - site["old"]["peak_bytes"]) <= 1000


def test_documented_json_names(diff_json, tmp_path, request):
    """docs/json.md names every key that the document has; those of counts once, for print and diff."""
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole())
    document = diff_json(path, path)
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    part = documentation.split("# `heapscope diff --json`")[1]
    site = document["sites"][0]
    keys = set(document) | set(document["old"]) | set(document["work"]) | set(site) | set(site["frames"][0])
    assert [key for key in sorted(keys) if f"`{key}`" not in part] == []
    assert [key for key in sorted(site["old"]) if f"`{key}`" not in documentation] == []
    assert f'"{document["schema"]}"' in part
    assert all(site["kind"] == "same" for site in document["sites"])


def test_bad_files_and_usage(run_heapscope, tmp_path):
    good, bad = tmp_path / "good.hs.gz", tmp_path / "bad.hs.gz"
    good.write_bytes(made.whole())
    bad.write_bytes(b"this is no recording\n")
    for pair in [(good, bad), (bad, good), (good, tmp_path / "bad-missing.hs.gz")]:
        done = run_heapscope("diff", *pair)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("heapscope: ") and "bad" in done.stderr
    for arguments, message in [
        ([], "diff: which recordings? e.g. heapscope diff server.old.hs.gz server.hs.gz"),
        (["a", "b", "c"], 'diff: "c" is one operand too many'),
        (["--sort", "size", "a"],
         'diff: --sort wants one of peak, allocated, calls, temporary, leaked, moved, not "size"'),
    ]:
        done = run_heapscope("diff", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[0] == f"heapscope: {message}"


def test_help(run_heapscope):
    done = run_heapscope("diff", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: heapscope diff ")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert re.search(r"^  diff ", run_heapscope("--help").stdout, re.M)


def test_colour_and_width(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole())
    plain = run_heapscope("diff", path, path).stdout
    assert "\033" not in plain
    coloured = run_heapscope("diff", "--color", "always", path, path).stdout
    assert "\033[" in coloured and re.sub(r"\033\[\d*m", "", coloured) == plain
