/* SPDX-License-Identifier: MIT */
/*
 * What inspection finds: id, place, why. Some end the promotion, some are told.
 */
#ifndef WEIR_WRITEBACK_HAZARD_H
#define WEIR_WRITEBACK_HAZARD_H

#include <stdbool.h>
#include <stddef.h>

#include "user/base/err.h"
#include "writeback/reason.h"

/* What a hazard does to a promotion. */
enum hazard_weight {
	HAZARD_REFUSE, /* always */
	HAZARD_STRICT, /* under writeback.strict, else a warning */
};

/* X(ID, name, reason, weight, why) */
#define HAZARD_KINDS(X) \
	X(DOTGIT, "name-dotgit", TREE_UNSAFE, REFUSE, "a name that some systems take for .git") \
	X(NESTED, "nested-repository", TREE_UNSAFE, REFUSE, "a repository inside the workspace") \
	X(CONTROL, "name-control", TREE_UNSAFE, REFUSE, "a name with control characters") \
	X(UTF8, "name-encoding", TREE_UNSAFE, REFUSE, "a name that is no valid UTF-8") \
	X(HIDDEN, "name-hidden", TREE_UNSAFE, REFUSE, \
	  "a name with bidirectional or invisible characters") \
	X(BACKSLASH, "name-backslash", TREE_UNSAFE, REFUSE, \
	  "a name that some systems take for a path") \
	X(STREAM, "name-stream", TREE_UNSAFE, REFUSE, \
	  "a name that Windows takes for a file's stream") \
	X(DEPTH, "path-limit", LIMIT, REFUSE, "a path that is too long or too deep") \
	X(SIZE, "size-limit", LIMIT, REFUSE, "a file that is too large") \
	X(SPECIAL, "special-file", TREE_UNREPRESENTABLE, REFUSE, "a FIFO, socket or device") \
	X(SETID, "setid", TREE_UNREPRESENTABLE, REFUSE, \
	  "a set-user-id, set-group-id or sticky file") \
	X(SUBMODULE, "submodule", TREE_UNSAFE, REFUSE, "a change of a submodule") \
	X(GITLINK, "link-git", TREE_UNSAFE, REFUSE, "a symbolic link into a .git directory") \
	X(METALINK, "link-metadata", TREE_UNSAFE, REFUSE, \
	  "a git control file that is a symbolic link") \
	X(WEIR, "weir-policy", CONTROL_FILE, REFUSE, \
	  "weir's own policy files are never changed by a run") \
	X(FILTER, "attributes-filter", CONTROL_FILE, REFUSE, \
	  "git attributes that make others run programs") \
	X(MODULES, "gitmodules", TREE_UNSAFE, REFUSE, "submodule settings that leave the tree") \
	X(HARDLINK, "hard-link", TREE_UNSAFE, STRICT, \
	  "a file with names outside the workspace; the tree stores it as an ordinary file") \
	X(OUTWARD, "link-outside", TREE_UNSAFE, STRICT, \
	  "a symbolic link that leads out of the tree") \
	X(TWIN, "name-twin", TREE_UNSAFE, STRICT, \
	  "names that are one under case folding or normalisation")

enum hazard_kind {
#define WEIR_X(id, name, reason, weight, why) HAZARD_##id,
	HAZARD_KINDS(WEIR_X)
#undef WEIR_X
	HAZARD_COUNT,
};

struct hazard {
	enum hazard_kind kind;
	char *path; /* raw bytes */
};

struct hazards {
	struct hazard *items;
	size_t count;
};

void hazards_done(struct hazards *h);

/* Adds one. Returns: 0 or -ENOMEM. Borrows: path. */
int hazards_add(struct hazards *h, enum hazard_kind kind, const char *path);

/* Returns: 0 when nothing refuses, else the refusal of the first that does; e names up to
 * three places and how many there are. Borrows: h. */
int hazards_judge(const struct hazards *h, bool strict, struct weir_err *e);

/* Returns: stable name, English text; static. */
const char *hazard_name(enum hazard_kind kind);
const char *hazard_why(enum hazard_kind kind);
bool hazard_refuses(enum hazard_kind kind, bool strict);

#endif
