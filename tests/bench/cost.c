/* SPDX-License-Identifier: MIT */
/*
 * What a command costs: the processor time of it and of all that it waited for, and the largest
 * resident set among them.
 *
 *   cost LABEL COMMAND [ARG...]
 *
 * Prints "LABEL cpu NANOSECONDS" (instructions in the deterministic mode of tests/vm) and
 * "LABEL rss KIB" to standard output; the command's own output goes to standard error.
 * Exits as the command does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long long ns(struct timeval t)
{
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_usec * 1000;
}

int main(int argc, char **argv)
{
	struct rusage use;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: cost LABEL COMMAND [ARG...]\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		dup2(2, 1);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "cost: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || getrusage(RUSAGE_CHILDREN, &use) < 0) {
		fprintf(stderr, "cost: %s\n", strerror(errno));
		return 1;
	}
	printf("%s cpu %llu\n", argv[1], ns(use.ru_utime) + ns(use.ru_stime));
	printf("%s user %llu\n", argv[1], ns(use.ru_utime));
	printf("%s rss %ld\n", argv[1], use.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
