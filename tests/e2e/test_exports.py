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
