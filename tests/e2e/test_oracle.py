"""Two other tools count the same programs: valgrind's DHAT and heaptrack 1.4. The documented differences are computed, not
tolerated: every comparison is exact."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402
import heaptrack as heaptrack_tool  # noqa: E402
import recording as recording_format  # noqa: E402

# Allocated, at the peak and at the end, bytes and blocks, worked out by hand in the target's first comment; None where
# the amounts are libc's or libstdc++'s own choice and only the other tools know them.
TARGETS = {
    "realloc_growth.c": (348518, 65, 65536, 1, 5010, 2),
    "realloc_elsewhere.c": (87524, 551, 60000, 200, 7524, 151),
    "calloc_mix.c": (1060976, 32, 1049376, 11, 800, 10),
    "aligned.c": (35384, 18, 30576, 5, 30576, 5),
    "peaks.c": (349500, 1209, 100000, 10, 99500, 104),
    "recursion.c": (65503, 1224, 55504, 1223, 16399, 201),
    "temporary.c": (214950, 2151, 40950, 151, 6000, 51),
    "zero.c": (40, 16, 40, 16, 40, 9),
    "churn.c": None,
    "strings.c": None,
    "sorting.c": None,
    "containers.cc": None,
    "exceptions.cc": None,
}
# valgrind ends a program whose operator new fails.
FLAGS = {"exceptions.cc": ["-DNO_FAILING_NEW"]}
# DHAT counts a request of 0 bytes as 1: 12 such calls, all live at the peak, 5 at the end.
# regcomp asks for 0 bytes twice.
ZERO_BYTES = {"zero.c": {"tb": 12, "gb": 12, "eb": 5}, "sorting.c": {"tb": 2}}
# Where a block is reallocated by another function than the one that allocated it, DHAT books it elsewhere.
REALLOCATED_ELSEWHERE = {"realloc_elsewhere.c", "strings.c"}
# heaptrack does not see memalign: four calls of aligned.c, each freed at once.
UNSEEN_BY_HEAPTRACK = {"aligned.c": 4}
# heaptrack takes a realloc to 0 bytes for a failure: third() ends 50 blocks of 300 bytes in this way.
LEFT_OVER_BY_HEAPTRACK = {"realloc_elsewhere.c": (50, 15000)}

# Freed before their own thread allocates again, by hand. In peaks.c the last block of early and of middle, in recursion.c the
# last leaf of the tree, in realloc_growth.c the buffer that has just doubled for the last time.
TEMPORARY = {"temporary.c": 1500, "calloc_mix.c": 22, "aligned.c": 13, "peaks.c": 2, "recursion.c": 1, "realloc_growth.c": 1,
             "realloc_elsewhere.c": 0, "zero.c": 0}

# What libc gives to everybody, as valgrind names it.
PUBLIC_FUNCTIONS = {
    "strings.c": ["strdup", "strndup", "getdelim", "open_memstream", "fmemopen", "realpath"],
    "sorting.c": ["qsort_r", "tsearch", "puts", "regcomp", "regexec", "hcreate_r"],
}


def program_functions(profile, source):
    """{function: totals} of DHAT's profile: the program's functions and libstdc++'s. Not the allocation functions, which we fold
    away; not libc's, whose symbols have several names each."""
    wheres = {}
    for name, where in profile.frames[1:]:
        wheres.setdefault(name, set()).add(where)
    functions = {}
    for name, totals in profile.functions().items():
        files = {where.rsplit(":", 1)[0] for where in wheres[name]}
        libc = any(file.endswith(".c") and file != source for file in files)
        if not libc and not any("vgpreload" in file for file in files) and not name.startswith(("???", "operator new")):
            functions[dhat_format.without_return_type(name)] = totals
    return functions


@pytest.fixture(params=TARGETS)
def target(request, compile):
    source = request.param
    compiler = "g++" if source.endswith(".cc") else "gcc"
    return source, compile(source, "-O0", *FLAGS.get(source, []), compiler=compiler)


def test_dhat(target, record, dhat, tmp_path):
    source, program = target
    recorded = record(program)
    ours = dhat_format.Dhat(dhat(recorded, "--raw"))
    theirs, completed = dhat_format.valgrind([program], tmp_path / "valgrind.json")
    assert completed.returncode == 0, completed.stderr

    expected = TARGETS[source]
    if expected:
        assert tuple(ours.total().values()) == expected
    total = theirs.total()
    for key, extra in ZERO_BYTES.get(source, {}).items():
        total[key] -= extra
    assert ours.total() == total

    expected = program_functions(theirs, source)
    assert "main" in expected or not any(total.values())
    if source not in REALLOCATED_ELSEWHERE and source not in ZERO_BYTES:
        functions = ours.functions()
        assert {name: functions.get(name) for name in expected} == expected

    # The recording itself, booked by DHAT's rules: every function of every target.
    total, functions = recording_format.booked_like_dhat(recording_format.Recording(recorded))
    assert total == theirs.total()
    assert {name: functions.get(name) for name in expected} == expected


@pytest.mark.parametrize("source", PUBLIC_FUNCTIONS)
def test_public_names_of_libc(source, compile, record, tmp_path):
    """libc's functions have the names that people know, as in valgrind: strdup, not __strdup or __GI___strdup."""
    program = compile(source, "-O0")
    _, ours = recording_format.booked_like_dhat(recording_format.Recording(record(program)))
    theirs, _ = dhat_format.valgrind([program], tmp_path / "valgrind.json")
    functions = {name.split("@")[0]: totals for name, totals in theirs.functions().items()}
    assert {name: ours.get(name) for name in PUBLIC_FUNCTIONS[source]} == {name: functions[name] for name in PUBLIC_FUNCTIONS[source]}


def test_heaptrack(target, record, print_json, tmp_path):
    source, program = target
    recorded = record(program)
    theirs = heaptrack_tool.Heaptrack([program], tmp_path, source.endswith(".cc"))
    replay = recording_format.Recording(recorded).replay()
    unseen = UNSEEN_BY_HEAPTRACK.get(source, 0)
    blocks, size = LEFT_OVER_BY_HEAPTRACK.get(source, (0, 0))
    theirs.calls += unseen
    theirs.temporary += unseen
    theirs.live_blocks -= blocks
    theirs.live_bytes -= size
    assert replay.allocations == theirs.calls
    assert replay.adjacent == theirs.temporary
    assert replay.peak_bytes == theirs.peak_bytes
    assert (len(replay.live), replay.live_bytes) == (theirs.live_blocks, theirs.live_bytes)
    # heaptrack's rule and ours are the same where nothing is reallocated and nothing else is freed in between.
    ours = print_json(recorded)["totals"]
    assert ours["temporary"] == TEMPORARY.get(source, ours["temporary"])
    if source in ("temporary.c", "calloc_mix.c", "aligned.c", "zero.c"):
        assert ours["temporary"] == theirs.temporary
    assert (ours["allocations"], ours["peak_bytes"]) == (theirs.calls, theirs.peak_bytes)
    assert (ours["live_bytes"], ours["live_blocks"]) == (theirs.live_bytes, theirs.live_blocks)


def test_pvalloc(compile, record, dhat):
    """valgrind stops at pvalloc and heaptrack does not see it: 10 bytes asked for, kept."""
    profile = dhat_format.Dhat(dhat(record([compile("aligned.c", "-O0"), "pvalloc"]), "--raw"))
    assert tuple(profile.total().values()) == (35394, 19, 30586, 6, 30586, 6)
    assert tuple(profile.function("by_pvalloc").values()) == (10, 1, 10, 1, 10, 1)


def test_operator_new_that_fails(compile, record, dhat):
    """valgrind ends a program whose operator new fails. The failed request counts for nothing; the bad_alloc that is thrown is
    an allocation of 8 bytes and libstdc++'s header of 128, freed at once."""
    totals = [dhat_format.Dhat(dhat(record(compile("exceptions.cc", "-O0", *flags, compiler="g++")))).total()
              for flags in (["-DNO_FAILING_NEW"], [])]
    assert totals[1]["tb"] - totals[0]["tb"] == 8 + 128
    assert totals[1]["tbk"] - totals[0]["tbk"] == 1
    assert [totals[1][key] for key in ("gb", "gbk", "eb", "ebk")] == [totals[0][key] for key in ("gb", "gbk", "eb", "ebk")]
