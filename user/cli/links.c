/* SPDX-License-Identifier: MIT */
#include "user/cli/links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/base/cleanup.h"

static bool may_change(const struct session *s, const char *path)
{
	struct policy_answer answer;
	cleanup_free char *full = NULL;

	if (!s->image || asprintf(&full, "%s/%s", s->workspace, path) < 0)
		return false;
	policy_explain(s->image, full, &answer);
	return (answer.rights & WEIR_RIGHTS_MUTATE) == WEIR_RIGHTS_MUTATE && !answer.control;
}

int links_add(struct links *l, const struct session *s, const char *path,
	      const struct weir_bind *look)
{
	if (look->ret_object.nlink < 2 || !may_change(s, path))
		return 0;
	if (l->count == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct weir_bind *items = realloc(l->items, cap * sizeof(*items));

		if (!items)
			return -ENOMEM;
		l->items = items;
		l->cap = cap;
	}
	l->items[l->count++] = *look;
	return 0;
}

static int by_object(const void *a, const void *b)
{
	const struct weir_object *x = &((const struct weir_bind *)a)->ret_object;
	const struct weir_object *y = &((const struct weir_bind *)b)->ret_object;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->dev != y->dev ? (x->dev < y->dev ? -1 : 1) : 0;
}

int links_own(struct links *l, struct session *s, struct weir_err *e)
{
	int err = 0;

	if (l->count)
		qsort(l->items, l->count, sizeof(l->items[0]), by_object);
	for (size_t i = 0, k; err == 0 && i < l->count; i = k) {
		for (k = i; k < l->count && by_object(&l->items[i], &l->items[k]) == 0; k++)
			;
		if (k - i == l->items[i].ret_object.nlink)
			err = kern_own_links(&s->slot, &l->items[i], e);
	}
	return err;
}

void links_done(struct links *l)
{
	free(l->items);
	*l = (struct links){ 0 };
}
