"""The command line: help, mistakes, exit codes, bad files. The recordings are made by hand (made_recording.py)."""

import gzip
import json
import os
import re
import signal
import stat
import subprocess

import made_recording as made
import pytest

from conftest import on_terminal

COMMANDS = ["run", "print", "export"]


def columns(text):
    """The widest line, those with the recording's path aside: a command to copy is never broken."""
    return max(len(line) for line in text.splitlines() if ".hs.gz" not in line)


# ---- help and mistakes -------------------------------------------------------------------------------------


def test_help_names_every_command(run_heapscope):
    done = run_heapscope("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", done.stdout, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(run_heapscope, command):
    done = run_heapscope(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: heapscope {command} ")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert run_heapscope("help", command).stdout == done.stdout
    assert run_heapscope(command, "-h").stdout == done.stdout


def test_version(run_heapscope, build):
    done = run_heapscope("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"heapscope \d+\.\d+\.\d+\nrecording format 7, region \d+\n", done.stdout)
    elfutils = re.search(r"elfutils ([\d.]+),", done.stdout)[1]
    assert subprocess.run(["pkg-config", "--modversion", "libdw"], capture_output=True, text=True).stdout.strip() == elfutils
    assert "\nunwinder: own (.eh_frame), frame pointers, libunwind.so.8 (found)\n" in done.stdout
    assert f"\npreloads: {build}/preload/libheapscope.so\n" in done.stdout
    assert "\nexports: html svg dhat" in done.stdout and "\nimports: heaptrack dhat folded\n" in done.stdout
    assert run_heapscope("-V").stdout == done.stdout


def test_no_command(run_heapscope):
    done = run_heapscope()
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: heapscope COMMAND" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["pirnt"], 'unknown command "pirnt"; did you mean "print"?'),
    (["frobnicate"], 'unknown command "frobnicate"'),
    (["--verbose"], 'unknown option "--verbose"'),
    (["--hepl"], 'unknown option "--hepl"; did you mean "--help"?'),
    (["record"], 'unknown command "record"; did you mean "run"?'),
    (["completion", "bahs"], 'completion: unknown shell "bahs"; did you mean bash?'),
    (["print", "--color", "alwyas", "a"],
     'print: --color wants one of auto, always, never, not "alwyas"; did you mean always?'),
    (["print"], "print: which recording? e.g. heapscope print server.hs.gz"),
    (["print", "a", "b"], 'print: "b" is one operand too many'),
    (["print", "--jsno", "a"], 'print: unknown option "--jsno"; did you mean --json?'),
    (["print", "-n", "many", "a"], 'print: --number wants a number, not "many"'),
    (["print", "--color", "red", "a"], 'print: --color wants one of auto, always, never, not "red"'),
    (["export", "a"], "export: which format? --format NAME with one of html, svg, dhat, folded, speedscope, pprof, massif, callgrind, json"),
    (["export", "--format", "dhta", "a"], 'export: unknown format "dhta"; did you mean dhat?'),
    (["export", "--format", "dhat"], "export: which recording? e.g. heapscope export --format dhat server.hs.gz"),
    (["run"], "run: which program? e.g. heapscope run ./server --once"),
    (["run", "--follow", "some", "true"], 'run: --follow wants one of all, exec, none, not "some"'),
    (["run", "--outptu", "x", "true"], 'run: unknown option "--outptu"; did you mean --output?'),
    (["help", "pirnt"], 'unknown command "pirnt"; did you mean "print"?'),
])
def test_usage_errors(run_heapscope, arguments, message):
    done = run_heapscope(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0] == f"heapscope: {message}"
    assert re.match(r'heapscope: see "heapscope ', lines[-1]) or arguments == ["export", "--format", "dhat"]


# ---- files -------------------------------------------------------------------------------------------------


def bad_files():
    whole = made.whole()
    yield "missing", None
    yield "empty", b""
    yield "text", b"this is no recording\n" * 100
    yield "random", bytes(range(256)) * 16
    yield "other gzip", gzip.compress(b"hello")
    yield "no header", whole[len(made.header()):]
    yield "newer", made.header(version=made.VERSION + 1) + made.modules()
    yield "header cut", whole[:40]
    yield "header not JSON", made.member(1, b"{") + made.modules()
    yield "directory", "directory"


@pytest.mark.parametrize("content", [pytest.param(content, id=name) for name, content in bad_files()])
@pytest.mark.parametrize("command", [["print"], ["print", "--json"], ["export", "--format", "dhat"]])
def test_unreadable_files(run_heapscope, tmp_path, command, content):
    path = tmp_path / "bad.hs.gz"
    if content == "directory":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    done = run_heapscope(*command, path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert all(line.startswith("heapscope: ") for line in done.stderr.splitlines())
    assert "bad.hs.gz" in done.stderr
    assert sorted(tmp_path.iterdir()) == before  # nothing was written


@pytest.mark.parametrize("other", [made.VERSION - 1, made.VERSION + 1, 77, -1])
@pytest.mark.parametrize("command", [["print"], ["info"], ["diff"], ["check", "--max-peak", "1GiB"], ["merge", "-o", "all.hs.gz"],
                                     ["export", "--format", "dhat"]], ids=lambda command: command[0])
def test_other_versions_are_named(run_heapscope, tmp_path, command, other):
    """The rest of the file is not looked at: an older or newer one is not called damaged."""
    path = tmp_path / "other.hs.gz"
    path.write_bytes(made.header(version=other, heapscope="9.8.7") + made.member(4, b"columns of another order", 1000))
    done = run_heapscope(*command, path, *([path] if command == ["diff"] else []), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"heapscope: '{path}' was made by another version of heapscope (9.8.7), in format {other}; this one "
                           f"(0.1.0) reads format {made.VERSION}: record again, or use the version that made it\n")
    assert [file.name for file in tmp_path.iterdir()] == ["other.hs.gz"]


def test_truncated_file_shows_what_is_there(run_heapscope, tmp_path):
    path = tmp_path / "cut.hs.gz"
    path.write_bytes(made.header() + made.modules() + made.nodes() + made.events() + made.symbols()[:50])
    done = run_heapscope("print", path)
    assert done.returncode == 0
    assert re.match(r"heapscope: warning: .*cut\.hs\.gz: .+\n$", done.stderr)
    assert "\nwarning: " in done.stdout
    document = json.loads(run_heapscope("print", "--json", path).stdout)
    assert document["facts"]["warning"]
    assert document["facts"]["end"] == "running"
    assert document["totals"]["peak_bytes"] == 3000
    assert document["totals"]["allocations"] == 3


def test_every_truncation(run_heapscope, tmp_path):
    """Cut at any member border and at odd places in between: an answer or a message, never a crash."""
    whole = made.whole()
    path = tmp_path / "cut.hs.gz"
    for size in range(0, len(whole), 23):
        path.write_bytes(whole[:size])
        done = run_heapscope("print", path)
        assert done.returncode == (0 if size >= len(made.header()) else 1), (size, done.stderr)


# ---- the report --------------------------------------------------------------------------------------------


def test_report(print_text, whole):
    text = print_text(whole)
    assert text.startswith("/srv/made --once\npid 4242, 50 us, exit status 0, recorded ")
    assert "  peak          2.9 KiB   at 40 us, in 1 block\n" in text
    assert "  at exit       2.9 KiB   in 1 block that nobody freed\n" in text
    assert "  allocated     4.4 KiB   in 3 calls, 33.3% of them temporary\n" in text
    assert "\n 1  2.9 KiB 100.0% 100.0%       1  keep                                made.c:20\n" in text
    assert "    > keep  made.c:20\n      main  made.c:10\n" in text
    assert columns(text) <= 80
    assert "\033" not in text


def test_json(print_json, whole):
    document = print_json(whole)
    assert document["schema"] == "heapscope-print-1"
    totals = document["totals"]
    assert (totals["allocated_bytes"], totals["allocations"], totals["frees"]) == (4500, 3, 1)
    assert (totals["peak_bytes"], totals["peak_us"], totals["live_blocks"]) == (3000, 40, 1)
    assert (totals["moved_bytes"], totals["reallocations"], totals["temporary_bytes"]) == (1000, 1, 500)
    keep, drop = document["sites"]
    assert [frame["function"] for frame in keep["frames"]] == ["keep", "main"]
    assert [(frame["file"], frame["line"]) for frame in drop["frames"]] == [("/srv/made.c", 30), ("/srv/made.c", 10)]
    assert (keep["allocations"], keep["allocated_bytes"], keep["live_bytes"]) == (2, 4000, 3000)
    assert document["rss"] == [[5, 8192], [35, 20480]]
    assert document["facts"]["command"] == ["/srv/made", "--once"]
    assert print_json(whole, "-n", "1")["site_count"] == 2
    assert len(print_json(whole, "-n", "1")["sites"]) == 1


def test_documented_json_names(print_json, whole, request):
    """docs/json.md names every key that the document has."""
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    document = print_json(whole)
    keys = set(document) | set(document["facts"]) | set(document["totals"]) | set(document["sites"][0]) | \
        set(document["sites"][0]["frames"][0]) | set(document["modules"][0]) | set(document["threads"][0])
    assert [key for key in sorted(keys) if f"`{key}`" not in documentation] == []


def test_hidden_sites_are_counted(print_text, whole):
    assert "    1 more site, 1 (33.3%); -n 0 shows all\n" in print_text(whole, "-n", "1")


def test_hostile_names_do_not_reach_the_terminal(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    name = b"\033]0;title\007\033[2J\xff<<<(((>>>)))" + b"x" * 5000
    path.write_bytes(made.header(command=["\033[31mred", "a\nb"]) + made.modules() + made.nodes() + made.events() +
                     made.symbols(names=(b"main", name, b"d\nrop")) + made.footer())
    done = run_heapscope("print", path)
    assert done.returncode == 0
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)
    assert columns(done.stdout) <= 80
    assert json.loads(run_heapscope("print", "--json", path).stdout)["totals"]["peak_bytes"] == 3000


def test_colour(heapscope, run_heapscope, whole):
    environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    assert "\033[1m" in on_terminal(heapscope, "print", "--no-pager", whole, env=environment)
    assert "\033" not in on_terminal(heapscope, "print", "--no-pager", whole, env={**environment, "NO_COLOR": "1"})
    assert "\033" not in on_terminal(heapscope, "print", "--no-pager", whole, env={**environment, "TERM": "dumb"})
    assert "\033" not in on_terminal(heapscope, "print", "--no-pager", "--color=never", whole, env=environment)
    always = {**environment, "NO_COLOR": "1"}
    assert "\033[1m" in on_terminal(heapscope, "print", "--no-pager", "--color=always", whole, env=always)
    assert "\033[1m" in run_heapscope("print", "--color", "always", whole).stdout


def test_width_and_ascii(run_heapscope, whole):
    wide = run_heapscope("print", whole, env={"COLUMNS": "120"}).stdout
    assert 100 < columns(wide) <= 120
    plain = run_heapscope("print", whole, env={"LC_ALL": "C"}).stdout
    assert plain.isascii() and "| " in plain


def test_output_that_cannot_be_written(heapscope, whole):
    with open("/dev/full", "w") as full:
        done = subprocess.run([heapscope, "print", whole], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "heapscope: cannot write the output: No space left on device\n"


# ---- export ------------------------------------------------------------------------------------------------


def test_export_default_name_and_next_step(run_heapscope, whole, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    done = run_heapscope("export", "--format", "dhat", whole, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("heapscope: wrote made.dhat.json; next: ") and "dh_view.html" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["made.dhat.json"]
    assert json.loads((folder / "made.dhat.json").read_text())["dhatFileVersion"] == 2


def test_export_to_standard_output(run_heapscope, whole):
    done = run_heapscope("export", "--format=dhat", whole, "-o", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["pid"] == 4242


def test_export_list(run_heapscope):
    done = run_heapscope("export", "--list")
    assert done.returncode == 0 and "\ndhat " in done.stdout


def test_export_keeps_the_old_file_when_it_fails(run_heapscope, whole, tmp_path):
    output = tmp_path / "out.json"
    output.write_text("before")
    bad = tmp_path / "bad.hs.gz"
    bad.write_bytes(b"no")
    assert run_heapscope("export", "--format", "dhat", bad, "-o", output).returncode == 1
    assert output.read_text() == "before"
    done = run_heapscope("export", "--format", "dhat", whole, "-o", tmp_path / "missing" / "out.json")
    assert done.returncode == 1 and "No such file or directory" in done.stderr
    done = run_heapscope("export", "--format", "dhat", whole, "-o", "/dev/full")
    assert done.returncode == 1 and "No space left on device" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.hs.gz", "made.hs.gz", "out.json"]


def test_export_replaces_a_file_but_not_its_mode(run_heapscope, whole, tmp_path):
    output = tmp_path / "out.json"
    output.write_text("before")
    output.chmod(0o640)
    assert run_heapscope("export", "--format", "dhat", whole, "-o", output).returncode == 0
    assert json.loads(output.read_text())["dhatFileVersion"] == 2
    assert stat.S_IMODE(output.stat().st_mode) == 0o640


# ---- run ---------------------------------------------------------------------------------------------------


def test_run_says_what_to_do_next(run_heapscope, tmp_path):
    done = run_heapscope("run", "/bin/true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "heapscope: wrote true.hs.gz; next: heapscope print true.hs.gz\n"


def test_run_names_what_the_program_became(run_heapscope, tmp_path):
    """A wrapper script's own recording is seldom what was wanted."""
    script = tmp_path / "wrapper"
    script.write_text("#!/bin/sh\nexec /bin/echo hello\n")
    script.chmod(0o755)
    done = run_heapscope("run", script, cwd=tmp_path)
    (became,) = tmp_path.glob("wrapper.*.echo.hs.gz")
    assert done.stderr == ("heapscope: wrote wrapper.hs.gz (and 1 more, of children and of programs that they became); next, for what it "
                           f"became in the end: heapscope print {became.name}\n")
    assert run_heapscope("print", became).stdout.startswith("/bin/echo hello\n")


def test_run_quiet(run_heapscope, tmp_path):
    done = run_heapscope("run", "-q", "/bin/echo", "--json", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "--json -q\n", "")


def test_run_passes_streams_and_status(run_heapscope, tmp_path):
    done = run_heapscope("run", "sh", "-c", "cat; echo problem >&2; exit 7", cwd=tmp_path, input="some words\n")
    assert (done.returncode, done.stdout) == (7, "some words\n")
    assert "problem\n" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL, signal.SIGABRT])
def test_run_dies_of_the_same_signal(run_heapscope, tmp_path, number):
    done = run_heapscope("run", "sh", "-c", f"kill -{int(number)} $$", cwd=tmp_path)
    assert done.returncode == -number
    assert (tmp_path / "sh.hs.gz").exists()
    assert not list(tmp_path.glob("core*"))


def test_run_on_a_terminal(heapscope, tmp_path):
    """No colour, no remains of a progress line: what the target said and where the recording is."""
    output = on_terminal(heapscope, "run", "-o", tmp_path / "x.hs.gz", "/bin/echo", "hello",
                             env={**os.environ, "TERM": "xterm"})
    assert output == f"hello\r\nheapscope: wrote {tmp_path}/x.hs.gz; next: heapscope print {tmp_path}/x.hs.gz\r\n"


def test_run_library_missing(run_heapscope, tmp_path):
    done = run_heapscope("run", "/bin/true", cwd=tmp_path, env={"HEAPSCOPE_LIBRARY": "/nonexistent.so"})
    assert done.returncode == 125
    assert 'cannot read the library "/nonexistent.so" that HEAPSCOPE_LIBRARY names' in done.stderr
    assert not list(tmp_path.iterdir())


def test_run_into_a_device_does_not_suggest_printing_it(run_heapscope):
    done = run_heapscope("run", "-o", "/dev/null", "--", "true")
    assert done.returncode == 0
    assert done.stderr == "heapscope: wrote /dev/null\n"
