/* SPDX-License-Identifier: MIT */
/*
 * The .git of a fresh workspace, with stock formats: HEAD, config, one branch, one pack,
 * shallow, and an index (gitformat-index(5), version 2) with the files' stat data, so that
 * `git status` is clean without reading a file.
 *
 * Index: "DIRC", u32 2, u32 count; entries: ctime s, ns, mtime s, ns, dev, ino, mode, uid, gid,
 * size (u32 each, cut), 20 id, u16 length of the path (at most 0xfff), path, 1 to 8 NUL to a
 * multiple of 8; SHA-1 of all before.
 */
#ifndef WEIR_WRITEBACK_GITDIR_H
#define WEIR_WRITEBACK_GITDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "user/base/buf.h"
#include "user/base/err.h"

#define GITDIR_ID 20

struct gitdir_index {
	struct buf entries;
	uint32_t count;
};

/* Adds a file; they come in the order of their paths' bytes. Returns: as buf_add.
 * Borrows: all. */
int gitdir_index_add(struct gitdir_index *index, const char *path, uint32_t git_mode,
		     const struct stat *st, const unsigned char id[GITDIR_ID]);

struct gitdir {
	const char *ref;    /* refs/heads/... */
	const char *commit; /* hex */
	const unsigned char *pack_name;
	bool shallow;
	int pack_fd;
	int idx_fd;
};

/* Makes .git beneath a directory. Returns: 0 or a negative errno with e. Borrows: all. */
int gitdir_write(int root, const struct gitdir *g, const struct gitdir_index *index,
		 struct weir_err *e);

#endif
