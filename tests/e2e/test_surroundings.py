"""Sandboxes, limits, full disks, missing file systems, other profilers, a collector that is killed: the program does what it would do
alone, and the recording has all that could be had, or says what is missing. Mounting and changing roots need root, which the tests
become in a user namespace of their own if they are somebody else."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from reliability import NOTHING, build, check_complete, facts, kept


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("program"), "surroundings.c")


def check_plain(document, **more):
    check_complete(document, **more)
    assert facts(document, "before") == kept(10, 100)
    assert facts(document, "after") == kept(800, 20)


ROOT = pathlib.Path(__file__).resolve().parents[2]
AS_ROOT = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]


# ---- what the program does to itself -----------------------------------------------------------------------------


def test_closes_all_descriptors(record, print_json, program, tmp_path):
    document = print_json(record([program, "closes_all", tmp_path / "own"]))
    check_plain(document)
    assert facts(document, "churn") == (200000, sum(16 + i % 5000 for i in range(100000)) + 6400000, 0, 0)
    assert (tmp_path / "own").read_bytes() == b"hello"


def test_chroot_and_no_rights(record, print_json, program, tmp_path):
    (tmp_path / "empty").mkdir()
    more = [] if AS_ROOT else ["and become nobody"]
    *_, parent, child = map(print_json, record([*AS_ROOT, program, "chroot", tmp_path / "empty", *more]).files)
    check_plain(parent)
    check_complete(child, child=True)
    assert facts(child, "in_child") == kept(30, 40)


@pytest.mark.parametrize("mode", ["seccomp_strict", "seccomp_filter"])
def test_seccomp(record, print_json, program, mode):
    """After that any system call but a few is the end of the process: we make none."""
    document = print_json(record([program, mode]))
    check_plain(document)
    if mode == "seccomp_filter":
        assert facts(document, "branch") == (1 << 17, 8 << 17, 0, 0)


def test_seccomp_while_the_recorder_is_behind(record, print_json, program):
    """More events than the shared memory holds: where waiting is forbidden some may be lost, and are counted."""
    document = print_json(record([program, "seccomp_filter", "flood"]))
    check_plain(document)
    assert document["totals"]["allocations"] == 2 * 1500000 + (1 << 17) + 810
    document = print_json(record([program, "seccomp_strict", "flood"]))
    assert facts(document, "before") == kept(10, 100) and facts(document, "after") == kept(800, 20)
    about, totals = document["facts"], document["totals"]
    assert about["lost_events"] + about["unknown_frees"] + totals["allocations"] + totals["frees"] - about["repaired_frees"] \
        == 4 * 1500000 + 810


def test_address_space_is_full(record, print_json, program):
    recorded = record([program, "address_space"])
    document = print_json(recorded)
    check_plain(document)
    blocks = int(recorded.stdout)
    assert blocks > 20 and facts(document, "hog") == (blocks, blocks << 20, 0, 0)


def test_little_address_space_from_the_start(record, print_json, program):
    """ulimit -v leaves room for little more than the program, and that is enough."""
    for kilobytes in (100000, 20000):
        check_plain(print_json(record(["sh", "-c", f"ulimit -v {kilobytes}; exec {program} plain"]).files[-1]))


@pytest.mark.parametrize("kilobytes", [4000, 5000, 6000, 10000])
def test_hardly_any_address_space(record, program, kilobytes):
    """What there is belongs to the program; that it was not recorded is said."""
    command = ["sh", "-c", f"ulimit -v {kilobytes}; exec {program} plain"]
    assert subprocess.run(command, timeout=60).returncode == 0
    recorded = record(command)
    assert "surroundings" in recorded.stderr and "no memory left for the recorder" in recorded.stderr


def test_no_memory_for_a_thread(record, print_json, print_text, program):
    """Events that cannot be recorded are counted, and the report says so."""
    recorded = record([program, "no_memory"])
    document = print_json(recorded)
    assert facts(document, "before") == kept(10, 100) and facts(document, "after") == kept(800, 20)
    assert facts(document, "without_recorder")[0] + document["facts"]["lost_events"] == 1000
    assert document["facts"]["lost_events"] > 0
    assert "events could not be recorded" in print_text(recorded)


def test_file_size_limit(record, print_json, program):
    document = print_json(record([program, "file_size"]))
    check_plain(document)
    assert facts(document, "churn")[0] == 600000


def test_file_size_limit_from_the_start(record, print_json, program):
    check_plain(print_json(record(["sh", "-c", f"ulimit -f 8; exec {program} file_size"]).files[-1]))


def test_no_descriptors_left(record, print_json, program):
    """The limit is the program's: it is as it was when the program looks."""
    parent, child = map(print_json, record([program, "descriptors"]).files)
    check_plain(parent)
    check_complete(child, child=True)
    assert facts(child, "in_child") == kept(30, 40)


def test_few_descriptors_from_the_start(record, print_json, program):
    """The loader needs one more than the three that are open."""
    check_plain(print_json(record(["sh", "-c", f"ulimit -Sn 4; exec {program} plain"]).files[-1]))


def test_no_descriptor_for_the_recorder(record, program):
    """Not even the hard limit leaves one: the program runs, and that it is not recorded is said."""
    recorded = record(["sh", "-c", f"ulimit -n 4; exec {program} plain"])
    assert "surroundings" in recorded.stderr and "no descriptor was left" in recorded.stderr


def test_working_directory_vanishes(record, print_json, program, tmp_path):
    (tmp_path / "gone").mkdir()
    check_plain(print_json(record([program, "directory", tmp_path / "gone"])))


def test_working_directory_cannot_be_written(run_heapscope, record, print_json, program):
    """Nobody may make a file in /proc: without -o that is said before the program starts; the program itself may be there."""
    done = run_heapscope("run", program, "plain", cwd="/proc")
    assert done.returncode == 125 and "cannot write" in done.stderr and "-o" in done.stderr
    check_plain(print_json(record([program, "plain"], cwd="/proc")))


def test_locked_memory(record, print_json, program):
    """Also where the limit on locked memory is the usual 8 MiB, for others than root."""
    recorded = record([program, "locked"])
    check_plain(print_json(recorded))
    assert int(recorded.stdout) < 100 << 10


def test_program_with_its_own_system_functions(record, print_json, compile):
    """Functions of the program that happen to be called as libc's are: nobody of ours may call them."""
    names = ["write", "read", "open", "close", "mmap", "munmap", "mremap", "socket", "connect", "sendto", "recvmsg", "getpid",
             "gettid", "clock_gettime", "syscall", "deflate", "getenv", "secure_getenv", "madvise", "futex", "sched_yield", "kill"]
    source = "void abort(void), *malloc(unsigned long);\n" + "".join(f"long {name}(void) {{ abort(); }}\n" for name in names) + """
__attribute__((noinline, noclone)) static void work(void) { for (int i = 0; i < 70000; i++) { void *volatile p = malloc(10); (void)p; } }
int main(void) { work(); }
"""
    document = print_json(record(compile(source, "-rdynamic", "-w", "-fno-builtin")))
    check_complete(document)
    assert facts(document, "work") == kept(70000, 10)


# ---- what is around it -------------------------------------------------------------------------------------------

NAMESPACES = {
    "private mounts": (["unshare", "--mount"], ""),
    "another /tmp": (["unshare", "--mount"], "mount -t tmpfs none {sockets} && "),
    "no /dev/shm": (["unshare", "--mount"], "mount -t tmpfs -o mode=0,ro none /dev/shm && "),
    "small /dev/shm": (["unshare", "--mount"], "mount -t tmpfs -o size=4k none /dev/shm && "),
    "no /proc": (["unshare", "--mount"], "mount -t tmpfs none /proc && "),
    "own network": (["unshare", "--net"], ""),
    "own processes": (["unshare", "--pid", "--fork"], ""),
    "own processes and /proc": (["unshare", "--pid", "--fork", "--mount-proc"], ""),
    "own users": (["unshare", "--user", "--map-root-user"], ""),
}


@pytest.mark.parametrize("kind", NAMESPACES)
def test_namespaces(record, print_json, program, tmp_path, kind):
    """The program is somewhere else than its recorder: on other mounts, in another network, with other process ids."""
    unshare, prepare = NAMESPACES[kind]
    sockets = tmp_path / "sockets"  # hiding /tmp itself would hide much of a test
    sockets.mkdir()
    recorded = record([*AS_ROOT, *unshare, "sh", "-c", prepare.format(sockets=sockets) + f"exec {program} plain"],
                      env={"TMPDIR": sockets})
    (document,) = [each for each in map(print_json, recorded.files) if facts(each, "after") != NOTHING]
    check_plain(document, child=True)
    assert os.path.basename(document["facts"]["program"]) == "surroundings"


def test_no_way_to_the_recorder(heapscope, program, tmp_path):
    """Another network and another /tmp at once: the program runs, and that it is not recorded is said while it does."""
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    command = [*AS_ROOT, "unshare", "--net", "--mount", "sh", "-c", f"mount -t tmpfs none {sockets} && exec {program} waits 3000"]
    running = subprocess.Popen([heapscope, "run", "-o", tmp_path / "target.hs.gz", *command], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=os.fspath(sockets)))
    assert "went on as another program, which is not recorded" in running.stderr.readline()
    output, _ = running.communicate("x", timeout=60)
    assert (running.returncode, output) == (0, "ready\ndone\n")


def test_disk_is_full(heapscope, run_heapscope, print_json, print_text, program, tmp_path):
    """The recording ends, the program does not; what was written can be read and says that it is not all."""
    disk, copy = tmp_path / "disk", tmp_path / "copy.hs.gz"
    disk.mkdir()
    script = (f"mount -t tmpfs -o size=512k none {disk} && {heapscope} run -o {disk}/full.hs.gz {program} random 600000; "
              f"status=$?; cp {disk}/full.hs.gz {copy}; exit $status")
    done = subprocess.run([*AS_ROOT, "unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "No space left on device" in done.stderr and "the program runs on" in done.stderr
    document = print_json(copy)
    assert 10 < document["totals"]["allocations"] < 600000  # the names did not find room either
    assert "recording ended before the program did" in " ".join(print_text(copy).split())


@pytest.fixture
def waiting(heapscope, program, tmp_path):
    """waiting(events) -> (Popen of heapscope, pid of the program, path of the recording): the program waits for a line."""
    started = []

    def start(events):
        output = tmp_path / "waiting.hs.gz"
        running = subprocess.Popen([heapscope, "run", "-o", output, program, "waits", str(events)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, TMPDIR=os.fspath(tmp_path)))  # a killed one leaves its socket
        started.append(running)
        assert running.stdout.readline() == "ready\n"
        with open(f"/proc/{running.pid}/task/{running.pid}/children") as children:
            return running, int(children.read()), output

    yield start
    for running in started:
        if running.poll() is None:
            running.kill()
        running.wait()


@pytest.mark.parametrize("events", [10, 3000000])
def test_collector_is_killed(waiting, run_heapscope, events):
    """The program carries on, also when it makes more events than the shared memory holds; what had been written can be read."""
    running, pid, output = waiting(events)
    for _ in range(200):
        if run_heapscope("print", output).returncode == 0:
            break
    running.kill()
    assert running.wait(timeout=60) == -signal.SIGKILL
    running.stdin.write("x")
    running.stdin.flush()
    assert running.stdout.read() == "done\n"  # up to its end, which closes the pipe
    completed = run_heapscope("print", "--json", output)
    assert completed.returncode == 0
    document = json.loads(completed.stdout)
    assert document["totals"]["allocations"] in (0, 10) and document["facts"]["end"] == "running"
    assert document["facts"]["warning"]


COLLECTOR_GONE = 1  # enum hs_stop


@pytest.fixture
def orphan(heapscope, tmp_path):
    """orphan(*arguments) -> Popen of heapscope, whose program orphaned.c is ready."""
    program = build(tmp_path, "orphaned.c", "-I", ROOT / "include")
    started = []

    def start(*arguments):
        running = subprocess.Popen([heapscope, "run", "-o", tmp_path / "orphan.hs.gz", program, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, TMPDIR=os.fspath(tmp_path)))
        started.append(running)
        assert running.stdout.readline() == "ready\n"
        return running

    yield start
    for running in started:
        running.kill()
        running.wait()


def test_dead_collector_is_not_waited_for(orphan):
    """Not even while it is a zombie: the kernel has left word in the shared memory that the program looks at."""
    running = orphan()
    running.kill()
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)  # dead, and not buried
    running.stdin.write("x")
    running.stdin.flush()
    assert running.stdout.read() == f"0 {COLLECTOR_GONE}\n"


def test_collector_dies_while_it_is_waited_for(orphan):
    running = orphan("tell")
    running.send_signal(signal.SIGSTOP)
    running.stdin.write("x")
    running.stdin.flush()
    assert running.stdout.readline() == "waiting\n"
    running.kill()
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
    died = time.monotonic()
    assert running.stdout.read() == f"1 {COLLECTOR_GONE}\n"
    assert time.monotonic() - died < 3  # a silent one has five seconds


def test_collector_that_was_told_to_leave(orphan, print_json, tmp_path):
    """Ctrl-C, when the program that was started has ended, ends the recording of what is left, not the process."""
    running = orphan("leave")
    running.stdin.write("x")
    running.stdin.flush()
    assert running.stdout.readline() == "left\n"
    while "still recording" not in running.stderr.readline():
        pass
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 0
    assert running.stdout.read() == f"0 {COLLECTOR_GONE}\n"


def test_collector_is_asked_to_stop(waiting, print_json):
    """SIGTERM to heapscope goes to the program, and the recording is whole."""
    running, pid, output = waiting(10)
    running.terminate()
    assert running.wait(timeout=60) == -signal.SIGTERM
    document = print_json(output)
    check_complete(document, "signal", signal.SIGTERM)
    assert facts(document, "before") == kept(10, 100)


# ---- other profilers ---------------------------------------------------------------------------------------------


def test_heapscope_in_heapscope(heapscope, record, print_json, program, tmp_path):
    inner = tmp_path / "inner.hs.gz"
    recorded = record([heapscope, "run", "-o", inner, program, "plain"])
    outer = print_json(recorded)
    assert os.path.basename(outer["facts"]["program"]) == "heapscope" and outer["facts"]["lost_events"] == 0
    assert facts(outer, "before") == NOTHING
    check_plain(print_json(inner))


def test_heaptrack_in_front(heapscope, print_json, program, tool, tmp_path):
    output = tmp_path / "both.hs.gz"
    done = subprocess.run([tool("heaptrack"), "-o", tmp_path / "track", heapscope, "run", "-o", output, program, "plain"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    document = print_json(output)
    assert facts(document, "before") == kept(10, 100) and facts(document, "after") == kept(800, 20)


def test_under_strace_like_tracers(record, print_json, program, tool):
    """A tracer between heapscope and the program."""
    recorded = record([tool("gdb"), "-batch", "-q", "-ex", "set startup-with-shell off", "-ex", "run", "--args", program, "plain"])
    (document,) = [each for each in map(print_json, recorded.files) if facts(each, "after") != NOTHING]
    check_plain(document, child=True)


# ---- names -------------------------------------------------------------------------------------------------------


def test_long_command_line(record, print_json, print_text, program):
    words = ["plain"] + [f"word-{i:05}" for i in range(9300)]  # 100 KiB
    recorded = record([program, *words])
    document = print_json(recorded)
    check_plain(document)
    assert document["facts"]["command"] == [os.fspath(program), *words]
    assert "word-09299" in print_text(recorded)


def test_names_that_are_no_text(heapscope, run_heapscope, print_json, print_text, program, tmp_path):
    """Bytes that are no UTF-8, and control characters, in the program's name, its folder, its arguments and the recording's name."""
    folder = os.fsencode(tmp_path) + b"/f\xf6lder\xff \x1b[31m"
    os.mkdir(folder)
    odd = folder + b"/pr\xf6gram\x01"
    os.link(program, odd)
    output = folder + b"/\xe9t\xe9.hs.gz"
    done = subprocess.run([heapscope, b"run", b"-o", output, odd, b"plain", b"\xff\xfe", b"\x1b[2J"], capture_output=True,
                          cwd=folder, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stderr.replace(os.fsencode(tmp_path), b"")
    raw = subprocess.run([heapscope, b"print", b"--json", output], capture_output=True, timeout=60)
    document = json.loads(raw.stdout.decode())  # valid UTF-8, valid JSON
    document["sites"] = [dict(site, frames=[document["frames"][i] for i in site["frames"]]) for site in document["sites"]]
    check_plain(document)
    text = subprocess.run([heapscope, b"print", output], capture_output=True, timeout=60)
    assert text.returncode == 0 and b"\x1b" not in text.stdout and b"\x01" not in text.stdout
    text.stdout.decode()
    made = subprocess.run([heapscope, b"export", b"--format", b"dhat", output], capture_output=True, cwd=folder, timeout=60)
    assert made.returncode == 0
    (exported,) = [name for name in os.listdir(folder) if name.endswith(b".json")]
    with open(folder + b"/" + exported, "rb") as file:
        json.loads(file.read().decode())
