"""Many events, many live blocks, long idle times: the memory of the program and of the collector follows neither the
events nor the time, the file follows nothing but the events, and reading it takes memory for what is live.

Each test runs in small, and with --long in the size that its name promises."""

import json
import os
import pathlib
import subprocess
import sys
import time
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

from conftest import clean_environment  # noqa: E402
import recording as recording_format  # noqa: E402
import reliability  # noqa: E402

MIB = 1 << 20
POOL = 24 * MIB  # chunks: the pool doubles until 8 MiB of them are full, and others are in use; and the rest of the region


def small_and_long(names, small, large):
    return pytest.mark.parametrize(names, [pytest.param(*small), pytest.param(*large, marks=pytest.mark.long)])


@pytest.fixture(scope="module")
def endurance(tmp_path_factory):
    return reliability.build(tmp_path_factory.mktemp("endurance"), "endurance.c")


def memory(pid):
    """{"RssAnon": bytes, "RssShmem": bytes, ...} of a process."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss")}


def cpu_ns(pid):
    """Time that the process's threads have spent on a CPU."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


class Run:
    """A recording under way of a program that stops after each stage."""

    def __init__(self, heapscope, output, program, *arguments):
        self.output = output
        self.process = subprocess.Popen([heapscope, "run", "-q", "-o", output, "--", program, *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
        self.collector = self.process.pid

    def stage(self):
        """Waits for the end of a stage, and until the collector has written all that there is."""
        assert self.process.stdout.readline() == b"stage\n"
        children = pathlib.Path(f"/proc/{self.collector}/task/{self.collector}/children").read_text().split()
        self.target = int(children[0])
        deadline, size, since = time.monotonic() + 300, -1, time.monotonic()
        # It writes at least twice a second while there is something to write.
        while time.monotonic() - since < 0.8:
            assert time.monotonic() < deadline, "the collector does not come to an end"
            if self.size() != size:
                size, since = self.size(), time.monotonic()
            time.sleep(0.05)
        return size

    def size(self):
        return self.output.stat().st_size if self.output.exists() else 0

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def finish(self):
        assert self.process.wait(timeout=300) == 0
        self.process.stdout.close()
        self.process.stdin.close()


def deflated_sizes(data):
    """What the times of the events of a piece of a file take, deflated, and all else of them. How the former shrink depends on what else
    the machine does; so does whether the recorder takes the time to deflate."""
    times = others = 0
    for kind, _, payload in recording_format.members(data):
        if kind == recording_format.EVENTS:
            cursor = recording_format.Cursor(payload)
            for _ in range(5):
                cursor.varint()
            columns = [column.data for column in recording_format.event_columns(cursor)[0]]
            times += len(zlib.compress(columns.pop(recording_format.TIME_COLUMN), 1))
            others += len(zlib.compress(b"".join(columns), 1))
    return times, others


def print_json(heapscope, file):
    """The report, and the most memory that it took."""
    process = subprocess.Popen([heapscope, "print", "--json", file], stdout=subprocess.PIPE, env=clean_environment())
    document = json.loads(process.stdout.read())
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return document, usage.ru_maxrss * 1024


def check_flat(before, after, what):
    """Own memory stays what it is, the shared region within its pool."""
    assert after["RssAnon"] <= before["RssAnon"] + 2 * MIB, (what, before, after)
    assert after["RssShmem"] <= POOL, (what, after)


@small_and_long("events", [4_000_000], [100_000_000])
def test_hundred_million_events(heapscope, endurance, tmp_path, events):
    run = Run(heapscope, tmp_path / "churn.hs.gz", endurance, "churn", events, 5)
    sizes, collector, target = [], [], []
    for _ in range(5):
        sizes.append(run.stage())
        collector.append(memory(run.collector))
        target.append(memory(run.target))
        run.go_on()
    run.finish()
    check_flat(collector[0], collector[4], "collector")
    check_flat(target[0], target[4], "target")
    # Each fifth costs the same.
    data = run.output.read_bytes()
    fifths = [deflated_sizes(data[before:after]) for before, after in zip([0] + sizes, sizes)]
    for _, fifth in fifths:
        assert fifth == pytest.approx(fifths[0][1], rel=0.02, abs=1000), fifths
    assert sum(times for times, _ in fifths) < events / 50 + 10_000, fifths  # 0.16 bits an event at most
    document, most = print_json(heapscope, run.output)
    reliability.check_complete(document)
    totals = document["totals"]
    turns = events // 2
    assert (totals["events"], totals["allocations"], totals["live_blocks"]) == (2 * turns, turns, 0)
    assert totals["allocated_bytes"] == sum(turns // 512 * (16 + size) for size in range(512)) + \
        sum(16 + i * 7919 % 512 for i in range(turns // 512 * 512, turns))
    assert most < 96 * MIB, most


@small_and_long("blocks", [500_000], [10_000_000])
def test_ten_million_live_blocks(heapscope, endurance, tmp_path, blocks):
    run = Run(heapscope, tmp_path / "live.hs.gz", endurance, "live", blocks)
    run.stage()
    held = memory(run.collector)["RssAnon"]
    run.go_on()
    run.stage()
    run.go_on()
    run.finish()
    # A table of 40 bytes a block that doubles at 5/8.
    assert held < 144 * blocks + 32 * MIB, held
    document, most = print_json(heapscope, run.output)
    reliability.check_complete(document)
    totals = document["totals"]
    peak = sum(16 + i % 32 for i in range(blocks))
    assert (totals["peak_bytes"], totals["peak_blocks"]) == (peak, blocks)
    assert totals["allocations"] == blocks and totals["allocated_bytes"] == peak
    assert totals["live_blocks"] == blocks // 10
    assert totals["live_bytes"] == sum(16 + i % 32 for i in range(0, blocks, 10))
    assert most < 80 * blocks + 96 * MIB, most


@small_and_long("bursts, seconds", [3, 1], [12, 5])
def test_an_hour_in_little(heapscope, endurance, tmp_path, bursts, seconds):
    run = Run(heapscope, tmp_path / "bursts.hs.gz", endurance, "bursts", bursts)
    collector, target = [], []
    for _ in range(bursts):
        size = run.stage()
        used, idle, begin = cpu_ns(run.collector), cpu_ns(run.target), time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - begin
        assert cpu_ns(run.target) == idle
        assert cpu_ns(run.collector) - used < 0.03 * passed * 1e9
        # samples of the RSS, and nothing else
        assert run.size() - size < 4096 * passed
        collector.append(memory(run.collector))
        target.append(memory(run.target))
        run.go_on()
    run.finish()
    check_flat(collector[0], collector[-1], "collector")
    check_flat(target[0], target[-1], "target")
    document, _ = print_json(heapscope, run.output)
    reliability.check_complete(document)
    assert document["totals"]["allocations"] == 20000 * bursts
    assert document["totals"]["temporary"] == 20000 * bursts
    assert document["facts"]["duration_us"] > bursts * seconds * 1_000_000
