/* SPDX-License-Identifier: MIT */
#include "writeback/lost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"

#define EXECUTABLE 0111u /* what git keeps, as one bit */

/* Directories come right before what is in them. */
static bool is_empty_dir(const struct manifest *m, size_t i)
{
	const struct manifest_row *dir = &m->rows[i], *next = dir + 1;

	return S_ISDIR(dir->mode) &&
	       (i + 1 == m->count || next->path_len <= dir->path_len ||
		memcmp(m->paths + next->path, m->paths + dir->path, dir->path_len) != 0 ||
		m->paths[next->path + dir->path_len] != '/');
}

static bool is_mode_lost(const struct manifest_row *row, const struct manifest_row *old)
{
	uint32_t kept = S_ISREG(row->mode) ? EXECUTABLE : 0;

	if (old && (old->mode & S_IFMT) == (row->mode & S_IFMT))
		return ((row->mode ^ old->mode) & 0777 & ~kept) != 0;
	if (S_ISDIR(row->mode))
		return (row->mode & 0700) != 0700 || (row->mode & 05000) != 0;
	return (row->mode & 0400) == 0;
}

static int add(struct hazards *h, const struct manifest *m, const struct manifest_row *row,
	       const char *detail)
{
	cleanup_free char *path = strndup(m->paths + row->path, row->path_len);

	if (!path)
		return -ENOMEM;
	return hazards_note(h, HAZARD_LOST, path,
			    &(struct hazard_note){ .detail = detail,
						   .subject = detail,
						   .subject_len = strlen(detail) });
}

static int inspect_row(struct hazards *h, const struct manifest *after, size_t i,
		       const struct manifest *before, size_t old)
{
	const struct manifest_row *row = &after->rows[i];
	const struct manifest_row *was = old < before->count ? &before->rows[old] : NULL;
	char detail[48];
	int err = 0;

	if (is_empty_dir(after, i) && !(was && is_empty_dir(before, old)))
		err = add(h, after, row, "empty directory");
	if (err == 0 && is_mode_lost(row, was)) {
		snprintf(detail, sizeof(detail), "mode %04o", (unsigned int)(row->mode & 07777));
		err = add(h, after, row, detail);
	}
	return err;
}

int lost_inspect(struct hazards *h, const struct manifest *before, const struct manifest *after,
		 lost_skip_fn *skip, void *arg)
{
	size_t k = 0;

	for (size_t i = 0; i < after->count; i++) {
		const struct manifest_row *row = &after->rows[i], *was = NULL;
		const char *path = after->paths + row->path;
		int order = -1, err;

		while (k < before->count &&
		       (order = tree_path_compare(before->paths + before->rows[k].path,
						  before->rows[k].path_len, path, row->path_len)) <
			       0)
			k++;
		if (k < before->count && order == 0)
			was = &before->rows[k];
		if ((!S_ISDIR(row->mode) && !S_ISREG(row->mode)) ||
		    (!is_empty_dir(after, i) && !is_mode_lost(row, was)) ||
		    skip(path, row->path_len, arg))
			continue;
		err = inspect_row(h, after, i, before, was ? k : before->count);
		if (err < 0)
			return err;
	}
	return 0;
}
