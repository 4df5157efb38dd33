"""The exports, each read by its real reader: the numbers are those known by hand (made_recording) and, on a real program, those
of `print --json`. test_speedscope.py has speedscope's and folded stacks, test_viewer.py DHAT's, test_svg.py and test_page.py
what a browser opens."""

import json
import os
import re
import subprocess

import pytest

from conftest import clean_environment

def check_output(*command, cwd=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                          env=clean_environment(), cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_names_and_metrics(run_heapscope, whole, tmp_path):
    done = run_heapscope("export", "-f", "folded", whole, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "made.peak.folded").exists()
    done = run_heapscope("export", "-f", "folded", "--metric", "calls", whole, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "made.calls.folded").exists()
    done = run_heapscope("export", "--list")
    assert re.findall(r"^(\w+) .*\(NAME(.*)\)$", done.stdout, re.M) == [
        ("html", ".html"), ("svg", ".METRIC.svg"), ("dhat", ".dhat.json"), ("folded", ".METRIC.folded"),
        ("speedscope", ".speedscope.json"), ("pprof", ".pb.gz"), ("massif", ".massif.out"),
        ("callgrind", ".callgrind.out"), ("json", ".json")]
    done = run_heapscope("export", "-f", "massif", whole, cwd=tmp_path)
    assert done.stderr == "heapscope: wrote made.massif.out; next: ms_print made.massif.out\n"
    done = run_heapscope("export", "-f", "folded", "--metric", "peek", whole)
    assert done.returncode == 2 and 'unknown metric "peek"; did you mean peak?' in done.stderr
    done = run_heapscope("export", "-f", "dhat", "--metric", "peak", whole)
    assert done.returncode == 2 and "dhat holds more" in done.stderr


# ---- JSON ------------------------------------------------------------------------------------------------


def test_json_values(export, whole, hostile, tool):
    """By jq; test_svg has that it is what `print --json` writes, test_cli what that is."""
    program = ".frames as $frames | .sites[] | [.peak_bytes, .allocations, [.frames[] | $frames[.] | .function, .line]]"

    def sites(recording):
        return [json.loads(line) for line in check_output(tool("jq"), "-c", program, export("json", recording)).splitlines()]

    assert sites(whole) == [[3000, 2, ["keep", 20, "main", 10]], [0, 1, ["drop", 30, "main", 10]]]
    assert [stack[::2] for *_, stack in sites(hostile)] == [
        ['c "\\ <d># 1', "a;b\nsnapshot=0"], ["e\ufffd (in 7) 8", "a;b\nsnapshot=0"]]


# ---- pprof -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pprof(tmp_path_factory, tool):
    """Runs pprof itself, built from Debian's source of it; it refuses a profile that contradicts itself.
    Its binary is nowhere to be found, as on the machine of someone who only got the file."""
    folder = tmp_path_factory.mktemp("pprof")
    environment = dict(clean_environment(), GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=folder / "cache",
                       GOFLAGS="", HOME=folder, PPROF_TMPDIR=folder, PPROF_BINARY_PATH=folder / "nowhere")
    subprocess.run([tool("go"), "build", "-o", folder / "pprof", "github.com/google/pprof"], cwd=folder, check=True,
                   env=environment, timeout=300)

    def run(*arguments):
        done = subprocess.run([folder / "pprof", *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                              env=environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def read_raw(text):
    """What `pprof -raw` prints: sample types, {stack, innermost first, of functions with their place: values},
    mappings."""
    head, rest = text.split("Samples:\n")
    samples, rest = rest.split("Locations\n")
    locations, mappings = rest.split("Mappings\n")
    types, *samples = samples.splitlines()
    frames_of = {}
    for line in locations.splitlines():
        number, line = re.fullmatch(r"(?: +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?| {13})(.*)", line).groups()
        if number:
            frames = frames_of[number] = []
        frames.append(re.fullmatch(r"(.*?) (\.{0,2}/.*|\S*):(\d+) s=0\(\)", line).groups())
    stacks = {}
    for sample in samples:
        values, stack = sample.split(":")
        stack = tuple((name, file, int(line)) for number in stack.split() for name, file, line in frames_of[number])
        assert stack not in stacks
        stacks[stack] = [int(value) for value in values.split()]
    return head, types.split(), stacks, mappings.splitlines()


PPROF_TYPES = {"alloc_objects/count": "allocations", "alloc_space/bytes": "allocated_bytes",
               "peak_objects/count": "peak_blocks", "peak_space/bytes": "peak_bytes",
               "temporary_objects/count": "temporary", "temporary_space/bytes": "temporary_bytes",
               "moved_objects/count": "moved", "moved_space/bytes": "moved_bytes",
               "inuse_objects/count": "live_blocks", "inuse_space/bytes[dflt]": "live_bytes"}


def test_pprof_values(export, pprof, whole):
    head, types, stacks, mappings = read_raw(pprof("-raw", export("pprof", whole)))
    assert types == list(PPROF_TYPES)
    main, keep, drop = [(name, "/srv/made.c", line) for name, line in (("main", 10), ("keep", 20), ("drop", 30))]
    assert stacks == {(keep, main): [2, 4000, 1, 3000, 0, 0, 1, 1000, 1, 3000],
                      (drop, main): [1, 500, 0, 0, 1, 500, 0, 0, 0, 0]}
    assert mappings == ["1: 0x400000/0x410000/0x0 /srv/made abcd [FN][FL][LN][IN]"]
    assert "PeriodType: space bytes\nPeriod: 1\nTime: 2023-11-14 22:13:20 +0000 UTC\n" in head
    assert "Comment: /srv/made --once\n" in head


def test_pprof_totals(export, pprof, print_json, server):
    document = print_json(server)
    path = export("pprof", server)
    _, types, stacks, mappings = read_raw(pprof("-raw", path))
    sums = [sum(column) for column in zip(*stacks.values())]
    assert dict(zip(types, sums)) == {name: document["totals"][key] for name, key in PPROF_TYPES.items()}
    # inlined functions and all: the same stacks
    assert stacks.keys() == {tuple((frame["function"], frame["file"] or "", frame["line"] or 0)
                                   for frame in site["frames"]) for site in document["sites"]}
    assert mappings[0].split()[2].endswith("/server")
    # without a choice the live memory, as in a profile of Go; and functions as people know them
    assert "Type: inuse_space\n" in pprof("-top", path)
    top = pprof("-top", "-unit=b", "-sample_index=peak_space", path)
    flat = sum(site["peak_bytes"] for site in document["sites"] if site["frames"][0]["function"] == "cache_put")
    assert re.search(rf"^ *{flat}B +9\d.* cache_put \(inline\)$", top, re.M)


def test_pprof_hostile_names(export, pprof, hostile, nothing):
    _, _, stacks, _ = read_raw(pprof("-raw", export("pprof", hostile)))
    assert [[frame[0] for frame in stack] for stack in stacks] == \
        [['c "\\ <d># 1', "a;b snapshot=0"], ["e\ufffd (in 7) 8", "a;b snapshot=0"]]
    assert pprof("-raw", export("pprof", nothing)).count("inuse_space/bytes[dflt]") == 1


def test_binary_goes_to_a_pipe_not_a_terminal(heapscope, run_heapscope, whole, export):
    command = [str(heapscope), "export", "-f", "pprof", "-o", "-", str(whole)]
    master, terminal = os.openpty()
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, env=clean_environment(),
                          timeout=60)
    os.close(terminal)
    os.close(master)
    assert done.returncode == 2 and "pprof is binary and standard output is a terminal" in done.stderr
    done = run_heapscope(*command[1:], binary=True)
    assert done.returncode == 0 and done.stdout == export("pprof", whole).read_bytes() and done.stdout[:2] == b"\x1f\x8b"


# ---- massif ----------------------------------------------------------------------------------------------


def read_massif(path):
    """[(time, bytes, kind, tree)]; a tree is (bytes, text, children). The order of lines is what ms_print and
    massif-visualizer insist on."""
    lines = path.read_text("utf-8").splitlines()
    assert [line.split(": ")[0] for line in lines[:3]] == ["desc", "cmd", "time_unit"]
    snapshots, at = [], 3

    def tree(depth):
        nonlocal at
        children, size, text = re.fullmatch(" " * depth + r"n(\d+): (\d+) (\S.*)", lines[at]).groups()
        at += 1
        children = [tree(depth + 1) for _ in range(int(children))]
        assert sum(child[0] for child in children) <= int(size)
        return int(size), text, children

    while at < len(lines):
        fields = "\n".join(lines[at:at + 8])
        at += 8
        number, time, size, kind = re.fullmatch(
            r"#-+\nsnapshot=(\d+)\n#-+\ntime=(\d+\.\d{3})\nmem_heap_B=(\d+)\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
            r"heap_tree=(empty|peak)", fields).groups()
        assert int(number) == len(snapshots)
        snapshots.append((float(time), int(size), kind, tree(0) if kind == "peak" else None))
    times = [snapshot[0] for snapshot in snapshots]
    assert times == sorted(times)
    return snapshots


ROOT_TEXT = "(heap allocation functions) malloc/new/new[], --alloc-fns, etc."


def test_massif_values(export, whole, tool):
    path = export("massif", whole)
    snapshots = read_massif(path)
    # 1000 from 10 us on, 1500 from 20, 1000 from 30, 3000 from 40 to the end at 50: one step is 1 us
    sizes = {round(time * 1000): size for time, size, _, _ in snapshots}
    assert [sizes[time] for time in (0, 9, 10, 19, 20, 29, 39, 40, 49, 50)] == \
        [0, 0, 1000, 1000, 1500, 1500, 1000, 3000, 3000, 3000]
    [peak] = [snapshot for snapshot in snapshots if snapshot[2] == "peak"]
    assert peak == (0.04, 3000, "peak", (3000, ROOT_TEXT, [(3000, "0x40101F: keep (made.c:20)", [
        (3000, "0x40100F: main (made.c:10)", [])])]))
    printed = check_output(tool("ms_print"), path)
    assert "Command:            /srv/made --once\n" in printed
    assert "->100.00% (3,000B) 0x40101F: keep (made.c:20)\n  ->100.00% (3,000B) 0x40100F: main (made.c:10)\n" in printed


def test_massif_totals(export, print_json, server, tool):
    document = print_json(server)
    totals = document["totals"]
    path = export("massif", server)
    snapshots = read_massif(path)
    assert 50 <= len(snapshots) <= 102
    assert max(size for _, size, _, _ in snapshots) == totals["peak_bytes"]
    [(time, size, _, tree)] = [snapshot for snapshot in snapshots if snapshot[2] == "peak"]
    assert (round(time * 1000), size, tree[0]) == (totals["peak_us"], totals["peak_bytes"], totals["peak_bytes"])
    assert snapshots[-1][:2] == (document["facts"]["duration_us"] / 1000, totals["live_bytes"])

    def check(node):
        """Every node's bytes are its children's: no stack of this program ends where another goes on."""
        if node[2]:
            assert node[0] == sum(child[0] for child in node[2])
            for child in node[2]:
                check(child)

    check(tree)
    at_cache_put = sum(site["peak_bytes"] for site in document["sites"] if site["frames"][0]["line"] == 69)
    assert at_cache_put == tree[2][0][0] and "cache_put (server.c:69)" in tree[2][0][1]
    printed = check_output(tool("ms_print"), path)
    assert f"100.00% ({totals['peak_bytes']:,}B) {ROOT_TEXT}" in printed
    assert f"({at_cache_put:,}B)" in printed and "(peak)" in printed
    assert re.search(r"in \d+ places, all below massif's threshold \(1.00%\)", printed)


def test_massif_hostile_names(export, hostile, nothing, tool):
    snapshots = read_massif(export("massif", hostile))
    [tree] = [tree for *_, tree in snapshots if tree]
    assert tree[2][0][1] == '0x40101F: c "\\ <d>. 1 (m..c:20)' and tree[2][0][2][0][1] == "0x40100F: a;b snapshot=0 (m..c:10)"
    assert "Command:            a b . c\n" in check_output(tool("ms_print"), export("massif", hostile))
    assert {size for _, size, _, _ in read_massif(export("massif", nothing))} == {0}
    check_output(tool("ms_print"), export("massif", nothing))


RECURSION = r"""
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) static int deep(int depth)
{
	if (depth == 0 || depth % 100 == 0)
		kept = malloc(100);
	return depth ? deep(depth - 1) + depth : 0;
}
int main(void)
{
	return deep(1000) == 0;
}
"""


def test_massif_recursion(export, compile, record, tool):
    """11 stacks of up to 1,001 calls: the tree ends at a depth of 100, the bytes are all there."""
    path = export("massif", record(compile(RECURSION, "-O0")))
    [tree] = [tree for *_, tree in read_massif(path) if tree]
    assert tree[0] == 1100
    depth = 0
    while tree[2]:
        tree = tree[2][0]
        depth += 1
    assert depth == 100
    assert "(1,100B)" in check_output(tool("ms_print"), path)


# ---- callgrind -------------------------------------------------------------------------------------------

EVENTS = {"Peak": "peak_bytes", "PeakBlocks": "peak_blocks", "Allocated": "allocated_bytes", "Calls": "allocations",
          "Temporary": "temporary", "Live": "live_bytes", "LiveBlocks": "live_blocks", "Moved": "moved_bytes"}


def read_callgrind(path):
    """own costs {(function, line): costs}, calls {(function, line, called function): costs}; a function is
    (object, file, name). By the grammar in callgrind's manual, which has no room for surprises."""
    head, *blocks = path.read_text("utf-8").split("\n\n")
    lines = head.splitlines()
    assert lines[:2] == ["# callgrind format", "version: 1"]
    assert f"events: {' '.join(EVENTS)}" in lines and "positions: line" in lines
    totals = [int(number) for number in lines[-1].removeprefix("summary: ").split()]
    assert blocks.pop() == "totals: " + " ".join(map(str, totals)) + "\n"
    names, own, calls = {}, {}, {}

    def name_of(kind, text):
        number, name = re.fullmatch(r"\((\d+)\)(?: (.+))?", text).groups()
        assert (name is None) == ((kind, number) in names)
        return names.setdefault((kind, number), name)

    for block in blocks:
        here, called, expect_call = {}, {}, None
        for line in block.splitlines():
            key, _, text = line.partition("=")
            if key in ("ob", "fl", "fn"):
                here[key] = name_of(key, text)
            elif key in ("cob", "cfi", "cfn"):
                called[key] = name_of({"cob": "ob", "cfi": "fl", "cfn": "fn"}[key], text)
            elif key == "calls":
                expect_call = int(text.removesuffix(" 0"))
            else:
                number, *costs = map(int, line.split(" "))
                assert len(costs) == len(EVENTS)
                place = (tuple(here.values()), number)
                if expect_call is None:
                    assert place not in own
                    own[place] = costs
                else:
                    assert expect_call == costs[list(EVENTS).index("Calls")]
                    assert (*place, tuple(called.values())) not in calls
                    calls[(*place, tuple(called.values()))] = costs
                called, expect_call = {}, None
    assert [sum(column) for column in zip(*own.values())] == totals or not own
    return totals, own, calls


def test_callgrind_values(export, whole):
    main, keep, drop = [("/srv/made", "/srv/made.c", name) for name in ("main", "keep", "drop")]
    totals, own, calls = read_callgrind(export("callgrind", whole))
    assert totals == [3000, 1, 4500, 3, 1, 3000, 1, 1000]
    assert own == {(main, 10): [0] * 8, (keep, 20): [3000, 1, 4000, 2, 0, 3000, 1, 1000],
                   (drop, 30): [0, 0, 500, 1, 1, 0, 0, 0]}
    assert calls == {(main, 10, keep): own[keep, 20], (main, 10, drop): own[drop, 30]}


def annotated(text, function):
    """The first column of the functions of that name in callgrind_annotate's list."""
    listing = text.split("file:function\n")[1].split("-- Auto")[0]
    return [int(number.replace(",", "")) for number in
            re.findall(rf"^ *([\d,]+) .*:{re.escape(function)}(?: \[.*\])?$", listing, re.M)]


def test_callgrind_totals(export, print_json, server, tool):
    document = print_json(server)
    path = export("callgrind", server)
    totals, _, _ = read_callgrind(path)
    assert totals == [document["totals"][key] for key in EVENTS.values()]

    def peak(chosen):
        return sum(site["peak_bytes"] for site in document["sites"] if chosen(site["frames"]))

    # Not in the sources' own folder: there it takes the folder off some names only, and lists functions twice.
    printed = check_output(tool("callgrind_annotate"), "--show-percs=no", path, cwd=path.parent)
    assert re.search(rf"^{totals[0]:,} .*PROGRAM TOTALS$", printed, re.M)
    assert annotated(printed, "cache_put") == [peak(lambda frames: frames[0]["function"] == "cache_put")]
    printed = check_output(tool("callgrind_annotate"), "--inclusive=yes", "--show-percs=no", path, cwd=path.parent)
    for function in "cache_put", "handle_request", "main":
        assert annotated(printed, function) == [
            peak(lambda frames: any(frame["function"] == function for frame in frames))]


def test_callgrind_recursion(export, compile, record, tool):
    """1100 bytes in 11 blocks by deep, which calls itself up to 1,000 times: never more than 100 %."""
    path = export("callgrind", record(compile(RECURSION, "-O0")))
    printed = check_output(tool("callgrind_annotate"), "--inclusive=yes", "--show-percs=no", "--threshold=100", path)
    assert annotated(printed, "deep") == [1100] and annotated(printed, "main") == [1100]


def test_callgrind_hostile_names(export, hostile, nothing, tool):
    path = export("callgrind", hostile)
    main, keep, drop = [("/srv/made", "/s /m#.c", name)
                        for name in ("a;b snapshot=0", 'c "\\ <d># 1', "e\ufffd (in 7) 8")]
    _, own, calls = read_callgrind(path)
    assert set(own) == {(main, 10), (keep, 20), (drop, 30)} and set(calls) == {(main, 10, keep), (main, 10, drop)}
    assert "3,000" in check_output(tool("callgrind_annotate"), path)
    assert read_callgrind(export("callgrind", nothing)) == ([0] * 8, {}, {})
    check_output(tool("callgrind_annotate"), export("callgrind", nothing))
