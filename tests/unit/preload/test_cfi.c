/* Rows of hand-made .eh_frame bytes, worked out by the DWARF standard. */
#include "eh_frame.h"
#include "shim.h"
#include "unwind/cfi.h"

#include <stdio.h>

static int failures;

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			failures++;                                                                          \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);              \
		}                                                                                            \
	} while (0)

static struct eh_frame eh;
static uint8_t code[65536];
#define AT(offset) ((uint64_t)code + (offset))

static void begin(void)
{
	eh_begin(&eh);
	eh_cie(&eh, "zR", EH_PCREL, 1, EH_ENTRY, 5);
}

#define FUNCTION(offset, size, program) eh_function(&eh, AT(offset), size, program, sizeof program - 1)

static bool has_row(uint64_t offset, struct cfi_row *row)
{
	memset(row, 0xee, sizeof *row);
	return hs_cfi_row(eh.header, AT(offset), row);
}

/* CFA = register + cfa_offset; fp where and at which offset; the return address at CFA - 8. */
static void check_row(int line, uint64_t offset, uint64_t cfa_register, int64_t cfa_offset, enum cfi_where fp,
		      int64_t fp_offset)
{
	struct cfi_row row;
	bool there = has_row(offset, &row);
	bool right = there && row.cfa == CFI_CFA_REGISTER && row.cfa_register == cfa_register &&
		     row.cfa_offset == cfa_offset && row.fp.where == fp &&
		     (fp == CFI_SAME || fp == CFI_UNDEFINED || row.fp.offset == fp_offset) &&
		     row.return_address.where == CFI_AT_CFA && row.return_address.offset == -8 &&
		     !row.signal_frame;
	if (right)
		return;
	failures++;
	fprintf(stderr, "%s:%d: another row\n", __FILE__, line);
}
#define ROW(...) check_row(__LINE__, __VA_ARGS__)

enum { FP = 6, SP = 7 };

/* push rbp; mov rbp, rsp; ...; leave; ret, as every compiler writes it. */
static void test_frame_pointer(void)
{
	begin();
	FUNCTION(0x100, 0x40,
		 "\x41"         /* advance 1 */
		 "\x0e\x10"     /* def_cfa_offset 16 */
		 "\x86\x02"     /* offset rbp, 2 * -8 */
		 "\x43"         /* advance 3 */
		 "\x0d\x06"     /* def_cfa_register rbp */
		 "\x71"         /* advance 49 */
		 "\x0c\x07\x08" /* def_cfa rsp, 8 */
		 "\xc6");       /* restore rbp */
	struct cfi_row row;
	CHECK(!has_row(0xff, &row));
	ROW(0x100, SP, 8, CFI_SAME, 0);
	ROW(0x101, SP, 16, CFI_AT_CFA, -16);
	ROW(0x103, SP, 16, CFI_AT_CFA, -16);
	ROW(0x104, FP, 16, CFI_AT_CFA, -16);
	ROW(0x134, FP, 16, CFI_AT_CFA, -16);
	ROW(0x135, SP, 8, CFI_SAME, 0);
	ROW(0x13f, SP, 8, CFI_SAME, 0);
	CHECK(!has_row(0x140, &row));
}

/* The search table: many functions, gaps between them. */
static void test_search(void)
{
	begin();
	for (uint32_t i = 0; i < 200; i++) {
		uint8_t program[] = {0x0e, (uint8_t)(8 + i % 100)};
		eh_function(&eh, AT(0x1000 + i * 64), 48, program, sizeof program);
	}
	struct cfi_row row;
	CHECK(!has_row(0, &row) && !has_row(0xfff, &row));
	for (uint32_t i = 0; i < 200; i++) {
		ROW(0x1000 + i * 64, SP, 8 + i % 100, CFI_SAME, 0);
		ROW(0x1000 + i * 64 + 47, SP, 8 + i % 100, CFI_SAME, 0);
		CHECK(!has_row(0x1000 + i * 64 + 48, &row));
		CHECK(!has_row(0x1000 + i * 64 + 63, &row));
	}
	CHECK(!has_row(0xffff, &row));
	eh_begin(&eh);
	CHECK(!has_row(0x1000, &row)); /* an empty table */
}

static void test_advances(void)
{
	begin();
	FUNCTION(0, 0x8000,
		 "\x02\xff\x0e\x10"             /* advance1 255 */
		 "\x03\x00\x10\x0e\x18"         /* advance2 0x1000 */
		 "\x04\x00\x20\x00\x00\x0e\x20" /* advance4 0x2000 */
		 "\x40\x0e\x28");               /* advance 0: still the same place */
	ROW(0, SP, 8, CFI_SAME, 0);
	ROW(254, SP, 8, CFI_SAME, 0);
	ROW(255, SP, 16, CFI_SAME, 0);
	ROW(255 + 0xfff, SP, 16, CFI_SAME, 0);
	ROW(255 + 0x1000, SP, 24, CFI_SAME, 0);
	ROW(255 + 0x2fff, SP, 24, CFI_SAME, 0);
	ROW(255 + 0x3000, SP, 40, CFI_SAME, 0);
}

static void test_remembered(void)
{
	begin();
	FUNCTION(0, 0x40,
		 "\x0e\x20\x86\x03"                   /* CFA sp + 32, rbp at -24 */
		 "\x44\x0a"                           /* 4: remember */
		 "\x0e\x08\xc6"                       /* sp + 8, rbp as at the entry */
		 "\x44\x0b"                           /* 8: as it was */
		 "\x44\x0a\x0a\x0e\x30\x44\x0b\x0b"); /* 12: twice; 16: back */
	ROW(0, SP, 32, CFI_AT_CFA, -24);
	ROW(4, SP, 8, CFI_SAME, 0);
	ROW(8, SP, 32, CFI_AT_CFA, -24);
	ROW(12, SP, 48, CFI_AT_CFA, -24);
	ROW(16, SP, 32, CFI_AT_CFA, -24);
	begin();
	FUNCTION(0, 0x40, "\x44\x0b"); /* nothing to restore */
	struct cfi_row row;
	ROW(0, SP, 8, CFI_SAME, 0);
	CHECK(!has_row(4, &row));
	begin();
	FUNCTION(0, 0x40,
		 "\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"); /* too deep */
	CHECK(!has_row(0, &row));
}

static void test_registers(void)
{
	begin();
	FUNCTION(0, 8, "\x05\x06\x02");                          /* offset_extended */
	FUNCTION(8, 8, "\x11\x06\x7d");                          /* offset_extended_sf -3: CFA + 24 */
	FUNCTION(16, 8, "\x2f\x06\x02");                         /* GNU_negative_offset_extended: CFA + 16 */
	FUNCTION(24, 8, "\x12\x06\x7e");                         /* def_cfa_sf rbp, -2 * -8 */
	FUNCTION(32, 8, "\x13\x7f");                             /* def_cfa_offset_sf -1 * -8 */
	FUNCTION(40, 8, "\x86\x02\x08\x06");                     /* same_value */
	FUNCTION(48, 8, "\x86\x02\x06\x06");                     /* restore_extended */
	FUNCTION(56, 8, "\x07\x06");                             /* undefined */
	FUNCTION(64, 8, "\x83\x02\x8c\x05\x2e\x10\x09\x03\x0c"); /* others are not followed; GNU_args_size */
	ROW(0, SP, 8, CFI_AT_CFA, -16);
	ROW(8, SP, 8, CFI_AT_CFA, 24);
	ROW(16, SP, 8, CFI_AT_CFA, 16);
	ROW(24, FP, 16, CFI_SAME, 0);
	ROW(32, SP, 8, CFI_SAME, 0);
	ROW(40, SP, 8, CFI_SAME, 0);
	ROW(48, SP, 8, CFI_SAME, 0);
	ROW(56, SP, 8, CFI_UNDEFINED, 0);
	ROW(64, SP, 8, CFI_SAME, 0);
	begin();
	FUNCTION(0, 8, "\x09\x06\x03");      /* rbp in another register */
	FUNCTION(8, 8, "\x14\x06\x02");      /* val_offset */
	FUNCTION(16, 8, "\x15\x06\x02");     /* val_offset_sf */
	FUNCTION(24, 8, "\x16\x06\x01\x30"); /* val_expression */
	for (uint64_t at = 0; at < 32; at += 8)
		ROW(at, SP, 8, CFI_OTHER, 0);
	begin();
	FUNCTION(0, 8, "\x3f"); /* no such instruction */
	struct cfi_row row;
	CHECK(!has_row(0, &row));
}

static void test_expressions(void)
{
	struct cfi_row row;
	begin();
	FUNCTION(0, 8,
		 "\x0f\x03\x76\x78\x06"              /* CFA = *(rbp - 8), as gcc realigns stacks */
		 "\x10\x06\x02\x76\x00");            /* rbp at rbp + 0 */
	FUNCTION(8, 8, "\x0f\x03\x77\x08\x22");      /* breg7 8; plus */
	FUNCTION(16, 8, "\x0f\x7f");                 /* longer than the record */
	FUNCTION(24, 8, "\x10\x06\x03\x76\x70\x06"); /* *(rbp - 16) is where rbp was saved */
	CHECK(has_row(0, &row) && row.cfa == CFI_CFA_FP_DEREF && row.cfa_offset == -8);
	CHECK(row.fp.where == CFI_AT_FP && row.fp.offset == 0);
	CHECK(row.return_address.where == CFI_AT_CFA && row.return_address.offset == -8);
	CHECK(has_row(8, &row) && row.cfa == CFI_CFA_OTHER);
	CHECK(has_row(16, &row) && row.cfa == CFI_CFA_OTHER);
	CHECK(has_row(24, &row) && row.fp.where == CFI_OTHER);
}

/* As ld writes it for a table whose entries are 16 bytes long and push at the eleventh. */
static void test_linkage_table(void)
{
	struct cfi_row row;
	begin();
	FUNCTION(0x100, 0x40, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
	FUNCTION(0x140, 0x40, "\x0f\x0b\x77\x08\x80\x01\x3f\x1a\x3b\x2a\x33\x24\x22"); /* pc + 1 */
	FUNCTION(0x180, 0x40, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x2f\x2a\x33\x24\x22"); /* no literal */
	ROW(0x100, SP, 8, CFI_SAME, 0);
	ROW(0x10a, SP, 8, CFI_SAME, 0);
	ROW(0x10b, SP, 16, CFI_SAME, 0);
	ROW(0x10f, SP, 16, CFI_SAME, 0);
	ROW(0x110, SP, 8, CFI_SAME, 0);
	ROW(0x12b, SP, 16, CFI_SAME, 0);
	CHECK(has_row(0x140, &row) && row.cfa == CFI_CFA_OTHER);
	CHECK(has_row(0x180, &row) && row.cfa == CFI_CFA_OTHER);
}

static void test_outermost_and_signals(void)
{
	struct cfi_row row;
	begin();
	FUNCTION(0, 8, "\x07\x10"); /* _start: the return address is undefined */
	CHECK(has_row(0, &row) && row.return_address.where == CFI_UNDEFINED);
	eh_begin(&eh);
	eh_cie(&eh, "zRS", EH_PCREL, 1, EH_ENTRY, 5);
	FUNCTION(0, 8, "");
	CHECK(has_row(0, &row) && row.signal_frame);
}

/* CIEs with more in them: a personality routine (8 bytes absolute), an encoding for language data. */
static void test_augmentations(void)
{
	struct cfi_row row;
	eh_begin(&eh);
	eh_cie(&eh, "zPLR", "\x00PPPPPPPP\x0c\x1b", 11, EH_ENTRY, 5);
	FUNCTION(0, 8, "\x0e\x18");
	ROW(0, SP, 24, CFI_SAME, 0);
	eh_begin(&eh);
	eh_cie(&eh, "eh", "", 0, EH_ENTRY, 5); /* of the last century */
	FUNCTION(0, 8, "");
	CHECK(!has_row(0, &row));
}

/* Headers that say something else than what linkers write. */
static void test_headers(void)
{
	struct cfi_row row;
	for (unsigned i = 0; i < 4; i++) {
		begin();
		FUNCTION(0, 8, "");
		ROW(0, SP, 8, CFI_SAME, 0);
		if (i == 1)
			continue; /* the pointer to .eh_frame is not needed, only its size */
		eh.header[i] ^= 4;
		CHECK(!has_row(0, &row));
	}
}

int main(void)
{
	test_frame_pointer();
	test_search();
	test_advances();
	test_remembered();
	test_registers();
	test_expressions();
	test_linkage_table();
	test_outermost_and_signals();
	test_augmentations();
	test_headers();
	return failures != 0;
}
