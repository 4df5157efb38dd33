"""docs/guide.md and README.md are true: their commands are run, one after the other, in a folder with copies of the
examples, and print what stands there.

    ```console   "$ COMMAND" lines ("> " lines go on), each followed by what it prints on both of its streams. A line
                 with nothing but "..." stands for any number of lines. The exit status is 0, unless "$ echo $?" follows.
    ```sh        commands whose output is not shown. The exit status is 0.
    ```diff      lines to replace in the file that the "--- FILE" line names; "@@" lines separate places.

What differs from run to run (`steady`) is left out of the comparison. Everything else is exact.

    /usr/bin/python3 tests/e2e/test_guide.py docs/guide.md     prints a guide with what its commands print today
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from conftest import ROOT, clean_environment  # noqa: E402

# Rust's start-up code reads /proc/self/maps, with one allocation more if paths there have more than 46 characters. Many
# have, so all shall.
LONG = "a-folder-whose-name-is-long-enough-for-paths-of-many-characters"

# Commands that are not run here, and why.
NOT_RUN = {
    "./dev build": "is how heapscope came here",
    "./dev demo": "installs packages; its commands are those of README.md",
    "./dev test": "runs this",
    "export PATH=$PWD/build/analyzer/cli:$PATH": "done below",
    "cp -r examples /tmp/tour && cd /tmp/tour": "done below",
}

# What README.md takes for granted.
PREPARED = """\
gcc -g -O2 -pthread server.c -o server
heaptrack -o heaptrack.server.4711 ./server --once
for rank in 0 1; do heapscope run -o rank.$rank.hs.gz ./server --once; done
"""


def steady(line, folder=None):
    """The line without what differs from run to run: times, process ids, dates, resident sizes, the folder."""
    if folder:
        line = line.replace(str(folder), "/tmp/tour")
    before = line = line.rstrip()
    if match := re.match(r"( *[\d.]+ [KMG]?i?B ┤| +┤)", line):  # heights of the chart stay, its bars go by time
        return match.group(1) + " BARS"
    if re.match(r" +(0 s | *▲ peak )", line) or re.match(r" +RSS  ?[▁▂▃▄▅▆▇█]", line):
        return "TIME AXIS, OR RSS BELOW IT"
    if re.match(r" *peak RSS ", line):
        return "PEAK RSS"
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", line)
    line = re.sub(r"\bpid \d+", "pid N", line)
    line = re.sub(r"(?<![\w.,])\d[\d,]*(\.\d+)? (us|ms|s|min|h)\b", "TIME", line)
    return line if line == before else re.sub(r" +", " ", line)


def compare(shown, printed, folder=None):
    """What is wrong: None, or the first shown lines that were not printed where they should be."""
    shown = [steady(line) for line in shown]
    printed = [steady(line, folder) for line in printed]
    pieces, at = [[]], 0
    for line in shown:
        if line.strip() == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    for number, piece in enumerate(pieces):
        first, last = number == 0, number == len(pieces) - 1
        starts = range(at, len(printed) - len(piece) + 1)
        if first:
            starts = [0]
        if last:
            starts = [start for start in starts if start + len(piece) == len(printed)]
        found = [start for start in starts if printed[start:start + len(piece)] == piece]
        if not found:
            return "\n".join(piece) or "(nothing)"
        at = found[0] + len(piece)
    return None


def blocks(text):
    """(language, lines) of each fenced block of a Markdown text."""
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield match.group(1), match.group(2).splitlines()


def commands(lines):
    """[command, lines shown below it] of a console block."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1].append(line)
    return found


def replace_lines(lines, folder):
    """Does what a diff block says, and returns the name of the file. Each place stands in it exactly once."""
    assert lines[0].startswith("--- ") and lines[1] == "+++ " + lines[0][4:], lines
    path = folder / lines[0][4:]
    text = path.read_text()
    for place in "\n".join(lines[2:]).split("\n@@\n"):
        place = place.removeprefix("@@\n").split("\n")
        assert all(line == "" or line[0] in " -+" for line in place), place
        old, new = ("".join(line[1:] + "\n" for line in place if line[:1] != other) for other in "+-")
        assert text.count(old) == 1, f"{path.name} does not have this once:\n{old}"
        text = text.replace(old, new)
    path.write_text(text)
    return path.name


class Shell:
    """Runs commands one after the other in a folder with copies of the examples, heapscope in the PATH."""

    def __init__(self, heapscope, base):
        self.folder = base / LONG
        shutil.copytree(ROOT / "examples", self.folder)
        self.status = 0
        browser = base / "bin" / "xdg-open"
        browser.parent.mkdir()
        browser.write_text("#!/bin/sh\n")
        browser.chmod(0o755)
        environment = clean_environment()
        self.environment = {**environment, "PATH": f"{browser.parent}:{heapscope.parent}:{environment['PATH']}"}

    def run(self, command):
        """Returns the lines that it prints."""
        done = subprocess.run(["bash", "-o", "pipefail", "-c", f"(exit {self.status})\n{command}"], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        self.status = done.returncode
        return done.stdout.splitlines()


def run_document(text, shell):
    """All that is not true in it, in words."""
    wrong = []
    for language, lines in blocks(text):
        if language == "diff":
            replace_lines(lines, shell.folder)
        elif language == "sh":
            for line in lines:
                command = re.sub(r" +#.*", "", line)
                if command and command not in NOT_RUN:
                    printed = shell.run(command)
                    if shell.status != 0:
                        wrong.append(f"$ {command}\nexit status {shell.status}:\n" + "\n".join(printed))
        elif language == "console":
            found = commands(lines)
            for (command, shown), following in zip(found, found[1:] + [("", [])]):
                printed = shell.run(command)
                if missing := compare(shown, printed, shell.folder):
                    wrong.append(f"$ {command}\nshould have printed\n{missing}\nbut printed\n" + "\n".join(printed))
                elif shell.status != 0 and following[0] != "echo $?":
                    wrong.append(f"$ {command}\nexit status {shell.status}")
    return wrong


@pytest.mark.parametrize("document", ["docs/guide.md", "README.md"])
def test_document(document, heapscope, tmp_path, tool):
    for name in ("rustc", "g++", "heaptrack"):
        tool(name)
    shell = Shell(heapscope, tmp_path)
    if document == "README.md":
        printed = shell.run("set -e\n" + PREPARED)
        assert shell.status == 0, printed
    wrong = run_document((ROOT / document).read_text(), shell)
    assert not wrong, f"{document}, once for each command:\n\n" + "\n\n".join(wrong)


def test_every_reason_is_needed():
    lines = [line for document in ("docs/guide.md", "README.md")
             for language, block in blocks((ROOT / document).read_text()) if language == "sh" for line in block]
    for command in NOT_RUN:
        assert any(re.sub(r" +#.*", "", line) == command for line in lines), command


def headings(path):
    """The anchors that GitHub gives to a page's headings."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", path.read_text(), re.M)}


@pytest.mark.parametrize("page", sorted(str(path.relative_to(ROOT)) for path in [
    ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "tests").rglob("README.md"), ROOT / "viewer" / "README.md",
    ROOT / "include" / "heapscope" / "FORMAT.md"]))
def test_links(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in headings(path), target


PRINTED = """\
./server --once
pid 31087, 70.2 ms, exit status 0, recorded 2026-11-29 14:37:50
  peak          6.1 MiB   at 68.8 ms, in 5,008 blocks
  peak RSS      9.5 MiB   of the process, heapscope's buffers included
    6.1 MiB ┤             ▁▃▅▇██
            ┤         ▁▃▅▇██████
             0 s     peak 68.8 ms ▲
        RSS  ▂▂▂▂▂▂▂▂▂▂▂████████ 8.0 MiB
 1    5.8 MiB  94.9%  94.9%   1,000  cache_put             examples/server.c:69
 2  187.4 KiB   3.0%  97.9%   1,999  open_session          examples/server.c:200
""".splitlines()


@pytest.mark.parametrize("old, new, same", [
    ("pid 31087, 70.2 ms", "pid 7, 1.25 s", True),
    ("at 68.8 ms", "at 121.0 ms", True),
    ("14:37:50", "02:00:00", True),
    ("9.5 MiB", "11.0 MiB", True),
    ("▁▃▅▇██", "▁▁▁▁▁██", True),
    ("0 s     peak 68.8 ms ▲", "▲ peak 1 ms", True),
    ("5,008", "5,009", False),
    ("    6.1 MiB ┤", "    6.2 MiB ┤", False),
    ("exit status 0", "exit status 1", False),
    ("94.9%  94.9%", "94.9%  94.8%", False),
    ("187.4", "187.5", False),
    ("server.c:69", "server.c:70", False),
    ("cache_put ", "cache_get ", False),
])
def test_compare_tells(old, new, same):
    text = "\n".join(PRINTED)
    assert text.count(old) >= 1
    changed = text.replace(old, new, 1).splitlines()
    assert (compare(PRINTED, changed) is None) == same
    # abridged, with what changed among what is still shown
    kept = [number for number, line in enumerate(PRINTED) if line != changed[number]][0]
    assert (compare(["...", PRINTED[kept], "..."], changed) is None) == same


def test_compare_abridged():
    for shown in (["a", "...", "c"], ["...", "c"], ["a", "..."], ["...", "b", "..."], ["a", "b", "...", "c"], ["..."]):
        assert compare(shown, ["a", "b", "c"]) is None
    for shown in (["a", "c"], ["b", "..."], ["...", "b"], ["...", "c", "...", "b", "..."], ["...", "b", "a", "..."], [],
                  ["a", "b", "c", "...", "c"], ["a", "b", "c", "d"]):
        assert compare(shown, ["a", "b", "c"]) is not None


def main():
    build = pathlib.Path(os.environ.get("HEAPSCOPE_BUILD", ROOT / "build")).resolve()
    with tempfile.TemporaryDirectory() as base:
        shell = Shell(build / "analyzer" / "cli" / "heapscope", pathlib.Path(base))
        for language, lines in blocks(pathlib.Path(sys.argv[1]).read_text()):
            if language == "diff":
                print("edited", replace_lines(lines, shell.folder))
            elif language == "console":
                for command, _ in commands(lines):
                    print("$ " + command.replace("\n", "\n> "))
                    print("\n".join(shell.run(command)).replace(str(shell.folder), "/tmp/tour"))


if __name__ == "__main__":
    main()
