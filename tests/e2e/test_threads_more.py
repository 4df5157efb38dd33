"""Threads by the thousand, on tiny stacks, cancelled; signal handlers that interrupt the hooks; coroutines that change threads; code that
was made at run time."""

import subprocess

import pytest

from reliability import build, check_complete, facts, kept


CREATED = 1  # what pthread_create allocates for the first thread


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def program(folder):
    return build(folder, "contexts.c")


@pytest.fixture(scope="module")
def reentrant(folder):
    """The program with an allocator that may be interrupted by itself."""
    library = build(folder, "bump.c", "-fPIC", "-shared", "-fno-builtin", name="libbump.so")
    return build(folder, "contexts.c", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}", name="reentrant")


def test_ten_thousand_threads(record, print_json, program):
    native = int(subprocess.run([program, "many"], capture_output=True, text=True, timeout=60).stdout)
    recorded = record([program, "many"])
    document = print_json(recorded)
    check_complete(document)
    assert facts(document, "short_life") == (40000, 1280000, 10000, 320000)
    assert len(document["threads"]) == 10001
    # kilobytes by which the process grew from the 1,000th thread to the 10,000th
    assert int(recorded.stdout) < native + 8000


def test_cancelled_threads(record, print_json, program):
    document = print_json(record([program, "cancel"]))
    check_complete(document)
    assert facts(document, "until_cancelled") == (20 + 20, 20 * 300 + 20 * 40, 20, 20 * 40)
    assert facts(document, "clean_up") == kept(20, 40)


def test_smallest_stacks(record, print_json, program):
    document = print_json(record([program, "tiny"]))
    check_complete(document)
    assert facts(document, "tiny") == (30, 10 * (50 + 60 + 6000), 10, 500)


def test_handlers_that_interrupt_the_hooks(record, print_json, reentrant):
    """Each event of the handler and of the code that it interrupted is there once."""
    recorded = record([reentrant, "signals"])
    completed, handled, _ = map(int, recorded.stdout.split())
    document = print_json(recorded)
    assert facts(document, "in_handler") == (2 * handled, 32 * handled, handled, 8 * handled)
    assert facts(document, "work", "in_handler") == (2 * completed, 300 * completed, 0, 0)
    assert facts(document, "main_kept") == kept(5, 100)
    check_complete(document)


def test_jumps_out_of_handlers_that_interrupted_a_hook(record, print_json, reentrant):
    """The interrupted call may be recorded or not; everything else is."""
    recorded = record([reentrant, "jumps"])
    completed, handled, jumps = map(int, recorded.stdout.split())
    assert jumps == 1000
    document = print_json(recorded)
    assert facts(document, "in_handler") == (2 * handled, 32 * handled, handled, 8 * handled)
    calls, _, blocks, _ = facts(document, "work", "in_handler")
    assert 2 * completed <= calls <= 2 * completed + 2 * jumps
    assert 0 <= blocks <= jumps
    assert facts(document, "main_kept") == kept(5, 100)
    assert document["facts"]["lost_events"] == 0 and document["facts"]["end"] == "exit"


def test_handlers_that_fork(record, print_json, reentrant):
    """As crash reporters do it: the child of a handler that interrupted a hook is recorded, the parent goes on."""
    recorded = record([reentrant, "forks"])
    completed, _, _ = map(int, recorded.stdout.split())
    parent, *children = map(print_json, recorded.files)
    check_complete(parent)
    assert facts(parent, "work") == (2 * completed, 300 * completed, 0, 0)
    assert len(children) == 50
    for child in children:
        check_complete(child, value=3, child=True)
        assert facts(child, "in_forked") == kept(10, 12)


@pytest.mark.parametrize("way", ["fork", "_Fork", "clone", "clone3", "fork greet", "clone greet", "itself greet"])
def test_children_that_return_from_the_handler(record, print_json, reentrant, way):
    """A handler forks in the middle of a hook, and the child goes on with what it interrupted. In the child the interrupted call may be
    the parent's or its own; everything else is exact, in both. `greet`: the child allocates in the handler already."""
    recorded = record([reentrant, "returns", *way.split()], "--no-symbols" if way != "fork" else "-q")
    completed, _, _ = map(int, recorded.stdout.split())
    parent, *children = map(print_json, recorded.files)
    check_complete(parent)
    assert len(children) == 60
    greetings = int("greet" in way)
    assert parent["totals"]["allocations"] == 2 * completed + 5 + CREATED
    for child in children:
        check_complete(child, value=6, child=True)
        totals, about = child["totals"], child["facts"]
        assert 3000 <= totals["allocations"] - greetings <= 3002
        assert (totals["live_blocks"], totals["live_bytes"]) == (10 + greetings, 400 + 17 * greetings)
        assert about["unknown_frees"] <= 1 and len(child["threads"]) == 1
    if way == "fork":
        assert facts(parent, "work") == (2 * completed, 300 * completed, 0, 0)
        for child in children:
            assert facts(child, "after_return") == (3000, 120000, 10, 400)


@pytest.mark.parametrize("keys, key", [(0, None), (40, 41)], ids=["own memory", "libc allocates"])
@pytest.mark.parametrize("unwinder", ["fast", "libunwind"])
def test_handlers_that_interrupt_the_hooks_own_calls(record, print_json, folder, keys, key, unwinder):
    """A signal in the midst of pthread_setspecific, or of libunwind at work: what its handler allocates is recorded, what they do for
    the hook is not. With many keys taken, pthread_setspecific allocates for ours (which is the one before main's)."""
    program = build(folder, "reentered.c", f"-DKEYS={keys}", "-rdynamic", name=f"reentered{keys}")
    recorded = record(program, env={"HEAPSCOPE_UNWINDER": unwinder})
    handled, mains_key = map(int, recorded.stdout.split())
    assert handled >= 20 and mains_key == (key or mains_key)
    document = print_json(recorded)
    check_complete(document)
    assert facts(document, "in_handler") == kept(handled, 24)
    assert facts(document, "own_work", "in_handler") == (200, 20 * 5 * 110, 100, 5000)
    others = document["totals"]["allocations"] - 200 - handled
    assert others == 20  # pthread_create's


def test_handlers_that_interrupt_the_vdso(record, print_json, folder):
    """Each stack goes through the kernel's own code in the process, and on to main."""
    recorded = record(build(folder, "vdso.c"))
    interrupted, others = map(int, recorded.stdout.split())
    document = print_json(recorded)
    check_complete(document)
    assert facts(document, "from_vdso") == kept(interrupted, 24)
    assert facts(document, "elsewhere") == (others, 8 * others, 0, 0)
    for site in document["sites"]:
        names = [frame["function"] for frame in site["frames"]]
        if "from_vdso" in names:
            assert "ask_time" in names and "main" in names
            assert any("vdso.so" in (frame["module"] or "") for frame in site["frames"])


def test_generated_code(record, print_json, program):
    """Code without unwind data, with a frame pointer, without, and with rubbish for one: all blocks are there, and end in a
    stack that is whole or is marked as cut."""
    document = print_json(record([program, "generated"]))
    assert facts(document, "from_generated") == kept(30, 50)
    assert facts(document, "main_kept") == kept(5, 100)
    about = document["facts"]
    assert about["lost_events"] == 0 and about["end"] == "exit"
    calls = facts(document, "mode_generated")[0]
    assert 10 <= calls <= 30  # the frame pointer leads the first kind of stub to its caller
    assert about["broken_stacks"] == 30 - calls


def test_handler_on_a_stack_of_its_own(record, print_json, program):
    document = print_json(record([program, "overflow"], returncode=5))
    check_complete(document, value=5)
    assert facts(document, "last_words") == kept(3, 33)


def test_coroutines_that_change_threads(record, print_json, program):
    document = print_json(record([program, "coroutines"]))
    check_complete(document)
    assert facts(document, "coroutine") == (1100, 52800, 100, 4800)
    assert facts(document, "coroutine_keeps") == kept(100, 48)
    assert facts(document, "main_kept") == kept(5, 100)


def test_fibres_by_hand(record, print_json, folder):
    """Stacks that a few instructions switch, whatever thread goes on with them; their stacks end where they begin."""
    document = print_json(record([build(folder, "assembly.c"), "fibres"]))
    check_complete(document)
    assert facts(document, "fibre_keeps") == kept(40, 72)
    assert facts(document, "fibre_works") == (40 * 9, 40 * 9 * 90, 0, 0)
    for site in document["sites"]:
        names = [frame["function"] for frame in site["frames"]]
        assert "fibre_main" not in names or names[-1] == "fibre_main"


def test_assembly_without_unwind_data(record, print_json, folder):
    """Below code that nothing is known of: through it by its frame pointer, or a stack that is marked as cut. The blocks are there."""
    document = print_json(record([build(folder, "assembly.c", "-fomit-frame-pointer"), "no_cfi"]))
    assert facts(document, "from_assembly") == kept(20, 33)
    assert facts(document, "with_pointer") == kept(10, 33)
    for site in document["sites"]:
        names = [frame["function"] for frame in site["frames"]]
        assert "with_pointer" not in names or names[:4] == ["from_assembly", "with_pointer", "mode_no_cfi", "main"]
    about = document["facts"]
    assert about["lost_events"] == 0 and about["broken_stacks"] == 20 - facts(document, "main")[0]


def test_cplusplus_coroutines_and_thread_local_destructors(record, print_json, folder):
    document = print_json(record(build(folder, "coroutines.cc", "-std=c++20", compiler="g++")))
    check_complete(document)
    assert facts(document, "awaited_buffer") == (50, 25000, 0, 0)
    assert facts(document, "awaited_leak") == kept(50, 70)
    assert facts(document, "destructor_leak") == kept(50, 60)
    assert facts(document, "late_block") == (50, 5000, 0, 0)


NODE = """
const sum = n => { let objects = []; for (let i = 0; i < n; i++) objects.push({i, text: 'x' + i}); return objects.reduce((a, o) => a + o.i, 0); };
let total = 0;
for (let i = 0; i < 200; i++) total += sum(1000);
const zlib = require('zlib');
const packed = zlib.gzipSync(Buffer.alloc(1 << 20, 7));
console.log(total, zlib.gunzipSync(packed).length, new Error('there').stack.split('\\n').length > 2);
process.exitCode = 7;
"""


def test_node(record, print_json, tool):
    """Code made at run time by V8, its worker threads, its signal handling: unharmed, and what zlib takes is seen."""
    command = [tool("node"), "-e", NODE]
    native = subprocess.run(command, capture_output=True, text=True, timeout=60)
    recorded = record(command, "-q", "--no-symbols", returncode=7)
    assert (recorded.stdout, recorded.stderr) == (native.stdout, native.stderr) == ("99900000 1048576 true\n", "")
    document = print_json(recorded)
    about = document["facts"]
    assert (about["end"], about["end_value"], about["lost_events"]) == ("exit", 7, 0)
    assert document["totals"]["max_bytes"] > 1 << 20


def test_debugger_sees_the_same_handlers(record, compile):
    """No signal handler, no blocked signal, no thread, no descriptor, no timer of ours is in the program."""
    program = compile("""
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int count(const char *path)
{
	int n = 0;
	DIR *folder = opendir(path);
	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}
int main(void)
{
	char line[256];
	free(malloc(10));
	printf("threads %d descriptors %d\\n", count("/proc/self/task"), count("/proc/self/fd"));
	FILE *status = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, status))
		if (strncmp(line, "Sig", 3) == 0 && strncmp(line, "SigQ", 4) != 0)
			fputs(line, stdout);
	return 0;
}
""")
    native = subprocess.run([program], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert record(program).stdout == native.stdout
