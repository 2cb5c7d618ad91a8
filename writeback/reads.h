/* SPDX-License-Identifier: MIT */
/*
 * What a run read, as far as its trace says: programs that were executed and files that were
 * opened for reading (this collector records allowed reads only where a file is opened for
 * writing as well). Attested as a blob of its own, bound by its SHA-256.
 *
 * Text, version 1: "weir-reads/1", then lines, by HOW and PATH, each once:
 *
 *   HOW SHA256 USE DEV INO PATH
 *
 *   HOW     at-open   SHA256 was taken when the file was opened (no collector does so yet)
 *           after     SHA256 was taken after the run, of a file that the run left as it was:
 *                     same inode, size, times and content in both manifests, and no traced
 *                     writer; so these are the bytes that were read
 *           unhashed  SHA256 is "-": outside the workspace, or changed by the run
 *   USE     exec or read
 *   DEV     MAJ:MIN of the file system, INO its inode number
 *   PATH    below the workspace ("src/a.c") for what is in it, else inside its own file system
 *           ("/usr/bin/cc"); escaped by user/base/escape.h. Paths that the kernel could not
 *           give whole start with "..." or without "/"
 *   "truncated" as the last line: there was more than READS_MAX
 */
#ifndef WEIR_WRITEBACK_READS_H
#define WEIR_WRITEBACK_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/event/event.h"
#include "user/event/mutation.h"
#include "user/tree/manifest.h"

#define READS_HEAD "weir-reads/1"
#define READS_MAX 500000u

/* X(ID, name) */
#define READS_HOWS(X) X(AT_OPEN, "at-open") X(AFTER, "after") X(UNHASHED, "unhashed")

enum reads_how {
#define WEIR_X(id, name) READS_##id,
	READS_HOWS(WEIR_X)
#undef WEIR_X
	READS_HOW_COUNT,
};

struct reads {
	struct read_item *items;
	size_t count;
	size_t room;
	uint32_t dev;  /* of the workspace, kernel encoding */
	char *root;    /* of the workspace inside its file system */
	bool overflow; /* more than READS_MAX, or out of memory */
};

void reads_done(struct reads *r);

/* Says where the workspace is. Returns: 0 or -ENOMEM. Borrows: root. */
int reads_start(struct reads *r, uint32_t dev, const char *root);

/* Takes any event; only reads and executions by members that passed count. Borrows: e. */
void reads_add(struct reads *r, const struct event *e);

/* Whether the run is known to have read or executed a path below the workspace.
 * Returns: truth. Borrows: all. */
bool reads_have(struct reads *r, const char *path);

/* Appends the text, and counts its lines by kind. Manifests and mutations may be NULL.
 * Returns: 0 or -ENOMEM. Borrows: all. */
int reads_format(struct reads *r, const struct manifest *before, const struct manifest *after,
		 const struct mutations *m, struct buf *ret_text,
		 uint64_t ret_counts[READS_HOW_COUNT]);

#endif
