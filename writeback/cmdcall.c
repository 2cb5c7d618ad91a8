/* SPDX-License-Identifier: MIT */
/*
 * weir-gate call: asks a service (writeback/serve.h), on this host's socket or through ssh. Its
 * options are the members of a request. approve, reject and withdraw are three steps in one: the
 * service makes the statement, the key signs it here, the service takes it. No key leaves.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/approval.h"
#include "writeback/command.h"
#include "writeback/keeper.h"
#include "writeback/reason.h"
#include "writeback/serve.h"
#include "writeback/signer.h"

#define SEND_S 60
#define ANSWER_S 700

enum {
	KEY_MEMBER = 0x1000, /* and the member's number */
	KEY_SOCKET = 0x100,
	KEY_SSH,
	KEY_AGENT,
};

struct args {
	const char *op;
	const char *socket;
	const char *ssh;
	const char *key;
	const char *agent;
	struct serve_request request;
};

static bool is_decision(const char *op)
{
	for (unsigned int i = 0; i < APPROVAL_DECISION_COUNT; i++)
		if (strcmp(op, approval_name((enum approval_decision)i)) == 0)
			return true;
	return false;
}

/* Statements and signatures come from files; words of a list come one by one. */
static int take_member(struct args *a, enum serve_member m, const char *arg,
		       struct argp_state *state)
{
	const struct serve_value *v = serve_member(m);
	cleanup_buf struct buf text = { 0 };
	char **at = &a->request.values[m];
	struct weir_err e = { 0 };

	if (v->class == SERVE_LIST)
		buf_addf(&text, "%s%s\n", *at ? *at : "", arg);
	else if (v->class == SERVE_BOOL)
		buf_addf(&text, "true");
	else if (v->class != SERVE_FILE)
		buf_addf(&text, "%s", arg);
	else if (fsio_read_file(AT_FDCWD, arg, v->max, &text, &e) < 0)
		usage_error(state, "%s", e.text);
	free(*at);
	*at = strdup(buf_str(&text));
	if (!*at || text.failed)
		return ENOMEM;
	if (!serve_value_fits(m, *at))
		usage_error(state, "--%s can't have this value, or not one so long", v->name);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key >= KEY_MEMBER && key < KEY_MEMBER + SERVE_MEMBER_COUNT)
		return take_member(a, (enum serve_member)(key - KEY_MEMBER), arg, state);
	switch (key) {
	case KEY_SOCKET:
		a->socket = arg;
		return 0;
	case KEY_SSH:
		a->ssh = arg;
		return 0;
	case KEY_AGENT:
		a->agent = arg;
		return 0;
	case 'k':
		a->key = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->op)
			usage_error(state, "one operation at a time");
		a->op = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->op)
			usage_error(state, "which operation? See --help");
		if (is_decision(a->op) ? !a->key : serve_op_find(a->op) == SERVE_OP_COUNT)
			usage_error(state, is_decision(a->op) ? "-k KEY is missing"
							      : "there is no such operation");
		if (strcmp(a->op, approval_name(APPROVAL_APPROVE)) == 0 &&
		    !a->request.values[SERVE_M_PROMOTION])
			usage_error(state,
				    "--promotion SHA256 is missing: a yes is to exactly the "
				    "bytes that you looked at, and review tells their digest");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ssh with nothing of the command line but where to: what it may do there, its key says. */
static int start_ssh(const char *where, const char *agent, pid_t *ret_pid, struct weir_err *e)
{
	int ends[2];

	if (where[0] == '-')
		return err_set(e, -EINVAL, "--ssh is no host");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, -errno, "starting ssh");
	*ret_pid = fork();
	if (*ret_pid == 0) {
		if (agent)
			setenv("SSH_AUTH_SOCK", agent, 1);
		signal(SIGPIPE, SIG_DFL);
		if (dup2(ends[1], 0) == 0 && dup2(ends[1], 1) == 1)
			execlp("ssh", "ssh", "-T", "--", where, "weir-gate", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*ret_pid < 0) {
		close(ends[0]);
		return err_errno(e, -errno, "starting ssh");
	}
	return ends[0];
}

static int ask(const struct args *a, const struct serve_request *r, struct buf *ret_result,
	       struct weir_err *e)
{
	cleanup_buf struct buf request = { 0 };
	cleanup_buf struct buf answer = { 0 };
	cleanup_close int fd = -1;
	pid_t pid = -1;
	int err = serve_request_format(r, &request);

	if (err < 0)
		return err_errno(e, err, "the request");
	fd = a->ssh ? start_ssh(a->ssh, a->agent, &pid, e) : serve_connect(a->socket, e);
	if (fd < 0)
		return fd;
	/* it may have answered, and hung up, without having read all */
	err = serve_frame_write(fd, request.data, request.len, SEND_S);
	if (err == 0 || err == -EPIPE || err == -ECONNRESET)
		err = serve_frame_read(fd, SERVE_ANSWER_MAX, ANSWER_S, &answer);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (err < 0)
		return err_errno(e, err, "the gate's service");
	return serve_answer_parse(answer.data, answer.len, ret_result, e);
}

static bool is_same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Are exactly those acknowledged that the person named? lines: one each, NULL: none. */
static bool is_acknowledged(const struct gate_texts *says, const char *lines)
{
	size_t count = 0;

	for (const char *at = lines; at && *at; count++) {
		cleanup_free char *id = strndup(at, strcspn(at, "\n"));

		if (!id || !gate_texts_have(says, id))
			return false;
		at += strlen(id) + (at[strlen(id)] == '\n');
	}
	return count == says->count;
}

/* No longer than the person wants, nor from another time. */
static bool is_in_time(const struct approval *says, const char *span)
{
	int64_t now = time(NULL), want = span ? signed_span_parse(span) : -1;

	if (says->from > now + APPROVAL_SKEW_S || says->from < now - APPROVAL_SKEW_S)
		return false;
	return says->decision != APPROVAL_APPROVE || want < 0 || says->until == says->from + want;
}

/* A service that lies can't get a signature for another promotion, in another role, or for more
 * than was said. */
static int check_statement(const struct args *a, const struct approval *says, struct weir_err *e)
{
	char *const *want = a->request.values;
	const char *promotion = want[SERVE_M_PROMOTION], *role = want[SERVE_M_ROLE];
	const char *wrong = NULL;

	if (strcmp(approval_name(says->decision), a->op) != 0)
		wrong = "another decision";
	else if (says->role != (role ? role_find(role) : ROLE_APPROVER))
		wrong = "another role";
	else if (promotion && strcmp(promotion, says->promotion) != 0)
		wrong = "another promotion";
	else if (!is_same_text(says->reason, want[SERVE_M_REASON]))
		wrong = "another reason";
	else if (!is_acknowledged(&says->acknowledged, want[SERVE_M_ACKNOWLEDGE]))
		wrong = "other acknowledgements";
	else if (!is_in_time(says, want[SERVE_M_FOR]))
		wrong = "another time";
	return wrong ? err_set(e, -EBADMSG, "the service asks to sign something else: %s", wrong)
		     : 0;
}

static int decide(struct args *a, struct buf *ret_result, struct weir_err *e)
{
	cleanup_serve_request struct serve_request second = { .op = SERVE_OP_SIGN };
	cleanup_approval struct approval says = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf armor = { 0 };
	struct signing s = { .key = a->key, .agent = a->agent, .data = &text };
	char **values = second.values, **first = a->request.values;
	int err;

	a->request.op = SERVE_OP_STATEMENT;
	first[SERVE_M_DECISION] = strdup(a->op);
	err = ask(a, &a->request, &text, e);
	if (err < 0)
		return err;
	if (approval_parse(buf_str(&text), text.len, &says) < 0)
		return err_set(e, -EBADMSG, "the service's statement can't be read");
	err = check_statement(a, &says, e);
	if (err < 0)
		return err;
	s.name_space = role_namespace(says.role);
	err = signer_sign(&s, &armor, e);
	if (err != 0)
		return err < 0 ? err : err_code(e, -EPERM, "", "nothing was signed");
	values[SERVE_M_NONCE] = strdup(first[SERVE_M_NONCE] ? first[SERVE_M_NONCE] : "");
	values[SERVE_M_DECISION] = strdup(a->op);
	values[SERVE_M_STATEMENT] = strdup(buf_str(&text));
	values[SERVE_M_SIGNATURE] = strdup(buf_str(&armor));
	return ask(a, &second, ret_result, e);
}

static int call(struct args *a)
{
	cleanup_buf struct buf result = { 0 };
	struct weir_err e = { 0 };
	int err;

	if (is_decision(a->op)) {
		err = decide(a, &result, &e);
	} else {
		a->request.op = serve_op_find(a->op);
		err = ask(a, &a->request, &result, &e);
	}
	if (err == 0 &&
	    (fwrite(buf_str(&result), 1, result.len, stdout) != result.len || fflush(stdout) != 0))
		err = err_errno(&e, -EIO, "writing the output");
	return err < 0 ? gate_fail(&e) : 0;
}

int command_call(int argc, char **argv)
{
	static const struct argp_option options[] = {
#define WEIR_X(id, name, class, max, option) \
	{ name, KEY_MEMBER + SERVE_M_##id, class == SERVE_BOOL ? NULL : "VALUE", \
	  0,	"of the request",	   1 },
		SERVE_MEMBERS(WEIR_X)
#undef WEIR_X
			{ "socket", KEY_SOCKET, "PATH", 0, "unix socket (default " SERVE_SOCKET ")",
			  0 },
		{ "ssh", KEY_SSH, "[USER@]HOST", 0, "ask there, by an ssh forced command", 0 },
		{ "key", 'k', "FILE|agent", 0, "key to sign with, as for weir-gate approve", 0 },
		{ "agent", KEY_AGENT, "SOCKET", 0, "ssh-agent", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"OPERATION",
		"Ask a gate's service. Operations: status, pending, review, statement, sign, "
		"commit, drop, verify, quarantine; and approve, reject, withdraw, which sign with "
		"-k KEY here.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { .socket = SERVE_SOCKET };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	status = call(&a);
	serve_request_done(&a.request);
	return status;
}
