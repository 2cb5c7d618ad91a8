/* SPDX-License-Identifier: MIT */
#include "writeback/hazard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"

#define NAMED 3

static const struct {
	const char *name;
	const char *why;
	enum gate_reason reason;
	enum hazard_weight weight;
} kinds[] = {
#define WEIR_X(id, name, reason, weight, why) { name, why, REASON_##reason, HAZARD_##weight },
	HAZARD_KINDS(WEIR_X)
#undef WEIR_X
};

void hazards_done(struct hazards *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->items[i].path);
	free(h->items);
	*h = (struct hazards){ 0 };
}

int hazards_add(struct hazards *h, enum hazard_kind kind, const char *path)
{
	struct hazard *items = reallocarray(h->items, h->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	h->items = items;
	items[h->count] = (struct hazard){ kind, strdup(path) };
	if (!items[h->count].path)
		return -ENOMEM;
	h->count++;
	return 0;
}

const char *hazard_name(enum hazard_kind kind)
{
	return kinds[kind].name;
}

const char *hazard_why(enum hazard_kind kind)
{
	return kinds[kind].why;
}

bool hazard_refuses(enum hazard_kind kind, bool strict)
{
	return kinds[kind].weight == HAZARD_REFUSE || strict;
}

int hazards_judge(const struct hazards *h, bool strict, struct weir_err *e)
{
	const struct hazard *first = NULL;
	cleanup_buf struct buf places = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (!hazard_refuses(h->items[i].kind, strict))
			continue;
		if (!first)
			first = &h->items[i];
		if (count++ >= NAMED)
			continue;
		buf_addf(&places, "%s%s ", count > 1 ? ", " : "", kinds[h->items[i].kind].name);
		buf_add_escaped(&places, h->items[i].path, strlen(h->items[i].path));
	}
	if (!first)
		return 0;
	if (count > NAMED)
		buf_addf(&places, " and %zu more", count - NAMED);
	return refuse(e, kinds[first->kind].reason, "%s: %s", buf_str(&places),
		      kinds[first->kind].why);
}
