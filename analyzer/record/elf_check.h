/* What an executable says about itself, as far as recording it goes. Trusts nothing in the file. */
#ifndef HS_RECORD_ELF_CHECK_H
#define HS_RECORD_ELF_CHECK_H

#include <stdbool.h>

struct hs_elf_facts {
	bool elf;     /* has the magic bytes */
	bool damaged; /* its headers make no sense */
	bool other_class, other_machine;
	bool executable;    /* ET_EXEC or ET_DYN */
	bool interpreted;   /* has PT_INTERP: the dynamic loader starts it */
	bool musl;          /* by the loader of musl */
	bool own_malloc;    /* defines malloc */
	char sanitizer[24]; /* "AddressSanitizer", ... or "" */
};

/* fd: a regular file. */
void hs_elf_check(int fd, struct hs_elf_facts *facts);

#endif
