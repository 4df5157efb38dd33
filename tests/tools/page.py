"""Reads the data that heapscope puts into a page, from viewer/README.md alone."""

import base64
import gzip
import json
import pathlib
import re
import struct
from array import array

COUNTS = ["allocated_bytes", "allocations", "peak_bytes", "peak_blocks", "live_bytes", "live_blocks", "suppressed_bytes",
          "suppressed_blocks", "temporary_bytes", "temporary", "moved_bytes", "moved", "reallocations", "lifetime_us"]
INLINED, INTERNAL, OWN, OTHER = 1, 2, 4, 8
TYPES = {"u8": "B", "u16": "H", "u32": "I", "f64": "d"}


class Page:
    """document, columns (name -> list of int), and what they say in the words of `print --json`."""

    def __init__(self, text):
        comments = re.findall(r"<!--heapscope-data:([A-Za-z0-9+/=\n]*)-->", text)
        assert len(comments) == 1 and "<!--heapscope-data-->" not in text
        raw = gzip.decompress(base64.b64decode(comments[0], validate=False))
        magic, length, zero = struct.unpack_from("<8sII", raw)
        assert magic == b"HSPAGE1\0" and zero == 0
        self.document = json.loads(raw[16:16 + length].decode("utf-8"))
        start = (16 + length + 7) // 8 * 8
        assert not any(raw[16 + length:start])
        self.columns = {name: self.column(raw, start, *place) for name, place in self.document["columns"].items()}
        self.check()

    @staticmethod
    def column(raw, start, kind, offset, count):
        assert offset % 8 == 0 and count > 0
        values = array(TYPES[kind])
        end = start + offset + count * values.itemsize
        assert end <= len(raw)
        values.frombytes(raw[start + offset:end])
        assert kind != "f64" or all(value == int(value) for value in values)
        values = [int(value) for value in values]
        narrowest = {0: "u8", 1: "u16", 2: "u32"}.get(sum(max(values) >= limit for limit in (1 << 8, 1 << 16, 1 << 32)), "f64")
        assert kind == narrowest
        return values

    def get(self, name):
        return self.columns.get(name, [])

    def check(self):
        """What README.md promises of every page."""
        strings = bytes(self.get("string.bytes"))
        assert sum(self.get("string.length")) == len(strings)
        self.strings = []
        at = 0
        for length in self.get("string.length"):
            self.strings.append(strings[at:at + length].decode("utf-8"))
            at += length
        assert self.strings[0] == ""
        depths = self.get("node.depth")
        assert depths[0] == 0 and all(0 < inner <= outer + 1 for outer, inner in zip(depths, depths[1:]))
        self.parents = [0] * len(depths)
        path = []
        for node, depth in enumerate(depths):
            del path[depth:]
            self.parents[node] = path[-1] if path else 0
            path.append(node)
        ends = self.get("stack.node")
        assert ends == sorted(set(ends)) and 0 not in ends
        assert all(folded < depths[node] for node, folded in zip(ends, self.get("stack.folded")))
        siblings = list(zip(self.parents[1:], self.get("node.frame")[1:]))
        assert len(set(siblings)) == len(siblings)
        for name, total in self.document["totals"].items():
            if name in COUNTS and total is not None:
                assert sum(self.get(f"stack.{name}")) == total, name

    def frame(self, node):
        """(function, file, line) of a node's frame."""
        index = self.columns["node.frame"][node]
        return (self.strings[self.columns["frame.function"][index]], self.strings[self.columns["frame.file"][index]],
                self.columns["frame.line"][index])

    def nodes(self, node):
        """The nodes from the root's child to this one."""
        path = []
        while node:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def sites(self, prefix="stack", folded=True):
        """{frames, outermost first: {count: sum}}, as print folds them, or whole."""
        sites = {}
        for stack, node in enumerate(self.get("stack.node")):
            path = self.nodes(node)
            if folded:
                path = path[:len(path) - self.columns["stack.folded"][stack]]
            site = sites.setdefault(tuple(self.frame(node) for node in path), dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                if f"{prefix}.{name}" in self.columns:
                    site[name] += self.columns[f"{prefix}.{name}"][stack]
        return sites


def read(path):
    return Page(pathlib.Path(path).read_text("utf-8"))
