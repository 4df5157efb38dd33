"""The progress line: on a terminal only, when the work takes longer than half a second, and gone at the end. The clock
is one that a second goes by on each look, so that any work is long."""

import os
import pty
import subprocess

import pytest
from conftest import clean_environment

CLOCK = """
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
	static long seconds;
	time->tv_sec = 1000 + seconds++;
	time->tv_nsec = 0;
	return 0;
}
"""
MANY = """
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 200000; i++) {
		void *volatile block = malloc(100);
		free(block);
	}
	return 0;
}
"""


@pytest.fixture
def recording(compile, record):
    return record(compile(MANY, name="many")).path


def on_terminal(heapscope, *arguments, clock, stdout=subprocess.PIPE):
    """What arrives on standard error, a terminal, and on standard output."""
    parent, child = pty.openpty()
    process = subprocess.Popen([heapscope, *arguments], stdout=subprocess.PIPE, stderr=child, stdin=subprocess.DEVNULL,
                               env=clean_environment({"LD_PRELOAD": clock, "TERM": "xterm"}))
    os.close(child)
    output = process.stdout.read().decode()
    error = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        error += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return output, error.decode()


@pytest.mark.parametrize("command", [["print"], ["print", "--json"], ["export", "--format", "folded", "-o", "-"],
                                     ["merge", "-o", "/dev/null"]])
def test_progress(heapscope, compile, recording, command):
    clock = compile(CLOCK, "-shared", "-fPIC", name="clock.so")
    output, error = on_terminal(heapscope, *command, recording, clock=clock)
    assert "\r\x1b[Kheapscope: reading events " in error
    assert "\r\x1b[K" in error and "reading events" not in error.rsplit("\r\x1b[K", 1)[1]
    assert "reading events" not in output
    # the same without a terminal: silence
    done = subprocess.run([heapscope, *command, recording], capture_output=True, text=True,
                          env=clean_environment({"LD_PRELOAD": clock}))
    assert "reading events" not in done.stderr and done.stdout == output
