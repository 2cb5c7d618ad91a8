/* SPDX-License-Identifier: MIT */
/*
 * Ownership by scope. A variable marked `cleanup_free`, `cleanup_close` ... releases
 * what it holds when it goes out of scope; TAKE hands it over instead.
 */
#ifndef WEIR_BASE_CLEANUP_H
#define WEIR_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_fn(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_fn(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_fn(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir_fn(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define cleanup_with(fn) __attribute__((__cleanup__(fn)))
#define cleanup_free cleanup_with(cleanup_free_fn)
#define cleanup_close cleanup_with(cleanup_close_fn)
#define cleanup_fclose cleanup_with(cleanup_fclose_fn)
#define cleanup_closedir cleanup_with(cleanup_closedir_fn)

#define TAKE_PTR(p) \
	({ \
		__typeof__(p) take_ = (p); \
		(p) = NULL; \
		take_; \
	})
#define TAKE_FD(fd) \
	({ \
		int take_ = (fd); \
		(fd) = -1; \
		take_; \
	})
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
