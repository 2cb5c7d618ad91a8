/* SPDX-License-Identifier: MIT */
/* A proposal made readable; contract in review.h. */
#include "writeback/review.h"

#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/glob.h"
#include "writeback/digest.h"
#include "writeback/hazard.h"
#include "writeback/json.h"
#include "writeback/pack.h"
#include "writeback/reason.h"

void review_done(struct review *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->changes[i].path);
	free(r->changes);
	*r = (struct review){ 0 };
}

static const char *text_of(const struct buf *b)
{
	return buf_str(b);
}

/* The proposal's pack becomes readable for this process alone. */
static int open_pack(struct repo *repo, const struct pending *p, struct weir_err *e)
{
	cleanup_close int fd = openat(p->dir, "q.pack", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_buf struct buf want = { 0 };
	cleanup_free char *path = NULL;
	git_odb_backend *backend = NULL;
	unsigned char sha256[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = fd < 0 ? -errno : pack_hash_file(fd, sha256);

	if (err < 0)
		return refuse(e, REASON_QUARANTINE, "the proposal's pack: %s", strerror(-err));
	digest_hex(sha256, sizeof(sha256), hex);
	if (digest_find(text_of(&p->promotion), "pack", &want) < 0 ||
	    strcmp(buf_str(&want), hex) != 0)
		return refuse(e, REASON_QUARANTINE, "the proposal's pack has other bytes");
	if (asprintf(&path, "%s/weir/pending/%s/q.idx", repo->path, p->nonce) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "reading the proposal");
	}
	if (git_odb_backend_one_pack(&backend, path) < 0 ||
	    git_odb_add_backend(repo->odb, backend, 1) < 0)
		return repo_error(e, "reading the proposal's pack");
	return 0;
}

static int parse_change(const char *line, size_t len, struct review_change *c)
{
	unsigned long long size;
	int used = 0;

	if (sscanf(line, "%c %o %o %llu %64[0-9a-f-] %40[0-9a-f-] %40[0-9a-f-] %n", &c->letter,
		   &c->old_mode, &c->new_mode, &size, c->sha256, c->old_id, c->new_id,
		   &used) != 7 ||
	    used == 0 || (size_t)used >= len)
		return -EBADMSG;
	c->size = size;
	c->path = strndup(line + used, len - (size_t)used);
	if (!c->path)
		return -ENOMEM;
	c->len = (size_t)escape_undo(c->path);
	return (long)c->len > 0 ? 0 : -EBADMSG;
}

static int read_changes(struct review *r)
{
	const char *at = strchr(text_of(&r->pending->changes), '\n');

	while (at && at[1]) {
		struct review_change *changes =
			reallocarray(r->changes, r->count + 1, sizeof(*changes));
		size_t len = strcspn(at + 1, "\n");
		int err;

		if (!changes)
			return -ENOMEM;
		r->changes = changes;
		changes[r->count] = (struct review_change){ 0 };
		err = parse_change(at + 1, len, &changes[r->count++]);
		if (err < 0)
			return err;
		at += 1 + len;
	}
	return 0;
}

static void mark_tiers(struct review_change *c, const struct policy *policy)
{
	for (size_t i = 0; i < policy->tiers.count; i++) {
		const struct policy_tier *t = &policy->tiers.items[i];

		if (t->role.value == POLICY_ROLE_APPROVER)
			continue;
		for (size_t k = 0; k < t->paths.count; k++)
			if (glob_match(t->paths.items[k].text, c->path, c->len))
				c->roles |= 1u << t->role.value;
	}
}

/* Findings as the gate kept them: path and role of each. */
static void mark_findings(struct review *r, const json_t *findings)
{
	size_t i;
	json_t *item;

	json_array_foreach (findings, i, item) {
		cleanup_free char *path = json_take_escaped(item, "path");
		const char *name = json_string_value(json_object_get(item, "role"));
		enum role role = name ? role_find(name) : ROLE_COUNT;

		for (size_t k = 0; path && k < r->count; k++) {
			if (strcmp(r->changes[k].path, path) != 0)
				continue;
			r->changes[k].found = true;
			if (role < ROLE_COUNT && role != ROLE_APPROVER)
				r->changes[k].roles |= 1u << role;
		}
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct review_change *x = a, *y = b;
	int left = x->roles ? 0 : x->found ? 1 : 2, right = y->roles ? 0 : y->found ? 1 : 2;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = left - right ? left - right : memcmp(x->path, y->path, len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

int review_load(struct repo *repo, const struct pending *pending, const struct approve_tally *tally,
		struct review *ret_review, struct weir_err *e)
{
	cleanup_policy struct policy *policy = NULL;
	cleanup_json json_t *findings = json_loadb(
		text_of(&pending->findings), pending->findings.len, JSON_REJECT_DUPLICATES, NULL);
	struct review *r = ret_review;
	struct weir_err cause = { 0 };
	int err = open_pack(repo, pending, e);

	if (err < 0)
		return err;
	*r = (struct review){ .pending = pending, .repo = repo, .tally = tally };
	err = policy_load("policy.yaml", text_of(&pending->policy), pending->policy.len, &policy,
			  &cause);
	if (err < 0)
		return refuse(e, REASON_VOID, "%s", cause.text);
	err = read_changes(r);
	if (err < 0 || !findings)
		return refuse(e, REASON_VOID, "the proposal's lists can't be read");
	for (size_t i = 0; i < r->count; i++)
		mark_tiers(&r->changes[i], policy);
	mark_findings(r, findings);
	if (r->count > 0)
		qsort(r->changes, r->count, sizeof(r->changes[0]), by_weight);
	return 0;
}

static int add_line(struct gate_texts *list, const char *fmt, const char *value)
{
	cleanup_buf struct buf b = { 0 };

	buf_addf(&b, "%s%s", fmt, value);
	return gate_texts_add(list, buf_str(&b));
}

int review_skipped(const struct review *r, struct gate_texts *ret_lines)
{
	const char *text = text_of(&r->pending->promotion);
	cleanup_buf struct buf strength = { 0 };
	cleanup_buf struct buf skipped = { 0 };
	int err = digest_find(text, "crosscheck", &strength);

	if (err == 0 && digest_find(text, "skipped", &skipped) == 0)
		err = add_line(
			ret_lines,
			"cross-check: what the trace does not name was not looked at; entries: ",
			buf_str(&skipped));
	else if (err == 0 && strcmp(buf_str(&strength), "full") != 0)
		err = add_line(
			ret_lines,
			"cross-check: unchanged files were compared by inode, size, mode and "
			"time, not by content: ",
			buf_str(&strength));
	if (err == -ENOENT)
		err = 0; /* no run, nothing to be checked against */
	for (size_t i = 0; err == 0 && i < r->count; i++) {
		const struct review_change *c = &r->changes[i];
		cleanup_buf struct buf path = { 0 };

		if (c->size <= REVIEW_DIFF_MAX)
			continue;
		buf_add_escaped(&path, c->path, c->len);
		err = add_line(ret_lines, "diff: too large to be shown by lines: ", buf_str(&path));
	}
	return err < 0 ? -ENOMEM : 0;
}
