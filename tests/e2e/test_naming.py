"""Addresses get their names while the program runs; each one gets it, once."""

import os
import subprocess
import sys
import time

import pytest

from conftest import ROOT, TARGETS, clean_environment
from reliability import build, check_complete, facts, kept

sys.path.insert(0, os.fspath(ROOT / "tests" / "tools"))
import recording as second_reader  # noqa: E402

FUNCTIONS = 200


def with_separate_lines(folder, source, *flags, name):
    """Builds a file with its lines in another one, NAME.debug beside it. Returns the paths of both."""
    path = build(folder, source, *flags, name=name)
    debug = path.with_name(name + ".debug")
    for command in ["--only-keep-debug", path, debug], ["--strip-debug", f"--add-gnu-debuglink={debug}", path]:
        subprocess.run(["objcopy", *command], check=True, timeout=60)
    return path, debug


def is_open(pid, path):
    """Whether a process holds a file open."""
    for descriptor in os.scandir(f"/proc/{pid}/fd"):
        try:
            if os.readlink(descriptor.path) == os.fspath(path):
                return True
        except FileNotFoundError:
            pass  # closed meanwhile
    return False


def wait_until_open(running, path):
    end = time.monotonic() + 60
    while not is_open(running.pid, path):
        assert running.poll() is None and time.monotonic() < end, f"{path} was not opened while the program ran"
        time.sleep(0.01)


def lines_of(document, function):
    return {frame["line"] for frame in document["frames"] if frame["function"] == function}


def test_named_while_it_runs(heapscope, print_json, tmp_path):
    """The lines of the program and of a library that it opens later stand in files that are gone when it ends: names that are only
    looked for then would have no lines."""
    program, program_lines = with_separate_lines(tmp_path, "modules.c", name="modules")
    library, library_lines = with_separate_lines(tmp_path, "plugin.c", "-DPLUGIN=a", "-DSIZE=1000", "-fPIC", "-shared", name="liba.so")
    output = tmp_path / "modules.hs.gz"
    with subprocess.Popen([heapscope, "run", "-q", "-o", output, program, "late", library], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=clean_environment()) as running:
        assert running.stdout.readline() == b"ready\n"
        wait_until_open(running, program_lines)
        assert not is_open(running.pid, library_lines)
        running.stdin.write(b"x")
        running.stdin.flush()
        assert running.stdout.readline() == b"open\n"
        wait_until_open(running, library_lines)
        program_lines.unlink()
        library_lines.unlink()
        running.communicate(b"x", timeout=60)
    assert running.returncode == 0
    document = print_json(output)
    check_complete(document)
    assert facts(document, "main_kept") == kept(1, 3) and facts(document, "a_keeps") == kept(4, 1000)
    for function in "main_kept", "mode_late", "a_keeps", "entry":
        assert lines_of(document, function) and None not in lines_of(document, function), function


def test_not_named_when_asked_not_to(heapscope, print_json, tmp_path):
    program, lines = with_separate_lines(tmp_path, "modules.c", name="modules")
    library = build(tmp_path, "plugin.c", "-DPLUGIN=a", "-DSIZE=1000", "-fPIC", "-shared", name="liba.so")
    output = tmp_path / "modules.hs.gz"
    with subprocess.Popen([heapscope, "run", "-q", "--no-symbols", "-o", output, program, "late", library], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, env=clean_environment()) as running:
        for answer in b"ready\n", b"open\n":
            assert running.stdout.readline() == answer and not is_open(running.pid, lines)
            running.stdin.write(b"x")
            running.stdin.flush()
    assert running.returncode == 0
    assert {frame["function"] for frame in print_json(output)["frames"]} == {None}


def many_functions(pause_us):
    """Each function allocates i + 1 bytes and keeps them, and pauses, so that new places come over time."""
    functions = "\n".join(f"NOINLINE static void f{i}(void) {{ keep(malloc({i + 1})); usleep({pause_us}); }}" for i in range(FUNCTIONS))
    calls = "\n".join(f"    f{i}();" for i in range(FUNCTIONS))
    return f'#include "check.h"\n#include <unistd.h>\n{functions}\nint main(void)\n{{\n{calls}\n    return 0;\n}}\n'


@pytest.mark.parametrize("pause_us", [0, 2000], ids=["short", "long"])
def test_every_place_has_a_name_and_one_only(compile, record, print_json, pause_us):
    program = compile(many_functions(pause_us), f"-I{TARGETS}")
    recorded = record(program)
    document = print_json(recorded)
    check_complete(document)
    for i in range(FUNCTIONS):
        assert facts(document, f"f{i}") == kept(1, i + 1)
    recording = second_reader.Recording(recorded)
    own = next(number for number, module in enumerate(recording.modules) if module[0] == os.fspath(program))
    places = {(module, address) for _, module, address in recording.nodes.values() if module == own}
    assert len(places) == 2 * FUNCTIONS + 1  # the calls of malloc, those in main, and that of main in _start
    assert {place for place in recording.names if place[0] == own} == places
    for kind, items, payload in recording.members:
        assert kind != second_reader.SYMBOLS or items == len(recording.names), "places were named twice"
