/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/tree/manifest.h"

struct growing {
	size_t rows;  /* room */
	size_t paths; /* bytes of room */
};

/* Half as much again: a doubling would leave up to half of a large table unused. */
static int make_room(struct manifest *m, struct growing *room, size_t path)
{
	if (m->count == room->rows) {
		size_t more = room->rows + room->rows / 2 + 64;
		struct manifest_row *rows = reallocarray(m->rows, more, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		m->rows = rows;
		room->rows = more;
	}
	if (!m->paths || path > room->paths - m->paths_len) {
		size_t more = room->paths + room->paths / 2 + path + 4096;
		char *paths = realloc(m->paths, more);

		if (!paths)
			return -ENOMEM;
		m->paths = paths;
		room->paths = more;
	}
	return 0;
}

static int add_row(struct manifest *m, struct growing *room, const struct tree_entry *entry)
{
	int err = make_room(m, room, entry->path_len + 1);
	struct manifest_row *row;

	if (err < 0)
		return err;
	row = &m->rows[m->count++];
	*row = (struct manifest_row){
		.path = m->paths_len,
		.path_len = (uint32_t)entry->path_len,
		.mode = entry->mode,
		.size = entry->size,
		.ino = entry->ino,
		.ctime_ns = entry->ctime_ns,
		.mtime_ns = entry->mtime_ns,
	};
	memcpy(row->sha256, entry->sha256, DIGEST_SIZE);
	memcpy(m->paths + m->paths_len, entry->path, entry->path_len);
	m->paths[m->paths_len + entry->path_len] = '\0';
	m->paths_len += entry->path_len + 1;
	return 0;
}

int manifest_load(int fd, const char *name, struct manifest **ret_manifest, struct weir_err *e)
{
	cleanup_manifest_reader struct manifest_reader *r = NULL;
	cleanup_manifest struct manifest *m = calloc(1, sizeof(*m));
	struct growing room = { 0 };
	struct tree_entry entry;
	int err;

	if (!m)
		return err_errno(e, -ENOMEM, "%s", name);
	err = manifest_reader_new(fd, name, &r, e);
	while (err >= 0) {
		err = manifest_reader_next(r, &entry, e);
		if (err == 0)
			break;
		if (err > 0 && add_row(m, &room, &entry) < 0)
			err = err_errno(e, -ENOMEM, "%s", name);
	}
	if (err < 0)
		return err;
	m->taken_ns = manifest_reader_taken_ns(r);
	m->tick_ns = manifest_reader_tick_ns(r);
	manifest_reader_summary(r, &m->summary);
	*ret_manifest = TAKE_PTR(m);
	return 0;
}

void manifest_free(struct manifest *m)
{
	if (!m)
		return;
	free(m->rows);
	free(m->paths);
	free(m);
}

void manifest_get(const struct manifest *m, size_t row, struct tree_entry *ret_entry)
{
	const struct manifest_row *r = &m->rows[row];
	uint32_t type = r->mode & S_IFMT;

	*ret_entry = (struct tree_entry){
		.path = m->paths + r->path,
		.path_len = r->path_len,
		.mode = r->mode,
		.size = r->size,
		.ino = r->ino,
		.ctime_ns = r->ctime_ns,
		.mtime_ns = r->mtime_ns,
		.hashed = type == S_IFREG || type == S_IFLNK,
	};
	memcpy(ret_entry->sha256, r->sha256, DIGEST_SIZE);
}

bool manifest_find(const struct manifest *m, const char *path, size_t len, size_t *ret_row)
{
	size_t lo = 0, hi = m->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct manifest_row *r = &m->rows[mid];
		int order = tree_path_compare(m->paths + r->path, r->path_len, path, len);

		if (order == 0) {
			*ret_row = mid;
			return true;
		}
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}
