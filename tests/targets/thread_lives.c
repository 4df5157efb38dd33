/* Many short threads, eight at a time; each allocates, frees what its predecessor left, keeps one block
 * for its successor, and has a destructor of thread-specific data that frees and allocates once more
 * when the thread is nearly gone.
 *
 *   400 threads in 50 rounds of 8
 *   body:       10 x malloc(100), 9 freed by the thread, one left to the thread that comes after: 4000
 *               calls, 400000 bytes; the last round's 8 stay: 800 bytes in 8 blocks
 *   specific:   malloc(333), freed by the destructor: 400 calls, 133200 bytes, none stays
 *   last_words: malloc(17) in the destructor, freed by main after the join, but for those of the last
 *               round: 400 calls, 6800 bytes; 136 bytes in 8 blocks stay */
#include "target.h"

#include <pthread.h>

enum { ROUNDS = 50, WIDTH = 8 };

static pthread_key_t key;
static void *left[WIDTH], *words[WIDTH];

struct specific {
	void *block;
	int column;
};
static __thread struct specific own;

NOINLINE static void *last_words(void)
{
	return keep(malloc(17));
}

static void destroy(void *value)
{
	struct specific *specific = value;
	free(specific->block);
	words[specific->column] = last_words();
}

NOINLINE static void specific(int column)
{
	own.block = keep(malloc(333));
	own.column = column;
	pthread_setspecific(key, &own);
}

NOINLINE static void *body(void)
{
	return keep(malloc(100));
}

static void *thread(void *argument)
{
	int column = (int)(size_t)argument;
	void *blocks[10];
	specific(column);
	for (int i = 0; i < 10; i++)
		blocks[i] = body();
	free(left[column]);
	for (int i = 0; i < 9; i++)
		free(blocks[i]);
	left[column] = blocks[9];
	return NULL;
}

int main(void)
{
	pthread_t threads[WIDTH];
	pthread_key_create(&key, destroy);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < WIDTH; i++)
			pthread_create(&threads[i], NULL, thread, (void *)i);
		for (int i = 0; i < WIDTH; i++) {
			pthread_join(threads[i], NULL);
			if (round + 1 < ROUNDS)
				free(words[i]);
		}
	}
	return 0;
}
