/* SPDX-License-Identifier: MIT */
/*
 * What a path names on this host: realpath(3) that also tells which links it followed
 * and where it stopped existing.
 */
#ifndef WEIR_POLICY_RESOLVE_H
#define WEIR_POLICY_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "user/base/err.h"

struct policy_link {
	char *dir; /* real path */
	char *name;
};

struct policy_resolved {
	char *real;	/* real path; of the nearest existing directory if absent is set */
	char *absent;	/* first component that does not exist, NULL if all do */
	struct stat st; /* of real */
	struct policy_link *links;
	size_t link_count;
};

/* Follows path, which must be absolute and normal. Gives: ret_resolved for
 * policy_resolved_done, on success only. Borrows: path.
 * Returns: 0 also when it does not exist; -ENOTDIR (a file in the middle), -ELOOP,
 * -ENAMETOOLONG, -EACCES ..., with e set to the text without position. */
int policy_resolve(const char *path, struct policy_resolved *ret_resolved, struct weir_err *e);

/* Releases what policy_resolve gave. Owns: r's members. */
void policy_resolved_done(struct policy_resolved *r);
#define cleanup_policy_resolved __attribute__((cleanup(policy_resolved_done)))

#endif
