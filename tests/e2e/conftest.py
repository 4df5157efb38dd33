"""Fixtures of the end-to-end tests: they run the built `heapscope` on real programs.

    /usr/bin/python3 -m pytest tests/e2e                     # with ./build
    HEAPSCOPE_BUILD=/tmp/b pytest tests/e2e/test_cli.py      # with another build folder

Tests marked `@pytest.mark.long` run only with --long.
"""

import json
import os
import pathlib
import pty
import shutil
import subprocess

import pytest

import made_recording

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ROOT / "tests" / "targets"


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    long_ones = [item for item in items if item.get_closest_marker("long")]
    if long_ones:
        config.hook.pytest_deselected(items=long_ones)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session")
def build():
    """The build folder: $HEAPSCOPE_BUILD, else ./build of the work tree."""
    return pathlib.Path(os.environ.get("HEAPSCOPE_BUILD", ROOT / "build")).resolve()


@pytest.fixture(scope="session")
def heapscope(build):
    """Path of the built program."""
    program = build / "analyzer" / "cli" / "heapscope"
    assert program.exists(), f"{program} is not built: run ./dev build, or set HEAPSCOPE_BUILD"
    return program


def clean_environment(extra=None):
    """The environment without anything of heapscope's, in the C.UTF-8 locale, plus `extra` (None removes)."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("HEAPSCOPE_") and name not in ("COLUMNS", "NO_COLOR", "LD_PRELOAD")}
    environment.update(LC_ALL="C.UTF-8", DEBUGINFOD_URLS="")
    for name, value in (extra or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = str(value)
    return environment


@pytest.fixture(scope="session")
def run_heapscope(heapscope):
    """run_heapscope("print", file, ...) -> CompletedProcess with text streams; `binary=True` for bytes.
    Never raises for an exit code. Standard input is empty, the time-out 120 s unless given."""

    def run(*arguments, cwd=None, env=None, timeout=120, input="", binary=False):
        if binary and isinstance(input, str):
            input = input.encode()
        return subprocess.run([heapscope, *map(os.fspath, arguments)], cwd=cwd, env=clean_environment(env),
                              input=input, capture_output=True, timeout=timeout, text=not binary,
                              **({} if binary else {"errors": "backslashreplace"}))

    return run


@pytest.fixture
def compile(tmp_path):
    """compile(source, *flags, compiler="gcc", name=None) -> Path of the program.

    `source` is a pathlib.Path, the name of a file in tests/targets, or program text. Text is C, C++ with a
    compiler that ends in "++", Rust with "rustc". Flags follow the source (so "-lfoo" works); "-g -O1" stand
    before and can be overridden ("-O0"). Text is stored as NAME.c and the program as NAME, "target" by default."""

    def build_program(source, *flags, compiler="gcc", name=None):
        rust = compiler.endswith("rustc")
        if isinstance(source, pathlib.Path):
            path = source
        elif "\n" not in source and (TARGETS / source).exists():
            path = TARGETS / source
        else:
            suffix = ".rs" if rust else ".cc" if compiler.endswith("++") else ".c"
            path = tmp_path / ((name or "target") + suffix)
            path.write_text(source)
        program = tmp_path / (name or path.stem)
        before = ["-g", "--edition", "2021"] if rust else ["-g", "-O1", "-pthread"]
        command = [compiler, *before, "-o", program, path, *flags]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return program

    return build_program


class Recording:
    """What one `heapscope run` left. Can be used as a path (open(recording), run_heapscope("print", recording))."""

    def __init__(self, path, completed, folder):
        self.path = path  # the target's own recording
        self.returncode = completed.returncode
        self.stdout = completed.stdout
        self.stderr = completed.stderr
        self.folder = folder

    def __fspath__(self):
        return os.fspath(self.path)

    @property
    def files(self):
        """All recordings of the run, the target's own first, then the children's by name."""
        return [self.path] + [path for path in sorted(self.folder.glob("*.hs.gz")) if path != self.path]


@pytest.fixture
def record(run_heapscope, tmp_path):
    """record(command, *options, env=None, cwd=None, input="", returncode=0, timeout=120, binary=False) -> Recording

    Runs `heapscope run OPTIONS -o OUTPUT -- COMMAND`. `command` is a program or a list. Checks the exit status
    (None: any) and that the recording exists. Each call has a folder of its own for its recordings, so children's
    files (`.files`) cannot mix. stdout and stderr of the target (and of heapscope) are in the result."""
    count = 0

    def run(command, *options, env=None, cwd=None, input="", returncode=0, timeout=120, binary=False):
        nonlocal count
        count += 1
        folder = tmp_path / f"recording{count}"
        folder.mkdir()
        command = [command] if isinstance(command, (str, os.PathLike)) else command
        output = folder / "target.hs.gz"
        completed = run_heapscope("run", *options, "-o", output, "--", *command, env=env, cwd=cwd, input=input,
                                  timeout=timeout, binary=binary)
        if returncode is not None:
            assert completed.returncode == returncode, completed.stderr
        assert output.exists(), completed.stderr
        return Recording(output, completed, folder)

    return run


@pytest.fixture(scope="session")
def print_json(run_heapscope):
    """print_json(file, *options) -> the document of docs/json.md, from `heapscope print --json`. For
    convenience each site's frames are resolved: site["frames"] is a list of frame objects, innermost first,
    and the document has "timeline" and "rss" as lists of pairs."""

    def load(file, *options):
        completed = run_heapscope("print", "--json", *options, file)
        assert completed.returncode == 0, completed.stderr
        document = json.loads(completed.stdout)
        for site in document["sites"]:
            site["frames"] = [document["frames"][index] for index in site["frames"]]
        return document

    return load


@pytest.fixture(scope="session")
def print_text(run_heapscope):
    """print_text(file, *options) -> the report as text, 80 columns."""

    def load(file, *options):
        completed = run_heapscope("print", *options, file)
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    return load


@pytest.fixture
def dhat(run_heapscope, tmp_path):
    """dhat(file, *options) -> the exported DHAT document (a dict); its file is at dhat.path."""

    def load(file, *options):
        path = tmp_path / (pathlib.Path(file).name.removesuffix(".hs.gz") + ".dhat.json")
        completed = run_heapscope("export", "--format", "dhat", *options, "-o", path, file)
        assert completed.returncode == 0, completed.stderr
        load.path = path
        return json.loads(path.read_text())

    return load


@pytest.fixture(scope="session")
def tool():
    """tool("valgrind") -> path of a program that the tests need; fails (never skips) if it is missing."""

    def find(name):
        path = shutil.which(name)
        assert path, f"{name} is missing: ./dev setup installs what the tests need"
        return path

    return find


@pytest.fixture(scope="session")
def viewer(build):
    """The folder in which the page of `heapscope view` was built: its sources and its packages."""
    folders = [path.parent for path in build.glob("viewer/*/work/node_modules")]
    assert len(folders) == 1, "the page is not built: ./dev build needs npm (Debian: apt-get install npm)"
    return folders[0]


@pytest.fixture(scope="session")
def drive_page(tool):
    """drive_page(step, ...) -> the report of tests/tools/drive_page.mjs, which says what the steps can be."""

    def run(*steps):
        done = subprocess.run([tool("node"), ROOT / "tests" / "tools" / "drive_page.mjs"], input=json.dumps(steps),
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def on_terminal(heapscope, *arguments, env):
    """Runs heapscope with a terminal as standard output and error; gives what arrives there. It has to succeed."""
    parent, child = pty.openpty()
    process = subprocess.Popen([heapscope, *map(os.fspath, arguments)], stdout=child, stderr=child, stdin=subprocess.DEVNULL, env=env)
    os.close(child)
    output = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break  # Linux says EIO when the last writer is gone
        if not piece:
            break
        output += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return output.decode()


@pytest.fixture(scope="session")
def server(build, heapscope, tmp_path_factory):
    """A recording of examples/server: two threads, inlined functions, reallocs, leaks."""
    path = tmp_path_factory.mktemp("server") / "server.hs.gz"
    subprocess.run([heapscope, "run", "-q", "-o", path, "--", build / "examples" / "server", "--once"], env=clean_environment(), check=True)
    return path


@pytest.fixture
def whole(tmp_path):
    """The recording that is made by hand (made_recording.py)."""
    path = tmp_path / "made.hs.gz"
    path.write_bytes(made_recording.whole())
    return path


@pytest.fixture
def hostile(tmp_path):
    """As whole, with names in which there is what some format gives a meaning, and what no line of text can hold."""
    path = tmp_path / "hostile.hs.gz"
    names = ["a;b\nsnapshot=0", 'c "\\ <d># 1', b"e\xff (in 7) 8"]
    path.write_bytes(made_recording.header(command=["a\nb", "# c"]) + made_recording.modules() +
                     made_recording.nodes() + made_recording.events() + made_recording.samples() +
                     made_recording.threads() + made_recording.symbols(names, "/s\n/m#.c") +
                     made_recording.footer())
    return path


@pytest.fixture
def nothing(tmp_path):
    """A program that never allocated."""
    path = tmp_path / "nothing.hs.gz"
    zeros = dict.fromkeys(["events", "allocations", "frees", "allocated_bytes", "peak_bytes", "peak_us", "live_bytes",
                           "live_blocks", "temporary"], 0)
    path.write_bytes(made_recording.header() + made_recording.modules() + made_recording.footer(**zeros))
    return path


@pytest.fixture
def export(run_heapscope, tmp_path):
    """export(format, recording, *options, suffix="") -> path of the exported file."""

    def run(name, recording, *options, suffix=""):
        path = tmp_path / f"out.{name}{suffix}"
        done = run_heapscope("export", "--format", name, *options, "-o", path, recording)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr
        return path

    return run
