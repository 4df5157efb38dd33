"""The unwinder gives exactly libunwind's frames: the tests' variant of the shim (preload/unwind/oracle.c) lets
libunwind step every stack again and counts the differences in program counters and stack pointers."""

import re
import subprocess

import pytest

LEVELS = {
    "O0": ["-O0"],
    "O1": ["-O1"],
    "O2-omit": ["-O2", "-fomit-frame-pointer"],
    "O2-keep": ["-O2", "-fno-omit-frame-pointer"],
    "O3": ["-O3", "-mavx2"],
    "clang-O2": ["-O2", "-fomit-frame-pointer"],
}


@pytest.fixture
def oracle(build, record):
    """oracle(command) -> (captures, frames): records it under the oracle; any difference fails.
    oracle.variants: how many of the stacks were told by the calls of their innermost frames alone."""

    def check(command, **options):
        library = build / "preload" / "libheapscope-oracle.so"
        recording = record(command, env={"HEAPSCOPE_LIBRARY": library}, **options)
        lines = re.findall(r"oracle: (\d+) captures, (\d+) frames, (\d+) differences", recording.stderr)
        assert lines, recording.stderr
        captures, frames, differences = map(int, lines[-1])
        assert differences == 0, recording.stderr
        check.variants = int(re.findall(r"(\d+) known variants", recording.stderr)[-1])
        return captures, frames

    return check


def call_trees(compile, level):
    compiler = "clang++" if level.startswith("clang") else "g++"
    return compile("call_trees.cc", *LEVELS[level], compiler=compiler)


@pytest.mark.parametrize("level", LEVELS)
def test_random_call_trees(compile, oracle, level):
    captures, frames = oracle([call_trees(compile, level), "7", "30000"])
    assert captures >= 30000
    assert frames > 10 * captures


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_million_random_call_trees(compile, oracle, level, seed):
    captures, _ = oracle([call_trees(compile, level), str(seed), "400000"], timeout=600)
    assert captures >= 400000


def test_large_program(oracle, tool, tmp_path):
    """gcc's C++ compiler proper: hundreds of thousands of stacks, some of them hundreds of frames deep."""
    source = tmp_path / "unit.cc"
    source.write_text("#include <string>\nstd::string twice(const std::string &s) { return s + s; }\n")
    captures, _ = oracle([*cc1plus(tool), "-O1", source, "-o", tmp_path / "unit.s"], timeout=300)
    assert captures > 100000


LARGE = """#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
int main()
{
	std::map<std::string, std::function<int(int)>> m;
	for (int i = 0; i < 100; i++)
		m[std::to_string(i)] = [i](int x) { return x + i; };
	std::regex r("a.*b");
	std::cout << m.size() << std::regex_match("ab", r) << std::endl;
}
"""


@pytest.mark.long
def test_large_program_with_a_large_input(oracle, tool, tmp_path):
    source = tmp_path / "unit.cc"
    source.write_text(LARGE)
    captures, _ = oracle([*cc1plus(tool), "-O2", source, "-o", tmp_path / "unit.s"], timeout=900)
    assert captures > 1000000


def cc1plus(tool):
    """The command, with the folder of headers that g++ would tell it of."""

    def ask(question):
        return subprocess.run([tool("g++"), question], capture_output=True, text=True, check=True).stdout.strip()

    multiarch = ask("-print-multiarch")
    return [ask("-print-prog-name=cc1plus"), "-quiet", *(["-imultiarch", multiarch] if multiarch else [])]


def chains(document, function):
    """The functions of each site that contains `function`, outermost last."""
    return [[frame["function"] for frame in site["frames"]] for site in document["sites"]
            if any(frame["function"] == function for frame in site["frames"])]


JIT = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) static void *from_jit(void) { return malloc(10); }
__attribute__((noinline)) static void run_stub(void *(*stub)(void)) { free(stub()); __asm__ volatile(""); }
/* push %rbp; mov %rsp, %rbp; movabs $f, %rax; call *%rax; pop %rbp; ret */
static const unsigned char with_fp[] = "\x55\x48\x89\xe5\x48\xb8........\xff\xd0\x5d\xc3";
/* sub $40, %rsp; movabs $f, %rax; call *%rax; add $40, %rsp; ret */
static const unsigned char without_fp[] = "\x48\x83\xec\x28\x48\xb8........\xff\xd0\x48\x83\xc4\x28\xc3";
int main(int argc, char **argv)
{
	unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const unsigned char *bytes = argc > 1 ? without_fp : with_fp;
	void *target = (void *)from_jit;
	memcpy(code, bytes, 24);
	memcpy(code + 6, &target, 8);
	for (int i = 0; i < 10; i++)
		run_stub((void *(*)(void))code);
	return 0;
}
"""


def test_jit_code_with_frame_pointers_is_walked_through(compile, record, print_json):
    document = print_json(record(compile(JIT, "-O1", "-fno-omit-frame-pointer")), "--raw")
    [chain] = chains(document, "from_jit")
    assert chain[0] == "from_jit" and chain[2] == "run_stub" and "main" in chain
    assert document["facts"]["broken_stacks"] == 0


def test_jit_code_without_frame_pointers_ends_the_stack_and_says_so(compile, record, print_json):
    document = print_json(record([compile(JIT, "-O1", "-fomit-frame-pointer"), "x"]), "--raw")
    [chain] = chains(document, "from_jit")
    assert chain[0] == "from_jit"
    assert document["facts"]["broken_stacks"] > 0


TWO_STACKS = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#define TAKE() ({ void *p = malloc(8); __asm__ volatile("" : "+r"(p)); free(p); })
enum { STACK = 32768 };
static char *lowest;
__attribute__((noinline)) static int down(int depth)
{
	if (depth == 0) {
		__asm__ volatile("mov %%rsp, %0" : "=r"(lowest));
		TAKE();
		return 0;
	}
	int below = down(depth - 1);
	__asm__ volatile("");
	return below + 1;
}
static void on_stack(int depth) { down(depth); __asm__ volatile(""); }
/* The depth at which the innermost frame stands at the same place below another end of the stack. */
static void run(char *stack, size_t bytes, int depth)
{
	static ucontext_t here, there;
	getcontext(&there);
	there.uc_link = &here;
	there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
	makecontext(&there, (void (*)(void))on_stack, 1, depth);
	swapcontext(&here, &there);
}
int main(void)
{
	char *stack = mmap(0, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	run(stack, 2 * STACK, 0);
	char *high = lowest;
	run(stack, 2 * STACK, 1);
	long frame = high - lowest;
	run(stack, 2 * STACK, 3 * STACK / 2 / frame);
	munmap(stack, 2 * STACK);
	mmap(stack, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mmap(stack + STACK, STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	run(stack, STACK, STACK / 2 / frame);
	printf("%ld\n", frame);
}
"""


def test_a_stack_in_the_place_of_a_larger_one(compile, oracle):
    """Frames of the same calls stand where the larger one's did; its outer part must not be looked at any more."""
    program = compile(TWO_STACKS, "-O2", "-fomit-frame-pointer")
    frame = int(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    assert 32768 % frame == 0  # else no frame would stand in another's place
    captures, frames = oracle([program])
    assert captures >= 4
    assert frames > 3 * 32768 // 2 // frame + 32768 // 2 // frame


CHANGING = r"""
#include <stdlib.h>
#define TAKE() ({ void *p = malloc(8); __asm__ volatile("" : "+r"(p)); free(p); })
static unsigned long rng = 88172645463325252;
static unsigned next(void)
{
	rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
	return (unsigned)rng;
}
#define NOINLINE __attribute__((noinline, noclone))
NOINLINE static void left(int depth);
/* A frame that is larger, and some that need the frame pointer: sizes differ from call to call. */
NOINLINE static void wide(int depth) { volatile char room[200]; room[depth] = 1; left(depth - 1); __asm__ volatile(""); }
#define ALLOCA(name, value) \
	NOINLINE static void name(int depth) \
	{ \
		volatile char *room = __builtin_alloca(16 + next() % 2 * 64); \
		room[0] = value; \
		left(depth - 1); \
		__asm__ volatile(""); \
	}
ALLOCA(one, 1)
ALLOCA(other, 2)
NOINLINE static void any(int depth)
{
	if (next() % 2)
		one(depth);
	else
		other(depth);
	__asm__ volatile("");
}
NOINLINE static void right(int depth)
{
	if (next() % 4 == 0)
		one(depth);
	else
		left(depth - 1);
	__asm__ volatile("" ::: SAVED);
}
NOINLINE static void left(int depth)
{
	if (depth <= 0)
		TAKE();
	else switch (next() % ODD_ONES) {
	case 0: wide(depth); break;
	case 1: any(depth); break;
	case 2: case 3: case 4: right(depth); break;
	case 5: one(depth); break;
	default: left(depth - 1);
	}
	__asm__ volatile("");
}
NOINLINE static void tower(int depth)
{
	if (depth > 0)
		tower(depth - 1);
	else for (int i = 0; i < 20; i++)
		left(16);
	__asm__ volatile("");
}
int main(void)
{
	for (int i = 0; i < 2000; i++)
		tower(next() % 60);
}
"""


@pytest.mark.parametrize("odd_ones", [8, 40, 100000])
@pytest.mark.parametrize("flags", [["-fomit-frame-pointer", '-DSAVED="rbp"'], ["-fno-omit-frame-pointer", '-DSAVED="rbx"']],
                         ids=["omit", "keep"])
def test_calls_that_change_at_random(compile, oracle, odd_ones, flags):
    captures, frames = oracle(compile(CHANGING, "-O2", *flags, f"-DODD_ONES={odd_ones}"))
    assert captures >= 40000
    assert frames > 30 * captures


VARIANTS = r"""
#include <stdlib.h>
#define TAKE() ({ void *p = malloc(8); __asm__ volatile("" : "+r"(p)); free(p); })
#define NOINLINE __attribute__((noinline, noclone))
static unsigned long rng = 88172645463325252;
static unsigned next(unsigned below)
{
	rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
	return (unsigned)rng % below;
}
NOINLINE static void go(int depth);
#define CALL(name, bytes) \
	NOINLINE static void name(int depth) { volatile char room[bytes]; room[0] = 1; go(depth - 1); __asm__ volatile(""); }
CALL(one, 24) CALL(two, 24) CALL(three, 24) CALL(larger, 40)
NOINLINE static void go(int depth)
{
	if (depth == 0) {
		TAKE();
		if (next(50) == 0)
			TAKE();
	} else if (next(EACH) == 0) {
		larger(depth);
	} else switch (next(3)) {
	case 0: one(depth); break;
	case 1: two(depth); break;
	default: three(depth);
	}
	__asm__ volatile("");
}
NOINLINE static void tower(int depth)
{
	if (depth > 0)
		tower(depth - 1);
	else for (int i = 0; i < 2000; i++)
		go(3);
	__asm__ volatile("");
}
NOINLINE static void here(int depth) { tower(depth); __asm__ volatile(""); }
NOINLINE static void there(int depth) { tower(depth); __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 10; i++)
		i % 2 ? here(DEPTH) : there(DEPTH);
}
"""


@pytest.mark.parametrize("depth", [2, 20])  # with 2 the run that is looked at last overlaps with the innermost one
@pytest.mark.parametrize("each, share", [(10, 0.02), (10000, 0.8)])
def test_calls_that_change_in_the_innermost_frames(compile, oracle, depth, each, share):
    """Three calls, of functions whose frames are of the same size but for one of them: that moves all frames further in.
    Two functions call all that."""
    captures, _ = oracle(compile(VARIANTS, "-O2", "-fomit-frame-pointer", f"-DDEPTH={depth}", f"-DEACH={each}"))
    assert captures >= 20000
    assert oracle.variants > share * captures


DEEP = r"""
#include <stdlib.h>
__attribute__((noinline)) static int down(int depth, int leaf_every)
{
	if (leaf_every && depth % leaf_every == 0)
		free(malloc(8));
	if (depth == 0) {
		free(malloc(64));
		return 0;
	}
	return down(depth - 1, leaf_every) + 1;
}
int main(int argc, char **argv) { return down(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 0) == -1; }
"""


def test_stacks_within_the_depth_limit_reach_main(compile, record, print_json):
    document = print_json(record([compile(DEEP, "-O0"), "16000"]), "--raw")
    [chain] = chains(document, "down")
    assert chain.count("down") == 16001
    assert "main" in chain
    assert document["facts"]["truncated_stacks"] == 0


@pytest.mark.parametrize("leaf_every", [[], ["1000"]])
def test_deeper_stacks_keep_their_inner_frames_and_say_so(compile, record, print_json, leaf_every):
    document = print_json(record([compile(DEEP, "-O0"), "20000", *leaf_every]), "--raw")
    deepest = max(chains(document, "down"), key=len)
    assert deepest.count("down") == 16384
    assert "main" not in deepest
    assert document["facts"]["truncated_stacks"] == (4 + 1 if leaf_every else 1)


@pytest.mark.parametrize("unwinder", ["libunwind", "fp"])
def test_other_unwinders_agree_on_plain_code(compile, record, print_json, unwinder):
    source = "#include <stdlib.h>\n" + "".join(
        f"__attribute__((noinline)) void f{i}(void) {{ {'void *volatile p = malloc(77); free(p)' if i == 0 else f'f{i - 1}()'}; __asm__(\"\"); }}\n"
        for i in range(5)) + "int main(void) { for (int i = 0; i < 9; i++) f4(); }\n"
    program = compile(source, "-O1", "-fno-omit-frame-pointer")
    document = print_json(record(program, env={"HEAPSCOPE_UNWINDER": unwinder}), "--raw")
    [site] = [site for site in document["sites"] if site["frames"][0]["function"] == "f0"]
    assert [frame["function"] for frame in site["frames"]][:6] == ["f0", "f1", "f2", "f3", "f4", "main"]
    assert site["allocations"] == 9
