"""The examples: what their first comments promise to be found is found. The server gets 2000 requests: 1000 PUT and 1000
GET. docs/guide.md finds the same with the reports (test_guide.py)."""

import re

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture
def server(build, record):
    recording = record([build / "examples" / "server", "--once"])
    assert recording.stdout == "served 2000 requests, 0 of them wrong; the log has 34640 bytes\n"
    return recording


def sums(document, function):
    """Counts of all sites whose own line is in the function."""
    totals = {}
    for site in document["sites"]:
        if site["own_frame"] is not None and site["frames"][site["own_frame"]]["function"] == function:
            for name, value in site.items():
                if isinstance(value, int):
                    totals[name] = totals.get(name, 0) + value
    return totals


def test_what_there_is_to_find(server, print_json):
    document = print_json(server)
    leak = sums(document, "open_session")  # 96 bytes a connection
    assert (leak["live_blocks"], leak["live_bytes"], leak["allocations"]) == (2000, 192000, 2000)
    cache = sums(document, "cache_put")
    # values of 64 + 12 i bytes and a NUL; entries of 32 bytes; keys "user/0" to "user/999" with a NUL
    values = sum(64 + 12 * i + 1 for i in range(1000))
    keys = sum(len(f"user/{i}") + 1 for i in range(1000))
    assert cache["live_bytes"] == values + 1000 * 32 + keys
    assert (cache["live_blocks"], cache["temporary"]) == (3000, 0)
    parser = sums(document, "content_length")  # a copy of each header line: Host and one more
    assert (parser["allocations"], parser["temporary"], parser["live_blocks"]) == (4000, 4000, 0)
    log = sums(document, "append_log")
    assert log["live_blocks"] == 1 and log["reallocations"] == log["allocations"] - 1
    # 256, then half more each time, until 34640 fit
    capacity, grown = 256, 1
    while capacity < 34640:
        capacity, grown = capacity + capacity // 2, grown + 1
    assert (log["allocations"], log["live_bytes"]) == (grown, capacity)
    assert len(document["threads"]) == 2
    assert document["facts"]["lost_events"] == 0


def test_report(server, print_text):
    text = print_text(server)
    leaks = text[text.index("TOP SITES BY LEAK"):text.index("STACKS")]
    assert re.search(r"^ *\d+ +187\.5 KiB .* 2,000  open_session +\S*server\.c:\d+$", leaks, re.M)
    assert re.search(r"^ *1 +5\.8 MiB .* 1,000  cache_put +\S*server\.c:\d+$", leaks, re.M)
    peaks = text[text.index("TOP SITES BY PEAK"):text.index("TOP SITES BY CALLS")]
    assert re.search(r"^ *1 +5\.8 MiB .* cache_put ", peaks, re.M)
    temporary = text[text.index("TOP SITES BY TEMPORARY"):text.index("TOP SITES BY LEAK")]
    assert re.search(r" 4,000 .* 100\.0%  content_length ", temporary)
    assert re.search(r"^#1  cache_put  \S+\n(.*\n)+?    > cache_put .*\n(      .*\n)*      main ", text, re.M)


def test_dhat(server, dhat):
    document = dhat(server)
    leaked = [point for point in document["pps"] if any(": open_session (" in document["ftbl"][i] for i in point["fs"])]
    assert sum(point["eb"] for point in leaked) == 192000


def test_bills(compile, record, print_json):
    document = print_json(record(compile(EXAMPLES / "bills.cc", "-O2", compiler="g++")))
    # 20000 deliveries of 8 + 32 bytes; their copies' strings are as long as needed, with a NUL
    strings = sum(len(f"crate of {what} at the back door") + 1 for what in ("milk", "butter", "yoghurt", "cream"))
    assert sums(document, "main")["peak_bytes"] == 20000 * 40
    copies = sums(document, "Delivery::Delivery(Delivery const&)")
    assert (copies["peak_bytes"], copies["allocations"]) == (5000 * strings, 20000)
    assert sums(document, "load")["peak_blocks"] == 20001
    # the last time that the text grows, the old buffer and one of twice the size are live
    assert sums(document, "render")["peak_blocks"] == 2


def test_hits(compile, record, print_json):
    document = print_json(record(compile(EXAMPLES / "hits.rs", "-O", compiler="rustc")))
    fields = sums(document, "hits::field")
    # four fields of 10000 lines; not temporary: the method, and the path when it is the first one of a page
    assert (fields["allocations"], fields["temporary"]) == (40000, 30000 - 97)


FORKS = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	void *volatile inherited = malloc(100); /* volatile: kept by the optimizer */
	pid_t child = fork();
	int status;
	if (child == 0) {
		free(inherited);
		_exit(malloc(7) == NULL);
	}
	waitpid(child, &status, 0);
	return status;
}
"""


def test_fork_wording(compile, record, print_text, run_heapscope):
    recording = record(compile(FORKS))
    child, = recording.files[1:]
    assert f"heapscope: wrote {recording.path} (and 1 more, " in recording.stderr
    text = print_text(child)
    assert re.search(r"^pid \d+ \(a fork of \d+\), ", text, re.M)
    assert "  at exit           7 B   in 1 block of its own (inherited ones not counted)\n" in text
    assert re.search(r"^note: it freed 1 block that it inherited from process \d+$", text, re.M)
    assert "in 1 block that nobody freed\n" in print_text(recording)
