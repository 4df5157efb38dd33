"""Looks at a process and all below it every few milliseconds."""

import dataclasses
import os
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.004  # s


@dataclasses.dataclass
class Seen:
    """CPU in seconds, to a tick of the kernel's (10 ms) and the last look; RSS in bytes, of the largest process."""
    target_cpu: float = 0
    other_cpu: float = 0
    target_rss: int = 0
    other_rss: int = 0
    after_end: float = 0  # s from the last process of the target's name to the end of all


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


class Watch:
    def __init__(self, pid, target):
        self.pid, self.target = pid, target
        self.cpu, self.rss, self.names = {}, {}, {}
        self.target_seen = time.monotonic()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def start(self):
        self.thread.start()

    def _below(self):
        waiting = [self.pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            for task in tasks:
                waiting += map(int, read(f"/proc/{pid}/task/{task}/children").split())

    def _look(self):
        for pid in self._below():
            stat = read(f"/proc/{pid}/stat")
            if not stat:
                continue
            name, fields = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2:].split()
            self.names[pid] = name
            self.cpu[pid] = (int(fields[11]) + int(fields[12])) / TICKS
            if fields[0] != "Z" and name == self.target:
                self.target_seen = time.monotonic()
            for line in read(f"/proc/{pid}/status").splitlines():
                if line.startswith("VmHWM:"):
                    self.rss[pid] = max(self.rss.get(pid, 0), int(line.split()[1]) * 1024)

    def _run(self):
        while not self.stop.wait(INTERVAL):
            self._look()

    def end(self):
        """Once the process has ended."""
        after_end = time.monotonic() - self.target_seen
        self.stop.set()
        self.thread.join()
        target = [pid for pid, name in self.names.items() if name == self.target]
        others = [pid for pid in self.names if pid not in target]
        return Seen(sum(self.cpu[pid] for pid in target), sum(self.cpu[pid] for pid in others),
                    max((self.rss.get(pid, 0) for pid in target), default=0), max((self.rss.get(pid, 0) for pid in others), default=0),
                    after_end)
