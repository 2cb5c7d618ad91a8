/* SPDX-License-Identifier: MIT */
/*
 * Hard links in the workspace from before the run. A file with other names is not the
 * run's to change, since they could be anywhere; but where all its names lie in the
 * workspace, at places that the policy lets the run change, the file is the run's own.
 */
#ifndef WEIR_CLI_LINKS_H
#define WEIR_CLI_LINKS_H

#include "user/cli/session.h"

struct links {
	struct weir_bind *items; /* the file, once for each name */
	size_t count, cap;
};

/* Notes one name of a file with several, if the run may change what is there. path: below the
 * workspace. Returns: 0 or -ENOMEM. Borrows: path. */
int links_add(struct links *l, const struct session *s, const char *path,
	      const struct weir_bind *look);

/* Tells the kernel side which files have no other names. Returns: 0 or a negative errno. */
int links_own(struct links *l, struct session *s, struct weir_err *e);

void links_done(struct links *l);
static inline void cleanup_links_fn(struct links *l)
{
	links_done(l);
}
#define cleanup_links __attribute__((cleanup(cleanup_links_fn)))

#endif
