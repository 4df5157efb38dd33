/* One record of a chunk -> one item, or two for a realloc that moved. Each word is read from shared memory
 * once. */
#ifndef HS_RECORD_DECODE_H
#define HS_RECORD_DECODE_H

#include "record/drain.h"

#include <string.h>

enum { HS_BATCH_ITEMS = 256 };
#define HS_STAMP_MOST (UINT64_MAX >> 2) /* keeps hostile stamps sortable */
#define HS_SIZE_MOST (1ULL << 48)       /* no address space holds a larger block */

struct hs_decoded {
	uint64_t stamp; /* the next delta counts from here */
	uint32_t words; /* of the record */
	bool has_second;
	uint64_t second_address; /* at `stamp`; size and node are the item's */
	uint32_t op;             /* of news */
};

enum hs_decode_result {
	HS_DECODE_ITEM,
	HS_DECODE_STAMP, /* only a stamp */
	HS_DECODE_NEWS,  /* an item whose particulars hs_decode_news gets */
	HS_DECODE_DAMAGED,
};

/* At equal stamps a free goes before an allocation. Within a stream the order stands, whatever the stamps
 * say. */
static inline uint64_t hs_item_key(uint64_t stamp, enum hs_item_kind kind, uint64_t least)
{
	uint64_t key = (stamp < HS_STAMP_MOST ? stamp : HS_STAMP_MOST) << 1;
	key |= kind >= HS_ITEM_ALLOC;
	return key > least ? key : least;
}

static inline void hs_decode_realloc(struct hs_item *item, struct hs_decoded *out, uint64_t old_address,
				     uint64_t before, uint64_t new_address, uint64_t after)
{
	out->stamp = after;
	if (old_address == new_address) {
		item->kind = HS_ITEM_RESIZE;
		item->address = new_address;
		item->stamp = after;
		return;
	}
	item->kind = HS_ITEM_DETACH;
	item->address = old_address;
	item->stamp = before;
	out->has_second = true;
	out->second_address = new_address;
}

static inline enum hs_decode_result hs_decode_wide(const uint64_t *words, uint32_t available, uint64_t first,
						   struct hs_item *item, struct hs_decoded *out)
{
	static const uint8_t lengths[] = {
		[HS_WIDE_STAMP] = 2,        [HS_WIDE_FREE] = 3,       [HS_WIDE_ALLOC] = 5,
		[HS_WIDE_REALLOC] = 7,      [HS_WIDE_POOL_ALLOC] = 6, [HS_WIDE_POOL_FREE] = 3,
		[HS_WIDE_POOL_REALLOC] = 7, [HS_WIDE_POOL_RESET] = 3, [HS_WIDE_NOTE] = 3};
	uint64_t op = first >> 2, word[7];
	if (op >= sizeof lengths || !lengths[op] || lengths[op] > available)
		return HS_DECODE_DAMAGED;
	out->words = lengths[op];
	for (uint32_t i = 1; i < out->words; i++)
		word[i] = hs_peek(&words[i]);
	switch (op) {
	case HS_WIDE_STAMP:
		out->stamp = word[1];
		return HS_DECODE_STAMP;
	case HS_WIDE_FREE:
		item->kind = HS_ITEM_FREE;
		break;
	case HS_WIDE_ALLOC:
		item->kind = HS_ITEM_ALLOC;
		item->size = word[3];
		item->node = (uint32_t)word[4];
		if (item->size > HS_SIZE_MOST)
			return HS_DECODE_DAMAGED;
		break;
	case HS_WIDE_POOL_ALLOC:
	case HS_WIDE_POOL_REALLOC:
	case HS_WIDE_POOL_FREE:
	case HS_WIDE_POOL_RESET:
	case HS_WIDE_NOTE:
		item->stamp = out->stamp = word[2];
		out->op = (uint32_t)op;
		item->kind =
			op == HS_WIDE_POOL_FREE || op == HS_WIDE_POOL_RESET ? HS_ITEM_NEWS_END : HS_ITEM_NEWS;
		return HS_DECODE_NEWS;
	default:
		item->size = word[5];
		item->node = (uint32_t)word[6];
		if (item->size > HS_SIZE_MOST)
			return HS_DECODE_DAMAGED;
		hs_decode_realloc(item, out, word[1], word[2], word[3], word[4]);
		return (word[1] | word[3]) & HS_KEY_SLAB ? HS_DECODE_DAMAGED : HS_DECODE_ITEM;
	}
	item->address = word[1];
	item->stamp = out->stamp = word[2];
	return item->address & HS_KEY_SLAB ? HS_DECODE_DAMAGED : HS_DECODE_ITEM;
}

/* After HS_DECODE_NEWS. Each word is read anew, and nothing that was read before is relied on. */
static inline enum hs_decode_result hs_decode_news(const uint64_t *words, uint32_t available,
						   struct hs_item *item, struct hs_decoded *out,
						   struct hs_news *news)
{
	*news = (struct hs_news){.op = out->op};
	uint64_t first = hs_peek(&words[1]);
	item->address = (uintptr_t)news;
	if (item->kind == HS_ITEM_NEWS_END) {
		news->block = news->slab = first;
	} else if (news->op == HS_WIDE_NOTE) {
		uint64_t bytes = first >> 8, name_words = (bytes + 7) / 8;
		news->note = first & 0xff;
		if (bytes > HS_NOTE_NAME_MOST || name_words > available - out->words)
			return HS_DECODE_DAMAGED;
		for (uint32_t i = 0; i < name_words; i++) {
			uint64_t word = hs_peek(&words[out->words + i]);
			memcpy(news->name + i * 8, &word, sizeof word);
		}
		out->words += (uint32_t)name_words;
		news->name[bytes] = 0;
	} else {
		news->block = first;
		news->slab = hs_peek(&words[3]);
		news->size = hs_peek(&words[4]);
		item->node = (uint32_t)hs_peek(&words[5]);
		news->old = out->words > 6 ? hs_peek(&words[6]) : 0;
		if (news->size > HS_SIZE_MOST)
			return HS_DECODE_DAMAGED;
	}
	return (news->block | news->slab | news->old) & HS_KEY_SLAB ? HS_DECODE_DAMAGED : HS_DECODE_ITEM;
}

/* `available` words are there, one at least; deltas count from `stamp`. */
static inline enum hs_decode_result hs_decode(const uint64_t *words, uint32_t available, uint64_t stamp,
					      struct hs_item *item, struct hs_decoded *out)
{
	uint64_t first = hs_peek(&words[0]), second;
	unsigned kind = HS_WORD_KIND(first);
	out->has_second = false;
	if (kind == HS_RECORD_WIDE)
		return hs_decode_wide(words, available, first, item, out);
	stamp += HS_WORD_DELTA(first);
	out->stamp = stamp;
	item->stamp = stamp;
	item->address = HS_WORD_ADDRESS(first);
	out->words = kind + 1;
	if (out->words > available)
		return HS_DECODE_DAMAGED;
	if (kind == HS_RECORD_FREE) {
		item->kind = HS_ITEM_FREE;
		return HS_DECODE_ITEM;
	}
	second = hs_peek(&words[1]);
	item->size = second >> 32;
	item->node = (uint32_t)second;
	item->kind = HS_ITEM_ALLOC;
	if (kind == HS_RECORD_REALLOC) {
		uint64_t third = hs_peek(&words[2]);
		hs_decode_realloc(item, out, HS_WORD_ADDRESS(first), stamp, HS_WORD_ADDRESS(third),
				  stamp + HS_WORD_DELTA(third));
	}
	return HS_DECODE_ITEM;
}

/* The next item of a stream if its record is in the short form, as nearly all are. */
struct hs_lead {
	const uint64_t *at, *end; /* words */
	uint64_t first;           /* the item's word; its stamp; its key: */
	uint64_t stamp, key;
	uint64_t last_stamp;       /* of the item before */
	enum hs_item_kind realloc; /* which item of one, if `first` is of that kind. ATTACH: is under way */
};

static __attribute__((noinline)) bool hs_lead_look_at_realloc(struct hs_lead *lead)
{
	if (HS_WORD_KIND(lead->first) != HS_RECORD_REALLOC || lead->end - lead->at < 3)
		return false;
	uint64_t third = hs_peek(&lead->at[2]);
	lead->realloc = HS_ITEM_DETACH;
	if (HS_WORD_ADDRESS(third) == HS_WORD_ADDRESS(lead->first)) {
		lead->realloc = HS_ITEM_RESIZE;
		lead->stamp += HS_WORD_DELTA(third);
	}
	lead->key = hs_item_key(lead->stamp, lead->realloc, lead->key);
	return true;
}

/* After `at` has been set. false: what comes next is something else, or may be; then the key is too low. */
static inline bool hs_lead_look(struct hs_lead *lead)
{
	if (lead->end - lead->at < 2)
		return false;
	lead->first = hs_peek(&lead->at[0]);
	lead->stamp = lead->last_stamp + HS_WORD_DELTA(lead->first);
	unsigned kind = HS_WORD_KIND(lead->first);
	if (__builtin_expect(kind > HS_RECORD_ALLOC, 0))
		return hs_lead_look_at_realloc(lead);
	lead->key =
		hs_item_key(lead->stamp, kind == HS_RECORD_FREE ? HS_ITEM_FREE : HS_ITEM_ALLOC, lead->key);
	return true;
}

/* Of a realloc, in the middle one of its words. */
static inline void hs_lead_get_size(const struct hs_lead *lead, uint64_t *size, uint32_t *node)
{
	uint64_t middle = hs_peek(&lead->at[lead->realloc == HS_ITEM_ATTACH ? -1 : 1]);
	*size = middle >> 32;
	*node = (uint32_t)middle;
}

static __attribute__((noinline)) bool hs_lead_take_realloc(struct hs_lead *lead, struct hs_item *item)
{
	item->kind = (uint8_t)lead->realloc;
	hs_lead_get_size(lead, &item->size, &item->node);
	if (lead->realloc != HS_ITEM_DETACH) {
		lead->at += lead->realloc == HS_ITEM_ATTACH ? 1 : 3;
		lead->realloc = HS_ITEM_FREE;
		return hs_lead_look(lead);
	}
	lead->at += 2;
	lead->realloc = HS_ITEM_ATTACH;
	lead->first = (hs_peek(&lead->at[0]) & ~UINT64_C(3)) | HS_RECORD_REALLOC;
	lead->stamp = lead->last_stamp + HS_WORD_DELTA(lead->first);
	lead->key = hs_item_key(lead->stamp, HS_ITEM_ATTACH, lead->key);
	return true;
}

/* Takes the item, and looks at the one behind it. */
static inline __attribute__((always_inline)) bool hs_lead_take(struct hs_lead *lead, struct hs_item *item)
{
	item->stamp = lead->last_stamp = lead->stamp;
	item->address = HS_WORD_ADDRESS(lead->first);
	/* A branch, so that the next record's load need not wait for this one's. */
	if (HS_WORD_KIND(lead->first) == HS_RECORD_FREE) {
		item->kind = HS_ITEM_FREE;
		lead->at += 1;
	} else if (__builtin_expect(HS_WORD_KIND(lead->first) != HS_RECORD_ALLOC, 0)) {
		return hs_lead_take_realloc(lead, item);
	} else {
		uint64_t second = hs_peek(&lead->at[1]);
		item->size = second >> 32;
		item->node = (uint32_t)second;
		item->kind = HS_ITEM_ALLOC;
		lead->at += 2;
	}
	return hs_lead_look(lead);
}

_Static_assert(HS_RECORD_FREE == 0 && HS_RECORD_ALLOC == 1 && HS_RECORD_REALLOC == 2,
	       "words of a record = kind + 1");

#endif
