"""Writes recordings by hand, from FORMAT.md alone, so that the tests know every number in them."""

import json
import struct
import zlib

VERSION = 7  # of the format


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
    fields = {"version": VERSION, "program": "/srv/made", "command": ["/srv/made", "--once"], "cwd": "/srv", "pid": 4242,
              "parent_pid": 0, "origin": "start", "start_us": 1_700_000_000_000_000, "machine": "x86_64",
              "page_bytes": 4096, "clock": "tsc", "unwinder": "fast", "heapscope": "0.1.0"}
    fields.update(changes)
    return member(1, json.dumps(fields).encode())


def modules():
    """One: /srv/made at 0x400000, no bias."""
    record = b"\x01" + varint(0) + varint(0x400000) + varint(0x10000) + varint(0) + varint(0) + string("/srv/made") + \
        string(b"\xab\xcd") + varint(1)
    return member(2, record)


def told_node(number, parent, step):
    """A node in module 0 whose call is told; step: from the address of the node before."""
    return varint(number - parent - 1 << 1 | 1) + varint(1) + zigzag(step)


def nodes():
    """1: main; 2: main > keep; 3: main > drop. Return addresses 0x401010, 0x401020, 0x401030."""
    payload = varint(1)
    previous = 0
    for number, (parent, address) in enumerate([(0, 0x401010), (1, 0x401020), (1, 0x401030)], 1):
        payload += told_node(number, parent, address - previous)
        previous = address
    return member(3, payload, 3)


def event_columns(start_us, span_us, allocations, columns, unit_us=1):
    """columns: kinds, threads, times, nodes, sizes, ended blocks; none of the latter is far, and no event a copy. The grain is 1."""
    kinds, *others = columns
    kinds = bytes(kinds) + bytes(-len(kinds) % 4)
    packed = bytes(kinds[i] | kinds[i + 1] << 2 | kinds[i + 2] << 4 | kinds[i + 3] << 6 for i in range(0, len(kinds), 4))
    columns = [*[b""] * 4, packed, *others, *[b""] * 5]
    return varint(start_us) + varint(span_us) + varint(allocations) + varint(unit_us) + varint(1) + varint(0) + \
        b"".join(varint(len(column)) + bytes(column) for column in columns)


def one_thread(count):
    """All events are thread 1's: an odd code, which is twice their number - 1, and the thread."""
    return varint(count - 1 << 1 | 1) + varint(1)


def times_10_us_apart(count):
    """The first 10 us after the payload's beginning: no event in that microsecond, then one each; odd codes, which say
    how many microseconds more than 1 the next is away."""
    return varint(0 << 1 | 1) + varint(9) + (varint(1 << 1 | 1) + varint(9)) * (count - 1)


def events(times=times_10_us_apart(4), span_us=40, unit_us=1):
    """keep allocates 1000 (10 us), drop 500 (20 us) which it frees (30 us), keep reallocs its block to 3000, which
    moves (40 us). Peak: the old block still counts until the realloc, so 3000 at 40 us."""
    kinds = bytes([0, 0, 1, 2])
    # nodes 2, 3, 2, each 1 + zigzag(node - previous node); nothing is a remembered successor yet but 3 after 2
    node_column = b"".join(varint(1 + value) for value in (2 << 1, 1 << 1, 1))
    sizes = b"".join(varint(1 + size) for size in (1000, 500, 3000))
    ended = varint(0) + varint(1 << 1)
    payload = event_columns(0, span_us, 0, [kinds, one_thread(4), times, node_column, sizes, ended], unit_us)
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


def stacks(blocks, source="/srv/made.c", **header_changes):
    """A recording of one thread that allocates these blocks, one every 10 us: (functions, outermost first; bytes;
    whether it is freed 10 us later, before the next one). Each function has one line: its number, from 1, of those
    that there are."""
    functions = list(dict.fromkeys(name for names, _, _ in blocks for name in names))
    address = {name: 0x400010 + 16 * number for number, name in enumerate(functions)}
    module = b"\x01" + varint(0) + varint(0x400000) + varint(16 * len(functions) + 32) + varint(0) + varint(0) + \
        string("/srv/made") + string(b"\xab\xcd") + varint(1)
    ids, node_payload, previous = {(): 0}, bytearray(varint(1)), 0
    for names, _, _ in blocks:
        for depth in range(1, len(names) + 1):
            stack = names[:depth]
            if stack in ids:
                continue
            number = ids[stack] = len(ids)
            node_payload += told_node(number, ids[stack[:-1]], address[stack[-1]] - previous)
            previous = address[stack[-1]]
    events_members, node = b"", 0
    for first in range(0, len(blocks), 10000):  # of at most 20,000 events
        kinds, nodes_column, sizes, ended = bytearray(), bytearray(), bytearray(), bytearray()
        before_us = 10 * (first + sum(freed for _, _, freed in blocks[:first]))
        for names, size, freed in blocks[first:first + 10000]:
            step = ids[names] - node
            node = ids[names]
            kinds += b"\0\1" if freed else b"\0"
            nodes_column += varint(1 + (step << 1 if step >= 0 else (-step << 1) - 1))
            sizes += varint(1 + size)
            ended += varint(0) if freed else b""
        columns = [kinds, one_thread(len(kinds)), times_10_us_apart(len(kinds)), nodes_column, sizes, ended]
        events_members += member(4, event_columns(before_us, 10 * len(kinds), first, columns), len(kinds))
    texts = [b"", *[name if isinstance(name, bytes) else name.encode() for name in functions], source.encode()]
    symbols_payload, previous = bytearray(varint(len(texts)) + b"".join(string(text) for text in texts)), 0
    for number, name in enumerate(functions, 1):
        symbols_payload += varint(1) + zigzag(address[name] - previous) + varint(1)
        symbols_payload += varint(number) + varint(len(texts) - 1) + varint(number) + varint(0)
        previous = address[name]
    kept = [size for _, size, freed in blocks if not freed]
    heap, peak, peak_us, now = 0, 0, 0, 0
    for _, size, freed in blocks:
        now += 10
        if heap + size >= peak:
            peak, peak_us = heap + size, now
        heap += 0 if freed else size
        now += 10 if freed else 0
    end = footer(events=2 * len(blocks) - len(kept), allocations=len(blocks), frees=len(blocks) - len(kept),
                 allocated_bytes=sum(size for _, size, _ in blocks), peak_bytes=peak, peak_us=peak_us,
                 live_bytes=sum(kept), live_blocks=len(kept), temporary=len(blocks) - len(kept), duration_us=now + 10)
    return header(**header_changes) + member(2, module) + member(3, bytes(node_payload), len(ids) - 1) + \
        events_members + threads() + member(7, bytes(symbols_payload), len(functions)) + end
