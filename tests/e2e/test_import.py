"""heapscope import: files that the tools themselves wrote, against what these tools say of them, and files by hand."""

import gzip
import json
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402

# A stack of two functions, one inlined into main; blocks of 1000 and 50 bytes; times in milliseconds.
#   0 ms  1000 bytes in keep, 50 in main, the latter freed at once
#  16 ms  500 pages; two more of 1000 bytes
#  32 ms  one of the three is freed; 16 pages
HEAPTRACK = """v 10400 3
X ./made --once
I 1000 5e298d
s 9 /srv/made
s 4 main
s 9 /srv/a.cc
s 4 keep
s 5 outer
s 12 /lib/libother.so.1
i 401010 1 2 3 a
t 1 0
i 401020 1 4 3 14 5 3 1e
t 2 1
a 3e8 2
+ 0
a 32 1
+ 1
- 1
c 10
R 1f4
+ 0
+ 0
c 20
- 0
R 10
i 7f01 6
t 3 0
a 0 3
+ 2
# strings: 6
# ips: 3
"""


@pytest.fixture
def convert(run_heapscope, tmp_path):
    """convert(file or bytes, *options) -> path of the recording; checks the exit status."""

    def run(source, *options, name="file"):
        if isinstance(source, (bytes, str)):
            path = tmp_path / name
            path.write_bytes(source.encode() if isinstance(source, str) else source)
            source = path
        output = tmp_path / "imported.hs.gz"
        done = run_heapscope("import", source, "-o", output, *options)
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr
        return output

    return run


@pytest.fixture
def refused(run_heapscope, tmp_path):
    """refused(bytes, *options) -> the message of an import that fails, and leaves nothing."""

    def run(source, *options, returncode=1):
        path = tmp_path / "refused"
        path.write_bytes(source.encode() if isinstance(source, str) else source)
        output = tmp_path / "refused.hs.gz"
        done = run_heapscope("import", path, "-o", output, *options)
        assert done.returncode == returncode, done.stderr
        assert not output.exists() and list(tmp_path.glob("refused.hs.gz*")) == []
        return done.stderr

    return run


def contents(path):
    """All members, unpacked: how they are packed may differ."""
    return gzip.decompress(pathlib.Path(path).read_bytes())


def functions(document, key):
    """{function: sum of the sites that have it in their stack}"""
    sums = {}
    for site in document["sites"]:
        for name in {frame["function"] for frame in site["frames"]}:
            sums[name] = sums.get(name, 0) + site[key]
    return sums


# ---- heaptrack ----------------------------------------------------------------------------------------------------------

COSTS = {"allocations": "allocations", "peak": "peak_bytes", "leaked": "live_bytes"}


def heaptrack_costs(file, cost, folder):
    """heaptrack_print's flame graph: [(functions outermost first, number)]."""
    output = folder / f"flames.{cost}"
    subprocess.run(["heaptrack_print", file, "-F", output, "--flamegraph-cost-type", cost], check=True,
                   capture_output=True, timeout=120)
    lines = []
    for line in output.read_text().splitlines():
        stack, number = line.rsplit(" ", 1)
        lines.append(([re.sub(r" \([^()]*\)$", "", frame) for frame in stack.split(";") if frame], int(number)))
    return lines


@pytest.mark.parametrize("source", ["temporary.c", "realloc_growth.c", "calloc_mix.c", "containers.cc", "strings.c"])
def test_heaptrack_numbers(source, compile, convert, print_json, tool, tmp_path):
    program = compile(source, compiler="g++" if source.endswith(".cc") else "gcc")
    subprocess.run([tool("heaptrack"), "-o", tmp_path / "tracked", program], check=True, capture_output=True, timeout=120)
    file = next(tmp_path.glob("tracked.*"))
    document = print_json(convert(file), "--raw")
    assert document["facts"]["imported"] == "heaptrack" and document["facts"]["warning"] is None
    assert document["facts"]["stopped"] is None
    for cost, key in COSTS.items():
        lines = heaptrack_costs(file, cost, tmp_path)
        assert document["totals"][key] == sum(number for _, number in lines), cost
        # heaptrack ends a stack at main, if it sees it
        ours = functions(document, key)
        names = {name for stack, _ in lines for name in stack if name.isidentifier() and not name.startswith("_")}
        assert len(names) > 1
        for name in names - {"main"}:
            theirs = sum(number for stack, number in lines if name in stack)
            assert ours.get(name, 0) == theirs, (cost, name)
    assert max(bytes for _, bytes in document["timeline"]) == document["totals"]["peak_bytes"]
    assert document["facts"]["command"][-1].endswith(program.name)
    assert any(frame["file"] and frame["file"].endswith(source) and frame["line"] for frame in document["frames"])


def test_heaptrack_memory_is_the_recorders(convert, print_text):
    """500 pages: of the program and heaptrack, not of heapscope."""
    assert "\n  peak RSS      2.0 MiB   of the process, the recorder's own memory included\n" in print_text(convert(HEAPTRACK))


@pytest.mark.parametrize("source, temporary", [("temporary.c", 1500), ("peaks.c", 3), ("recursion.c", 1)])
def test_heaptrack_temporary(source, temporary, compile, convert, print_json, tool, tmp_path):
    """By hand, as in test_oracle.py, where peaks.c has 2: of blocks of the same size and stack the file does not say which is
    freed, and the youngest is taken, in peaks.c once too often. heaptrack_print has 3 there as well."""
    program = compile(source)
    subprocess.run([tool("heaptrack"), "-o", tmp_path / "tracked", program], check=True, capture_output=True, timeout=120)
    document = print_json(convert(next(tmp_path.glob("tracked.*"))))
    assert document["totals"]["temporary"] == temporary


def test_heaptrack_by_hand(convert, print_json):
    document = print_json(convert(HEAPTRACK))
    totals, facts = document["totals"], document["facts"]
    assert (totals["allocations"], totals["allocated_bytes"], totals["frees"]) == (5, 3050, 2)
    # the last moment of equals: the block of 0 bytes comes after the free, so when the third 1000 came, at 16 ms
    assert (totals["peak_bytes"], totals["peak_blocks"], totals["peak_us"]) == (3000, 3, 16000)
    assert (totals["live_bytes"], totals["live_blocks"]) == (2000, 3)
    # 50 bytes, and the last of the three of 1000, since nothing was allocated before its free
    assert (totals["temporary"], totals["temporary_bytes"]) == (2, 1050)
    # 50 bytes: 0; of the three of 1000 one lives 16 ms (the youngest is taken), the others 32 and 16; 0 bytes: 0
    assert totals["lifetime_us"] == 64000
    assert [totals[key] for key in ("moved", "moved_bytes", "reallocations")] == [None] * 3
    assert facts["command"] == ["./made", "--once"] and facts["duration_us"] == 32000
    assert facts["pid"] is None and document["threads"] is None
    assert facts["peak_rss_bytes"] == 500 * 4096
    assert document["rss"] == [[16000, 500 * 4096], [32000, 16 * 4096]]
    keep = next(site for site in document["sites"] if site["peak_bytes"] == 3000)
    assert [(frame["function"], frame["line"], frame["inlined"]) for frame in keep["frames"]] == [
        ("keep", 20, True), ("outer", 30, False), ("main", 10, False)]
    assert {frame["module"] for frame in keep["frames"]} == {"/srv/made"} and keep["own_frame"] == 0
    other = next(site for site in document["sites"] if site["allocated_bytes"] == 0)
    assert [(frame["module"], frame["address"], frame["function"]) for frame in other["frames"]] == [
        ("/lib/libother.so.1", 0x7F01, None)]


def test_threads_are_unknown(convert, run_heapscope):
    recording = convert(HEAPTRACK)
    done = run_heapscope("print", "--thread", "1", recording)
    assert done.returncode == 1 and "does not tell which thread" in done.stderr
    assert "not known from this file" in run_heapscope("print", "--threads", recording).stdout


def test_heaptrack_packed(convert, tool):
    plain = contents(convert(HEAPTRACK))
    packed = subprocess.run([tool("zstd"), "-c"], input=HEAPTRACK.encode(), capture_output=True, check=True).stdout
    assert contents(convert(packed)) == plain
    assert contents(convert(gzip.compress(HEAPTRACK.encode()))) == plain
    # two members, as parts that were put together
    middle = HEAPTRACK.index("+ 0")
    parts = gzip.compress(HEAPTRACK[:middle].encode()) + gzip.compress(HEAPTRACK[middle:].encode())
    assert contents(convert(parts)) == plain


def test_heaptrack_older_strings(convert, print_json):
    """Format 2 has no lengths before the strings."""
    old = re.sub(r"^s [0-9a-f]+ ", "s ", HEAPTRACK, flags=re.M).replace("v 10400 3", "v 10100 2")
    new, document = print_json(convert(HEAPTRACK)), print_json(convert(old))
    assert document["sites"] == new["sites"]


def test_heaptrack_frees_of_before(convert, print_json):
    """Attached to a running program, heaptrack sees frees of what it does not know."""
    document = print_json(convert(HEAPTRACK.replace("a 32 1\n", "A\na 32 1\n- 1\n")))
    assert document["facts"]["unknown_frees"] == 1 and document["totals"]["allocations"] == 5


def test_heaptrack_suppressions(convert, print_json):
    """The program's own, which heaptrack copies into the file: with their length since format 3."""
    document = print_json(convert(HEAPTRACK.replace("a 3e8", "S 9 leak:keep\nS leak:nothing\na 3e8")))
    assert (document["totals"]["live_bytes"], document["totals"]["suppressed_bytes"]) == (2000, 2000)


def test_heaptrack_cut(convert, print_json, print_text, tool):
    for cut in (HEAPTRACK[:HEAPTRACK.index("c 20")], gzip.compress(HEAPTRACK.encode())[:-9]):
        recording = convert(cut)
        assert "warning" in convert.stderr
        document = print_json(recording)
        assert document["facts"]["stopped"]
        assert document["totals"]["allocated_bytes"] <= 3050
        assert "recording ended before the program did" in print_text(recording)
    recording = convert(HEAPTRACK[:HEAPTRACK.index("c 20")])
    assert print_json(recording)["totals"]["allocated_bytes"] == 3050
    assert "5 events before that count" in convert.stderr
    # zstd unpacks a block at a time: all but the last one
    long = HEAPTRACK.replace("c 20\n", "c 20\n" + "+ 1\n- 1\n" * 100000)
    packed = subprocess.run([tool("zstd"), "-c"], input=long.encode(), capture_output=True, check=True).stdout
    document = print_json(convert(packed[:-20]))
    assert "the zstd file is cut off" in document["facts"]["stopped"]
    assert 1000 < document["totals"]["allocations"] < 100005


def test_heaptrack_refused(refused):
    assert "heaptrack_interpret" in refused("v 10400 3\nx 9 /srv/made\nm 1 -\n")
    assert "not interpreted" in refused("v 10400 3\ns 1 a\ni 10 1\nt 1 0\na 10 1\n+ 10 1 7f00\n")
    assert "file format 4" in refused(HEAPTRACK.replace("v 10400 3", "v 10700 4"))
    assert "file format 0" in refused(HEAPTRACK.replace("v 10400 3", "v 10000"))
    for before, after, line in (("a 3e8 2", "a 3e8 9", 14), ("t 2 1", "t 2 2", 13), ("+ 1\n", "+ 7\n", 17),
                                ("i 401020 1 4", "i 401020 1 77", 12), ("s 4 keep", "s 44 keep", 7),
                                ("a 3e8 2", "a 3e8", 14), ("a 3e8", "a fffffffffffffff", 14)):
        assert f"line {line}:" in refused(HEAPTRACK.replace(before, after)), before


# ---- DHAT ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("source", ["peaks.c", "sorting.c", "containers.cc"])
def test_valgrind(source, compile, convert, print_json, print_text, tool, tmp_path):
    program = compile(source, compiler="g++" if source.endswith(".cc") else "gcc")
    output = tmp_path / "dhat.out.1"
    profile, _ = dhat_format.valgrind([program], output)
    recording = convert(output)
    document = print_json(recording, "--raw")
    total = profile.total()
    keys = {"tb": "allocated_bytes", "tbk": "allocations", "gb": "peak_bytes", "gbk": "peak_blocks", "eb": "live_bytes",
            "ebk": "live_blocks"}
    assert {key: document["totals"][name] for key, name in keys.items()} == total
    for key in ("temporary", "moved_bytes", "reallocations", "lifetime_us", "max_bytes", "peak_us", "frees", "events"):
        assert document["totals"][key] is None, key
    assert document["timeline"] is None and document["facts"]["duration_us"] is None
    assert document["facts"]["pid"] == profile.document["pid"]
    theirs = profile.functions()
    for key, name in keys.items():
        ours = functions(document, name)
        for function, sums in theirs.items():
            if function not in ("???", "[root]"):
                assert ours[function] == sums[key], (function, key)
    text = print_text(recording)
    assert "imported from dhat" in text and "TEMPORARY" not in text
    assert "not known from such a file: temporary allocations" in text.replace("\n      ", " ")


RUST = {"dhatFileVersion": 2, "mode": "rust-heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "µs", "Mtu": "s",
        "tuth": 10, "cmd": "target/app --once", "pid": 77, "te": 5000, "tg": 4000,
        "pps": [{"tb": 300, "tbk": 3, "tl": 9000, "mb": 200, "mbk": 2, "gb": 200, "gbk": 2, "eb": 100, "ebk": 1, "fs": [1, 2, 3]},
                {"tb": 40, "tbk": 1, "tl": 10, "mb": 40, "mbk": 1, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0, "fs": [1, 4, 3]}],
        "ftbl": ["[root]", "0x5581: <alloc::vec::Vec<T,A>>::push (alloc/src/vec.rs:1976:13)",
                 "0x5581: app::keep::{{closure}} (app/src/main.rs:3:9)", "0x5590: app::main (app/src/main.rs:12:5)",
                 "0x55a0: ??? (???:0:0)"]}


def test_rust(convert, print_json):
    document = print_json(convert(json.dumps(RUST)), "--raw")
    totals = document["totals"]
    assert (totals["allocated_bytes"], totals["allocations"], totals["peak_bytes"], totals["live_blocks"]) == (340, 4, 200, 1)
    assert (totals["peak_us"], totals["lifetime_us"], document["facts"]["duration_us"]) == (4000, 9010, 5000)
    assert document["facts"]["command"] == ["target/app", "--once"] and document["facts"]["pid"] == 77
    keep, other = document["sites"]
    assert (keep["max_bytes"], keep["max_blocks"], other["max_bytes"]) == (200, 2, 40)
    assert [(frame["function"], frame["file"], frame["line"], frame["inlined"]) for frame in keep["frames"]] == [
        ("<alloc::vec::Vec<T,A>>::push", "alloc/src/vec.rs", 1976, True),
        ("app::keep::{{closure}}", "app/src/main.rs", 3, False), ("app::main", "app/src/main.rs", 12, False)]
    assert [(frame["function"], frame["file"], frame["address"]) for frame in other["frames"]][1] == (None, None, 0x55A0)
    # without --raw Vec::push is folded into its caller
    assert print_json(convert(json.dumps(RUST)))["sites"][0]["frames"][0]["function"] == "app::keep::{{closure}}"


def test_dhat_refused(refused):
    def with_changes(**changes):
        return json.dumps({**RUST, **changes})

    assert "mode \"copy\"" in refused(with_changes(mode="copy", bklt=False))
    assert "own events" in refused(with_changes(mode="rust-ad-hoc", bklt=False))
    assert "another version" in refused(with_changes(dhatFileVersion=3))
    assert "no dhatFileVersion" in refused("{}")
    assert "no whole JSON" in refused(json.dumps(RUST)[:-9])
    assert "incomplete" in refused(json.dumps({key: value for key, value in RUST.items() if key != "ftbl"}))
    points = RUST["pps"]
    assert "program point 1 has a frame" in refused(with_changes(pps=[points[0], {**points[1], "fs": [1, 9]}]))
    assert "program point 0 contradict" in refused(with_changes(pps=[{**points[0], "gb": 301, "mb": 301}]))
    assert "no \"tb\"" in refused(with_changes(pps=[{**points[0], "tb": -1}]))
    assert "no \"eb\"" in refused(with_changes(pps=[{key: value for key, value in points[0].items() if key != "eb"}]))
    large = [{**points[0], "tb": 2**63 - 1}, {**points[1], "tb": 2**63 - 1}]
    assert "larger than a recording can hold" in refused(with_changes(pps=large))


def test_dhat_there_and_back(record, compile, convert, run_heapscope, tmp_path):
    """Our own export has everything but temporary allocations and moves."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    recording = record(compile("containers.cc", compiler="g++"))
    assert run_heapscope("export", "--format", "dhat", "-o", first, recording).returncode == 0
    assert run_heapscope("export", "--format", "dhat", "-o", second, convert(first)).returncode == 0
    documents = [json.loads(path.read_text()) for path in (first, second)]
    for key in ("te", "tg", "pid", "cmd"):
        assert documents[0][key] == documents[1][key]
    for key in ("tb", "tbk", "tl", "gb", "gbk", "eb", "ebk"):
        sums = [sum(point[key] for point in document["pps"]) for document in documents]
        assert sums[0] == sums[1], key
    named = [{name for name, _ in map(dhat_format.split_frame, document["ftbl"][1:])} for document in documents]
    assert named[0] == named[1]


# ---- folded stacks ------------------------------------------------------------------------------------------------------

CPU = "# comment\nperf;main;f(int, char) 10\nperf;main;g 20\n\nperf;main;f(int, char);malloc 5\r\nperf;main;g 7\n"


def test_samples(convert, print_json, print_text, run_heapscope):
    recording = convert(CPU)
    document = print_json(recording)
    assert document["facts"]["subject"] == "samples"
    assert document["totals"]["allocations"] == 42
    assert document["totals"]["peak_bytes"] is None and document["totals"]["allocated_bytes"] is None
    # malloc is where the time goes, so it is not folded into its caller
    assert functions(document, "allocations") == {"perf": 42, "main": 42, "f(int, char)": 15, "g": 27, "malloc": 5}
    text = print_text(recording)
    assert "TOP SITES BY SAMPLES" in text and "PEAK" not in text and "TEMPORARY" not in text
    folded = run_heapscope("export", "--format", "folded", "-o", "-", recording)
    assert folded.stdout == "perf;main;f(int, char) 10\nperf;main;f(int, char);malloc 5\nperf;main;g 27\n"


def test_folded_metrics(convert, print_json):
    keys = {"peak": "peak_bytes", "allocated": "allocated_bytes", "calls": "allocations", "temporary": "temporary",
            "leaked": "live_bytes", "moved": "moved_bytes", "lifetime": "lifetime_us"}
    for metric, key in keys.items():
        document = print_json(convert("main;f 10\nmain;g 32\n", "--metric", metric))
        assert document["facts"]["subject"] == "heap" and document["totals"][key] == 42
        others = set(keys.values()) - {key}
        assert all(document["totals"][other] is None for other in others)
        # and by the name that export gives
        assert print_json(convert("main;f 10\n", name=f"server.{metric}.folded"))["totals"][key] == 10


@pytest.mark.parametrize("metric", ["peak", "calls", "leaked"])
def test_folded_there_and_back(metric, record, compile, convert, run_heapscope, tmp_path):
    recording = record(compile("strings.c"))
    first = tmp_path / f"first.{metric}.folded"
    assert run_heapscope("export", "--format", "folded", "--metric", metric, "-o", first, recording).returncode == 0
    again = run_heapscope("export", "--format", "folded", "-o", "-", convert(first))
    assert again.returncode == 0 and again.stdout == first.read_text() and first.stat().st_size > 100


def test_folded_refused(refused):
    assert "line 2 does not end in a whole number" in refused("main;f 10\nmain;g 1.5\n")
    assert "line 2 does not end in a whole number" in refused("main;f 10\nmain;g\n")
    assert "line 1 does not end in a whole number" in refused("main;f 99999999999999999999\n", "--format", "folded")
    assert "difference of two profiles" in refused("main;f 10 20\nmain;g 1 2\n")
    assert "larger than a recording can hold" in refused(f"main;f {2**63 - 1}\nmain;g 1\n")


def test_a_number_in_a_name(convert, print_json):
    document = print_json(convert("main;loop 3 10\nmain;g 5\n"))
    assert functions(document, "allocations") == {"main": 15, "loop 3": 10, "g": 5}


# ---- the command --------------------------------------------------------------------------------------------------------

def test_other_files(refused, record, compile):
    assert "none of the formats" in refused("Hello, world\n")
    assert "none of the formats" in refused(bytes(range(256)))
    assert "is empty" in refused("")
    assert "recording of heapscope already" in refused(pathlib.Path(record(compile("zero.c"))).read_bytes())
    assert "perf script" in refused(b"PERFILE2" + bytes(100))
    assert "zstd file is damaged" in refused(b"\x28\xb5\x2f\xfd" + b"\xff" * 50)
    assert "gzip file is damaged" in refused(b"\x1f\x8b" + b"\xff" * 50)


def test_names_and_usage(run_heapscope, tmp_path):
    file = tmp_path / "heaptrack.made.42.gz"
    file.write_bytes(gzip.compress(HEAPTRACK.encode()))
    done = run_heapscope("import", file, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "heaptrack.made.42.hs.gz").exists()
    assert "next: heapscope print heaptrack.made.42.hs.gz" in done.stderr
    done = run_heapscope("import", file, cwd=tmp_path)
    assert done.returncode == 2 and "is there already" in done.stderr
    done = run_heapscope("import", "-", "-o", "-", input=HEAPTRACK, binary=True)
    assert done.returncode == 0 and gzip.decompress(done.stdout) == contents(tmp_path / "heaptrack.made.42.hs.gz")
    assert run_heapscope("import", "-", input=HEAPTRACK).returncode == 2
    assert run_heapscope("import").returncode == 2
    done = run_heapscope("import", "--format", "heaptrak", file)
    assert done.returncode == 2 and "did you mean heaptrack" in done.stderr
    done = run_heapscope("import", "--metric", "peek", file, "-o", tmp_path / "x")
    assert done.returncode == 2 and "did you mean peak" in done.stderr
    done = run_heapscope("import", tmp_path / "nothing", "-o", tmp_path / "x")
    assert done.returncode == 1 and "No such file" in done.stderr
    done = run_heapscope("import", tmp_path, "-o", tmp_path / "x")
    assert done.returncode == 1 and "is a directory" in done.stderr


def test_diff(convert, run_heapscope, tmp_path):
    old = convert(CPU).rename(tmp_path / "old.hs.gz")
    new = convert(CPU.replace("g 20", "g 50").replace("f(int, char) 10", "f(int, char) 4")).rename(tmp_path / "new.hs.gz")
    document = json.loads(run_heapscope("diff", "--json", old, new).stdout)
    assert document["sort"] == "calls"
    assert {site["frames"][0]["function"]: (site["kind"], site["old"]["allocations"], site["new"]["allocations"])
            for site in document["sites"]} == {"g": ("grew", 27, 57), "f(int, char)": ("shrank", 10, 4),
                                               "malloc": ("same", 5, 5)}
    assert document["old"]["totals"]["peak_bytes"] is None and document["work"] is None
    text = run_heapscope("diff", old, new).stdout
    assert "GREW BY SAMPLES" in text and "work:" not in text
    heap = convert(HEAPTRACK)
    done = run_heapscope("diff", old, heap)
    assert done.returncode == 1 and "cannot be compared" in done.stderr
    done = run_heapscope("diff", "--sort", "moved", heap, heap)
    assert done.returncode == 1 and "not known of both" in done.stderr


def test_diff_of_two_tools(convert, run_heapscope, tmp_path):
    """DHAT tells no modules: then they do not count, and functions are found all the same."""
    rust = json.loads(json.dumps(RUST))
    rust["ftbl"] = ["[root]", "0x1: malloc (in /usr/lib/vg.so)", "0x2: keep (a.cc:20)", "0x2: outer (a.cc:30)", "0x3: g (b.c:1)"]
    old = convert(json.dumps(rust)).rename(tmp_path / "old.hs.gz")
    document = json.loads(run_heapscope("diff", "--json", old, convert(HEAPTRACK)).stdout)
    keep = next(site for site in document["sites"] if site["frames"] and site["frames"][0]["function"] == "keep")
    assert (keep["old"]["peak_bytes"], keep["new"]["peak_bytes"]) == (200, 3000)


def test_exports_of_what_is_unknown(convert, run_heapscope, tmp_path):
    rust = convert(json.dumps({**RUST, "tu": "instrs"}))
    for exporter, missing in (("massif", "events"), ("dhat", "lifetime_us")):
        done = run_heapscope("export", "--format", exporter, "-o", tmp_path / "x", rust)
        assert done.returncode == 1 and f'needs "{missing}"' in done.stderr
        assert not (tmp_path / "x").exists()
    done = run_heapscope("export", "--format", "folded", "--metric", "temporary", "-o", "-", rust)
    assert done.returncode == 1 and 'needs "temporary"' in done.stderr
    done = run_heapscope("export", "--format", "speedscope", "-o", "-", rust)
    assert [profile["name"] for profile in json.loads(done.stdout)["profiles"]] == [
        "Live at the peak", "Allocated", "Allocation calls", "Live at the end"]
    done = run_heapscope("export", "--format", "callgrind", "-o", "-", rust)
    assert "events: Peak PeakBlocks Allocated Calls Live LiveBlocks\n" in done.stdout
