/* .eh_frame: the unwind row of one address. */
#ifndef HS_CFI_H
#define HS_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum cfi_where {
	CFI_SAME = 0,      /* the register keeps its value */
	CFI_AT_CFA = 1,    /* saved at CFA + offset */
	CFI_UNDEFINED = 2, /* for the return address: the outermost frame */
	CFI_AT_FP = 3,     /* saved at fp + offset (expression "breg6 n") */
	CFI_OTHER = 4,     /* anything else */
};

struct cfi_register {
	enum cfi_where where;
	int64_t offset;
};

enum cfi_cfa { CFI_CFA_REGISTER, CFI_CFA_FP_DEREF /* *(fp + offset) */, CFI_CFA_OTHER };

struct cfi_row {
	enum cfi_cfa cfa;
	uint64_t cfa_register; /* DWARF number */
	int64_t cfa_offset;
	struct cfi_register fp, return_address;
	bool signal_frame;
};

/* The row for the instruction at `address`, found through a mapped .eh_frame_hdr with its search table.
 * false: none. */
bool hs_cfi_row(const uint8_t *eh_frame_hdr, uint64_t address, struct cfi_row *row);

#endif
