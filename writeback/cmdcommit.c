/* SPDX-License-Identifier: MIT */
/*
 * weir-gate commit: root opens what only root can, then keeper and reader do the work. The
 * keeper sends back what was promoted, which is kept in the run's directory.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/caller.h"
#include "writeback/command.h"
#include "writeback/digest.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/message.h"
#include "writeback/priv.h"
#include "writeback/promotion.h"
#include "writeback/publish.h"
#include "writeback/reader.h"
#include "writeback/reason.h"
#include "writeback/record.h"
#include "writeback/remote.h"
#include "writeback/report.h"

#define RESULT_MAX ((size_t)256 << 20)

enum {
	KEY_PROMOTION = 0x100,
	KEY_REBASE,
};

static const char *const file_names[RUN_FILES] = {
	[RUN_STATEMENT] = "statement.json",
	[RUN_SIGNATURE] = "statement.sig",
	[RUN_TRACE] = "trace",
	[RUN_BEFORE] = "manifest.before",
	[RUN_AFTER] = "manifest.after",
	[RUN_POLICY] = "policy.yaml",
	[RUN_COVERAGE] = "coverage.json",
};

struct args {
	const char *run;
	const char *workspace;
	const char *message;
	const char *author;
	const char *promotion; /* only this one */
	const char *dir;       /* NAME of --to dir:NAME */
	bool rebase;	       /* onto the branch as it is */
	bool json;
	/* opened by root */
	int run_dir;
	int files[RUN_FILES];
	int reader;
	int result; /* pipe to the parent */
	uint64_t ws_dev;
	uint64_t ws_ino;
	uint64_t ws_type;
	uid_t ws_uid;
	uid_t caller;
	struct weir_err no_workspace; /* why it could not be opened; a proposal needs none */
};

/* The run's statement, without any trust in it yet. Returns: 0 or -ENOENT. */
static int peek(const struct args *a, struct statement *ret_statement)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err none = { 0 };
	int fd = a->files[RUN_STATEMENT], err;

	if (fd < 0)
		return -ENOENT;
	err = fsio_read_fd(fd, STATEMENT_MAX, &text);
	if (lseek(fd, 0, SEEK_SET) < 0 || err < 0 ||
	    statement_parse(buf_str(&text), text.len, ret_statement, &none) < 0)
		return -ENOENT;
	return 0;
}

/* The promotion text that a promoted commit's record has, and its digest. Returns: 0 or a negative
 * errno with e. */
static int promoted_text(const struct repo *r, const git_oid *commit, struct buf *ret_text,
			 char ret_hex[DIGEST_HEX], struct weir_err *e)
{
	unsigned char hash[DIGEST_SIZE];
	int err = record_read_file(r, commit, "promotion", ret_text, e);

	if (err == 0)
		err = digest_bytes(buf_str(ret_text), ret_text->len, hash);
	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

/* That a nonce was used is no word about now: the branch must still reach what was promoted, and
 * its record must be of the promotion that is meant. */
static int check_promoted(const struct repo *r, const struct args *a, const struct nonce *n,
			  char ret_hex[DIGEST_HEX], struct weir_err *e)
{
	git_oid commit, tip;
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf ref = { 0 };
	int err = git_oid_fromstr(&commit, n->promoted) < 0 ? -EBADMSG : 0;
	bool is_dir;

	if (err == 0)
		err = promoted_text(r, &commit, &text, ret_hex, e);
	is_dir = err == 0 && kind_of_text(buf_str(&text)) == KIND_DIR;
	if (is_dir)
		err = digest_find(buf_str(&text), "ref", &ref);
	if (err == 0)
		err = repo_read_ref(r, is_dir ? buf_str(&ref) : n->ref, &tip, e);
	/* directories don't stand on each other */
	if (err == 0 && is_dir && !git_oid_equal(&tip, &commit))
		return refuse(e, REASON_BASE_MOVED,
			      "promoted as %s; another directory took its place", n->promoted);
	if (err == 0)
		err = is_dir ? 1 : repo_reaches(r, &tip, &commit, e);
	if (err == 0)
		return refuse(e, REASON_AUDIT, "promoted as %s, which %s does not reach any more",
			      n->promoted, n->ref);
	if (err < 0)
		return e->text[0] ? err : err_errno(e, err, "the record of %s", n->promoted);
	if (a->promotion && strcmp(a->promotion, ret_hex) != 0)
		return refuse(e, REASON_VOID, "promoted as %s was sha256:%s", n->promoted, ret_hex);
	return 0;
}

/* A run that was promoted already is no failure. Returns: 1 when it was, 0 when not, or a negative
 * errno with e. */
static int was_promoted(const struct repo *r, const struct args *a, const struct statement *s,
			struct weir_err *e)
{
	cleanup_nonce struct nonce n = { 0 };
	struct weir_err none = { 0 };
	char hex[DIGEST_HEX] = "";
	int err;

	if (!s->nonce || nonce_load(s->nonce, &n, &none) < 0 || !n.used ||
	    strcmp(n.statement, s->sha256) != 0)
		return 0;
	pending_drop(r, n.id); /* left by a crash */
	err = check_promoted(r, a, &n, hex, e);
	if (err < 0)
		return err;
	if (a->json)
		printf("{\"already\":true,\"commit\":\"%s\",\"promotion\":\"%s\","
		       "\"schema\":\"weir.promotion/1\"}\n",
		       n.promoted, hex);
	else
		printf("already promoted as %s, nothing changed\n", n.promoted);
	return 1;
}

/* The target is the one that was asked for. */
static bool same_target(const struct promotion *p, const struct pending *x)
{
	cleanup_buf struct buf name = { 0 };
	const char *text = buf_str(&x->promotion);

	if (kind_of_text(text) != p->kind)
		return false;
	return p->kind != KIND_DIR || (digest_find(text, "directory", &name) == 0 &&
				       strcmp(buf_str(&name), p->dir.name) == 0);
}

static bool same_message(const struct args *a, struct pending *p)
{
	cleanup_buf struct buf message = { 0 };

	if (a->message && message_add(&message, a->message) < 0)
		return false;
	return (!a->message || strcmp(buf_str(&message), buf_str(&p->message)) == 0) &&
	       (!a->author || strcmp(a->author, buf_str(&p->author)) == 0);
}

/* Whether the branch has moved on from what the proposal is on. */
static bool is_behind(const struct promotion *p)
{
	const char *text = buf_str(&p->pending.promotion);
	cleanup_buf struct buf base = { 0 };
	cleanup_buf struct buf ref = { 0 };
	struct weir_err none = { 0 };
	git_oid on, tip;

	return digest_find(text, "base", &base) == 0 && digest_find(text, "ref", &ref) == 0 &&
	       git_oid_fromstr(&on, buf_str(&base)) == 0 &&
	       repo_read_ref(&p->repo, buf_str(&ref), &tip, &none) == 0 &&
	       !git_oid_equal(&on, &tip);
}

/* A rebase is a proposal of its own, in the words of the one before. */
struct words {
	struct buf message;
	struct buf author;
};

static void words_done(struct words *w)
{
	buf_done(&w->message);
	buf_done(&w->author);
}

static int keep_words(struct promotion *p, struct words *w, struct weir_err *e)
{
	const struct pending *x = &p->pending;

	if (buf_add(&w->message, x->message.data, x->message.len) < 0 ||
	    buf_add(&w->author, x->author.data, x->author.len) < 0)
		return err_errno(e, -ENOMEM, "the proposal");
	p->message = buf_str(&w->message);
	p->author = w->author.len ? buf_str(&w->author) : NULL;
	return 0;
}

/* Goes on with the proposal of this run, unless another message or author asks for a new one. */
static int find_proposal(struct promotion *p, const struct args *a, const struct statement *s,
			 struct words *words, struct weir_err *e)
{
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX] = "";
	int err = s->nonce ? pending_open(&p->repo, s->nonce, &p->pending, e) : -ENOENT;

	if (err == 0 &&
	    digest_bytes(buf_str(&p->pending.statement), p->pending.statement.len, hash) == 0)
		digest_hex(hash, sizeof(hash), hex);
	if (err == 0 && strcmp(hex, s->sha256) == 0 && same_target(p, &p->pending) &&
	    same_message(a, &p->pending)) {
		if (a->promotion && strcmp(a->promotion, p->pending.digest) != 0)
			return refuse(e, REASON_VOID, "the proposal is now sha256:%s",
				      p->pending.digest);
		if (a->rebase && is_behind(p)) {
			err = keep_words(p, words, e);
			if (err < 0)
				return err;
		} else {
			p->resumed = true;
			p->message = buf_str(&p->pending.message);
			p->author = p->pending.author.len ? buf_str(&p->pending.author) : NULL;
			return 0;
		}
	} else if (a->promotion) {
		return refuse(e, REASON_VOID, "nothing waits as sha256:%s", a->promotion);
	}
	if (err < 0 && err != -ENOENT && !a->message)
		return err;
	*e = (struct weir_err){ 0 };
	pending_done(&p->pending);
	if (!p->message) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_set(e, -EINVAL, "-m MSG is missing: no proposal of this run is waiting");
	}
	if (a->no_workspace.text[0])
		*e = a->no_workspace;
	return a->no_workspace.err;
}

static int send_result(const struct promotion *p, int fd, bool print, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	int err = report_json(p, &text);

	if (err == 0)
		err = fsio_write_all(fd, text.data, text.len);
	if (err < 0)
		return err_errno(e, err, "reporting the promotion");
	if (print)
		fputs(buf_str(&text), stdout);
	else
		report_text(p, stdout);
	return 0;
}

/* The line on stderr has the refusal; all its findings go into RUN/refused.json. */
static void send_refusal(const struct promotion *p, const struct args *a, const struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };

	if (report_refusal(&p->hazards, p->policy->strict.value != 0, e, &text) < 0)
		return;
	fsio_write_all(a->result, text.data, text.len);
	if (a->json)
		fputs(buf_str(&text), stdout);
}

static int choose_target(const struct gate_config *c, const struct args *a, struct promotion *p,
			 struct weir_err *e)
{
	int err = a->dir ? dirs_find(c, a->dir, &p->dir) : 0;

	p->kind = a->dir ? KIND_DIR : KIND_RUN;
	if (err == -ENOENT)
		return refuse(e, REASON_REF, "gate.yaml lists no directory %.64s under dirs",
			      a->dir);
	return err < 0 ? err_errno(e, err, "--to") : 0;
}

static int keep_commit(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_promotion struct promotion p = { .repo = { .fd = -1 },
						 .pending = { .dir = -1 },
						 .quarantine = -1 };
	cleanup_gateledger struct gateledger ledger = { .log.dir = -1 };
	cleanup_statement struct statement s = { 0 };
	__attribute__((__cleanup__(words_done))) struct words words = { 0 };
	struct args *a = arg;
	cleanup_close int lock = -1;
	int err = repo_open(c->repository, true, &p.repo, e);

	if (err < 0)
		return err;
	lock = publish_lock(&p.repo, e);
	if (lock < 0)
		return lock;
	err = pending_expire(c, &p.repo, e);
	if (err == 0)
		err = gateledger_open(c, &p.repo, &ledger, e);
	if (err == 0)
		err = publish_recover(&p.repo, c, &ledger, e);
	if (err == 0 && peek(a, &s) == 0)
		err = was_promoted(&p.repo, a, &s, e);
	if (err != 0)
		return err < 0 ? err : 0;
	if (remote_is_used(c) && remote_follow(c, &p.repo, false, e) < 0)
		return e->err;
	p.config = c;
	p.ledger = &ledger;
	memcpy(p.files, a->files, sizeof(p.files));
	p.reader = a->reader;
	p.ws_dev = a->ws_dev;
	p.ws_ino = a->ws_ino;
	p.ws_type = a->ws_type;
	p.ws_uid = a->ws_uid;
	p.caller = a->caller;
	p.message = a->message;
	p.author = a->author;
	p.rebase = a->rebase;
	p.strength = c->crosscheck ? tree_strength_find(c->crosscheck) : TREE_STRENGTH_STAT;
	err = choose_target(c, a, &p, e);
	if (err == 0)
		err = find_proposal(&p, a, &s, &words, e);
	if (err < 0)
		return err;
	err = gate_run(&p, e);
	if (err < 0)
		promotion_record_refusal(&p, e);
	if (p.nonce.id[0])
		publish_drop_quarantine(&p.repo, p.nonce.id);
	if (err < 0 && (p.hazards.count > 0 || p.pending.dir >= 0) && p.policy)
		send_refusal(&p, a, e);
	if (err == 0)
		pending_drop(&p.repo, p.nonce.id);
	return err < 0 ? err : send_result(&p, a->result, a->json, e);
}

static int open_run(struct args *a, struct weir_err *e)
{
	a->run_dir = open(a->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->run_dir < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_errno(e, -errno, "run %s", a->run);
	}
	for (unsigned int i = 0; i < RUN_FILES; i++) {
		struct stat st;

		a->files[i] = openat(a->run_dir, file_names[i],
				     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (a->files[i] < 0 && errno != ENOENT)
			return err_errno(e, -errno, "%s/%s", a->run, file_names[i]);
		if (a->files[i] >= 0 && (fstat(a->files[i], &st) < 0 || !S_ISREG(st.st_mode)))
			return err_set(e, -EINVAL, "%s/%s is no regular file", a->run,
				       file_names[i]);
	}
	return 0;
}

/* Where the run says it worked; who that is, is checked against the nonce. */
static char *workspace_of_run(const struct args *a)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct weir_err none = { 0 };
	int fd = a->files[RUN_STATEMENT];

	if (fd < 0 || fsio_read_fd(fd, STATEMENT_MAX, &text) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return NULL;
	root = json_read(text.data, text.len, "statement.json", &none);
	return root ? json_take_escaped(json_object_get(root, "workspace"), "path") : NULL;
}

static int open_workspace(struct args *a, struct weir_err *e)
{
	cleanup_free char *path = a->workspace ? strdup(a->workspace) : workspace_of_run(a);
	cleanup_close int fd = -1;
	struct statfs fs;
	struct stat st;

	if (!path)
		return refuse(e, REASON_STATEMENT,
			      "the run has no readable statement.json (was it made with --repo and "
			      "a policy?)");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return refuse(e, REASON_NONCE_MISMATCH, "workspace %s: %s", path, strerror(errno));
	a->ws_type = (uint64_t)fs.f_type;
	a->ws_dev = st.st_dev;
	a->ws_ino = st.st_ino;
	a->ws_uid = st.st_uid;
	return TAKE_FD(fd);
}

static int keep_result(const struct args *a, const struct buf *text, int status, struct weir_err *e)
{
	const char *name = status == 0 ? "promoted.json" : "refused.json";

	if (text->len == 0)
		return 0;
	unlinkat(a->run_dir, "refused.json", 0);
	return fsio_replace(a->run_dir, name, text->data, text->len, 0600, e);
}

/* Runs keeper and reader. Returns: the exit status. */
static int run(const struct gate_config *c, struct args *a, struct weir_err *e)
{
	int workspace = open_workspace(a, &a->no_workspace), pipe_fds[2] = { -1, -1 },
	    keep[RUN_FILES + 2];
	pid_t reader = -1, keeper = -1;
	cleanup_buf struct buf text = { .max = RESULT_MAX };
	int status = -1, err = 0, heard = 0;

	if (workspace >= 0) {
		err = reader_start(workspace, &a->reader, &reader, e);
		close(workspace);
	}
	if (err == 0 && pipe2(pipe_fds, O_CLOEXEC) < 0)
		err = err_errno(e, -errno, "starting the keeper");
	a->result = pipe_fds[1];
	memcpy(keep, a->files, sizeof(a->files));
	keep[RUN_FILES] = a->reader;
	keep[RUN_FILES + 1] = a->result;
	if (err == 0)
		err = keeper_start(c, keep_commit, a, keep, RUN_FILES + 2, &keeper, e);
	if (reader > 0)
		close(a->reader);
	if (pipe_fds[1] >= 0)
		close(pipe_fds[1]);
	if (err == 0)
		heard = fsio_read_fd(pipe_fds[0], RESULT_MAX, &text);
	if (pipe_fds[0] >= 0)
		close(pipe_fds[0]);
	if (keeper > 0)
		status = priv_wait(keeper, "keeper", e);
	if (reader > 0)
		priv_wait(reader, "workspace reader", e);
	if (heard < 0)
		err_errno(e, heard, "reading the keeper's result");
	else
		heard = keep_result(a, &text, status, e);
	return heard < 0 && status == 0 ? GATE_EXIT_FAILED : status;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'r':
		a->run = arg;
		return 0;
	case 'w':
		a->workspace = arg;
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
	case KEY_PROMOTION:
		a->promotion = arg;
		return 0;
	case 't':
		if (strncmp(arg, "dir:", 4) != 0)
			usage_error(state, "--to dir:NAME is all that it takes");
		a->dir = arg + 4;
		return 0;
	case KEY_REBASE:
		a->rebase = true;
		return 0;
	case ARGP_KEY_END:
		if (!a->run)
			usage_error(state, "--run DIR is missing");
		if (a->rebase && a->dir)
			usage_error(state, "--rebase and --to exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_commit(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "run", 'r', "DIR", 0, "the run's directory", 0 },
		{ "message", 'm', "MSG", 0,
		  "commit message; left out, the proposal that waits goes on", 0 },
		{ "workspace", 'w', "DIR", 0, "default: as the run says", 0 },
		{ "author", 'a', "\"NAME <EMAIL>\"", 0, "default: the gate", 0 },
		{ "promotion", KEY_PROMOTION, "SHA256", 0,
		  "go on with the proposal only if it is this one", 0 },
		{ "to", 't', "dir:NAME", 0,
		  "publish a directory of gate.yaml's dirs, not a commit on the branch", 0 },
		{ "rebase", KEY_REBASE, NULL, 0,
		  "put what the run changed on top of the branch, where that has moved", 0 },
		{ "json", 'j', NULL, 0, "print the result as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Promote a run: check statement, trace and workspace, quarantine the changes, "
		"commit, sign and publish them. Where the policy asks for approvals the first call "
		"proposes (see weir-gate pending) and a later one promotes what people "
		"signed.\vExit status: 0 promoted (or already promoted), "
		"122 refused, 2 usage, 125 own failure.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { .run_dir = -1, .reader = -1 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	for (unsigned int i = 0; i < RUN_FILES; i++)
		a.files[i] = -1;
	a.caller = caller_uid();
	if (config_load(&c, &e) < 0 || open_run(&a, &e) < 0)
		return gate_fail(&e);
	status = run(&c, &a, &e);
	return e.text[0] ? gate_fail(&e) : status;
}
