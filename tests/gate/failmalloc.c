/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: of each process, the allocation with number FAIL_AT fails, and with FAIL_ON all that
 * follow do too. A process that ends appends how many it made, counted from its parent's, to
 * FAIL_COUNT.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long made, fail_at, fail_on;
static char count_file[4096];

/* Returns: the number in an environment variable, 0 without. */
static unsigned long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

/* Before main, which clears the environment. */
static __attribute__((constructor)) void start(void)
{
	const char *path = getenv("FAIL_COUNT");

	snprintf(count_file, sizeof(count_file), "%s", path ? path : "");
	made = 0;
	fail_on = number("FAIL_ON");
	fail_at = number("FAIL_AT");
}

static bool fails(void)
{
	made++;
	if (fail_at == 0 || (fail_on ? made < fail_at : made != fail_at))
		return false;
	errno = ENOMEM;
	return true;
}

static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		*(void **)&next = next_of("malloc");
	return fails() ? NULL : next(size);
}

void *realloc(void *old, size_t size)
{
	static void *(*next)(void *, size_t);

	if (!next)
		*(void **)&next = next_of("realloc");
	return fails() ? NULL : next(old, size);
}

/* dlsym may call it while it looks for the next one. */
void *calloc(size_t count, size_t size)
{
	static char room[4096];
	static size_t used;
	static bool looking;
	static void *(*next)(size_t, size_t);

	if (!next && looking) {
		void *out = room + used;

		used += (count * size + 15) & ~(size_t)15;
		return used <= sizeof(room) ? out : NULL;
	}
	if (!next) {
		looking = true;
		*(void **)&next = next_of("calloc");
		looking = false;
	}
	return fails() ? NULL : next(count, size);
}

/* The program ends its children by _exit. */
void _exit(int status)
{
	int fd = count_file[0] ? open(count_file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	char text[32];

	if (fd >= 0) {
		snprintf(text, sizeof(text), "%lu\n", made);
		if (write(fd, text, strlen(text)) < 0)
			status = 99;
		close(fd);
	}
	_Exit(status);
}
