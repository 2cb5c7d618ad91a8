/* SPDX-License-Identifier: MIT */
/*
 * A write stop on a tree that this process holds: nobody changes it until seal_end, or until the
 * process is gone. Files with names elsewhere are stopped by all of their names.
 */
#ifndef WEIR_CLI_SEAL_H
#define WEIR_CLI_SEAL_H

#include "user/kern/kern.h"

struct seal {
	struct kern *kern;
	struct kern_slot slot;
	int fd; /* of the tree's root */
};

/* What seal_end takes when seal_begin was not called. */
#define SEAL_NONE ((struct seal){ .fd = -1, .slot.ring_fd = -1 })

/* Name of the file system at fd if others can change it without this kernel taking part (network,
 * FUSE), so that no seal holds there; NULL if not. Borrows: fd. */
const char *seal_foreign_type(int fd);

/* Seals the tree below path, which is no link. Gives: *s for seal_end, also when it fails.
 * Returns: 0; -EBUSY while somebody else seals it; or a negative errno. Borrows: path. */
int seal_begin(const char *path, enum kern_source source, struct seal *s, struct weir_err *e);

/* Looks at each file for somebody who can write to it without opening it, waits patience_ms in
 * all, and prints a line on standard error for each of the first few that is left.
 * Returns: files that can be written to, or a negative errno. Borrows: s, path. */
int seal_writers(struct seal *s, const char *path, unsigned int patience_ms, struct weir_err *e);

/* Attempts to change the tree that were denied so far. Borrows: s. */
unsigned long long seal_denied(const struct seal *s);

/* Lifts the seal; nothing if there is none. Owns: what s holds. */
void seal_end(struct seal *s);

#endif
