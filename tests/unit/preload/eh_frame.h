/* Writes .eh_frame and .eh_frame_hdr by hand, after the Linux Standard Base. Functions are given in ascending
 * order. */
#ifndef PRELOAD_EH_FRAME_H
#define PRELOAD_EH_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct eh_frame {
	_Alignas(8) uint8_t header[4096]; /* .eh_frame_hdr: 12 bytes, then the search table */
	uint8_t frames[16384];
	size_t used;
	uint32_t count;
	uint8_t *cie;
};

static inline void eh_put(struct eh_frame *eh, const void *bytes, size_t count)
{
	memcpy(eh->frames + eh->used, bytes, count);
	eh->used += count;
}

static inline void eh_put32(struct eh_frame *eh, uint32_t value)
{
	eh_put(eh, &value, 4);
}

/* Pads a record to a multiple of 4 with DW_CFA_nop and writes its length. */
static inline void eh_close(struct eh_frame *eh, uint8_t *record)
{
	while (eh->used % 4)
		eh->frames[eh->used++] = 0;
	uint32_t length = (uint32_t)(eh->frames + eh->used - record - 4);
	memcpy(record, &length, 4);
}

static inline void eh_begin(struct eh_frame *eh)
{
	memset(eh, 0, sizeof *eh);
	/* version 1; frame pointer: pcrel sdata4; count: udata4; table: datarel sdata4 */
	memcpy(eh->header, "\x01\x1b\x03\x3b", 4);
	int32_t frames = (int32_t)(eh->frames - (eh->header + 4));
	memcpy(eh->header + 4, &frames, 4);
}

/* The CIE of the functions that follow: its augmentation ("zR" with pcrel sdata4, unless another is given)
 * and its first instructions. */
static inline void eh_cie(struct eh_frame *eh, const char *augmentation, const void *data, size_t data_bytes,
			  const void *program, size_t bytes)
{
	eh->cie = eh->frames + eh->used;
	eh_put32(eh, 0); /* length */
	eh_put32(eh, 0); /* this is a CIE */
	eh_put(eh, "\x01", 1);
	eh_put(eh, augmentation, strlen(augmentation) + 1);
	eh_put(eh, "\x01\x78\x10", 3); /* code factor 1, data factor -8, return address in 16 */
	if (augmentation[0] == 'z') {
		uint8_t length = (uint8_t)data_bytes;
		eh_put(eh, &length, 1);
		eh_put(eh, data, data_bytes);
	}
	eh_put(eh, program, bytes);
	eh_close(eh, eh->cie);
}

static inline void eh_function(struct eh_frame *eh, uint64_t start, uint32_t size, const void *program,
			       size_t bytes)
{
	uint8_t *record = eh->frames + eh->used;
	eh_put32(eh, 0);
	eh_put32(eh, (uint32_t)(record + 4 - eh->cie));
	eh_put32(eh, (uint32_t)(start - (uint64_t)(eh->frames + eh->used)));
	eh_put32(eh, size);
	eh_put(eh, "\0", 1); /* no augmentation data */
	eh_put(eh, program, bytes);
	eh_close(eh, record);
	int32_t entry[2] = {(int32_t)(start - (uint64_t)eh->header), (int32_t)(record - eh->header)};
	memcpy(eh->header + 12 + 8 * eh->count++, entry, sizeof entry);
	memcpy(eh->header + 8, &eh->count, 4);
}

/* As compilers begin: at the entry CFA = sp + 8 and the return address lies below it. */
#define EH_ENTRY "\x0c\x07\x08\x90\x01"
#define EH_PCREL "\x1b"

#endif
