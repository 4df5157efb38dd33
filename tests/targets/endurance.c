/* Long runs in stages. After each stage it writes a line to standard output and waits for one on standard
 * input, so that a test can look around meanwhile.
 *
 *   endurance churn EVENTS STAGES    malloc and free in turn, with 1,024 blocks live; none is left
 *   endurance live BLOCKS            so many blocks; after the first stage all but every tenth are freed
 *   endurance bursts COUNT           so many stages with 20,000 blocks each, which are freed */
#include "target.h"

#include <string.h>
#include <unistd.h>

static void end_stage(void)
{
	char letter;
	if (write(STDOUT_FILENO, "stage\n", 6) != 6)
		_exit(1);
	do
		if (read(STDIN_FILENO, &letter, 1) != 1)
			_exit(1);
	while (letter != '\n');
}

enum { WINDOW = 1024 };
static void *window[WINDOW];

NOINLINE static void *churn_block(unsigned long i)
{
	return keep(malloc(16 + i * 7919 % 512));
}

/* Two events a turn, once the window is full; emptying it makes up for the beginning. */
static void churn(unsigned long events, unsigned long stages)
{
	unsigned long turns = events / 2;
	for (unsigned long stage = 0, i = 0; stage < stages; stage++) {
		for (; i < turns * (stage + 1) / stages; i++) {
			free(window[i % WINDOW]);
			window[i % WINDOW] = churn_block(i);
		}
		end_stage();
	}
	for (unsigned i = 0; i < WINDOW; i++)
		free(window[i]);
}

NOINLINE static void **live_block(unsigned long i)
{
	return keep(malloc(16 + i % 32));
}

static void live(unsigned long blocks)
{
	void **last = NULL;
	for (unsigned long i = 0; i < blocks; i++) {
		void **block = live_block(i);
		*block = last;
		last = block;
	}
	end_stage();
	for (unsigned long i = blocks; i-- > 0;) {
		void **next = *last;
		if (i % 10 != 0)
			free(last);
		last = next;
	}
	end_stage();
}

NOINLINE static void burst(void)
{
	for (unsigned i = 0; i < 20000; i++)
		free(keep(malloc(100)));
}

int main(int argc, char **argv)
{
	unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	if (argc == 4 && strcmp(argv[1], "churn") == 0)
		churn(number, strtoul(argv[3], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "live") == 0)
		live(number);
	else if (argc == 3 && strcmp(argv[1], "bursts") == 0)
		for (; number > 0; number--) {
			burst();
			end_stage();
		}
	else
		return 2;
	return 0;
}
