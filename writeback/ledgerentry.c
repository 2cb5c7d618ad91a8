/* SPDX-License-Identifier: MIT */
#include "writeback/ledgerentry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "writeback/json.h"

#define BIT(id) (1u << LEDGER_##id)
#define ALL (BIT(INTENT) | BIT(DONE) | BIT(ABORTED) | BIT(GLASS))
#define ENDS (BIT(DONE) | BIT(ABORTED)) /* an intent */

/* Which texts an entry of each kind has; `needed` can't be unknown. */
static const struct field {
	const char *name;
	size_t offset;
	unsigned int kinds;
	unsigned int needed;
} fields[] = {
	{ "repository", offsetof(struct ledger_entry, repository), BIT(INTENT), BIT(INTENT) },
	{ "ref", offsetof(struct ledger_entry, ref), ALL, BIT(INTENT) | BIT(DONE) | BIT(GLASS) },
	{ "base", offsetof(struct ledger_entry, base), BIT(INTENT) | BIT(GLASS),
	  BIT(INTENT) | BIT(GLASS) },
	{ "tree", offsetof(struct ledger_entry, tree), BIT(INTENT), BIT(INTENT) },
	{ "commit", offsetof(struct ledger_entry, commit), ALL,
	  BIT(INTENT) | BIT(DONE) | BIT(GLASS) },
	{ "promotion", offsetof(struct ledger_entry, promotion),
	  BIT(INTENT) | BIT(DONE) | BIT(ABORTED), BIT(INTENT) | BIT(DONE) },
	{ "statement", offsetof(struct ledger_entry, statement), BIT(INTENT) | BIT(GLASS),
	  BIT(INTENT) | BIT(GLASS) },
	{ "run", offsetof(struct ledger_entry, run), BIT(INTENT) | BIT(ABORTED), BIT(INTENT) },
	{ "nonce", offsetof(struct ledger_entry, nonce), BIT(INTENT) | BIT(ABORTED), BIT(INTENT) },
	{ "attestations", offsetof(struct ledger_entry, attestations), BIT(INTENT) | BIT(DONE),
	  BIT(INTENT) | BIT(DONE) },
	{ "reason", offsetof(struct ledger_entry, reason), BIT(ABORTED), BIT(ABORTED) },
	{ "why", offsetof(struct ledger_entry, why), BIT(ABORTED) | BIT(GLASS) | BIT(KEY),
	  BIT(GLASS) },
	{ "by", offsetof(struct ledger_entry, by), BIT(GLASS), BIT(GLASS) },
	{ "role", offsetof(struct ledger_entry, role), BIT(KEY), BIT(KEY) },
	{ "old", offsetof(struct ledger_entry, old_key), BIT(KEY), 0 },
	{ "new", offsetof(struct ledger_entry, new_key), BIT(KEY), 0 },
	{ "since", offsetof(struct ledger_entry, since), BIT(KEY), 0 },
};

static const char *const kinds[] = {
#define WEIR_X(id, name) name,
	LEDGER_KINDS(WEIR_X)
#undef WEIR_X
};

const char *ledger_kind_name(enum ledger_kind kind)
{
	return kind < LEDGER_KIND_COUNT ? kinds[kind] : "unknown";
}

static char **text_at(const struct ledger_entry *n, const struct field *f)
{
	return (char **)((char *)(uintptr_t)n + f->offset);
}

void ledger_entry_done(struct ledger_entry *n)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		free(*text_at(n, &fields[i]));
	*n = (struct ledger_entry){ 0 };
}

int ledger_entry_format(const struct ledger_entry *n, struct buf *ret_text)
{
	long long now = n->time ? n->time : time(NULL);
	cleanup_json json_t *root = json_pack("{s:s, s:s, s:I}", "schema", LEDGER_SCHEMA, "kind",
					      ledger_kind_name(n->kind), "time", (json_int_t)now);
	int err = root ? 0 : -ENOMEM;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(fields); i++) {
		const char *text = *text_at(n, &fields[i]);

		if (fields[i].kinds & 1u << n->kind)
			err = json_object_set_new(root, fields[i].name,
						  text && text[0] ? json_escaped(text)
								  : json_null());
	}
	if (err == 0 && (ENDS & 1u << n->kind))
		err = json_object_set_new(root, "intent",
					  n->intent < 0 ? json_null() : json_integer(n->intent));
	return err < 0 ? -ENOMEM : json_canonical(root, ret_text);
}

static int parse(const json_t *root, struct ledger_entry *n)
{
	const json_t *intent = json_object_get(root, "intent");
	const json_t *when = json_object_get(root, "time");
	unsigned int members = 3;

	n->kind = LEDGER_KIND_COUNT;
	for (unsigned int i = 0; i < LEDGER_KIND_COUNT; i++)
		if (json_text_is(root, "kind", kinds[i]))
			n->kind = (enum ledger_kind)i;
	if (n->kind == LEDGER_KIND_COUNT || !json_text_is(root, "schema", LEDGER_SCHEMA) ||
	    !json_is_integer(when))
		return -EBADMSG;
	n->time = json_integer_value(when);
	n->intent = json_is_integer(intent) ? json_integer_value(intent) : -1;
	if (ENDS & 1u << n->kind) {
		members++;
		if (n->intent < 0 && (n->kind == LEDGER_DONE || !json_is_null(intent)))
			return -EBADMSG;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		if (!(f->kinds & 1u << n->kind))
			continue;
		members++;
		if (json_is_null(json_object_get(root, f->name)) && !(f->needed & 1u << n->kind))
			continue;
		*text_at(n, f) = json_take_escaped(root, f->name);
		if (!*text_at(n, f))
			return -EBADMSG;
	}
	return json_object_size(root) == members ? 0 : -EBADMSG;
}

int ledger_entry_parse(const char *text, size_t len, struct ledger_entry *ret_entry,
		       struct weir_err *e)
{
	cleanup_json json_t *root = json_read(text, len, "ledger entry", e);

	*ret_entry = (struct ledger_entry){ .intent = -1 };
	if (!root)
		return -EBADMSG;
	if (parse(root, ret_entry) == 0)
		return 0;
	ledger_entry_done(ret_entry);
	return err_set(e, -EBADMSG, "a ledger entry is none of weir's");
}
