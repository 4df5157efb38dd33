"""The page of `heapscope view`, driven in headless Chromium: tests/viewer/checks.mjs has the checks, one test here each.

The pages are of real recordings (examples/server.c, a compiler, one that was cut off) and of made-up data (hostile names, a
million stacks). What they should say comes from `heapscope print --json`."""

import base64
import gzip
import json
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ROOT / "tests" / "viewer" / "run.mjs"

# Two states of a program: the second one's cache is larger, it no longer copies, and it has an index.
TWO_STATES = r"""
#include <stdlib.h>
#include <string.h>
static void *volatile keep[400]; /* else the optimizer drops what is only kept */
__attribute__((noinline)) static void fill_cache(int count) { for (int i = 0; i < count; i++) keep[i] = malloc(1000); }
__attribute__((noinline)) static void copy_words(void) { for (int i = 0; i < 300; i++) free(strdup("a word that is copied")); }
__attribute__((noinline)) static void build_index(void) { keep[399] = malloc(50000); }
__attribute__((noinline)) static void same_as_ever(void) { keep[398] = malloc(777); }
int main(void)
{
	fill_cache(NEW ? 200 : 100);
	same_as_ever();
	if (NEW)
		build_index();
	else
		copy_words();
	return 0;
}
"""


# Leaks 407 bytes with NEW, else 107; the 2,500 bytes below known() are kept on purpose. 1,000 of those, and 7, are a thread's.
SUPPRESSED = r"""
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void known(int count) { while (count--) kept = malloc(500); }
__attribute__((noinline)) static void leak(int size) { kept = malloc(size); }
static void *work(void *unused) { known(2); leak(7); return unused; }
int main(void)
{
	pthread_t thread;
	known(3);
	for (int i = 0; i < (NEW ? 4 : 1); i++)
		leak(100);
	return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL);
}
"""


# Two phases of one name, one of a hostile name, and a moment between them; the pauses keep them in bins of their own.
MARKED = r"""
#include <heapscope/heapscope.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
static void pause_a_while(void) { usleep(20000); }
__attribute__((noinline)) static void fill(int count) { while (count--) kept = malloc(1000); }
__attribute__((noinline)) static void serve(int count) { while (count--) { kept = malloc(500); free(kept); } }
int main(void)
{
	pause_a_while();
	heapscope_phase_begin("load");
	fill(100);
	pause_a_while();
	heapscope_phase_end("load");
	pause_a_while();
	heapscope_mark("re\"load");
	pause_a_while();
	heapscope_phase_begin("<img src=x onerror=\"window.injected=1\">");
	serve(40);
	pause_a_while();
	heapscope_phase_end("<img src=x onerror=\"window.injected=1\">");
	pause_a_while();
	heapscope_phase_begin("load");
	fill(7);
	pause_a_while();
	heapscope_phase_end("load");
	pause_a_while();
	return 0;
}
"""


def checks():
    """The names of the checks, from the file that has them."""
    listed = subprocess.run(["node", RUNNER, "--list"], capture_output=True, text=True)
    return json.loads(listed.stdout) if listed.returncode == 0 else ["the checks can be listed"]


@pytest.fixture(scope="module")
def page(build):
    return build / "viewer" / "viewer.html"


class Pages:
    """Makes recordings, their pages, and what print says of them, in one folder."""

    def __init__(self, run_heapscope, folder, viewer, page):
        self.run_heapscope, self.folder, self.viewer, self.page = run_heapscope, folder, viewer, page
        self.pages, self.facts = {}, {}

    def record(self, name, command):
        path = self.folder / f"{name}.hs.gz"
        done = self.run_heapscope("run", "-o", path, "--", *command, cwd=self.folder, timeout=300)
        assert done.returncode == 0, done.stderr
        return path

    def print(self, name, recording, *options):
        done = self.run_heapscope("print", "--json", *options, recording, timeout=300)
        assert done.returncode == 0, done.stderr
        self.facts[name] = self.folder / f"{name}.json"
        self.facts[name].write_text(done.stdout)

    def view(self, name, *arguments):
        self.pages[name] = self.folder / f"{name}.html"
        done = self.run_heapscope("view", "-o", self.pages[name], *arguments, timeout=300)
        assert done.returncode == 0, done.stderr

    def made(self, name, *arguments):
        self.pages[name] = self.folder / f"{name}.html"
        done = subprocess.run(["npm", "run", "--silent", "made", "--", self.pages[name], "--page", self.page, *arguments],
                              cwd=self.viewer, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def results(request, run_heapscope, build, viewer, page, tool, tmp_path_factory):
    """What each check found, by name. The browser runs once for all of them."""
    folder = tmp_path_factory.mktemp("pages")
    pages = Pages(run_heapscope, folder, viewer, page)

    server = pages.record("server", [build / "examples" / "server", "--once"])
    pages.print("server", server)
    pages.view("server", "--sources", server)

    (folder / "states.c").write_text(TWO_STATES)
    for name, state in (("old", 0), ("now", 1)):
        subprocess.run([tool("gcc"), "-g", "-O1", f"-DNEW={state}", "-o", folder / "states", folder / "states.c"], check=True)
        pages.print(name, pages.record(name, [folder / "states"]))
    pages.view("diff", folder / "old.hs.gz", folder / "now.hs.gz")

    rules = folder / "rules.supp"
    rules.write_text("leak:^known$\n")
    (folder / "suppressed.c").write_text(SUPPRESSED)
    both = []
    for name, state in (("suppressedold", 0), ("suppressed", 1)):
        subprocess.run([tool("gcc"), "-g", "-O1", f"-DNEW={state}", "-pthread", "-o", folder / "suppressed", folder / "suppressed.c"], check=True)
        both.append(pages.record(name, [folder / "suppressed"]))
        pages.print(name, both[-1], "--suppressions", rules)
    pages.view("suppressed", "--suppressions", rules, both[1])
    pages.view("suppresseddiff", "--suppressions", rules, *both)

    (folder / "marked.c").write_text(MARKED)
    subprocess.run([tool("gcc"), "-g", "-O1", "-I", ROOT / "include", "-o", folder / "marked", folder / "marked.c"], check=True)
    marked = pages.record("marked", [folder / "marked"])
    pages.print("marked", marked)
    pages.view("marked", marked)

    (folder / "in.folded").write_text("main;keep 3000\nmain;drop 500\n")
    assert run_heapscope("import", "-o", folder / "in.hs.gz", folder / "in.folded").returncode == 0
    pages.view("imported", folder / "in.hs.gz")

    cut = folder / "cut.hs.gz"
    cut.write_bytes(server.read_bytes()[:-400])
    pages.print("cut", cut)
    pages.view("cut", cut)

    containers = folder / "containers"
    subprocess.run([tool("g++"), "-g", "-O1", "-o", containers, ROOT / "tests" / "targets" / "containers.cc"], check=True)
    recording = pages.record("containers", [containers])
    pages.print("folded", recording)
    pages.print("raw", recording, "--raw")
    pages.view("containers", recording)

    source = folder / "large.cc"
    source.write_text("#include <iostream>\n#include <map>\n#include <regex>\nstd::map<std::string, std::regex> all;\n"
                      "int main() { all[\"x\"] = std::regex(\"a+b\"); std::cout << all.size() << std::endl; }\n")
    compiler = pages.record("compiler", [tool("clang++"), "-O1", "-c", source, "-o", "/dev/null"])
    pages.print("compiler", compiler)
    pages.view("compiler", compiler)

    pages.made("madediff", "--baseline")
    pages.made("hostile", "--hostile", "--warning")
    million = folder / "million.json"
    million.write_text(json.dumps(pages.made("million", "--stacks", "1000000")))
    pages.facts["million"] = million

    shutil.copy(page, folder / "empty.html")
    pages.pages["empty"] = folder / "empty.html"
    text = pages.pages["server"].read_text()
    start = text.index("<!--heapscope-data:") + len("<!--heapscope-data:")
    data = folder / "page-data.gz"
    data.write_bytes(base64.b64decode(text[start:text.index("-->", start)]))
    assert gzip.decompress(data.read_bytes()).startswith(b"HSPAGE1\0")
    pages.pages["data"] = data
    pages.pages["damaged"] = folder / "damaged.html"
    pages.pages["damaged"].write_text(text[:start + 4000] + text[text.index("-->", start):])

    plan = folder / "plan.json"
    plan.write_text(json.dumps({"modules": str(viewer), "browser": tool("chromium"), "pages": {name: str(path) for name, path in pages.pages.items()},
                                "facts": {name: str(path) for name, path in pages.facts.items()}}))
    names = [item.callspec.params["name"] for item in request.session.items if getattr(item, "function", None) is test_page]
    done = subprocess.run(["node", RUNNER, plan, *names], capture_output=True, text=True, timeout=1800)
    found = {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, done.stderr
    return found


@pytest.mark.parametrize("name", checks())
def test_page(name, results):
    assert results[name]["error"] is None, results[name]["error"]
    if results[name]["note"]:
        print(f"{name}: {results[name]['note']}")


def test_the_page_is_small(page):
    assert page.stat().st_size < 150 * 1024, "the page without data is to stay below 150 KiB"


def test_the_page_names_no_other_place(page):
    """Nothing in the page refers to a place from which something could be loaded."""
    text = page.read_text()
    places = {one.split('"')[0].split("'")[0].split("`")[0][:60] for one in text.replace("https://", "http://").split("http://")[1:]}
    # names of XML's vocabularies, which nobody loads
    assert all(one.startswith("www.w3.org/") for one in places), places


def test_unit_tests(viewer):
    done = subprocess.run(["npm", "test"], cwd=viewer, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types(viewer):
    done = subprocess.run(["npm", "run", "--silent", "check"], cwd=viewer, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
