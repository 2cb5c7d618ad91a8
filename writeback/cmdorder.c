/* SPDX-License-Identifier: MIT */
/*
 * weir-gate revert and tag: promotions that no run made. The first call writes the order and proposes; when
 * people have signed, the same call goes on with it.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/usage.h"
#include "writeback/caller.h"
#include "writeback/command.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/message.h"
#include "writeback/promotion.h"
#include "writeback/proposal.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/remote.h"
#include "writeback/report.h"
#include "writeback/revision.h"

struct args {
	enum promotion_kind kind;
	const char *tag;
	const char *commit;
	const char *ref;
	const char *message;
	const char *author;
	bool json;
	uid_t caller;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'r':
		a->ref = arg;
		return 0;
	case 'm':
		a->message = arg;
		return 0;
	case 'a':
		a->author = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->kind == KIND_TAG && !a->tag) {
			a->tag = arg;
			return 0;
		}
		if (a->commit)
			usage_error(state, "one commit at a time");
		a->commit = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->kind == KIND_TAG ? !a->tag : !a->commit)
			usage_error(state, "%s is missing",
				    a->kind == KIND_TAG ? "NAME" : "COMMIT");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* "Revert "SUBJECT"", as git words it, or the name of the tag; what a message can't hold is left
 * out. */
static int make_message(const struct args *a, const struct promotion *p, struct buf *ret_message,
			struct weir_err *e)
{
	git_commit *commit = NULL;
	char hex[OID_HEX];
	struct weir_err none = { 0 };
	const char *subject;

	if (a->tag)
		return buf_addf(ret_message, "%s\n", a->tag) < 0
			       ? err_errno(e, -ENOMEM, "making the message")
			       : 0;
	if (git_commit_lookup(&commit, p->repo.git, &p->object) < 0)
		return repo_error(e, "reading the commit");
	subject = git_commit_summary(commit);
	if (!subject || message_check(subject, &none) < 0)
		subject = "a commit";
	git_oid_tostr(hex, sizeof(hex), &p->object);
	buf_addf(ret_message, "Revert \"%s\"\n\nThis reverts commit %s.\n", subject, hex);
	git_commit_free(commit);
	return ret_message->failed ? err_errno(e, -ENOMEM, "making the message") : 0;
}

/* Whether a proposal is of the same order; it goes on then, unless another message or author asks
 * for a new one. */
static bool is_same(const struct args *a, const struct promotion *p, struct pending *x)
{
	cleanup_order struct order o = { 0 };
	cleanup_buf struct buf message = { 0 };
	struct weir_err none = { 0 };
	char object[OID_HEX];

	if (a->message)
		message_add(&message, a->message);
	git_oid_tostr(object, sizeof(object), &p->object);
	return order_parse(buf_str(&x->statement), x->statement.len, &o, &none) == 0 &&
	       o.kind == a->kind && strcmp(o.ref, a->ref) == 0 && strcmp(o.object, object) == 0 &&
	       (!a->message || strcmp(buf_str(&message), buf_str(&x->message)) == 0) &&
	       (!a->author || strcmp(a->author, buf_str(&x->author)) == 0);
}

/* Returns: 1 with p->pending, 0 when there is none, or a negative errno with e. */
static int find_proposal(const struct args *a, struct promotion *p, struct weir_err *e)
{
	struct gate_texts all = { 0 };
	int err = pending_list(&p->repo, &all, e);

	for (size_t i = 0; err == 0 && i < all.count; i++) {
		struct weir_err none = { 0 };

		/* one that is damaged is not this one */
		if (pending_open(&p->repo, all.items[i], &p->pending, &none) < 0)
			continue;
		if (is_same(a, p, &p->pending))
			err = 1;
		else
			pending_done(&p->pending);
	}
	gate_texts_done(&all);
	return err;
}

/* A nonce of its own makes the order one for one use. */
static int write_order(const struct args *a, struct promotion *p, struct weir_err *e)
{
	const struct gate_config *c = p->config;
	cleanup_nonce struct nonce n = { .repository = strdup(c->repository),
					 .ref = strdup(a->ref),
					 .workspace = strdup("-") };
	struct order o = { .kind = a->kind, .ref = n.ref, .caller = a->caller };
	git_oid base = p->object;
	int err = 0;

	if (!n.repository || !n.ref || !n.workspace)
		return err_errno(e, -ENOMEM, "writing the order");
	if (!a->tag)
		err = repo_read_ref(&p->repo, a->ref, &base, e);
	if (err < 0)
		return err == -ENOENT ? refuse(e, REASON_REF, "there is no %s", a->ref) : err;
	memcpy(n.repo_id, c->id, sizeof(n.repo_id));
	git_oid_tostr(n.commit, sizeof(n.commit), &base);
	err = nonce_issue(&n, e);
	if (err < 0)
		return err;
	memcpy(o.nonce, n.id, sizeof(o.nonce));
	memcpy(o.repository, c->id, sizeof(o.repository));
	memcpy(o.base, n.commit, sizeof(o.base));
	git_oid_tostr(o.object, sizeof(o.object), &p->object);
	return order_format(&o, &p->statement_text) < 0 ? err_errno(e, -ENOMEM, "writing the order")
							: 0;
}

static int begin(const struct args *a, struct promotion *p, struct buf *message, struct weir_err *e)
{
	struct pending *x = &p->pending;
	int err = revision_find(&p->repo, a->commit, &p->object, e);

	if (err == 0 && !a->tag && !gate_texts_have(&p->config->refs, a->ref))
		err = refuse(e, REASON_REF, "%s is no promotable ref", a->ref);
	if (err == 0)
		err = find_proposal(a, p, e);
	if (err == 1) {
		p->resumed = true;
		p->message = buf_str(&x->message);
		p->author = x->author.len ? buf_str(&x->author) : NULL;
		return buf_add(&p->statement_text, x->statement.data, x->statement.len) < 0
			       ? err_errno(e, -ENOMEM, "reading the proposal")
			       : 0;
	}
	if (err == 0 && !a->message)
		err = make_message(a, p, message, e);
	p->message = a->message ? a->message : buf_str(message);
	p->author = a->author;
	return err < 0 ? err : write_order(a, p, e);
}

static int print_result(const struct args *a, const struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };

	if (!a->json) {
		report_text(p, stdout);
		return 0;
	}
	if (report_json(p, &text) < 0)
		return err_errno(e, -ENOMEM, "reporting the promotion");
	fputs(buf_str(&text), stdout);
	return 0;
}

static int keep_order(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_promotion struct promotion p = {
		.kind = a->kind, .repo = { .fd = -1 }, .pending = { .dir = -1 }, .quarantine = -1
	};
	cleanup_gateledger struct gateledger ledger = { .log.dir = -1 };
	cleanup_buf struct buf message = { 0 };
	cleanup_close int lock = -1;
	int err = proposal_open_repo(c, &p.repo, &lock, e);

	if (err == 0)
		err = gateledger_open(c, &p.repo, &ledger, e);
	if (err == 0)
		err = publish_recover(&p.repo, c, &ledger, e);
	if (err == 0 && remote_is_used(c))
		err = remote_follow(c, &p.repo, false, e);
	p.config = c;
	p.ledger = &ledger;
	p.caller = a->caller;
	p.reader = -1;
	for (unsigned int i = 0; i < RUN_FILES; i++)
		p.files[i] = -1;
	if (err == 0)
		err = begin(a, &p, &message, e);
	if (err < 0)
		return err;
	err = gate_run(&p, e);
	if (err < 0)
		promotion_record_refusal(&p, e);
	publish_drop_quarantine(&p.repo, p.nonce.id);
	if (err < 0)
		return err;
	pending_drop(&p.repo, p.nonce.id);
	return print_result(a, &p, e);
}

static int command(int argc, char **argv, const struct argp *argp, struct args *a)
{
	cleanup_config struct gate_config c = { 0 };
	cleanup_free char *tag = NULL;
	struct weir_err e = { 0 };

	usage_parse(argp, argc, argv, 0, a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	a->caller = caller_uid();
	if (config_load(&c, &e) < 0)
		return gate_fail(&e);
	if (a->tag && asprintf(&tag, "refs/tags/%s", a->tag) < 0)
		return GATE_EXIT_FAILED;
	if (a->tag && !a->commit)
		a->commit = c.refs.items[0];
	if (a->tag || !a->ref)
		a->ref = a->tag ? tag : c.refs.items[0];
	return keeper_run(&c, keep_order, a, NULL, 0);
}

int command_revert(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "ref", 'r', "REF", 0, "branch whose tip it is (default: the first of gate.yaml)",
		  0 },
		{ "message", 'm', "MSG", 0, "default: Revert \"SUBJECT\"", 0 },
		{ "author", 'a', "\"NAME <EMAIL>\"", 0, "default: the gate", 0 },
		{ "json", 'j', NULL, 0, "print the result as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"COMMIT",
		"Undo the tip of a branch: propose a commit with the tree before it, and promote "
		"that when the role that writeback.revert names (default platform-owner) has "
		"signed it.\vExit status: 0 promoted, 122 refused (also: waits for people), 2 "
		"usage, 125 own failure.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { .kind = KIND_REVERT };

	return command(argc, argv, &argp, &a);
}

int command_tag(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "message", 'm', "MSG", 0, "default: NAME", 0 },
		{ "author", 'a', "\"NAME <EMAIL>\"", 0, "tagger (default: the gate)", 0 },
		{ "json", 'j', NULL, 0, "print the result as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"NAME [COMMIT]",
		"Name a promoted commit (default: the tip of the first branch of gate.yaml) for "
		"good: an annotated tag, signed by the gate. Who has to agree is what the commit's "
		"policy asks for all paths.\vExit status: 0 promoted, 122 refused (also: waits for "
		"people), 2 usage, 125 own failure.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { .kind = KIND_TAG };

	return command(argc, argv, &argp, &a);
}
