"""What `heapscope print` shows of a part of a recording, and from which side; numbers by hand, from made_recording.py:

  us   keep (made.c:20) and drop (made.c:30), both called by main (made.c:10), in thread "made", tid 4242
  10   keep allocates 1000
  20   drop allocates 500          1500 are live
  30   drop frees its 500, which are temporary
  40   keep reallocs 1000 to 3000, which move: the peak, 3000
  50   the end; 3000 are live
"""

import json
import re
import subprocess
import sys

import made_recording as made
import pytest
from conftest import clean_environment, on_terminal


@pytest.fixture
def select(run_heapscope, whole):
    """The document of a selection; what is left out and what is selected have to be the whole."""

    def load(*options):
        done = run_heapscope("print", "--json", *options, whole)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        totals, rest, everything = document["totals"], document["left_out"], document["all"]
        for key in totals:
            if key not in ("max_bytes", "max_blocks", "max_us", "peak_us"):
                assert totals[key] + rest[key] == everything[key], key
        assert (everything["allocated_bytes"], everything["allocations"], everything["live_bytes"],
                everything["moved_bytes"], everything["temporary"], everything["events"]) == (4500, 3, 3000, 1000, 1, 4)
        for key in ("allocated_bytes", "peak_bytes", "live_bytes", "temporary", "lifetime_us"):
            assert "-n" in options or sum(site[key] for site in document["sites"]) == totals[key]
        return document

    return load


def figures(document):
    totals = document["totals"]
    return tuple(totals[key] for key in ("allocated_bytes", "allocations", "peak_bytes", "live_bytes", "temporary",
                                         "moved_bytes", "max_bytes", "max_us"))


KEEP = (4000, 2, 3000, 3000, 0, 1000, 3000, 40)
DROP = (500, 1, 0, 0, 1, 0, 500, 20)
ALL = (4500, 3, 3000, 3000, 1, 1000, 3000, 40)
NONE = (0,) * 8


@pytest.mark.parametrize("options, wanted", [
    ((), ALL),
    (("--focus", "keep"), KEEP),
    (("--focus", "made.c:20"), KEEP),
    (("--focus", "made.c:2"), KEEP),
    (("--focus", "^/srv/made$"), ALL),
    (("--focus", "^main$", "--focus", "d.op"), DROP),
    (("--focus", "keep|drop"), ALL),
    (("--ignore", "keep"), DROP),
    (("--ignore", "main"), NONE),
    (("--module", "made"), ALL),
    (("--module", "libc"), NONE),
    (("--thread", "^made$"), ALL),
    (("--thread", "4242"), ALL),
    (("--thread", "1"), ALL),
    (("--thread", "2"), NONE),
    (("--thread", "worker", "--thread", "mad"), ALL),
    (("--min-size", "501"), KEEP),
    (("--max-size", "0.5k"), DROP),
    (("--min-size", "1000", "--max-size", "1000"), (1000, 1, 0, 0, 0, 0, 1000, 10)),
    (("--from", "15us", "--to", "40us"), DROP),
    (("--from", "0.00004s"), (3000, 1, 3000, 3000, 0, 1000, 3000, 40)),
    (("--to", "11us"), (1000, 1, 0, 0, 0, 0, 1000, 10)),
    (("--focus", "keep", "--max-size", "2000", "--thread", "made", "--from", "1us"), (1000, 1, 0, 0, 0, 0, 1000, 10)),
])
def test_selections(select, options, wanted):
    document = select(*options)
    assert figures(document) == wanted
    assert document["all"]["peak_bytes"] == 3000 and document["totals"]["peak_us"] == 40


@pytest.mark.parametrize("moment, live, whole_live", [("20us", (1500, 2, 1500, 0, 1, 0, 1500, 20), 1500),
                                                      ("30us", (1000, 1, 1000, 0, 0, 0, 1000, 10), 1000),
                                                      ("9us", NONE, 0),
                                                      ("1h", (3000, 1, 3000, 3000, 0, 1000, 3000, 40), 3000)])
def test_live_at(select, moment, live, whole_live):
    document = select("--at", moment)
    assert figures(document) == live
    assert document["all"]["peak_bytes"] == whole_live
    assert document["totals"]["peak_us"] == document["filter"]["at_us"]
    part = select("--at", moment, "--focus", "keep")
    assert part["totals"]["peak_bytes"] == {"20us": 1000, "30us": 1000, "9us": 0, "1h": 3000}[moment]


def test_filtered_report(run_heapscope, whole):
    text = run_heapscope("print", "--focus", "keep", whole).stdout
    assert "filter: --focus keep\n" in text
    assert re.search(r"^  peak +2\.9 KiB 100\.0% +0 B +0\.0% +2\.9 KiB   at 40 us$", text, re.M)
    assert re.search(r"^  allocated +3\.9 KiB  88\.9% +500 B  11\.1% +4\.4 KiB$", text, re.M)
    assert re.search(r"^  temporary +0   0\.0% +1 100\.0% +1$", text, re.M)
    assert "  most that was selected: 2.9 KiB at 40 us, in 1 block, the moment of the whole\n" in text
    assert "1 of 1 site, 100.0% of 2.9 KiB selected" in text
    assert "no block was freed before its thread allocated again, of what is selected" in text
    at = run_heapscope("print", "--at", "20us", "--min-size", "1000", whole).stdout
    assert "filter: --min-size 1000 --at 20us\n" in at
    assert re.search(r"^  at 20 us +1000 B  66\.7% +500 B  33\.3% +1\.5 KiB$", at, re.M)
    assert "  most that was selected: 1000 B at 10 us, in 1 block\n" in at
    assert "TOP SITES LIVE AT 20 us" in at


def test_nothing_selected(run_heapscope, whole):
    done = run_heapscope("print", "--focus", "prase", "--thread", "worker", "--from", "2s", whole)
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    assert 'Nothing matches: no function, file or module of any stack matches "prase" (--focus); ' \
        'no thread has the name or number "worker" (--thread); the program ended after 50 us, before --from.' in words


@pytest.mark.parametrize("options, message", [
    (("--focus", "("), 'print: --focus "(" is no regular expression that can be used: Unmatched ( or \\('),
    (("--ignore", "a{1,300}{1,300}"), "repeats a part more than 1000 times"),
    (("--hide", "[z-a]"), 'print: --hide "[z-a]" is no regular expression that can be used'),
    (("--focus", ""), "matches everything"),
    (("--min-size", "big"), 'print: --min-size wants a size, not "big": bytes, or with a unit, like 64KiB or 1.5M'),
    (("--from", "noon"), 'print: --from wants a time, not "noon": seconds, or with a unit, like 200ms or 2min'),
    (("--at", "-1s"), 'print: --at wants a time, not "-1s"'),
    (("--min-size", "2k", "--max-size", "1k"), "--min-size is larger"),
    (("--from", "2s", "--to", "1s"), "--to has to be later"),
    (("--from", "2s", "--at", "1s"), "--from has to be earlier"),
    (("--sort", "size"), "--sort wants one of peak, allocated, calls, temporary, leaked, moved, lifetime"),
    (("--hide-groups", "c,rost"), 'there is no group "rost" of built-in rules; there are all, none, c, c++, rust, loops'),
    (("--config", "/nowhere/at/all"), 'cannot read the configuration "/nowhere/at/all": No such file or directory'),
])
def test_bad_arguments(run_heapscope, whole, options, message):
    done = run_heapscope("print", *options, whole)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("heapscope: ") and message in done.stderr


# ---- views -----------------------------------------------------------------------------------------------


def names(document, nodes):
    frames = document["frames"]
    return [(frames[node["frame"]]["function"], node["parent"], node["total"]["allocated_bytes"],
             node["self"]["allocated_bytes"]) for node in nodes]


def test_trees(select):
    document = select("--tree", "--callers", "--sort", "allocated")
    assert names(document, document["tree"]) == [("main", None, 4500, 0), ("keep", 0, 4000, 4000), ("drop", 0, 500, 500)]
    assert names(document, document["callers"]) == [("keep", None, 4000, 0), ("main", 0, 4000, 4000),
                                                    ("drop", None, 500, 0), ("main", 2, 500, 500)]
    assert [node["one_line"] for node in document["tree"]] == [True] * 3
    by_peak = select("--tree")
    assert names(by_peak, by_peak["tree"]) == [("main", None, 4500, 0), ("keep", 0, 4000, 4000)]
    cut = select("--tree", "--sort", "allocated", "--depth", "1")
    assert names(cut, cut["tree"]) == [("main", None, 4500, 0)] and cut["tree"][0]["left_out"] == 4500
    first = select("--tree", "--sort", "allocated", "-n", "1", "--max-size", "2000")
    assert names(first, first["tree"]) == [("main", None, 1500, 0), ("keep", 0, 1000, 1000)]
    assert first["tree"][0]["left_out"] == 500


def test_by_size_lifetime_thread(select):
    document = select("--sizes", "--lifetimes", "--threads")
    assert [(row["from_bytes"], row["to_bytes"], row["total"]["allocated_bytes"], row["total"]["peak_bytes"],
             row["total"]["temporary"]) for row in document["by_size"]] == \
        [(256, 512, 500, 0, 1), (512, 1024, 1000, 0, 0), (2048, 4096, 3000, 3000, 0)]
    # 20 to 30 us: 10; 10 to 40: 30; 3000 bytes live on for 10
    assert [(row["freed"], row["from_us"], row["to_us"], row["total"]) for row in document["by_lifetime"]] == [
        (True, 8, 16, {"allocations": 1, "allocated_bytes": 500, "lifetime_us": 10}),
        (True, 16, 32, {"allocations": 1, "allocated_bytes": 1000, "lifetime_us": 30}),
        (False, None, None, {"allocations": 1, "allocated_bytes": 3000, "lifetime_us": 10})]
    thread, = document["by_thread"]
    assert (thread["number"], thread["tid"], thread["name"]) == (1, 4242, "made")
    assert thread["total"]["peak_bytes"] == 3000
    keep, drop = [next(i for i, site in enumerate(document["sites"])
                       if document["frames"][site["frames"][0]]["function"] == name) for name in ("keep", "drop")]
    assert [(part["site"], part["counts"]["allocated_bytes"]) for part in thread["sites"]] == [(keep, 4000), (drop, 500)]
    assert [part["site"] for part in document["by_size"][0]["sites"]] == [drop]


def test_coarse_times(run_heapscope, tmp_path):
    """All four events in one unit of 16 us, which the last one ends: they count as at 0, 4, 8, 12 us."""
    path = tmp_path / "coarse.hs.gz"
    path.write_bytes(made.header() + made.modules() + made.nodes() + made.events(times=b"", span_us=15, unit_us=16) +
                     made.samples() + made.threads() + made.symbols() + made.footer(peak_us=14))
    done = run_heapscope("print", "--lifetimes", path)
    assert done.returncode == 0 and not done.stderr
    note = "times are known to 16 us: shorter lifetimes are estimates"
    rows = re.findall(r"^  (4 to 7 us|8 to 15 us|never freed) +(\d+) ", done.stdout, re.M)
    assert rows == [("4 to 7 us", "1"), ("8 to 15 us", "1"), ("never freed", "1")] and note in done.stdout
    document = json.loads(run_heapscope("print", "--json", path).stdout)
    assert (document["facts"]["time_resolution_us"], document["totals"]["peak_us"]) == (16, 12)
    assert document["totals"]["lifetime_us"] == 4 + 12 + (50 - 12)


def test_exact_times(run_heapscope, whole):
    assert json.loads(run_heapscope("print", "--json", whole).stdout)["facts"]["time_resolution_us"] == 1
    assert "times are known" not in run_heapscope("print", "--lifetimes", whole).stdout


def test_by_function_file_module_crate(select):
    document = select("--functions", "--files", "--modules", "--crates", "--sort", "calls")
    assert [(item["name"], item["self"]["allocations"], item["total"]["allocations"])
            for item in document["by_function"]] == [("keep", 2, 2), ("drop", 1, 1), ("main", 0, 3)]
    assert [(item["name"], item["by_module"], item["self"]["allocations"]) for item in document["by_file"]] == \
        [("/srv/made.c", False, 3)]
    assert [(item["name"], item["total"]["allocations"]) for item in document["by_module"]] == [("/srv/made", 3)]
    assert [(item["name"], item["by_module"]) for item in document["by_crate"]] == [("/srv/made", True)]


ALL_VIEWS = ["--tree", "--callers", "--threads", "--sizes", "--lifetimes", "--functions", "--files", "--modules",
             "--crates"]


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_views_as_text(run_heapscope, whole, view):
    for sort in ("peak", "allocated", "calls", "temporary", "leaked", "moved", "lifetime"):
        done = run_heapscope("print", view, "--sort", sort, whole.name, cwd=whole.parent)  # its path is printed too
        assert done.returncode == 0 and done.stderr == ""
        title = next(line for line in done.stdout.splitlines() if line.startswith(view[2:].upper()))
        assert "100% is " in title
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert run_heapscope("print", view, whole).stdout == run_heapscope("print", view, whole).stdout


def test_tree_as_text(run_heapscope, whole):
    text = run_heapscope("print", "--tree", "--sort", "allocated", whole).stdout
    tree = text[text.index("TREE"):].split("\n\n")[0].splitlines()
    assert tree[0].endswith("100% is 4.4 KiB")
    assert [re.sub(r"  +", " ", line).strip() for line in tree[1:]] == [
        "4.4 KiB 100.0% main made.c:10", "3.9 KiB 88.9% ├─ keep made.c:20", "500 B 11.1% └─ drop made.c:30"]


def test_documented_names_both_ways(select, request):
    """docs/json.md names every key that there is, and every name of its tables is a key."""
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    part = documentation.split("\n# `heapscope diff --json`")[0]
    document = select(*ALL_VIEWS, "--focus", "main", "--at", "20us")
    keys = set()

    def walk(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                keys.add(key)
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(document)
    assert sorted(key for key in keys if f"`{key}`" not in part) == []
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert sorted(documented - keys) == []
    assert len(documented) > 60


# ---- hidden frames ---------------------------------------------------------------------------------------


def innermost(document):
    return sorted((document["frames"][site["frames"][0]]["function"], site["allocated_bytes"])
                  for site in document["sites"])


def test_hide(select):
    assert innermost(select()) == [("drop", 500), ("keep", 4000)]
    assert innermost(select("--hide", "^keep$")) == [("drop", 500), ("main", 4000)]
    assert innermost(select("--hide", "made.c:[23]0")) == [("main", 4500)]
    assert innermost(select("--hide", "^keep$", "--raw")) == [("drop", 500), ("keep", 4000)]
    assert select("--hide", "^keep$")["hidden"] == {"groups": ["c", "c++", "rust", "loops"], "patterns": ["^keep$"],
                                                    "config": None}


def test_configuration(run_heapscope, whole, tmp_path):
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    config = tmp_path / "project" / ".heapscope"
    config.write_text("# ours\n\n  hide ^keep$  \nhide-groups c, rust\n")

    def load(*options, **more):
        done = run_heapscope("print", "--json", *options, whole, cwd=deep, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = load()
    assert innermost(found) == [("drop", 500), ("main", 4000)]
    assert found["hidden"] == {"groups": ["c", "rust"], "patterns": ["^keep$"], "config": str(config)}
    assert load("--hide", "drop", "--hide-groups", "none")["hidden"]["groups"] == []
    assert innermost(load("--hide", "drop")) == [("main", 4500)]
    assert innermost(load("--config", "")) == [("drop", 500), ("keep", 4000)]
    assert innermost(load(env={"HEAPSCOPE_CONFIG": ""})) == [("drop", 500), ("keep", 4000)]
    other = tmp_path / "other.conf"
    other.write_text("hide drop\n")
    assert innermost(load(env={"HEAPSCOPE_CONFIG": other})) == [("keep", 4000), ("main", 500)]
    assert innermost(load("--config", other)) == [("keep", 4000), ("main", 500)]
    text = " ".join(run_heapscope("print", whole, cwd=deep).stdout.split())
    assert f"note: {config} says which frames to hide too" in text.replace(" /", "/").replace("note:/", "note: /")
    for wrong, message in [("hide (\n", f'{config}:1: "(" is no regular expression'),
                           ("\nhidden x\n", f'{config}:2: "hidden" is no setting; there are "hide RE"'),
                           ("hide-groups d\n", f'{config}:1: there is no group "d"'),
                           ("hide x\0\n", "it is no text"), ("# " + "x" * 70000, "it is too large")]:
        config.write_text(wrong)
        done = run_heapscope("print", whole, cwd=deep)
        assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


def test_list_hidden(run_heapscope, tmp_path):
    text = run_heapscope("print", "--list-hidden", "--hide", "^my_").stdout
    for line in ("  function xmalloc", "  functions that begin with g_malloc", "  C++ namespace std", "  Rust crate alloc",
                 "  Rust crate tokio", "  ^my_"):
        assert f"{line}\n" in text
    some = run_heapscope("print", "--list-hidden", "--hide-groups", "c").stdout
    assert "xmalloc" in some and "tokio\n" not in some and "(switched off)" in some


# ---- other commands --------------------------------------------------------------------------------------


def test_export_takes_filters(run_heapscope, whole):
    def folded(*options):
        done = run_heapscope("export", "-f", "folded", "-o", "-", *options, whole)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert folded("-m", "allocated") == "main;drop 500\nmain;keep 4000\n"
    assert folded("-m", "allocated", "--focus", "drop") == "main;drop 500\n"
    assert folded("--at", "20us") == "main;drop 500\nmain;keep 1000\n"
    assert folded("-m", "allocated", "--hide", "^keep$") == "main 4000\nmain;drop 500\n"
    done = run_heapscope("export", "-f", "folded", "-o", "-", "--focus", "(", whole)
    assert (done.returncode, done.stdout) == (2, "") and "no regular expression" in done.stderr


def test_diff_takes_filters(run_heapscope, whole):
    done = run_heapscope("diff", "--json", "--focus", "drop", whole, whole)
    document = json.loads(done.stdout)
    assert document["old"]["totals"]["allocated_bytes"] == 500
    assert [site["frames"][0]["function"] for site in document["sites"]] == ["drop"]


# ---- threads ---------------------------------------------------------------------------------------------

WITHOUT_THREADS = """#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	return EAGAIN;
}
"""


def test_without_threads(run_heapscope, build, compile, tmp_path):
    """What worker threads do for a recording of 20,000 stacks the only one does, too, if there can be no others."""
    recording = tmp_path / "wide.hs.gz"
    subprocess.run([build / "tests" / "unit" / "profile" / "bench_replay", "make", "wide", recording, "20000", "1"], check=True)
    library = compile(WITHOUT_THREADS, "-shared", "-fPIC", name="libnothreads.so")
    usual, alone = (run_heapscope("print", recording, env=env) for env in ({}, {"LD_PRELOAD": library}))
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == usual.stdout and "20,000" in usual.stdout


# ---- the pager -------------------------------------------------------------------------------------------


def shown(heapscope, *arguments, env):
    return on_terminal(heapscope, *arguments, env=env).replace("\r\n", "\n")


def test_pager(heapscope, run_heapscope, whole, tmp_path):
    program = tmp_path / "pager"
    program.write_text(f"#!{sys.executable}\nimport os, sys\n"
                       "text = sys.stdin.read()\n"
                       "print('PAGED', os.environ.get('LESS'), len(text) > 500, '\\033[1m' in text)\n")
    program.chmod(0o755)
    environment = clean_environment({"TERM": "xterm", "PAGER": program, "LESS": None})
    assert shown(heapscope, "print", whole, env=environment) == "PAGED FRX True True\n"
    assert shown(heapscope, "print", whole, env={**environment, "LESS": "S"}) == "PAGED S True True\n"
    assert shown(heapscope, "print", whole, env={**environment, "NO_COLOR": "1"}) == "PAGED FRX True False\n"
    assert shown(heapscope, "diff", whole, whole, env=environment).startswith("PAGED FRX")
    for plain in (shown(heapscope, "print", "--no-pager", whole, env=environment),
                  shown(heapscope, "print", whole, env={**environment, "PAGER": ""}),
                  shown(heapscope, "print", whole, env={**environment, "PAGER": "cat"}),
                  shown(heapscope, "print", whole, env={**environment, "PAGER": "/nowhere/pager 2>&-"})):
        assert "PAGED" not in plain and "TOP SITES BY PEAK" in plain
    assert "PAGED" not in shown(heapscope, "print", "--json", whole, env=environment)
    piped = run_heapscope("print", whole, env={"PAGER": program, "TERM": "xterm"})
    assert "PAGED" not in piped.stdout and "TOP SITES" in piped.stdout
    # one that has seen enough is no failure
    assert shown(heapscope, "print", whole, env={**environment, "PAGER": "true"}) == ""
