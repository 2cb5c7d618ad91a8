/* SPDX-License-Identifier: MIT */
/* weir-gate nonce, policy and checkout: what happens before a run. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "user/policy/policy.h"
#include "writeback/checkout.h"
#include "writeback/command.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/nonce.h"
#include "writeback/priv.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/remote.h"

#define POLICY_PATH ".weir/policy.yaml"

struct args {
	const char *repo;
	const char *ref;
	const char *workspace;
	const char *nonce;
	const char *into;
	const char *owner;
	/* of the workspace */
	char *path;
	uint64_t dev;
	uint64_t ino;
	int writer;
};

enum key {
	KEY_REPO = 0x100,
	KEY_REF,
	KEY_WORKSPACE,
	KEY_NONCE,
	KEY_INTO,
	KEY_OWNER,
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case KEY_REPO:
		a->repo = arg;
		return 0;
	case KEY_REF:
		a->ref = arg;
		return 0;
	case KEY_WORKSPACE:
		a->workspace = arg;
		return 0;
	case KEY_NONCE:
		a->nonce = arg;
		return 0;
	case KEY_INTO:
		a->into = arg;
		return 0;
	case KEY_OWNER:
		a->owner = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int missing(const char *option)
{
	fprintf(stderr, "weir-gate: %s is missing; see --help\n", option);
	return GATE_EXIT_USAGE;
}

/* Opens a workspace directory and notes who it is. Returns: a descriptor or an errno. */
static int open_workspace(const char *path, struct args *a, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_errno(e, -errno, "workspace %s", path);
	}
	a->path = realpath(path, NULL);
	if (!a->path)
		return err_errno(e, -errno, "workspace %s", path);
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	return TAKE_FD(fd);
}

static int same_repository(const struct gate_config *c, const char *path, struct weir_err *e)
{
	struct stat mine, given;

	if (!path)
		return 0;
	if (stat(c->repository, &mine) < 0)
		return err_errno(e, -errno, "repository %s", c->repository);
	if (stat(path, &given) < 0)
		return err_errno(e, -errno, "repository %s", path);
	if (mine.st_dev == given.st_dev && mine.st_ino == given.st_ino)
		return 0;
	return refuse(e, REASON_REPOSITORY, "%s is not the gate's repository (%s)", path,
		      c->repository);
}

static int read_policy(const struct repo *r, const char *commit_hex, struct buf *ret_text,
		       struct weir_err *e)
{
	struct repo_commit head;
	git_oid commit, blob;
	uint32_t mode;
	int err;

	if (git_oid_fromstr(&commit, commit_hex) < 0)
		return err_set(e, -EINVAL, "%s is no commit id", commit_hex);
	err = repo_read_commit(r, &commit, &head, e);
	if (err == 0)
		err = repo_find(r, &head.tree, POLICY_PATH, &blob, &mode, e);
	if (err == 0 && mode != GIT_MODE_FILE && mode != GIT_MODE_EXEC)
		err = refuse(e, REASON_POLICY, "%s of commit %.12s is no regular file", POLICY_PATH,
			     commit_hex);
	if (err == 0)
		err = repo_read_object(r, &blob, GIT_OBJECT_BLOB, POLICY_TEXT_MAX, ret_text, e);
	return err;
}

static int print_nonce(const struct repo *r, const struct nonce *n, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf policy = { 0 };
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	cleanup_json json_t *root =
		json_pack("{s:s, s:s, s:o, s:s, s:s, s:n}", "schema", NONCE_SCHEMA, "nonce", n->id,
			  "repository", json_escaped(n->repository), "ref", n->ref, "commit",
			  n->commit, "policy_sha256");
	int err = read_policy(r, n->commit, &policy, e);

	if (err < 0 && err != -ENOENT)
		return err;
	if (err == 0) {
		if (digest_bytes(buf_str(&policy), policy.len, hash) < 0)
			return err_errno(e, -EIO, "hashing the policy");
		digest_hex(hash, sizeof(hash), hex);
		json_object_set_new(root, "policy_sha256", json_string(hex));
	}
	*e = (struct weir_err){ 0 };
	if (!root || json_canonical(root, &text) < 0)
		return err_errno(e, -ENOMEM, "printing the nonce");
	fputs(buf_str(&text), stdout);
	return 0;
}

/* The copy of a repository elsewhere follows it first. */
static int follow(const struct gate_config *c, const struct repo *r, struct weir_err *e)
{
	cleanup_gateledger struct gateledger ledger = { .log.dir = -1 };
	cleanup_close int lock = -1;
	int err;

	if (!remote_is_used(c))
		return 0;
	lock = publish_lock(r, e);
	err = lock < 0 ? lock : gateledger_open(c, r, &ledger, e);
	if (err == 0)
		err = publish_recover(r, c, &ledger, e);
	return err < 0 ? err : remote_follow(c, r, false, e);
}

static int keep_nonce(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_nonce struct nonce n = { 0 };
	struct args *a = arg;
	git_oid commit;
	int err = repo_open(c->repository, true, &repo, e);

	if (err < 0)
		return err;
	if (!gate_texts_have(&c->refs, a->ref))
		return refuse(e, REASON_REF, "%s is no promotable ref", a->ref);
	err = follow(c, &repo, e);
	if (err < 0)
		return err;
	err = repo_read_ref(&repo, a->ref, &commit, e);
	if (err == -ENOENT)
		return refuse(e, REASON_REF, "%s has no %s yet: make its first commit first",
			      c->repository, a->ref);
	if (err < 0)
		return err;
	n.repository = strdup(c->repository);
	n.ref = strdup(a->ref);
	n.workspace = strdup(a->path);
	if (!n.repository || !n.ref || !n.workspace)
		return err_errno(e, -ENOMEM, "making a nonce");
	memcpy(n.repo_id, c->id, sizeof(n.repo_id));
	git_oid_tostr(n.commit, sizeof(n.commit), &commit);
	n.dev = a->dev;
	n.ino = a->ino;
	err = nonce_issue(&n, e);
	return err < 0 ? err : print_nonce(&repo, &n, e);
}

int command_nonce(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "ref", KEY_REF, "REF", 0,
		  "branch to promote to (default: the first of gate.yaml)", 0 },
		{ "workspace", KEY_WORKSPACE, "DIR", 0, "directory that the run will work in", 0 },
		{ "repo", KEY_REPO, "DIR", 0, "must be the gate's repository", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options, parse, NULL, "Issue a nonce for one run; prints JSON.", NULL, NULL, NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	status = gate_need_root();
	if (status)
		return status;
	if (!a.workspace)
		return missing("--workspace");
	if (config_load(&c, &e) < 0 || same_repository(&c, a.repo, &e) < 0)
		return gate_fail(&e);
	if (!a.ref)
		a.ref = c.refs.items[0];
	status = open_workspace(a.workspace, &a, &e);
	if (status < 0)
		return gate_fail(&e);
	close(status);
	status = keeper_run(&c, keep_nonce, &a, NULL, 0);
	free(a.path);
	return status;
}

static int keep_policy(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_nonce struct nonce n = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct args *a = arg;
	int err = repo_open(c->repository, true, &repo, e);

	if (err == 0)
		err = nonce_load(a->nonce, &n, e);
	if (err == 0)
		err = read_policy(&repo, n.commit, &text, e);
	/* whoever asked for it named a branch without one */
	if (err == -ENOENT && e->exit_code == 0)
		e->exit_code = GATE_EXIT_USAGE;
	if (err == 0 && fwrite(buf_str(&text), 1, text.len, stdout) != text.len)
		err = err_errno(e, -EIO, "printing the policy");
	return err;
}

int command_policy(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "nonce", KEY_NONCE, "N", 0, "as issued by weir-gate nonce", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options, parse, NULL, "Print " POLICY_PATH " of a nonce's base commit.",
		NULL,	 NULL,	NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	status = gate_need_root();
	if (status)
		return status;
	if (!a.nonce)
		return missing("--nonce");
	if (config_load(&c, &e) < 0)
		return gate_fail(&e);
	return keeper_run(&c, keep_policy, &a, NULL, 0);
}

static int keep_checkout(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_nonce struct nonce n = { 0 };
	struct args *a = arg;
	int err = repo_open(c->repository, true, &repo, e);

	if (err == 0)
		err = nonce_load(a->nonce, &n, e);
	if (err < 0)
		return err;
	if (n.used)
		return refuse(e, REASON_NONCE_USED, "nonce %s was used", n.id);
	if (n.dev != a->dev || n.ino != a->ino)
		return refuse(e, REASON_NONCE_MISMATCH, "nonce %s is for the workspace %s", n.id,
			      n.workspace);
	err = checkout_send(&repo, &n, a->writer, n.checkout, e);
	return err < 0 ? err : nonce_fill(&n, e);
}

static int parse_owner(const char *text, uid_t *ret_uid, gid_t *ret_gid)
{
	char *end;
	unsigned long uid, gid;

	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || end == text || *end != ':' || uid >= UINT32_MAX)
		return -EINVAL;
	text = end + 1;
	gid = strtoul(text, &end, 10);
	if (errno || end == text || *end != '\0' || gid >= UINT32_MAX)
		return -EINVAL;
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)gid;
	return 0;
}

static int check_empty(int fd, const char *path, struct weir_err *e)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_closedir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		int err = -errno;

		if (copy >= 0)
			close(copy);
		return err_errno(e, err, "%s", path);
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return err_set(e, -ENOTEMPTY, "%s is not empty", path);
	return 0;
}

/* Gives the directory to its owner, then lets keeper and writer fill it. */
static int fill(const struct gate_config *c, struct args *a, int dir, struct weir_err *e)
{
	struct stat st;
	pid_t writer = -1;
	int status, err;
	uid_t uid;
	gid_t gid;

	if (fstat(dir, &st) < 0)
		return err_errno(e, -errno, "%s", a->into);
	uid = st.st_uid;
	gid = st.st_gid;
	if (a->owner && parse_owner(a->owner, &uid, &gid) < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err_set(e, -EINVAL, "--owner is not UID:GID in numbers");
	}
	err = check_empty(dir, a->into, e);
	if (err == 0 && fchown(dir, uid, gid) < 0)
		err = err_errno(e, -errno, "giving %s to uid %u", a->into, uid);
	if (err == 0)
		err = checkout_start_writer(dir, uid, gid, &a->writer, &writer, e);
	if (err < 0)
		return err;
	status = keeper_run(c, keep_checkout, a, &a->writer, 1);
	close(a->writer);
	err = priv_wait(writer, "writer", e);
	return status ? status : err;
}

int command_checkout(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "nonce", KEY_NONCE, "N", 0, "as issued by weir-gate nonce for this directory",
		  0 },
		{ "into", KEY_INTO, "DIR", 0, "an empty directory", 0 },
		{ "owner", KEY_OWNER, "UID:GID", 0, "who gets the files (default: DIR's owner)",
		  0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Fill an empty workspace from a nonce's base commit, bytes as in the blobs.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	cleanup_close int dir = -1;
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	status = gate_need_root();
	if (status)
		return status;
	if (!a.nonce || !a.into)
		return missing(a.nonce ? "--into" : "--nonce");
	if (config_load(&c, &e) < 0)
		return gate_fail(&e);
	dir = open_workspace(a.into, &a, &e);
	free(a.path);
	if (dir < 0)
		return gate_fail(&e);
	status = fill(&c, &a, dir, &e);
	return e.text[0] ? gate_fail(&e) : status;
}
