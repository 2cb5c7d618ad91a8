/* SPDX-License-Identifier: MIT */
/*
 * From entries to real paths with effective rights. The kernel takes the nearest rule
 * alone, so what encloses a rule is worked into it here.
 */
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/text.h"

static int by_path(const void *a, const void *b)
{
	const struct policy_item *x = a, *y = b;
	int order = policy_path_compare(x->path, y->path);
	uint32_t i = x->rule ? x->rule->id : UINT32_MAX, k = y->rule ? y->rule->id : UINT32_MAX;

	return order ? order : (i < k ? -1 : i > k);
}

const struct policy_item *policy_item_above(const struct policy_build *b, const char *path,
					    bool itself)
{
	char at[POLICY_PATH_MAX + 1];
	size_t len = strnlen(path, sizeof(at));

	/* what does not fit lies below what does */
	if (len >= sizeof(at))
		len = sizeof(at) - 1;
	memcpy(at, path, len);
	at[len] = '\0';
	for (;;) {
		struct policy_item key = { .path = at };
		size_t lo = 0, hi = b->item_count;

		while (itself && lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			int order = policy_path_compare(b->items[mid].path, key.path);

			if (order == 0)
				return &b->items[mid];
			if (order < 0)
				lo = mid + 1;
			else
				hi = mid;
		}
		itself = true;
		if (strcmp(at, "/") == 0 || at[0] == '\0')
			return NULL;
		while (len > 1 && at[len - 1] != '/')
			len--;
		if (len > 1)
			len--;
		at[len] = '\0';
	}
}

static int add_item(struct policy_build *b, const struct policy_entry *entry)
{
	struct policy_item *item = policy_grow(&b->items, &b->item_count, sizeof(*item));

	if (!item)
		return policy_build_oom(b);
	item->flags = WEIR_RULE_ROOT;
	if (!entry) {
		item->path = b->im->workspace;
		item->st = b->workspace_st;
		item->flags |= WEIR_RULE_WORKSPACE;
		return 0;
	}
	item->path = entry->at.real;
	item->st = entry->at.st;
	if (entry->credential)
		item->store = entry;
	else
		item->rule = entry;
	return 0;
}

/* Puts y, which has the same real path, into x. */
static int merge(struct policy_build *b, struct policy_item *x, const struct policy_item *y)
{
	const struct policy_entry *old = x->rule, *more = y->rule;

	x->flags |= y->flags;
	if (!x->store)
		x->store = y->store;
	if (!more)
		return 0;
	if (!old) {
		x->rule = more;
		return 0;
	}
	if (old->allow != more->allow || old->deny != more->deny)
		return policy_error(b->p->file, more->pos, b->e,
				    "'%s' and '%s' of line %u are the same object '%s' with other "
				    "rights; keep one of them",
				    policy_quote(more->written).text,
				    policy_quote(old->written).text, old->pos.line,
				    policy_quote(x->path).text);
	return policy_add_note(
		b, POLICY_NOTE_MERGED, more, "'%s' is the same object as '%s' of line %u",
		policy_quote(more->written).text, policy_quote(old->written).text, old->pos.line);
}

static int merge_all(struct policy_build *b)
{
	size_t kept = 0;

	qsort(b->items, b->item_count, sizeof(b->items[0]), by_path);
	for (size_t i = 0; i < b->item_count; i++) {
		int err = 0;

		if (kept > 0 && strcmp(b->items[kept - 1].path, b->items[i].path) == 0)
			err = merge(b, &b->items[kept - 1], &b->items[i]);
		else
			b->items[kept++] = b->items[i];
		if (err < 0)
			return err;
	}
	b->item_count = kept;
	return 0;
}

/* Ancestors come first in the order, so their rights are final when they are asked for. */
static void set_rights(struct policy_build *b, struct policy_item *item)
{
	const struct policy_item *above = policy_item_above(b, item->path, false);

	item->rights = above ? above->rights : b->im->rights;
	if (above)
		item->flags |= above->flags & WEIR_RULE_CREDENTIAL;
	if (item->store) {
		item->flags |= WEIR_RULE_CREDENTIAL;
		item->rights &= ~(uint32_t)WEIR_RIGHT_READ;
	}
	if (item->rule)
		item->rights = (item->rights | item->rule->allow) & ~item->rule->deny;
}

int policy_build_items(struct policy_build *b)
{
	int err = add_item(b, NULL);

	for (size_t i = 0; err == 0 && i < b->entry_count; i++)
		if (b->entries[i].bound)
			err = add_item(b, &b->entries[i]);
	if (err == 0)
		err = merge_all(b);
	for (size_t i = 0; err == 0 && i < b->item_count; i++)
		set_rights(b, &b->items[i]);
	return err;
}
