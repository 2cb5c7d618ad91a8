/* SPDX-License-Identifier: MIT */
/* A commit's tree as a list; contract in changes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/changes.h"

#define BASE_ENTRIES_MAX 5000000u

struct load {
	struct base *base;
	size_t cap;
	int err;
};

static int add(struct load *l, const char *root, const git_tree_entry *entry)
{
	const char *name = git_tree_entry_name(entry);
	size_t root_len = strlen(root), name_len = strlen(name);
	struct base_entry *b;

	if (l->base->count == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 256;
		struct base_entry *entries = reallocarray(l->base->entries, cap, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		l->base->entries = entries;
		l->cap = cap;
	}
	if (l->base->count >= BASE_ENTRIES_MAX)
		return -E2BIG;
	b = &l->base->entries[l->base->count];
	b->len = root_len + name_len;
	b->path = malloc(b->len + 1);
	if (!b->path)
		return -ENOMEM;
	memcpy(b->path, root, root_len);
	memcpy(b->path + root_len, name, name_len + 1);
	/* a mode that old tools wrote (100664) is kept as it is where nothing changes */
	b->mode = (uint32_t)git_tree_entry_filemode_raw(entry);
	git_oid_cpy(&b->oid, git_tree_entry_id(entry));
	l->base->count++;
	return 0;
}

static int visit(const char *root, const git_tree_entry *entry, void *arg)
{
	struct load *l = arg;

	if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
		return 0;
	l->err = add(l, root, entry);
	return l->err;
}

static int by_path(const void *a, const void *b)
{
	const struct base_entry *x = a, *y = b;

	return tree_path_compare(x->path, x->len, y->path, y->len);
}

int base_load(const struct repo *r, const git_oid *tree_id, struct base *ret_base,
	      struct weir_err *e)
{
	struct load l = { .base = ret_base };
	git_tree *tree = NULL;
	int err;

	*ret_base = (struct base){ 0 };
	if (git_tree_lookup(&tree, r->git, tree_id) < 0)
		return repo_error(e, "reading the base tree");
	err = git_tree_walk(tree, GIT_TREEWALK_PRE, visit, &l);
	git_tree_free(tree);
	if (l.err < 0)
		err = err_errno(e, l.err, "reading the base tree");
	else if (err < 0)
		err = repo_error(e, "reading the base tree");
	if (err < 0) {
		base_done(ret_base);
		return err;
	}
	if (ret_base->count > 0)
		qsort(ret_base->entries, ret_base->count, sizeof(*ret_base->entries), by_path);
	return 0;
}

void base_done(struct base *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->entries[i].path);
	free(b->entries);
	*b = (struct base){ 0 };
}

const struct base_entry *base_find(const struct base *b, const char *path, size_t len)
{
	struct base_entry key = { .path = (char *)(uintptr_t)path, .len = len };

	if (b->count == 0)
		return NULL;
	return bsearch(&key, b->entries, b->count, sizeof(*b->entries), by_path);
}

size_t base_find_from(const struct base *b, const char *path, size_t len)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct base_entry *entry = &b->entries[middle];

		if (tree_path_compare(entry->path, entry->len, path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
