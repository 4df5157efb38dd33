"""Suppressions of leaks: LeakSanitizer's own answers as the measure, the program's own rules however the compiler
built them, and what libc and the runtimes keep."""

import json
import re
import subprocess

import pytest

LEAKS = """
#include <stdlib.h>
__attribute__((noinline)) void *parse_one(int n) { return malloc(n); }
__attribute__((noinline)) void *parse_two(int n) { return malloc(n); }
__attribute__((noinline)) void *cache_put(int n) { void *p = parse_one(n); return p; }
int main(void) {
\tparse_one(1000);
\tparse_two(200);
\tparse_two(200);
\tcache_put(30);
\treturn 0;
}
"""
ALL = 1430  # bytes, in 4 blocks


def suppressed(document):
    totals = document["totals"]
    assert totals["suppressed_bytes"] == sum(rule["bytes"] for rule in document["suppressed"])
    assert totals["suppressed_bytes"] == sum(site["suppressed_bytes"] for site in document["sites"])
    assert totals["suppressed_blocks"] == sum(rule["blocks"] for rule in document["suppressed"])
    return totals["suppressed_bytes"]


@pytest.mark.parametrize("pattern", [
    "parse_two", "parse_*", "^parse_one$", "^one", "two$", "put", "^*_put$", "main", "leaks.c", "/leaks.c$", "^leaks",
    "_two$ignored", "parse_t*o$", "parse**two", "PARSE", "parse_one_", "*", "e_o*e", "cache_put\nleak:parse_one"])
def test_as_leak_sanitizer_has_it(pattern, compile, record, print_json, tmp_path):
    """LeakSanitizer says how many bytes a rule matched; the same program, recorded, gives the same number."""
    source = tmp_path / "leaks.c"
    source.write_text(LEAKS)
    rules = tmp_path / "rules"
    rules.write_text(f"# a comment\n  leak:{pattern}  \r\n")
    checked = compile(source, "-O0", "-fsanitize=leak", name="checked")
    done = subprocess.run([checked], capture_output=True, text=True, timeout=60, env={
        "LSAN_OPTIONS": f"suppressions={rules}:exitcode=0:print_suppressions=1:use_stacks=0:use_registers=0"})
    lines = re.findall(r"^\s+(\d+)\s+(\d+) (\S+)$", done.stderr.partition("Suppressions used:")[2], re.M)
    left = re.search(r"SUMMARY: \w+: (\d+) byte\(s\) leaked", done.stderr)
    expected = sum(int(size) for _, size, _ in lines)
    assert expected + (int(left[1]) if left else 0) == ALL, done.stderr

    recording = record(compile(source, "-O0", name="plain"))
    document = print_json(recording, "--suppressions", rules)
    assert document["totals"]["live_bytes"] == ALL
    assert suppressed(document) == expected
    assert {rule["rule"].removeprefix("leak:"): (rule["blocks"], rule["bytes"]) for rule in document["suppressed"]} == \
        {name: (int(blocks), int(size)) for blocks, size, name in lines}


OWN = 'const char *__lsan_default_suppressions(void);\nconst char *__lsan_default_suppressions(void) { %s }\n'


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-O0", "-no-pie", "-fno-pie"], ["-O2", "-no-pie", "-fno-pie"],
                                   ["-O2", "-fcf-protection"], ["-O0", "-fcf-protection"], ["-O2", "-fPIC", "-rdynamic"]])
@pytest.mark.parametrize("body", [
    'return "leak:parse_two\\n";',
    'static const char rules[] = "leak:parse_two"; return rules;',
    'static const char *const rules = "leak:parse_two"; return rules;',
    'const char *rules = "leak:parse_two"; return rules;'])
def test_of_the_program(compiler, flags, body, compile, record, print_json):
    # the optimizer may neither drop the leaks nor their frames
    kept = ["-fno-builtin", "-fno-optimize-sibling-calls"]
    recording = record(compile(LEAKS + OWN % body, *flags, *kept, compiler=compiler))
    document = print_json(recording)
    assert suppressed(document) == 400, document["suppressed"]
    assert [(rule["rule"], rule["source"], rule["blocks"]) for rule in document["suppressed"]] == \
        [("leak:parse_two", "program", 2)]
    assert suppressed(print_json(recording, "--no-suppressions")) == 0


def test_of_the_program_in_cxx_and_its_library(compile, record, print_json, tmp_path):
    own = 'extern "C" const char *__lsan_default_suppressions() { return "leak:Parser*two\\nleak:nothing\\n"; }\n'
    code = '#include <cstdlib>\nstruct Parser { __attribute__((noinline)) void *two(int n) { return malloc(n); } };\n' \
           'int main() { Parser p; return !p.two(77) || !malloc(5); }\n'
    assert suppressed(print_json(record(compile(own + code, compiler="g++", name="cxx")))) == 77

    library = tmp_path / "rules.c"
    library.write_text(OWN % 'return "leak:parse_one";' + '#include <stdlib.h>\nvoid use(void);\n'
                       'void use(void) { void *volatile p = malloc(1); free(p); }\n')
    compile(library, "-shared", "-fPIC", name="librules.so")
    program = compile(LEAKS.replace("int main(void) {", "void use(void);\nint main(void) {\n\tuse();"),
                      f"-L{tmp_path}", "-lrules", f"-Wl,-rpath,{tmp_path}", name="user")
    assert suppressed(print_json(record(program))) == 1030  # parse_one, and cache_put calls it


def test_what_is_not_constant(compile, record, print_json, print_text, run_heapscope):
    """A function that computes is not run; that is said."""
    for body in ['static char rules[] = "leak:parse_two"; rules[0]++; rules[0]--; return rules;',
                 'return rand() ? "leak:parse_two" : "leak:main";', 'extern char **environ; return environ[0];']:
        recording = record(compile(LEAKS + OWN % body, "-O0"))
        assert suppressed(print_json(recording)) == 0
        done = run_heapscope("check", "--max-leaked", "0", recording)
        assert done.returncode == 1 and "__lsan_default_suppressions does more than return" in \
            " ".join(done.stdout.split())
    recording = record(compile(LEAKS + OWN % "return 0;", "-O1"))
    assert "__lsan" not in run_heapscope("check", "--max-leaked", "1M", recording).stdout


def test_bad_rules_of_the_program(compile, record, print_json, run_heapscope):
    recording = record(compile(LEAKS + OWN % 'return "leak:parse_two\\nrace:x\\nleak:main";'))
    done = run_heapscope("print", "--json", recording)
    assert done.returncode == 0 and 'line 2: "race:x" is no suppression' in done.stderr
    assert suppressed(json.loads(done.stdout)) == 400  # what stands before it counts


def test_files_of_rules(compile, record, print_json, run_heapscope, tmp_path):
    recording = record(compile(LEAKS))
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("leak:parse_one\n")
    two.write_text("leak:parse_two\n")
    environment = {"HEAPSCOPE_SUPPRESSIONS": one}
    done = run_heapscope("print", "--json", recording, env=environment)
    assert suppressed(json.loads(done.stdout)) == 1030
    done = run_heapscope("print", "--json", "--suppressions", two, recording, env=environment)
    assert suppressed(json.loads(done.stdout)) == 400
    for content, message in [("leak:\n", 'line 1: "leak:" is no suppression'), (None, "No such file"),
                             ("x" * (1 << 20) + "\n", "is larger than 1 MiB")]:
        bad = tmp_path / "bad"
        bad.unlink(missing_ok=True)
        if content:
            bad.write_text(content)
        for command in ["print", "diff", "check --max-leaked 0", "suppressions", "export -f folded -m leaked -o -"]:
            files = [recording, recording] if command == "diff" else [recording]
            done = run_heapscope(*command.split(), "--suppressions", bad, *files)
            assert (done.returncode, done.stdout) == (1, ""), command
            assert message in done.stderr and "bad" in done.stderr


def test_flame_graphs_and_folded_stacks(compile, record, run_heapscope, tmp_path):
    """What --metric leaked holds is what print calls leaked; the rest is said. By hand: 1,000 + 30 of 1,430 bytes."""
    recording = record(compile(LEAKS, "-O0"))
    rules = tmp_path / "known.supp"
    rules.write_text("leak:parse_two\n")

    def export(name, *options):
        return run_heapscope("export", "--format", name, "--metric", "leaked", "-o", "-", *options, recording)

    done = export("folded", "--suppressions", rules)
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert sorted(map(int, lines.values())) == [30, 1000] and not any("parse_two" in stack for stack in lines)
    assert "not among what leaked: 400 B in 2 blocks suppressed" in done.stderr
    assert sum(int(line.rsplit(" ", 1)[1]) for line in export("folded", "--no-suppressions").stdout.splitlines()) == ALL
    for options in [], ["--chart"]:
        picture = export("svg", "--suppressions", rules, *options).stdout
        assert ": 1.0 KiB leaked in 2 blocks" in picture and "parse_two" not in picture
        assert "Not among what leaked: 400 B in 2 blocks suppressed." in picture
        picture = export("svg", *options).stdout
        assert ": 1.4 KiB leaked in 4 blocks" in picture and "suppressed" not in picture.partition("<style")[0]
    done = run_heapscope("export", "--format", "pprof", "--no-suppressions", "-o", tmp_path / "x", recording)
    assert done.returncode == 2 and "pprof holds what is live, suppressed or not" in done.stderr
    page = run_heapscope("export", "--format", "html", "--suppressions", rules, "-o", tmp_path / "x.html", recording)
    assert page.returncode == 0, page.stderr
    whole = run_heapscope("export", "--format", "json", "--suppressions", rules, "-o", "-", recording)
    assert suppressed(json.loads(whole.stdout)) == 400


def test_report_and_diff_say_it(compile, record, print_text, run_heapscope, tmp_path):
    recording = record(compile(LEAKS, "-O0"))
    rules = tmp_path / "known.supp"
    rules.write_text("leak:parse_two\n")
    text = " ".join(print_text(recording, "--suppressions", rules).split())
    assert "at exit 1.4 KiB in 4 blocks" in text
    assert f"leaked 1.0 KiB 400 B in 2 blocks suppressed by 1 rule: leak:parse_two ({rules}:1)" in \
        text.replace("known.supp :1", "known.supp:1")
    assert "1.0 KiB live at exit, not suppressed" in text
    text = " ".join(run_heapscope("diff", "--suppressions", rules, recording, recording).stdout.split())
    assert "leaked 1.0 KiB 1.0 KiB 0 B" in text
    assert "not leaked: 400 B in 2 blocks suppressed by 1 rule: leak:parse_two" in text


KEEPERS = """
#include <locale.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void nothing(void) { }
static void *thread(void *argument) { return argument; }
int main(void) {
\ttime_t now = time(NULL);
\tpthread_t id;
\tsetlocale(LC_ALL, "C.UTF-8");
\tprintf("hello\\n");
\tsetenv("TZ", "Europe/Berlin", 1);
\tlocaltime(&now);
\tgetpwuid(0);
\tfor (int i = 0; i < 50; i++)
\t\tatexit(nothing);
\tpthread_create(&id, NULL, thread, NULL);
\tpthread_join(id, NULL);
\treturn malloc(123) == NULL;
}
"""


def test_what_libc_keeps(compile, record, print_json):
    document = print_json(record(compile(KEEPERS)))
    totals = document["totals"]
    assert totals["live_bytes"] - suppressed(document) == 123
    assert totals["live_blocks"] - totals["suppressed_blocks"] == 1
    what = {rule["what"] for rule in document["suppressed"]}
    assert {"stdio's buffers", "the environment", "the time zone", "the locale that setlocale loaded",
            "the loader's records of libraries and of threads' TLS"} <= what
    assert {rule["source"] for rule in document["suppressed"]} == {"built in"}


def test_what_libstdcxx_keeps(compile, record, print_json):
    code = "#include <iostream>\n#include <locale>\nint main() { std::ios::sync_with_stdio(false);\n" \
           "std::locale::global(std::locale(\"C.UTF-8\")); std::cout << 1.5 << std::endl; return !malloc(123); }\n"
    document = print_json(record(compile(code, compiler="g++")))
    assert document["totals"]["live_bytes"] - suppressed(document) == 123
    pool = [rule for rule in document["suppressed"] if rule["what"] == "the emergency pool for exceptions"]
    assert [(rule["bytes"], rule["blocks"]) for rule in pool] == [(72704, 1)]
    document = print_json(record(compile(code, "-static-libstdc++", compiler="g++", name="static")))
    pool = [rule for rule in document["suppressed"] if "emergency pool" in rule["what"]]
    assert [(rule["bytes"], rule["blocks"]) for rule in pool] == [(72704, 1)]


def test_what_rust_keeps(compile, record, print_json):
    code = "fn main() {\n    let mut line = String::new();\n    std::io::stdin().read_line(&mut line).unwrap();\n" \
           "    println!(\"{line}\");\n    std::thread::spawn(|| 1).join().unwrap();\n" \
           "    std::hint::black_box(Box::leak(vec![1u8; 123].into_boxed_slice()));\n}\n"
    document = print_json(record(compile(code, "-O", compiler="rustc")))
    assert document["totals"]["live_bytes"] - suppressed(document) == 123


def test_no_leak_of_the_program_hides(compile, record, print_json):
    """Functions with the names of libc's, callbacks that libc calls, a constructor of the program."""
    code = """
#include <stdlib.h>
#include <stdio.h>
void *_nl_mine(int n) { return malloc(n); }
static int compare(const void *a, const void *b) { return !malloc(7) + *(const char *)a - *(const char *)b; }
__attribute__((constructor)) static void begin(void) { if (!malloc(1000)) abort(); }
int main(void) {
\tchar two[] = "ab";
\tqsort(two, 2, 1, compare);
\treturn !_nl_mine(30) || !fopen("/dev/null", "r");
}
"""
    document = print_json(record(compile(code)))
    leaked = document["totals"]["live_bytes"] - suppressed(document)
    assert suppressed(document) == 0
    assert leaked == 7 + 1000 + 30 + 472  # a FILE of glibc 2.36


def test_list(run_heapscope, compile, record, tmp_path):
    done = run_heapscope("suppressions")
    assert (done.returncode, done.stderr) == (0, "")
    assert "# libc: stdio's buffers\n" in done.stdout and "# libstdc++: the emergency pool for exceptions\n" in done.stdout
    # as a file of rules, its functions can be read back
    rules = tmp_path / "listed"
    rules.write_text(re.sub(r" *# .*", "", done.stdout))
    recording = record(compile(LEAKS + OWN % 'return "leak:parse_two";'))
    done = run_heapscope("suppressions", "--suppressions", rules, recording)
    assert done.returncode == 0
    assert re.search(r"^ +400 B +2  leak:parse_two +# the program's own$", done.stdout, re.M) is None  # leak:* is first
    done = run_heapscope("suppressions", recording)
    assert re.search(r"^ +400 B +2  leak:parse_two +# the program's own$", done.stdout, re.M)
    assert re.search(r"^ +0 B +0  leak:\^setlocale\$ +# libc: ", done.stdout, re.M)
    document = json.loads(run_heapscope("suppressions", "--json", recording).stdout)
    assert document["schema"] == "heapscope-suppressions-1"
    assert document["rules"][0] == {"rule": "leak:parse_two", "source": "program", "line": 1, "bytes": 400, "blocks": 2,
                                    "file": "__lsan_default_suppressions", "library": None, "what": None}
