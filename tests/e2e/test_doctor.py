"""heapscope doctor: programs with one fault each, and the machine; libraries and unwind tables against what ld.so and
readelf say."""

import json
import os
import re
import resource
import shutil
import subprocess

import pytest

SOURCE = "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(10); return p == NULL; }\n"


@pytest.fixture
def doctor(run_heapscope):
    """doctor(program, ...) -> {check: (state, message, remedy)} of the program, and the exit code."""

    def look(*command, **options):
        done = run_heapscope("doctor", "--json", *command, **options)
        assert done.stderr == ""
        document = json.loads(done.stdout)
        assert document["schema"] == "heapscope-doctor-1"
        look.document = document
        states = [check["state"] for check in document["checks"]]
        assert (document["problems"], document["warnings"]) == (states.count("problem"), states.count("warning"))
        assert done.returncode == (1 if document["problems"] else 0)
        part = "program" if command else "machine"
        found = {}
        for check in document["checks"]:
            # of several of one name the worst
            if check["part"] == part and found.get(check["check"], ("ok",))[0] == "ok":
                found[check["check"]] = (check["state"], check["message"], check["remedy"])
        return found

    return look


def states(checks):
    return {name: state for name, (state, _, _) in checks.items() if state != "ok"}


# ---- programs ----------------------------------------------------------------------------------------------


def test_good_program(compile, doctor, run_heapscope):
    program = compile(SOURCE)
    checks = doctor(program, "--its-own", "--json")
    assert states(checks) == {}
    assert doctor.document["program"] == str(program)
    assert checks["found"][1] == str(program)
    assert checks["names"][1] == "it has debug information: functions and lines"
    assert checks["allocator"][1] == "libc's malloc"
    version = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    assert checks["libc"][1].startswith(f"glibc {version} ")
    text = run_heapscope("doctor", program, "a b").stdout
    assert text.startswith(f"{program} will record well\n\nPROGRAM\n")
    assert text.endswith(f"\n\nnext: heapscope run {program} 'a b'\n")
    assert max(len(line) for line in text.splitlines() if str(program) not in line) <= 80


@pytest.mark.parametrize("flags, words", [
    (["-g0"], "it has no debug information: reports show its functions, but no lines"),
    (["-s"], "it is stripped: reports show addresses"),
])
def test_names(compile, doctor, flags, words):
    checks = doctor(compile(SOURCE, *flags))
    assert states(checks) == {"names": "warning"}
    assert checks["names"][1].startswith(words) and checks["names"][2] == "build it with -g"


def test_split_debug_information(compile, doctor, tmp_path):
    """Compiled and linked in two steps, so that the .dwo file has a name of its own."""
    source = tmp_path / "split.c"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-gsplit-dwarf", "-c", source], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "split.o", "-o", "split"], cwd=tmp_path, check=True)
    assert (tmp_path / "split.dwo").exists()
    checks = doctor(tmp_path / "split")
    assert checks["names"][:2] == ("ok", "it has debug information (in .dwo files): functions and lines")
    (tmp_path / "split.dwo").unlink()
    checks = doctor(tmp_path / "split")
    assert checks["names"][1].startswith("1 of 1 unit with debug information in .dwo files lack theirs")
    assert states(checks) == {"names": "warning"}


def test_debug_link(compile, doctor, tool):
    program = compile(SOURCE)
    debug = program.with_name("elsewhere.debug")
    subprocess.run([tool("objcopy"), "--only-keep-debug", program, debug], check=True)
    subprocess.run([tool("objcopy"), "--strip-debug", f"--add-gnu-debuglink={debug}", program], check=True)
    assert states(doctor(program)) == {}
    debug.unlink()
    assert "elsewhere.debug, which is not here" in doctor(program)["names"][2]


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static(compile, doctor, flag):
    checks = doctor(compile(SOURCE, flag))
    assert states(checks) == {"linking": "problem"}
    assert "statically linked" in checks["linking"][1] and "without -static and -static-pie" in checks["linking"][2]


def test_not_found(doctor, tmp_path, run_heapscope):
    assert states(doctor("no-such-program-anywhere")) == {"found": "problem"}
    assert doctor.document["program"] is None
    plain = tmp_path / "plain"
    plain.write_text("hello\n")
    assert "chmod +x" in doctor(plain)["found"][2]
    plain.chmod(0o755)
    assert "neither an ELF program nor a script" in doctor(plain)["kind"][1]
    text = run_heapscope("doctor", plain).stdout
    assert text.startswith(f"{plain} will not record well: 1 problem, 0 warnings\n") and "next:" not in text


def test_setuid(compile, doctor, tmp_path):
    """Only another's bit counts, so this needs root, as the tests' container has."""
    program = compile(SOURCE)
    if os.getuid() == 0:
        os.chown(program, 65534, 0)
        program.chmod(0o4755)
        checks = doctor(program)
        assert states(checks) == {"rights": "problem"} and "'cp' makes one" in checks["rights"][2]
    else:
        program.chmod(0o4755)  # our own: changes nothing
        assert states(doctor(program)) == {}


def test_sanitizer(compile, doctor):
    checks = doctor(compile(SOURCE, "-fsanitize=address"))
    assert checks["sanitizer"][0] == "problem" and "AddressSanitizer" in checks["sanitizer"][1]


def test_every_reason_is_told(compile, doctor, run_heapscope, tmp_path):
    """Not only the first that stands in the way: whoever mends that one should not be sent back for the next."""
    compile("int one(void) { return 1; }\n", "-shared", "-fPIC", name="libone.so")
    program = compile("int one(void);\n" + SOURCE.replace("p == NULL", "p == NULL || !one()"), "-fsanitize=address", "-s",
                      f"-L{tmp_path}", "-lone")
    program.chmod(0o644)
    expected = {"found": "problem", "sanitizer": "problem", "libraries": "problem", "names": "warning"}
    if os.getuid() == 0:
        os.chown(program, 65534, 0)
        program.chmod(0o4644)
        expected["rights"] = "problem"
    checks = doctor(program)
    assert states(checks) == expected
    assert "chmod +x" in checks["found"][2] and "-fsanitize" in checks["sanitizer"][2]
    assert checks["libraries"][1].endswith("libone.so (needed by the program)")
    assert "rights" not in expected or "'cp' makes one" in checks["rights"][2]
    done = run_heapscope("run", program)
    assert done.returncode == 126 and "chmod +x" in done.stderr  # the first reason's exit code
    static = compile(SOURCE, "-static", "-g0", name="static")
    static.chmod(0o644)
    assert states(doctor(static)) == {"found": "problem", "linking": "problem", "names": "warning"}
    script = tmp_path / "script"
    script.write_text(f"#!{static}\n")
    script.chmod(0o644)
    static.chmod(0o755)
    checks = doctor(script)
    assert states(checks) == {"found": "problem", "linking": "problem", "names": "warning"}
    assert str(static) in checks["linking"][1] and str(script) in checks["found"][1]


def test_own_allocator(compile, doctor):
    own = "#include <stddef.h>\nstatic char arena[100];\nvoid *malloc(size_t n) { return arena; }\n" \
        "int main(void) { return malloc(1) == 0; }\n"
    checks = doctor(compile(own, "-fno-builtin"))
    assert states(checks) == {"allocator": "problem"} and "defines a malloc of its own" in checks["allocator"][1]


def test_allocator_linked_in(compile, doctor):
    """As Rust programs have jemalloc: its functions under another name, malloc itself is libc's."""
    source = SOURCE + 'void *_rjem_malloc(unsigned long n) { return malloc(n); }\n' \
        'const char *message(void) { return "<jemalloc>: Error\\n"; }\n'
    checks = doctor(compile(source, name="named"))
    assert states(checks) == {"allocator": "problem"}
    assert checks["allocator"][1].startswith("jemalloc is linked into the program: ")
    checks = doctor(compile(source, "-s", name="stripped"))
    assert checks["allocator"][0] == "warning" and checks["allocator"][1].startswith("jemalloc seems to be linked")


def test_allocator_in_a_library(compile, doctor, tmp_path, tool):
    checks = doctor(tool("redis-server"))
    assert checks["allocator"][:2] == ("ok", "libjemalloc.so.2, a shared library: recorded")
    compile("#include <stdlib.h>\nvoid *mi_malloc(size_t n) { return malloc(n); }\n", "-shared", "-fPIC", name="libown.so")
    program = compile(SOURCE, "-Wl,--no-as-needed", f"-L{tmp_path}", "-l:libown.so", f"-Wl,-rpath,{tmp_path}")
    checks = doctor(program)
    assert states(checks) == {"allocator": "warning"} and "mimalloc is linked into libown.so" in checks["allocator"][1]


def test_missing_library(compile, doctor, tmp_path):
    compile("int one(void) { return 1; }\n", "-shared", "-fPIC", name="libone.so")
    compile("int one(void);\nint two(void) { return one() + 1; }\n", "-shared", "-fPIC", f"-L{tmp_path}", "-lone", name="libtwo.so")
    program = compile("int two(void);\nint main(void) { return two() - 2; }\n", f"-L{tmp_path}", "-ltwo",
                      f"-Wl,-rpath,{tmp_path},-rpath-link,{tmp_path}")
    checks = doctor(program)  # a RUNPATH is not for what its libraries need
    assert checks["libraries"][0] == "problem"
    assert checks["libraries"][1].endswith("libone.so (needed by libtwo.so)")
    assert subprocess.run([program], capture_output=True).returncode == 127  # so says ld.so
    assert doctor(program, env={"LD_LIBRARY_PATH": tmp_path})["libraries"][0] == "ok"
    inherited = compile("int two(void);\nint main(void) { return two() - 2; }\n", f"-L{tmp_path}", "-ltwo", name="inherited",
                        *[f"-Wl,--disable-new-dtags,-rpath,$ORIGIN,-rpath-link,{tmp_path}"])
    assert doctor(inherited)["libraries"][0] == "ok"  # an RPATH is
    assert subprocess.run([inherited], capture_output=True).returncode == 0


def test_unwind_tables(compile, doctor):
    work = "".join(f"int f{i}(int x) {{ return x * {i} + x / {i + 1} + x % {i + 7}; }}\n" for i in range(100))
    without = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
    assert states(doctor(compile(SOURCE + work, name="good"))) == {}
    checks = doctor(compile(SOURCE + work, *without, name="bad"))
    assert states(checks) == {"unwinding": "warning"} and "most of the code of the program" in checks["unwinding"][1]
    assert "-fasynchronous-unwind-tables" in checks["unwinding"][2]


def test_scripts(doctor, tmp_path, compile):
    program = compile(SOURCE, name="interpreter")
    script = tmp_path / "script"
    script.write_text(f"#!{program} -x\n")
    script.chmod(0o755)
    assert doctor(script)["found"][1] == f"{script}, a script: recorded is its interpreter, {program}"
    script.write_text("#!/usr/bin/env -S interpreter -u\n")
    doctor(script, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert doctor.document["program"] == str(program)
    assert [check["message"] for check in doctor.document["checks"] if check["check"] == "found"] == \
        [f"{script}, a script for interpreter, by env", str(program)]


def test_runtimes(doctor, tool, tmp_path):
    checks = doctor("/usr/bin/python3")
    assert checks["runtime"][0] == "warning" and checks["runtime"][2] == "set PYTHONMALLOC=malloc for the recording"
    assert "runtime" not in doctor("/usr/bin/python3", env={"PYTHONMALLOC": "malloc"})
    (tmp_path / "hello.go").write_text("package main\nfunc main() { println(\"hello\") }\n")
    subprocess.run([tool("go"), "build", "-o", "hello", "hello.go"], cwd=tmp_path, check=True,
                   env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"})
    checks = doctor(tmp_path / "hello")
    assert states(checks) == {"linking": "problem", "runtime": "warning"} and "a Go program" in checks["runtime"][1]


def test_packages(doctor, tool):
    checks = doctor(tool("jq"))
    assert states(checks) == {"names": "warning"} and checks["names"][2] == "install jq-dbgsym, or build it with -g"
    library = next(item for item in doctor.document["libraries"] if item["name"].startswith("libjq.so"))
    assert (library["package"], library["debug_package"], library["names"]) == ("libjq1", "libjq1-dbgsym", "public functions")
    assert "libjq1-dbgsym" in checks["library names"][2]


# ---- against ld.so and readelf -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jq", "python3", "clang", "gdb", "/usr/sbin/nginx", "redis-server", "/usr/lib/chromium/chromium"])
def test_libraries_are_those_of_the_loader(build, tool, name):
    program = os.path.realpath(name if name.startswith("/") else "/usr/bin/" + name)
    ours = subprocess.run([build / "tests/unit/symbols/list_libraries", program], capture_output=True, text=True, check=True)
    listed = subprocess.run(["/lib64/ld-linux-x86-64.so.2", "--list", program], capture_output=True, text=True, check=True)
    theirs = re.findall(r"^\t(\S+) => (\S+) \(", listed.stdout, re.M)
    assert theirs and [tuple(line.split(" ", 1)) for line in ours.stdout.splitlines()] == \
        [pair for pair in theirs if not pair[0].startswith(("ld-linux", "/lib64/ld-linux"))]


def test_unwind_bytes_are_those_of_readelf(doctor, tool):
    doctor(tool("jq"))
    for library in doctor.document["libraries"]:
        frames = subprocess.run([tool("readelf"), "-wF", library["path"]], capture_output=True, text=True).stdout
        ranges = re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)$", frames, re.M)
        assert ranges and library["unwind_bytes"] == sum(int(end, 16) - int(start, 16) for start, end in ranges)
        sections = subprocess.run([tool("readelf"), "-SW", library["path"]], capture_output=True, text=True).stdout
        code = re.findall(r" PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +AX ", sections)
        assert code and library["code_bytes"] == sum(int(size, 16) for size in code)


# ---- the machine -------------------------------------------------------------------------------------------


def test_machine(doctor, run_heapscope, build):
    checks = doctor()
    assert "problem" not in states(checks).values()
    assert checks["library"][1] == str(build / "preload" / "libheapscope.so")
    assert checks["recording"][:2] == ("ok", "/bin/true was recorded as a trial: it works")
    assert doctor.document["libraries"] is None and doctor.document["program"] is None
    text = run_heapscope("doctor").stdout
    assert re.match(r"this machine (is ready to record|can be recorded; \d+ warnings?)\n\nMACHINE\n", text)
    assert "PROGRAM" not in text


def test_nothing_is_left(run_heapscope, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run_heapscope("doctor", "/bin/true", cwd=tmp_path, env={"TMPDIR": temporary}).returncode == 0
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


def test_library_is_missing(doctor):
    checks = doctor(env={"HEAPSCOPE_LIBRARY": "/nonexistent.so"})
    assert states(checks)["library"] == "problem" and "recording" not in checks


def test_library_of_the_wrong_kind(doctor, compile):
    """One that can be preloaded, but does not call: the trial tells."""
    other = compile("int nothing;\n", "-shared", "-fPIC", name="libother.so")
    checks = doctor(env={"HEAPSCOPE_LIBRARY": other})
    assert states(checks)["recording"] == "problem" and "library" not in states(checks)


def limited(heapscope, kind, limit):
    def limit_it():
        resource.setrlimit(kind, (limit, limit))
    done = subprocess.run([heapscope, "doctor", "--json"], capture_output=True, text=True, preexec_fn=limit_it)
    return {check["state"]: check for check in json.loads(done.stdout)["checks"] if check["check"] == "limits"}


def test_limits(heapscope):
    assert limited(heapscope, resource.RLIMIT_FSIZE, 1 << 20)["problem"]["remedy"] == "ulimit -f unlimited"
    assert "limited to 8.0 GiB" in limited(heapscope, resource.RLIMIT_AS, 8 << 30)["warning"]["message"]
    assert "only 50 files may be open" in limited(heapscope, resource.RLIMIT_NOFILE, 50)["warning"]["message"]


def test_preload(doctor, compile):
    library = compile("int nothing;\n", "-shared", "-fPIC", name="libmemray.so")
    checks = doctor(env={"LD_PRELOAD": library})
    assert states(checks)["preload"] == "warning" and checks["preload"][2] == "unset LD_PRELOAD"
    harmless = shutil.copy(library, library.with_name("libharmless.so"))
    assert doctor(env={"LD_PRELOAD": harmless})["preload"][0] == "ok"


def test_documented_json_names(doctor, request, tool):
    documentation = (request.config.rootpath.parent / "docs" / "json.md").read_text()
    doctor(tool("jq"))
    keys = set(doctor.document) | set(doctor.document["checks"][0]) | set(doctor.document["libraries"][0])
    assert [key for key in sorted(keys) if f"`{key}`" not in documentation] == []


def test_mistakes(run_heapscope):
    done = run_heapscope("doctor", "--jsno")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('heapscope: doctor: unknown option "--jsno"; did you mean --json?\n')
