"""Libraries that come and go: blocks are named after the library that was there at the time, and the loader finds what it would find
without us."""

import os
import shutil
import subprocess
import time

import pytest

from reliability import NOTHING, build, check_complete, facts, kept


def plugin(folder, name, size, *flags):
    return build(folder, "plugin.c", f"-DPLUGIN={name}", f"-DSIZE={size}", "-fPIC", "-shared", *flags, name=f"lib{name}.so")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture(scope="module")
def program(folder):
    return build(folder, "modules.c")


@pytest.fixture(scope="module")
def libraries(folder):
    return plugin(folder, "a", 1000), plugin(folder, "b", 2000)


def test_two_libraries_at_one_address(record, print_json, program, libraries):
    recorded = record([program, "turns", *libraries])
    assert recorded.stdout == "same\n"
    document = print_json(recorded)
    check_complete(document)
    assert facts(document, "a_keeps") == kept(10, 1000)
    assert facts(document, "b_keeps") == kept(10, 2000)
    assert facts(document, "main_kept") == kept(20, 3)
    lives = [(module["path"], module["load_us"], module["unload_us"]) for module in document["modules"]
             if module["path"] in map(os.fspath, libraries)]
    assert document["facts"]["unseen_libraries"] == 0 and document["facts"]["unseen_library"] is None
    assert len(lives) == 20 and all(load <= unload for _, load, unload in lives)


def test_libraries_come_and_go_while_threads_allocate(record, print_json, program, libraries):
    document = print_json(record([program, "threads", *libraries]))
    check_complete(document)
    assert facts(document, "a_keeps") == kept(100, 1000)
    assert facts(document, "b_keeps") == kept(100, 2000)
    assert facts(document, "churn")[2:] == (0, 0)


def test_deepbind(record, print_json, program, libraries):
    """A library that is bound to libc past everybody else does not come to us; all else is recorded, and the program runs as ever."""
    document = print_json(record([program, "deepbind", libraries[0]]))
    check_complete(document)
    assert facts(document, "main_kept") == kept(2, 3)
    assert facts(document, "a_passes") == kept(1, 3)
    assert facts(document, "a_keeps") == NOTHING


def check_told(recorded, document, report, library):
    """That a library was opened past the recorder is said at the end of the run, in the report and in JSON."""
    words = "with RTLD_DEEPBIND or dlmopen"
    assert f"opened '{library}' {words}: what such libraries allocate themselves is not recorded" in recorded.stderr
    assert document["facts"]["unseen_libraries"] == 1 and document["facts"]["unseen_library"] == os.fspath(library)
    assert "opened " + words in " ".join(report.split())


def test_blocks_that_such_a_library_frees_and_gives(record, print_json, print_text, program, libraries):
    """A free that nobody saw is implied by the next allocation at the address; that of an unseen block is counted. Totals are exact."""
    recorded = record([program, "exchange", libraries[0]])
    document = print_json(recorded)
    about = document["facts"]
    assert (about["repaired_frees"], about["unknown_frees"], about["lost_events"]) == (1, 1, 0)
    assert facts(document, "lends") == (1, 500, 0, 0)
    assert facts(document, "lends_again") == kept(1, 500)
    assert facts(document, "main_kept") == kept(1, 3)
    assert facts(document, "gives") == NOTHING
    check_told(recorded, document, print_text(recorded), libraries[0])


def test_other_namespace(record, print_json, print_text, program, libraries):
    """The library in another namespace has a libc of its own; what it calls in ours is recorded, through its frames."""
    recorded = record([program, "namespace", libraries[0]])
    document = print_json(recorded)
    check_told(recorded, document, print_text(recorded), libraries[0])
    check_complete(document)
    assert facts(document, "main_kept") == kept(10, 3)
    assert facts(document, "a_passes") == kept(10, 3)
    assert facts(document, "a_keeps") == NOTHING


@pytest.mark.parametrize("flags", [["-Wl,--enable-new-dtags"], ["-Wl,--disable-new-dtags"]], ids=["RUNPATH", "RPATH"])
def test_library_finds_others_where_its_run_path_says(record, print_json, program, tmp_path, flags):
    (tmp_path / "plugins").mkdir()
    plugin(tmp_path / "plugins", "deep", 70)
    outer = plugin(tmp_path, "outer", 1, "-Wl,-rpath,$ORIGIN/plugins", *flags)
    document = print_json(record([program, "runpath", outer, "libdeep.so"], cwd="/"))
    check_complete(document)
    assert facts(document, "deep_keeps") == kept(3, 70)
    assert facts(document, "open_by_name")[2] >= 3


def test_static_tls_is_left(record, print_json, program, folder):
    """A library that needs a kilobyte of the little static TLS that libc keeps for such."""
    library = plugin(folder, "tls", 100, "-DTLS=1024")
    document = print_json(record([program, "open", library]))
    check_complete(document)
    assert facts(document, "tls_keeps") == kept(4, 100)


@pytest.mark.parametrize("mode", ["delete", "replace"])
def test_library_gone_as_soon_as_it_is_open(record, print_json, program, libraries, tmp_path, mode):
    """Perhaps too fast for its names to be known, but they are never those of the file that is there now."""
    first, other = (shutil.copy(library, tmp_path / library.name) for library in libraries)
    document = print_json(record([program, mode, first, other]))
    check_complete(document)
    assert facts(document, "b_keeps") == NOTHING
    assert facts(document, "mode_" + mode)[2:] >= (4, 4000)
    for site in document["sites"]:
        if site["live_bytes"] == 4000:
            assert site["frames"][0]["function"] in ("a_keeps", None)
            assert os.path.basename(site["frames"][0]["module"]) == "liba.so"


@pytest.mark.parametrize("mode", ["delete", "replace"])
def test_library_gone_while_mapped(heapscope, run_heapscope, print_json, program, libraries, tmp_path, mode):
    """A server's library is deleted, or updated, while it runs: names are those of the file that was mapped."""
    first, other = (shutil.copy(library, tmp_path / library.name) for library in libraries)
    output = tmp_path / "server.hs.gz"
    running = subprocess.Popen([heapscope, "run", "-q", "-o", output, program, "wait", first], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert running.stdout.readline() == b"ready\n"
    end = time.monotonic() + 60
    while time.monotonic() < end:  # until the recording shows that heapscope has seen the library
        completed = run_heapscope("print", "--json", output)
        if completed.returncode == 0 and b"liba.so" in completed.stdout.encode():
            break
        time.sleep(0.05)
    os.unlink(first) if mode == "delete" else os.rename(other, first)
    running.communicate(b"x", timeout=60)
    assert running.returncode == 0
    document = print_json(output)
    check_complete(document)
    assert facts(document, "a_keeps") == kept(4, 1000) and facts(document, "b_keeps") == NOTHING


@pytest.mark.parametrize("flags", [["-fno-omit-frame-pointer"], ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"]],
                         ids=["no header", "no tables"])
def test_without_unwind_tables(record, print_json, program, folder, flags):
    """Code with frame pointers only: the stacks still reach main."""
    library = plugin(folder, "bare", 300, "-Wl,--no-eh-frame-hdr", *flags)
    document = print_json(record([program, "open", library]))
    assert facts(document, "bare_keeps") == kept(4, 300)
    stacks = [site["frames"] for site in document["sites"] if site["frames"][0]["function"] == "bare_keeps"]
    for names in ([frame["function"] for frame in frames] for frames in stacks):
        assert names[:4] == ["bare_keeps", "entry", "mode_open", "main"], names
    assert document["facts"]["broken_stacks"] == 0


def test_without_unwind_tables_and_frame_pointers(record, print_json, program, folder):
    """Nothing to go by: the event counts all the same, and the stack says that it is cut."""
    library = plugin(folder, "blind", 300, "-Wl,--no-eh-frame-hdr", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-O2")
    document = print_json(record([program, "open", library]))
    assert facts(document, "blind_keeps") == kept(4, 300)
    assert document["facts"]["lost_events"] == 0
