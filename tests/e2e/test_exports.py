"""The exports but DHAT's: each is read by its real reader where there is one, the numbers are compared with
those known by hand (made_recording) and, on a real program, with `print --json`."""

import json
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
