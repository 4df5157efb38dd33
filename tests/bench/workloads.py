"""What `./dev bench` runs, built or made in a folder that goes away: real work, small enough to repeat."""

import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent

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

SQL = """create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) insert into t select i, 'row ' || i from n;
create index x on t(b);
select count(*), max(b) from t;"""


@dataclasses.dataclass
class Workload:
    """`name`: on the command line. `target`: the name of the process that the tools watch, as the kernel cuts it."""
    name: str
    command: list
    environment: dict = dataclasses.field(default_factory=dict)

    @property
    def target(self):
        return pathlib.Path(os.fspath(self.command[0])).name[:15]


class RedisWorkload(Workload):
    """A server under redis-benchmark: the figure is requests a second, not time."""
    requests = 200_000

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        super().__init__("redis", [shutil.which("redis-server"), "--port", self.port, "--bind", "127.0.0.1", "--save", "", "--appendonly",
                                   "no", "--dir", folder, "--daemonize", "no"])

    def _answers(self):
        done = subprocess.run(["redis-cli", "-p", str(self.port), "ping"], capture_output=True, text=True)
        return done.stdout.strip() == "PONG"

    def drive(self, server):
        """Requests a second, of SET and GET together, by one client with 20 connections. Ends the server."""
        deadline = time.monotonic() + 30
        while not self._answers():
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("redis-server does not answer")
            time.sleep(0.02)
        start = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", "set,get", "-n", str(self.requests), "-c", "20", "-d", "100", "-r",
                        "100000", "-q"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        subprocess.run(["redis-cli", "-p", str(self.port), "shutdown", "nosave"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return 2 * self.requests / seconds


def prepare(folder):
    """Builds the programs and makes their input; returns the workloads."""
    churn, pool, logparse = folder / "churn", folder / "pool", folder / "logparse"
    for source, program in (("churn.c", churn), ("pool.c", pool)):
        subprocess.run(["gcc", "-O2", "-g", "-pthread", HERE / source, "-o", program], check=True)
    subprocess.run(["rustc", "-O", "-g", HERE / "logparse.rs", "-o", logparse], check=True)
    document = folder / "input.json"
    document.write_text(json.dumps([{"id": i, "name": f"name {i}", "tags": ["a", "b", str(i)], "score": i / 7}
                                    for i in range(120_000)]))
    source = folder / "unit.cc"
    source.write_text(CXX_SOURCE)
    workloads = [
        Workload("churn-1", [churn, 1, 6_000_000, 10]),
        Workload("churn-1-deep", [churn, 1, 3_000_000, 40]),
        Workload("churn-1-deeper", [churn, 1, 3_000_000, 100]),
        Workload("churn-2", [churn, 2, 3_000_000, 10]),
        Workload("logparse-1", [logparse, "owned", 300_000, 1]),
        Workload("logparse-2", [logparse, "owned", 150_000, 2]),
        Workload("jq", [shutil.which("jq"), "length", document]),
        Workload("sqlite", [shutil.which("sqlite3"), ":memory:", SQL]),
        Workload("python", ["/usr/bin/python3", "-c", f"import json; print(len(json.load(open('{document}'))))"],
                 {"PYTHONMALLOC": "malloc"}),
        Workload("clang", [shutil.which("clang++"), "-O1", "-c", source, "-o", folder / "unit.o"]),
        Workload("pool", [pool, 2, 150_000]),
        RedisWorkload(folder),
    ]
    return [workload for workload in workloads if workload.command[0]]
