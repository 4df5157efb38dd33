"""What goes wrong is told: what happened, why, and what to do; the exit code is the documented one; nothing is left half done."""

import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import recording as recording_format  # noqa: E402
from made_recording import member  # noqa: E402

OWN_FAILURE, NOT_EXECUTABLE, NOT_FOUND, BAD_DATA = 125, 126, 127, 1


def check_message(completed, code, *words):
    """The exit code, a message on standard error only, with all the words (cause and remedy), and no debris of our own making."""
    assert completed.returncode == code, completed.stderr
    assert completed.stdout == ""
    message = " ".join(completed.stderr.split())
    for word in words:
        assert word.lower() in message.lower(), (word, message)
    return message


@pytest.fixture
def program(compile):
    """A program that leaves a trace when it is started, so that a test can tell that it was not."""
    return compile("#include <stdio.h>\n#include <stdlib.h>\nint main(void) { free(malloc(10)); fclose(fopen(\"started\", \"w\"));"
                   " return 0; }\n", name="program")


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


# ---- programs that cannot be recorded ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["no-such-program-anywhere", "./no-such-file", "no/such/folder/program"])
def test_program_not_found(run_heapscope, place, name):
    check_message(run_heapscope("run", name, cwd=place), NOT_FOUND, name, "not found" if "/" not in name else "no such file")
    assert list(place.iterdir()) == []


def test_program_not_executable(run_heapscope, place, program):
    copy = shutil.copy(program, place / "plain")
    os.chmod(copy, 0o644)
    check_message(run_heapscope("run", "./plain", cwd=place), NOT_EXECUTABLE, "plain", "permission denied", "chmod +x")
    assert [path.name for path in place.iterdir()] == ["plain"]


def test_program_is_a_folder(run_heapscope, place):
    (place / "folder").mkdir()
    check_message(run_heapscope("run", "./folder", cwd=place), NOT_EXECUTABLE, "folder", "directory")


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static_program(run_heapscope, place, compile, flag):
    static = compile("int main(void) { return 0; }\n", flag, name="fixed")
    check_message(run_heapscope("run", static, cwd=place), OWN_FAILURE, "fixed", "statically linked", "-static")
    assert list(place.iterdir()) == []


def test_setuid_program(run_heapscope, place, program):
    if os.getuid() == 0:
        setuid = place / "privileged"
        shutil.copy(program, setuid)
        os.chown(setuid, 65534, 65534)
        os.chmod(setuid, 0o4755)
    else:
        setuid = pathlib.Path(shutil.which("su"))
    check_message(run_heapscope("run", setuid, cwd=place), OWN_FAILURE, setuid.name, "setuid", "copy")
    assert not (place / "started").exists()


@pytest.mark.parametrize("word_class, machine, cause", [(2, 183, "another kind of machine"), (2, 243, "another kind of machine"),
                                                       (1, 3, "32-bit"), (1, 40, "32-bit")])
def test_wrong_architecture(run_heapscope, place, program, word_class, machine, cause):
    image = bytearray(program.read_bytes())
    image[4] = word_class
    image[18:20] = struct.pack("<H", machine)
    foreign = place / "foreign"
    foreign.write_bytes(image)
    foreign.chmod(0o755)
    check_message(run_heapscope("run", "./foreign", cwd=place), OWN_FAILURE, "foreign", cause, "build it for this")


def test_cut_program(run_heapscope, place, program):
    for size in (0, 3, 17, 63, 70):
        cut = place / "cut"
        cut.write_bytes(program.read_bytes()[:size])
        cut.chmod(0o755)
        completed = run_heapscope("run", "./cut", cwd=place)
        assert completed.returncode in (0, OWN_FAILURE, NOT_EXECUTABLE), (size, completed.stderr)
        assert "cut" in completed.stderr


def test_script_without_interpreter(run_heapscope, place):
    script = place / "script"
    script.write_text("#!/no/such/interpreter\necho hello\n")
    script.chmod(0o755)
    completed = run_heapscope("run", "./script", cwd=place)
    assert completed.returncode in (OWN_FAILURE, NOT_EXECUTABLE, NOT_FOUND)
    assert "/no/such/interpreter" in completed.stderr


# ---- output that cannot be written -------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["no/such/folder/out.hs.gz", "folder", "/proc/self/out.hs.gz"])
def test_recording_not_writable(run_heapscope, place, program, output):
    (place / "folder").mkdir()
    completed = run_heapscope("run", "-o", output, program, cwd=place)
    check_message(completed, OWN_FAILURE, output, "-o")
    assert not (place / "started").exists(), "the program must not be started in vain"
    assert [path.name for path in place.iterdir()] == ["folder"]


def test_full_disk_ends_the_recording_not_the_program(run_heapscope, place, program):
    completed = run_heapscope("run", "-o", "/dev/full", program, cwd=place)
    assert (place / "started").exists()
    assert completed.returncode in (0, OWN_FAILURE)
    assert "/dev/full" in completed.stderr and "space" in completed.stderr


@pytest.fixture
def recorded(record, compile):
    return record(compile("churn.c"))


def test_the_last_two_recordings_are_kept(run_heapscope, place):
    """The third run takes the place of the first, and only if there is something to record."""
    def commands():
        return {path.name: json.loads(run_heapscope("info", "--json", path).stdout)["facts"]["command"][1:] for path in place.iterdir()}

    for number in "123":
        assert run_heapscope("run", "-o", "out.hs.gz", "true", number, cwd=place).returncode == 0
    assert commands() == {"out.hs.gz": ["3"], "out.old.hs.gz": ["2"]}
    assert run_heapscope("run", "-o", "out.hs.gz", "no-such-program", cwd=place).returncode != 0
    assert commands() == {"out.hs.gz": ["3"], "out.old.hs.gz": ["2"]}


@pytest.mark.parametrize("output, reason", [("no/such/folder/x.json", "no such file"), ("folder", "directory"),
                                            ("/dev/full", "space")])
def test_export_not_writable(run_heapscope, place, recorded, output, reason):
    (place / "folder").mkdir()
    completed = run_heapscope("export", "--format", "dhat", "-o", output, recorded, cwd=place)
    assert completed.returncode not in (0, None) and completed.returncode > 0
    assert output in completed.stderr and reason in completed.stderr.lower()
    assert [path.name for path in place.iterdir()] == ["folder"]


def test_report_to_a_full_disk(heapscope, recorded):
    with open("/dev/full", "w") as full:
        completed = subprocess.run([heapscope, "print", recorded], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert completed.returncode > 0
    assert "space" in completed.stderr


def test_unknown_format(run_heapscope, recorded):
    completed = run_heapscope("export", "--format", "no-such-format", recorded)
    assert completed.returncode == 2
    assert "no-such-format" in completed.stderr and "dhat" in completed.stderr


# ---- recordings that are not whole -------------------------------------------------------------------------------

COMMANDS = {"print": ["print"], "json": ["print", "--json"], "export": ["export", "--format", "dhat", "-o", "out.json"]}


@pytest.fixture(params=COMMANDS)
def read(request, run_heapscope, place):
    """Runs one of the reading commands on a path."""
    return lambda path, timeout=60: run_heapscope(*COMMANDS[request.param], path, cwd=place, timeout=timeout)


def test_recording_missing(read, place):
    check_message(read("nowhere.hs.gz"), BAD_DATA, "nowhere.hs.gz", "no such file")


def test_recording_is_a_folder(read, place):
    (place / "folder").mkdir()
    check_message(read("folder"), BAD_DATA, "folder", "directory")


@pytest.mark.parametrize("content, cause", [
    (b"", "empty"),
    (b"this is a text, and not a recording\n" * 100, "not a heapscope recording"),
    (gzip.compress(b"some other program's compressed file"), "not a heapscope recording"),
    (b"\x1f\x8b", "cut"),
    (bytes(5000), "not a heapscope recording"),
], ids=["empty", "text", "gzip", "two bytes", "zeros"])
def test_not_a_recording(read, place, content, cause):
    (place / "file.hs.gz").write_bytes(content)
    check_message(read("file.hs.gz"), BAD_DATA, "file.hs.gz", cause)
    assert not (place / "out.json").exists()




@pytest.mark.parametrize("step", [-1, 1])
def test_other_version(read, place, recorded, step):
    recording = recording_format.Recording(recorded)
    own = recording.header["version"]
    header = dict(recording.header, version=own + step)
    first = struct.unpack_from("<I", pathlib.Path(recorded).read_bytes(), 20)[0]
    data = member(recording_format.HEADER, json.dumps(header).encode()) + pathlib.Path(recorded).read_bytes()[first:]
    (place / "other.hs.gz").write_bytes(data)
    check_message(read("other.hs.gz"), BAD_DATA, "other.hs.gz", f"format {own + step}", f"reads format {own}", "record again")


def test_cut_recording_shows_what_is_there(run_heapscope, place, recorded):
    """Cut behind each member and within each: the events that stand are counted, and a warning says that it is not all."""
    data = pathlib.Path(recorded).read_bytes()
    path = place / "cut.hs.gz"
    offset, last = 0, 0
    whole = recording_format.Recording(recorded).footer["allocations"]
    ends = []
    while offset < len(data):
        offset += struct.unpack_from("<I", data, offset + 20)[0]
        ends.append(offset)
    assert ends[-1] == len(data) and len(ends) > 4
    for end in ends[:-1]:
        for size in (end, end + 10, end + 40):
            path.write_bytes(data[:size])
            completed = run_heapscope("print", "--json", path)
            assert completed.returncode == 0, completed.stderr
            assert "cut.hs.gz" in completed.stderr or "warning" in completed.stderr.lower()
            document = json.loads(completed.stdout)
            assert last <= document["totals"]["allocations"] <= whole
            last = document["totals"]["allocations"]
    assert last == whole, "only the footer is missing: all events are there"
    for size in (1, 9, 31, 33, ends[0] - 1):
        path.write_bytes(data[:size])
        completed = run_heapscope("print", path)
        assert completed.returncode == BAD_DATA and "cut.hs.gz" in completed.stderr


def test_cut_recording_exports_and_prints_with_a_warning(read, place, recorded):
    data = pathlib.Path(recorded).read_bytes()
    (place / "cut.hs.gz").write_bytes(data[:len(data) * 2 // 3])
    completed = read("cut.hs.gz")
    assert completed.returncode == 0, completed.stderr
    text = (completed.stderr + completed.stdout).lower()
    assert "cut" in text.replace("cut.hs.gz", "") or "truncated" in text or "incomplete" in text
    if (place / "out.json").exists():
        json.loads((place / "out.json").read_text())


def test_damage_never_crashes(read, place, recorded):
    """One byte changed, at places spread over the file: an error or a warning, never a signal, never long."""
    data = pathlib.Path(recorded).read_bytes()
    path = place / "damaged.hs.gz"
    for number in range(25):
        position = len(data) * number // 25 + number % 7
        damaged = bytearray(data)
        damaged[position] ^= 1 << number % 8
        path.write_bytes(damaged)
        completed = read("damaged.hs.gz")
        assert completed.returncode in (0, BAD_DATA), (position, completed.returncode, completed.stderr)
        if completed.returncode:
            assert "damaged.hs.gz" in completed.stderr


def test_lies_inside_a_whole_recording(read, place, recorded):
    """Members whose gzip layer is whole and whose content is wrong: sizes, ids, columns."""
    path = place / "lies.hs.gz"
    members = list(recording_format.members(pathlib.Path(recorded).read_bytes()))
    for number, (kind, items, payload) in enumerate(members):
        if kind in (recording_format.HEADER, recording_format.FOOTER):
            continue
        for lie in (payload[:len(payload) // 2], payload + b"\0", b"\xff" * 40 + payload[40:], b"", payload[::-1]):
            changed = members[:number] + [(kind, items, lie)] + members[number + 1:]
            path.write_bytes(b"".join(member(*triple[::2], triple[1]) for triple in changed))
            completed = read("lies.hs.gz")
            assert completed.returncode in (0, BAD_DATA), (number, kind, completed.returncode, completed.stderr)
        if number > 12:
            break
