/* SPDX-License-Identifier: MIT */
/*
 * The sorted objects of an image: rule roots, store files and the directories above.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/text.h"

static int by_path(const void *a, const void *b)
{
	const struct policy_object *x = a, *y = b;
	int order = policy_path_compare(x->path, y->path);

	/* a rule before a store's file before an ancestor: the first of a path stays */
	if (order)
		return order;
	if ((x->flags ^ y->flags) & WEIR_RULE_ROOT)
		return x->flags & WEIR_RULE_ROOT ? -1 : 1;
	if ((x->flags ^ y->flags) & WEIR_RULE_ANCESTOR)
		return x->flags & WEIR_RULE_ANCESTOR ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_objects(struct policy_image *im)
{
	size_t kept = 0;

	qsort(im->objects, im->object_count, sizeof(im->objects[0]), by_path);
	for (size_t i = 0; i < im->object_count; i++) {
		struct policy_object *o = &im->objects[i];

		if (kept > 0 && strcmp(im->objects[kept - 1].path, o->path) == 0)
			free(o->path);
		else
			im->objects[kept++] = *o;
	}
	im->object_count = kept;
}

static int add_items(struct policy_build *b)
{
	for (size_t i = 0; i < b->item_count; i++) {
		const struct policy_item *item = &b->items[i];
		bool reads = item->rights & WEIR_RIGHT_READ;
		const struct policy_entry *from =
			item->store && (!item->rule || !reads) ? item->store : item->rule;
		struct policy_object o = {
			.rights = item->rights,
			.flags = item->flags,
			.id = from ? from->id : 0,
			.line = from ? from->pos.line : 0,
		};
		int err = policy_add_object(b, item->path, &item->st, &o);

		if (err < 0)
			return err;
	}
	return 0;
}

static int by_dir(const void *a, const void *b)
{
	return policy_path_compare(*(const char *const *)a, *(const char *const *)b);
}

static int add_ancestor(struct policy_build *b, const char *path)
{
	const struct policy_object o = { .flags = WEIR_RULE_ANCESTOR };
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(b->e, -ESTALE,
			       "'%s' changed while the policy was compiled; try again",
			       policy_quote(path).text);
	return policy_add_object(b, path, &st, &o);
}

/* path and the directories above it that are not above prev, which sorts before it. */
static int add_chain(struct policy_build *b, const char *prev, const char *path)
{
	cleanup_free char *at = strdup(path);
	size_t len = strlen(path);

	if (!at)
		return policy_build_oom(b);
	if (len == 1)
		return add_ancestor(b, path);
	for (size_t i = 1; i <= len; i++) {
		char end = at[i];
		int err = 0;

		if (end != '/' && end != '\0')
			continue;
		at[i] = '\0';
		if (!prev || !policy_path_is_below(prev, at))
			err = add_ancestor(b, at);
		at[i] = end;
		if (err < 0)
			return err;
	}
	return 0;
}

/* Directories that hold rule roots or names, then everything above them. */
static int add_ancestors(struct policy_build *b)
{
	size_t count = 0, max = b->item_count + b->im->name_count;
	cleanup_free char **dirs = calloc(max + 1, sizeof(*dirs));
	const char *prev = NULL;
	int err = 0;

	if (!dirs)
		return policy_build_oom(b);
	for (size_t i = 0; i < b->im->name_count; i++)
		dirs[count++] = strdup(b->im->names[i].dir);
	for (size_t i = 0; i < b->item_count; i++) {
		const char *slash = strrchr(b->items[i].path, '/');

		if (slash != b->items[i].path)
			dirs[count++] =
				strndup(b->items[i].path, (size_t)(slash - b->items[i].path));
	}
	for (size_t i = 0; i < count; i++)
		if (!dirs[i])
			err = policy_build_oom(b);
	if (err == 0)
		qsort(dirs, count, sizeof(dirs[0]), by_dir);
	for (size_t i = 0; err == 0 && i < count; i++) {
		if (!prev || strcmp(prev, dirs[i]) != 0)
			err = add_chain(b, prev, dirs[i]);
		prev = dirs[i];
	}
	for (size_t i = 0; i < count; i++)
		free(dirs[i]);
	return err;
}

static int by_inode(const void *a, const void *b)
{
	const struct policy_object *x = *(struct policy_object *const *)a;
	const struct policy_object *y = *(struct policy_object *const *)b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return by_path(x, y);
}

/* Two names of one inode (bind mount, hard link) have one rule in the kernel. */
static int join_pair(struct policy_build *b, struct policy_object *x, struct policy_object *y)
{
	const uint32_t root = WEIR_RULE_ROOT;

	if ((x->flags & y->flags & root) && x->rights != y->rights && x->id && y->id) {
		const struct policy_object *late = x->id > y->id ? x : y;
		const struct policy_object *early = late == x ? y : x;

		return policy_error(
			b->p->file, b->im->sources[late->id - 1].pos, b->e,
			"'%s' and '%s' (line %u) are one object with two rules; keep one "
			"of them",
			policy_quote(late->path).text, policy_quote(early->path).text, early->line);
	}
	if (x->flags & WEIR_RULE_ANCESTOR) {
		x->rights = y->rights;
		x->id = y->id;
		x->line = y->line;
	} else if (!(y->flags & WEIR_RULE_ANCESTOR)) {
		x->rights &= y->rights;
	}
	x->flags |= y->flags;
	if (x->flags & ~WEIR_RULE_ANCESTOR)
		x->flags &= ~WEIR_RULE_ANCESTOR;
	return 0;
}

static int join_inodes(struct policy_build *b)
{
	struct policy_image *im = b->im;
	cleanup_free struct policy_object **sorted = calloc(im->object_count, sizeof(*sorted));

	if (!sorted)
		return policy_build_oom(b);
	for (size_t i = 0; i < im->object_count; i++)
		sorted[i] = &im->objects[i];
	qsort(sorted, im->object_count, sizeof(*sorted), by_inode);
	for (size_t i = 0, k; i < im->object_count; i = k) {
		for (k = i + 1; k < im->object_count; k++) {
			int err;

			if (sorted[k]->dev != sorted[i]->dev || sorted[k]->ino != sorted[i]->ino)
				break;
			err = join_pair(b, sorted[i], sorted[k]);
			if (err < 0)
				return err;
		}
		/* every name says the same, in whatever order they are bound */
		for (size_t j = i + 1; j < k; j++) {
			sorted[j]->rights = sorted[i]->rights;
			sorted[j]->flags = sorted[i]->flags;
			sorted[j]->id = sorted[i]->id;
			sorted[j]->line = sorted[i]->line;
		}
	}
	return 0;
}

int policy_build_objects(struct policy_build *b)
{
	int err = add_items(b);

	if (err == 0)
		err = add_ancestors(b);
	if (err < 0)
		return err;
	sort_objects(b->im);
	return join_inodes(b);
}
