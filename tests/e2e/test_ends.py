"""However a process ends, its recording is complete to the last event, and says how it ended."""

import os
import pathlib
import signal
import subprocess

import pytest

from reliability import build, check_complete, facts, kept

# mode: (exit status, or signal; whether last_words ran)
ENDS = {
    "return": (0, None, False),
    "exit": (3, None, False),
    "atexit": (3, None, True),
    "quick_exit": (3, None, True),
    "_exit": (3, None, False),
    "exit_group": (3, None, False),
    "exit_thread": (3, None, False),
    "abort": (0, signal.SIGABRT, False),
    "assert": (0, signal.SIGABRT, False),
    "segv": (0, signal.SIGSEGV, False),
    "overflow": (0, signal.SIGSEGV, False),
    "bus": (0, signal.SIGBUS, False),
    "term": (0, signal.SIGTERM, False),
    "kill": (0, signal.SIGKILL, False),
    "handler": (3, None, True),
    "pthread_exit": (0, None, True),
    "thread_exits": (3, None, True),
    "thread_kills": (0, signal.SIGKILL, True),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("program"), "ends.c")


@pytest.mark.parametrize("mode", ENDS)
def test_end(record, print_json, program, mode):
    status, killed_by, spoke = ENDS[mode]
    native = subprocess.run([program, mode], capture_output=True, text=True, timeout=60)
    assert native.returncode == (-killed_by if killed_by else status)
    recorded = record([program, mode], "-q", returncode=native.returncode)
    assert (recorded.stdout, recorded.stderr) == (native.stdout, native.stderr)
    document = print_json(recorded)
    check_complete(document, "signal" if killed_by else "exit", killed_by or status)
    assert facts(document, "work") == kept(1000, 64)
    assert facts(document, "last_words") == (kept(7, 30) if spoke else kept(0, 0))


def test_the_report_says_how(record, print_text, program):
    assert "exit status 3" in print_text(record([program, "exit"], returncode=3))
    killed = print_text(record([program, "kill"], returncode=-9))
    assert "SIGKILL" in killed or "signal 9" in killed


def test_exec_as_an_end(record, print_json, program):
    document = print_json(record([program, "exec"]))
    check_complete(document, "exec")
    assert facts(document, "work") == kept(1000, 64)


def test_killed_from_outside(heapscope, print_json, tmp_path, compile):
    """As the kernel does it when memory is short: no warning, in the middle of the work."""
    busy = compile(
        "#include <stdlib.h>\n#include <unistd.h>\n"
        "__attribute__((noinline, noclone)) static void work(void) { for (int i = 0; i < 100000; i++) {"
        " void *volatile block = malloc(10); (void)block; } }\n"
        "int main(void) { work(); if (write(1, \"ready\\n\", 6) != 6) return 1; for (;;) pause(); }\n", name="busy")
    output = tmp_path / "killed.hs.gz"
    running = subprocess.Popen([heapscope, "run", "-o", output, busy], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    (child,) = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert running.wait(timeout=60) == -signal.SIGKILL
    document = print_json(output)
    check_complete(document, "signal", signal.SIGKILL)
    assert facts(document, "work") == kept(100000, 10)


OUT_OF_MEMORY = """
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sys/resource.h>
#include <unistd.h>
static int blocks;
static void last_words()
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\\n", blocks);
    if (write(1, text, length) != length)
        _exit(98);
    abort();
}
__attribute__((noinline)) static void hog()
{
    for (;; blocks++)
        *new volatile char[1 << 20] = 1;
}
int main()
{
    rlimit most = {256 << 20, 256 << 20}, none = {0, 0};
    setrlimit(RLIMIT_AS, &most);
    setrlimit(RLIMIT_CORE, &none);
    std::set_terminate(last_words);
    hog();
}
"""


def test_out_of_memory(record, print_json, compile):
    """operator new fails, nobody catches it: all that was given is there, the failure is none, and what aborts is said."""
    program = compile(OUT_OF_MEMORY, compiler="g++", name="hog")
    recorded = record(program, returncode=-signal.SIGABRT)
    document = print_json(recorded)
    check_complete(document, "signal", signal.SIGABRT)
    blocks = int(recorded.stdout)
    exception = 128 + 8  # what the C++ runtime puts before an exception, and a std::bad_alloc
    whole = (blocks << 20) + exception
    assert blocks > 50 and facts(document, "hog") == (blocks + 1, whole, blocks + 1, whole)


def test_destructors_that_come_last(record, print_json, tmp_path):
    library = build(tmp_path, "destructors.c", "-DLIBRARY", "-fPIC", "-shared", name="liblast.so")
    program = build(tmp_path, "destructors.c", library, "-Wl,-rpath," + str(tmp_path), name="program")
    document = print_json(record(program))
    check_complete(document)
    assert facts(document, "library_takes") == (4, 2000, 0, 0)
    assert facts(document, "library_keeps") == kept(1, 77)
    assert facts(document, "at_exit") == kept(1, 55)
