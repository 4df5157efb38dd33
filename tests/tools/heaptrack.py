"""Runs a program under heaptrack 1.4 and tells what heaptrack counted, less what heaptrack itself adds.

heaptrack's own library is written in C++, so libstdc++ comes into every program and asks for its emergency pool, 72704 bytes; at exit
heaptrack gives it back (__gnu_cxx::__freeres). So a program with libstdc++ of its own has the same peak, but the pool is not left; a C
program has one call and 72704 bytes more at the peak. The pool is the first thing allocated and freed after everything else."""

import pathlib
import re
import subprocess

POOL_BYTES = 72704


class Heaptrack:
    """calls, temporary, peak_bytes, live_bytes, live_blocks: of the program, without heaptrack's pool."""

    def __init__(self, command, folder, cxx):
        output = pathlib.Path(folder) / "heaptrack"
        completed = subprocess.run(["heaptrack", "-o", str(output), *map(str, command)], capture_output=True, text=True,
                                   timeout=120)
        assert completed.returncode == 0, completed.stderr
        self.file = next(pathlib.Path(folder).glob("heaptrack.[gz]*"))
        text = completed.stdout + completed.stderr

        def count(name):
            return int(re.search(rf"^\s*{name} allocations:\s+(\d+)", text, re.M).group(1))

        # What the recorder counts: an allocation is temporary if the very next event frees it.
        self.calls = int(re.search(r"^\s*allocations:\s+(\d+)", text, re.M).group(1))
        self.live_blocks = count("leaked")
        self.temporary = count("temporary")
        # What the reader counts, unrounded: the flame graph's costs, a line a stack.
        self.peak_bytes = self.cost("peak")
        self.live_bytes = self.cost("leaked")
        if cxx:
            self.live_bytes += POOL_BYTES
            self.live_blocks += 1
        else:
            self.calls -= 1
            self.peak_bytes -= POOL_BYTES

    def cost(self, kind):
        output = self.file.parent / f"flamegraph.{kind}"
        subprocess.run(["heaptrack_print", self.file, "-F", output, "--flamegraph-cost-type", kind], check=True,
                       capture_output=True, timeout=120)
        return sum(int(line.rsplit(" ", 1)[1]) for line in output.read_text().splitlines())
