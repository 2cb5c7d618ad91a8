/* SPDX-License-Identifier: MIT */
/*
 * A walk over a tree in the order of manifests, by descriptors alone: no link is
 * followed, no mount is crossed, nothing but regular files and directories is opened. A
 * tree may be deeper than PATH_MAX; one directory is open at a time, and the way back up is
 * checked by device and inode. What changes while it is read is an error, never a guess.
 * After an error a walk can only be freed.
 */
#ifndef WEIR_TREE_WALK_H
#define WEIR_TREE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/digest.h"
#include "user/base/err.h"

/* Bytes of a path below the root. 128 levels (WEIR_DEPTH_MAX) of 255 bytes fit twice. */
#define TREE_PATH_MAX 65535

/* Entries of a tree; 1 M take about 200 MB as a table. */
#define TREE_ENTRIES_MAX 50000000ull

struct tree_entry {
	const char *path; /* below the root, "" for the root itself; NUL-terminated */
	size_t path_len;
	uint32_t mode; /* type and permissions as in st_mode */
	uint64_t size; /* bytes of a file or a link's target, device number, else 0 */
	uint64_t ino;
	int64_t ctime_ns;
	int64_t mtime_ns;
	bool hashed;
	unsigned char sha256[DIGEST_SIZE]; /* content, or a link's target; else zeros */
};

/* Order of entries: by components, each by bytes. Borrows: both. Returns: <0, 0, >0. */
int tree_path_compare(const char *a, size_t a_len, const char *b, size_t b_len);

struct tree_walk;

/* Starts a walk at an open directory. skip (may be NULL) is a name directly below the root
 * that is left out with all below it. Gives: a walk for tree_walk_free. Borrows: root_fd
 * (must stay open), skip. Returns: 0, -ENOTDIR, -ENOMEM. */
int tree_walk_new(int root_fd, const char *skip, struct tree_walk **ret_walk, struct weir_err *e);
void tree_walk_free(struct tree_walk *w);
static inline void cleanup_tree_walk_fn(struct tree_walk **w)
{
	tree_walk_free(*w);
}
#define cleanup_tree_walk __attribute__((cleanup(cleanup_tree_walk_fn)))

/* Next entry, the root first; not hashed, but for links. Gives: ret_entry, borrowed from w until
 * the next call. Returns: 1, 0 at the end, -EXDEV at a mount point, -ENAMETOOLONG, -E2BIG,
 * -ESTALE if the tree changed below the walk, or another errno. */
int tree_walk_next(struct tree_walk *w, struct tree_entry *ret_entry, struct weir_err *e);

/* Hashes the content of the entry that tree_walk_next gave last; does nothing for what has
 * no content. The file's stat data must be the same before and after.
 * Returns: 0, -ESTALE if it changed meanwhile, or another errno. */
int tree_walk_hash(struct tree_walk *w, struct tree_entry *entry, struct weir_err *e);

#endif
