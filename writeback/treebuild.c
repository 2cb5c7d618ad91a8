/* SPDX-License-Identifier: MIT */
#include "writeback/treebuild.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/reason.h"

struct build {
	const struct repo *repo;
	const struct changes *changes;
	struct pack *pack;
	struct weir_err *e;
};

struct item {
	const char *name;
	size_t len;
	uint32_t mode;
	git_oid oid;
};

struct items {
	struct item *at;
	size_t count;
};

/* Changes with the same first component below `skip` bytes. */
struct group {
	const char *name;
	size_t len;
	const struct change *exact; /* the change of this very path, or NULL */
	size_t from, to;	    /* changes below it */
};

static int build_dir(const struct build *b, const git_oid *base, size_t from, size_t to,
		     size_t skip, git_oid *ret_oid, bool *ret_empty);

static int by_git_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->name, y->name, len);
	unsigned char p, q;

	if (order != 0)
		return order;
	p = (unsigned char)(x->len > len ? x->name[len] : x->mode == GIT_MODE_TREE ? '/' : '\0');
	q = (unsigned char)(y->len > len ? y->name[len] : y->mode == GIT_MODE_TREE ? '/' : '\0');
	return p < q ? -1 : p > q;
}

static int store(const struct build *b, struct items *items, git_oid *ret_oid)
{
	static const unsigned char none[DIGEST_SIZE];
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf old = { 0 };
	int err;

	if (items->count > 0)
		qsort(items->at, items->count, sizeof(*items->at), by_git_order);
	for (size_t i = 0; i < items->count; i++) {
		buf_addf(&text, "%o ", items->at[i].mode);
		buf_add(&text, items->at[i].name, items->at[i].len);
		buf_add(&text, "", 1);
		buf_add(&text, items->at[i].oid.id, GIT_OID_RAWSZ);
	}
	if (text.failed)
		return err_errno(b->e, -ENOMEM, "building a tree");
	if (repo_hash(GIT_OBJECT_TREE, text.data ? text.data : "", text.len, ret_oid) < 0)
		return repo_error(b->e, "hashing a tree");
	if (!repo_knows(b->repo, ret_oid)) {
		err = pack_add(b->pack, PACK_TREE, text.data ? text.data : "", text.len,
			       ret_oid->id, none);
		return err < 0 ? err_errno(b->e, err, "writing the pack") : 0;
	}
	err = repo_read_object(b->repo, ret_oid, GIT_OBJECT_TREE, SIZE_MAX, &old, b->e);
	if (err < 0)
		return err;
	if (old.len != text.len || memcmp(buf_str(&old), buf_str(&text), text.len) != 0)
		return refuse(b->e, REASON_OBJECT_COLLISION, "a tree");
	return 0;
}

static struct group next_group(const struct build *b, size_t from, size_t to, size_t skip)
{
	const struct change *first = &b->changes->items[from];
	struct group g = { .name = first->path + skip };
	size_t i = from;

	g.len = strcspn(g.name, "/");
	if (g.name[g.len] == '\0') {
		g.exact = first;
		i++;
	}
	g.from = i;
	while (i < to) {
		const struct change *c = &b->changes->items[i];

		if (c->len <= skip + g.len || memcmp(c->path + skip, g.name, g.len) != 0 ||
		    c->path[skip + g.len] != '/')
			break;
		i++;
	}
	g.to = i;
	return g;
}

/* What stands under the group's name afterwards. */
static int apply_group(const struct build *b, const struct group *g, const git_tree_entry *old,
		       size_t skip, struct items *items)
{
	struct item item = { .name = g->name, .len = g->len };
	bool old_tree = old && git_tree_entry_type(old) == GIT_OBJECT_TREE;
	bool empty = true;
	int err;

	if (g->from < g->to) {
		err = build_dir(b, old_tree ? git_tree_entry_id(old) : NULL, g->from, g->to,
				skip + g->len + 1, &item.oid, &empty);
		if (err < 0)
			return err;
		item.mode = GIT_MODE_TREE;
	}
	if (g->exact && g->exact->new_mode != 0) {
		if (!empty)
			return refuse(b->e, REASON_TREE_UNSAFE,
				      "%.*s is a file and a directory at once", (int)g->exact->len,
				      g->exact->path);
		item.mode = g->exact->new_mode;
		git_oid_cpy(&item.oid, &g->exact->oid);
		empty = false;
	}
	if (!empty)
		items->at[items->count++] = item;
	return 0;
}

static bool in_groups(const struct group *groups, size_t count, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < count; i++)
		if (groups[i].len == len && memcmp(groups[i].name, name, len) == 0)
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->name, y->name, len);

	return order ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* in_groups for many groups: they are sorted by name already. */
static bool has_group(const struct group *groups, size_t count, const char *name)
{
	struct group key = { .name = name, .len = strlen(name) };

	if (count < 8)
		return in_groups(groups, count, name);
	return bsearch(&key, groups, count, sizeof(*groups), by_name) != NULL;
}

static int fill(const struct build *b, const git_tree *old, const struct group *groups,
		size_t group_count, size_t skip, struct items *items)
{
	size_t old_count = old ? git_tree_entrycount(old) : 0;

	for (size_t i = 0; i < old_count; i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(old, i);
		const char *name = git_tree_entry_name(entry);

		if (has_group(groups, group_count, name))
			continue;
		items->at[items->count] = (struct item){
			.name = name,
			.len = strlen(name),
			.mode = (uint32_t)git_tree_entry_filemode_raw(entry),
		};
		git_oid_cpy(&items->at[items->count++].oid, git_tree_entry_id(entry));
	}
	for (size_t i = 0; i < group_count; i++) {
		cleanup_free char *name = strndup(groups[i].name, groups[i].len);
		int err;

		if (!name)
			return err_errno(b->e, -ENOMEM, "building a tree");
		err = apply_group(b, &groups[i], old ? git_tree_entry_byname(old, name) : NULL,
				  skip, items);
		if (err < 0)
			return err;
	}
	return 0;
}

static int build_dir(const struct build *b, const git_oid *base, size_t from, size_t to,
		     size_t skip, git_oid *ret_oid, bool *ret_empty)
{
	cleanup_free struct group *groups = calloc(to - from + 1, sizeof(*groups));
	cleanup_free struct item *room = NULL;
	struct items items = { 0 };
	git_tree *old = NULL;
	size_t count = 0;
	int err = 0;

	if (!groups)
		return err_errno(b->e, -ENOMEM, "building a tree");
	for (size_t i = from; i < to; i = groups[count++].to)
		groups[count] = next_group(b, i, to, skip);
	if (base && git_tree_lookup(&old, b->repo->git, base) < 0)
		return repo_error(b->e, "reading a base tree");
	room = calloc((old ? git_tree_entrycount(old) : 0) + count + 1, sizeof(*room));
	items.at = room;
	err = room ? fill(b, old, groups, count, skip, &items)
		   : err_errno(b->e, -ENOMEM, "building a tree");
	*ret_empty = items.count == 0;
	if (err == 0 && (items.count > 0 || skip == 0))
		err = store(b, &items, ret_oid);
	git_tree_free(old);
	return err;
}

int treebuild_apply(const struct repo *r, const git_oid *base_tree, const struct changes *changes,
		    struct pack *pack, git_oid *ret_tree, struct weir_err *e)
{
	struct build b = { r, changes, pack, e };
	bool empty;

	return build_dir(&b, base_tree, 0, changes->count, 0, ret_tree, &empty);
}
