/* SPDX-License-Identifier: MIT */
#include "writeback/signer.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/agent.h"
#include "writeback/keeper.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/sshkey.h"
#include "writeback/sshsig.h"

struct job {
	const struct signing *s;
	bool only_public;
	int file; /* -1: the agent's only key */
	int out;
	uid_t uid;
	gid_t gid;
};

static void wipe(struct buf *b)
{
	if (b->data)
		OPENSSL_cleanse(b->data, b->cap);
	buf_done(b);
}

static int open_key(struct job *j, struct weir_err *e)
{
	const struct signing *s = j->s;
	bool agent = strcmp(s->key, "agent") == 0;
	struct stat st;

	if (agent && !s->agent)
		return err_set(e, -EINVAL, "there is no ssh-agent (SSH_AUTH_SOCK is not set)");
	if (agent) {
		if (stat(s->agent, &st) < 0)
			return err_errno(e, -errno, "ssh-agent at %s", s->agent);
	} else {
		j->file = open(s->key, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (j->file < 0 || fstat(j->file, &st) < 0)
			return err_errno(e, -errno, "key %s", s->key);
		if (!S_ISREG(st.st_mode))
			return err_set(e, -EINVAL, "key %s is no regular file", s->key);
	}
	j->uid = st.st_uid;
	j->gid = st.st_gid;
	return 0;
}

static int give(const struct job *j, const struct buf *b, struct weir_err *e)
{
	int err = fsio_write_all(j->out, b->data, b->len);

	return err < 0 ? err_errno(e, err, "signing") : 0;
}

static int by_agent(const struct job *j, const struct buf *blob, struct weir_err *e)
{
	cleanup_buf struct buf armor = { 0 };
	const struct signing *s = j->s;
	int err;

	if (j->only_public)
		return give(j, blob, e);
	if (!s->agent)
		return err_set(e, -EINVAL,
			       "%s is a public key, and there is no ssh-agent (SSH_AUTH_SOCK is "
			       "not set)",
			       s->key);
	err = sshsig_sign_agent(s->agent, blob, s->name_space, s->data->data, s->data->len, &armor,
				e);
	return err < 0 ? err : give(j, &armor, e);
}

static int by_file(const struct job *j, const struct buf *text, struct weir_err *e)
{
	cleanup_sshkey struct sshkey key = { 0 };
	cleanup_buf struct buf out = { 0 };
	const struct signing *s = j->s;
	struct stat st;
	int err;

	if (fstat(j->file, &st) < 0 || (st.st_mode & 077))
		return err_set(e, -EPERM, "key %s: others must have no access to it (chmod 600)",
			       s->key);
	err = sshkey_parse(buf_str(text), text->len, &key, e);
	if (err < 0)
		return err_wrap(e, "key %s", s->key);
	err = j->only_public ? sshkey_blob(key.public_key, &out)
			     : sshsig_sign(&key, s->name_space, s->data->data, s->data->len, &out);
	return err < 0 ? err_errno(e, err, "signing") : give(j, &out, e);
}

static int work(const struct job *j, struct weir_err *e)
{
	__attribute__((__cleanup__(wipe))) struct buf text = { .max = SSHKEY_FILE_MAX };
	cleanup_buf struct buf blob = { .max = SSHKEY_FILE_MAX };
	int err;

	if (j->file < 0) {
		err = agent_only_key(j->s->agent, &blob, e);
		return err < 0 ? err : by_agent(j, &blob, e);
	}
	err = fsio_read_fd(j->file, SSHKEY_FILE_MAX, &text);
	if (err < 0)
		return err_errno(e, err, "key %s", j->s->key);
	if (strstr(buf_str(&text), "PRIVATE KEY"))
		return by_file(j, &text, e);
	if (sshkey_parse_public(buf_str(&text), &blob) < 0)
		return err_set(e, -EINVAL, "%s is no OpenSSH key, private or public", j->s->key);
	return by_agent(j, &blob, e);
}

/* Root's own keys are handled by nobody; root's own agent answers only root. Who is not root has
 * nothing to drop. */
static int signer_main(const struct job *j)
{
	int keep[] = { j->file, j->out };
	struct weir_err e = { 0 };
	int err = priv_close_others(keep, 2);

	if (err == 0 && geteuid() != 0)
		err = 0;
	else if (err == 0 && j->uid != 0)
		err = priv_become(j->uid, j->gid, &e);
	else if (err == 0 && j->file >= 0 && !j->s->agent)
		err = priv_become(PRIV_NOBODY, PRIV_NOBODY, &e);
	if (err == 0)
		err = work(j, &e);
	if (err < 0 && !e.text[0])
		err_errno(&e, err, "signing");
	if (err < 0 && e.exit_code == 0)
		e.exit_code = GATE_EXIT_USAGE;
	return err < 0 ? gate_fail(&e) : 0;
}

static int run(struct job *j, struct buf *ret_out, struct weir_err *e)
{
	int ends[2] = { -1, -1 }, status, err = open_key(j, e);
	pid_t pid;

	if (err == 0 && pipe2(ends, O_CLOEXEC) < 0)
		err = err_errno(e, -errno, "signing");
	if (err < 0)
		return err;
	fflush(NULL);
	j->out = ends[1];
	pid = fork();
	if (pid == 0)
		_exit(signer_main(j));
	close(ends[1]);
	err = pid < 0 ? -errno : fsio_read_fd(ends[0], SSHSIG_MAX, ret_out);
	close(ends[0]);
	if (j->file >= 0)
		close(j->file);
	if (pid < 0)
		return err_errno(e, err, "signing");
	status = priv_wait(pid, "signer", e);
	if (status != 0)
		return status;
	return err < 0 ? err_errno(e, err, "signing") : 0;
}

int signer_sign(const struct signing *s, struct buf *ret_armor, struct weir_err *e)
{
	struct job j = { .s = s, .file = -1 };

	return run(&j, ret_armor, e);
}

int signer_public(const struct signing *s, struct buf *ret_blob, struct weir_err *e)
{
	struct job j = { .s = s, .only_public = true, .file = -1 };

	return run(&j, ret_blob, e);
}
