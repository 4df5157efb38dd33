"""What programs report of themselves by heapscope.h: tests/targets/annotated.c, .cc and .rs say what they do, part by part; the
numbers here are theirs, added up by hand."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

import pytest

from conftest import ROOT, TARGETS, clean_environment

sys.path.insert(0, os.fspath(ROOT / "tests" / "tools"))
import recording as second_reader  # noqa: E402

INCLUDE = "-I" + os.fspath(ROOT / "include")


@pytest.fixture
def annotated(compile):
    def build_program(*flags, compiler="gcc", source="annotated.c", name=None):
        return compile(source, INCLUDE, *flags, compiler=compiler, name=name)

    return build_program


def phases(document):
    return {phase["name"]: phase for phase in document["phases"]}


def counts(document):
    totals = document["totals"]
    return totals["allocations"], totals["allocated_bytes"], totals["live_blocks"], totals["live_bytes"]


# ---- without a recorder --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["-no-pie", "-fno-pie"], ["-O2", "-no-pie", "-fno-pie", "-fno-plt"], ["-static"],
                                   ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
                                   ["-masm=intel", "-no-pie", "-fno-pie"]])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_needs_nothing(annotated, compiler, flags, tmp_path):
    program = annotated(*flags, compiler=compiler)
    done = subprocess.run([program], capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    if "-static" not in flags:
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        assert "libc.so" in libraries and "heapscope" not in libraries


@pytest.mark.parametrize("flags", [[], ["-no-pie", "-fno-pie"], ["-O2", "-flto"], ["-fuse-ld=gold"]])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_finds_the_recorder(annotated, record, print_json, compiler, flags):
    recording = record(annotated(*flags, compiler=compiler))
    assert recording.stdout == "done\n"
    document = print_json(recording)
    assert len(document["marks"]) == 10
    assert any(phase["name"] == "end" and phase["allocated_bytes"] == 1 + 77 for phase in document["phases"])


def test_exported_names(build):
    """The interface that programs were built against: nothing of it may go."""
    shim = build / "preload" / "libheapscope.so"
    lines = subprocess.run(["nm", "-D", "--defined-only", shim], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines if "heapscope" in line}
    assert names == {"heapscope_v1_" + name for name in (
        "pool_alloc", "pool_realloc", "pool_free", "pool_reset", "slab_begin", "slab_end", "phase_begin", "phase_end", "mark",
        "name_thread", "pause", "resume", "recording")}


# ---- phases --------------------------------------------------------------------------------------------------------


def test_phases(annotated, record, print_json):
    recording = record(annotated())
    document = print_json(recording)
    found = phases(document)
    thread = found["thread"]["allocated_bytes"] - 50  # of pthread_create itself
    assert {name: (phase["times"], phase["allocations"], phase["allocated_bytes"], phase["change_bytes"])
            for name, phase in found.items()} == {
        "load": (1, 10, 10000, 10000),
        "parse": (1, 4, 4000, 4000),
        "pool": (1, 101, 10300, 6200),
        "carved": (1, 4, 5150, 0),
        "arena": (1, 10, 160, 32),
        "thread": (1, 6, 50 + thread, 50 + thread),
        "paused": (1, 1, 1500, 1500 - 1000 - 1000),
        "end": (1, 2, 78, 78),
    }
    # 10000 loaded; 100 blocks of the pool; then 6200 of them, and the slab before its first block takes its place
    assert found["load"]["most_bytes"] == 10000
    assert found["parse"]["most_bytes"] == 7000
    assert found["pool"]["most_bytes"] == 20000
    assert found["carved"]["most_bytes"] == 10000 + 6200 + 5000
    assert found["arena"]["most_bytes"] == 10000 + 6200 + 8 * 16
    assert document["totals"]["peak_bytes"] == 21200
    assert counts(document)[:2] == (10 + 101 + 4 + 10 + 6 + 1 + 2, 10000 + 10300 + 5150 + 160 + 50 + thread + 1500 + 78)

    kinds = [(mark["kind"], mark["name"]) for mark in document["marks"]]
    assert kinds == [("phase", "load"), ("phase", "parse"), ("moment", "half"), ("phase", "pool"), ("phase", "carved"),
                     ("phase", "arena"), ("phase", "thread"), ("phase", "paused"), ("pause", None), ("phase", "end")]
    by_name = {mark["name"]: mark for mark in document["marks"]}
    assert by_name["load"]["time_us"] <= by_name["parse"]["time_us"] <= by_name["half"]["time_us"] <= by_name["parse"]["end_us"]
    assert by_name["end"]["end_us"] is None and by_name["half"]["end_us"] is None
    assert all(mark["tid"] == document["facts"]["pid"] for mark in document["marks"] if mark["kind"] != "pause")

    # the file, by the second reader
    marks = second_reader.Recording(recording).marks
    assert [mark[1] for mark in marks] == [name or "" for _, name in kinds]
    # events: 10 of load, the moment after 5 of them
    assert (marks[0][4], marks[0][5], marks[1][4], marks[1][5], marks[2][4]) == (0, 10, 3, 7, 5)


@pytest.mark.parametrize("names, expected", [
    (["load"], (10, 10000, 8, 8000)),  # one was freed, another is a block of "paused" since it grew there
    (["parse"], (4, 4000, 4, 4000)),
    (["load", "parse"], (10, 10000, 8, 8000)),
    (["pool"], (101, 10300, 60, 6200)),
    (["carved", "pool"], (105, 15450, 60, 6200)),
    (["paused"], (1, 1500, 1, 1500)),
    (["end"], (2, 78, 2, 78)),
])
def test_filter(annotated, record, print_json, names, expected):
    recording = record(annotated())
    document = print_json(recording, *(f"--phase={name}" for name in names))
    assert counts(document) == expected
    assert document["filter"]["phase"] == names
    every = print_json(recording)["totals"]
    for name in ("allocations", "allocated_bytes", "live_bytes", "peak_bytes", "temporary"):
        assert document["totals"][name] + document["left_out"][name] == document["all"][name] == every[name]


def test_report(annotated, record, print_text):
    recording = record(annotated())
    text = print_text(recording)
    lines = text.splitlines()
    title = lines.index("PHASES")
    assert [line.split()[0] for line in lines[title + 2:title + 10]] == ["load", "parse", "pool", "carved", "arena", "thread",
                                                                        "paused", "end"]
    assert lines[title + 2].split()[-2:] == ["+9.8", "KiB"] and lines[title + 8].split()[-2:] == ["-500", "B"]
    chart = {line.split()[0]: line for line in lines[:title] if ("━" in line or "▲" in line or "╌" in line) and "peak" not in line}
    assert list(chart) == ["load", "parse", "half", "pool", "carved", "arena", "thread", "paused"]
    assert lines[title - 2].strip() == "and 1 name more"  # "end"
    assert "╌" in lines[title - 3]  # the pause, which is always shown
    assert "heapscope_pool_alloc" not in text and "pool_alloc" in text  # the program's own function is the site
    assert "note: recording was paused once by the program, for" in text
    assert "9 allocations of 878.9 KiB meanwhile are not in the numbers" in " ".join(text.split())
    assert "at most at once out of the program's own pools, 114 blocks in all" in " ".join(text.split())

    text = print_text(recording, "--phase", "parse")
    assert "filter: --phase parse" in text and "PHASES" in text
    text = print_text(recording, "--phase", "nothing")
    assert 'no phase is called "nothing" (--phase), there are "load", "parse", "pool"' in " ".join(text.split())


def test_overlapping_phases(annotated, record, print_json):
    """C++: phases in themselves, across each other, ended by another thread."""
    recording = record(annotated(compiler="g++", source="annotated.cc"))
    document = print_json(recording)
    found = phases(document)
    shown = {name: (phase["times"], phase["allocations"], phase["allocated_bytes"]) for name, phase in found.items()}
    assert shown.pop("other")[0] == 1
    assert shown == {"outer": (1, 5, 500), "inner": (2, 3, 300), "left": (1, 4, 40), "right": (1, 5, 50), "pool": (1, 8, 256)}
    assert found["pool"]["change_bytes"] == 0
    assert [mark["kind"] for mark in document["marks"]] == ["phase"] * 7
    assert all(mark["end_us"] is not None for mark in document["marks"])
    assert counts(print_json(recording, "--phase", "left", "--phase", "right"))[:2] == (7, 70)
    assert [thread["name"] for thread in document["threads"]][1] == "a thread with a name that is longer than sixteen bytes"


# ---- pools ---------------------------------------------------------------------------------------------------------


def test_pools(annotated, record, print_json):
    """No slab counts, whether or not it was said to be one; sums are those of the blocks."""
    recording = record(annotated())
    document = print_json(recording)
    pools = document["facts"]["pools"]
    assert pools == {"slabs": 2, "slab_most_bytes": 65536 + 5000, "slab_live_bytes": 65536,
                     "allocations": 101 + 3 + 10, "most_bytes": 100 * 100, "live_bytes": 6200 + 32}
    totals = document["totals"]
    assert totals["reallocations"] == 3  # in the pool, of a slab's first block, of a block of load
    assert totals["moved"] <= 1  # only the latter may have moved
    assert totals["live_bytes"] == sum(site["live_bytes"] for site in document["sites"])
    replay = second_reader.Recording(recording).replay()
    assert 65536 not in replay.sizes and replay.sizes[5000] == 1 and replay.live_bytes == totals["live_bytes"]
    assert document["facts"]["repaired_frees"] == 0
    # blocks of a pool have their own stacks, lifetimes and so on
    own = [site for site in document["sites"] if site["frames"][0]["function"] == "pool_alloc"]
    assert sum(site["allocations"] for site in own) == 100 and {site["frames"][1]["function"] for site in own} == {"pool"}


SLABS = r"""
#include "heapscope/heapscope.h"
#include <stdlib.h>

static void *keep(void *p) { __asm__ volatile("" : "+r"(p) : : "memory"); return p; }

int main(void)
{
	/* a slab that grows in place or elsewhere is a slab still: its blocks end if it moves */
	heapscope_slab_begin();
	heapscope_slab_begin();
	char *slab = keep(malloc(100));
	heapscope_slab_end();
	char *other = keep(malloc(200)), *plain = keep(calloc(1, 300));
	free(plain);
	heapscope_slab_end();
	heapscope_pool_alloc(slab, slab, 10);
	heapscope_pool_alloc(other, other + 8, 20);
	keep(malloc(50)); /* lies behind the slab */
	slab = keep(realloc(slab, 1 << 20));
	heapscope_pool_alloc(slab, slab, 30);
	/* a block that becomes a slab by realloc */
	plain = keep(malloc(400));
	heapscope_slab_begin();
	plain = keep(realloc(plain, 2 << 20));
	heapscope_slab_end();
	/* freed twice, never reported, NULL: no harm */
	heapscope_pool_free(other + 8);
	heapscope_pool_free(other + 8);
	heapscope_pool_free(NULL);
	heapscope_pool_alloc(NULL, NULL, 5);
	heapscope_pool_alloc(NULL, other + 100, 40); /* of no slab: does not end with it */
	heapscope_slab_end();
	free(other);
	free(plain);
	return 0;
}
"""


def test_slabs(annotated, record, print_json):
    document = print_json(record(annotated(source=SLABS)))
    totals, facts = document["totals"], document["facts"]
    # 10, 20, 50, 30, 400, 40; what is left: 30 in the slab that is not freed, 50, 40
    assert (totals["allocations"], totals["allocated_bytes"]) == (6, 550)
    assert (totals["live_blocks"], totals["live_bytes"]) == (3, 120)
    # 100, 200, 300 (freed again), then a MiB and two instead of the 100
    assert facts["pools"] == {"slabs": 5, "slab_most_bytes": (3 << 20) + 200, "slab_live_bytes": 1 << 20,
                              "allocations": 4, "most_bytes": 70, "live_bytes": 70}
    assert facts["unknown_frees"] == 1  # the second one of the same block


CHURN = r"""
#include "heapscope/heapscope.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SLABS = 3000, BLOCKS = 20, THREADS = 3 };

static void *work(void *memory)
{
	for (int i = 0; i < SLABS; i++) {
		char *slab = (char *)memory + i * 4096;
		for (int k = 0; k < BLOCKS; k++) {
			heapscope_pool_alloc(slab, slab + k * 16, 16);
			if (k % 2)
				heapscope_pool_free(slab + k * 16);
		}
		if (i % 3 == 0)
			heapscope_pool_reset(slab);
		heapscope_slab_begin();
		char *own = malloc(1024);
		heapscope_slab_end();
		for (int k = 0; k < BLOCKS; k++)
			heapscope_pool_alloc(own, own + k * 8, 8);
		free(own);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char *memory = mmap(NULL, (size_t)SLABS * THREADS * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, memory + (size_t)i * SLABS * 4096);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def test_many_slabs_and_threads(annotated, record, print_json):
    document = print_json(record(annotated(source=CHURN)))
    totals, facts = document["totals"], document["facts"]
    of_pools = 3 * 3000 * (20 + 20)
    assert facts["pools"]["allocations"] == of_pools and facts["pools"]["slabs"] == 9000
    assert facts["pools"]["live_bytes"] == 3 * 2000 * 10 * 16 and facts["pools"]["slab_live_bytes"] == 0
    started = [site for site in document["sites"] if "work" not in [frame["function"] for frame in site["frames"]]]
    assert totals["allocations"] - of_pools == sum(site["allocations"] for site in started)
    assert facts["unknown_frees"] == facts["repaired_frees"] == facts["lost_events"] == 0


# ---- pauses --------------------------------------------------------------------------------------------------------


def test_pause(annotated, record, print_json):
    document = print_json(record(annotated()))
    facts = document["facts"]
    assert (facts["skipped_allocations"], facts["skipped_bytes"]) == (7 + 1 + 1, 7 * 100000 + 200000 + 1)
    assert facts["unknown_frees"] == 1 + 3  # of blocks that were skipped, while paused and later
    assert not [site for site in document["sites"] if site["allocated_bytes"] >= 100000]
    grown = [site for site in document["sites"] if site["frames"][0]["function"] == "paused"]
    assert [(site["live_bytes"], site["reallocations"]) for site in grown] == [(1500, 1)]


PAUSED_FORK = r"""
#include "heapscope/heapscope.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *keep(void *p) { __asm__ volatile("" : "+r"(p) : : "memory"); return p; }

int main(void)
{
	keep(malloc(10));
	heapscope_phase_begin("parent's");
	heapscope_pause();
	if (fork() == 0) {
		keep(malloc(20));
		heapscope_resume();
		keep(malloc(30));
		_exit(0);
	}
	wait(NULL);
	keep(malloc(40));
	heapscope_resume();
	heapscope_resume(); /* one too many */
	keep(malloc(50));
	return 0;
}
"""


def test_pause_and_fork(annotated, record, print_json):
    recording = record(annotated(source=PAUSED_FORK))
    parent, child = map(print_json, recording.files)
    assert counts(parent)[:2] == (2, 60) and counts(child)[:2] == (1, 30)
    assert (parent["facts"]["skipped_bytes"], child["facts"]["skipped_bytes"]) == (40, 20)
    assert [(mark["kind"], mark["time_us"]) for mark in child["marks"]] == [("pause", 0)]
    assert [mark["kind"] for mark in parent["marks"]] == ["phase", "pause"]


PAUSED_THREADS = r"""
#include "heapscope/heapscope.h"
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, TIMES = 20000 };

static void *work(void *argument)
{
	for (int i = 0; i < TIMES; i++) {
		if (i % 16 == 0)
			heapscope_pause();
		void *volatile block = malloc(16);
		block = realloc(block, 2000);
		if (i % 16 == 8)
			heapscope_resume();
		free(block);
	}
	heapscope_resume();
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 100; i++)
		heapscope_resume();
	void *volatile last = malloc(77);
	(void)last;
	return 0;
}
"""


def test_threads_that_pause(annotated, record, print_json):
    """Whoever comes last, the recording goes on in the end; nothing is live that was freed."""
    document = print_json(record(annotated(source=PAUSED_THREADS)))
    facts = document["facts"]
    made = [site for site in document["sites"] if site["frames"] and site["frames"][0]["function"] == "work"]
    assert sum(site["allocations"] for site in made) + facts["skipped_allocations"] >= 4 * 20000 * 2
    assert all(site["live_bytes"] == 0 for site in made)
    assert [site["live_bytes"] for site in document["sites"] if site["frames"][0]["function"] == "main"].count(77) == 1
    assert facts["lost_events"] == 0 and all(mark["end_us"] is not None for mark in document["marks"])


# ---- names ---------------------------------------------------------------------------------------------------------


def test_thread_names(annotated, record, print_json, print_text):
    recording = record(annotated())
    document = print_json(recording)
    assert document["threads"][1]["name"] == "worker"
    assert "worker" in print_text(recording, "--threads")
    assert counts(print_json(recording, "--thread", "worker"))[:2] == (5, 50)


def test_rust(compile, record, print_json, tmp_path, tool):
    shutil.copy(ROOT / "include" / "heapscope" / "heapscope.rs", tmp_path / "heapscope.rs")
    shutil.copy(TARGETS / "annotated.rs", tmp_path / "main.rs")
    program = compile(tmp_path / "main.rs", "-O", "-D", "warnings", compiler=tool("rustc"), name="annotated")
    done = subprocess.run([program], capture_output=True, text=True, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    recording = record([program, "x"])
    assert recording.stdout == "recorded\ndone\n"
    document = print_json(recording)
    found = phases(document)
    assert (found["load"]["allocations"], found["load"]["allocated_bytes"], found["load"]["change_bytes"]) == (3, 12000, 0)
    assert (found["arena"]["allocations"], found["arena"]["allocated_bytes"], found["arena"]["change_bytes"]) == (20, 1280, 0)
    assert document["facts"]["pools"]["slab_most_bytes"] == 8192
    assert (document["facts"]["skipped_allocations"], document["facts"]["skipped_bytes"]) == (1, 50000)
    assert document["threads"][0]["name"] == "Hauptfaden ä"
    assert [mark["name"] for mark in document["marks"]] == ["load", "loaded", "arena", None]


def test_long_and_odd_names(annotated, record, print_json):
    """Of a long name the first 127 bytes count; what is no UTF-8 is repaired; many open phases do no harm."""
    recording = record(annotated(source=r"""
#include "heapscope/heapscope.h"
#include <stdlib.h>
int main(void)
{
	char name[1000];
	memset(name, 'x', 999);
	name[999] = 0;
	heapscope_phase_begin(name);
	heapscope_mark("");
	heapscope_mark("\xff\x01\n");
	for (int i = 0; i < 5000; i++)
		heapscope_phase_begin("open");
	void *volatile p = malloc(3);
	(void)p;
	return 0;
}
"""))
    document = print_json(recording)
    assert document["marks"][0]["name"] == "x" * 127
    assert [mark["name"] for mark in document["marks"][1:3]] == ["", "�\x01\n"]
    assert len(document["marks"]) == 1024 + 2
    assert phases(document)["open"]["allocations"] == 1


# ---- elsewhere -----------------------------------------------------------------------------------------------------


def test_page(annotated, record, run_heapscope, tmp_path):
    recording = record(annotated())
    page = tmp_path / "page.html"
    done = run_heapscope("export", "--format", "html", "-o", page, recording)
    assert done.returncode == 0, done.stderr
    text = re.search(r"<!--heapscope-data:([^-]*)-->", page.read_text("utf-8"))[1]
    data = zlib.decompress(base64.b64decode(text), wbits=31)
    document = json.loads(data[16:16 + int.from_bytes(data[8:12], "little")])
    assert [mark["name"] for mark in document["marks"]] == ["load", "parse", "half", "pool", "carved", "arena", "thread", "paused",
                                                            "(recording paused)", "end"]
    assert document["marks"][2]["end_us"] is None and document["marks"][-1]["end_us"] == document["facts"]["duration_us"]


def test_info(annotated, record, run_heapscope):
    done = run_heapscope("info", record(annotated()))
    assert "marks" in done.stdout and "recording was paused once by the program" in " ".join(done.stdout.split())


def test_merge(annotated, record, run_heapscope, print_json, print_text, tmp_path):
    """What pools and pauses kept out of the numbers adds up."""
    recording = record(annotated())
    merged = tmp_path / "merged.hs.gz"
    again = shutil.copy(recording, tmp_path / "again.hs.gz")
    done = run_heapscope("merge", recording, again, "-o", merged)
    assert done.returncode == 0, done.stderr
    document, one = print_json(merged), print_json(recording)
    assert document["facts"]["pools"] == {name: 2 * value for name, value in one["facts"]["pools"].items()}
    assert (document["facts"]["skipped_allocations"], document["facts"]["skipped_bytes"]) == (18, 1800002)
    assert document["marks"] == [] and document["phases"] is None
    assert "18 allocations of 1.7 MiB, while recordings were paused by the program" in " ".join(print_text(merged).split())
    done = run_heapscope("print", "--phase", "load", merged)
    assert done.returncode == 1 and "cannot be filtered by thread, size, time or phase" in done.stderr
