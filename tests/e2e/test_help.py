"""Help, manual pages and the shells' completion: they come from one table, and have every command and option that
the sources have."""

import re
import subprocess

import pytest
from conftest import ROOT, clean_environment

CLI = ROOT / "analyzer" / "cli"
OPTION = re.compile(r'\{\s*(0|\'.\'),\s*"([a-z][a-z-]*)",\s*HS_OPTION_([A-Z]+)')


def source_of_command(name):
    """The text of the file in which a command's function stands, preprocessed: options that several commands share are
    macros."""
    function = f"int hs_command_{name}(int argc, char **argv)\n{{"
    if name == "help":
        function = "int help_command(int argc, char **argv)\n{"
    found = [path for path in sorted(CLI.glob("*.c")) if function in path.read_text()]
    assert len(found) == 1, function
    return subprocess.run(["gcc", "-E", "-P", "-D_GNU_SOURCE", f"-I{ROOT}/analyzer", f"-I{ROOT}/include", found[0]],
                          capture_output=True, text=True, check=True).stdout


def table():
    """The commands, as main.c has them: name -> [(letter or None, option, kind)]."""
    main = (CLI / "main.c").read_text()
    rows = re.search(r"hs_commands\[\] = \{\n(.*?)\n\};", main, re.S)[1]
    names = re.findall(r'\{"([a-z]+)", ', rows)
    assert {"run", "print", "diff", "export", "info", "help", "completion"} <= set(names)
    return {name: [(None if letter == "0" else letter[1], option, kind)
                   for letter, option, kind in OPTION.findall(source_of_command(name))] for name in names}


TABLE = table()
COMMANDS = list(TABLE)


@pytest.fixture(scope="module")
def manual(heapscope, tmp_path_factory):
    """The manual pages as the build makes them: name -> plain text."""
    folder = tmp_path_factory.mktemp("manual")
    subprocess.run([heapscope, "__manual", folder], check=True)
    pages = {}
    for path in folder.iterdir():
        # mandoc is strict: whatever it says but "no date" is a fault of the page
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True).stdout
        assert [line for line in lint.splitlines() if "missing date" not in line] == []
        text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=100", path], capture_output=True, text=True,
                              check=True).stdout
        pages[path.name] = re.sub(r".\x08", "", text)  # bold and underlined by overstriking
    return pages


def test_tables_are_found():
    """The walk below sees options: by hand, two commands."""
    assert ("o", "output", "TEXT") in TABLE["run"] and (None, "follow", "CHOICE") in TABLE["run"]
    assert (None, "focus", "LIST") in TABLE["print"] and (None, "suppressions", "TEXT") in TABLE["print"]
    assert ("n", "number", "NUMBER") in TABLE["print"] and (None, "json", "SET") in TABLE["print"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(run_heapscope, command):
    done = run_heapscope(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: heapscope {command} [options]")
    assert "\nExit codes: " in done.stdout and "Environment:" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert run_heapscope("help", command).stdout == done.stdout
    assert run_heapscope(command, "-h").stdout == done.stdout
    for letter, option, kind in TABLE[command]:
        beginning = f"  -{letter}, --{option}" if letter else f"      --{option}"
        argument = "" if kind == "SET" else r" \S+"
        row = re.search(rf"^{re.escape(beginning)}{argument}(  +|\n +)(\S.*)$", done.stdout, re.M)
        assert row, f"--{option} has no help"


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_page_of_every_command(manual, command):
    page = manual[f"heapscope-{command}.1"]
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"]:
        assert re.search(rf"^{section}$", page, re.M), section
    for letter, option, _ in TABLE[command]:
        assert re.search(rf"^ +{f'-{letter}, ' if letter else ''}--{option}\b", page, re.M), option
    assert re.search(rf"^ +heapscope-{command}\(1\)", manual["heapscope.1"], re.M)


def test_manual_of_the_whole(manual):
    assert len(manual) == len(COMMANDS) + 1
    assert "heapscope - record and explain the heap allocations of a program" in manual["heapscope.1"]


def test_variables_are_documented(manual):
    """Every variable that the sources read or set stands in heapscope(1) and in docs/environment.md."""
    page = manual["heapscope.1"]
    sources = [path for folder in ["analyzer", "preload", "include"] for path in (ROOT / folder).rglob("*.[ch]")]
    names = set()
    for path in sources:
        text = path.read_text()
        names.update(re.findall(r'\bgetenv\("([A-Z_]+)"\)', text))
        if path.name != "environment.c":
            names.update(re.findall(r'"(HEAPSCOPE_[A-Z_]+)"', text))
        names.update(re.findall(r'#define HS_ENV_\w+ "([A-Z_]+)"', text))
    assert {"HEAPSCOPE_LIBRARY", "HEAPSCOPE_UNWINDER", "HEAPSCOPE_SOCKET", "TMPDIR", "NO_COLOR"} <= names
    assert [name for name in sorted(names) if not re.search(rf"^ +{name}\b", page, re.M)] == []
    documentation = (ROOT / "docs" / "environment.md").read_text()
    assert [name for name in sorted(names) if f"`{name}`" not in documentation] == []


def test_what_is_built_is_what_is_written(build, heapscope):
    """The files that meson installs are those of this program."""
    for shell, name in [("bash", "heapscope"), ("zsh", "_heapscope"), ("fish", "heapscope.fish")]:
        written = subprocess.run([heapscope, "completion", shell], capture_output=True, text=True, check=True).stdout
        assert (build / "docs" / name).read_text() == written
    assert {path.name for path in (build / "docs" / "man1").iterdir()} >= \
        {"heapscope.1"} | {f"heapscope-{command}.1" for command in COMMANDS}


# ---- completion --------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """What there is to complete: two recordings, another file, a folder, a program."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "a folder").mkdir()
    for name in ["server.hs.gz", "server.old.hs.gz", "notes.txt"]:
        (tmp_path / name).write_text("")
    (tmp_path / "serve").write_text("#!/bin/sh\n")
    (tmp_path / "serve").chmod(0o755)
    return tmp_path


def bash(heapscope, folder, line):
    """What bash offers for a line, cut into words as bash cuts them (COMP_WORDBREAKS has "=")."""
    words = [word for word in re.split(r"(=)|\s+", line) if word]
    if line.endswith((" ", "=")):
        words.append("") if line.endswith(" ") else None
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heapscope; ' \
        'if ((${#COMPREPLY[@]})); then printf "%s\\n" "${COMPREPLY[@]}"; fi'
    script_file = folder / "bin" / "completion.bash"
    script_file.write_text(subprocess.run([heapscope, "completion", "bash"], capture_output=True, text=True).stdout)
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", script_file, *words], capture_output=True, text=True,
                          cwd=folder, env=clean_environment())
    assert done.stderr == ""
    return sorted(done.stdout.splitlines())


def fish(heapscope, folder, line):
    script_file = folder / "bin" / "completion.fish"
    script_file.write_text(subprocess.run([heapscope, "completion", "fish"], capture_output=True, text=True).stdout)
    done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script_file, line],
                          capture_output=True, text=True, cwd=folder,
                          env=clean_environment({"HOME": folder / "bin", "XDG_CONFIG_HOME": folder / "bin"}))
    assert (done.returncode, done.stderr) == (0, "")
    return sorted({row.split("\t")[0] for row in done.stdout.splitlines()})




def zsh(heapscope, folder, line):
    """zsh completes only in its line editor: one in a pseudo-terminal of its own (zpty), whose matches are caught
    where the completion system adds them."""
    functions = folder / "bin" / "functions"
    functions.mkdir(exist_ok=True)
    (functions / "_heapscope").write_text(
        subprocess.run([heapscope, "completion", "zsh"], capture_output=True, text=True).stdout)
    script = r"""
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PROMPT= fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w inner 'compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
	local -a __found
	builtin compadd -O __found "$@"
	local __word; for __word in $__found; do print -r -- "<${IPREFIX}$__word>"; done
	builtin compadd "$@"
}'
zpty -w inner 'finish() { print "<end>" }; bindkey "^I" complete-word; zle -C complete-word complete-word ending'
zpty -w inner 'ending() { _main_complete; print -r -- "<<end>>"; compstate[insert]=; compstate[list]= }'
zpty -w inner 'print "<<re""ady>>"'
typeset line
while zpty -r inner line; do [[ $line == *"<<ready>>"* ]] && break; done
zpty -w -n inner "$2"$'\t'
while zpty -r inner line; do
	[[ $line == *"<<end>>"* ]] && break
	print -r -- "$line"
done
zpty -d inner
"""
    done = subprocess.run(["zsh", "-f", "-c", script, "zsh", functions, line], capture_output=True, text=True,
                          cwd=folder, env=clean_environment({"TERM": "dumb", "HOME": folder / "bin"}), timeout=60)
    assert done.returncode == 0, done.stderr
    return sorted(set(re.findall(r"<([^<>\n]+)>", done.stdout)))


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.fixture(params=SHELLS)
def complete(request, heapscope, folder, tool):
    tool(request.param)
    return lambda line: SHELLS[request.param](heapscope, folder, line)


def test_completes_commands(complete):
    assert set(complete("heapscope ")) >= set(COMMANDS)
    assert complete("heapscope pr") == ["print"]
    assert set(complete("heapscope help ")) >= set(COMMANDS)
    assert complete("heapscope completion ") == ["bash", "fish", "zsh"]


@pytest.mark.parametrize("command", COMMANDS)
def test_completes_every_option(complete, command):
    offered = {word.rstrip("=") for word in complete(f"heapscope {command} --")}
    assert offered == {f"--{option}" for _, option, _ in TABLE[command]} | {"--help"}


def test_completes_values(complete):
    assert complete("heapscope run --follow ") == ["all", "exec", "none"]
    assert complete("heapscope print --color al") == ["always"]
    assert [word.removeprefix("--color=") for word in complete("heapscope print --color=ne")] == ["never"]
    assert complete("heapscope print --depth ") == []
    assert complete("heapscope export --format sp") == ["speedscope"]
    assert complete("heapscope export -m mo") == ["moved"]
    assert complete("heapscope import -f heap") == ["heaptrack"]


def names(words):
    return {word.rstrip("/") for word in words}


def test_completes_recordings(complete, request):
    assert names(complete("heapscope print server")) == {"server.hs.gz", "server.old.hs.gz"}
    # fish has a habit: all files, but those first
    offered = complete("heapscope diff server.old.hs.gz ")
    assert "server.hs.gz" in offered and ("notes.txt" in offered) == (request.node.callspec.params["complete"] == "fish")
    assert names(complete("heapscope print -n 5 server.o")) == {"server.old.hs.gz"}


def test_completes_files_of_options(complete):
    assert names(complete("heapscope run -o note")) == {"notes.txt"}


def test_completes_the_program(complete):
    assert names(complete("heapscope run ./ser")) >= {"./serve"} or names(complete("heapscope run ./ser")) >= {"serve"}
    # its arguments are its own: none of our options
    assert "--follow" not in complete("heapscope run ./serve --fol")
    assert names(complete("heapscope run --follow all ./serve note")) == {"notes.txt"}
