/* SPDX-License-Identifier: MIT */
#include "writeback/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "writeback/blob.h"

uint32_t change_git_mode(uint32_t st_mode)
{
	if (S_ISLNK(st_mode))
		return GIT_MODE_LINK;
	if (S_ISREG(st_mode))
		return st_mode & S_IXUSR ? GIT_MODE_EXEC : GIT_MODE_FILE;
	return 0;
}

const char *change_letter(const struct change *c)
{
	if (c->new_mode == 0 && !c->special)
		return "D";
	return c->old_mode == 0 ? "A" : "M";
}

void changes_done(struct changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	free(c->items);
	*c = (struct changes){ 0 };
}

static int push(struct changes *c, const struct change *item)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct change *items = reallocarray(c->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		c->items = items;
		c->cap = cap;
	}
	c->items[c->count++] = *item;
	return 0;
}

int changes_move(struct changes *from, struct changes *to,
		 bool (*pick)(const struct change *c, void *arg), void *arg)
{
	size_t kept = 0, i;
	int err = 0;

	for (i = 0; i < from->count && err == 0; i++) {
		if (pick(&from->items[i], arg))
			err = push(to, &from->items[i]);
		else
			from->items[kept++] = from->items[i];
	}
	if (err < 0)
		i--;
	if (i < from->count)
		memmove(&from->items[kept], &from->items[i],
			(from->count - i) * sizeof(*from->items));
	from->count = kept + (from->count - i);
	return err;
}

/* Mode that git would give today to what the base has: 100664 and the like are 100644. */
static uint32_t plain_mode(uint32_t mode)
{
	if (S_ISREG(mode))
		return mode & S_IXUSR ? GIT_MODE_EXEC : GIT_MODE_FILE;
	return mode;
}

static int blob_equals(const struct repo *r, const git_oid *oid, const struct manifest_row *row,
		       struct weir_err *e)
{
	unsigned char sha256[DIGEST_SIZE];
	git_object_t type;
	size_t size;
	int err;

	if (git_odb_read_header(&size, &type, r->odb, oid) < 0)
		return repo_error(e, "reading a blob of the base");
	if (size != row->size || type != GIT_OBJECT_BLOB)
		return 0;
	err = blob_sha256(r, oid, sha256, e);
	return err < 0 ? err : memcmp(sha256, row->sha256, DIGEST_SIZE) == 0;
}

int base_entry_equals(const struct repo *r, const struct base_entry *b,
		      const struct manifest_row *row, struct weir_err *e)
{
	if (b->mode == GIT_MODE_COMMIT)
		return S_ISDIR(row->mode);
	if (change_git_mode(row->mode) != plain_mode(b->mode))
		return 0;
	return blob_equals(r, &b->oid, row, e);
}

struct find {
	const struct repo *repo;
	const struct manifest *before; /* NULL: it is not asked */
	size_t at;		       /* row of it that was looked at last */
	const struct manifest *after;
	struct changes *out;
	struct weir_err *e;
};

static int add_change(struct find *f, const struct base_entry *b, const struct manifest_row *row)
{
	struct change c = { 0 };
	int err;

	if (b) {
		c.old_mode = b->mode;
		git_oid_cpy(&c.old_oid, &b->oid);
	}
	if (row) {
		c.new_mode = change_git_mode(row->mode);
		c.st_mode = row->mode;
		c.size = row->size;
		c.ino = row->ino;
		c.special = c.new_mode == 0;
		memcpy(c.sha256, row->sha256, DIGEST_SIZE);
	}
	c.len = b ? b->len : row->path_len;
	c.path = strndup(b ? b->path : f->after->paths + row->path, c.len);
	if (!c.path)
		return err_errno(f->e, -ENOMEM, "comparing with the base");
	err = push(f->out, &c);
	if (err < 0) {
		free(c.path);
		return err_errno(f->e, err, "comparing with the base");
	}
	return 0;
}

/* What the run left as it was. Both manifests have the same order. */
static bool is_untouched(struct find *f, const struct manifest_row *row)
{
	const struct manifest *m = f->before;
	const char *path = f->after->paths + row->path;

	for (; m && f->at < m->count; f->at++) {
		const struct manifest_row *old = &m->rows[f->at];
		int order =
			tree_path_compare(m->paths + old->path, old->path_len, path, row->path_len);

		if (order == 0)
			return old->mode == row->mode && old->size == row->size &&
			       memcmp(old->sha256, row->sha256, DIGEST_SIZE) == 0;
		if (order > 0)
			return false;
	}
	return false;
}

static int on_both(struct find *f, const struct base_entry *b, const struct manifest_row *row)
{
	int equal = is_untouched(f, row) ? 1 : base_entry_equals(f->repo, b, row, f->e);

	if (equal != 0)
		return equal < 0 ? equal : 0;
	/* a file that became a directory: its content comes as entries of its own */
	return add_change(f, b, S_ISDIR(row->mode) ? NULL : row);
}

int changes_find(const struct repo *r, const struct base *b, const struct manifest *before,
		 const struct manifest *after, struct changes *ret_changes, struct weir_err *e)
{
	struct find f = { .repo = r, .before = before, .after = after, .out = ret_changes, .e = e };
	size_t i = 0, k = 0;
	int err = 0;

	*ret_changes = (struct changes){ 0 };
	while (err == 0 && (i < b->count || k < after->count)) {
		const struct base_entry *left = i < b->count ? &b->entries[i] : NULL;
		const struct manifest_row *row = k < after->count ? &after->rows[k] : NULL;
		int order = !left  ? 1
			    : !row ? -1
				   : tree_path_compare(left->path, left->len,
						       after->paths + row->path, row->path_len);

		if (left && row && order == 0)
			err = on_both(&f, left, row);
		else if (left && order < 0)
			err = add_change(&f, left, NULL);
		else if (row && !S_ISDIR(row->mode))
			err = add_change(&f, NULL, row);
		i += order <= 0;
		k += order >= 0;
	}
	if (err < 0)
		changes_done(ret_changes);
	return err;
}

/* One of the two may be NULL. */
static int add_entry(const struct repo *r, const struct base_entry *old,
		     const struct base_entry *new_entry, struct changes *out, struct weir_err *e)
{
	const struct base_entry *named = old ? old : new_entry;
	struct change c = { 0 };
	git_object_t type;
	size_t size;
	int err = 0;

	if (!named)
		return 0;

	if (old) {
		c.old_mode = old->mode;
		git_oid_cpy(&c.old_oid, &old->oid);
	}
	if (new_entry) {
		c.new_mode = new_entry->mode;
		c.st_mode = new_entry->mode;
		git_oid_cpy(&c.oid, &new_entry->oid);
	}
	if (new_entry && new_entry->mode != GIT_MODE_COMMIT) {
		if (git_odb_read_header(&size, &type, r->odb, &c.oid) < 0)
			return repo_error(e, "reading a blob");
		c.size = size;
		err = blob_sha256(r, &c.oid, c.sha256, e);
		if (err < 0)
			return err;
	}
	c.len = named->len;
	c.path = strndup(named->path, c.len);
	err = c.path ? push(out, &c) : -ENOMEM;
	if (err < 0)
		free(c.path);
	return err < 0 ? err_errno(e, err, "comparing trees") : 0;
}

int changes_between(const struct repo *r, const struct base *old, const struct base *new_base,
		    struct changes *ret_changes, struct weir_err *e)
{
	size_t i = 0, k = 0;
	int err = 0;

	*ret_changes = (struct changes){ 0 };
	while (err == 0 && (i < old->count || k < new_base->count)) {
		const struct base_entry *a = i < old->count ? &old->entries[i] : NULL;
		const struct base_entry *b = k < new_base->count ? &new_base->entries[k] : NULL;
		int order = !a ? 1 : !b ? -1 : tree_path_compare(a->path, a->len, b->path, b->len);

		if (order != 0 || a->mode != b->mode || !git_oid_equal(&a->oid, &b->oid))
			err = add_entry(r, order <= 0 ? a : NULL, order >= 0 ? b : NULL,
					ret_changes, e);
		i += order <= 0;
		k += order >= 0;
	}
	if (err < 0)
		changes_done(ret_changes);
	return err;
}
