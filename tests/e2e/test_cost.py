"""Instructions on the path of an event, counted by callgrind: they repeat exactly, so a change that makes every event dearer shows
here, on however noisy a machine. A limit is what was counted when it was set, and a few per cent for other compilers; whoever
makes something cheaper lowers it."""

import re
import subprocess
import sys

import pytest

from conftest import clean_environment


COUNTED = "--toggle-collect=counted_*"  # only functions of that name, and what they call


def instructions(program, arguments, tmp_path, *options):
    """Of the whole program, in all its threads; or what the options leave."""
    out = tmp_path / "callgrind.out"
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options, program,
                           *map(str, arguments)], env=clean_environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])


# instructions an allocation and a free, hooks' part included but for the call of the real allocator
@pytest.mark.parametrize("what, most", [("same", 396), ("churn", 570), ("deep", 650)])
def test_shim(build, tmp_path, what, most):
    program = build / "tests" / "unit" / "preload" / "cost"
    few, many = (instructions(program, [what, pairs], tmp_path, COUNTED) for pairs in (2000, 12000))
    a_pair = (many - few) / 10000  # the first ones compile rules and make nodes
    print(f"{what}: {a_pair:.1f} instructions a pair")
    assert most / 2 < a_pair <= most


def test_collector(build, tmp_path):
    program = build / "tests" / "unit" / "record" / "cost"
    few, many = (instructions(program, [events], tmp_path, COUNTED) for events in (10240, 51200))
    an_event = (many - few) / 40960
    print(f"{an_event:.1f} instructions an event")
    assert 100 < an_event <= 188


def wide_recording(build, tmp_path, sites):
    """Of sites of ten frames and nine events, one block of each live at the end."""
    recording = tmp_path / f"{sites}.hs.gz"
    subprocess.run([build / "tests" / "unit" / "profile" / "bench_replay", "make", "wide", recording, str(sites), "1"], check=True)
    return recording


# instructions a site, from the file to the output
@pytest.mark.parametrize("what, most", [("print", 5000), ("json", 11000), ("dhat", 9500), ("speedscope", 9000)])
def test_sites(build, tmp_path, what, most):
    command = ["print"] if what == "print" else ["export", "--format", what, "-o", tmp_path / "out"]
    counts = []
    for sites in (2000, 12000):
        recording = wide_recording(build, tmp_path, sites)
        counts.append(instructions(build / "analyzer" / "cli" / "heapscope", [*command, recording], tmp_path))
    a_site = (counts[1] - counts[0]) / 10000
    print(f"{what}: {a_site:.0f} instructions a site")
    assert most / 2 < a_site <= most


# A process has at least the resident size of the one that started it, which is better not this large one.
PEAK_KIB = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def test_memory_of_sites(build, tmp_path):
    """At the least: how many events are read ahead, and what is given back before the rest is needed, is a matter of luck."""
    peaks = []
    for sites in (20000, 120000):
        command = [build / "analyzer" / "cli" / "heapscope", "print", wide_recording(build, tmp_path, sites)]
        runs = [subprocess.run([sys.executable, "-c", PEAK_KIB, *command], env=clean_environment(), capture_output=True, text=True,
                               check=True) for _ in range(7)]
        peaks.append(1024 * min(int(done.stdout) for done in runs))
    a_site = (peaks[1] - peaks[0]) / 100000
    print(f"{a_site:.0f} bytes resident a site")
    assert 250 < a_site <= 420
