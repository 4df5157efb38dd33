/* Tells the targets at once that their collector has died. */
#ifndef HS_RECORD_LIFESIGN_H
#define HS_RECORD_LIFESIGN_H

#include <linux/futex.h>
#include <stdint.h>

/* In private memory; the same number of bytes from its word for all signs of a thread. */
struct hs_lifesign {
	struct robust_list node;
};

/* Puts the thread's id into a word of shared memory; when the thread ends the kernel adds FUTEX_OWNER_DIED.
 */
void hs_lifesign_begin(struct hs_lifesign *sign, uint32_t *word);
/* By the same thread: makes the word FUTEX_OWNER_DIED. Nothing happens if the sign has not begun. */
void hs_lifesign_end(struct hs_lifesign *sign, uint32_t *word);

#endif
