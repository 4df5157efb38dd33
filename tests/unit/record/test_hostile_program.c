/* Damaged ELF files: every answer is fine, a crash or a hang is not. Runs under the address sanitizer. */
#include "elf_maker.h"
#include "record/elf_check.h"

#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	struct elf_image good, bad;
	elf_begin(&good, ET_DYN, EM_X86_64);
	elf_loader(&good, "/lib64/ld-linux-x86-64.so.2");
	elf_needed(&good, "libasan.so.8");
	elf_symbol(&good, "malloc", 1, STT_FUNC);
	int fd = memfd_create("program", 0);
	uint64_t random = 42;
	for (unsigned turn = 0; turn < 20000; turn++) {
		bad = good;
		for (unsigned change = 0; change < 1 + turn % 4; change++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			unsigned char *byte = (unsigned char *)&bad + (random >> 33) % sizeof bad;
			/* extreme values as often as any */
			*byte = turn & 1 ? (unsigned char)(random >> 20) : (turn & 2 ? 0xff : 0);
		}
		size_t bytes = turn % 5 ? sizeof bad : (random >> 40) % sizeof bad;
		struct hs_elf_facts facts;
		if (ftruncate(fd, 0) != 0 || pwrite(fd, &bad, bytes, 0) != (ssize_t)bytes)
			return 1;
		hs_elf_check(fd, &facts);
		if (facts.sanitizer[sizeof facts.sanitizer - 1])
			return 1;
	}
	struct hs_elf_facts facts;
	if (pwrite(fd, &good, sizeof good, 0) != sizeof good)
		return 1;
	hs_elf_check(fd, &facts);
	printf("after all: %s, %s\n", facts.sanitizer, facts.own_malloc ? "own malloc" : "no malloc");
	return !(facts.interpreted && facts.own_malloc && strcmp(facts.sanitizer, "AddressSanitizer") == 0);
}
