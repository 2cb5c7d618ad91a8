/* SPDX-License-Identifier: MIT */
#include "writeback/verifytree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/blob.h"
#include "writeback/changestext.h"
#include "writeback/digest.h"
#include "writeback/rebase.h"

struct trees {
	struct base old, new;
	size_t listed;
};

static bool entry_is(const struct base_entry *entry, const char *mode, const char *id)
{
	char hex[OID_HEX];

	if (!entry)
		return strcmp(id, "-") == 0;
	git_oid_tostr(hex, sizeof(hex), &entry->oid);
	return strtoul(mode, NULL, 8) == entry->mode && strcmp(hex, id) == 0;
}

static int check_line(const struct changes_line *l, void *arg, struct weir_err *e)
{
	struct trees *t = arg;

	t->listed++;
	if (!entry_is(base_find(&t->old, l->path, l->len), l->old_mode, l->old_id))
		return err_set(e, -EBADMSG, "%s is not as recorded in the parent", l->path);
	if (!entry_is(base_find(&t->new, l->path, l->len), l->new_mode, l->new_id))
		return err_set(e, -EBADMSG, "%s is not as recorded in the commit", l->path);
	return 0;
}

static size_t count_differences(const struct trees *t)
{
	size_t i = 0, k = 0, count = 0;

	while (i < t->old.count || k < t->new.count) {
		const struct base_entry *a = i < t->old.count ? &t->old.entries[i] : NULL;
		const struct base_entry *b = k < t->new.count ? &t->new.entries[k] : NULL;
		int order = !a ? 1 : !b ? -1 : tree_path_compare(a->path, a->len, b->path, b->len);

		if (order != 0 || a->mode != b->mode || !git_oid_equal(&a->oid, &b->oid))
			count++;
		i += order <= 0;
		k += order >= 0;
	}
	return count;
}

int verifytree_changes(const struct verify *v, struct weir_err *e)
{
	struct trees t = { 0 };
	struct repo_commit parent;
	size_t count;
	int err = repo_read_commit(v->repo, &v->head.parent, &parent, e);

	/* a directory's files are all listed, whatever the sources have */
	if (err == 0 && !kind_of(v->kind)->is_dir)
		err = base_load(v->repo, &parent.tree, &t.old, e);
	if (err == 0)
		err = base_load(v->repo, &v->head.tree, &t.new, e);
	if (err == 0)
		err = changestext_each(buf_str(&v->record.changes), check_line, &t, e);
	count = err == 0 ? count_differences(&t) : 0;
	if (err == 0 && count != t.listed)
		err = err_set(e, -EBADMSG, "%zu paths differ from the parent, %zu are recorded",
			      count, t.listed);
	base_done(&t.old);
	base_done(&t.new);
	return err;
}

static int check_conflict(const struct changes_line *l, void *arg, struct weir_err *e)
{
	const struct trees *t = arg;

	return rebase_check_path(&t->old, &t->new, l->path, l->len, e);
}

int verifytree_rebased(const struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct trees t = { 0 };
	struct repo_commit then, now;
	git_oid began;
	int err;

	if (digest_find(buf_str(&v->record.promotion), REBASE_KEY, &text) < 0)
		return 0;
	if (git_oid_fromstr(&began, buf_str(&text)) < 0)
		return err_set(e, -EBADMSG, "it is on top of no commit");
	err = rebase_check_commits(v->repo, &began, &v->head.parent, e);
	if (err == 0)
		err = repo_read_commit(v->repo, &began, &then, e);
	if (err == 0)
		err = repo_read_commit(v->repo, &v->head.parent, &now, e);
	if (err == 0)
		err = base_load(v->repo, &then.tree, &t.old, e);
	if (err == 0)
		err = base_load(v->repo, &now.tree, &t.new, e);
	if (err == 0)
		err = changestext_each(buf_str(&v->record.changes), check_conflict, &t, e);
	base_done(&t.old);
	base_done(&t.new);
	return err;
}

static int check_blob(const struct changes_line *l, void *arg, struct weir_err *e)
{
	const struct verify *v = arg;
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	git_oid oid;
	int err;

	if (strcmp(l->new_id, "-") == 0)
		return 0;
	if (git_oid_fromstr(&oid, l->new_id) < 0)
		return err_set(e, -EBADMSG, "the list of changes is damaged");
	err = blob_sha256(v->repo, &oid, hash, e);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), hex);
	return strcmp(hex, l->sha256) == 0
		       ? 0
		       : err_set(e, -EBADMSG, "%s has another SHA-256 than was inspected", l->path);
}

int verifytree_content(const struct verify *v, struct weir_err *e)
{
	return changestext_each(buf_str(&v->record.changes), check_blob, (void *)(uintptr_t)v, e);
}

int verifytree_whole(const struct verify *v, struct weir_err *e)
{
	struct base tree = { 0 };
	int err = base_load(v->repo, &v->head.tree, &tree, e);

	for (size_t i = 0; err == 0 && i < tree.count; i++) {
		cleanup_buf struct buf data = { 0 };
		git_oid again;

		if (tree.entries[i].mode == GIT_MODE_COMMIT)
			continue;
		err = repo_read_object(v->repo, &tree.entries[i].oid, GIT_OBJECT_BLOB, SIZE_MAX / 2,
				       &data, e);
		if (err == 0 && (repo_hash(GIT_OBJECT_BLOB, buf_str(&data), data.len, &again) < 0 ||
				 !git_oid_equal(&again, &tree.entries[i].oid)))
			err = err_set(e, -EBADMSG, "%s has another id", tree.entries[i].path);
	}
	base_done(&tree);
	return err;
}
