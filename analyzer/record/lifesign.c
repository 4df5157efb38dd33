/* A list that the kernel walks when the collector's thread ends, however it does: robust futexes, as
 * set_robust_list(2) and futex(2) have them. Only our own nodes are followed, which no target can write to; a
 * node stands at the same distance before the word of each region. Replaces the list that libc keeps for
 * robust mutexes, of which the collector has none. */
#include "record/lifesign.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local struct robust_list_head list;

void hs_lifesign_begin(struct hs_lifesign *sign, uint32_t *word)
{
	if (!list.list.next) {
		list.list.next = &list.list;
		list.futex_offset = (char *)word - (char *)&sign->node;
		syscall(SYS_set_robust_list, &list, sizeof list);
	}
	__atomic_store_n(word, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
	sign->node.next = list.list.next;
	list.list.next = &sign->node;
}

void hs_lifesign_end(struct hs_lifesign *sign, uint32_t *word)
{
	struct robust_list *before = &list.list;
	while (before->next && before->next != &sign->node && before->next != &list.list)
		before = before->next;
	if (before->next != &sign->node)
		return;
	before->next = sign->node.next;
	__atomic_store_n(word, FUTEX_OWNER_DIED, __ATOMIC_RELAXED);
}
