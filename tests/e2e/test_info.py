"""heapscope info, on recordings made by hand (their members are known) and on a stripped program."""

import re
import subprocess

import made_recording as made


def flat(text):
    return " ".join(text.split())


def test_whole_file(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole())
    done = run_heapscope("info", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  file       {len(made.whole())} B in 8 members\n" in done.stdout
    for kind, items, member in [("header", 1, made.header()), ("nodes", 3, made.nodes()), ("events", 4, made.events()),
                                ("samples", 2, made.samples()), ("footer", 1, made.footer())]:
        assert re.search(rf"^  {kind} +1 +{items} +{len(member)} B +\d+ B$", done.stdout, re.M)
    assert "  complete: no event lost, every stack whole\n" in done.stdout
    assert re.search(r"^MODULES WITHOUT DEBUG INFORMATION +0 of 1 module, 1 in stacks\n  none\n$", done.stdout, re.M)
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    coloured = run_heapscope("info", "--color", "always", path).stdout
    assert "\033[" in coloured and re.sub(r"\033\[\d*m", "", coloured) == done.stdout


def test_what_is_missing_is_counted(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole(lost_events=7, truncated_stacks=1, broken_stacks=2, stopped="the disk was full"))
    text = flat(run_heapscope("info", path).stdout)
    assert "7 events lost: all numbers are too low by them" in text
    assert "1 stack without outer callers: too deep" in text
    assert "2 stacks without outer callers: code without unwind tables" in text
    assert "recording ended before the program did: the disk was full" in text
    assert "complete: " not in text


def test_cut_file(run_heapscope, tmp_path):
    path = tmp_path / "cut.hs.gz"
    path.write_bytes(made.header() + made.modules() + made.nodes() + made.events() + made.symbols()[:50])
    done = run_heapscope("info", path)
    assert done.returncode == 0
    assert "in 4 members; the last 50 B are not whole" in done.stdout
    assert "the recording is cut after 4 events" in flat(done.stdout)
    assert "build-id abcd\n" in done.stdout  # as made_recording has it
    assert "names are written when the program ends" in flat(done.stdout)


def test_stripped_program(compile, record, run_heapscope, tool):
    program = compile("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); return p == NULL; }\n",
                      "-s", "-Wl,--build-id")
    notes = subprocess.run([tool("readelf"), "-n", program], capture_output=True, text=True).stdout
    text = run_heapscope("info", record(program)).stdout
    assert f"    build-id {re.search(r'Build ID: ([0-9a-f]+)', notes)[1]}\n" in text
    assert re.search(r"^  \S*target\n    \d+ frames?: \d+ without line, \d+ without name$", text, re.M)
    assert "-dbgsym" in text


def test_mistakes(run_heapscope, tmp_path):
    bad = tmp_path / "bad.hs.gz"
    bad.write_bytes(b"this is no recording\n")
    done = run_heapscope("info", bad)
    assert (done.returncode, done.stdout) == (1, "") and "bad.hs.gz" in done.stderr
    done = run_heapscope("info")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("heapscope: info: which recording? e.g. heapscope info server.hs.gz\n")
    done = run_heapscope("info", "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: heapscope info ")
    assert max(map(len, done.stdout.splitlines())) <= 80
