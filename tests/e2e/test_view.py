"""`heapscope view` and `export --format html`: the data in the page, decoded by tests/tools/page.py, against `print --json` and
numbers known by hand; the file; the server. tests/e2e/test_page.py drives the page itself."""

import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest

import made_recording
from conftest import clean_environment
from made_recording import varint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import page as pages  # noqa: E402

HOSTILE = ["</script><script>alert(1)</script>", "<!--heapscope-data-->", b"\xff<!-- \xc3\xa9"]


@pytest.fixture
def view(run_heapscope, tmp_path):
    """view(recording, ..., *options) -> the page's data."""

    def run(*arguments, env=None):
        path = tmp_path / "view.html"
        done = run_heapscope("view", "-o", path, *arguments, env=env)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{path}\n"
        return pages.read(path)

    return run


def printed_sites(document):
    """The sites of `print --json` as Page.sites has them."""
    sites = {}
    for site in document["sites"]:
        frames = tuple((frame["function"] or "", frame["file"] or "", frame["line"] or 0)
                       for frame in reversed(site["frames"]))
        sums = sites.setdefault(frames, dict.fromkeys(pages.COUNTS, 0))
        for name in pages.COUNTS:
            sums[name] += site[name]
    return sites


# ---- the data --------------------------------------------------------------------------------------------


def test_equals_print(view, print_json, server):
    page, printed = view(server), print_json(server)
    document = page.document
    assert document["schema"] == "heapscope-page-1" and document["path"] == "server.hs.gz"
    assert document["totals"] == printed["totals"] and document["facts"] == printed["facts"]
    assert document["site_count"] == printed["site_count"] > 10
    assert document["pruned"] is None and document["baseline"] is None
    assert page.sites() == printed_sites(printed)
    assert page.sites(folded=False) == printed_sites(print_json(server, "--raw"))
    assert [module["path"] for module in document["modules"]] == [module["path"] for module in printed["modules"]]
    own = [module["path"] for module in document["modules"] if module["own"]]
    assert len(own) == 1 and own[0].endswith("/examples/server")
    assert list(zip(page.get("timeline.time_us"), page.get("timeline.heap_bytes"))) == \
        [tuple(point) for point in printed["timeline"]]
    assert list(zip(page.get("rss.time_us"), page.get("rss.bytes"))) == [tuple(sample) for sample in printed["rss"]]


def test_own_frames(view, print_json, server):
    """The node of a stack's own line is the one that print marks."""
    page = view(server)
    printed = {}
    for site in print_json(server)["sites"]:
        frames = tuple((frame["function"] or "", frame["file"] or "", frame["line"] or 0)
                       for frame in reversed(site["frames"]))
        printed[frames] = frames[len(frames) - 1 - site["own_frame"]]
    for stack, node in enumerate(page.columns["stack.node"]):
        path = page.nodes(node)
        path = path[:len(path) - page.columns["stack.folded"][stack]]
        assert page.frame(page.columns["stack.own"][stack]) == printed[tuple(page.frame(node) for node in path)]


def test_threads(view, print_json, server):
    page, printed = view(server), print_json(server)
    assert page.columns["thread.tid"] == [thread["tid"] for thread in printed["threads"]]
    assert [page.strings[name] for name in page.columns["thread.name"]] == \
        [thread["name"] or "" for thread in printed["threads"]]
    places = list(zip(page.columns["part.thread"], page.columns["part.stack"]))
    assert places == sorted(set(places)) and {thread for thread, _ in places} == {0, 1}
    for name in pages.COUNTS:
        sums = [0] * len(page.columns["stack.node"])
        for (_, stack), value in zip(places, page.columns[f"part.{name}"]):
            sums[stack] += value
        assert sums == page.columns[f"stack.{name}"], name


def test_over_time(view, server):
    """All bins together are everything, and what is not freed is live."""
    page = view(server)
    stacks = len(page.columns["stack.node"])
    sums = {name: [0] * stacks for name in ("allocated_bytes", "allocations", "freed_bytes", "frees")}
    ends = page.columns["bin.end"]
    assert ends == sorted(ends) and len(ends) <= 256
    assert page.document["bin_us"] * len(ends) > page.document["facts"]["duration_us"]
    for begin, end in zip([0, *ends], ends):
        part = page.columns["change.stack"][begin:end]
        assert part == sorted(set(part))
    for index, stack in enumerate(page.columns["change.stack"]):
        for name in sums:
            sums[name][stack] += page.columns[f"change.{name}"][index]
        assert sums["allocated_bytes"][stack] >= sums["freed_bytes"][stack]
    assert sums["allocated_bytes"] == page.columns["stack.allocated_bytes"]
    assert sums["allocations"] == page.columns["stack.allocations"]
    live = [all_bytes - freed for all_bytes, freed in zip(sums["allocated_bytes"], sums["freed_bytes"])]
    assert live == page.columns["stack.live_bytes"]
    for name, counts in ("size_of", "size"), ("lifetime_of", "lifetime"):
        buckets = [0] * 65
        for bucket, blocks in zip(page.columns[f"{name}.bucket"], page.columns[f"{name}.blocks"]):
            buckets[bucket] += blocks
        assert buckets == page.columns[f"{counts}.blocks"]


def test_by_hand(view, whole):
    """made_recording: keep allocates 1000 at 10 us, drop 500 at 20, freed at 30; keep's moves to 3000 at 40; 50 us in all, in
    bins of 1 us."""
    page = view(whole)
    main, keep, drop = ("main", "/srv/made.c", 10), ("keep", "/srv/made.c", 20), ("drop", "/srv/made.c", 30)
    sites = page.sites()
    assert set(sites) == {(main, keep), (main, drop)}
    assert {name: value for name, value in sites[main, keep].items() if value} == {
        "allocated_bytes": 4000, "allocations": 2, "peak_bytes": 3000, "peak_blocks": 1, "live_bytes": 3000, "live_blocks": 1,
        "moved_bytes": 1000, "moved": 1, "reallocations": 1, "lifetime_us": 30 + 10}
    assert {name: value for name, value in sites[main, drop].items() if value} == {
        "allocated_bytes": 500, "allocations": 1, "temporary_bytes": 500, "temporary": 1, "lifetime_us": 10}
    assert page.document["bin_us"] == 1
    stack = {page.frame(node)[0]: number for number, node in enumerate(page.columns["stack.node"])}
    ends = [0, *page.columns["bin.end"]]
    changes = {}
    for number in range(len(ends) - 1):
        for index in range(ends[number], ends[number + 1]):
            changes[number, page.columns["change.stack"][index]] = tuple(
                page.columns[f"change.{name}"][index] for name in ("allocated_bytes", "allocations", "freed_bytes", "frees"))
    assert changes == {(10, stack["keep"]): (1000, 1, 0, 0), (20, stack["drop"]): (500, 1, 0, 0),
                       (30, stack["drop"]): (0, 0, 500, 1), (40, stack["keep"]): (3000, 1, 1000, 1)}
    # 1000 < 2^10, 500 < 2^9, 3000 < 2^12
    assert {bucket: blocks for bucket, blocks in enumerate(page.columns["size.blocks"]) if blocks} == {10: 1, 9: 1, 12: 1}
    assert page.columns["thread.tid"] == [4242] and "part.stack" not in page.columns
    assert [index for index, flags in enumerate(page.columns["frame.flags"]) if flags & pages.OWN]


def test_two_recordings(view, tmp_path, run_heapscope):
    """The same stack by name; one that only the old run has, one that only the new one has."""
    old, new = tmp_path / "old.hs.gz", tmp_path / "new.hs.gz"
    old.write_bytes(made_recording.whole())
    new.write_bytes(made_recording.header() + made_recording.modules() + made_recording.nodes() + made_recording.events() +
                    made_recording.symbols(("main", "keep", "lose")) + made_recording.footer())
    page = view(old, new)
    sites, before = page.sites(), page.sites("old")
    names = {tuple(frame[0] for frame in frames): frames for frames in sites}
    assert set(names) == {("main", "keep"), ("main", "drop"), ("main", "lose")}
    for stack, number in (("main", "keep"), 4000), (("main", "drop"), 0), (("main", "lose"), 500):
        assert sites[names[stack]]["allocated_bytes"] == number
    for stack, number in (("main", "keep"), 4000), (("main", "drop"), 500), (("main", "lose"), 0):
        assert before[names[stack]]["allocated_bytes"] == number
    baseline = page.document["baseline"]
    assert (page.document["path"], baseline["path"]) == ("new.hs.gz", "old.hs.gz")
    assert baseline["totals"]["allocated_bytes"] == 4500 and baseline["site_count"] == 2
    assert baseline["same_program"] and baseline["work"]["common_old_calls"] == 2
    assert baseline["work"]["vanished_calls"] == baseline["work"]["appeared_calls"] == 1
    assert page.columns["old_timeline.heap_bytes"] and "old_rss.bytes" in page.columns
    done = run_heapscope("view", old, new, cwd=tmp_path)
    assert done.stdout == f"{tmp_path}/new.diff.html\n"


def test_two_equal_diff(view, server, build, run_heapscope, tmp_path):
    """Sums of each side against `diff --stacks`' own totals."""
    again = tmp_path / "again.hs.gz"
    run_heapscope("run", "-o", again, "--", build / "examples" / "server", "--once")
    page = view(server, again)
    for name in pages.COUNTS:
        assert sum(page.columns[f"stack.{name}"]) == page.document["totals"][name]
        assert sum(page.columns[f"old.{name}"]) == page.document["baseline"]["totals"][name]
    # the same program twice: nearly every stack is in both
    both = sum(1 for old, new in zip(page.columns["old.allocations"], page.columns["stack.allocations"]) if old and new)
    assert both > 10


def many_stacks(count):
    """main calls `count` functions without names, each of which allocates: 3 bytes the first hundred, 1 byte the others."""
    nodes = varint(1) + made_recording.told_node(1, 0, 0x401000) + \
        b"".join(made_recording.told_node(number, 1, 1) for number in range(2, count + 2))
    out = made_recording.header() + made_recording.modules() + made_recording.member(3, nodes, count + 1)
    for first in range(0, count, 65536):
        part = range(first, min(first + 65536, count))
        steps = b"".join(varint(1 + ((2 if number == 0 else 1) << 1)) for number in part)
        sizes = b"".join(varint(1 + (3 if number < 100 else 1)) for number in part)
        times = varint(0) + varint(1 << 1) * (len(part) - 1)  # one each us, none in that of the event before
        columns = [bytes(len(part)), made_recording.one_thread(len(part)), times, steps, sizes, b""]
        out += made_recording.member(4, made_recording.event_columns(first, len(part), first, columns), len(part))
    allocated = count + 200
    return out + made_recording.footer(events=count, allocations=count, frees=0, allocated_bytes=allocated,
                                       peak_bytes=allocated, peak_us=count, live_bytes=allocated, live_blocks=count,
                                       temporary=0, duration_us=count)


def test_pruned(view, tmp_path):
    """Of 450,000 stacks the page keeps 400,000 nodes, the root and main among them; the others' bytes stand below main."""
    count, nodes = 450_000, 400_000
    path = tmp_path / "many.hs.gz"
    path.write_bytes(many_stacks(count))
    page = view(path)
    document = page.document
    assert document["facts"]["warning"] is None and document["site_count"] == count
    assert document["totals"]["allocated_bytes"] == count + 200 == sum(page.columns["stack.allocated_bytes"])
    left_out = count - (nodes - 2)
    assert document["pruned"]["stacks"] == document["pruned"]["allocations"] == left_out
    assert document["pruned"]["live_bytes"] == document["pruned"]["allocated_bytes"] == left_out
    assert len(page.columns["node.depth"]) == nodes + 1
    other = [stack for stack, node in enumerate(page.columns["stack.node"])
             if page.columns["frame.flags"][page.columns["node.frame"][node]] & pages.OTHER]
    assert [page.columns["stack.allocated_bytes"][stack] for stack in other] == [left_out]
    node = page.columns["stack.node"][other[0]]
    assert page.frame(node)[0] == "(other)" and page.columns["node.depth"][page.parents[node]] == 1
    assert page.columns["stack.allocated_bytes"].count(3) == 100
    assert sum(page.columns["change.allocated_bytes"]) == count + 200
    assert (tmp_path / "view.html").stat().st_size <= 20 << 20


def test_truncated(view, whole, tmp_path, print_json, run_heapscope):
    everything = whole.read_bytes()
    cut = tmp_path / "cut.hs.gz"
    cut.write_bytes(everything[:len(everything) - len(made_recording.footer()) - 10])
    page = view(cut)
    warning = page.document["facts"]["warning"]
    assert warning and warning == print_json(cut)["facts"]["warning"]
    assert page.document["totals"]["allocated_bytes"] == 4500
    assert f"warning: {cut}: {warning}" in run_heapscope("view", "-o", tmp_path / "again.html", cut).stderr


def test_nothing_allocated(view, tmp_path):
    path = tmp_path / "nothing.hs.gz"
    zeros = dict.fromkeys(["events", "allocations", "frees", "allocated_bytes", "peak_bytes", "peak_us", "live_bytes",
                           "live_blocks", "temporary"], 0)
    path.write_bytes(made_recording.header() + made_recording.modules() + made_recording.footer(**zeros))
    page = view(path)
    assert page.columns["node.depth"] == [0] and "stack.node" not in page.columns
    assert page.document["site_count"] == 0


def test_hostile_names(view, tmp_path, build):
    path = tmp_path / "<script>.hs.gz"
    path.write_bytes(made_recording.header(command=["</script>", "\u0001"]) + made_recording.modules() +
                     made_recording.nodes() + made_recording.events() + made_recording.symbols(HOSTILE, "/s</script>.c") +
                     made_recording.footer())
    page = view(path)
    names = {page.strings[function] for function in page.columns["frame.function"]}
    assert names >= {HOSTILE[0], HOSTILE[1], "\ufffd<!-- \u00e9"}
    text = (tmp_path / "view.html").read_text("utf-8")
    built = (build / "viewer" / "viewer.html").read_text("utf-8")
    before, after = built.split("<!--heapscope-data-->")
    assert text.startswith(before) and text.endswith(after)
    data = text[len(before):len(text) - len(after)]
    assert data.count("<") == 1 and data.count("-") == 5 and data.endswith("-->") and "alert" not in data


def test_imported(view, tmp_path, run_heapscope):
    """What a file does not tell is null, and has no column."""
    folded, imported = tmp_path / "in.folded", tmp_path / "in.hs.gz"
    folded.write_text("main;keep 3000\nmain;drop 500\n")
    done = run_heapscope("import", "-o", imported, folded)
    assert done.returncode == 0, done.stderr
    page = view(imported)
    known = [name for name in pages.COUNTS if page.document["totals"].get(name) is not None]
    assert known and "stack.temporary" not in page.columns and "change.stack" not in page.columns
    assert page.document["totals"]["temporary"] is None and page.document["bin_us"] == 0
    assert sorted(page.columns[f"stack.{known[0]}"]) == [500, 3000]


# ---- sources ---------------------------------------------------------------------------------------------

PROGRAM = """#include <stdlib.h>

char *volatile kept;

/* line 5 */
static void __attribute__((noinline)) keep(void)
{
	kept = malloc(1000); /* the line that allocates */
}

int main(void)
{
	keep();
	return 0;
}
""" + "\n" * 30 + "/* far away */\n"


def test_sources(view, compile, record):
    recording = record(compile(PROGRAM))
    assert view(recording.path).document["sources"] == []
    page = view(recording.path, "--sources")
    sources = [source for source in page.document["sources"] if page.strings[source["file"]].endswith("/target.c")]
    assert [source["first_line"] for source in sources] == [1]
    lines = PROGRAM.split("\n")
    assert sources[0]["text"].split("\n") == lines[:23]
    assert any("could not be read" in note for note in page.document["notes"])  # libc's


def test_sources_that_are_none(view, tmp_path):
    """A recording may name any file: only regular ones that are named like sources are read."""
    secret, fifo, binary, named = tmp_path / "id_rsa", tmp_path / "pipe.c", tmp_path / "binary.c", tmp_path / "true.c"
    secret.write_text("secret\n" * 50)
    os.mkfifo(fifo)
    binary.write_bytes(b"a\0b\n" * 50)
    named.write_text("text\n" * 50)
    for path in secret, fifo, binary, pathlib.Path("/dev/zero"), named:
        recording = tmp_path / "names.hs.gz"
        recording.write_bytes(made_recording.header() + made_recording.modules() + made_recording.nodes() +
                              made_recording.events() + made_recording.symbols(source=str(path)) + made_recording.footer())
        page = view(recording, "--sources")
        if path == named:
            assert [source["text"] for source in page.document["sources"]] == ["\n".join(["text"] * 40)]
        else:
            assert page.document["sources"] == []
            assert [note for note in page.document["notes"] if str(path) in note]


# ---- the file --------------------------------------------------------------------------------------------


def test_file(run_heapscope, whole, tmp_path):
    done = run_heapscope("view", "made.hs.gz", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == f"{tmp_path}/made.html\n"
    everything = (tmp_path / "made.html").read_bytes()
    assert run_heapscope("view", "-o", "-", whole, binary=True).stdout == everything
    done = run_heapscope("export", "--format", "html", "-o", "other.html", whole, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "other.html").read_bytes() == everything
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.hs.gz", "made.html", "other.html"]


def test_failures_leave_the_old_file(run_heapscope, whole, tmp_path):
    page, bad = tmp_path / "made.html", tmp_path / "bad.hs.gz"
    page.write_text("older")
    bad.write_text("no recording")
    no_mark = tmp_path / "no-mark.html"
    no_mark.write_text("<html></html>")
    missing = run_heapscope("view", "-o", page, whole, env={"HEAPSCOPE_VIEWER": "/nonexistent.html"})
    assert missing.returncode == 1
    assert 'cannot read the page "/nonexistent.html" that HEAPSCOPE_VIEWER names' in missing.stderr
    useless = run_heapscope("view", "-o", page, whole, env={"HEAPSCOPE_VIEWER": no_mark})
    assert useless.returncode == 1 and "has no place for data" in useless.stderr
    assert run_heapscope("view", "-o", page, bad).returncode == 1
    assert run_heapscope("view", "-o", page, whole, bad).returncode == 1
    assert page.read_text() == "older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.hs.gz", "made.hs.gz", "made.html", "no-mark.html"]


def test_usage(run_heapscope, whole):
    for arguments in [], [whole, whole, whole], ["--port", "65536", whole], ["--port", "0", "-o", "x.html", whole]:
        done = run_heapscope("view", *arguments)
        assert done.returncode == 2 and done.stderr.startswith("heapscope: view: ")


def test_open(run_heapscope, whole, tmp_path):
    """xdg-open gets the path; it tells us through a FIFO, which is read until it closes it."""
    programs, told = tmp_path / "bin", tmp_path / "told"
    programs.mkdir()
    os.mkfifo(told)
    (programs / "xdg-open").write_text(f"#!/bin/sh\necho \"$1\" >{told}\n")
    (programs / "xdg-open").chmod(0o755)
    with subprocess.Popen(["cat", told], stdout=subprocess.PIPE, text=True) as reader:
        done = run_heapscope("view", "--open", "-o", tmp_path / "a b.html", whole,
                             env={"PATH": f"{programs}:{os.environ['PATH']}"})
        assert done.returncode == 0
        assert reader.communicate(timeout=60)[0] == f"{tmp_path}/a b.html\n"
    done = run_heapscope("view", "--open", "-o", tmp_path / "c.html", whole, env={"PATH": "/nonexistent"})
    assert done.returncode == 0 and "cannot run xdg-open" in done.stderr


# ---- the server ------------------------------------------------------------------------------------------


@pytest.fixture
def served(heapscope, whole):
    """A running `heapscope view --port 0`; .port is the one that it took."""
    with subprocess.Popen([heapscope, "view", "--port", "0", whole], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=clean_environment()) as process:
        try:
            address = process.stdout.readline()
            assert address.startswith("http://localhost:") and address.endswith("/\n")
            process.port = int(address.removeprefix("http://localhost:").removesuffix("/\n"))
            yield process
        finally:
            process.kill()


def ask(port, method="GET", path="/", host="localhost", address="127.0.0.1"):
    connection = http.client.HTTPConnection(address, port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_serves_the_page(served, run_heapscope, whole):
    everything = run_heapscope("view", "-o", "-", whole, binary=True).stdout
    answer, body = ask(served.port)
    assert answer.status == 200 and body == everything
    assert answer.getheader("Content-Type") == "text/html; charset=utf-8"
    assert answer.getheader("Cache-Control") == "no-store" and answer.getheader("X-Content-Type-Options") == "nosniff"
    answer, body = ask(served.port, "HEAD")
    assert answer.status == 200 and body == b"" and int(answer.getheader("Content-Length")) == len(everything)


def test_serves_nothing_else(served):
    for path in "/favicon.ico", "/../../etc/passwd", "//", "/index.html":
        assert ask(served.port, path=path)[0].status == 404
    for method in "POST", "PUT", "DELETE", "OPTIONS", "TRACE":
        answer, _ = ask(served.port, method)
        assert answer.status == 405 and answer.getheader("Allow") == "GET, HEAD"


def test_answers_to_its_own_names_only(served):
    for host in "localhost", "LOCALHOST:1", f"localhost:{served.port}", "127.0.0.1:9", "[::1]", "[::1]:80":
        assert ask(served.port, host=host)[0].status == 200, host
    for host in "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "localhost:80.evil", "", "[::2]":
        answer, body = ask(served.port, host=host)
        assert answer.status in (400, 403) and b"heapscope-data" not in body, host
    answer, body = ask(served.port, host=None)
    assert answer.status in (400, 403) and b"heapscope-data" not in body


def test_without_the_library(heapscope, run_heapscope, whole, tmp_path):
    """It is loaded for this alone: every other command starts without it and what it brings."""
    brought = subprocess.run(["ldd", heapscope], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "libdw" in brought and "libmicrohttpd" not in brought and "libgnutls" not in brought
    (tmp_path / "libmicrohttpd.so.12").write_text("none")
    done = run_heapscope("view", "--port", "0", whole, env={"LD_LIBRARY_PATH": tmp_path})
    assert done.returncode == 1 and done.stdout == ""
    assert "heapscope: cannot serve the page: " in done.stderr and "libmicrohttpd.so.12: file too short" in done.stderr
    assert "install libmicrohttpd (Debian: package libmicrohttpd12), or leave out --port" in done.stderr


def test_listens_on_loopback_only(served):
    listening = set()
    for table in "tcp", "tcp6":
        for line in pathlib.Path(f"/proc/{served.pid}/net/{table}").read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if int(port, 16) == served.port and line.split()[3] == "0A":
                listening.add(address)
    assert "0100007F" in listening and listening <= {"0100007F", "00000000000000000000000001000000"}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served.port), timeout=60)


def test_long_requests_end(served):
    """A request that does not end is refused before it takes much memory."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        answer = b""
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"x" * (1 << 20))
            while part := connection.recv(4096):
                answer += part
        except ConnectionError:
            pass
    assert not answer or answer.split()[1] in (b"400", b"413", b"431"), answer[:80]
    assert ask(served.port)[0].status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends(served, number):
    served.send_signal(number)
    _, errors = served.communicate(timeout=60)
    assert served.returncode == 0
    assert f"ssh -L {served.port}:localhost:{served.port} " in errors


def test_port_in_use(served, run_heapscope, whole):
    done = run_heapscope("view", "--port", str(served.port), whole)
    assert done.returncode == 1 and f"port {served.port} is in use" in done.stderr
