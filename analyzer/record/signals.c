/* Signals by signalfd. */
#include "record/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

int hs_signals_take(struct hs_signals *signals)
{
	sigset_t mask;
	struct sigaction ignore = {.sa_handler = SIG_IGN}, plain = {.sa_handler = SIG_DFL};
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (unsigned i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
		sigaddset(&mask, forwarded[i]);
	pthread_sigmask(SIG_BLOCK, &mask, &signals->old_mask);
	/* Full disks and closed pipes are errors of a write. A SIGCHLD that is ignored would cost us the exit
	 * status. */
	sigaction(SIGPIPE, &ignore, &signals->old_pipe);
	sigaction(SIGXFSZ, &ignore, &signals->old_size);
	sigaction(SIGCHLD, &plain, &signals->old_child);
	signals->descriptor = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->descriptor >= 0)
		return 0;
	hs_signals_give_back(signals);
	return -1;
}

void hs_signals_give_back(const struct hs_signals *signals)
{
	sigaction(SIGPIPE, &signals->old_pipe, NULL);
	sigaction(SIGXFSZ, &signals->old_size, NULL);
	sigaction(SIGCHLD, &signals->old_child, NULL);
	pthread_sigmask(SIG_SETMASK, &signals->old_mask, NULL);
}

struct hs_signals_news hs_signals_read(const struct hs_signals *signals, pid_t target)
{
	struct hs_signals_news news = {0};
	struct signalfd_siginfo info;
	while (read(signals->descriptor, &info, sizeof info) == sizeof info) {
		int number = (int)info.ssi_signo;
		if (number == SIGCHLD) {
			news.child = true;
			continue;
		}
		news.stop |= number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
		/* Codes above zero are the kernel's, the terminal's among them: it tells the whole group. */
		if (target && info.ssi_code <= 0 && (pid_t)info.ssi_pid != target)
			kill(target, number);
	}
	return news;
}
