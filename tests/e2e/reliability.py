"""What the tests of reliability share: programs that are built once a module, and facts of a recording."""

import pathlib
import platform
import re
import subprocess

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets"


def build(folder, source, *flags, compiler="gcc", name=None):
    """Compiles tests/targets/SOURCE (or a path) into `folder`; for fixtures of module scope. Returns the program's path."""
    source = TARGETS / source
    program = pathlib.Path(folder) / (name or source.stem)
    command = [compiler, "-g", "-O1", "-pthread", "-o", program, source, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return program


def facts(document, function, without=None):
    """(calls, bytes, blocks live at exit, their bytes) of all stacks with `function` in them, and not `without`."""
    sums = [0, 0, 0, 0]
    for site in document["sites"]:
        names = {(frame["function"] or "").split("(", 1)[0] for frame in site["frames"]}
        if function in names and without not in names:
            for i, name in enumerate(("allocations", "allocated_bytes", "live_blocks", "live_bytes")):
                sums[i] += site[name]
    return tuple(sums)


def kept(blocks, size):
    """facts() of `blocks` blocks of `size` bytes that nobody freed."""
    return blocks, blocks * size, blocks, blocks * size


NOTHING = (0, 0, 0, 0)


# How a child ended whose parent asked first, only these kernels tell.
KERNEL_KEEPS_ENDS = tuple(map(int, re.findall(r"\d+", platform.release())[:2])) >= (6, 15)


def check_complete(document, end="exit", value=0, child=False):
    """Every event is there and was understood, and the recording knows how the process ended."""
    about = document["facts"]
    assert about["lost_events"] == 0 and about["stopped"] is None and about["warning"] is None, about
    assert about["repaired_frees"] == 0 and about["broken_stacks"] == 0 and about["truncated_stacks"] == 0, about
    if not child or KERNEL_KEEPS_ENDS or about["end"] != "unknown":
        assert (about["end"], about["end_value"]) == (end, value), about
