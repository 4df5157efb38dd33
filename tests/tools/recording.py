"""A second reader of recordings, written from FORMAT.md alone: it checks every rule that the page states, and replays the events
one by one. Slow and simple; for the tests."""

import itertools
import json
import struct
import zlib

HEADER, MODULES, NODES, EVENTS, SAMPLES, MARKS, SYMBOLS, THREADS, FOOTER = range(1, 10)
ALLOC, FREE, MOVE, RESIZE = range(4)
LANES = SIZE_PARTS = 8
FAR = 127


def members(data):
    """(kind, items, payload) of each whole member; the file must consist of nothing else."""
    offset = 0
    while offset < len(data):
        assert data[offset:offset + 10] == b"\x1f\x8b\x08\x04\0\0\0\0\0\xff", f"member at {offset}"
        xlen, identifier, length = struct.unpack_from("<H2sH", data, offset + 10)
        assert (xlen, identifier, length) == (20, b"HS", 16)
        kind, zero, size, raw, items = struct.unpack_from("<B3sIII", data, offset + 16)
        assert zero == b"\0\0\0" and raw <= 64 << 20 and offset + size <= len(data)
        inflater = zlib.decompressobj(wbits=31)
        payload = inflater.decompress(data[offset:offset + size])
        assert inflater.eof and not inflater.unused_data and len(payload) == raw
        yield kind, items, payload
        offset += size


class Cursor:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            assert shift <= 70
            if byte < 128:
                return value

    def signed(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def bytes(self, count):
        assert self.at + count <= len(self.data)
        self.at += count
        return self.data[self.at - count:self.at]

    def string(self):
        return self.bytes(self.varint()).decode(errors="replace")

    def done(self):
        return self.at == len(self.data)


EVENT_COLUMNS = 15
THREAD_COLUMN, TIME_COLUMN, SIZE_COLUMN = 5, 6, 8


def event_columns(cursor):
    """The columns of a payload of events, as cursors, and whether sizes stand apart, in SIZE_PARTS columns; the cursor stands where it
    is told which."""
    apart = cursor.varint()
    assert apart in (0, 1)
    columns = [Cursor(cursor.bytes(cursor.varint())) for _ in range(EVENT_COLUMNS + (SIZE_PARTS - 1 if apart else 0))]
    assert cursor.done()
    return columns, apart


def call_key(module, address):
    """module: -1 is none"""
    return ((address ^ (module + 1) * 128) * 0x9e3779b97f4a7c15 & (1 << 64) - 1) >> 48


def event_codes(columns, items):
    """[(kind, lanes from the event's to the ended block's, code of the node, of the size, of the ended block)] of a payload, lane
    by lane. The column of sizes is None if they stand apart."""
    plain, copied, low, high, kinds, _, _, nodes, sizes, ended, *far, lanes = columns
    kinds = [byte >> shift & 3 for byte in kinds.bytes(len(kinds.data)) for shift in (0, 2, 4, 6)]
    codes, taken = [], 0

    def take(count):
        nonlocal taken
        for kind in kinds[taken:taken + count]:
            further = lanes.byte() if lanes.data else 0
            assert further < (1 if kind == ALLOC else LANES)
            node = nodes.varint() if kind != FREE else None
            size = sizes.varint() if sizes and kind != FREE else None
            assert sizes or kind != RESIZE
            end = ended.varint() if kind != ALLOC else None
            assert end != FAR or not further
            codes.append((kind, further, node, size, end))
        taken += count
        assert taken <= len(kinds)

    assert len(low.data) == len(high.data)
    while not low.done():
        take(plain.varint())
        count, distance = copied.varint(), low.byte() + 256 * high.byte()
        assert 1 <= distance <= len(codes)
        for _ in range(count):
            codes.append(codes[-distance])
    take(items - len(codes))
    assert len(kinds) - taken < 4 and not any(kinds[taken:]), "the last byte's other bits are 0"
    for at, (kind, _, node, size, end) in enumerate(codes):
        if end == FAR:
            low, middle, high, further = (column.byte() if column.data or column is far[0] else 0 for column in far)
            code = low + 256 * middle + 65536 * high
            assert further < LANES and code >= FAR
            codes[at] = kind, further, node, size, code
    return codes


def thread_runs(column, items):
    """[(thread, events)]"""
    runs, thread, last = [], 0, 0
    while not column.done():
        code = column.varint()
        thread, last = column.varint() if code & 1 else last, thread
        assert thread >= 1
        runs.append((thread, (code >> 1) + 1))
    assert sum(length for _, length in runs) == items
    return runs


def event_times(column, items, start, end, unit, grain):
    """The time of each event of a payload: units begin at `start`, the last event is at `end`."""
    times = []

    def spread(count, width):
        assert 1 <= width <= unit and len(times) + count <= items
        times.extend(start + (i * ((width << 32) // count) >> 32) for i in range(count))

    while not column.done():
        code = column.varint()
        spread((code >> 1) * (1 if code & 1 else grain), unit)
        start += unit * (1 + column.varint() if code & 1 else 1)
    spread(items - len(times), end - start + 1)
    return times


class Event:
    __slots__ = ("kind", "thread", "time_us", "node", "size", "ended", "number")

    def __init__(self, kind, thread, time_us, node, size, ended, number):
        self.kind = kind
        self.thread = thread
        self.time_us = time_us
        self.node = node  # 0 for a free
        self.size = size  # 0 for a free
        self.ended = ended  # number of the allocation whose block ends here, or None
        self.number = number  # of the allocation that begins here, or None


class Recording:
    """header, footer (None if there is none), modules [(path, ...)], nodes {id: (parent, module, address)}, names
    {(module, address): [(function, file, line, inlined)]}, threads {id: (tid, name)}, samples [(time_us, rss)], marks [[kind, name,
    time_us, end_us, first_event, end_event]] with kinds "phase", "moment", "pause" (what is open has None for its end)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.members = list(members(file.read()))
        self.header = self.footer = None
        self.modules, self.nodes, self.names, self.threads, self.samples = [], {}, {}, {}, []
        self.unloads = {}
        self.marks, phases, last_mark = [], [], (0, 0)
        successors = {}  # key of a call -> (module, address)
        for position, (kind, items, payload) in enumerate(self.members):
            assert (kind == HEADER) == (position == 0), "the header is first, and the only one"
            cursor = Cursor(payload)
            if kind == HEADER:
                self.header = json.loads(payload)
            elif kind == FOOTER:
                assert position == len(self.members) - 1, "the footer is last"
                self.footer = json.loads(payload)
            elif kind == MODULES:
                self.read_modules(cursor, items)
            elif kind == NODES:
                self.read_nodes(cursor, items, successors)
            elif kind == SAMPLES:
                time = cursor.varint()
                for _ in range(items):
                    time += cursor.varint()
                    self.samples.append((time, cursor.varint()))
            elif kind == THREADS:
                for _ in range(items):
                    number = cursor.varint()
                    self.threads[number] = (cursor.varint(), cursor.string())
            elif kind == MARKS:
                last_mark = self.read_marks(cursor, items, phases, last_mark)
            elif kind == SYMBOLS:
                self.read_symbols(cursor, items)
            if kind in (MODULES, NODES, SAMPLES, MARKS, THREADS, SYMBOLS):
                assert cursor.done(), f"member {position}: bytes left over"

    def read_modules(self, cursor, items):
        for _ in range(items):
            what, number = cursor.byte(), cursor.varint()
            if what == 1:
                assert number == len(self.modules)
                start, size, bias, time_us = (cursor.varint() for _ in range(4))
                path, build_id, flags = cursor.string(), cursor.bytes(cursor.varint()), cursor.varint()
                self.modules.append((path, start, size, bias, time_us, build_id, flags))
            else:
                assert what == 2 and number < len(self.modules)
                self.unloads[number] = cursor.varint()

    def read_marks(self, cursor, items, phases, last_mark):
        time, event = cursor.varint(), cursor.varint()
        assert (time, event) == last_mark, "a payload goes on where the one before ended"
        for _ in range(items):
            kind = cursor.varint()
            time += cursor.varint()
            event += cursor.varint()
            if kind in (1, 3):
                assert cursor.varint() > 0, "threads count from 1"
                self.marks.append(["phase" if kind == 1 else "moment", cursor.string(), time, None, event, None])
                if kind == 1:
                    phases.append(self.marks[-1])
            elif kind == 4:
                assert not [mark for mark in self.marks if mark[0] == "pause" and mark[3] is None]
                self.marks.append(["pause", "", time, None, event, None])
            else:
                mark = phases[cursor.varint()] if kind == 2 else [mark for mark in self.marks if mark[0] == "pause"][-1]
                assert kind in (2, 5) and mark[3] is None
                mark[3], mark[5] = time, event
        return time, event

    def read_nodes(self, cursor, items, successors):
        number, address = cursor.varint(), 0
        assert number == len(self.nodes) + 1
        for _ in range(items):
            code = cursor.varint()
            parent = number - 1 - (code >> 1)
            assert parent >= 0
            key = call_key(*self.nodes[parent][1:]) if parent else 0
            if code & 1:
                module = cursor.varint() - 1
                address += cursor.signed()
                assert module < len(self.modules) and address >= 0
                successors[key] = module, address
            assert key in successors, "a node that is not told has a successor to be"
            self.nodes[number] = (parent, *successors[key])
            number += 1

    def read_symbols(self, cursor, items):
        strings = [cursor.string() for _ in range(cursor.varint())]
        assert strings[0] == ""
        address = 0
        for _ in range(items):
            module = cursor.varint() - 1
            address += cursor.signed()
            frames = []
            for _ in range(cursor.varint()):
                function, file, line, flags = (cursor.varint() for _ in range(4))
                frames.append((strings[function], strings[file], line, bool(flags & 1)))
            self.names[module, address] = frames

    def events(self):
        """All events in order, as FORMAT.md's columns give them; blocks by the number of their allocation in the file."""
        number = 0  # of allocations so far
        begun = [[] for _ in range(LANES)]  # their numbers, by lane
        successor, last_size, last_node = {}, {}, {}  # (lane, node); (lane, node); thread
        nodes_known = 0
        time = 0  # of the last event of the payload before
        for kind, items, payload in self.members:
            if kind == NODES:
                nodes_known += items
            if kind != EVENTS:
                continue
            cursor = Cursor(payload)
            assert cursor.varint() == time
            last_time = time + cursor.varint()
            assert cursor.varint() == number
            unit, grain = cursor.varint(), cursor.varint()
            columns, apart = event_columns(cursor)
            if apart:
                columns[SIZE_COLUMN:SIZE_COLUMN + SIZE_PARTS], size_parts = [None], columns[SIZE_COLUMN:SIZE_COLUMN + SIZE_PARTS]
            times = iter(event_times(columns[TIME_COLUMN], items, time, last_time, unit, grain))
            time = last_time
            runs = thread_runs(columns[THREAD_COLUMN], items)
            lane_events = [0] * LANES
            for thread, length in runs:
                lane_events[thread % LANES] += length
            if apart:
                sizes_apart = {(part, lane): Cursor(column.bytes(column.varint()))
                               for part, column in enumerate(size_parts) for lane in range(LANES) if lane_events[lane]}
                assert all(column.done() for column in size_parts)
            codes = iter(event_codes(columns, items))
            codes_of = [iter(list(itertools.islice(codes, count))) for count in lane_events]
            last_ended = {(lane, other): len(begun[other]) for lane in range(LANES) for other in range(LANES)}
            for thread, length in runs:
                lane = thread % LANES
                for event_time, (event_kind, further, code, size_code, ended_code) in zip(
                        itertools.islice(times, length), itertools.islice(codes_of[lane], length), strict=True):
                    ended = None
                    if event_kind != ALLOC:
                        other = (lane + further) % LANES
                        ended = last_ended[lane, other] + (ended_code >> 2 ^ -(ended_code >> 1 & 1)) if ended_code & 1 \
                            else len(begun[other]) - 1 - (ended_code >> 1)
                        assert 0 <= ended < len(begun[other])
                        last_ended[lane, other] = ended
                        ended = begun[other][ended]
                    if event_kind == FREE:
                        yield Event(event_kind, thread, event_time, 0, 0, ended, None)
                        continue
                    previous = last_node.get(thread, 0)
                    if code == 0:
                        node = successor.get((lane, previous), 0)
                    else:
                        node = previous + ((code - 1) >> 1 ^ -((code - 1) & 1))
                    successor[lane, previous] = node
                    last_node[thread] = node
                    assert 0 <= node <= nodes_known, "nodes stand before the events that use them"
                    if apart:
                        size = sizes_apart[node % SIZE_PARTS, lane].varint()
                        if event_kind == MOVE:
                            size, in_place = divmod(size, 2)
                            event_kind += in_place
                    else:
                        size = last_size.get((lane, node), 0) if size_code == 0 else size_code - 1
                    last_size[lane, node] = size
                    begun[lane].append(number)
                    yield Event(event_kind, thread, event_time, node, size, ended, number)
                    number += 1
            assert all(column.done() for column in columns if column)
            assert not apart or all(part.done() for part in sizes_apart.values())

    def replay(self):
        """Follows every block; raises if a block ends twice. Returns a Replay, whose totals must be the footer's."""
        return Replay(self)

    def stack(self, node):
        """[(function, file, line, inlined)] of a node, innermost first."""
        frames = []
        while node:
            parent, module, address = self.nodes[node]
            frames += self.names.get((module, address), [("", "", 0, False)])
            node = parent
        return frames

    def functions(self, node):
        return {frame[0] for frame in self.stack(node)}


class Replay:
    """The numbers by the definitions of the footer, and `adjacent`: blocks that the very next event ended (by free or
    realloc, of whatever thread), which is what heaptrack calls temporary."""

    def __init__(self, recording):
        self.adjacent = 0
        previous = None
        self.allocations = self.frees = self.allocated_bytes = 0
        self.live = {}  # number of the allocation -> (size, node, thread)
        self.live_bytes = self.peak_bytes = self.peak_us = self.temporary = 0
        self.sizes = {}  # size -> allocations
        latest = {}  # thread -> number of its latest allocation
        for event in recording.events():
            if event.ended is not None:
                assert event.ended in self.live, f"allocation {event.ended} ends twice"
                self.adjacent += event.ended == previous
                size, _, thread = self.live.pop(event.ended)
                self.live_bytes -= size
                if event.kind == FREE:
                    self.frees += 1
                    self.temporary += latest.get(thread) == event.ended
            previous = event.number
            if event.number is not None:
                self.live[event.number] = (event.size, event.node, event.thread)
                self.live_bytes += event.size
                self.allocations += 1
                self.allocated_bytes += event.size
                self.sizes[event.size] = self.sizes.get(event.size, 0) + 1
                latest[event.thread] = event.number
            if self.live_bytes >= self.peak_bytes:
                self.peak_bytes, self.peak_us = self.live_bytes, event.time_us

    def live_sizes(self):
        """size -> live blocks at the end"""
        sizes = {}
        for size, _, _ in self.live.values():
            sizes[size] = sizes.get(size, 0) + 1
        return sizes


def booked_like_dhat(recording):
    """(totals, {function: totals}), keys as in dhat.KEYS, by DHAT's two rules that differ from ours: a request of 0 bytes is
    1 byte, and a block stays on the stack that first allocated it, however often it is reallocated."""
    owners = {}  # number of an allocation -> (node that is charged, size)
    counts = {}  # node -> [tb, tbk, gb, gbk, eb, ebk]
    stamps = {}  # node -> the peak at which its gb and gbk were saved
    live = most = peak = 0

    def change(node, size, blocks):
        nonlocal live
        count = counts.setdefault(node, [0] * 6)
        if stamps.get(node) != peak:
            stamps[node] = peak
            count[2:4] = count[4:6]
        count[4] += size
        count[5] += blocks
        live += size

    for event in recording.events():
        node = event.node
        if event.ended is not None:
            node, size = owners.pop(event.ended)
            change(node, -size, -1)
        if event.number is not None:
            size = event.size or 1
            owners[event.number] = node, size
            change(node, size, 1)
            counts[node][0] += size
            counts[node][1] += 1
            if live >= most:
                most = live
                peak += 1
    sums = {}
    for node, count in counts.items():
        if stamps[node] != peak:
            count[2:4] = count[4:6]
        for name in {None} | recording.functions(node):
            entry = sums.setdefault(name, [0] * 6)
            for position in range(6):
                entry[position] += count[position]
    keys = ("tb", "tbk", "gb", "gbk", "eb", "ebk")
    functions = {name: dict(zip(keys, entry)) for name, entry in sums.items()}
    return functions.pop(None, dict.fromkeys(keys, 0)), functions
