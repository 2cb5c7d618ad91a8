/* SPDX-License-Identifier: MIT */
/* Step 5, digest: one SHA-256 over everything; format in digest.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/digest.h"
#include "writeback/glass.h"
#include "writeback/keys.h"
#include "writeback/message.h"
#include "writeback/promotion.h"
#include "writeback/rebase.h"
#include "writeback/signers.h"
#include "writeback/version.h"

static void add_line(struct buf *b, const char *key, const char *value)
{
	buf_addf(b, "%s ", key);
	if (value[0])
		buf_add_escaped(b, value, strlen(value));
	else
		buf_add(b, "-", 1);
	buf_add(b, "\n", 1);
}

static int add_hash(struct buf *b, const char *key, const void *data, size_t len)
{
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = digest_bytes(data, len, hash);

	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), hex);
	add_line(b, key, hex);
	return 0;
}

static void add_id(struct buf *b, const git_oid *oid, bool there)
{
	char hex[OID_HEX];

	git_oid_tostr(hex, sizeof(hex), oid);
	buf_addf(b, " %s", there ? hex : "-");
}

int digest_changes(const struct changes *c, struct buf *ret_text)
{
	struct buf *b = ret_text;

	buf_addf(b, "%s\n", CHANGES_HEAD);
	for (size_t i = 0; i < c->count; i++) {
		const struct change *change = &c->items[i];
		char hex[DIGEST_HEX];

		digest_hex(change->sha256, DIGEST_SIZE, hex);
		buf_addf(b, "%s %06o %06o %llu %s", change_letter(change), change->old_mode,
			 change->new_mode, (unsigned long long)change->size,
			 change->new_mode ? hex : "-");
		add_id(b, &change->old_oid, change->old_mode != 0);
		add_id(b, &change->oid, change->new_mode != 0);
		buf_add(b, " ", 1);
		buf_add_escaped(b, change->path, change->len);
		buf_add(b, "\n", 1);
	}
	return b->failed ? -ENOMEM : 0;
}

int digest_find(const char *text, const char *key, struct buf *ret_value)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return buf_add(ret_value, at + len + 1, strcspn(at + len + 1, "\n"));
	}
	return -ENOENT;
}

static int add_signers(const struct promotion *p, struct buf *b, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	int err = fsio_read_file(AT_FDCWD, p->config->signers, SIGNERS_MAX, &text, e);

	if (err < 0)
		return err;
	err = add_hash(b, "signers", buf_str(&text), text.len);
	return err < 0 ? err_errno(e, err, "hashing the signers") : 0;
}

static void add_run(const struct promotion *p, struct buf *b)
{
	const struct statement *s = &p->statement;
	char text[32];

	add_line(b, "run", s->run);
	add_line(b, "nonce", s->nonce);
	add_line(b, "statement", s->sha256);
	add_line(b, "host", s->host_key);
	add_line(b, "trace", s->trace_root);
	add_line(b, "counters", s->counters);
	add_line(b, "coverage", s->coverage);
	add_line(b, "before", s->manifest_before);
	add_line(b, "after", s->manifest_after);
	add_line(b, "policy", s->policy);
	add_line(b, "policy-source", p->policy_source);
	add_line(b, "verdict", verdict_name(p->verdict.value));
	if (s->exit_code >= 0)
		snprintf(text, sizeof(text), "code %d", s->exit_code);
	else
		snprintf(text, sizeof(text), "signal %d", s->exit_signal);
	add_line(b, "exit", text);
	add_line(b, "crosscheck", tree_strength_name(p->strength));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)p->hashed_files);
	add_line(b, "hashed", text);
	if (p->strength != TREE_STRENGTH_TRACE)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)p->skipped);
	add_line(b, "skipped", text);
}

/* What stands there for a promotion that no run made. */
static void add_order(const struct promotion *p, struct buf *b)
{
	add_line(b, "run", p->statement.run);
	add_line(b, "nonce", p->statement.nonce);
	add_line(b, "statement", p->statement.sha256);
	add_line(b, "object", p->order.object);
	add_line(b, "policy", p->statement.policy);
	add_line(b, "policy-source", p->policy_source);
}

/* Where it goes, and what must be there until then. */
static void add_dir(const struct promotion *p, struct buf *b)
{
	char old[OID_HEX] = "";

	if (!git_oid_is_zero(&p->old_dir))
		git_oid_tostr(old, sizeof(old), &p->old_dir);
	add_line(b, "directory", p->dir.name);
	add_line(b, "path", p->dir.path);
	add_line(b, "from", p->dir.from);
	add_line(b, "branch", p->nonce.ref);
	add_line(b, "old", old);
}

static int add_target(const struct promotion *p, struct buf *b)
{
	cleanup_buf struct buf author = { 0 };
	cleanup_buf struct buf message = { 0 };
	char hex[DIGEST_HEX], tree[OID_HEX];
	int err;

	git_oid_tostr(tree, sizeof(tree), &p->tree);
	buf_addf(b, "%s\n", PROMOTION_HEAD);
	if (p->kind != KIND_RUN)
		add_line(b, "kind", kind_of(p->kind)->name);
	add_line(b, "repository", p->config->id);
	add_line(b, "ref", p->target);
	if (kind_of(p->kind)->is_dir)
		add_dir(p, b);
	add_line(b, "base", p->base_hex);
	if (p->rebased)
		add_line(b, REBASE_KEY, p->nonce.commit);
	add_line(b, "tree", tree);
	err = add_hash(b, "changes", p->changes_text.data, p->changes_text.len);
	digest_hex(p->pack.sha256, DIGEST_SIZE, hex);
	add_line(b, "pack", hex);
	message_add(&message, p->message);
	if (err == 0)
		err = add_hash(b, "message", buf_str(&message), message.len);
	if (p->author)
		buf_addf(&author, "%s", p->author);
	else
		buf_addf(&author, "%s <%s>", p->config->name, p->config->email);
	add_line(b, "author", buf_str(&author));
	return err;
}

static void add_findings(const struct promotion *p, struct buf *b)
{
	bool strict = p->policy->strict.value != 0;

	for (size_t i = 0; i < p->hazards.count; i++) {
		const struct hazard *item = &p->hazards.items[i];

		buf_addf(b, "finding %s %s %s %llu ", item->id,
			 item->accepted ? "accepted" : hazard_severity(item->kind, strict),
			 item->place[0] ? item->place : "-", (unsigned long long)item->times);
		buf_add_escaped(b, item->path, strlen(item->path));
		buf_add(b, "\n", 1);
	}
}

/* A proposal that goes on must come out as it was signed; the first line that does not is named. */
static int compare(const struct promotion *p, struct weir_err *e)
{
	const char *old = buf_str(&p->pending.promotion);
	const char *now = buf_str(&p->digest_text);
	size_t line = 0;

	if (strcmp(old, now) == 0)
		return 0;
	for (size_t i = 0; old[i] && old[i] == now[i]; i++)
		if (old[i] == '\n')
			line = i + 1;
	return refuse(e, REASON_VOID, "since it was proposed, `%.*s` has changed",
		      (int)strcspn(old + line, " \n"), old[line] ? old + line : "the text");
}

/* What stands on commits that no gate saw says so. */
static int add_glass(const struct promotion *p, struct buf *b, struct weir_err *e)
{
	struct gate_texts commits = { 0 };
	int err = glass_collect(&p->repo, &p->base_commit, &commits, e);

	for (size_t i = 0; err == 0 && i < commits.count; i++)
		add_line(b, "break-glass", commits.items[i]);
	gate_texts_done(&commits);
	return err;
}

/* Keys are judged as of the entry that comes next; whoever verifies will do the same. */
static int add_keys(struct promotion *p, struct buf *b, struct weir_err *e)
{
	struct ledger *log = &p->ledger->log;
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf key = { 0 };
	cleanup_buf struct buf line = { 0 };
	struct weir_err cause = { 0 };
	int err = keyhist_load_cached(log, &p->repo, &p->keys, e);

	if (err < 0 || p->keys.count == 0)
		return err;
	err = keys_blob(p->config, &blob, e);
	if (err < 0)
		return err;
	if (keyhist_name(&blob, &key) < 0 || keyhist_line(&p->keys, &line) < 0)
		return err_errno(e, -ENOMEM, "the history of keys");
	if (keyhist_judge(&p->keys, KEYHIST_GATE, buf_str(&key), log->checkpoint.size, &cause) < 0)
		return refuse(e, REASON_KEY, "the gate's: %s", cause.text);
	if (kind_of(p->kind)->has_run &&
	    keyhist_judge(&p->keys, KEYHIST_HOST, p->statement.host_key, log->checkpoint.size,
			  &cause) < 0)
		return refuse(e, REASON_STATEMENT_SIGNATURE, "%s", cause.text);
	add_line(b, KEYHIST_FILE, buf_str(&line));
	return 0;
}

int step_digest(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	struct buf *b = &p->digest_text;
	unsigned char hash[DIGEST_SIZE];
	int err = message_check(p->message, e);

	(void)ret_answer;
	if (err == 0 && p->author)
		err = message_check_author(p->author, e);
	if (err < 0)
		return err;
	err = digest_changes(&p->changes, &p->changes_text);
	if (err == 0)
		err = add_target(p, b);
	if (err < 0)
		return err_errno(e, err, "making the promotion digest");
	err = add_glass(p, b, e);
	if (err < 0)
		return err;
	(kind_of(p->kind)->has_run ? add_run : add_order)(p, b);
	err = add_signers(p, b, e);
	if (err == 0 && promotion_asks_people(p))
		err = approve_find_producers(p, e);
	if (err == 0)
		err = approve_add_lines(p, b, e);
	if (err < 0)
		return err;
	err = add_keys(p, b, e);
	if (err < 0)
		return err;
	except_add_lines(&p->exceptions, b);
	add_findings(p, b);
	add_line(b, "gate", GATE_VERSION);
	if (b->failed || digest_bytes(b->data, b->len, hash) < 0)
		return err_errno(e, -ENOMEM, "making the promotion digest");
	digest_hex(hash, sizeof(hash), p->digest);
	return p->resumed ? compare(p, e) : 0;
}
