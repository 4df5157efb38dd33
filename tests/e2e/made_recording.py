"""Writes recordings by hand, from FORMAT.md alone, so that the tests know every number in them."""

import json
import struct
import zlib


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return varint(len(raw)) + raw


def member(kind, payload, items=1):
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    stream = deflate.compress(payload) + deflate.flush()
    trailer = struct.pack("<II", zlib.crc32(payload), len(payload))
    size = 32 + len(stream) + len(trailer)
    extra = struct.pack("<B3xIII", kind, size, len(payload), items)
    return b"\x1f\x8b\x08\x04\0\0\0\0\0\xff" + struct.pack("<H", 20) + b"HS" + struct.pack("<H", 16) + extra + stream + trailer


def header(**changes):
    fields = {"version": 1, "program": "/srv/made", "command": ["/srv/made", "--once"], "cwd": "/srv", "pid": 4242,
              "parent_pid": 0, "origin": "start", "start_us": 1_700_000_000_000_000, "machine": "x86_64",
              "page_bytes": 4096, "clock": "tsc", "unwinder": "fast", "heapscope": "0.1.0"}
    fields.update(changes)
    return member(1, json.dumps(fields).encode())


def modules():
    """One: /srv/made at 0x400000, no bias."""
    record = b"\x01" + varint(0) + varint(0x400000) + varint(0x10000) + varint(0) + varint(0) + string("/srv/made") + \
        string(b"\xab\xcd") + varint(1)
    return member(2, record)


def nodes():
    """1: main; 2: main > keep; 3: main > drop. Return addresses 0x401010, 0x401020, 0x401030."""
    payload = varint(1)
    previous = 0
    for number, (parent, address) in enumerate([(0, 0x401010), (1, 0x401020), (1, 0x401030)], 1):
        payload += varint(number - parent) + varint(1) + zigzag(address - previous)
        previous = address
    return member(3, payload, 3)


def events():
    """keep allocates 1000 (10 us), drop 500 (20 us) which it frees (30 us), keep reallocs its block to 3000, which
    moves (40 us). Peak: the old block still counts until the realloc, so 3000 at 40 us."""
    def column(raw):
        return varint(len(raw)) + raw

    kinds = bytes([0, 0, 1, 2])
    threads = varint(1) + varint(4)
    times = (varint(0) + varint(10)) * 4
    # nodes 2, 3, 2, each 1 + zigzag(node - previous node); nothing is a remembered successor yet but 3 after 2
    node_column = b"".join(varint(1 + value) for value in (2 << 1, 1 << 1, 1))
    sizes = b"".join(varint(1 + size) for size in (1000, 500, 3000))
    ended = varint(0) + varint(1 << 1)
    payload = varint(0) + varint(0) + column(kinds) + column(threads) + column(times) + column(node_column) + \
        column(sizes) + column(ended)
    return member(4, payload, 4)


def samples():
    return member(5, varint(0) + varint(5) + varint(8192) + varint(30) + varint(20480), 2)


def threads():
    return member(8, varint(1) + varint(4242) + string("made"))


def symbols(names=("main", "keep", "drop"), source="/srv/made.c"):
    strings = [b"", *[name if isinstance(name, bytes) else name.encode() for name in names], source.encode()]
    payload = varint(len(strings)) + b"".join(string(text) for text in strings)
    previous = 0
    for number, (address, line) in enumerate([(0x401010, 10), (0x401020, 20), (0x401030, 30)], 1):
        payload += varint(1) + zigzag(address - previous) + varint(1)
        payload += varint(number) + varint(4) + varint(line) + varint(0)
        previous = address
    return member(7, payload, 3)


def footer(**changes):
    fields = {"events": 4, "allocations": 3, "frees": 1, "allocated_bytes": 4500, "peak_bytes": 3000, "peak_us": 40,
              "live_bytes": 3000, "live_blocks": 1, "temporary": 1, "unknown_frees": 0, "duration_us": 50,
              "end": {"exit": 0}, "lost_events": 0, "truncated_stacks": 0, "broken_stacks": 0, "fallback_stacks": 0,
              "late_events": 0, "repaired_frees": 0, "peak_rss_bytes": 20480, "stopped": None}
    fields.update(changes)
    return member(9, json.dumps(fields).encode())


def whole(**footer_changes):
    return header() + modules() + nodes() + events() + samples() + threads() + symbols() + footer(**footer_changes)
