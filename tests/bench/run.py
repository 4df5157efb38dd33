"""./dev bench: what recording costs, against native and heaptrack, in one run.

    ./dev bench                       all workloads, 5 rounds
    ./dev bench -n 3 churn-1 jq       some of them

Each round runs every tool once on the same work, in turn, so that the machine's moods hit all alike; the table shows
medians. `wall`: from start to prompt, naming of addresses included. `cpu`: of the target, the recorder and
their helpers together. `added` and `x`: what the tool adds to native, and heapscope's part of what heaptrack adds.
"""

import argparse
import dataclasses
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

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("HEAPSCOPE_BUILD", ROOT / "build"))
HEAPSCOPE = BUILD / "analyzer" / "cli" / "heapscope"

CXX_SOURCE = """#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main() {
	std::map<std::string, std::vector<int>> m;
	std::unordered_map<std::string, std::function<int(int)>> f;
	for (int i = 0; i < 100; i++) { m[std::to_string(i)].push_back(i); f[std::to_string(i)] = [i](int x) { return x + i; }; }
	std::regex r("a.*b");
	std::cout << m.size() + f.size() << std::regex_match("ab", r) << std::endl;
}
"""


@dataclasses.dataclass
class Workload:
    name: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)


def prepare(folder):
    """Builds the programs and their input."""
    churn, logparse = folder / "churn", folder / "logparse"
    subprocess.run(["gcc", "-O2", "-g", "-pthread", HERE / "churn.c", "-o", churn], check=True)
    subprocess.run(["rustc", "-O", "-g", HERE / "logparse.rs", "-o", logparse], check=True)
    document = folder / "input.json"
    document.write_text(json.dumps([{"id": i, "name": f"name {i}", "tags": ["a", "b", str(i)], "score": i / 7}
                                    for i in range(120_000)]))
    source = folder / "unit.cc"
    source.write_text(CXX_SOURCE)
    sql = ("create table t(a integer, b text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) "
           "insert into t select i, 'row ' || i from n; create index x on t(b); select count(*), max(b) from t;")
    return [
        Workload("churn-1", [churn, "1", "6000000", "10"]),
        Workload("churn-1-deep", [churn, "1", "6000000", "40"]),
        Workload("churn-1-deeper", [churn, "1", "6000000", "100"]),
        Workload("churn-2", [churn, "2", "3000000", "10"]),
        Workload("logparse-1", [logparse, "owned", "300000", "1"]),
        Workload("logparse-2", [logparse, "owned", "150000", "2"]),
        Workload("jq", ["jq", "length", document]),
        Workload("sqlite", ["sqlite3", ":memory:", sql]),
        Workload("python", ["/usr/bin/python3", "-c", f"import json; print(len(json.load(open('{document}'))))"],
                 {"PYTHONMALLOC": "malloc"}),
        Workload("clang", ["clang++", "-O1", "-c", source, "-o", folder / "unit.o"]),
    ]


def run(command, environment, folder):
    """Wall and CPU seconds (children included) of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run([os.fspath(part) for part in command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env={**os.environ, **environment})
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"bench: {command} ended with {done.returncode}:\n{done.stderr.decode(errors='replace')}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(workload, tools, rounds, folder):
    """{tool: [(wall, cpu), ...]} and the files that heaptrack and heapscope wrote."""
    files = {"heaptrack": folder / "bench.heaptrack.zst", "heapscope": folder / "bench.hs.gz"}
    prefix = {
        "native": [],
        "heaptrack": ["heaptrack", "-o", folder / "bench.heaptrack"],
        "heapscope": [HEAPSCOPE, "run", "-q", "-o", files["heapscope"], "--"],
    }
    results = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            results[tool].append(run(prefix[tool] + workload.command, workload.environment, folder))
    return results, files


def median(results, part):
    return statistics.median(result[part] for result in results)


def report(workload, results, files, folder):
    native = median(results["native"], 0), median(results["native"], 1)
    added = {tool: [median(results[tool], part) - native[part] for part in (0, 1)] for tool in results if tool != "native"}
    line = f"{workload.name:15} {native[0]:7.3f} s"
    for tool, (wall, cpu) in added.items():
        line += f" | {tool} +{wall:6.3f} s wall +{cpu:6.3f} s cpu"
    if "heaptrack" in added:
        line += f" | x {added['heapscope'][0] / added['heaptrack'][0]:.2f} wall {added['heapscope'][1] / added['heaptrack'][1]:.2f} cpu"
    document = json.loads(subprocess.run([HEAPSCOPE, "print", "--json", files["heapscope"]], check=True, capture_output=True).stdout)
    events = document["totals"]["events"]
    start = time.monotonic()
    subprocess.run([HEAPSCOPE, "print", files["heapscope"]], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    sizes = [f"{tool} {files[tool].stat().st_size / 1e6:.2f} MB" for tool in added if files[tool].exists()]
    print(line)
    print(f"{'':15} {events:,} events, file: {', '.join(sizes)}; print {seconds:.2f} s ({events / seconds / 1e6:.0f} M events/s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--rounds", type=int, default=5)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    tools = ["native", "heaptrack", "heapscope"] if shutil.which("heaptrack") else ["native", "heapscope"]
    with tempfile.TemporaryDirectory(prefix="heapscope-bench.") as name:
        folder = pathlib.Path(name)
        workloads = prepare(folder)
        unknown = set(options.workloads) - {workload.name for workload in workloads}
        if unknown:
            sys.exit(f"bench: no workload {', '.join(sorted(unknown))}; there are {', '.join(w.name for w in workloads)}")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {options.rounds} rounds")
        for workload in workloads:
            if not options.workloads or workload.name in options.workloads:
                report(workload, *measure(workload, tools, options.rounds, folder), folder)


main()
