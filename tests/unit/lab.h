/* SPDX-License-Identifier: MIT */
/* A directory of a test's own, and what stock tools make of it. Include it after cmocka.h. */
#ifndef WEIR_TESTS_LAB_H
#define WEIR_TESTS_LAB_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/fsio.h"

static char dir[] = "/tmp/weir-unit.XXXXXX"; /* for mkdtemp */

/* Runs a shell line there; returns its exit status. */
static inline int sh(const char *line)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (chdir(dir) < 0)
			_exit(99);
		setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
		setenv("HOME", dir, 1);
		execl("/bin/sh", "sh", "-ec", line, (char *)NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static inline void slurp(const char *name, struct buf *b)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(fsio_read_file(fd, name, 1 << 20, b, NULL), 0);
	close(fd);
}

static inline void spit(const char *name, const void *data, size_t len)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(fsio_replace(fd, name, data, len, 0600, NULL), 0);
	close(fd);
}

static inline int lab_remove(void)
{
	return fsio_remove_tree(AT_FDCWD, dir, NULL);
}

#endif
