/* SPDX-License-Identifier: MIT */
/*
 * Who can write to the files of a tree without opening them: descriptors that are open for
 * writing, and shared mappings of such. The kernel's own counters say whether there is one;
 * /proc only names the holder.
 */
#ifndef WEIR_CLI_WRITERS_H
#define WEIR_CLI_WRITERS_H

#include <stddef.h>

#include "user/kern/kern.h"

/* Who holds a file, in words, with the program escaped. */
#define WRITERS_TEXT 512

/* Each file of a tree: path below its root, its descriptor (O_PATH), what the kernel knows of it.
 * Returns: 0 or a negative errno, which ends the walk. Borrows: all. */
typedef int writers_fn(void *arg, const char *path, int fd, const struct weir_bind *look);

struct writers_ask {
	int root_fd;
	unsigned int patience_ms; /* a writer may go away within, for the whole tree */
	writers_fn *each;	  /* for every regular file, before the patience; or NULL */
	writers_fn *held;	  /* for each that is held after it */
	void *arg;
};

/* Returns: files that are held, or a negative errno. Borrows: k, ask. */
int writers_find(struct kern *k, const struct writers_ask *ask, struct weir_err *e);

/* Names who holds the file behind fd, as far as /proc tells. Returns: 0 or a negative errno.
 * Borrows: fd. */
int writers_name(int fd, char ret_text[WRITERS_TEXT]);

#endif
