/* SPDX-License-Identifier: MIT */
#include "writeback/hazard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/digest.h"

#define NAMED 3
#define ID_DIGITS 32

static const struct {
	const char *name;
	const char *why;
	enum gate_reason reason;
	enum hazard_weight weight;
	enum hazard_role role;
} kinds[] = {
#define WEIR_X(id, name, reason, weight, role, why) \
	{ name, why, REASON_##reason, HAZARD_##weight, HAZARD_ROLE_##role },
	HAZARD_KINDS(WEIR_X)
#undef WEIR_X
#define WEIR_X(id, name, reason, weight, role, why) \
	_Static_assert(sizeof(name) + 1 + ID_DIGITS <= HAZARD_ID_MAX, name);
};
HAZARD_KINDS(WEIR_X)
#undef WEIR_X

static void hazard_done(struct hazard *item)
{
	free(item->path);
	free(item->place);
	free(item->detail);
}

void hazards_done(struct hazards *h)
{
	for (size_t i = 0; i < h->count; i++)
		hazard_done(&h->items[i]);
	free(h->items);
	*h = (struct hazards){ 0 };
}

int hazard_make_id(enum hazard_kind kind, const char *path, const void *subject, size_t len,
		   char *ret_id)
{
	static const char head[] = "weir-finding/1";
	cleanup_digest struct digest *d = digest_new();
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	if (!d || digest_add(d, head, sizeof(head)) < 0 ||
	    digest_add(d, kinds[kind].name, strlen(kinds[kind].name) + 1) < 0 ||
	    digest_add(d, path, strlen(path) + 1) < 0 ||
	    (len > 0 && digest_add(d, subject, len) < 0) || digest_end(d, hash) < 0)
		return -ENOMEM;
	digest_hex(hash, sizeof(hash), hex);
	snprintf(ret_id, HAZARD_ID_MAX, "%s-%.*s", kinds[kind].name, ID_DIGITS, hex);
	return 0;
}

static int grow(struct hazards *h)
{
	size_t cap = h->cap ? h->cap * 2 : 16;
	struct hazard *items;

	if (h->count < h->cap)
		return 0;
	items = reallocarray(h->items, cap, sizeof(*items));
	if (!items)
		return -ENOMEM;
	h->items = items;
	h->cap = cap;
	return 0;
}

static char *escaped(const char *text)
{
	cleanup_buf struct buf b = { 0 };

	if (!text)
		return strdup("");
	buf_add_escaped(&b, text, strlen(text));
	return b.failed ? NULL : strdup(buf_str(&b));
}

int hazards_note(struct hazards *h, enum hazard_kind kind, const char *path,
		 const struct hazard_note *note)
{
	struct hazard *item;
	int err = grow(h);

	if (err < 0)
		return err;
	item = &h->items[h->count];
	*item = (struct hazard){ .kind = kind, .times = note->times ? note->times : 1 };
	err = hazard_make_id(kind, path, note->subject, note->subject_len, item->id);
	item->path = strdup(path);
	item->place = strdup(note->place ? note->place : "");
	item->detail = escaped(note->detail);
	if (err < 0 || !item->path || !item->place || !item->detail) {
		hazard_done(item);
		return -ENOMEM;
	}
	h->count++;
	return 0;
}

int hazards_add(struct hazards *h, enum hazard_kind kind, const char *path)
{
	return hazards_note(h, kind, path, &(struct hazard_note){ 0 });
}

void hazards_drop(struct hazards *h, uint64_t classes)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (classes >> h->items[i].kind & 1)
			hazard_done(&h->items[i]);
		else
			h->items[kept++] = h->items[i];
	}
	h->count = kept;
}

struct hazard *hazards_find(const struct hazards *h, const char *id)
{
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->items[i].id, id) == 0)
			return &h->items[i];
	return NULL;
}

const char *hazard_name(enum hazard_kind kind)
{
	return kinds[kind].name;
}

const char *hazard_why(enum hazard_kind kind)
{
	return kinds[kind].why;
}

enum hazard_role hazard_role(enum hazard_kind kind)
{
	return kinds[kind].role;
}

const char *hazard_role_name(enum hazard_role role)
{
	static const char *const names[HAZARD_ROLES] = { "nobody", "approver", "security",
							 "policy-owner", "platform-owner" };

	return names[role];
}

bool hazard_refuses(enum hazard_kind kind, bool strict)
{
	return kinds[kind].weight == HAZARD_REFUSE ||
	       (strict && kinds[kind].weight == HAZARD_STRICT);
}

const char *hazard_severity(enum hazard_kind kind, bool strict)
{
	return hazard_refuses(kind, strict) ? "refuse" : "warn";
}

static void add_place(struct buf *b, const struct hazard *item)
{
	buf_addf(b, "%s ", kinds[item->kind].name);
	buf_add_escaped(b, item->path, strlen(item->path));
	if (item->place[0])
		buf_addf(b, ":%s", item->place);
}

static int judge(const struct hazards *h, bool strict, bool hopeless, struct weir_err *e)
{
	const struct hazard *first = NULL;
	cleanup_buf struct buf places = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < h->count; i++) {
		const struct hazard *item = &h->items[i];

		if (!hazard_refuses(item->kind, strict) || item->accepted ||
		    (hopeless && kinds[item->kind].role != HAZARD_ROLE_NOBODY))
			continue;
		if (!first)
			first = item;
		if (count++ >= NAMED)
			continue;
		if (count > 1)
			buf_add(&places, ", ", 2);
		add_place(&places, item);
	}
	if (!first)
		return 0;
	if (count > NAMED)
		buf_addf(&places, " and %zu more", count - NAMED);
	return refuse(e, kinds[first->kind].reason, "%s: %s%s%s", buf_str(&places),
		      kinds[first->kind].why, first->detail[0] ? ": " : "", first->detail);
}

int hazards_judge(const struct hazards *h, bool strict, struct weir_err *e)
{
	return judge(h, strict, false, e);
}

int hazards_judge_hopeless(const struct hazards *h, struct weir_err *e)
{
	return judge(h, false, true, e);
}
