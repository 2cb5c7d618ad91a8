/* SPDX-License-Identifier: MIT */
#include "user/tree/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"

#define WHAT_DEFAULT (TREE_CHANGED_TYPE | TREE_CHANGED_MODE | TREE_CHANGED_CONTENT)

static const char *const strengths[] = {
#define WEIR_X(id, name) name,
	TREE_STRENGTHS(WEIR_X)
#undef WEIR_X
};

const char *tree_strength_name(enum tree_strength strength)
{
	return strengths[strength];
}

enum tree_strength tree_strength_find(const char *name)
{
	unsigned int i = 0;

	while (i < TREE_STRENGTH_COUNT && strcmp(strengths[i], name) != 0)
		i++;
	return (enum tree_strength)i;
}

/* One of the two states: a manifest, as a file or a table, or the tree itself. */
struct source {
	struct manifest_reader *reader;
	const struct manifest *table;
	size_t row; /* next one of table */
	struct tree_walk *walk;
	struct tree_entry entry;
	bool have; /* entry is not used up */
};

struct comparison {
	struct source before;
	struct source after;
	enum tree_strength strength; /* of a tree */
	uint32_t mask;
	size_t room;
	struct tree_changes changes;
	struct weir_err *e;
};

void tree_changes_done(struct tree_changes *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	free(c->items);
	*c = (struct tree_changes){ 0 };
}

static int advance(struct comparison *c, struct source *s)
{
	int err = 0;

	if (s->have)
		return 0;
	if (s->table) {
		s->have = s->row < s->table->count;
		if (s->have)
			manifest_get(s->table, s->row++, &s->entry);
		return 0;
	}
	err = s->reader ? manifest_reader_next(s->reader, &s->entry, c->e)
			: tree_walk_next(s->walk, &s->entry, c->e);
	s->have = err > 0;
	return err < 0 ? err : 0;
}

static void set_side(struct tree_side *side, const struct tree_entry *entry)
{
	side->mode = entry->mode;
	side->size = entry->size;
	side->ino = entry->ino;
	side->ctime_ns = entry->ctime_ns;
	side->mtime_ns = entry->mtime_ns;
	memcpy(side->sha256, entry->sha256, DIGEST_SIZE);
}

static int add_change(struct comparison *c, enum tree_change_kind kind, uint32_t what,
		      const struct tree_entry *before, const struct tree_entry *after)
{
	const struct tree_entry *either = before ? before : after;
	struct tree_changes *list = &c->changes;
	struct tree_change *change;

	if (list->count == c->room) {
		size_t more = c->room + c->room / 2 + 16;
		struct tree_change *items = reallocarray(list->items, more, sizeof(*items));

		if (!items)
			return err_errno(c->e, -ENOMEM, "comparing trees");
		list->items = items;
		c->room = more;
	}
	change = &list->items[list->count];
	*change = (struct tree_change){ .kind = kind, .what = what, .path_len = either->path_len };
	change->path = malloc(either->path_len + 1);
	if (!change->path)
		return err_errno(c->e, -ENOMEM, "comparing trees");
	memcpy(change->path, either->path, either->path_len);
	change->path[either->path_len] = '\0';
	if (before)
		set_side(&change->before, before);
	if (after)
		set_side(&change->after, after);
	list->count++;
	return 0;
}

/* Hashes a file of the tree, and counts it. */
static int hash_after(struct comparison *c)
{
	struct tree_entry *entry = &c->after.entry;

	if (!c->after.walk || entry->hashed || !S_ISREG(entry->mode))
		return 0;
	c->changes.hashed_files++;
	c->changes.hashed_bytes += entry->size;
	return tree_walk_hash(c->after.walk, entry, c->e);
}

static bool same_stat(const struct tree_entry *a, const struct tree_entry *b)
{
	return a->mode == b->mode && a->size == b->size && a->ino == b->ino &&
	       a->ctime_ns == b->ctime_ns && a->mtime_ns == b->mtime_ns;
}

/* Both have the path. */
static int compare_pair(struct comparison *c)
{
	struct tree_entry *a = &c->before.entry, *b = &c->after.entry;
	uint32_t what = 0;
	int err = 0;

	if (c->strength == TREE_STRENGTH_STAT && c->after.walk && S_ISREG(b->mode) &&
	    same_stat(a, b) &&
	    !manifest_entry_is_racy(a, manifest_reader_taken_ns(c->before.reader),
				    manifest_reader_tick_ns(c->before.reader))) {
		memcpy(b->sha256, a->sha256, DIGEST_SIZE);
		return 0;
	}
	err = hash_after(c);
	if (err < 0)
		return err;
	if ((a->mode ^ b->mode) & S_IFMT)
		what |= TREE_CHANGED_TYPE;
	else if (a->size != b->size || memcmp(a->sha256, b->sha256, DIGEST_SIZE) != 0)
		what |= TREE_CHANGED_CONTENT;
	if ((a->mode ^ b->mode) & 07777)
		what |= TREE_CHANGED_MODE;
	if (a->ino != b->ino || a->ctime_ns != b->ctime_ns || a->mtime_ns != b->mtime_ns)
		what |= TREE_CHANGED_STAT;
	return what & c->mask ? add_change(c, TREE_CHANGED, what, a, b) : 0;
}

/* The step of a merge: the lower path, or both. */
static int compare_next(struct comparison *c, bool *ret_more)
{
	struct source *a = &c->before, *b = &c->after;
	int err = advance(c, a), order;

	if (err == 0)
		err = advance(c, b);
	*ret_more = a->have || b->have;
	if (err < 0 || !*ret_more)
		return err;
	if (a->have && b->have)
		order = tree_path_compare(a->entry.path, a->entry.path_len, b->entry.path,
					  b->entry.path_len);
	else
		order = a->have ? -1 : 1;
	if (order < 0) {
		a->have = false;
		return add_change(c, TREE_REMOVED, 0, &a->entry, NULL);
	}
	if (order > 0) {
		b->have = false;
		err = hash_after(c);
		return err < 0 ? err : add_change(c, TREE_ADDED, 0, NULL, &b->entry);
	}
	err = compare_pair(c);
	a->have = b->have = false;
	return err;
}

static int compare(struct comparison *c, struct tree_changes *ret_changes)
{
	bool more = true;
	int err = 0;

	if (!c->mask)
		c->mask = WHAT_DEFAULT;
	while (err == 0 && more)
		err = compare_next(c, &more);
	if (err < 0)
		tree_changes_done(&c->changes);
	else
		*ret_changes = c->changes;
	return err;
}

int tree_compare_manifests(struct manifest_reader *before, struct manifest_reader *after,
			   uint32_t what_mask, struct tree_changes *ret_changes, struct weir_err *e)
{
	struct comparison c = {
		.before = { .reader = before },
		.after = { .reader = after },
		.mask = what_mask,
		.e = e,
	};

	return compare(&c, ret_changes);
}

int tree_compare_tables(const struct manifest *before, const struct manifest *after,
			uint32_t what_mask, struct tree_changes *ret_changes, struct weir_err *e)
{
	struct comparison c = {
		.before = { .table = before },
		.after = { .table = after },
		.mask = what_mask,
		.e = e,
	};

	return compare(&c, ret_changes);
}

int tree_compare_tree(struct manifest_reader *manifest, int root_fd, const char *skip,
		      enum tree_strength strength, uint32_t what_mask,
		      struct tree_changes *ret_changes, struct weir_err *e)
{
	cleanup_tree_walk struct tree_walk *w = NULL;
	struct comparison c = {
		.before = { .reader = manifest },
		.strength = strength,
		.mask = what_mask,
		.e = e,
	};
	int err = tree_walk_new(root_fd, skip, &w, e);

	if (err < 0)
		return err;
	c.after.walk = w;
	return compare(&c, ret_changes);
}
