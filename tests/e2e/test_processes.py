"""Programs that are more than one process: one recording for each that allocates, none mixed, none lost, none changed."""

import os

import pytest

from reliability import NOTHING, build, check_complete, facts, kept


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("program"), "processes.c")


@pytest.fixture
def documents(record, print_json, program):
    """documents(mode, ...) -> [document of the target's own recording, those of its children], by pid."""

    def run(mode, *options, **more):
        recorded = record([program, mode] if isinstance(mode, str) else mode, *options, **more)
        own, *others = [print_json(file) for file in recorded.files]
        return [own] + sorted(others, key=lambda document: (document["facts"]["pid"], document["facts"]["start_unix_us"]))

    return run


def test_fork(documents):
    """The child's recording begins at the fork: blocks that it inherited are not its leaks, and freeing them is no error."""
    parent, child = documents("fork")
    check_complete(parent)
    assert facts(parent, "inherited") == kept(10, 100)
    assert facts(parent, "after") == kept(10, 200)
    assert facts(parent, "in_child") == facts(parent, "at_exit") == facts(parent, "regrow") == NOTHING
    check_complete(child, value=5, child=True)
    assert child["facts"]["forked"] and not parent["facts"]["forked"]
    assert child["facts"]["parent_pid"] == parent["facts"]["pid"]
    assert facts(child, "in_child") == kept(100, 50)
    assert facts(child, "at_exit") == kept(1, 55)
    assert facts(child, "regrow") == kept(1, 5000)
    assert facts(child, "inherited") == facts(child, "after") == NOTHING
    assert child["facts"]["unknown_frees"] == 4 and parent["facts"]["unknown_frees"] == 0
    assert child["totals"]["live_bytes"] == 100 * 50 + 55 + 5000


def test_generations(documents):
    """Three processes allocate, the fourth does not and has no recording."""
    recordings = documents("generations")
    assert len(recordings) == 3
    for document, name, blocks, size, status in zip(recordings, ("before", "in_child", "in_worker"), (10, 100, 20), (100, 50, 25),
                                                    (0, 1, 2)):
        check_complete(document, value=status, child=True)
        assert facts(document, name) == kept(blocks, size)
        assert document["totals"]["allocations"] == blocks


def test_fork_while_threads_allocate(documents):
    parent, *children = documents("fork_threads")
    check_complete(parent)
    assert facts(parent, "after") == kept(10, 200)
    assert facts(parent, "churn")[2:] == (0, 0) and facts(parent, "in_child") == NOTHING
    assert len(children) == 2 * 15
    for child in children:
        check_complete(child, child=True)
        assert facts(child, "in_child") == kept(100, 50)
        assert facts(child, "churn") == NOTHING
        assert len(child["threads"]) == 1


def test_daemon(documents):
    """Double fork, all descriptors closed, parent long gone: heapscope stays until the daemon has ended."""
    first, daemon = documents("daemon")
    check_complete(first)
    assert facts(first, "before") == kept(10, 100) and facts(first, "in_daemon") == NOTHING
    assert facts(daemon, "in_daemon") == kept(50, 100) and facts(daemon, "before") == NOTHING
    assert daemon["facts"]["lost_events"] == 0 and daemon["facts"]["stopped"] is None
    assert daemon["facts"]["end"] in ("exit", "unknown")  # unknown: init was faster to ask


@pytest.mark.parametrize("mode, programs", [("vfork", ["processes"] * 3), ("spawn", ["processes", "sh", "processes", "sh", "processes"])])
def test_started_programs(documents, mode, programs):
    """vfork, posix_spawn, system and popen: each program that was started has a recording, none has touched the parent's."""
    parent, *children = documents(mode)
    check_complete(parent)
    assert facts(parent, "before") == kept(10, 100) and facts(parent, "after") == kept(10, 200)
    assert facts(parent, "leaf") == NOTHING
    assert facts(parent, "in_worker") == (kept(20, 25) if mode == "vfork" else NOTHING)
    assert sorted(os.path.basename(child["facts"]["program"]).replace("dash", "sh") for child in children) == sorted(programs)
    for child in children:
        if os.path.basename(child["facts"]["program"]) == "processes":
            check_complete(child, value=4, child=True)
            assert facts(child, "leaf") == kept(5, 11) and child["totals"]["allocations"] == 5
            assert not child["facts"]["forked"]


def test_clone(documents):
    parent, *children = documents("clone")
    check_complete(parent)
    assert facts(parent, "before") == kept(10, 100) and facts(parent, "after") == kept(10, 200)
    # of the two children that share its memory
    assert facts(parent, "in_clone") == kept(2 * 3, 21)
    assert len(children) == 3
    assert [facts(child, "in_clone") for child in children] == [kept(3, 21), kept(3, 21), NOTHING]
    assert facts(children[2], "leaf") == kept(5, 11)
    for child, status in zip(children, (6, 6, 4)):
        check_complete(child, value=status, child=True)


@pytest.mark.parametrize("mode", ["exec", "exec_thread"])
def test_exec(documents, mode):
    """A process that becomes another program has two recordings, whichever of its threads calls exec."""
    before, after = documents(mode, returncode=4)
    check_complete(before, end="exec")
    assert facts(before, "before") == kept(10, 100) and facts(before, "leaf") == NOTHING
    check_complete(after, value=4)
    assert facts(after, "leaf") == kept(5, 11) and facts(after, "before") == NOTHING
    assert before["facts"]["pid"] == after["facts"]["pid"]


def test_exec_that_fails(documents, tmp_path):
    (document,) = documents("exec_fails", cwd=tmp_path)
    check_complete(document)
    assert facts(document, "before") == kept(10, 100) and facts(document, "after") == kept(10, 200)


WRAPPERS = {
    "script": "#!/bin/sh\nexec '{program}' leaf\n",
    "script without exec": "#!/bin/sh\n'{program}' leaf\nexit $?\n",
    "sh -c": ["sh", "-c", "'{program}' leaf"],
    "env": ["env", "SOME=thing", "{program}", "leaf"],
    "nice": ["nice", "{program}", "leaf"],
    "python": ["/usr/bin/python3", "-c", "import subprocess, sys; sys.exit(subprocess.call(['{program}', 'leaf']))"],
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers(documents, program, tmp_path, wrapper):
    """The program has a recording of its own, named after it, and its status comes through."""
    command = WRAPPERS[wrapper]
    if isinstance(command, str):
        script = tmp_path / "script"
        script.write_text(command.format(program=program))
        script.chmod(0o755)
        command = [script]
    _, *others = documents([os.fspath(word).format(program=program) for word in command], returncode=4)
    (document,) = [each for each in others if each["facts"]["program"] == os.fspath(program)]
    check_complete(document, value=4, child=True)
    assert facts(document, "leaf") == kept(5, 11)


def test_make(documents, program, tmp_path):
    """Two programs at a time, each below make and a shell; each has a recording of its own."""
    rule = "\t@'{program}' leaf || test $$? = 4\n".format(program=program)
    (tmp_path / "Makefile").write_text(".PHONY: all one two\nall: one two\none:\n" + rule + "two:\n" + rule)
    _, *others = documents(["make", "-j2", "-C", tmp_path], returncode=0)
    leaves = [each for each in others if each["facts"]["program"] == os.fspath(program)]
    assert len(leaves) == 2
    for document in leaves:
        check_complete(document, value=4, child=True)
        assert facts(document, "leaf") == kept(5, 11)


def test_cargo_run(record, print_json, tool, tmp_path):
    """cargo builds the program, then becomes it or starts it: the program has a recording of its own, with its status."""
    (tmp_path / "package" / "src").mkdir(parents=True)
    (tmp_path / "package" / "Cargo.toml").write_text('[package]\nname = "keeps"\nversion = "0.1.0"\nedition = "2021"\n')
    (tmp_path / "package" / "src" / "main.rs").write_text("""
#[inline(never)]
fn keep_all() {
    for size in 1..=50 {
        std::mem::forget(vec![1u8; size]);
    }
}
fn main() {
    keep_all();
    std::process::exit(4);
}
""")
    recorded = record([tool("cargo"), "run", "--offline", "--quiet"], "-q", cwd=tmp_path / "package", returncode=4, timeout=300)
    program = os.fspath(tmp_path / "package" / "target" / "debug" / "keeps")
    (document,) = [each for each in map(print_json, recorded.files) if each["facts"]["program"] == program]
    check_complete(document, value=4, child=True)
    assert facts(document, "keeps::keep_all") == (50, 1275, 50, 1275)


def test_workers_that_drop_their_rights(documents):
    parent, *workers = documents("prefork")
    check_complete(parent)
    assert facts(parent, "before") == kept(10, 100)
    assert len(workers) == 3
    for worker in workers:
        check_complete(worker, child=True)
        assert facts(worker, "in_worker") == kept(20, 25) and facts(worker, "before") == NOTHING


def test_names_of_the_recordings(record, print_json, program):
    recorded = record([program, "generations"])
    for file in recorded.files[1:]:
        assert file.name == f"target.{print_json(file)['facts']['pid']}.processes.hs.gz"


@pytest.mark.parametrize("options, children", [([], ["in_child", "leaf"]), (["--follow=exec"], ["leaf"]),
                                               (["--follow", "none"], []), (["--no-follow"], [])])
def test_follow(documents, options, children):
    parent, *others = documents("both", *options)
    check_complete(parent)
    assert facts(parent, "before") == kept(10, 100)
    assert len(others) == len(children)
    for name, document in zip(children, others):
        assert facts(document, name) == (kept(100, 50) if name == "in_child" else kept(5, 11))


def test_no_follow_loses_nothing_of_exec(documents):
    """The target itself is recorded on, whatever it becomes."""
    before, after = documents("exec", "--no-follow", returncode=4)
    assert facts(before, "before") == kept(10, 100) and facts(after, "leaf") == kept(5, 11)
