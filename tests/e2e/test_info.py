"""heapscope info, on recordings made by hand (their members are known) and on a stripped program."""

import json
import re
import shutil
import subprocess

import made_recording as made


def flat(text):
    return " ".join(text.split())


def test_whole_file(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole())
    done = run_heapscope("info", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"  file       {len(made.whole())} B in 8 members\n" in done.stdout
    for kind, items, member in [("header", 1, made.header()), ("nodes", 3, made.nodes()), ("events", 4, made.events()),
                                ("samples", 2, made.samples()), ("footer", 1, made.footer())]:
        assert re.search(rf"^  {kind} +1 +{items} +{len(member)} B +\d+ B$", done.stdout, re.M)
    assert "  complete: no event lost, every stack whole\n" in done.stdout
    assert re.search(r"^MODULES WITHOUT DEBUG INFORMATION +0 of 1 module, 1 in stacks\n  none\n$", done.stdout, re.M)
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    coloured = run_heapscope("info", "--color", "always", path).stdout
    assert "\033[" in coloured and re.sub(r"\033\[\d*m", "", coloured) == done.stdout


def test_what_is_missing_is_counted(run_heapscope, tmp_path):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole(lost_events=7, truncated_stacks=1, broken_stacks=2, stopped="the disk was full"))
    text = flat(run_heapscope("info", path).stdout)
    assert "7 events lost: all numbers are too low by them" in text
    assert "1 stack without outer callers: too deep" in text
    assert "2 stacks without outer callers: code without unwind tables" in text
    assert "recording ended before the program did: the disk was full" in text
    assert "complete: " not in text


def test_cut_file(run_heapscope, tmp_path):
    path = tmp_path / "cut.hs.gz"
    path.write_bytes(made.header() + made.modules() + made.nodes() + made.events() + made.symbols()[:50])
    done = run_heapscope("info", path)
    assert done.returncode == 0
    assert "in 4 members; the last 50 B are not whole" in done.stdout
    assert "the recording is cut after 4 events" in flat(done.stdout)
    assert "build-id abcd\n" in done.stdout  # as made_recording has it
    assert "names are written when the program ends" in flat(done.stdout)


def test_stripped_program(compile, record, run_heapscope, tool):
    program = compile("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); return p == NULL; }\n",
                      "-s", "-Wl,--build-id")
    notes = subprocess.run([tool("readelf"), "-n", program], capture_output=True, text=True).stdout
    text = run_heapscope("info", record(program)).stdout
    assert f"    build-id {re.search(r'Build ID: ([0-9a-f]+)', notes)[1]}\n" in text
    assert re.search(r"^  \S*target\n    \d+ frames?: \d+ without line, \d+ without name$", text, re.M)
    assert "\n    of no package: build it with -g\n" in text


def test_mistakes(run_heapscope, tmp_path):
    bad = tmp_path / "bad.hs.gz"
    bad.write_bytes(b"this is no recording\n")
    done = run_heapscope("info", bad)
    assert (done.returncode, done.stdout) == (1, "") and "bad.hs.gz" in done.stderr
    done = run_heapscope("info")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("heapscope: info: which recording? e.g. heapscope info server.hs.gz\n")
    done = run_heapscope("info", "--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: heapscope info ")
    assert max(map(len, done.stdout.splitlines())) <= 80


def owner(path):
    """dpkg's answer, for the path as the package has it."""
    for name in [path, path.removeprefix("/usr")]:
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if done.returncode == 0:
            return re.split("[:,]", done.stdout)[0]
    return None


def test_packages(record, run_heapscope, tool):
    """jq is stripped, its debug packages are not installed; libc's are. dpkg says who owns what."""
    recording = record([tool("jq"), "."], input="[1, 2]")
    document = json.loads(run_heapscope("info", "--json", recording).stdout)
    modules = {re.sub(r".*/", "", module["path"]): module for module in document["modules"]}
    jq = modules["jq"]
    assert jq["lacks_debug_information"] and jq["file_is_here"] and not jq["debug_information_is_here"]
    assert (jq["package"], jq["debug_package"]) == ("jq", "jq-dbgsym") and owner(jq["path"]) == "jq"
    assert jq["debuginfod_path"] == f"/buildid/{jq['build_id']}/debuginfo"
    library = next(module for name, module in modules.items() if name.startswith("libjq.so"))
    assert library["package"] == owner(library["path"]) == "libjq1" and library["debug_package"] == "libjq1-dbgsym"
    assert not modules["libc.so.6"]["lacks_debug_information"] and modules["libc.so.6"]["package"] is None
    assert "install libjq1-dbgsym" in flat(run_heapscope("info", recording).stdout)


def test_module_that_changed_since(compile, record, run_heapscope):
    source = "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(SIZE); return p == NULL; }\n"
    program = compile(source, "-s", "-Wl,--build-id", "-DSIZE=10")
    recording = record(program)
    other = compile(source, "-g", "-Wl,--build-id", "-DSIZE=11", name="other")
    shutil.copy(other, program)
    assert "not on this machine as it was recorded: its package is not known" in flat(run_heapscope("info", recording).stdout)


def test_debug_information_that_came_later(compile, record, run_heapscope, tool):
    program = compile("#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); return p == NULL; }\n",
                      "-Wl,--build-id")
    debug = program.with_suffix(".debug")
    subprocess.run([tool("objcopy"), "--only-keep-debug", program, debug], check=True)
    hidden = debug.rename(debug.with_suffix(".hidden"))
    subprocess.run([tool("objcopy"), "--strip-all", program], check=True)
    hidden.rename(debug)
    subprocess.run([tool("objcopy"), f"--add-gnu-debuglink={debug}", program], check=True)
    debug.rename(hidden)
    recording = record(program)
    hidden.rename(debug)
    assert "its debug information is on this machine by now: record again" in flat(run_heapscope("info", recording).stdout)


def test_json(run_heapscope, tmp_path, request):
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made.whole())
    done = run_heapscope("info", "--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["schema"] == "heapscope-info-1"
    assert document["file_bytes"] == document["whole_bytes"] == len(made.whole())
    assert document["finished"] and document["complete"] and document["has_names"]
    nodes = next(member for member in document["members"] if member["kind"] == "nodes")
    assert (nodes["members"], nodes["items"], nodes["file_bytes"]) == (1, 3, len(made.nodes()))
    assert document["facts"]["pid"] == 4242
    assert document["modules"][0]["frames"] == 3 and not document["modules"][0]["lacks_debug_information"]
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    keys = set(document) | set(nodes) | set(document["modules"][0])
    assert [key for key in sorted(keys) if f"`{key}`" not in documentation] == []
    path.write_bytes(made.whole(lost_events=7))
    assert not json.loads(run_heapscope("info", "--json", path).stdout)["complete"]
