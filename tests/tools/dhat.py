"""Profiles in DHAT's format, whoever wrote them: totals, and totals by function."""

import json
import pathlib
import subprocess
import sys

KEYS = ("tb", "tbk", "gb", "gbk", "eb", "ebk")  # allocated, at the peak, at the end: bytes and blocks each
VIEWER = pathlib.Path("/usr/libexec/valgrind/dh_view.html")


def split_frame(text):
    """"0xADDR: name (where)" -> (name, where). `where` is "file:line" or "in object"."""
    text = text.split(": ", 1)[1]
    if text.endswith(")"):
        depth = 0
        for position in range(len(text) - 1, -1, -1):  # the parenthesis that the last one closes
            depth += {")": 1, "(": -1}.get(text[position], 0)
            if depth == 0 and position > 0:
                return text[:position].rstrip(), text[position + 1:-1]
    return text, ""


def without_return_type(name):
    """valgrind prints the return type of a template function, as its mangled name holds it; we do not."""
    depth = start = 0
    for position, character in enumerate(name):
        if character in "<({[":
            if character == "(" and depth == 0 and not name.startswith("(anonymous", position):
                break
            depth += 1
        elif character in ">)}]":
            depth -= 1
        elif character == " " and depth == 0 and not name[:position].endswith("operator"):
            start = position + 1
    return name[start:]


class Dhat:
    def __init__(self, document):
        self.document = document
        self.points = document["pps"]
        self.frames = [("[root]", "")] + [split_frame(text) for text in document["ftbl"][1:]]

    def total(self):
        return {key: sum(point[key] for point in self.points) for key in KEYS}

    def stacks(self):
        """(names innermost first, point) of each program point."""
        for point in self.points:
            yield [self.frames[index] for index in point["fs"]], point

    def functions(self):
        """{function: totals of all stacks that contain it}, each stack counted once however deep the recursion."""
        sums = {}
        for frames, point in self.stacks():
            for name in {name for name, _ in frames}:
                entry = sums.setdefault(name, dict.fromkeys(KEYS, 0))
                for key in KEYS:
                    entry[key] += point[key]
        return sums

    def function(self, name):
        """Totals of the stacks that contain `name`, with or without a parameter list. All 0 if there are none."""
        sums = dict.fromkeys(KEYS, 0)
        for frames, point in self.stacks():
            if any(function == name or function.split("(", 1)[0] == name for function, _ in frames):
                for key in KEYS:
                    sums[key] += point[key]
        return sums


def valgrind(command, output, cwd=None, environment=None, input=None):
    """Runs `command` under DHAT. Returns (Dhat, CompletedProcess). libc and libstdc++ free nothing of their own at exit, as in
    a run without valgrind."""
    completed = subprocess.run(
        ["valgrind", "--tool=dhat", "--num-callers=500", "--run-libc-freeres=no", "--run-cxx-freeres=no",
         f"--dhat-out-file={output}", *map(str, command)],
        cwd=cwd, env=environment, input=input, capture_output=True, timeout=300)
    document = json.loads(pathlib.Path(output).read_text(errors="replace"))
    return Dhat(document), completed


def complaints(path):
    """Runs validate_dhat.py on a file; returns its complaints ("" if it has none)."""
    checker = pathlib.Path(__file__).parent / "validate_dhat.py"
    completed = subprocess.run([sys.executable, checker, path], capture_output=True, text=True)
    return completed.stdout + completed.stderr if completed.returncode else ""
