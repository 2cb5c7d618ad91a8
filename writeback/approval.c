/* SPDX-License-Identifier: MIT */
#include "writeback/approval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/digest.h"
#include "writeback/signedtext.h"

static const char *const decisions[] = {
#define WEIR_X(id, name) name,
	APPROVAL_DECISIONS(WEIR_X)
#undef WEIR_X
};

/* Texts of a statement that are copied as they are; the first five come from the promotion. */
static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "promotion", offsetof(struct approval, promotion) },
	{ "repository", offsetof(struct approval, repository) },
	{ "ref", offsetof(struct approval, ref) },
	{ "base", offsetof(struct approval, base) },
	{ "tree", offsetof(struct approval, tree) },
	{ "run", offsetof(struct approval, run) },
};

static char **text_at(const struct approval *a, size_t i)
{
	return (char **)((char *)(uintptr_t)a + texts[i].offset);
}

const char *approval_name(enum approval_decision decision)
{
	return (unsigned int)decision < ARRAY_SIZE(decisions) ? decisions[decision] : "none";
}

void approval_done(struct approval *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*text_at(a, i));
	free(a->reason);
	gate_texts_done(&a->acknowledged);
	*a = (struct approval){ 0 };
}

/* The ids of "finding ID ..." lines, each once. */
static int add_findings(struct approval *a, const char *promotion)
{
	static const char key[] = "\nfinding ";
	struct gate_texts *list = &a->acknowledged;

	for (const char *at = promotion; (at = strstr(at, key));) {
		cleanup_free char *id = NULL;

		at += sizeof(key) - 1;
		id = strndup(at, strcspn(at, " \n"));
		if (!id || (!gate_texts_have(list, id) && gate_texts_add(list, id) < 0))
			return -ENOMEM;
	}
	gate_texts_sort(list);
	return 0;
}

int approval_fill(struct approval *a, const char *promotion, size_t len)
{
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];

	if (strlen(promotion) != len || digest_bytes(promotion, len, hash) < 0)
		return -EBADMSG;
	digest_hex(hash, sizeof(hash), hex);
	a->promotion = strdup(hex);
	for (size_t i = 1; i < ARRAY_SIZE(texts); i++) {
		cleanup_buf struct buf value = { 0 };

		if (digest_find(promotion, texts[i].key, &value) < 0 ||
		    escape_undo((char *)(uintptr_t)buf_str(&value)) < 0)
			return -EBADMSG;
		*text_at(a, i) = strdup(buf_str(&value));
		if (!*text_at(a, i))
			return -ENOMEM;
	}
	return a->promotion ? add_findings(a, promotion) : -ENOMEM;
}

int approval_format(const struct approval *a, struct buf *ret_text)
{
	char from[SIGNED_TIME], until[SIGNED_TIME] = "";

	if (a->decision >= APPROVAL_DECISION_COUNT || a->role >= ROLE_COUNT ||
	    (a->until == 0) != (a->decision != APPROVAL_APPROVE))
		return -EINVAL;
	signed_time_format(a->from, from);
	if (a->until)
		signed_time_format(a->until, until);
	buf_addf(ret_text, "%s\n", APPROVAL_HEAD);
	signed_add(ret_text, "decision", decisions[a->decision]);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!*text_at(a, i))
			return -EINVAL;
		signed_add(ret_text, texts[i].key, *text_at(a, i));
	}
	signed_add(ret_text, "role", role_name(a->role));
	signed_add(ret_text, "from", from);
	signed_add(ret_text, "until", until);
	signed_add(ret_text, "reason", a->reason);
	for (size_t i = 0; i < a->acknowledged.count; i++)
		signed_add(ret_text, "acknowledge", a->acknowledged.items[i]);
	return ret_text->failed ? -ENOMEM : 0;
}

static int set_text(char **at, const char *value)
{
	if (*at)
		return -EBADMSG;
	*at = strdup(value ? value : "");
	return *at ? 0 : -ENOMEM;
}

static int read_line(const char *key, const char *value, void *arg)
{
	struct approval *a = arg;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			return set_text(text_at(a, i), value);
	if (strcmp(key, "reason") == 0)
		return value ? set_text(&a->reason, value) : 0;
	if (!value)
		return strcmp(key, "until") == 0 ? 0 : -EBADMSG;
	if (strcmp(key, "decision") == 0) {
		for (a->decision = 0; a->decision < APPROVAL_DECISION_COUNT; a->decision++)
			if (strcmp(decisions[a->decision], value) == 0)
				return 0;
		return -EBADMSG;
	}
	if (strcmp(key, "role") == 0) {
		a->role = role_find(value);
		return a->role < ROLE_COUNT ? 0 : -EBADMSG;
	}
	if (strcmp(key, "from") == 0)
		return signed_time_parse(value, &a->from) < 0 ? -EBADMSG : 0;
	if (strcmp(key, "until") == 0)
		return signed_time_parse(value, &a->until) < 0 ? -EBADMSG : 0;
	if (strcmp(key, "acknowledge") == 0) {
		const struct gate_texts *list = &a->acknowledged;

		if (list->count > 0 && strcmp(list->items[list->count - 1], value) >= 0)
			return -EBADMSG;
		return gate_texts_add(&a->acknowledged, value);
	}
	return -EBADMSG;
}

int approval_parse(const char *text, size_t len, struct approval *ret_approval)
{
	cleanup_buf struct buf again = { 0 };
	int err;

	*ret_approval = (struct approval){ 0 };
	err = len > APPROVAL_MAX ? -EBADMSG
				 : signed_each(text, len, APPROVAL_HEAD, read_line, ret_approval);
	if (err == 0)
		err = approval_format(ret_approval, &again);
	if (err == 0 && (again.len != len || memcmp(again.data, text, len) != 0))
		err = -EBADMSG;
	if (err < 0)
		approval_done(ret_approval);
	return err == -ENOMEM ? err : err < 0 ? -EBADMSG : 0;
}
