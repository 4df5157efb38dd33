"""The commands under valgrind: no invalid access, no use of undefined values, nothing definitely lost."""

import subprocess

import pytest

from conftest import clean_environment

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
static void *volatile keep;
__attribute__((noinline)) void one(int n) { keep = malloc(n); }
static void *work(void *argument) { one(50); free(keep); return argument; }
int main(void)
{
\tpthread_t thread;
\tone(100);
\tpthread_create(&thread, NULL, work, NULL);
\tpthread_join(thread, NULL);
\tkeep = realloc(malloc(10), 5000);
\treturn 0;
}
"""
FOUND = 99
COMMANDS = [
    "doctor ./target",
    "print --tree --callers --functions --files --modules --crates --threads --sizes --lifetimes new.hs.gz",
    "print --focus one --from 0 --to 1s --min-size 1 new.hs.gz",
    "diff old.hs.gz new.hs.gz",
    "check --against old.hs.gz --max-peak 1K new.hs.gz",
    "info new.hs.gz",
    "merge old.hs.gz new.hs.gz -o all.hs.gz",
    "import stacks.folded -o imported.hs.gz",
    "export --format html -o page.html new.hs.gz",
    "export --format svg -o flames.svg new.hs.gz",
    "export --format dhat -o dhat.json new.hs.gz",
    "export --format pprof -o profile.pb.gz new.hs.gz",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory, heapscope):
    folder = tmp_path_factory.mktemp("memcheck")
    (folder / "target.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-pthread", "-o", "target", "target.c"], cwd=folder, check=True)
    (folder / "stacks.folded").write_text("main;one 10\nmain;two 5\n")
    for name in ["old", "new"]:
        subprocess.run([heapscope, "run", "-q", "-o", f"{name}.hs.gz", "./target"], cwd=folder, check=True, env=clean_environment())
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_no_errors_and_no_losses(heapscope, place, tool, command):
    done = subprocess.run([tool("valgrind"), "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", f"--error-exitcode={FOUND}",
                           heapscope, *command.split()], cwd=place, env=clean_environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    # Under valgrind nothing can be recorded, so doctor finds a problem; and a budget is exceeded.
    assert done.returncode == (1 if command.startswith(("doctor", "check")) else 0), done.stderr
    assert "==" not in done.stderr and "problem  found" not in done.stdout
