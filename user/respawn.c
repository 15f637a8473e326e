// SPDX-License-Identifier: GPL-2.0-only
/* This program once more, as a process that may hang or die. */
#include "respawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Descriptors up to here are closed one by one where close_range() is not to be had. */
#define CLOSE_MAX	1024

/* All that could steer or slow CUDA, and what could preload other code into the child. Kept: LD_LIBRARY_PATH. */
static bool env_is_dropped(const char *entry)
{
	static const char * const prefix[] = { "CUDA_", "LD_PRELOAD=", "LD_AUDIT=" };

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (!strncmp(entry, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

/* Pointers into the caller's environment; the array is the caller's to free. */
static char **env_make(void)
{
	/* No writes under anybody's home; compiling two small files is cheap. */
	static char no_cache[] = "CUDA_CACHE_DISABLE=1";
	size_t nr = 0, kept = 0;
	char **env;

	while (environ && environ[nr])
		nr++;
	env = calloc(nr + 2, sizeof(*env));
	if (!env)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (!env_is_dropped(environ[i]))
			env[kept++] = environ[i];
	env[kept] = no_cache;
	return env;
}

/*
 * Between fork() and execve() in a program that may have threads: system calls only. The child must hold nothing of
 * ours: an unkillable one with our stdout would keep a reader of that pipe waiting (facts: run with a frozen file
 * system).
 */
static void exec_self(char *command, int page_fd, int kick_fd, pid_t parent, char **env)
{
	char * const argv[] = { "softtape", command, NULL };
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t none;
	int null_fd;

	/* Above every number that is about to be overwritten. */
	null_fd = open("/dev/null", O_RDWR);
	null_fd = fcntl(null_fd, F_DUPFD, RESPAWN_KICK_FD + 1);
	page_fd = fcntl(page_fd, F_DUPFD, RESPAWN_KICK_FD + 1);
	kick_fd = fcntl(kick_fd < 0 ? null_fd : kick_fd, F_DUPFD, RESPAWN_KICK_FD + 1);
	if (dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(null_fd, 2) < 0 || dup2(page_fd, RESPAWN_PAGE_FD) < 0 ||
	    dup2(kick_fd, RESPAWN_KICK_FD) < 0)
		_exit(126);
	if (syscall(SYS_close_range, RESPAWN_KICK_FD + 1, ~0U, 0))
		for (int fd = RESPAWN_KICK_FD + 1; fd < CLOSE_MAX; fd++)
			close(fd);

	/* Ctrl-C in a terminal is for the parent, which then stops the child in order. */
	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &by_default, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(126);

	execve("/proc/self/exe", argv, env);
	_exit(127);
}

/**
 * respawn_start - start this program again
 * @command:	its only word
 * @page_fd:	memory to share
 * @kick_fd:	eventfd that the process may write to; -1 = none
 * @ret:	filled, also on failure
 *
 * Return: 0 or a negative errno.
 */
int respawn_start(const char *command, int page_fd, int kick_fd, struct respawn *ret)
{
	char word[32];
	pid_t parent = getpid();
	char **env = env_make();

	*ret = (struct respawn){ .pidfd = -1 };
	if (!env)
		return -ENOMEM;
	snprintf(word, sizeof(word), "%s", command);
	ret->pid = fork();
	if (!ret->pid)
		exec_self(word, page_fd, kick_fd, parent, env);
	free(env);
	if (ret->pid < 0) {
		ret->pid = 0;
		return -errno;
	}

	ret->pidfd = (int)syscall(SYS_pidfd_open, ret->pid, 0);
	return ret->pidfd < 0 ? -errno : 0;
}

/* Whether the process has ended within @ms. */
bool respawn_has_ended(const struct respawn *spawn, unsigned int ms)
{
	struct pollfd pfd = { .fd = spawn->pidfd, .events = POLLIN };
	struct timespec now;
	long long end_ms, now_ms;
	int left = (int)ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000 + ms;
	while (poll(&pfd, 1, left) < 0 && errno == EINTR) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
		left = end_ms > now_ms ? (int)(end_ms - now_ms) : 0;
	}
	return pfd.revents & POLLIN;
}

void respawn_signal(const struct respawn *spawn, int sig)
{
	syscall(SYS_pidfd_send_signal, spawn->pidfd, sig, NULL, 0);
}

/* Takes the entry of an ended process out of the table; one that lives on is left behind. */
void respawn_close(struct respawn *spawn)
{
	if (spawn->pid)
		waitpid(spawn->pid, NULL, WNOHANG);
	if (spawn->pidfd >= 0)
		close(spawn->pidfd);
	*spawn = (struct respawn){ .pidfd = -1 };
}
