"""The exported files open in valgrind's own viewer, in a real browser, with every sort metric; its totals are ours."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402

CHECKER = pathlib.Path(__file__).resolve().parents[1] / "tools" / "check_dh_view.mjs"

# What to run, how it is compiled (None: installed), and what is special about it.
PROGRAMS = {
    "containers": ("containers.cc", "g++"),  # C++ names with < and ,
    "recursion": ("recursion.c", "gcc"),  # a chain of prefixes 200 deep
    "calloc": ("calloc_mix.c", "gcc"),
    "threads": ("thread_lives.c", "gcc"),
    "rust": ("inlined.rs", "rustc"),
    "nothing at the end": ("#include <stdlib.h>\nint main(void) { for (int i = 1; i < 500; i++) { void *volatile p = "
                           "malloc(i); free(p); } return 0; }\n", "gcc"),
    "no allocation at all": ("empty.c", "gcc"),
    "jq": ("jq", None),
    "sqlite3": ("sqlite3", None),
}
COMMANDS = {
    "jq": ["-n", "[range(2000) | {n: ., s: tostring}] | group_by(.n % 7) | map(length)"],
    "sqlite3": ["-init", "/dev/null", ":memory:",
                "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) "
                "select count(*), group_concat(hex(i), '') from n order by 1"],
}


def view(path, *options):
    """The checker's exit status and its report: 0 if the viewer drew the tree and its totals are the file's sums."""
    completed = subprocess.run(["node", CHECKER, dhat_format.VIEWER, path, "--all-sorts", "--strict", "--json", *options],
                               capture_output=True, text=True, timeout=180)
    assert completed.returncode in (0, 1), completed.stdout + completed.stderr
    return completed.returncode, json.loads(completed.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_viewer(name, compile, record, dhat, print_json, tool):
    source, compiler = PROGRAMS[name]
    command = [compile(source, compiler=compiler)] if compiler else [tool(source), *COMMANDS[source]]
    recorded = record(command)
    document = dhat(recorded)
    assert dhat_format.complaints(dhat.path) == ""
    status, report = view(dhat.path)
    assert status == 0, json.dumps(report, indent=1)[:5000]
    assert report["warnings"] == [] and report["mismatches"] == []
    # Total, t-gmax and t-end in bytes, Total in blocks, and the tiny and short-lived ones: all that need no access counts.
    assert len(report["sorts"]) == 6
    assert all("error" not in sort for sort in report["sorts"])
    # The checker compared the viewer's root with the file's sums; these are what the report says.
    totals = dhat_format.Dhat(document).total()
    ours = print_json(recorded)["totals"]
    assert totals["tb"] == ours["allocated_bytes"] and totals["tbk"] == ours["allocations"]
    assert totals["gb"] == ours["peak_bytes"] and totals["gbk"] == ours["peak_blocks"]
    assert totals["eb"] == ours["live_bytes"] and totals["ebk"] == ours["live_blocks"]


def damage_repeated(document):
    document["pps"].append(dict(document["pps"][0]))


def damage_missing(document):
    del document["tuth"]


def damage_frames(document):
    document["ftbl"] = document["ftbl"][:2]


@pytest.mark.parametrize("damage", [damage_repeated, damage_missing, damage_frames])
def test_a_broken_file_fails_the_same_check(damage, compile, record, dhat, tmp_path):
    document = dhat(record(compile("calloc_mix.c")))
    damage(document)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(document))
    assert dhat_format.complaints(path) != ""
    status, report = view(path)
    assert status == 1, report


def test_a_cut_file_fails_the_same_check(compile, record, dhat, tmp_path):
    dhat(record(compile("calloc_mix.c")))
    path = tmp_path / "cut.json"
    path.write_bytes(dhat.path.read_bytes()[:-20])
    status, report = view(path)
    assert (status, report["result"]) == (1, "refused")
