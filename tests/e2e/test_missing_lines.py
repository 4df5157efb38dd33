"""Where line numbers are missing, reports say how to get them, and say nothing where nothing helps."""

import json
import subprocess

import pytest

RUST = """
#[inline(never)]
fn keep(count: usize) -> Vec<Box<u64>> { (0..count as u64).map(Box::new).collect() }
fn main() { println!("{}", keep(100).len()); }
"""

MIXED = {
    "main": "#include <stdlib.h>\nvoid *one(int n), *two(int n);\n"
            "int main(void) { for (int i = 0; i < 15; i++) free(malloc(10)); for (int i = 0; i < 3; i++) free(one(20)); free(two(30));"
            " free(two(30)); return 0; }\n",
    "one": "#include <stdlib.h>\nvoid *one(int n) { return malloc(n); }\n",
    "two": "#include <stdlib.h>\nvoid *two(int n) { return malloc(n); }\n",
}

# As a Rust program without -g looks: std was compiled elsewhere, with debug information.
STD = "int _ZN3std2rt10lang_start17h0123456789abcdefE(int (*real)(void)) { return real(); }\n"
PROGRAM = """
#include <stdlib.h>
int _ZN3std2rt10lang_start17h0123456789abcdefE(int (*real)(void));
static int real_main(void) { void *volatile p = malloc(10); return p == NULL; }
int main(void) { return _ZN3std2rt10lang_start17h0123456789abcdefE(real_main); }
"""


def flat(text):
    return " ".join(text.split())


def notes(print_text, recording):
    return flat(print_text(recording).split("\nnote: ", 1)[1])


@pytest.fixture
def advice(run_heapscope, print_text, record):
    """advice(program) -> print's notes, info's entry of the program, and doctor's message and remedy about names."""

    def collect(program):
        recording = record(program)
        info = json.loads(run_heapscope("info", "--json", recording).stdout)
        checks = json.loads(run_heapscope("doctor", "--json", program).stdout)["checks"]
        names = next(check for check in checks if check["check"] == "names")
        module = next(module for module in info["modules"] if module["path"] == str(program))
        return notes(print_text, recording), module, names

    return collect


def rustc(folder, *options):
    (folder / "program.rs").write_text(RUST)
    subprocess.run(["rustc", "--edition", "2021", *options, "-o", "program", "program.rs"], cwd=folder, check=True)
    return folder / "program"


def test_rust_with_debug_information(advice, tmp_path):
    """rustc makes a main that has none, whatever the options: no advice helps there."""
    printed, module, names = advice(rustc(tmp_path, "-g"))
    assert "no line numbers" not in printed
    assert module["frames_without_line"] > 0 and not module["lacks_debug_information"]
    assert names["state"] == "ok"


def test_rust_without_debug_information(advice, tmp_path):
    """Its std may have lines of its own, which are not those that are wanted."""
    printed, module, names = advice(rustc(tmp_path))
    assert printed.startswith("no line numbers for program, which makes ")
    assert "build it with -g (with cargo: debug = true in the profile)" in printed
    assert module["lacks_debug_information"] and not module["debug_information_is_here"]
    assert names["state"] == "warning" and "-g" in names["remedy"]


def test_only_the_runtime_has_debug_information(advice, tmp_path):
    (tmp_path / "std.c").write_text(STD)
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", f"-fdebug-prefix-map={tmp_path}=/rustc/0123", "-c", "std.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-o", "program", "program.c", "std.o"], cwd=tmp_path, check=True)
    printed, module, names = advice(tmp_path / "program")
    assert printed.startswith("no line numbers for program, which makes 100.0% of the calls: build it with -g (with cargo: ")
    assert module["lacks_debug_information"] and not module["debug_information_is_here"]
    assert names["message"] == "only Rust's own libraries in it have debug information: reports show its functions, but no lines"
    assert names["remedy"] == "build it with -g (with cargo: debug = true in the profile)"


@pytest.mark.parametrize("without, words", [
    (["one", "two"], "no line numbers for one and 1 function more of program, which make 25.0% of the calls: "),
    (["two"], "no line numbers for two of program, which makes 10.0% of the calls: "),
])
def test_some_files_without_debug_information(advice, tmp_path, without, words):
    """15 calls in main, 3 in one, 2 in two: where only some files lack lines, the functions are named."""
    for name, text in MIXED.items():
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run(["gcc", "-g0" if name in without else "-g", "-c", f"{name}.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-o", "program", "main.o", "one.o", "two.o"], cwd=tmp_path, check=True)
    printed, module, names = advice(tmp_path / "program")
    assert printed.startswith(words + "built without -g, unlike other code of it note: ")
    assert not module["lacks_debug_information"] and names["state"] == "ok"
