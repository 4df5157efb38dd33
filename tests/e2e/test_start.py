"""The first moments: before libc is ready, with other libraries preloaded, with unusual environments and arguments."""

import pathlib
import signal
import subprocess

import pytest

from conftest import clean_environment
from reliability import build, check_complete, facts, kept

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def allocators(folder):
    return build(folder, "allocators.c")


@pytest.fixture(scope="module")
def environment(folder):
    return build(folder, "environment.c")


def check_early(document):
    check_complete(document)
    assert facts(document, "early") == (3, 300, 1, 100)
    assert facts(document, "constructed") == kept(4, 40)
    assert facts(document, "in_main") == kept(5, 40)


def test_preinit_array(record, print_json, folder):
    check_early(print_json(record(build(folder, "early.c"))))


@pytest.mark.parametrize("flags", [[], ["-Wl,-z,now", "-fPIE", "-pie"], ["-no-pie", "-fno-pie"]], ids=["default", "now", "no-pie"])
def test_ifunc_resolver(record, print_json, folder, flags):
    document = print_json(record(build(folder, "early.c", "-DIFUNC", *flags, name="ifunc")))
    check_early(document)


@pytest.mark.parametrize("program", ["early.c", "allocators.c"])
def test_audit_library(record, print_json, folder, program):
    audit = build(folder, "audit.c", "-fPIC", "-shared", name="libaudit.so")
    document = print_json(record(build(folder, program), env={"LD_AUDIT": audit}))
    check_complete(document)
    if program == "early.c":
        check_early(document)
    else:
        assert facts(document, "plain") == (400, 40000, 100, 10000)


def check_allocators(document):
    check_complete(document)
    assert facts(document, "plain") == (400, 40000, 100, 10000)
    assert facts(document, "aligned") == (4, 4 * 640, 0, 0)
    assert facts(document, "grown") == (11, 100 + sum(range(200, 1001, 100)) + 21000, 1, 21000)


def test_libc_allocator(record, print_json, allocators):
    check_allocators(print_json(record(allocators)))


@pytest.mark.parametrize("name", ALLOCATORS)
def test_allocator_preloaded_behind(record, print_json, allocators, name):
    check_allocators(print_json(record(allocators, env={"LD_PRELOAD": LIBRARIES / ALLOCATORS[name]})))


@pytest.mark.parametrize("name", ALLOCATORS)
def test_allocator_linked(record, print_json, folder, name):
    program = build(folder, "allocators.c", "-Wl,--no-as-needed", LIBRARIES / ALLOCATORS[name], name="allocators_" + name)
    check_allocators(print_json(record(program)))


@pytest.mark.parametrize("name", ALLOCATORS)
def test_early_with_other_allocator(record, print_json, folder, name):
    document = print_json(record(build(folder, "early.c"), env={"LD_PRELOAD": LIBRARIES / ALLOCATORS[name]}))
    check_early(document)


def test_interposer_behind(record, print_json, folder, allocators):
    """LD_PRELOAD that was set before stays in force."""
    library = build(folder, "interposer.c", "-fPIC", "-shared", name="libinterposer.so")
    recorded = record(allocators, env={"LD_PRELOAD": library})
    # twice: heapscope was itself started with it
    assert recorded.stdout == 2 * "interposer saw the program\n"
    check_allocators(print_json(recorded))


def test_interposer_in_front(record, print_json, folder, allocators):
    """The program's wrapper puts a library before ours: both see everything."""
    library = build(folder, "interposer.c", "-fPIC", "-shared", name="libinterposer.so")
    recorded = record(["sh", "-c", f"LD_PRELOAD={library}:$LD_PRELOAD exec {allocators}"])
    assert recorded.stdout == "interposer saw the program\n"
    check_allocators(print_json(recorded.files[1]))


@pytest.mark.parametrize("crash", ["own", "free", "realloc"])
@pytest.mark.parametrize("place", ["behind", "in front"])
def test_preload_that_catches_crashes(record, print_json, folder, crash, place):
    """It prints the stack that it would print without us, also when libc crashed below a hook, and the recording is complete."""
    library = build(folder, "segfault.c", "-fPIC", "-shared", name="libsegfault.so")
    program = build(folder, "segfault.c", "-DPROGRAM", "-rdynamic", name="segfault")
    native = subprocess.run([program, crash], env=clean_environment({"LD_PRELOAD": library}), capture_output=True, text=True)
    assert native.returncode == -signal.SIGSEGV and "(crash+" in native.stderr and "(main+" in native.stderr
    if place == "behind":
        recorded = record([program, crash], env={"LD_PRELOAD": library}, returncode=-signal.SIGSEGV)
    else:
        command = f"LD_PRELOAD={library}:$LD_PRELOAD exec {program} {crash}"
        recorded = record(["sh", "-c", command], returncode=-signal.SIGSEGV)
    stack = recorded.stderr.split("*** crashed\n")[1]
    assert "(crash+" in stack and "(main+" in stack
    document = print_json(recorded.files[-1])
    check_complete(document, "signal", signal.SIGSEGV)
    assert facts(document, "work") == kept(1000, 64)


@pytest.mark.parametrize("name", ALLOCATORS)
def test_allocator_in_front_is_told(record, allocators, name):
    """An allocator in front of ours gets the calls and passes none on: the program runs as ever, and that nothing of it is recorded
    is said. Calls that the allocator does not know (reallocarray) still end up at the right one."""
    recorded = record(["sh", "-c", f"LD_PRELOAD={LIBRARIES / ALLOCATORS[name]}:$LD_PRELOAD exec {allocators}"])
    assert "allocators" in recorded.stderr and "not recorded: another malloc" in recorded.stderr


def test_preload_that_is_not_there(record, print_json, allocators):
    recorded = record(allocators, env={"LD_PRELOAD": "/no/such/library.so"})
    assert "/no/such/library.so" in recorded.stderr  # the loader's own message, as without us
    check_allocators(print_json(recorded))


def test_environment_overwritten_and_cleared(record, print_json, environment):
    recorded = record([environment, "overwrite"])
    parent, child = (print_json(file) for file in recorded.files)
    check_complete(parent)
    assert facts(parent, "before") == kept(3, 10) and facts(parent, "after") == kept(300, 10)
    assert facts(child, "after") == kept(300, 10)
    assert child["facts"]["lost_events"] == 0


def test_environment_is_the_callers(record, compile):
    """The program sees its variables in the order and with the values that it would see without us; three are added."""
    program = compile("#include <stdio.h>\nextern char **environ;\nint main(void) { for (char **v = environ; *v; v++) puts(*v); }\n")
    names = {"FIRST": "1", "SECOND": "two words", "EMPTY": "", "LD_PRELOAD": None}
    seen = record(program, env=names).stdout.splitlines()
    added = [line for line in seen if line.startswith(("HEAPSCOPE_", "LD_PRELOAD="))]
    assert sorted(line.split("=")[0] for line in added) == ["HEAPSCOPE_FOLLOW", "HEAPSCOPE_SOCKET", "HEAPSCOPE_TOKEN", "LD_PRELOAD"]
    for name, value in names.items():
        assert value is None or f"{name}={value}" in seen


def test_no_arguments_at_all(record, print_json, environment):
    """exec with an empty argument list: newer kernels make argc 1 of it, older ones 0."""
    recorded = record([environment, "empty", environment])
    document = print_json(recorded.files[1])
    check_complete(document)
    assert facts(document, "after") == kept(300, 10)


def test_arguments_reach_the_program(record, print_json, compile):
    program = compile("#include <stdio.h>\nint main(int c, char **v) { for (int i = 1; i < c; i++) printf(\"[%s]\", v[i]); }\n")
    words = ["", "two words", "--help", "-o", "*", "'\"\\", "new\nline", "\t"]
    recorded = record([program, *words])
    assert recorded.stdout == "".join(f"[{word}]" for word in words)
    assert print_json(recorded)["facts"]["command"][1:] == words


def test_program_replaces_malloc(record, print_text, compile):
    """The remark that what goes to the program's own malloc is not recorded."""
    program = compile("#include <stddef.h>\nstatic char heap[1 << 20]; static size_t used;\n"
                      "void *malloc(size_t n) { void *p = heap + used; used += (n + 15) & ~15ul; return p; }\n"
                      "void free(void *p) { (void)p; }\n"
                      "int main(void) { return malloc(100) == NULL; }\n", name="own")
    recorded = record(program)
    assert "another malloc stands in front" in " ".join(print_text(recorded).split())
    assert "own" in recorded.stderr and "malloc of its own" in recorded.stderr and "not recorded" in recorded.stderr
