/* SPDX-License-Identifier: MIT */
/*
 * Differences between two states of a tree. Both sides are read as streams in the same
 * order, so that memory holds the differences only.
 */
#ifndef WEIR_TREE_COMPARE_H
#define WEIR_TREE_COMPARE_H

#include "user/tree/manifest.h"

enum tree_change_kind {
	TREE_ADDED,
	TREE_REMOVED,
	TREE_CHANGED,
};

/* tree_change.what, for TREE_CHANGED */
#define TREE_CHANGED_TYPE (1u << 0)
#define TREE_CHANGED_MODE (1u << 1)    /* permission bits */
#define TREE_CHANGED_CONTENT (1u << 2) /* bytes, link target, device number */
#define TREE_CHANGED_STAT (1u << 3)    /* other inode or times: touched or replaced */

struct tree_side {
	uint32_t mode; /* 0: the path is not there */
	uint64_t size;
	uint64_t ino;
	int64_t ctime_ns;
	int64_t mtime_ns;
	unsigned char sha256[DIGEST_SIZE];
};

struct tree_change {
	enum tree_change_kind kind;
	uint32_t what;
	char *path;
	size_t path_len;
	struct tree_side before;
	struct tree_side after;
};

struct tree_changes {
	struct tree_change *items; /* in the order of paths */
	size_t count;
	uint64_t hashed_files; /* tree_compare_tree: how many files were read */
	uint64_t hashed_bytes;
};

/* How a tree is compared with its manifest. X(ID, name) */
#define TREE_STRENGTHS(X) \
	X(FULL, "full")	  /* read every file */ \
	X(STAT, "stat")	  /* read what has other stat data than the manifest, or is racy */ \
	X(TRACE, "trace") /* only what a trace says; not for tree_compare_tree */

enum tree_strength {
#define WEIR_X(id, name) TREE_STRENGTH_##id,
	TREE_STRENGTHS(WEIR_X)
#undef WEIR_X
	TREE_STRENGTH_COUNT,
};

/* Returns: the name of a strength, static; the strength of a name, TREE_STRENGTH_COUNT for none. */
const char *tree_strength_name(enum tree_strength strength);
enum tree_strength tree_strength_find(const char *name);

/* Compares two manifests. what_mask: which kinds of change count for paths on both sides
 * (0: type, mode and content). Both readers must be fresh; they are read to their ends.
 * Gives: ret_changes for tree_changes_done. Borrows: readers.
 * Returns: 0, also if they differ; -EBADMSG, -ENOMEM, or the errno of reading. */
int tree_compare_manifests(struct manifest_reader *before, struct manifest_reader *after,
			   uint32_t what_mask, struct tree_changes *ret_changes,
			   struct weir_err *e);
/* The same of two manifests that are in memory already, each read and checked once.
 * Gives: ret_changes for tree_changes_done. Borrows: tables. Returns: 0 or -ENOMEM. */
int tree_compare_tables(const struct manifest *before, const struct manifest *after,
			uint32_t what_mask, struct tree_changes *ret_changes, struct weir_err *e);

/* Compares a manifest with the tree as it is. skip as in tree_walk_new. `after` is the tree; a
 * file that strength `stat` did not read carries the manifest's hash.
 * Gives: ret_changes for tree_changes_done. Borrows: all. Returns: as above, or as
 * tree_walk_next. */
int tree_compare_tree(struct manifest_reader *manifest, int root_fd, const char *skip,
		      enum tree_strength strength, uint32_t what_mask,
		      struct tree_changes *ret_changes, struct weir_err *e);

/* Releases the list. Owns: c's members. */
void tree_changes_done(struct tree_changes *c);
#define cleanup_tree_changes __attribute__((cleanup(tree_changes_done)))

#endif
