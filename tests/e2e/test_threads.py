"""Threads that pass blocks to each other, race with realloc on addresses that come back at once, live briefly, or are cut short by
the end of the process. Every number is exact in every run."""

import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402
import recording as recording_format  # noqa: E402

RUNS = 20
CLOCK_MONOTONIC_COARSE = 6  # linux/time.h


def check_whole(footer):
    """Nothing lost, nothing guessed: every block's end was recorded where it happened."""
    for name in ("lost_events", "repaired_frees", "unknown_frees"):
        assert footer[name] == 0, (name, footer)
    assert footer["stopped"] is None


def check_replay(recorded):
    """The independent reader follows each block; a block that ends twice or was never there raises."""
    recording = recording_format.Recording(recorded)
    replay = recording.replay()
    footer = recording.footer
    assert footer["allocations"] == replay.allocations
    assert footer["frees"] == replay.frees
    assert footer["allocated_bytes"] == replay.allocated_bytes
    assert footer["live_bytes"] == replay.live_bytes
    assert footer["live_blocks"] == len(replay.live)
    assert footer["peak_bytes"] == replay.peak_bytes
    assert footer["temporary"] == replay.temporary
    return recording


def at_end(profile, name):
    function = profile.function(name)
    return function["tbk"], function["tb"], function["ebk"], function["eb"]


@pytest.fixture
def runs(record, dhat):
    """runs(program) -> (Recording of FORMAT.md's reader, Dhat, what record returned) of each of RUNS runs."""

    def each(program):
        for number in range(RUNS):
            recorded = record(program)
            recording = check_replay(recorded) if number < 2 else recording_format.Recording(recorded)
            check_whole(recording.footer)
            yield recording, dhat_format.Dhat(dhat(recorded, "--raw")), recorded

    return each


def test_blocks_freed_by_another_thread(compile, runs):
    for _, profile, _ in runs(compile("thread_queue.c")):
        assert at_end(profile, "make_block") == (80000, 96239988, 80, 96248)


def test_realloc_on_recycled_addresses(compile, runs):
    for _, profile, recorded in runs(compile("thread_exchange.c")):
        assert at_end(profile, "main_kept") == (32, 32000, 32, 32000)
        calls, _, blocks, live_bytes = at_end(profile, "fresh")
        assert (calls, blocks, live_bytes) == (80000, 0, 0)
        calls, _, blocks, live_bytes = at_end(profile, "regrow")
        assert (calls, blocks, live_bytes) == (int(recorded.stdout), 0, 0)


def test_threads_that_come_and_go(compile, runs):
    for recording, profile, _ in runs(compile("thread_lives.c")):
        assert at_end(profile, "body") == (4000, 400000, 8, 800)
        assert at_end(profile, "specific") == (400, 133200, 0, 0)
        assert at_end(profile, "last_words") == (400, 6800, 8, 136)
        assert len(recording.threads) == 401  # main and the 400


@pytest.mark.parametrize("how", [[], ["_exit"]], ids=["return", "_exit"])
def test_exit_while_others_allocate(compile, record, dhat, how):
    program = compile("thread_exit.c")
    for number in range(RUNS):
        recorded = record([program, *how])
        recording = check_replay(recorded) if number < 1 else recording_format.Recording(recorded)
        check_whole(recording.footer)
        profile = dhat_format.Dhat(dhat(recorded, "--raw"))
        assert at_end(profile, "main_kept") == (50, 10000, 50, 10000)
        churned = profile.function("churn")
        assert churned["ebk"] <= 4 and churned["eb"] == 64 * churned["ebk"]
        assert churned["gbk"] <= 4


def test_fork_while_others_allocate(compile, record, dhat):
    recorded = record(compile("thread_fork.c"))
    parent = recording_format.Recording(recorded)
    check_whole(parent.footer)
    profile = dhat_format.Dhat(dhat(recorded, "--raw"))
    assert at_end(profile, "parent_kept") == (20, 6000, 20, 6000)
    assert at_end(profile, "child_kept") == (0, 0, 0, 0)
    churned = profile.function("churn")
    assert (churned["eb"], churned["ebk"]) == (0, 0)
    children = recorded.files[1:]
    assert len(children) == 20
    for path in children:
        child = recording_format.Recording(path)
        assert (child.header["origin"], child.header["parent_pid"]) == ("fork", parent.header["pid"])
        replay = child.replay()
        assert (replay.allocations, replay.live_bytes) == (50, 3500)
        assert all("child_kept" in child.functions(node) for _, node, _ in replay.live.values())


def test_turns(compile, record, print_json, dhat):
    """While one thread alone allocates, only some of its events get a stamp of their own. The order between threads stands, and
    times are wrong by less than the file says: two ticks of the kernel's timer."""
    program = compile("solos.c")
    tick_us = 2 * time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e6
    for number in range(3):
        recorded = record(program)
        recording = check_replay(recorded) if number < 1 else recording_format.Recording(recorded)
        check_whole(recording.footer)
        assert recording.footer["late_events"] == 0
        assert print_json(recorded)["facts"]["time_resolution_us"] == round(tick_us)
        profile = dhat_format.Dhat(dhat(recorded, "--raw"))
        for name, count, size in (("large", 16, 1000000), ("small", 16, 64), ("pair", 13 * 15000, 32)):
            point = profile.function(name)
            assert (point["tbk"], point["tb"], point["ebk"]) == (count, count * size, 0)
        assert profile.function("large")["gbk"] == 1
        [begin] = [event for event in recording.events() if event.size == 5000]
        [end] = [event for event in recording.events() if event.ended == begin.number]
        assert 500000 - tick_us < end.time_us - begin.time_us < 1500000


def test_exact_times_of_few_events(compile, record, print_json):
    assert print_json(record(compile("thread_lives.c")))["facts"]["time_resolution_us"] <= 64
