/* SPDX-License-Identifier: MIT */
/* A review for programs; contract in review.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/digest.h"
#include "writeback/json.h"
#include "writeback/rebase.h"
#include "writeback/review.h"

static const char *text_of(const struct buf *b)
{
	return buf_str(b);
}

static json_t *texts_json(const struct gate_texts *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(list->items[i]));
	return array;
}

/* Lines of a text; all "KEY " lines of the promotion, or each line when key is NULL. */
static json_t *lines_json(const char *text, const char *key)
{
	size_t len = key ? strlen(key) : 0;
	json_t *array = json_array();

	for (const char *at = text; *at;) {
		size_t line = strcspn(at, "\n");

		if (!key)
			json_array_append_new(array, json_stringn(at, line));
		else if (strncmp(at, key, len) == 0 && at[len] == ' ')
			json_array_append_new(array, json_stringn(at + len + 1, line - len - 1));
		at += line + (at[line] == '\n');
	}
	return array;
}

static json_t *needs_json(const struct approve_tally *t)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (t->need[i] > 0)
			json_array_append_new(
				array, json_pack("{s:s, s:i, s:i}", "role", role_name((enum role)i),
						 "need", (int)t->need[i], "have", (int)t->have[i]));
	return array;
}

static json_t *skipped_json(const struct review *r)
{
	struct gate_texts lines = { 0 };
	json_t *array = review_skipped(r, &lines) < 0 ? NULL : texts_json(&lines);

	gate_texts_done(&lines);
	return array;
}

static int add_facts(const struct review *r, json_t *root)
{
	static const char *const keys[] = { "run",    "repository", "ref",  "base",   "tree",
					    "author", "verdict",    "exit", "review", REBASE_KEY };
	const char *text = text_of(&r->pending->promotion);
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		cleanup_buf struct buf value = { 0 };

		if (digest_find(text, keys[i], &value) == 0)
			err |= json_object_set_new(root, keys[i], json_string(buf_str(&value)));
	}
	err |= json_object_set_new(root, "schema", json_string("weir.review/1"));
	err |= json_object_set_new(root, "promotion", json_string(r->pending->digest));
	err |= json_object_set_new(root, "message", json_escaped(text_of(&r->pending->message)));
	err |= json_object_set_new(root, "producers", lines_json(text, "producer"));
	err |= json_object_set_new(root, "break_glass", lines_json(text, "break-glass"));
	err |= json_object_set_new(root, "exceptions", lines_json(text, "exception"));
	err |= json_object_set_new(root, "needs", needs_json(r->tally));
	err |= json_object_set_new(root, "missing", json_string(text_of(&r->tally->missing)));
	err |= json_object_set_new(root, "rejected", json_string(text_of(&r->tally->rejected)));
	err |= json_object_set_new(root, "approvers", texts_json(&r->tally->approvers));
	err |= json_object_set_new(root, "ignored", lines_json(text_of(&r->tally->ignored), NULL));
	err |= json_object_set_new(
		root, "findings",
		json_loadb(text_of(&r->pending->findings), r->pending->findings.len, 0, NULL));
	err |= json_object_set_new(
		root, "left_behind",
		json_loadb(text_of(&r->pending->left), r->pending->left.len, 0, NULL));
	err |= json_object_set_new(root, "skipped", skipped_json(r));
	return err ? -ENOMEM : 0;
}

static json_t *roles_json(uint32_t roles)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (roles & 1u << i)
			json_array_append_new(array, json_string(role_name((enum role)i)));
	return array;
}

static json_t *change_json(const struct review_change *c, const struct review_content *content)
{
	static const char *const kinds[] = { [REVIEW_TEXT] = "text",
					     [REVIEW_BINARY] = "binary",
					     [REVIEW_LINK] = "link",
					     [REVIEW_SUBMODULE] = "submodule" };
	char letter[2] = { c->letter, '\0' }, old_mode[8], new_mode[8];
	bool text = content->kind == REVIEW_TEXT;

	snprintf(old_mode, sizeof(old_mode), "%06o", c->old_mode & 0777777);
	snprintf(new_mode, sizeof(new_mode), "%06o", c->new_mode & 0777777);
	return json_pack(
		"{s:s, s:o, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:o, s:b, s:s, s:s, s:s, s:o}",
		"change", letter, "path", json_escaped(c->path), "old_mode", old_mode, "new_mode",
		new_mode, "size", (json_int_t)c->size, "old_size", (json_int_t)content->old_size,
		"sha256", c->sha256, "old_id", c->old_id, "new_id", c->new_id, "roles",
		roles_json(c->roles), "finding", c->found, "kind", kinds[content->kind],
		"old_target", text_of(&content->old_target), "new_target",
		text_of(&content->new_target), "diff",
		text ? json_string(text_of(&content->diff)) : json_null());
}

int review_json(const struct review *r, FILE *out, struct weir_err *e)
{
	cleanup_json json_t *root = json_object();
	cleanup_buf struct buf text = { 0 };
	json_t *changes = json_array();
	int err = add_facts(r, root);

	for (size_t i = 0; err == 0 && i < r->count; i++) {
		cleanup_review_content struct review_content content = { 0 };

		err = review_content(r, &r->changes[i], &content, e);
		if (err == 0 &&
		    json_array_append_new(changes, change_json(&r->changes[i], &content)) < 0)
			err = err_errno(e, -ENOMEM, "printing the review");
		if (err < 0) {
			json_decref(changes);
			return err;
		}
	}
	if (json_object_set_new(root, "changes", changes) < 0 || err < 0 ||
	    json_canonical(root, &text) < 0)
		return err_errno(e, -ENOMEM, "printing the review");
	fwrite(text.data, 1, text.len, out);
	return 0;
}
