/* Shows a text: on a terminal through the user's pager. */
#include "cli/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *choose_pager(void)
{
	const char *pager = getenv("PAGER"), *kind = getenv("TERM");
	if (!isatty(STDOUT_FILENO) || !kind || !*kind || strcmp(kind, "dumb") == 0)
		return NULL;
	if (pager == NULL)
		return "less";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* In the child: becomes the pager, which reads the pipe. */
static void run_pager(const char *pager, const int ends[2])
{
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
	signal(SIGPIPE, SIG_DFL);
	setenv("LESS", "FRX", 0); /* leave at the end of a short text, colours as they are, keep the screen */
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

static void feed(int fd, const struct hs_text *text)
{
	size_t at = 0;
	while (at < text->count) {
		ssize_t written = write(fd, text->bytes + at, text->count - at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* the user has seen enough */
		at += (size_t)written;
	}
}

/* Returns whether the pager ran. */
static bool show_in_pager(const char *pager, const struct hs_text *text)
{
	int ends[2], status = 0;
	if (pipe(ends) != 0)
		return false;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		run_pager(pager, ends);
	close(ends[0]);
	if (child > 0) {
		/* the pager handles the keyboard's signals; we wait for it, lest the shell takes the terminal
		 */
		struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, broken;
		sigaction(SIGINT, &ignore, &interrupt);
		sigaction(SIGPIPE, &ignore, &broken);
		feed(ends[1], text);
		close(ends[1]);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGPIPE, &broken, NULL);
	} else {
		close(ends[1]);
	}
	/* the shell says 127 when it finds no such program */
	return child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

int hs_page(struct hs_text *text, bool wanted, enum hs_colour colour)
{
	const char *pager = wanted ? choose_pager() : NULL;
	if (!hs_terminal_colour(STDOUT_FILENO, colour))
		hs_text_strip_colour(text);
	if (pager && text->count && show_in_pager(pager, text))
		return 0;
	return hs_write_out(text, stdout);
}
