/* SPDX-License-Identifier: MIT */
/*
 * Policy lines that would permit what was seen.
 */
#ifndef WEIR_POLICY_SUGGEST_H
#define WEIR_POLICY_SUGGEST_H

#include "user/policy/path.h"

struct policy_want {
	const char *path; /* real, absolute; bytes as they are */
	uint32_t rights;  /* WEIR_RIGHT_* that were missing */
};

/* Appends a `files:` list, and `credentials` hints as comments, in the order of paths.
 * Grouping: everything below the workspace or TMPDIR is one rule each; new and removed
 * names ask for their directory; several files of one directory are its rule; programs of
 * the system are /usr and the like. Never proposes a grant that policy_compile calls
 * broad, nor one of a directory that holds the workspace: there each path stands alone, with
 * a remark that it must exist first. The workspace's own line never goes into another's.
 * Control names stand alone. Names that YAML can't hold stand as a comment.
 * Appends nothing if count is 0. Borrows: wants, env. Returns: as buf_add. */
int policy_suggest(const struct policy_want *wants, size_t count, const struct policy_env *env,
		   struct buf *b);

#endif
