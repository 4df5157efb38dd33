"""./dev bench: what recording costs, against native and heaptrack, in one run.

    ./dev bench                       all workloads, 5 rounds
    ./dev bench -n 3 churn-1 jq       some of them

Each round runs every tool once on the same work, in turn, so that the machine's moods hit all alike; the tables show
medians. `wall`: from start to prompt, naming of addresses included. `cpu`: of the target, the recorder and their helpers
together. `x`: heapscope's part of what heaptrack adds to native. One more run of each tool, which is not timed, is looked
at every few milliseconds: for the CPU time of the target alone, the memory of each, the time from the target's end to
the prompt.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from watch import Watch
from workloads import RedisWorkload, prepare

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HEAPSCOPE_BUILD", ROOT / "build"))
HEAPSCOPE = BUILD / "analyzer" / "cli" / "heapscope"


class Tool:
    def __init__(self, name, prefix, file=None):
        self.name, self.prefix, self.file = name, prefix, file

    def start(self, workload, folder):
        command = [os.fspath(part) if isinstance(part, os.PathLike) else str(part) for part in [*self.prefix, *workload.command]]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env={**os.environ, **workload.environment})


def tools_in(folder):
    heaptrack, heapscope = folder / "bench.heaptrack", folder / "bench.hs.gz"
    tools = [Tool("native", [])]
    if shutil.which("heaptrack"):
        tools.append(Tool("heaptrack", ["heaptrack", "-o", heaptrack], heaptrack.with_suffix(".heaptrack.zst")))
    return [*tools, Tool("heapscope", [HEAPSCOPE, "run", "-q", "-o", heapscope, "--"], heapscope)]


def finish(process, workload):
    error = process.stderr.read()
    if process.wait() != 0:
        sys.exit(f"bench: {workload.command} ended with {process.returncode}:\n{error.decode(errors='replace')}")


def run(tool, workload, folder):
    """Wall and CPU seconds (children included), and requests a second or None."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = tool.start(workload, folder)
    rate = workload.drive(process) if isinstance(workload, RedisWorkload) else None
    finish(process, workload)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, rate


def watch(tool, workload, folder):
    process = tool.start(workload, folder)
    observer = Watch(process.pid, workload.target)
    observer.start()
    if isinstance(workload, RedisWorkload):
        workload.drive(process)
    finish(process, workload)
    return observer.end()


def timed(command, rounds):
    """Seconds (median) and peak RSS in bytes of a command that reads a file: looked at in a run of its own."""
    times = []
    for _ in range(rounds):
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.monotonic() - start)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    observer = Watch(process.pid, pathlib.Path(command[0]).name[:15])
    observer.start()
    process.wait()
    return statistics.median(times), observer.end().target_rss


def print_costs(workload, results):
    """What the tools add to native."""
    def median(tool, part):
        return statistics.median(result[part] for result in results[tool])

    if isinstance(workload, RedisWorkload):
        native = median("native", 2)
        kept = ", ".join(f"{tool} {median(tool, 2) / native:.0%}" for tool in results if tool != "native")
        print(f"{workload.name:15} {native:,.0f} requests a second; kept: {kept}")
        return
    native = [median("native", part) for part in (0, 1)]
    added = {tool: [median(tool, part) - native[part] for part in (0, 1)] for tool in results if tool != "native"}
    line = f"{workload.name:15} {native[0]:7.3f} s"
    for tool, (wall, cpu) in added.items():
        line += f" | {tool} +{wall:6.3f} s wall +{cpu:6.3f} s cpu"
    if "heaptrack" in added:
        line += f" | x {added['heapscope'][0] / added['heaptrack'][0]:.3f} wall {added['heapscope'][1] / added['heaptrack'][1]:.3f} cpu"
    print(line)


def print_watched(seen):
    native = seen["native"]
    for name, one in seen.items():
        if name != "native":
            print(f"{'':15} {name}: target {one.target_cpu:.2f} s cpu, others {one.other_cpu:.2f} s; RSS of the target "
                  f"+{(one.target_rss - native.target_rss) / 1e6:.1f} MB, of the largest other {one.other_rss / 1e6:.1f} MB; "
                  f"{one.after_end * 1000:.0f} ms from the target's end to the prompt")


def print_files(tools):
    document = json.loads(subprocess.run([HEAPSCOPE, "print", "--json", tools[-1].file], check=True, capture_output=True).stdout)
    events = document["totals"]["events"]
    sizes = [f"{tool.name} {tool.file.stat().st_size / 1e6:.2f} MB ({tool.file.stat().st_size / events:.2f} bytes an event)"
             for tool in tools if tool.file and tool.file.exists()]
    seconds, rss = timed([HEAPSCOPE, "print", tools[-1].file], 9)
    line = f"print {seconds:.3f} s ({events / seconds / 1e6:.0f} M events/s) in {rss / 1e6:.0f} MB"
    if shutil.which("heaptrack_print") and len(tools) == 3 and tools[1].file.exists():
        theirs, their_rss = timed(["heaptrack_print", tools[1].file], 1)
        line += f"; heaptrack_print {theirs:.2f} s in {their_rss / 1e6:.0f} MB"
    print(f"{'':15} {events:,} events; file: {', '.join(sizes)}")
    print(f"{'':15} {line}", flush=True)


def bench(workload, rounds, folder):
    tools = tools_in(folder)
    results = {tool.name: [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            results[tool.name].append(run(tool, workload, folder))
    print_costs(workload, results)
    print_watched({tool.name: watch(tool, workload, folder) for tool in tools})
    print_files(tools)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heapscope-bench.") as name:
        folder = pathlib.Path(name)
        workloads = prepare(folder)
        unknown = set(options.workloads) - {workload.name for workload in workloads}
        if unknown:
            sys.exit(f"bench: no workload {', '.join(sorted(unknown))}; there are {', '.join(w.name for w in workloads)}")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {options.rounds} rounds")
        for workload in workloads:
            if not options.workloads or workload.name in options.workloads:
                bench(workload, options.rounds, folder)


main()
