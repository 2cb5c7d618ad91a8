/* SPDX-License-Identifier: MIT */
#include "writeback/twins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/control.h"
#include "user/base/cleanup.h"
#include "writeback/names.h"

/* One name: a path up to and with one of its components. */
struct name {
	uint64_t hash; /* of the folded components */
	uint64_t look; /* of the components as they look */
	const char *path;
	size_t len;
	bool added;
};

struct names {
	struct name *items;
	size_t count;
	size_t cap;
	const char *last; /* the path before: its directories are in already */
	bool last_added;
};

static int push(struct names *n, const struct name *name)
{
	if (n->count == n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 1024;
		struct name *items = reallocarray(n->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		n->items = items;
		n->cap = cap;
	}
	n->items[n->count++] = *name;
	return 0;
}

static uint64_t hash_part(uint64_t hash, const char *folded)
{
	for (; *folded; folded++)
		hash = (hash ^ (unsigned char)*folded) * WEIR_FNV_PRIME;
	return (hash ^ '/') * WEIR_FNV_PRIME;
}

/* Goes on with one component. */
static void step(struct name *name, const char *part, size_t len)
{
	char folded[NAME_FOLD_MAX];
	bool alike = name->look == name->hash;

	name_fold(part, len, folded);
	name->hash = hash_part(name->hash, folded);
	if (!alike || !name_is_ascii(part, len)) {
		name_look(part, len, folded);
		name->look = hash_part(name->look, folded);
	} else {
		name->look = name->hash;
	}
}

static int add_path(struct names *n, const char *path, bool added)
{
	struct name name = {
		.hash = WEIR_FNV_BASIS, .look = WEIR_FNV_BASIS, .path = path, .added = added
	};

	for (size_t at = 0; path[at];) {
		size_t len = strcspn(path + at, "/");
		bool known;

		step(&name, path + at, len);
		at += len;
		name.len = at;
		known = n->last && n->last_added == added && path[at] == '/' &&
			strncmp(n->last, path, at + 1) == 0;
		if (!known && push(n, &name) < 0)
			return -ENOMEM;
		at += path[at] == '/';
	}
	n->last = path;
	n->last_added = added;
	return 0;
}

static int by_hash(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->look != y->look)
		return x->look < y->look ? -1 : 1;
	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int collect(struct names *n, const struct base *b, const struct changes *changes)
{
	size_t k = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->count; i++) {
		const struct base_entry *entry = &b->entries[i];
		int order = 1;

		while (k < changes->count &&
		       (order = tree_path_compare(changes->items[k].path, changes->items[k].len,
						  entry->path, entry->len)) < 0)
			k++;
		if (k < changes->count && order == 0 && changes->items[k].new_mode == 0)
			continue;
		err = add_path(n, entry->path, false);
	}
	for (size_t i = 0; err == 0 && i < changes->count; i++)
		if (changes->items[i].old_mode == 0)
			err = add_path(n, changes->items[i].path, true);
	return err;
}

static bool same_path(const struct name *a, const struct name *b)
{
	return a->len == b->len && memcmp(a->path, b->path, a->len) == 0;
}

/* Names that look alike stand together, and among them those that fold to one. */
static int report(struct hazards *h, const struct names *n)
{
	for (size_t i = 1; i < n->count; i++) {
		const struct name *a = &n->items[i - 1], *b = &n->items[i];
		const struct name *added = b->added ? b : a, *other = b->added ? a : b;
		cleanup_free char *path = NULL, *beside = NULL;
		struct hazard_note note = { 0 };

		if (a->look != b->look || !added->added || same_path(a, b))
			continue;
		path = strndup(added->path, added->len);
		beside = strndup(other->path, other->len);
		note.detail = beside;
		if (!path || !beside ||
		    hazards_note(h, a->hash == b->hash ? HAZARD_TWIN : HAZARD_LOOKALIKE, path,
				 &note) < 0)
			return -ENOMEM;
	}
	return 0;
}

int twins_inspect(struct hazards *h, const struct base *b, const struct changes *changes)
{
	struct names n = { 0 };
	int err = collect(&n, b, changes);

	if (err == 0 && n.count > 0)
		qsort(n.items, n.count, sizeof(*n.items), by_hash);
	if (err == 0)
		err = report(h, &n);
	free(n.items);
	return err;
}
