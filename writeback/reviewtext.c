/* SPDX-License-Identifier: MIT */
/* A review for people; contract in review.h. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/digest.h"
#include "writeback/json.h"
#include "writeback/rebase.h"
#include "writeback/review.h"

static const char *text_of(const struct buf *b)
{
	return buf_str(b);
}

static void print_line(FILE *out, const struct review *r, const char *key, const char *label)
{
	cleanup_buf struct buf value = { 0 };

	/* values of the promotion text are escaped there */
	if (digest_find(text_of(&r->pending->promotion), key, &value) == 0)
		fprintf(out, "%-11s %s\n", label, buf_str(&value));
}

static void print_message(FILE *out, const struct review *r)
{
	const char *at = text_of(&r->pending->message);

	fputs("message\n", out);
	while (*at) {
		size_t len = strcspn(at, "\n");
		cleanup_buf struct buf line = { 0 };

		buf_add_escaped(&line, at, len);
		fprintf(out, "    %s\n", buf_str(&line));
		at += len + (at[len] == '\n');
	}
}

static void print_each(FILE *out, const struct review *r, const char *key)
{
	cleanup_buf struct buf want = { 0 };
	const char *at = text_of(&r->pending->promotion);

	buf_addf(&want, "\n%s ", key);
	while ((at = strstr(at, buf_str(&want)))) {
		at += want.len;
		fprintf(out, "%-11s %.*s\n", key, (int)strcspn(at, "\n"), at);
	}
}

static void print_tally(FILE *out, const struct approve_tally *t)
{
	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (t->need[i] > 0)
			fprintf(out, "%-11s %u of %u %s\n", "approvals", t->have[i], t->need[i],
				role_name((enum role)i));
	for (size_t i = 0; i < t->approvers.count; i++)
		fprintf(out, "%-11s %s\n", "approved by", t->approvers.items[i]);
	if (t->missing.len > 0)
		fprintf(out, "%-11s %s\n", "missing", text_of(&t->missing));
	if (t->rejected.len > 0)
		fprintf(out, "%-11s %s\n", "rejected", text_of(&t->rejected));
	if (t->ignored.len > 0)
		fprintf(out, "statements that do not count:\n%s", text_of(&t->ignored));
}

static const char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The lists that the gate kept as JSON: their texts are escaped. */
static void print_findings(FILE *out, const json_t *findings)
{
	json_t *item;
	size_t i;

	fprintf(out, "\n%zu finding%s%s\n", json_array_size(findings),
		json_array_size(findings) == 1 ? "" : "s",
		json_array_size(findings) ? ", each to be acknowledged:" : "");
	json_array_foreach (findings, i, item) {
		const char *place = string_of(item, "place"), *detail = string_of(item, "detail");

		fprintf(out, "  %s\n    %s%s%s: %s%s%s (%s, for %s%s)\n", string_of(item, "id"),
			string_of(item, "path"), place[0] ? ":" : "", place, string_of(item, "why"),
			detail[0] ? ": " : "", detail, string_of(item, "severity"),
			string_of(item, "role"),
			json_is_true(json_object_get(item, "accepted")) ? ", accepted by exception"
									: "");
	}
}

static void print_left(FILE *out, const json_t *left)
{
	json_t *item;
	size_t i;

	fprintf(out, "\n%zu changed file%s left behind\n", json_array_size(left),
		json_array_size(left) == 1 ? " is" : "s are");
	json_array_foreach (left, i, item)
		fprintf(out, "  %s %s%s%s\n", string_of(item, "change"), string_of(item, "path"),
			json_is_true(json_object_get(item, "tracked")) ? " (tracked)" : "",
			json_is_true(json_object_get(item, "ignored")) ? " (ignored)" : "");
}

static int print_skipped(FILE *out, const struct review *r)
{
	struct gate_texts lines = { 0 };
	int err = review_skipped(r, &lines);

	fprintf(out, "\n%zu thing%s not checked or not shown\n", lines.count,
		lines.count == 1 ? "" : "s");
	for (size_t i = 0; i < lines.count; i++)
		fprintf(out, "  %s\n", lines.items[i]);
	gate_texts_done(&lines);
	return err;
}

static void print_head(FILE *out, const struct review_change *c)
{
	cleanup_buf struct buf path = { 0 };

	buf_add_escaped(&path, c->path, c->len);
	fprintf(out, "\n%c %s", c->letter, buf_str(&path));
	for (unsigned int i = 0; i < ROLE_COUNT; i++)
		if (c->roles & 1u << i)
			fprintf(out, " [%s]", role_name((enum role)i));
	if (c->found)
		fputs(" [finding]", out);
	fputc('\n', out);
	if (c->old_mode != c->new_mode)
		fprintf(out, "  mode %06o -> %06o\n", c->old_mode, c->new_mode);
	else
		fprintf(out, "  mode %06o\n", c->new_mode);
}

static int print_change(FILE *out, const struct review *r, const struct review_change *c,
			struct weir_err *e)
{
	cleanup_review_content struct review_content content = { 0 };
	int err = review_content(r, c, &content, e);

	if (err < 0)
		return err;
	print_head(out, c);
	if (c->old_mode)
		fprintf(out, "  was %llu bytes, git %s\n", (unsigned long long)content.old_size,
			c->old_id);
	if (c->new_mode)
		fprintf(out, "  now %llu bytes, git %s, sha256:%s\n", (unsigned long long)c->size,
			c->new_id, c->sha256);
	if (c->old_mode == GIT_MODE_LINK)
		fprintf(out, "  was a link to %s\n", buf_str(&content.old_target));
	if (c->new_mode == GIT_MODE_LINK)
		fprintf(out, "  a link to %s\n", buf_str(&content.new_target));
	if (content.kind == REVIEW_BINARY)
		fputs("  binary or large: not shown by lines\n", out);
	if (content.kind == REVIEW_SUBMODULE)
		fputs("  a submodule\n", out);
	fwrite(buf_str(&content.diff), 1, content.diff.len, out);
	return 0;
}

static void print_top(FILE *out, const struct review *r)
{
	char when[SIGNED_TIME];

	signed_time_format(r->pending->proposed, when);
	fprintf(out, "promotion   sha256:%s\nproposed    %s\n", r->pending->digest, when);
	print_line(out, r, "kind", "kind");
	print_line(out, r, "run", "run");
	print_line(out, r, "object", "about");
	print_line(out, r, "repository", "repository");
	print_line(out, r, "ref", "ref");
	print_line(out, r, "base", "base");
	print_line(out, r, REBASE_KEY, "run began");
	print_each(out, r, "break-glass");
	print_line(out, r, "tree", "tree");
	print_line(out, r, "verdict", "verdict");
	print_line(out, r, "exit", "exit");
	print_line(out, r, "author", "author");
	print_message(out, r);
	print_each(out, r, "producer");
	print_each(out, r, "exception");
	print_tally(out, r->tally);
}

int review_text(const struct review *r, FILE *out, struct weir_err *e)
{
	const struct pending *p = r->pending;
	cleanup_json json_t *findings = json_loadb(text_of(&p->findings), p->findings.len, 0, NULL);
	cleanup_json json_t *left = json_loadb(text_of(&p->left), p->left.len, 0, NULL);
	int err = 0;

	if (!findings || !left)
		return err_set(e, -EBADMSG, "the proposal's lists can't be read");
	print_top(out, r);
	print_findings(out, findings);
	if (print_skipped(out, r) < 0)
		return err_errno(e, -ENOMEM, "printing");
	print_left(out, left);
	fprintf(out, "\n%zu changed file%s\n", r->count, r->count == 1 ? "" : "s");
	for (size_t i = 0; err == 0 && i < r->count; i++)
		err = print_change(out, r, &r->changes[i], e);
	if (err == 0 && r->tally->missing.len > 0)
		fprintf(out,
			"\na yes to all of this: weir approve --nonce %s --promotion %s -k KEY\n",
			p->nonce, p->digest);
	return err;
}
