/* A program forks 20 times while three threads are inside malloc and free all the time; each child
 * allocates and leaves by _exit. No child may hang, none may write into its parent's recording.
 *
 *   parent_kept: 20 x malloc(300) = 6000 bytes in 20 blocks, kept, in the parent
 *   child_kept:  50 x malloc(70) = 3500 bytes in 50 blocks, kept, in each child */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop;

static void *churn(void *unused)
{
	while (!stop) {
		void *small = keep(malloc(64)), *large = keep(malloc(3000));
		free(small);
		free(large);
	}
	return unused;
}

NOINLINE static void parent_kept(void)
{
	keep(malloc(300));
}

NOINLINE static void child_kept(void)
{
	for (int i = 0; i < 50; i++)
		keep(malloc(70));
}

int main(void)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 20; i++) {
		parent_kept();
		pid_t child = fork();
		if (child == 0) {
			child_kept();
			_exit(i);
		}
		int status;
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != i)
			return 1;
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
