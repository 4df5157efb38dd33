"""`meson install` into a staging folder, with a prefix: the installed program works from there, and when moved."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import clean_environment


@pytest.fixture(scope="module")
def staged(tmp_path_factory, build):
    """The installed tree: DESTDIR and a prefix that exists nowhere else."""
    folder = tmp_path_factory.mktemp("install")
    configured = folder / "build"
    root = build_root(build)
    for command in (["/usr/bin/meson", "setup", configured, root, "--prefix", "/opt/heapscope-test", "-Dtests=false"],
                    ["/usr/bin/ninja", "-C", configured],
                    ["/usr/bin/meson", "install", "-C", configured, "--no-rebuild", "--destdir", folder / "stage"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(configured)  # nothing may lean on the build tree
    return folder / "stage" / "opt" / "heapscope-test"


def build_root(build):
    """The source tree that a build folder was configured for."""
    with open(build / "meson-info" / "meson-info.json") as info:
        return json.load(info)["directories"]["source"]


def record(program, folder):
    done = subprocess.run([program, "run", "/bin/ls", "/"], cwd=folder, env=clean_environment(), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0 and "heapscope: wrote ls.hs.gz" in done.stderr, done.stderr
    done = subprocess.run([program, "print", "--json", "ls.hs.gz"], cwd=folder, env=clean_environment(),
                          capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["totals"]["allocations"] > 0


def test_what_is_installed(staged):
    files = sorted(os.fspath(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file())
    assert {"bin/heapscope", "share/heapscope/viewer.html"} <= set(files)
    assert {"include/heapscope/heapscope.h", "include/heapscope/heapscope.rs"} <= set(files)
    assert not [path for path in files if path.startswith("include/") and "/heapscope/heapscope." not in path]
    assert [path for path in files if path.endswith("heapscope/libheapscope.so")]
    assert {"share/man/man1/heapscope.1", "share/man/man1/heapscope-run.1", "share/zsh/site-functions/_heapscope",
            "share/bash-completion/completions/heapscope", "share/fish/vendor_completions.d/heapscope.fish"} <= set(files)
    assert not [path for path in files if path.endswith(".a") or "server" in path]


def view(program, folder):
    done = subprocess.run([program, "view", "ls.hs.gz"], cwd=folder, env=clean_environment(), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == f"{folder}/ls.html\n", done.stderr
    assert "<!--heapscope-data-->" not in (folder / "ls.html").read_text("utf-8")


def test_installed_program_finds_its_library(staged, tmp_path):
    record(staged / "bin" / "heapscope", tmp_path)
    view(staged / "bin" / "heapscope", tmp_path)


def test_moved_tree_and_symbolic_link(staged, tmp_path):
    shutil.copytree(staged, tmp_path / "moved")
    (tmp_path / "link").symlink_to(tmp_path / "moved" / "bin" / "heapscope")
    record(tmp_path / "link", tmp_path)
    view(tmp_path / "link", tmp_path)


def test_without_the_page(staged, tmp_path):
    """As built with -Dviewer=disabled: everything but the page works, and says what to do."""
    shutil.copytree(staged, tmp_path / "moved")
    (tmp_path / "moved" / "share" / "heapscope" / "viewer.html").unlink()
    program = tmp_path / "moved" / "bin" / "heapscope"
    record(program, tmp_path)
    for command in ["view", "ls.hs.gz"], ["export", "--format", "html", "ls.hs.gz"]:
        done = subprocess.run([program, *command], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 1 and "viewer.html is missing" in done.stderr
        assert "set HEAPSCOPE_VIEWER to its path" in done.stderr and not (tmp_path / "ls.html").exists()
