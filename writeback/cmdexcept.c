/* SPDX-License-Identifier: MIT */
/*
 * weir-gate except: list a run's findings, sign an exception for some of them, sign one that
 * another person made, or revoke one.
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
#include "writeback/approval.h"
#include "writeback/command.h"
#include "writeback/except.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/proposal.h"
#include "writeback/reason.h"
#include "writeback/runfindings.h"
#include "writeback/signer.h"
#include "writeback/sshsig.h"
#include "writeback/statement.h"

#define NS_PER_S 1000000000ull
#define POLICY_PATH ".weir/policy.yaml"

struct args {
	const char *run;
	const char *exception; /* that another person signed */
	const char *revoke;
	const char *scope;
	const char *reason;
	const char *control;
	const char *owner;
	const char *span;
	const char *key;
	const char *agent;
	const char *statement;
	const char *signature;
	struct gate_texts findings;
	bool list;
	bool print;
	/* of the run, as its directory says */
	char *run_id;
	char *ref;
	char *commit;
	int trace;
	struct buf text;
	struct buf armor;
	int out; /* pipe to the parent */
};

enum key {
	KEY_LIST = 0x100,
	KEY_FINDING,
	KEY_EXCEPTION,
	KEY_REVOKE,
	KEY_SCOPE,
	KEY_REASON,
	KEY_CONTROL,
	KEY_OWNER,
	KEY_SPAN,
	KEY_AGENT,
	KEY_PRINT,
	KEY_STATEMENT,
	KEY_SIGNATURE,
};

static void check_args(const struct args *a, struct argp_state *state)
{
	if (!a->run)
		usage_error(state, "--run DIR is missing");
	if (a->list || a->print || (a->statement && a->signature))
		return;
	if (!a->key)
		usage_error(state, "-k KEY is missing (or --list, or --print)");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	const struct {
		int key;
		const char **at;
	} texts[] = { { 'r', &a->run },
		      { 'k', &a->key },
		      { KEY_EXCEPTION, &a->exception },
		      { KEY_REVOKE, &a->revoke },
		      { KEY_SCOPE, &a->scope },
		      { KEY_REASON, &a->reason },
		      { KEY_CONTROL, &a->control },
		      { KEY_OWNER, &a->owner },
		      { KEY_SPAN, &a->span },
		      { KEY_AGENT, &a->agent },
		      { KEY_STATEMENT, &a->statement },
		      { KEY_SIGNATURE, &a->signature } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (key != texts[i].key)
			continue;
		*texts[i].at = arg;
		return 0;
	}
	switch (key) {
	case KEY_LIST:
		a->list = true;
		return 0;
	case KEY_PRINT:
		a->print = true;
		return 0;
	case KEY_FINDING:
		return gate_texts_add(&a->findings, arg) < 0 ? ENOMEM : 0;
	case ARGP_KEY_END:
		check_args(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Who the run says it is; at the promotion the gate knows better. */
static int open_run(struct args *a, struct weir_err *e)
{
	cleanup_close int dir = open(a->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct weir_err cause = { 0 };

	if (dir < 0)
		return err_errno(e, -errno, "run %s", a->run);
	if (fsio_read_file(dir, "statement.json", STATEMENT_MAX, &text, &cause) == 0)
		root = json_read(text.data, text.len, "statement.json", &cause);
	a->run_id = json_take_escaped(root, "run");
	a->ref = json_take_escaped(root, "ref");
	a->commit = json_take_escaped(root, "commit");
	if (!a->run_id || !a->ref || !a->commit)
		return refuse(e, REASON_STATEMENT, "run %s has no readable statement.json", a->run);
	a->trace = openat(dir, "trace", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return a->trace < 0 && a->list ? err_errno(e, -errno, "%s/trace", a->run) : 0;
}

static int keep_list(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_run_findings struct run_findings findings = { 0 };
	int err = run_findings_read(a->trace, &findings, e);

	(void)c;
	for (size_t i = 0; err == 0 && i < findings.count; i++) {
		const struct run_finding *f = &findings.items[i];
		enum role role = run_kind_role(f->kind);

		printf("%s\n  %s, %llu time%s; %s%s\n", f->id[0] ? f->id : "(no id)", f->text,
		       (unsigned long long)f->count, f->count == 1 ? "" : "s",
		       role == ROLE_COUNT || !f->id[0] ? "nobody may accept it"
						       : "to be signed as ",
		       role == ROLE_COUNT || !f->id[0] ? "" : role_name(role));
	}
	if (err == 0 && findings.count == 0)
		printf("the trace has no findings\n");
	return err;
}

/* The repository as the run found it: people, and the policy's span. */
struct base_facts {
	struct repo repo;
	struct people people;
	int lock;
	int64_t span_s;
};

static void base_facts_done(struct base_facts *b)
{
	people_done(&b->people);
	repo_close(&b->repo);
	if (b->lock >= 0)
		close(b->lock);
}

/* How long an exception may hold, by the policy in this tree. */
static int read_span(const struct repo *r, const git_oid *tree, int64_t *ret_span_s,
		     struct weir_err *e)
{
	cleanup_policy struct policy *policy = NULL;
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	git_oid blob;
	uint32_t mode;
	int err = repo_find(r, tree, POLICY_PATH, &blob, &mode, &cause);

	if (err == 0)
		err = repo_read_object(r, &blob, GIT_OBJECT_BLOB, POLICY_TEXT_MAX, &text, &cause);
	if (err == 0)
		err = policy_load(POLICY_PATH, buf_str(&text), text.len, &policy, &cause);
	if (err < 0 || !policy)
		return refuse(e, REASON_POLICY, "%s", cause.text);
	*ret_span_s = (int64_t)(policy->exception_span_ns.value / NS_PER_S);
	return 0;
}

static int load_base(const struct gate_config *c, const struct args *a, struct base_facts *b,
		     struct weir_err *e)
{
	struct repo_commit head;
	git_oid commit;
	int err = proposal_open_repo(c, &b->repo, &b->lock, e);

	if (err == 0 && git_oid_fromstr(&commit, a->commit) < 0)
		err = refuse(e, REASON_STATEMENT, "the run names no base commit");
	if (err == 0)
		err = repo_read_commit(&b->repo, &commit, &head, e);
	if (err == 0)
		err = people_load(c, &b->repo, &head.tree, &b->people, e);
	return err < 0 ? err : read_span(&b->repo, &head.tree, &b->span_s, e);
}

static int set_scope(const struct args *a, struct exception *x, struct weir_err *e)
{
	const char *scope = a->scope ? a->scope : "run";
	int len;

	if (strcmp(scope, "run") == 0)
		len = asprintf(&x->scope, "run %s", a->run_id);
	else if (strcmp(scope, "ref") == 0)
		len = asprintf(&x->scope, "ref %s", a->ref);
	else if (strcmp(scope, "repository") == 0)
		len = asprintf(&x->scope, "repository");
	else
		return refuse(e, REASON_EXCEPTION, "scope is run, ref or repository");
	if (len < 0)
		x->scope = NULL;
	return len < 0 ? err_errno(e, -ENOMEM, "exceptions") : 0;
}

/* The role that all findings need, which must be one. */
static int set_role(const struct args *a, struct exception *x, struct weir_err *e)
{
	x->role = ROLE_COUNT;
	for (size_t i = 0; i < a->findings.count; i++) {
		const char *id = a->findings.items[i];
		int role = finding_role(id);

		if (role < 0)
			return refuse(e, REASON_EXCEPTION,
				      "%.100s is no finding's id (no patterns here)", id);
		if (role == ROLE_COUNT)
			return refuse(e, REASON_EXCEPTION_ROLE, "nobody may accept %.100s", id);
		if (x->role != ROLE_COUNT && (int)x->role != role)
			return refuse(e, REASON_EXCEPTION_ROLE,
				      "these findings need %s and %s: sign one for each",
				      role_name(x->role), role_name((enum role)role));
		x->role = (enum role)role;
		if (!gate_texts_have(&x->findings, id) && gate_texts_add(&x->findings, id) < 0)
			return err_errno(e, -ENOMEM, "exceptions");
	}
	gate_texts_sort(&x->findings);
	return 0;
}

static int set_terms(const struct gate_config *c, const struct args *a, int64_t longest,
		     struct exception *x, struct weir_err *e)
{
	int64_t span = a->span ? signed_span_parse(a->span) : longest;

	if (span < 0)
		return refuse(e, REASON_EXCEPTION_SPAN, "--for %.20s is no span such as 12h or 7d",
			      a->span);
	if (!a->reason || !a->control || !a->owner)
		return refuse(e, REASON_EXCEPTION, "--reason, --control or --owner is missing");
	x->repository = strdup(c->id);
	x->reason = strdup(a->reason);
	x->control = strdup(a->control);
	x->owner = strdup(a->owner);
	x->created = time(NULL);
	x->expires = x->created + span;
	return x->repository && x->reason && x->control && x->owner
		       ? 0
		       : err_errno(e, -ENOMEM, "exceptions");
}

static int make_revocation(const struct base_facts *b, const struct args *a, struct exception *x,
			   struct weir_err *e)
{
	cleanup_exception struct exception old = { 0 };
	cleanup_buf struct buf text = { 0 };

	if (except_read(&b->repo, a->revoke, &text, e) < 0 ||
	    exception_parse(buf_str(&text), text.len, &old) < 0)
		return refuse(e, REASON_EXCEPTION, "there is no exception %.64s", a->revoke);
	x->revoke = true;
	x->role = old.role;
	x->revokes = strdup(a->revoke);
	return x->revokes ? 0 : err_errno(e, -ENOMEM, "exceptions");
}

static int keep_text(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	__attribute__((__cleanup__(base_facts_done))) struct base_facts b = { .repo = { .fd = -1 },
									      .lock = -1 };
	cleanup_exception struct exception x = { 0 };
	cleanup_buf struct buf text = { 0 };
	int err = load_base(c, a, &b, e);

	if (err == 0 && a->exception) {
		if (except_read(&b.repo, a->exception, &text, e) < 0)
			return refuse(e, REASON_EXCEPTION, "there is no exception %.64s",
				      a->exception);
		return fsio_write_all(a->out, text.data, text.len);
	}
	if (err == 0)
		err = a->revoke ? make_revocation(&b, a, &x, e) : set_role(a, &x, e);
	if (err == 0)
		err = set_scope(a, &x, e);
	if (err == 0)
		err = set_terms(c, a, b.span_s, &x, e);
	if (err < 0)
		return err;
	err = exception_format(&x, &text);
	if (err == -EINVAL)
		return refuse(e, REASON_EXCEPTION,
			      "--finding ID, --reason, --control or --owner is missing");
	if (err == 0)
		err = fsio_write_all(a->out, text.data, text.len);
	return err < 0 ? err_errno(e, err, "exceptions") : 0;
}

static int keep_signed(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	__attribute__((__cleanup__(base_facts_done))) struct base_facts b = { .repo = { .fd = -1 },
									      .lock = -1 };
	struct except_signed in = { .text = &a->text, .armor = &a->armor, .now = time(NULL) };
	struct except_taken taken;
	int err = load_base(c, a, &b, e);

	in.span_s = b.span_s;
	if (err == 0)
		err = except_submit(c, &b.repo, &b.people, &in, &taken, e);
	if (err < 0)
		return err;
	printf("exception %s\n", taken.name);
	if (taken.missing > 0)
		printf("%u more person%s must sign it: weir except RUN --exception %s -k KEY\n",
		       taken.missing, taken.missing == 1 ? "" : "s", taken.name);
	return 0;
}

static int sign(struct args *a, struct weir_err *e)
{
	cleanup_exception struct exception x = { 0 };
	struct signing s = { .key = a->key, .agent = a->agent, .data = &a->text };

	if (exception_parse(buf_str(&a->text), a->text.len, &x) < 0)
		return err_set(e, -EBADMSG, "the keeper's text can't be read");
	s.name_space = role_namespace(x.role);
	return signer_sign(&s, &a->armor, e);
}

static int act(const struct gate_config *c, struct args *a, struct weir_err *e)
{
	int status;

	if (a->list)
		return keeper_run(c, keep_list, a, &a->trace, 1);
	if (a->statement && a->signature) {
		if (fsio_read_file(AT_FDCWD, a->statement, EXCEPTION_MAX, &a->text, e) < 0 ||
		    fsio_read_file(AT_FDCWD, a->signature, SSHSIG_MAX, &a->armor, e) < 0)
			return -1;
		return keeper_run(c, keep_signed, a, NULL, 0);
	}
	status = keeper_ask(c, keep_text, a, &a->out, EXCEPTION_MAX, &a->text);
	if (status != 0)
		return status;
	if (a->print) {
		fwrite(a->text.data, 1, a->text.len, stdout);
		return fflush(stdout) == 0 ? 0 : GATE_EXIT_FAILED;
	}
	status = sign(a, e);
	return status != 0 ? status : keeper_run(c, keep_signed, a, NULL, 0);
}

static const struct argp_option options[] = {
	{ "run", 'r', "DIR", 0, "the run's directory", 0 },
	{ "list", KEY_LIST, NULL, 0, "list its findings with their ids, and end", 0 },
	{ "finding", KEY_FINDING, "ID", 0, "accept this one; one option for each", 0 },
	{ "scope", KEY_SCOPE, "run|ref|repository", 0,
	  "where it holds (default run; else two persons sign)", 0 },
	{ "reason", KEY_REASON, "TEXT", 0, "why it is acceptable", 0 },
	{ "control", KEY_CONTROL, "TEXT", 0, "what stands in for what is missing", 0 },
	{ "owner", KEY_OWNER, "NAME", 0, "who answers for it", 0 },
	{ "for", KEY_SPAN, "SPAN", 0, "how long, such as 7d (default: the policy's longest)", 0 },
	{ "exception", KEY_EXCEPTION, "SHA256", 0, "sign this one too", 0 },
	{ "revoke", KEY_REVOKE, "SHA256", 0, "end this one at once", 0 },
	{ "key", 'k', "FILE|agent", 0,
	  "OpenSSH key: private, or public if the agent holds it; agent: its only key", 0 },
	{ "agent", KEY_AGENT, "SOCKET", 0, "ssh-agent", 0 },
	{ "print", KEY_PRINT, NULL, 0, "print what is to be signed, and end", 0 },
	{ "statement", KEY_STATEMENT, "FILE", 0, "what was signed elsewhere", 0 },
	{ "signature", KEY_SIGNATURE, "FILE", 0, "and its signature", 0 },
	{ 0 },
};

int command_except(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Accept findings for a time, by name, signed by the role that their class needs.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { .trace = -1 };
	struct weir_err e = { 0 };
	int status = 0;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) == 0 && open_run(&a, &e) == 0)
		status = act(&c, &a, &e);
	buf_done(&a.text);
	buf_done(&a.armor);
	gate_texts_done(&a.findings);
	free(a.run_id);
	free(a.ref);
	free(a.commit);
	if (a.trace >= 0)
		close(a.trace);
	return e.text[0] ? gate_fail(&e) : status;
}
