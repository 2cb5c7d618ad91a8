/* SPDX-License-Identifier: MIT */
/*
 * Step 7, commit: the commit object, made from quarantined objects and signed, or a tag. It is written
 * by publish. Trailers (git-interpret-trailers(1)), the last paragraph of the message: those of the
 * kind (writeback/kind.h), and
 *
 *   Weir-Promotion: sha256:H  (writeback/digest.h)
 *   Weir-Ledger: N sha256:H   size and root of the ledger before this promotion
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "writeback/digest.h"
#include "writeback/keys.h"
#include "writeback/message.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

/* Source of the format: git-mktag(1). */
static void add_tag_head(const struct promotion *p, struct buf *b)
{
	const struct gate_config *c = p->config;

	buf_addf(b, "object %s\ntype commit\ntag %s\ntagger ", p->order.object,
		 strrchr(p->target, '/') + 1);
	if (p->author)
		buf_addf(b, "%s %lld +0000\n", p->author, (long long)time(NULL));
	else
		buf_addf(b, "%s <%s> %lld +0000\n", c->name, c->email, (long long)time(NULL));
}

static void add_head(const struct promotion *p, struct buf *b)
{
	const struct gate_config *c = p->config;
	long long now = time(NULL);
	char tree[OID_HEX];

	if (kind_of(p->kind)->is_tag) {
		add_tag_head(p, b);
		return;
	}
	git_oid_tostr(tree, sizeof(tree), &p->tree);
	buf_addf(b, "tree %s\nparent %s\n", tree, p->base_hex);
	if (p->author)
		buf_addf(b, "author %s %lld +0000\n", p->author, now);
	else
		buf_addf(b, "author %s <%s> %lld +0000\n", c->name, c->email, now);
	buf_addf(b, "committer %s <%s> %lld +0000\n", c->name, c->email, now);
}

static void add_message(const struct promotion *p, struct buf *b)
{
	const struct tlog_checkpoint *ledger = &p->ledger->log.checkpoint;
	const struct kind_trailer *t = kind_of(p->kind)->trailers;
	char root[DIGEST_HEX];

	digest_hex(ledger->root.bytes, DIGEST_SIZE, root);
	buf_add(b, "\n", 1);
	message_add(b, p->message);
	buf_add(b, "\n", 1);
	for (; t->trailer; t++) {
		cleanup_buf struct buf value = { 0 };

		if (digest_find(buf_str(&p->digest_text), t->key, &value) < 0)
			b->failed = true;
		buf_addf(b, "%s: %s%s\n", t->trailer, t->prefix, buf_str(&value));
	}
	buf_addf(b, "Weir-Promotion: sha256:%s\n", p->digest);
	buf_addf(b, KIND_LEDGER_TRAILER ": %llu sha256:%s\n", (unsigned long long)ledger->size,
		 root);
}

/* "gpgsig" with its lines indented, as git writes header fields of several lines. */
static void add_signature(struct buf *b, const struct buf *armor)
{
	buf_addf(b, "gpgsig ");
	for (size_t i = 0; i + 1 < armor->len; i++)
		buf_add(b, armor->data[i] == '\n' ? "\n " : &armor->data[i],
			armor->data[i] == '\n' ? 2 : 1);
	buf_add(b, "\n", 1);
}

/* A run's id goes into a trailer: only what ids are made of. */
static int check_run_id(const struct promotion *p, struct weir_err *e)
{
	const char *run = p->statement.run;

	if (run[0] == '\0' || strlen(run) > 64 ||
	    strspn(run, "0123456789abcdefghijklmnopqrstuvwxyz-") != strlen(run))
		return refuse(e, REASON_STATEMENT, "statement.json: bad run id");
	return 0;
}

int step_commit(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_buf struct buf plain = { 0 };
	cleanup_buf struct buf armor = { 0 };
	struct buf *b = &p->commit_data;
	bool is_tag = kind_of(p->kind)->is_tag;
	size_t head;
	int err = message_check(p->message, e);

	(void)ret_answer;
	if (err == 0 && p->author)
		err = message_check_author(p->author, e);
	if (err == 0)
		err = check_run_id(p, e);
	if (err < 0)
		return err;
	add_head(p, &plain);
	head = plain.len;
	add_message(p, &plain);
	if (plain.failed)
		return err_errno(e, -ENOMEM, "making the commit");
	err = keys_sign_commit(p->config, plain.data, plain.len, &armor, e);
	if (err < 0)
		return err;
	buf_add(b, plain.data, head);
	if (!is_tag)
		add_signature(b, &armor);
	buf_add(b, plain.data + head, plain.len - head);
	/* git has the signature of a tag behind its message */
	if (is_tag)
		buf_add(b, armor.data, armor.len);
	if (b->failed ||
	    repo_hash(is_tag ? GIT_OBJECT_TAG : GIT_OBJECT_COMMIT, b->data, b->len, &p->commit) < 0)
		return err_errno(e, -ENOMEM, "making the commit");
	return 0;
}
