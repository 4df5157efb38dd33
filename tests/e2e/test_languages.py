"""C, C++ and Rust: every site names function, file and line of the user's own code, inlined callers too, in the report, in JSON and in
the DHAT file. The lines are those marked "here: NAME" in the targets."""

import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import dhat as dhat_format  # noqa: E402

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets"

# Each chain, innermost first: the function as people write it, and the mark of its line; then calls and bytes of the chain.
CHAINS = {
    "inlined.c": [
        ([("innermost", "innermost"), ("middle", "middle"), ("outer", "outer"), ("main", "main outer")], 10, 1000),
        ([("report", "report"), ("main", "main report")], 3, 3000),
    ],
    "inlined.cc": [
        ([("app::Cache<app::Row>::make_entry()", "make_entry"), ("app::Cache<app::Row>::add(int)", "add"),
          ("main", "main add")], 20, 1920),
        # A vector of 1000 longs that doubles: 8 + 16 + ... + 8192
        ([("app::(anonymous namespace)::Index::fill(int)", "fill"), ("main", "main fill")], 11, 16376),
        # An inlined lambda has no mangled name of its own: compilers differ.
        ([("main*::operator()*", "lambda"), ("repeat<main::{lambda(int)#1}>(int, main::{lambda(int)#1})", "repeat"), ("main", "main lambda")], 5, 5000),
    ],
    "v0": [
        ([("inlined::wire::allocate", "allocate"), ("inlined::wire::decode", "decode"),
          ("inlined::main", "main decode")], 20, 12800),
        # A Vec of 1000 u64 that begins with 4 and doubles: 32 + 64 + ... + 8192
        ([("<inlined::Table<u64>>::grow", "grow"), ("inlined::main", "main grow")], 9, 16352),
        ([("inlined::main::{closure#0}", "closure"), ("inlined::repeat::<inlined::main::{closure#0}>", "repeat"),
          ("inlined::main", "main closure")], 5, 2510),
    ],
    "legacy": [
        ([("inlined::wire::allocate", "allocate"), ("inlined::wire::decode", "decode"),
          ("inlined::main", "main decode")], 20, 12800),
        ([("inlined::Table<T>::grow::<u64>", "grow"), ("inlined::main", "main grow")], 9, 16352),
        ([("inlined::main::{{closure}}", "closure"), ("inlined::repeat::<*>", "repeat"),
          ("inlined::main", "main closure")], 5, 2510),
    ],
}


def marks(source):
    """{NAME: line} of the comments "here: NAME"; "main lambda" and "main closure" are the lines before, where the calls begin."""
    lines = {}
    for number, text in enumerate((TARGETS / source).read_text().splitlines(), 1):
        if match := re.search(r"here: ([\w ]+?)(?: \*/)?$", text):
            lines[match.group(1)] = number
    for name in ("lambda", "closure"):
        if name in lines:
            lines["main " + name] = lines[name] - 1
    return lines


@pytest.fixture(params=CHAINS)
def language(request, compile, record):
    """(source, chains with line numbers, recording)"""
    source = request.param if request.param.startswith("inlined") else "inlined.rs"
    if source.endswith(".rs"):
        # Newer compilers want a permission for the mangling that is not their default.
        os.environ["RUSTC_BOOTSTRAP"] = "1"
        try:
            program = compile(source, "-O", "-Zunstable-options", f"-Csymbol-mangling-version={request.param}",
                              compiler="rustc")
        finally:
            del os.environ["RUSTC_BOOTSTRAP"]
    else:
        program = compile(source, "-O2", compiler="g++" if source.endswith(".cc") else "gcc")
    lines = marks(source)
    chains = [([(function, lines[mark]) for function, mark in chain], calls, size)
              for chain, calls, size in CHAINS[request.param]]
    return source, chains, record(program)


def plain(function):
    """Without the suffix of a compiler's clone (.constprop.0, [clone .isra.0])."""
    return re.sub(r"( \[clone [^]]*\])+$|(\.(constprop|isra|part|cold)(\.\d+)?)+$", "", function)


def holds(frames, chain, source):
    """True if the chain (where * stands for anything) stands in the frames [(function, file, line)] without a gap."""
    def same(frame, wanted):
        pattern = re.escape(wanted[0]).replace(r"\*", ".*")
        return re.fullmatch(pattern, plain(frame[0])) and (pathlib.Path(frame[1]).name, frame[2]) == (source, wanted[1])

    return any(all(map(same, frames[start:], chain)) for start in range(len(frames) - len(chain) + 1))


def test_dhat(language, dhat):
    source, chains, recorded = language
    for options in ((), ("--raw",)):
        profile = dhat_format.Dhat(dhat(recorded, *options))
        stacks = []
        for frames, point in profile.stacks():
            split = [(function, *where.rsplit(":", 1)) for function, where in frames if re.search(r":\d+$", where)]
            stacks.append(([(function, file, int(line)) for function, file, line in split], point))
        for chain, calls, size in chains:
            found = [point for frames, point in stacks if holds(frames, chain, source)]
            assert sum(point["tbk"] for point in found) == calls, (chain, profile.document["ftbl"])
            assert sum(point["tb"] for point in found) == size


def test_json(language, print_json):
    source, chains, recorded = language
    for options in ((), ("--raw",)):
        document = print_json(recorded, *options)
        for chain, calls, size in chains:
            found = [site for site in document["sites"]
                     if holds([(frame["function"] or "", frame["file"] or "", frame["line"]) for frame in site["frames"]], chain,
                              source)]
            assert sum(site["allocations"] for site in found) == calls, chain
            assert sum(site["allocated_bytes"] for site in found) == size


def test_report(language, print_text):
    """The user's own innermost line is the first that a site shows; its function stands with it."""
    source, chains, recorded = language
    report = print_text(recorded)
    for chain, _, _ in chains:
        function, line = chain[0]
        name = re.sub(r"<[^<>]*>|\(.*", "", function.replace("(anonymous namespace)::", "")).split("::")[-1]
        places = [text for text in report.splitlines() if re.search(rf"{re.escape(source)}:{line}\b", text)]
        assert places, (source, line, report)
        assert name.strip("{}") in report
