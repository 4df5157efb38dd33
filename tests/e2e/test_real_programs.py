"""Real programs on real input. Each does what it does without heapscope, and a number known from elsewhere is right."""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402
import recording as recording_format  # noqa: E402
from conftest import clean_environment  # noqa: E402


def native(command, input="", cwd=None, env=None):
    return subprocess.run(list(map(str, command)), input=input, cwd=cwd, env=clean_environment(env), capture_output=True, text=True,
                          timeout=120)


def check_same(recorded, plain):
    """Same output, same exit status; standard error differs by heapscope's own lines only."""
    assert recorded.returncode == plain.returncode
    assert recorded.stdout == plain.stdout
    others = [line for line in recorded.stderr.splitlines() if not line.startswith("heapscope: ")]
    assert others == plain.stderr.splitlines()


def check_dhat(recorded, command, folder, input="", totals=dhat_format.KEYS):
    """Allocations and bytes, in all, at the peak and at the end, as valgrind counts them in the same command."""
    theirs, completed = dhat_format.valgrind(command, folder / "valgrind.json", cwd=folder, environment=clean_environment(),
                                             input=input.encode())
    assert completed.returncode == recorded.returncode, completed.stderr
    ours, _ = recording_format.booked_like_dhat(recording_format.Recording(recorded))
    want = theirs.total()
    assert {key: ours[key] for key in totals} == {key: want[key] for key in totals}


SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, hex(i * 7919) || '-row' from n;
create index tb on t(b);
select count(*), sum(length(b)), min(b), max(b) from t where b like '%3%';
select b, count(*) from t group by substr(b, 1, 2) order by 2 desc, 1 limit 5;
"""


def test_sqlite3(record, tool, tmp_path):
    command = [tool("sqlite3"), "-init", "/dev/null", ":memory:"]
    recorded = record(command, input=SQL)
    check_same(recorded, native(command, input=SQL))
    check_dhat(recorded, command, tmp_path, SQL)


def test_jq(record, tool, tmp_path):
    items = tmp_path / "items.json"
    items.write_text(json.dumps([{"id": i, "name": f"n{i}", "tags": [str(i * j) for j in range(5)]} for i in range(500)]))
    program = "[.[] | select(.id % 7 == 0) | {n: .name, t: (.tags | length)}] | group_by(.n[0:2]) | map(length)"
    command = [tool("jq"), "-c", program, items]
    recorded = record(command, cwd=tmp_path)
    assert recorded.stdout == "[1,15,16,16,16,1,1,3,1,2]\n"
    check_same(recorded, native(command, cwd=tmp_path))
    check_dhat(recorded, command, tmp_path)


def test_jq_that_fails(record, tool):
    """The program's own failure comes through: jq exits with 3 when it cannot compile its program."""
    command = [tool("jq"), ".["]
    recorded = record(command, returncode=3)
    check_same(recorded, native(command))


PYTHON = """
import os, sys
kept = [bytes(5000 + i % 3) for i in range(6000)]
assert sys.getsizeof(kept[0]) == 5033
for i in range(4000):
    bytes(7777)
print(len(kept), flush=True)
if len(sys.argv) > 1:
    os._exit(7)
"""


@pytest.mark.parametrize("leave", [[], ["now"]], ids=["finalised", "_exit"])
def test_python(record, leave):
    """Python tells the size of an object: 33 bytes more than a bytes object holds."""
    command = ["/usr/bin/python3", "-S", "-c", PYTHON, *leave]
    recorded = record(command, env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, returncode=7 if leave else 0)
    assert recorded.stdout == "6000\n"
    replay = recording_format.Recording(recorded).replay()
    assert [replay.sizes[size] for size in (5033, 5034, 5035)] == [2000, 2000, 2000]
    assert replay.sizes[7777 + 33] == 4000
    assert replay.peak_bytes >= 6000 * 5034
    live = replay.live_sizes()
    assert [live.get(size, 0) for size in (5033, 5034, 5035)] == ([2000, 2000, 2000] if leave else [0, 0, 0])
    assert live.get(7777 + 33, 0) == 0
    # Each of the 4000 dies before the next is born.
    assert replay.temporary >= 4000


FIBONACCI = """
template <int N> struct Fib { static constexpr long value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static constexpr long value = 0; };
template <> struct Fib<1> { static constexpr long value = 1; };
"""
CXX = """
#include <map>
#include <string>
#include <vector>
""" + FIBONACCI + """
std::map<std::string, std::vector<long>> table;
long fill(const std::string &name) { table[name].push_back(Fib<70>::value); return table.size(); }
"""


def programs_of(recorded):
    """The recordings of a run: [(program's name, FORMAT.md's reader)]."""
    recordings = [recording_format.Recording(path) for path in recorded.files]
    return [(pathlib.Path(recording.header["program"]).name, recording) for recording in recordings]


def test_gcc(record, tool, tmp_path):
    """gcc runs the compiler and the assembler, as it says itself with -###; the object is the same to the byte."""
    (tmp_path / "unit.cc").write_text(CXX)
    command = [tool("g++"), "-O1", "-g", "-c", "unit.cc", "-o"]
    assert native([*command, "plain.o"], cwd=tmp_path).returncode == 0
    recorded = record([*command, "recorded.o"], cwd=tmp_path)
    assert (tmp_path / "plain.o").read_bytes() == (tmp_path / "recorded.o").read_bytes()
    said = native([*command, "plain.o", "-###"], cwd=tmp_path).stderr.splitlines()
    runs = [pathlib.Path(line.split()[0].strip('"')).name for line in said if line.startswith(" ")]
    assert runs == ["cc1plus", "as"]
    programs = programs_of(recorded)
    driver, *children = [re.sub(r"^x86_64-linux-gnu-|-\d+$", "", name) for name, _ in programs]
    assert driver.startswith("g++") and sorted(children) == ["as", "cc1plus"], programs
    for position, (_, recording) in enumerate(programs):
        # Only its parent learns a process's status: heapscope is the driver's.
        assert recording.footer["end"] in [{"exit": 0}] + position * [{"unknown": True}]
        assert recording.footer["lost_events"] == 0
        replay = recording.replay()
        assert replay.allocations == recording.footer["allocations"] > 0
        assert replay.live_bytes == recording.footer["live_bytes"]


def test_compiler_proper(record, tool, tmp_path):
    """valgrind counts the same calls in the compiler itself: a large program in C++ whose stacks are deep. gcc's collector has a
    table of 32768 bytes for each 4 GiB of addresses that it has pages in: their number changes from run to run, so they are left out."""
    (tmp_path / "unit.cc").write_text(FIBONACCI + "long fib(int n) { return n ? Fib<60>::value : Fib<20>::value; }\n")
    compiler = native([tool("g++"), "-print-prog-name=cc1plus"]).stdout.strip()
    command = [compiler, "-quiet", "-O1", "unit.cc", "-o", "unit.s"]
    # What the compiler asks for depends on whether the output is there already.
    assert native(command, cwd=tmp_path).returncode == 0
    text = (tmp_path / "unit.s").read_text()
    # /usr/bin/valgrind is a shell script and sets PWD, which spares the compiler a getcwd with a block of its own.
    recorded = record(command, cwd=tmp_path, env={"PWD": tmp_path})
    assert (tmp_path / "unit.s").read_text() == text
    theirs, completed = dhat_format.valgrind(command, tmp_path / "valgrind.json", cwd=tmp_path, environment=clean_environment())
    assert completed.returncode == 0
    recording = recording_format.Recording(recorded)
    calls = [event for event in recording.events() if event.number is not None]
    tables = sum(event.size == 32768 and event.kind == recording_format.ALLOC for event in calls)
    assert len(calls) - tables == sum(point["tbk"] for point in theirs.points if point["tb"] != 32768 * point["tbk"])
    assert len(calls) > 5000
    assert recording.footer["broken_stacks"] == 0 and recording.footer["truncated_stacks"] == 0


def test_assembler(record, tool, tmp_path):
    """The assembler does the same in every run: all sums are valgrind's."""
    source = "".join(f"symbol{i}:\n\t.long {i}\n\tcall symbol{i * 7 % 500}\n" for i in range(500))
    (tmp_path / "unit.s").write_text(source)
    command = [tool("as"), "unit.s", "-o", "unit.o"]
    recorded = record(command, cwd=tmp_path)
    check_dhat(recorded, command, tmp_path)


def test_clang(record, tool, tmp_path):
    """clang compiles in its own process, with half a million allocations; the object is the same to the byte."""
    (tmp_path / "unit.cc").write_text(CXX)
    command = [tool("clang++"), "-O1", "-g", "-c", "unit.cc", "-o"]
    assert native([*command, "plain.o"], cwd=tmp_path).returncode == 0
    recorded = record([*command, "recorded.o"], cwd=tmp_path, timeout=300)
    assert (tmp_path / "plain.o").read_bytes() == (tmp_path / "recorded.o").read_bytes()
    recording = recording_format.Recording(recorded)
    footer = recording.footer
    assert footer["end"] == {"exit": 0} and footer["lost_events"] == 0 and footer["broken_stacks"] == 0
    replay = recording.replay()
    assert (replay.allocations, replay.live_bytes, replay.peak_bytes, replay.temporary) == tuple(
        footer[name] for name in ("allocations", "live_bytes", "peak_bytes", "temporary"))
    assert replay.allocations > 100000


# ---- servers -----------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


class Server:
    """A server under `heapscope run`: started, waited for, and ended by the test or, failing that, here."""

    def __init__(self, heapscope, command, port, folder):
        self.output = folder / "server.hs.gz"
        self.process = subprocess.Popen([heapscope, "run", "-o", self.output, "--", *map(str, command)], cwd=folder, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=clean_environment())
        try:
            wait_for_port(port, self.process)
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self):
        """Waits for the server's end; returns (exit status, standard error)."""
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


def test_redis(heapscope, tool, print_json, tmp_path):
    """redis-benchmark sets keys to values of 1777 bytes; redis keeps each in a block of 5 + 1777 + 1 bytes (header, text, end) and
    says how many keys it has."""
    port = free_port()
    client = [tool("redis-cli"), "-p", str(port)]
    with Server(heapscope, [tool("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                            tmp_path], port, tmp_path) as server:
        done = native([tool("redis-benchmark"), "-p", port, "-t", "set", "-n", "4000", "-r", "1000000", "-d", "1777", "-c", "10", "-q"])
        assert done.returncode == 0 and "SET" in done.stdout
        keys = int(native([*client, "dbsize"]).stdout)
        assert 3900 < keys <= 4000
        memory = dict(line.split(":", 1) for line in native([*client, "info", "memory"]).stdout.splitlines() if ":" in line)
        used = int(memory["used_memory"])
        running = print_json(server.output)  # the file of a server that runs is readable
        assert running["facts"]["end"] == "running" and running["totals"]["allocations"] > 0
        native([*client, "shutdown", "nosave"])
        assert server.end()[0] == 0
    recording = recording_format.Recording(server.output)
    replay = recording.replay()
    assert replay.live_sizes()[5 + 1777 + 1] == keys
    assert replay.sizes[5 + 1777 + 1] >= 4000
    # redis counts what the allocator gave, which is a little more than what was asked for, and leaves Lua out.
    assert keys * 1783 < replay.live_bytes < used * 1.05
    assert recording.footer["lost_events"] == 0 and recording.footer["repaired_frees"] == 0


NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 64; }}
thread_pool default threads=4;
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    connection_pool_size 528;
    request_pool_size 4112;
    keepalive_timeout 0;
    aio threads;
    server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""


def test_nginx(heapscope, tool, tmp_path):
    """nginx with a pool of threads that read files. Each connection has a pool of 528 bytes, each request one of 4112, as the
    configuration says; both are given back."""
    port, requests = free_port(), 120
    (tmp_path / "www").mkdir()
    content = os.urandom(50000)
    (tmp_path / "www" / "file").write_bytes(content)
    (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, port=port))

    def get(_):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/file")
        response = connection.getresponse()
        return response.status, response.read() == content

    command = [shutil.which("nginx") or "/usr/sbin/nginx", "-e", "stderr", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    with Server(heapscope, command, port, tmp_path) as server:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(get, range(requests))) == [(200, True)] * requests
        os.kill(int((tmp_path / "nginx.pid").read_text()), 3)  # SIGQUIT: nginx ends when all is served
        status, errors = server.end()
        assert status == 0, errors
    recording = recording_format.Recording(server.output)
    replay = recording.replay()
    counts = {}
    for event in recording.events():
        if event.number is not None and event.size in (528, 4112):
            functions = recording.functions(event.node)
            for name in ("ngx_event_accept", "ngx_http_create_request"):
                if name in functions and "ngx_create_pool" in functions:
                    counts[event.size, name] = counts.get((event.size, name), 0) + 1
    # One connection more: the one that found out that the server listens.
    assert counts == {(528, "ngx_event_accept"): requests + 1, (4112, "ngx_http_create_request"): requests}
    live = replay.live_sizes()
    assert live.get(528, 0) == 0 and live.get(4112, 0) == 0
    assert len(recording.threads) >= 2  # those that allocated
    assert recording.footer["lost_events"] == 0 and recording.footer["repaired_frees"] == 0


def test_example_server(build, record, dhat):
    """Two threads of our own server: keys are put and got in turn. By hand from examples/server.c."""
    source = (pathlib.Path(__file__).resolve().parents[2] / "examples" / "server.c").read_text()
    burst, hot = (int(re.search(rf"\b{name} = (\d+)", source).group(1)) for name in ("BURST", "HOT_KEYS"))
    recorded = record([build / "examples" / "server", "--once"])
    first, step = map(int, re.search(r"malloc\((\d+) \+ i \* (\d+)\)", source).groups())
    bodies = [first + step * i for i in range(burst)]
    lines = [line for i in range(burst) for line in (f"PUT /user/{i} 200\n", f"GET /user/{i % hot} 200\n")]
    assert recorded.stdout == (f"served {2 * burst} requests, 0 of them wrong; "
                               f"the log has {sum(map(len, lines))} bytes\n")
    profile = dhat_format.Dhat(dhat(recorded))

    def numbers(function):
        totals = profile.function(function)
        return totals["tbk"], totals["tb"], totals["ebk"], totals["eb"]

    # The leak: a greeting of 96 bytes a connection.
    assert numbers("open_session") == (2 * burst, 2 * burst * 96, 2 * burst, 2 * burst * 96)
    # The cache: an entry of 32 bytes, the key, and the value with a final 0 a PUT.
    cached = sum(32 + len(f"user/{i}") + 1 + bodies[i] + 1 for i in range(burst))
    assert numbers("cache_put") == (3 * burst, cached, 3 * burst, cached)
    # The log: 256 bytes that grow by half whenever a line does not fit.
    capacities, used = [], 0
    for line in lines:
        if used + len(line) > (capacities[-1] if capacities else 0):
            capacities.append(capacities[-1] * 3 // 2 if capacities else 256)
        used += len(line)
    assert numbers("append_log") == (len(capacities), sum(capacities), 1, capacities[-1])
    # The client's bodies and requests (which asprintf makes in steps), each freed.
    calls, size, live, _ = numbers("client")
    assert calls >= 3 * burst and live == 0 and size >= 2 * sum(bodies)
