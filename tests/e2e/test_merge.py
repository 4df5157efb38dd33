"""heapscope merge: sums by hand, that the order of merging does not matter, and what it must not count."""

import gzip
import json
import os
import pathlib
import re
import subprocess

import made_recording as made
import pytest


def variant(names=("main", "keep", "drop"), command=("/srv/made", "--once"), start_us=1_700_000_000_000_000, **footer):
    """The recording of made_recording.py with other names or facts."""
    return (made.header(command=list(command), start_us=start_us) + made.modules() + made.nodes() + made.events() + made.samples() +
            made.threads() + made.symbols(names) + made.footer(**footer))


@pytest.fixture
def files(tmp_path):
    """files(bytes, ...) -> paths"""

    def write(*contents):
        paths = [tmp_path / f"rank{number}.hs.gz" for number in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_bytes(content)
        return paths

    return write


@pytest.fixture
def merge(run_heapscope, tmp_path):
    """merge(path, ...) -> path of the merged file"""
    count = 0

    def run(*paths):
        nonlocal count
        count += 1
        output = tmp_path / f"merged{count}.hs.gz"
        done = run_heapscope("merge", *paths, "-o", output)
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr
        return output

    return run


def own_functions(document):
    return {site["frames"][site["own_frame"]]["function"]: site for site in document["sites"]}


def test_by_hand(files, merge, print_json, print_text):
    """keep allocates 1000 and grows it to 3000, drop 500, which is temporary; the second run starts a second later."""
    first = variant(lost_events=3)
    second = variant(names=("main", "keep", "other"), start_us=1_700_000_001_000_000, unknown_frees=2)
    path = merge(*files(first, second))
    document = print_json(path)
    totals, facts = document["totals"], document["facts"]
    assert (totals["allocations"], totals["allocated_bytes"], totals["frees"], totals["reallocations"]) == (6, 9000, 2, 2)
    assert (totals["peak_bytes"], totals["peak_blocks"], totals["live_bytes"], totals["live_blocks"]) == (6000, 2, 6000, 2)
    assert (totals["temporary"], totals["temporary_bytes"], totals["moved"], totals["moved_bytes"]) == (2, 1000, 2, 2000)
    # keep's blocks live 30 us, and 10 us until the end at 50 us; drop's 10 us: 50 us each
    assert totals["lifetime_us"] == 100
    assert totals["peak_us"] is None and document["timeline"] is None and document["threads"] is None
    sites = own_functions(document)
    assert set(sites) == {"keep", "drop", "other"}
    assert (sites["keep"]["allocated_bytes"], sites["keep"]["max_bytes"], sites["keep"]["max_blocks"]) == (8000, 6000, 2)
    assert (sites["drop"]["allocated_bytes"], sites["drop"]["max_bytes"], sites["drop"]["temporary"]) == (500, 500, 1)
    assert facts["lost_events"] == 3 and facts["unknown_frees"] == 2 and facts["warning"] is None
    assert facts["start_unix_us"] == 1_700_000_000_000_000 and facts["duration_us"] == 1_000_050
    assert facts["program"] == "/srv/made" and facts["pid"] is None
    assert facts["merged"] == {
        "recordings": 2, "incomplete": 0, "commands": [{"command": "/srv/made --once", "recordings": 2}],
        "end_unix_us": 1_700_000_001_000_050, "longest_us": 50, "sum_us": 100}
    text = print_text(path)
    assert text.startswith("2 recordings merged: /srv/made --once\n")
    assert "summed up over each recording's own peak" in text and "3 events could not be recorded" in text


def test_any_order(files, merge, record, compile):
    """Byte for byte, unpacked: a file that was merged says no less than those that it was made of."""
    def merged(*paths):
        return gzip.decompress(merge(*paths).read_bytes())

    a, b, c = files(variant(), variant(names=("main", "x", "y"), command=["b"]), variant(names=("start", "keep", "y")))
    d = record(compile("containers.cc", compiler="g++"))
    at_once = merged(a, b, d, c)
    assert merged(merge(a, b), d, c) == at_once
    assert merged(merge(merge(a, b), d), merge(c)) == at_once
    assert merged(a, merge(b, merge(d, c))) == at_once


def test_one_is_itself(record, compile, merge, print_json):
    """Sites, names and numbers of a real program, but for addresses, times and what threads did."""
    recording = record(compile("containers.cc", compiler="g++"))
    for options in ([], ["--raw"]):
        before, after = print_json(recording, *options), print_json(merge(recording), *options)
        assert before["site_count"] == after["site_count"] > 10
        for site, merged in zip(before["sites"], after["sites"]):
            for key in ("allocations", "allocated_bytes", "peak_bytes", "peak_blocks", "live_bytes", "temporary", "moved_bytes",
                        "lifetime_us", "reallocations", "folded_frames", "own_frame"):
                assert site[key] == merged[key], key
            if options:
                assert (site["max_bytes"], site["max_blocks"]) == (merged["max_bytes"], merged["max_blocks"])
            for frame, other in zip(site["frames"], merged["frames"], strict=True):
                assert all(frame[key] == other[key] for key in ("function", "file", "line", "module", "inlined", "internal"))
        for key in ("allocations", "allocated_bytes", "peak_bytes", "live_bytes", "temporary", "frees"):
            assert before["totals"][key] == after["totals"][key]


def test_children(record, merge, print_json, compile):
    program = compile("strings.c")
    recording = record(["sh", "-c", f"{program} >/dev/null & {program} >/dev/null & wait"])
    assert len(recording.files) >= 3
    documents = [print_json(file) for file in recording.files]
    document = print_json(merge(*recording.files))
    for key in ("allocations", "allocated_bytes", "peak_bytes", "live_bytes", "temporary", "moved_bytes", "frees"):
        assert document["totals"][key] == sum(each["totals"][key] for each in documents), key
    assert document["facts"]["merged"]["recordings"] == len(recording.files)
    # the two children do the same, so they add no sites to each other's
    raw = [print_json(file, "--raw") for file in recording.files]
    merged = print_json(merge(*recording.files), "--raw")
    assert merged["site_count"] < sum(each["site_count"] for each in raw)


def test_cut_and_damaged(files, merge, print_json, print_text, run_heapscope, tmp_path):
    whole = variant()
    footer = len(made.footer())
    running, torn = whole[:-footer], whole[:-footer - 9]
    path = merge(*files(whole, running, torn))
    assert merge.stderr.count("warning") == 2 and "2 of them incomplete" in merge.stderr
    document = print_json(path)
    assert document["totals"]["allocations"] == 9
    assert document["facts"]["merged"]["incomplete"] == 2
    assert "2 of the 3 merged recordings were cut or damaged" in document["facts"]["warning"]
    # merged again they are not counted again
    document = print_json(merge(path, *files(whole)))
    assert document["facts"]["merged"]["incomplete"] == 2 and document["facts"]["merged"]["recordings"] == 4
    # a recorder that gave up
    path = merge(*files(whole, variant(stopped="the disk was full")))
    assert print_json(path)["facts"]["merged"]["incomplete"] == 1
    # a merged file that is cut itself
    cut = tmp_path / "cut.hs.gz"
    cut.write_bytes(path.read_bytes()[:-40])
    assert print_json(merge(cut, *files(whole)))["facts"]["merged"]["incomplete"] == 2
    # what is no recording at all
    stranger = tmp_path / "stranger"
    stranger.write_text("hello\n")
    done = run_heapscope("merge", *files(whole), stranger, "-o", tmp_path / "out.hs.gz")
    assert done.returncode == 1 and "is a text file" in done.stderr and not (tmp_path / "out.hs.gz").exists()


def test_unknown_stays_unknown(files, merge, print_json, run_heapscope, tmp_path):
    folded = tmp_path / "made.peak.folded"
    folded.write_text("main;keep 70\n")
    imported, samples = tmp_path / "imported.hs.gz", tmp_path / "samples.hs.gz"
    assert run_heapscope("import", folded, "-o", imported).returncode == 0
    assert run_heapscope("import", "--metric", "samples", folded, "-o", samples).returncode == 0
    document = print_json(merge(imported, *files(variant())))
    assert document["totals"]["peak_bytes"] == 3070
    assert all(document["totals"][key] is None for key in ("allocations", "live_bytes", "temporary", "peak_blocks"))
    assert document["facts"]["imported"] is None
    done = run_heapscope("merge", imported, samples, "-o", tmp_path / "out.hs.gz")
    assert done.returncode == 1 and "do not add up" in done.stderr and not (tmp_path / "out.hs.gz").exists()
    calls = tmp_path / "calls.hs.gz"
    assert run_heapscope("import", "--metric", "calls", folded, "-o", calls).returncode == 0
    done = run_heapscope("merge", imported, calls, "-o", tmp_path / "out.hs.gz")
    assert done.returncode == 1 and "do not add up" in done.stderr
    alone = print_json(merge(samples))
    assert alone["facts"]["subject"] == "samples" and alone["facts"]["imported"] == "folded"


def test_usage(files, run_heapscope, tmp_path):
    a, b = files(variant(), variant())
    done = run_heapscope("merge", a, b)
    assert done.returncode == 2 and "which output" in done.stderr
    assert run_heapscope("merge", "-o", tmp_path / "x").returncode == 2
    done = run_heapscope("merge", a, b, "-o", b)
    assert done.returncode == 2 and "an input and the output" in done.stderr and b.read_bytes() == variant()
    link = tmp_path / "link"
    link.symlink_to(a)
    done = run_heapscope("merge", a, link, "-o", tmp_path / "x")
    assert done.returncode == 2 and "the same file" in done.stderr
    done = run_heapscope("merge", a, b, "-o", "-", binary=True)
    assert done.returncode == 0 and done.stdout.startswith(b"\x1f\x8b") and done.stderr == b""


def hinted(tmp_path, words):
    """The files that a command line of the documentation would merge, of those in the folder."""
    assert words.startswith("heapscope merge ") and " -o " in words
    patterns = words.removeprefix("heapscope merge ").split(" -o ")[0]
    listed = subprocess.run(["bash", "-c", f"ls -1 {patterns}"], cwd=tmp_path, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def test_hints_leave_out_the_run_before(run_heapscope, tmp_path, request):
    """`heapscope run` keeps NAME.old.hs.gz of the run before, children's files have their process's number."""
    root = request.config.rootpath.parent
    for name in ["server", "server.old", "server.4711.worker", "server.12.worker.2", "rank.0", "rank.0.old", "rank.12", "rank.12.old"]:
        (tmp_path / f"{name}.hs.gz").write_bytes(variant())
    hint = run_heapscope("merge").stderr.split("e.g. ")[1].splitlines()[0]
    processes = ["server.12.worker.2.hs.gz", "server.4711.worker.hs.gz", "server.hs.gz"]
    assert hinted(tmp_path, hint) == processes
    ranks = ["rank.0.hs.gz", "rank.12.hs.gz"]
    written = re.findall(r"heapscope merge [^#\n]*", (root / "docs" / "import.md").read_text() + (root / "README.md").read_text())
    assert [hinted(tmp_path, line) for line in written] == [processes, ranks, ranks]


def test_the_run_before_is_pointed_out(merge, tmp_path, print_json):
    files = [tmp_path / name for name in ("a.hs.gz", "a.old.hs.gz", "b.old.hs.gz", ".old.hs.gz")]
    for path in files:
        path.write_bytes(variant())
    merged = merge(*files)
    assert merge.stderr.splitlines()[0] == (f'heapscope: warning: "{files[1]}" is the run before that of "{files[0]}": both count; '
                                            "leave it out if one run is meant")
    assert merge.stderr.count("warning") == 1 and print_json(merged)["totals"]["allocations"] == 12


def test_other_commands(files, merge, run_heapscope, tmp_path):
    a, b = files(variant(), variant(names=("main", "keep", "other")))
    merged = merge(a, b)
    assert run_heapscope("info", merged).returncode == 0
    done = run_heapscope("diff", "--json", a, merged)
    sites = {site["frames"][0]["function"]: site for site in json.loads(done.stdout)["sites"]}
    assert (sites["keep"]["old"]["peak_bytes"], sites["keep"]["new"]["peak_bytes"]) == (3000, 6000)
    for exporter in ("dhat", "folded", "speedscope", "pprof", "callgrind"):
        assert run_heapscope("export", "--format", exporter, "-o", tmp_path / "x", merged).returncode == 0
    dhat = tmp_path / "dhat.json"
    assert run_heapscope("export", "--format", "dhat", "-o", dhat, merged).returncode == 0
    assert sum(point["gb"] for point in json.loads(dhat.read_text())["pps"]) == 6000


def test_memory_follows_the_sites(record, compile, heapscope, tmp_path):
    """Forty copies take no more memory than two."""
    recording = record(compile("churn.c"))
    copies = [tmp_path / f"copy{number}.hs.gz" for number in range(40)]
    for copy in copies:
        copy.write_bytes(pathlib.Path(recording).read_bytes())

    def most_kib(paths):
        arguments = [os.fspath(heapscope), "merge", *map(os.fspath, paths), "-o", os.fspath(tmp_path / "all.hs.gz")]
        pid = os.posix_spawn(arguments[0], arguments, os.environ)
        _, status, usage = os.wait4(pid, 0)
        assert status == 0
        return usage.ru_maxrss

    assert most_kib(copies) < most_kib(copies[:2]) * 1.3
