/* SPDX-License-Identifier: MIT */
/*
 * The mounts of the host at the start of a run: where (device, path inside its file
 * system) can be reached. Read from /proc/self/mountinfo (format: proc(5); names are
 * octal-escaped and chosen by whoever mounts, so the text is hostile) or from the START
 * record of a trace.
 *
 * Only mounts that a path can reach are kept: one that lies below a later mount, or under
 * one at the same point, is dropped when the text is parsed. Of the mounts left a path
 * belongs to the one with the longest point that is a prefix of it.
 *
 * Devices are in the kernel's encoding, as in records: major << 20 | minor.
 */
#ifndef WEIR_EVENT_MOUNTS_H
#define WEIR_EVENT_MOUNTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/event/event.h"

/* More are refused: the kernel's default for fs.mount-max. */
#define MOUNTS_MAX 100000

/* Units: bytes. Enough for a mount point, a path of a record, and "MAJ:MIN:". */
#define MOUNTS_PATH_SIZE (4096 + EVENT_PATH_SIZE + 32)

struct mounts;

/* Returns: an empty table for mounts_free, NULL when out of memory. */
struct mounts *mounts_new(void);
void mounts_free(struct mounts *m);
static inline void cleanup_mounts_fn(struct mounts **m)
{
	mounts_free(*m);
}
#define cleanup_mounts __attribute__((__cleanup__(cleanup_mounts_fn)))

/* Parses the whole text of a mountinfo file (user/event/mountinfo.c). Returns: 0, -EINVAL with the line number,
 * -E2BIG, -ENOMEM. Borrows: text. Gives: *ret_mounts. */
int mounts_parse(const char *text, size_t len, struct mounts **ret_mounts, struct weir_err *e);

/* Adds one reachable mount, later than all before it: it hides one at the same point.
 * Returns: 0, -EINVAL (point is not absolute), -E2BIG, -ENOMEM. Borrows: root, point. */
int mounts_add(struct mounts *m, uint32_t dev, const char *root, const char *point);

/* Where a path inside a file system lies on the host. Of the mounts of dev whose root is a
 * prefix of path: longest root first, then the latest, the first through which the path is
 * visible. If there is none, or path is not complete (does not start with '/', see
 * event_path): "MAJ:MIN:" and path. Not escaped. m may be NULL.
 * Returns: length, or -ENAMETOOLONG (never with MOUNTS_PATH_SIZE). Borrows: all. */
int mounts_resolve(const struct mounts *m, uint32_t dev, const char *path, char *out, size_t size);

/* The way back: which file system and which path in it an absolute host path without
 * "..", "." and symlinks has. Returns: length, -ENOENT, -ENAMETOOLONG. Borrows: all. */
int mounts_locate(const struct mounts *m, const char *host, uint32_t *ret_dev, char *out,
		  size_t size);

/* Returns: number of reachable mounts. Borrows: m. */
size_t mounts_count(const struct mounts *m);

/* START form: [{"dev": "8:1", "root": "/", "point": "/"}], names escaped (user/base/escape.h).
 * Returns: a new reference, NULL when out of memory. Borrows: m. */
json_t *mounts_to_json(const struct mounts *m);
/* Returns: 0, -EINVAL, -E2BIG, -ENOMEM. Borrows: json. Gives: *ret_mounts. */
int mounts_from_json(const json_t *json, struct mounts **ret_mounts, struct weir_err *e);

/* Reads "MAJ:MIN" as in mountinfo. Returns: 0 or -EINVAL. Borrows: text. */
int mounts_dev_parse(const char *text, uint32_t *ret_dev);

#define MOUNTS_DEV_SIZE 24
/* Writes "MAJ:MIN". Returns: out. Borrows: out. */
const char *mounts_dev_text(uint32_t dev, char out[MOUNTS_DEV_SIZE]);

#endif
