/* SPDX-License-Identifier: MIT */
/*
 * Loads for the collector.
 *
 *   load forks N        N children, one after the other
 *   load files N DIR    N files of about 3,000 bytes in directories of 500
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIR_FILES 500

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_forks(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid == 0)
			_exit(0);
		must(waitpid(pid, NULL, 0) == pid, "waitpid");
	}
}

/* Text that compresses about as well as a program does, another for each file. */
static size_t make_text(char *text, size_t size, unsigned int number)
{
	size_t used = 0;

	for (unsigned int line = 0; used + 64 < size; line++)
		used += (size_t)sprintf(text + used, "%u: static int f%u(int x) { return %u; }\n",
					number, line, number * 2654435761u + line * 40503u);
	return used;
}

static void make_files(int count, const char *dir)
{
	char path[512], text[3200];

	for (int i = 0; i < count; i++) {
		size_t len = make_text(text, sizeof(text) - (size_t)(i % 400), (unsigned int)i);
		int fd;

		snprintf(path, sizeof(path), "%s/d%d", dir, i / DIR_FILES);
		if (i % DIR_FILES == 0)
			must(mkdir(path, 0755) == 0 || errno == EEXIST, path);
		snprintf(path, sizeof(path), "%s/d%d/f%d.c", dir, i / DIR_FILES, i);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		must(fd >= 0, path);
		must(write(fd, text, len) == (ssize_t)len, path);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (argc == 3 && strcmp(argv[1], "forks") == 0) {
		make_forks(count);
	} else if (argc == 4 && strcmp(argv[1], "files") == 0) {
		make_files(count, argv[3]);
	} else {
		fprintf(stderr, "usage: load forks N | load files N DIR\n");
		return 2;
	}
	return 0;
}
