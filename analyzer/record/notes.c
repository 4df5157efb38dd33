/* Phases, marks, names and pauses that a program reports: what is said becomes marks of the file. The program
 * may say anything: nothing grows by it but the file. */
#include "record/encode.h"
#include "record/pair.h"

#include <stdlib.h>
#include <string.h>

void hs_notes_free(struct hs_notes *notes)
{
	free(notes->open);
	notes->open = NULL;
}

static void begin_phase(struct hs_pairing *pairs, const struct hs_item *item, const char *name)
{
	struct hs_notes *notes = &pairs->notes;
	if (notes->open_count == HS_PHASES_OPEN_MOST) {
		notes->ignored++;
		return;
	}
	uint32_t thread = hs_pairing_thread(pairs, item);
	hs_encoder_mark(pairs->encoder, HS_MARK_PHASE_BEGIN, hs_pairing_time(pairs, item), thread, name, 0);
	notes->open = hs_grow(notes->open, notes->open_count, &notes->open_capacity, sizeof *notes->open);
	struct hs_open_phase *phase = &notes->open[notes->open_count++];
	*phase = (struct hs_open_phase){.number = notes->phases++, .thread = thread};
	strcpy(phase->name, name);
}

static void end_phase(struct hs_pairing *pairs, const struct hs_item *item, const char *name)
{
	struct hs_notes *notes = &pairs->notes;
	uint32_t thread = hs_pairing_thread(pairs, item), none = UINT32_MAX, found = none;
	for (uint32_t i = notes->open_count; i-- > 0;) {
		if (strcmp(notes->open[i].name, name) != 0)
			continue;
		bool own = notes->open[i].thread == thread;
		if (own || found == none)
			found = i;
		if (own)
			break;
	}
	if (found == none) {
		notes->ignored++;
		return;
	}
	hs_encoder_mark(pairs->encoder, HS_MARK_PHASE_END, hs_pairing_time(pairs, item), 0, NULL,
			notes->open[found].number);
	notes->open_count--;
	memmove(&notes->open[found], &notes->open[found + 1],
		(notes->open_count - found) * sizeof *notes->open);
}

static void set_paused(struct hs_pairing *pairs, const struct hs_item *item, bool paused)
{
	if (pairs->notes.paused == paused)
		return;
	pairs->notes.paused = paused;
	hs_encoder_mark(pairs->encoder, paused ? HS_MARK_PAUSE : HS_MARK_RESUME, hs_pairing_time(pairs, item),
			0, NULL, 0);
}

void hs_notes_take(struct hs_pairing *pairs, const struct hs_item *item, const struct hs_news *news)
{
	switch (news->note) {
	case HS_NOTE_PHASE_BEGIN:
		begin_phase(pairs, item, news->name);
		break;
	case HS_NOTE_PHASE_END:
		end_phase(pairs, item, news->name);
		break;
	case HS_NOTE_MARK:
		hs_encoder_mark(pairs->encoder, HS_MARK_MOMENT, hs_pairing_time(pairs, item),
				hs_pairing_thread(pairs, item), news->name, 0);
		break;
	case HS_NOTE_THREAD_NAME:
		hs_encoder_name_thread(pairs->encoder, hs_pairing_thread(pairs, item), news->name);
		break;
	case HS_NOTE_PAUSE:
	case HS_NOTE_RESUME:
		set_paused(pairs, item, news->note == HS_NOTE_PAUSE);
		break;
	default:
		pairs->notes.ignored++;
	}
}
