/* The string that a function returns, read out of its ELF file without running it. */
#ifndef HS_RETURNED_STRING_H
#define HS_RETURNED_STRING_H

#include "symbols.h"

#include <libelf.h>

enum { HS_RETURNED_STRING_MOST = 1 << 16 };

/* Follows the code at a function's link-time address as far as it is a straight line of what compilers make
 * of `return "..."` (x86-64: optimized or not, PIE or not, through a constant pointer or the GOT). NOTHING:
 * it returns NULL. */
enum hs_returned hs_elf_returned_string(Elf *elf, uint64_t address, char **text);

#endif
