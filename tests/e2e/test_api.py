"""Every entry of the malloc family, at every edge: what the program sees is what it would see without us, and what is recorded is
what happened."""

import subprocess

import pytest

from reliability import NOTHING, build, check_complete, facts, kept


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    return build(tmp_path_factory.mktemp("program"), "family.c", "-fno-builtin")


ONE_BLOCK = {
    "one_malloc": 101,
    "one_malloc_zero": 0,
    "one_calloc": 13 * 7,
    "one_calloc_zero": 0,
    "one_realloc": 103,
    "one_reallocarray": 15 * 7,
    "one_aligned_alloc": 128,
    "one_posix_memalign": 107,
    "one_memalign": 109,
    "one_valloc": 111,
    "one_pvalloc": 113,  # what was asked for, not the whole page
    "one_strdup": 15,
    "one_strndup": 11,
    "one_wcsdup": 44,
}


@pytest.fixture(scope="module")
def document(family, run_heapscope, print_json, tmp_path_factory):
    output = tmp_path_factory.mktemp("recording") / "family.hs.gz"
    assert subprocess.run([family], timeout=60).returncode == 0
    completed = run_heapscope("run", "-q", "-o", output, family)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "", "")
    loaded = print_json(output)
    check_complete(loaded)
    return loaded


@pytest.mark.parametrize("function", ONE_BLOCK)
def test_one_block(document, function):
    assert facts(document, function) == kept(1, ONE_BLOCK[function])


def test_alignment(document):
    assert facts(document, "aligned_well") == (6, 8192 + 10 + 0 + 0 + 100 + 0, 0, 0)


def test_failed_calls_count_nowhere(document):
    assert facts(document, "failing") == NOTHING
    assert document["totals"]["max_bytes"] < 1 << 25  # nothing near 2^63 was ever live


def test_failed_realloc_keeps_the_block(document):
    assert facts(document, "keeps_its_block") == kept(1, 77)


def test_realloc_to_nothing(document):
    """glibc frees and returns NULL: two blocks of 50 and 60 bytes are gone; realloc(NULL, 0) gave one."""
    assert facts(document, "realloc_to_nothing") == (3, 110, 1, 0)


def test_realloc_chain(document):
    assert facts(document, "realloc_chain") == (101, sum(range(10, 1001, 10)) + 5, 0, 0)


def test_realloc_of_aligned_blocks(document):
    assert facts(document, "realloc_aligned") == (4, 100 + 100000 + 64 + 32, 0, 0)


def test_errno_after_free(document):
    assert facts(document, "free_keeps_errno") == (2, 100 + (10 << 20), 0, 0)


def test_sized_free(document):
    assert facts(document, "freed_by_other_names") == (20, 10 * (144 + 192), 0, 0)


def test_questions_about_the_heap(document):
    assert facts(document, "questions") == (1, 5000, 0, 0)


def test_blocks_of_stdio(document):
    calls, _, blocks, live_bytes = facts(document, "by_stdio")
    assert calls >= 2 and (blocks, live_bytes) == (0, 0)


def test_no_frees_of_unknown_blocks(document):
    assert document["facts"]["unknown_frees"] == 0


def test_operator_new(record, print_json, tmp_path):
    program = build(tmp_path, "new.cc", "-std=c++17", "-fno-builtin", compiler="g++")
    document = print_json(record(program))
    check_complete(document)
    assert facts(document, "plain") == kept(1, 40)
    assert facts(document, "array") == kept(1, 60)
    assert facts(document, "nothrow") == kept(1, 50)
    assert facts(document, "aligned") == kept(1, 128)
    assert facts(document, "aligned_array") == (1, 640, 0, 0)
    assert facts(document, "sized_delete") == (100, 800, 0, 0)
    assert facts(document, "growing") == (5, 124, 0, 0)
    assert facts(document, "huge")[2:] == (0, 0)  # exception objects, all freed
