"""The exports but DHAT's: each is read by its real reader where there is one, the numbers are compared with
those known by hand (made_recording) and, on a real program, with `print --json`."""

import json
import os
import re
import subprocess

import pytest

import made_recording
from conftest import clean_environment

METRICS = {"peak": "peak_bytes", "allocated": "allocated_bytes", "calls": "allocations", "temporary": "temporary",
           "leaked": "live_bytes", "moved": "moved_bytes"}
# what a format gives a meaning, and what no line of text can hold
HOSTILE = ["a;b\nsnapshot=0", 'c "\\ <d># 1', b"e\xff (in 7) 8"]


@pytest.fixture(scope="module")
def server(build, run_heapscope, tmp_path_factory):
    """A recording of examples/server: threads, inlined functions, reallocs, leaks."""
    path = tmp_path_factory.mktemp("exports") / "server.hs.gz"
    done = run_heapscope("run", "-o", path, "--", build / "examples" / "server", "--once")
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made_recording.whole())
    return path


@pytest.fixture
def hostile(tmp_path):
    path = tmp_path / "hostile.hs.gz"
    path.write_bytes(made_recording.header(command=["a\nb", "# c"]) + made_recording.modules() +
                     made_recording.nodes() + made_recording.events() + made_recording.samples() +
                     made_recording.threads() + made_recording.symbols(HOSTILE, "/s\n/m#.c") +
                     made_recording.footer())
    return path


@pytest.fixture
def nothing(tmp_path):
    """A program that never allocated."""
    path = tmp_path / "nothing.hs.gz"
    zeros = dict.fromkeys(["events", "allocations", "frees", "allocated_bytes", "peak_bytes", "peak_us", "live_bytes",
                           "live_blocks", "temporary"], 0)
    path.write_bytes(made_recording.header() + made_recording.modules() + made_recording.footer(**zeros))
    return path


@pytest.fixture
def export(run_heapscope, tmp_path):
    """export(format, recording, *options) -> path of the exported file."""

    def run(name, recording, *options):
        path = tmp_path / f"out.{name}"
        done = run_heapscope("export", "--format", name, *options, "-o", path, recording)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        return path

    return run


def check_output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                          env=clean_environment())
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_metric_is_for_formats_with_one(run_heapscope, made, tmp_path):
    done = run_heapscope("export", "-f", "folded", made, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "made.peak.folded").exists()
    done = run_heapscope("export", "-f", "folded", "--metric", "calls", made, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "made.calls.folded").exists()
    done = run_heapscope("export", "-f", "folded", "--metric", "peek", made)
    assert done.returncode == 2 and 'unknown metric "peek"; did you mean peak?' in done.stderr
    done = run_heapscope("export", "-f", "dhat", "--metric", "peak", made)
    assert done.returncode == 2 and "dhat holds more" in done.stderr


# ---- folded ----------------------------------------------------------------------------------------------


def read_folded(path):
    """{stack, a tuple, outermost first: number}; the rules of flamegraph.pl, inferno, speedscope."""
    stacks = {}
    lines = path.read_bytes().decode("utf-8").splitlines(keepends=True)
    for line in lines:
        stack, number = re.fullmatch(r"([^\n;]+(?:;[^\n;]+)*) (\d+)\n", line).groups()
        assert not re.search(r" [\d.]+$", stack), "reads as a difference"
        stack = tuple(stack.split(";"))
        assert stack not in stacks and int(number) > 0
        stacks[stack] = int(number)
    assert [line.encode() for line in lines] == sorted(line.encode() for line in lines)
    return stacks


def test_folded_values(export, made):
    assert read_folded(export("folded", made)) == {("main", "keep"): 3000}
    assert read_folded(export("folded", made, "--metric", "allocated")) == {("main", "keep"): 4000, ("main", "drop"): 500}
    assert read_folded(export("folded", made, "--metric", "calls")) == {("main", "keep"): 2, ("main", "drop"): 1}
    assert read_folded(export("folded", made, "--metric", "temporary")) == {("main", "drop"): 1}
    assert read_folded(export("folded", made, "--metric", "leaked")) == {("main", "keep"): 3000}
    assert read_folded(export("folded", made, "--metric", "moved")) == {("main", "keep"): 1000}


@pytest.mark.parametrize("metric", METRICS)
def test_folded_totals(export, print_json, server, metric):
    totals = print_json(server)["totals"]
    for options in [], ["--raw"]:
        stacks = read_folded(export("folded", server, "--metric", metric, *options))
        assert sum(stacks.values()) == totals[METRICS[metric]]


def test_folded_hostile_names(export, hostile, nothing):
    stacks = read_folded(export("folded", hostile, "--metric", "allocated"))
    assert stacks == {("a:b snapshot=0", 'c "\\ <d>#_1'): 4000, ("a:b snapshot=0", "e\ufffd (in 7)_8"): 500}
    assert export("folded", nothing).read_bytes() == b""


# ---- speedscope ------------------------------------------------------------------------------------------


def read_speedscope(path):
    """{profile name: {stack of frames, outermost first: weight}}, after the checks of speedscope's schema
    (file-format-spec.ts) and of its importer, which throws when lengths differ."""
    document = json.loads(path.read_text("utf-8"))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert re.fullmatch(r"heapscope@\d+\.\d+.*", document["exporter"]) and isinstance(document["name"], str)
    assert set(document) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    frames = document["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"} and frame["name"]
        assert isinstance(frame["name"], str) and isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 1), int) and frame.get("line", 1) > 0
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    profiles = {}
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] in ("bytes", "none")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        stacks = profiles[profile["name"]] = {}
        for sample, weight in zip(profile["samples"], profile["weights"]):
            stack = tuple((frames[index]["name"], frames[index].get("file"), frames[index].get("line"))
                          for index in sample)
            assert stack not in stacks and weight > 0
            stacks[stack] = weight
    return profiles


def test_speedscope_values(export, made):
    main, keep, drop = [(name, "/srv/made.c", line) for name, line in (("main", 10), ("keep", 20), ("drop", 30))]
    assert read_speedscope(export("speedscope", made)) == {
        "Live at the peak": {(main, keep): 3000},
        "Allocated": {(main, keep): 4000, (main, drop): 500},
        "Allocation calls": {(main, keep): 2, (main, drop): 1},
        "Temporary allocations": {(main, drop): 1},
        "Live at the end": {(main, keep): 3000},
        "Moved by realloc": {(main, keep): 1000},
    }


def test_speedscope_totals(export, print_json, server):
    document = print_json(server)
    profiles = read_speedscope(export("speedscope", server))
    assert [sum(stacks.values()) for stacks in profiles.values()] == \
        [document["totals"][key] for key in METRICS.values()]
    sites = {}
    for site in document["sites"]:
        stack = tuple((frame["function"], frame["file"], frame["line"]) for frame in reversed(site["frames"]))
        if site["peak_bytes"]:
            sites[stack] = site["peak_bytes"]
    assert profiles["Live at the peak"] == sites


def test_speedscope_hostile_names(export, hostile, nothing):
    profiles = read_speedscope(export("speedscope", hostile))
    main, keep = [(name, "/s\n/m#.c", line) for name, line in (("a;b snapshot=0", 10), ('c "\\ <d># 1', 20))]
    assert profiles["Live at the peak"] == {(main, keep): 3000}
    assert read_speedscope(export("speedscope", nothing)) == {"Live at the peak": {}}


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


def test_pprof_values(export, pprof, made):
    head, types, stacks, mappings = read_raw(pprof("-raw", export("pprof", made)))
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


def test_binary_goes_to_a_pipe_not_a_terminal(heapscope, run_heapscope, made, export):
    command = [str(heapscope), "export", "-f", "pprof", "-o", "-", str(made)]
    master, terminal = os.openpty()
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, env=clean_environment(),
                          timeout=60)
    os.close(terminal)
    os.close(master)
    assert done.returncode == 2 and "pprof is binary and standard output is a terminal" in done.stderr
    done = run_heapscope(*command[1:], binary=True)
    assert done.returncode == 0 and done.stdout == export("pprof", made).read_bytes() and done.stdout[:2] == b"\x1f\x8b"
