/* SPDX-License-Identifier: MIT */
/*
 * weir-gate approve, reject, withdraw. The keeper makes the statement, a process of the key's
 * owner signs it, the keeper takes it. With --print and --signature the middle happens elsewhere:
 *
 *   weir-gate approve --run DIR --promotion SHA256 --print >statement
 *   ssh-keygen -Y sign -f KEY -n approver@weir.v1 statement
 *   weir-gate approve --run DIR --statement statement --signature statement.sig
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/gittuf.h"
#include "writeback/keeper.h"
#include "writeback/kind.h"
#include "writeback/priv.h"
#include "writeback/proposal.h"
#include "writeback/reason.h"
#include "writeback/signer.h"
#include "writeback/sshsig.h"

#define NS_PER_S 1000000000ull

struct args {
	struct proposal_args at;
	enum approval_decision decision;
	const char *key;
	const char *agent;
	const char *role;
	const char *reason;
	const char *span;
	const char *promotion; /* that the person has looked at */
	const char *statement;
	const char *signature;
	const char *gittuf;
	const char *ack_list;
	struct gate_texts acknowledged;
	bool print;
	struct buf text;
	struct buf armor;
	int out; /* pipe to the parent */
};

enum key {
	KEY_AGENT = 0x100,
	KEY_ROLE,
	KEY_REASON,
	KEY_SPAN,
	KEY_PROMOTION,
	KEY_STATEMENT,
	KEY_SIGNATURE,
	KEY_GITTUF,
	KEY_ACK,
	KEY_ACK_LIST,
	KEY_PRINT,
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	const struct {
		int key;
		const char **at;
	} texts[] = { { 'k', &a->key },
		      { KEY_AGENT, &a->agent },
		      { KEY_ROLE, &a->role },
		      { KEY_REASON, &a->reason },
		      { KEY_SPAN, &a->span },
		      { KEY_PROMOTION, &a->promotion },
		      { KEY_STATEMENT, &a->statement },
		      { KEY_SIGNATURE, &a->signature },
		      { KEY_ACK_LIST, &a->ack_list },
		      { KEY_GITTUF, &a->gittuf } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (key != texts[i].key)
			continue;
		*texts[i].at = arg;
		return 0;
	}
	if (key == KEY_PRINT) {
		a->print = true;
		return 0;
	}
	if (key == KEY_ACK)
		return gate_texts_add(&a->acknowledged, arg) < 0 ? ENOMEM : 0;
	if (key == ARGP_KEY_END && !a->print && !a->key && !(a->statement && a->signature))
		usage_error(state,
			    "-k KEY is missing (or --print; or --statement and --signature)");
	if (key == ARGP_KEY_END && a->decision == APPROVAL_APPROVE && !a->promotion &&
	    !(a->statement && a->signature))
		usage_error(state,
			    "--promotion SHA256 is missing: a yes is to exactly the bytes that "
			    "you looked at, and weir-gate review tells their digest");
	if (key == ARGP_KEY_END && a->role && role_find(a->role) == ROLE_COUNT)
		usage_error(state, "there is no role %s", a->role);
	return proposal_option(&a->at, key, arg);
}

/* All findings are acknowledged by name, or none of it is signed. */
static int check_acknowledged(const struct args *a, const struct approval *want, struct weir_err *e)
{
	cleanup_buf struct buf open = { 0 };

	for (size_t i = 0; i < want->acknowledged.count; i++)
		if (!gate_texts_have(&a->acknowledged, want->acknowledged.items[i]))
			buf_addf(&open, "%s%s", open.len ? ", " : "", want->acknowledged.items[i]);
	if (open.len > 0)
		return refuse(e, REASON_ACKNOWLEDGE, "not acknowledged: %.600s", buf_str(&open));
	for (size_t i = 0; i < a->acknowledged.count; i++)
		if (!gate_texts_have(&want->acknowledged, a->acknowledged.items[i]))
			return refuse(e, REASON_ACKNOWLEDGE, "there is no finding %.100s",
				      a->acknowledged.items[i]);
	return 0;
}

static int set_window(const struct args *a, const struct proposal *x, struct approval *ret,
		      struct weir_err *e)
{
	const struct policy *policy = x->policy;
	int64_t longest = (int64_t)(policy->approval_window_ns.value / NS_PER_S);
	int64_t span = a->span ? signed_span_parse(a->span) : longest;
	int err = approve_next_from(&x->pending, time(NULL), &ret->from, e);

	if (err < 0 || ret->decision != APPROVAL_APPROVE)
		return err;
	if (span < 0)
		return refuse(e, REASON_WINDOW, "--for %.20s is no span such as 12h or 7d",
			      a->span);
	if (span > longest)
		return refuse(e, REASON_WINDOW, "%lld hours; the policy allows %lld",
			      (long long)span / 3600, (long long)longest / 3600);
	ret->until = ret->from + span;
	return 0;
}

/* The proposal that was named, for as long as the lock is held. */
static int open_proposal(const struct gate_config *c, const struct args *a, struct repo *ret_repo,
			 int *ret_lock, struct proposal *ret_proposal, struct weir_err *e)
{
	int err = proposal_open_repo(c, ret_repo, ret_lock, e);

	return err < 0 ? err : proposal_load(c, ret_repo, a->at.nonce, ret_proposal, e);
}

static int keep_statement(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	cleanup_approval struct approval says = { .decision = a->decision };
	cleanup_buf struct buf text = { 0 };
	cleanup_close int lock = -1;
	int err = open_proposal(c, a, &repo, &lock, &x, e);

	if (err < 0)
		return err;
	if (a->promotion && strcmp(a->promotion, x.pending.digest) != 0)
		return refuse(e, REASON_VOID, "the proposal is now sha256:%s", x.pending.digest);
	says.role = a->role ? role_find(a->role) : ROLE_APPROVER;
	err = approval_fill(&says, buf_str(&x.pending.promotion), x.pending.promotion.len);
	if (err < 0)
		return err_errno(e, err, "reading the proposal");
	if (a->decision == APPROVAL_APPROVE)
		err = check_acknowledged(a, &says, e);
	else
		gate_texts_done(&says.acknowledged);
	if (err == 0)
		err = set_window(a, &x, &says, e);
	if (err < 0)
		return err;
	if (a->reason && strlen(a->reason) > APPROVAL_REASON_MAX)
		return refuse(e, REASON_SIGNED_TEXT, "the reason is longer than %d bytes",
			      APPROVAL_REASON_MAX);
	says.reason = a->reason && a->reason[0] ? strdup(a->reason) : NULL;
	err = approval_format(&says, &text);
	if (err == 0)
		err = fsio_write_all(a->out, text.data, text.len);
	return err < 0 ? err_errno(e, err, "making the statement") : 0;
}

static void report(const struct args *a, const struct proposal *x)
{
	static const char *const done[] = { "approved", "rejected", "withdrawn from" };
	const struct approve_tally *t = &x->tally;
	struct buf promotion = x->pending.promotion; /* borrowed */

	printf("%s promotion sha256:%s\n", done[a->decision], x->pending.digest);
	if (t->rejected.len > 0)
		printf("rejected by %s\n", buf_str(&t->rejected));
	else if (t->missing.len > 0)
		printf("still missing: %s\n", buf_str(&t->missing));
	else
		printf("complete: promote it with `%s`\n",
		       kind_of(kind_of_text(buf_str(&promotion)))->again);
}

static int keep_signed(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	cleanup_close int lock = -1;
	int64_t window;
	int err = open_proposal(c, a, &repo, &lock, &x, e);

	if (err < 0)
		return err;
	window = (int64_t)(x.policy->approval_window_ns.value / NS_PER_S);
	err = approve_submit(&x.pending, &x.people, &a->text, &a->armor, window, time(NULL), e);
	if (err < 0)
		return err;
	approve_tally_done(&x.tally);
	err = approve_count(&x.pending, &x.people, time(NULL), &x.tally, e);
	if (err == 0)
		report(a, &x);
	return err;
}

/* Ids one a line: with many findings the command line would not hold them. */
static int read_acknowledged(struct args *a, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	char *at = NULL;
	int err = a->ack_list ? fsio_read_file(AT_FDCWD, a->ack_list, APPROVAL_MAX, &text, e) : 0;

	if (err < 0 || text.len == 0)
		return err;
	for (char *id = strtok_r(text.data, " \t\r\n", &at); id;
	     id = strtok_r(NULL, " \t\r\n", &at))
		if (gate_texts_add(&a->acknowledged, id) < 0)
			return err_errno(e, -ENOMEM, "%s", a->ack_list);
	return 0;
}

static int read_files(struct args *a, struct weir_err *e)
{
	int err = fsio_read_file(AT_FDCWD, a->statement, APPROVAL_MAX, &a->text, e);

	return err < 0 ? err : fsio_read_file(AT_FDCWD, a->signature, SSHSIG_MAX, &a->armor, e);
}

static int sign(const struct args *a, const struct approval *says, struct buf *ret_armor,
		struct weir_err *e)
{
	struct signing s = { .key = a->key,
			     .agent = a->agent,
			     .name_space = role_namespace(says->role),
			     .data = &a->text };
	int status = signer_sign(&s, ret_armor, e);

	if (status == 0 && a->gittuf)
		status = gittuf_write(&s, says, a->gittuf, e);
	return status;
}

static int act(const struct gate_config *c, struct args *a, struct weir_err *e)
{
	cleanup_approval struct approval says = { 0 };
	int status;

	if (a->statement && a->signature) {
		if (read_files(a, e) < 0)
			return -1;
		return keeper_run(c, keep_signed, a, NULL, 0);
	}
	status = keeper_ask(c, keep_statement, a, &a->out, APPROVAL_MAX, &a->text);
	if (status != 0)
		return status;
	if (a->print) {
		fwrite(a->text.data, 1, a->text.len, stdout);
		return fflush(stdout) == 0 ? 0 : GATE_EXIT_FAILED;
	}
	if (approval_parse(buf_str(&a->text), a->text.len, &says) < 0)
		return err_set(e, -EBADMSG, "the keeper's statement can't be read");
	status = sign(a, &says, &a->armor, e);
	return status != 0 ? status : keeper_run(c, keep_signed, a, NULL, 0);
}

static const struct argp_option options[] = {
	PROPOSAL_OPTIONS,
	{ "key", 'k', "FILE|agent", 0,
	  "OpenSSH key: private, or public if the agent holds it; agent: its only key", 0 },
	{ "agent", KEY_AGENT, "SOCKET", 0, "ssh-agent", 0 },
	{ "role", KEY_ROLE, "ROLE", 0, "in which one speaks (default approver)", 0 },
	{ "reason", KEY_REASON, "TEXT", 0, "what the others should know", 0 },
	{ "ack", KEY_ACK, "ID", 0, "acknowledge a finding; one option for each", 0 },
	{ "ack-list", KEY_ACK_LIST, "FILE", 0, "acknowledge those that stand here, one a line", 0 },
	{ "for", KEY_SPAN, "SPAN", 0, "how long a yes holds, such as 12h (default: the policy's)",
	  0 },
	{ "promotion", KEY_PROMOTION, "SHA256", 0,
	  "what one looked at, as weir-gate review tells it: a yes needs it, a no is only about it",
	  0 },
	{ "print", KEY_PRINT, NULL, 0, "print what is to be signed, and end", 0 },
	{ "statement", KEY_STATEMENT, "FILE", 0, "what was signed elsewhere", 0 },
	{ "signature", KEY_SIGNATURE, "FILE", 0, "and its signature", 0 },
	{ "gittuf", KEY_GITTUF, "FILE", 0,
	  "also write gittuf's reference authorization; it never counts here", 0 },
	{ 0 },
};

static int command(int argc, char **argv, enum approval_decision decision, const char *doc)
{
	const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	cleanup_config struct gate_config c = { 0 };
	struct args a = { .decision = decision };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) < 0 || proposal_find_nonce(&a.at, &e) < 0 ||
	    read_acknowledged(&a, &e) < 0)
		return gate_fail(&e);
	status = act(&c, &a, &e);
	buf_done(&a.text);
	buf_done(&a.armor);
	gate_texts_done(&a.acknowledged);
	return e.text[0] ? gate_fail(&e) : status;
}

int command_approve(int argc, char **argv)
{
	return command(argc, argv, APPROVAL_APPROVE,
		       "Sign a yes to exactly this proposal. Look at it first: weir-gate review.");
}

int command_reject(int argc, char **argv)
{
	return command(argc, argv, APPROVAL_REJECT,
		       "Sign a no to this proposal: it waits until it is withdrawn.");
}

int command_withdraw(int argc, char **argv)
{
	return command(argc, argv, APPROVAL_WITHDRAW,
		       "Take back all that one has signed about this proposal.");
}
