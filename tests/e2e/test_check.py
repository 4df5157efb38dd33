"""heapscope check: budgets on recordings whose numbers are known, in one go with `run`, JUnit XML, JSON."""

import json
import re
import signal
import xml.etree.ElementTree as xml

import pytest

import made_recording as made

# peak 2 * 1000 + 300 (parse frees its block before the next one), calls 2 + 3 + 1, temporary 3, leaked 2300
PROGRAM = """
#include <stdlib.h>
#include <signal.h>
__attribute__((noinline)) void *cache_put(int n) { return malloc(n); }
__attribute__((noinline)) void parse(int n) { void *volatile p = malloc(n); free(p); }
int main(int argc, char **argv) {
\tvoid *volatile keep;
\tint size = argc > 1 ? atoi(argv[1]) : 1000;
\tkeep = cache_put(size);
\tkeep = cache_put(size);
\tfor (int i = 0; i < 3; i++)
\t\tparse(10);
\tkeep = malloc(300);
\tif (argc > 2 && atoi(argv[2]) < 0)
\t\traise(-atoi(argv[2]));
\treturn argc > 2 ? atoi(argv[2]) : 0;
}
"""


@pytest.fixture
def program(compile):
    return compile(PROGRAM, "-O0", name="program")


@pytest.fixture
def recording(program, record):
    return record(program)


@pytest.fixture
def check(run_heapscope):
    """check(options..., returncode) -> the lines of the report, spaces made one."""

    def run(*arguments, returncode=0):
        done = run_heapscope("check", *arguments)
        assert done.returncode == returncode, done.stdout + done.stderr
        assert max(map(len, done.stdout.splitlines()), default=0) <= 80 or "/" in done.stdout
        return [" ".join(line.split()) for line in done.stdout.splitlines()]

    return run


KEPT = ["--max-peak", "2300", "--max-blocks", "3", "--max-leaked", "2.3KB", "--max-leaked-blocks", "3",
        "--max-allocated", "2330", "--max-calls", "6", "--max-temporary", "50%", "--max-moved", "0",
        "--max-peak-rss", "1G"]


def test_kept_and_exceeded(recording, check):
    lines = check(*KEPT, recording)
    assert lines[-1] == "9 budgets kept"
    assert [line.split()[:2] for line in lines[1:-1]] == [["OK", f"max-{name}"] for name in [
        "peak", "blocks", "leaked", "leaked-blocks", "allocated", "calls", "temporary", "moved", "peak-rss"]]
    assert "OK max-temporary 50.0% (3 of 6 calls), limit 50%" in lines
    lines = check("--max-peak", "2299", "--max-blocks", "2", "--max-leaked", "2299", "--max-leaked-blocks", "2",
                  "--max-allocated", "2329", "--max-calls", "5", "--max-temporary", "49.99%", "--max-peak-rss", "1K",
                  recording, returncode=1)
    assert lines[-1] == "8 of 8 budgets exceeded"
    assert [line.split()[0] for line in lines if " max-" in line] == ["OVER"] * 8
    for words in ["OVER max-peak 2.2 KiB, limit 2.2 KiB, over by 1 B", "OVER max-calls 6, limit 5, over by 1",
                  "OVER max-temporary 50.0% (3 of 6 calls), limit 49.99%, over by 1"]:
        assert words in lines
    # own line first, heaviest first
    at = lines.index("OVER max-peak 2.2 KiB, limit 2.2 KiB, over by 1 B")
    assert lines[at + 1] == "has of excess site"
    assert re.fullmatch(r"2\.0 KiB 100\.0% cache_put \S*program\.c:4", lines[at + 2])
    assert re.fullmatch(r"300 B 100\.0% main \S*program\.c:13", lines[at + 3])


def test_share_of_the_excess(recording, check):
    """1500 B over: cache_put alone has more than that, main a fifth of it."""
    lines = check("--max-leaked", "800", recording, returncode=1)
    assert "OVER max-leaked 2.2 KiB, limit 800 B, over by 1.5 KiB" in lines
    assert re.search(r"\n2\.0 KiB 100\.0% cache_put \S*program\.c:4\n300 B 20\.0% main ", "\n".join(lines))
    lines = check("--max-leaked", "800", "-n", "1", recording, returncode=1)
    assert "1 more site, 300 B; -n 0 shows all" in lines


def test_sites(recording, check, tmp_path):
    """parse's own peak is 10 B, but it holds nothing at the peak of the whole."""
    lines = check("--site", "^parse$", "--max-own-peak", "10", "--max-peak", "0", "--max-leaked", "0", "--max-temporary",
                  "100%", "--max-calls", "3", recording)
    assert lines[1] == "sites that match ^parse$:" and lines[-1] == "5 budgets kept"
    check("--site", "^parse$", "--max-own-peak", "9", recording, returncode=1)
    check("--site", "program.c:4$", "--max-leaked", "2000", recording)
    check("--site", "program.c:4$", "--max-leaked", "1999", recording, returncode=1)
    check("--site", "^main$", "--max-calls", "6", recording)  # all is below main
    check("--site", "nowhere", "--max-calls", "0", recording)
    budgets = tmp_path / "heap.budgets"
    budgets.write_text("# for CI\nmax-peak = 1M\n\n[site ^cache_]\nmax-leaked = 1999 # no\n")
    assert check("--budgets", budgets, recording, returncode=1) == []
    budgets.write_text("# for CI\nmax-peak = 1M\n\n[site ^cache_]\nmax-leaked = 1999\nmax-calls = 2\n")
    lines = check("--budgets", budgets, "--max-calls", "6", recording, returncode=1)
    assert [line for line in lines if line[:2] in ("OK", "OV", "si")] == [
        "OK max-peak 2.2 KiB, limit 1.0 MiB", "OK max-calls 6, limit 6", "sites that match ^cache_:",
        "OVER max-leaked 2.0 KiB, limit 2.0 KiB, over by 1 B", "OK max-calls 2, limit 2"]


# All leak 100 bytes; those further down have allocated more, and come first where sites are sorted by that.
EQUALS = """
#include <stdlib.h>
static void *volatile keep;
__attribute__((noinline)) void sum(int n) { for (; n >= 0; n -= 10) { free(keep); keep = malloc(100); } keep = NULL; }
__attribute__((noinline)) void one(void) { sum(0); keep = malloc(100); }
__attribute__((noinline)) void two(void) { for (int n = 0; n < 2; n++) { free(keep); keep = malloc(100); } keep = NULL; }
__attribute__((noinline)) void three(void) { for (int n = 0; n < 3; n++) { free(keep); keep = malloc(100); } keep = NULL; }
int main(int argc, char **argv) { if (argc > 1) { one(); keep = NULL; two(); three(); } return 0; }
"""


def test_equals_stand_as_in_the_other_reports(compile, record, check, print_text, run_heapscope):
    program = compile(EQUALS, "-O0", name="equals")
    none, all_of_them = record(program), record([program, "all"])
    rows = [" ".join(line.split()[-2:]) for line in print_text(all_of_them).split("TOP SITES BY LEAK")[1].splitlines()[2:6]]
    assert rows == ["sum equals.c:4", "one equals.c:5", "two equals.c:6", "three equals.c:7"]
    lines = check("--max-leaked", "0", all_of_them, returncode=1)
    assert lines[3:7] == [f"100 B 25.0% {row}" for row in rows]
    lines = check("--against", none, "--tolerance", "leaked=0", all_of_them, returncode=1)
    grown = [line.split()[3] for line in lines[lines.index("grew of excess site"):] if line.startswith("+100 B")][:4]
    diff = run_heapscope("diff", "--sort", "leaked", none, all_of_them).stdout
    assert len(grown) == 4 and grown == [line.split()[-2] for line in diff.splitlines() if "equals.c:" in line][:4]


def test_against_a_baseline(program, record, check):
    old, new = record([program, "1000"]), record([program, "1100"])  # 2300 -> 2500 is 8.69 %
    lines = check("--against", old, new, returncode=1)
    assert [line.split(" ")[:4] for line in lines if " growth of " in line] == [
        [state, "growth", "of", name] for state, name in [("OVER", "peak"), ("OVER", "leaked"), ("OVER", "allocated"),
                                                          ("OK", "calls"), ("OK", "temporary")]]
    assert "OVER growth of peak 2.4 KiB, was 2.2 KiB, over by 200 B" in lines
    assert re.search(r"\ngrew of excess site\n\+200 B 100\.0% cache_put \S*program\.c:4\n", "\n".join(lines))
    check("--against", old, "--tolerance", "8.7%", new)
    check("--against", old, "--tolerance", "8.6%", new, returncode=1)
    check("--against", old, "--tolerance", "8.7%,leaked=199", new, returncode=1)
    check("--against", old, "--tolerance", "peak=200,leaked=200, allocated = off", new)
    check("--against", new, old)  # it shrank
    check("--against", old, "--site", "^parse$", new)
    check("--against", old, "--site", "^cache_put$", new, returncode=1)
    check("--against", old, "--site", "^cache_put$", "--tolerance", "10%", new)


def test_incomplete_recordings_do_not_pass(run_heapscope, check, tmp_path):
    whole, cut, lossy, stopped = (tmp_path / f"{name}.hs.gz" for name in ("whole", "cut", "lossy", "stopped"))
    whole.write_bytes(made.whole())
    cut.write_bytes(made.whole()[:-60])
    lossy.write_bytes(made.whole(lost_events=7))
    stopped.write_bytes(made.whole(stopped="the disk was full"))
    check("--max-peak", "3000", whole)
    for path, words in [(cut, "is cut after 4 events"), (lossy, "7 events could not be recorded"),
                        (stopped, "recording ended before the program did: the disk was full")]:
        lines = check("--max-peak", "3000", path, returncode=1)
        assert lines[1].startswith("FAIL incomplete ") and words in " ".join(lines)
        assert lines[-1].endswith("--allow-incomplete lets it pass")
        lines = check("--allow-incomplete", "--max-peak", "3000", path)
        assert lines[1].startswith("OK incomplete ")
        check("--max-peak", "3000", "--against", path, whole, returncode=1)
        assert xml.fromstring(run_heapscope("check", "--max-peak", "1M", "--junit", "-", "-n", "0", path, whole)
                              .stdout.partition("<?xml")[2].partition("?>")[2]).find("testsuite").get("failures") == "1"


def test_in_one_go(program, run_heapscope, tmp_path):
    def run(*arguments):
        return run_heapscope("run", *arguments, cwd=tmp_path)

    done = run("--max-leaked", "2300", program)
    assert (done.returncode, done.stdout) == (0, "") and "1 budget kept" in done.stderr
    done = run("--max-leaked", "0", "--junit", "j.xml", program)
    assert (done.returncode, done.stdout) == (1, "") and "OVER  max-leaked" in done.stderr
    assert "cache_put" in (tmp_path / "j.xml").read_text()
    assert run("-q", "--max-leaked", "2300", program).stderr == ""
    assert "OVER" in run("-q", "--max-leaked", "0", program).stderr
    # the program's own failure is not masked, whether or not the budgets hold
    assert run("--max-leaked", "0", program, "1000", "3").returncode == 3
    assert run("--max-leaked", "1M", program, "1000", "3").returncode == 3
    done = run("--max-leaked", "0", program, "1000", f"-{int(signal.SIGTERM)}")
    assert done.returncode == -signal.SIGTERM and "a signal killed the program" in done.stderr
    # a file of budgets, found to be bad before the program runs
    (tmp_path / "budgets").write_text("max-peak = 2300\n")
    assert run("--check", "budgets", program).returncode == 0
    (tmp_path / "budgets").write_text("max-peek = 2300\n")
    (tmp_path / "program.hs.gz").unlink()
    done = run("--check", "budgets", program)
    assert done.returncode == 125 and 'budgets, line 1: there is no budget "max-peek"' in done.stderr
    assert not (tmp_path / "program.hs.gz").exists()
    # against the run before
    assert run("--max-peak", "1M", program).returncode == 0
    assert run("--against", "program.old.hs.gz", program).returncode == 0
    assert run("--against", "program.old.hs.gz", program, "1100").returncode == 1
    done = run("--against", "program.hs.gz", program)
    assert done.returncode == 1 and "compared with itself" in done.stderr
    # a script that becomes the program is the program; its children are not
    assert run("--max-calls", "6", "sh", "-c", f"exec {program}").returncode == 0
    assert run("--max-calls", "5", "sh", "-c", f"exec {program}").returncode == 1


# What both the schema of Jenkins' xUnit plug-in and that of Ant's JUnit task allow and ask for.
SCHEMA = {
    "testsuites": ({}, set(), ["testsuite"]),
    "testsuite": ({"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "id", "package"}, set(),
                  ["properties", "testcase", "system-out", "system-err"]),
    "properties": (set(), set(), []),
    "testcase": ({"name", "classname", "time"}, set(), ["failure"]),
    "failure": ({"type"}, {"message"}, []),
    "system-out": (set(), set(), []),
    "system-err": (set(), set(), []),
}


def validate(element):
    required, optional, children = SCHEMA[element.tag]
    assert set(required) <= set(element.attrib) <= set(required) | optional, element.tag
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order), element.tag
    if element.tag == "testsuite":
        cases = element.findall("testcase")
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp"))
        assert {child.tag for child in element} >= {"properties", "system-out", "system-err"}
    for number in ("time", "tests", "failures", "errors", "id"):
        if number in element.attrib:
            float(element.get(number))
    for child in element:
        validate(child)


def test_junit(program, record, run_heapscope, tmp_path):
    path = tmp_path / "heap.xml"
    hostile = tmp_path / 'a<b>&"c\x01\n.hs.gz'
    hostile.write_bytes(made.header() + made.modules() + made.nodes() + made.events() + made.samples() +
                        made.threads() + made.symbols(names=("main", 'keep<&>"\x02\x1b]]>', b"dr\xffop")) + made.footer())
    recording = record(program)
    done = run_heapscope("check", "--max-peak", "2999", "--max-calls", "99", "--site", "keep", "--junit", path, hostile,
                         recording)
    assert done.returncode == 1
    document = xml.parse(path).getroot()
    validate(document)
    suites = document.findall("testsuite")
    assert [(suite.get("tests"), suite.get("failures")) for suite in suites] == [("3", "1"), ("3", "0")]
    assert suites[0].get("name") == str(hostile).replace("\x01", "\ufffd")
    case = suites[0].findall("testcase")[1]
    assert case.get("name") == "max-peak of sites that match keep"
    failure = case.find("failure")
    assert failure.get("type") == "over budget"
    assert failure.get("message") == "2.9 KiB, limit 2.9 KiB, over by 1 B"
    assert re.search(r'\n2\.9 KiB  keep.*"\?\?\]\]>  \S*made\.c:20$', failure.text)
    # nothing half-written
    done = run_heapscope("check", "--max-peak", "1", "--junit", tmp_path / "missing" / "x.xml", recording)
    assert done.returncode == 1 and "cannot write" in done.stderr


def test_json(program, record, run_heapscope, request):
    old, new = record([program, "1000"]), record([program, "1100"])
    done = run_heapscope("check", "--json", "--max-temporary", "5%", "--against", old, new)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["schema"], document["ok"]) == ("heapscope-check-1", False)
    by_name = {(budget["quantity"], budget["growth"]): budget for budget in document["recordings"][0]["budgets"]}
    limit, growth = by_name["temporary", False], by_name["peak", True]
    assert {key: limit[key] for key in ("verdict", "value", "whole", "percent", "allowed", "over_by", "old", "unit")} == {
        "verdict": "over", "value": 3, "whole": 6, "percent": 5.0, "allowed": 0, "over_by": 3, "old": None,
        "unit": "count"}
    assert (growth["value"], growth["old"], growth["allowed"], growth["over_by"]) == (2500, 2300, 2300, 200)
    site = growth["sites"][0]
    assert (site["value"], site["old"], site["frame"]["function"]) == (2200, 2000, "cache_put")
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    part = documentation.split("# `heapscope check --json`")[1]
    keys = set(document) | set(document["recordings"][0]) | set(limit) | set(site)
    assert [key for key in sorted(keys) if f"`{key}`" not in part] == []
    assert json.loads(run_heapscope("check", "--json", "--max-peak", "1M", new).stdout)["ok"] is True


def test_usage(recording, run_heapscope, tmp_path):
    for arguments, message in [
        ([recording], "check: there is no budget to check"),
        (["--max-peak", "1M"], "check: which recording? e.g. heapscope check --max-leaked 0 server.hs.gz"),
        (["--max-peak", "5%", recording], 'check: peak wants bytes like 10MiB, not "5%"'),
        (["--max-temporary", "x", recording],
         'check: temporary wants a number like 1000, or a percentage like 5%, not "x"'),
        (["--site", "(", "--max-calls", "1", recording], None),
        (["--site", "x", "--max-peak-rss", "1", recording],
         "check: peak-rss is of the whole process: it cannot be limited for a site"),
        (["--tolerance", "2%", "--max-calls", "1", recording], "check: --tolerance goes with --against OLD"),
        (["--against", recording, "--tolerance", "2", recording], None),
    ]:
        done = run_heapscope("check", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert message is None or done.stderr.splitlines()[0] == f"heapscope: {message}"
    bad = tmp_path / "bad.hs.gz"
    bad.write_bytes(b"no recording\n")
    for arguments in [[bad], [tmp_path / "missing.hs.gz"], ["--against", bad, recording]]:
        done = run_heapscope("check", "--max-peak", "1M", *arguments)
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("heapscope: ")
    done = run_heapscope("check", "--help")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
