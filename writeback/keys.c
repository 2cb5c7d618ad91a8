/* SPDX-License-Identifier: MIT */
#include "writeback/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/agent.h"
#include "writeback/reason.h"
#include "writeback/signers.h"
#include "writeback/sshsig.h"
#include "writeback/sshwire.h"

static void wipe(struct buf *b)
{
	if (b->data)
		OPENSSL_cleanse(b->data, b->cap);
	buf_done(b);
}

static int open_key(const char *path, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return refuse(e, REASON_KEY, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return refuse(e, REASON_KEY, "%s is no regular file", path);
	if (st.st_uid != geteuid())
		return refuse(e, REASON_KEY, "%s belongs to uid %u, not to the gate (uid %u)", path,
			      st.st_uid, geteuid());
	if (st.st_mode & 077)
		return refuse(e, REASON_KEY, "%s has mode %04o: others must have no access (0600)",
			      path, st.st_mode & 07777);
	return TAKE_FD(fd);
}

int keys_load(const char *path, struct sshkey *ret_key, struct weir_err *e)
{
	__attribute__((__cleanup__(wipe))) struct buf text = { .max = SSHKEY_FILE_MAX };
	cleanup_close int fd = open_key(path, e);
	struct weir_err cause = { 0 };
	int err;

	if (fd < 0)
		return fd;
	err = fsio_read_fd(fd, SSHKEY_FILE_MAX, &text);
	if (err == 0)
		err = sshkey_parse(buf_str(&text), text.len, ret_key, &cause);
	if (err < 0)
		return refuse(e, REASON_KEY, "%s: %s", path,
			      cause.text[0] ? cause.text : strerror(-err));
	return 0;
}

static int check_listed(const struct gate_config *c, const struct buf *blob, struct weir_err *e)
{
	cleanup_buf struct buf signers = { 0 };
	cleanup_buf struct buf principal = { 0 };
	struct weir_err cause = { 0 };
	int err = fsio_read_file(AT_FDCWD, c->signers, SIGNERS_MAX, &signers, &cause);

	if (err == 0)
		err = signers_find_in(buf_str(&signers), blob, "git", time(NULL), &principal,
				      &cause);
	if (err == -ENOENT)
		return refuse(e, REASON_KEY, "%s does not list the gate's key for git now",
			      c->signers);
	return err < 0 ? refuse(e, REASON_KEY, "%s: %s", c->signers, cause.text) : 0;
}

static int sign_by_agent(const struct gate_config *c, const void *data, size_t len,
			 struct buf *ret_armor, struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf blob = { 0 };
	struct weir_err cause = { 0 };
	int err = fsio_read_file(AT_FDCWD, c->key, SSHKEY_FILE_MAX, &line, &cause);

	if (err < 0)
		return refuse(e, REASON_KEY, "%s", cause.text);
	if (sshkey_parse_public(buf_str(&line), &blob) < 0)
		return refuse(e, REASON_KEY, "%s is no public key file", c->key);
	err = check_listed(c, &blob, e);
	if (err < 0)
		return err;
	err = sshsig_sign_agent(c->agent, &blob, "git", data, len, ret_armor, &cause);
	return err < 0 ? refuse(e, REASON_KEY, "%s", cause.text) : 0;
}

int keys_sign_commit(const struct gate_config *c, const void *data, size_t len,
		     struct buf *ret_armor, struct weir_err *e)
{
	cleanup_sshkey struct sshkey key = { 0 };
	cleanup_buf struct buf blob = { 0 };
	int err;

	if (c->agent)
		return sign_by_agent(c, data, len, ret_armor, e);
	err = keys_load(c->key, &key, e);
	if (err == 0 && sshkey_blob(key.public_key, &blob) < 0)
		err = err_errno(e, -ENOMEM, "signing");
	if (err == 0)
		err = check_listed(c, &blob, e);
	if (err < 0)
		return err;
	err = sshsig_sign(&key, "git", data, len, ret_armor);
	return err < 0 ? err_errno(e, err, "signing the commit") : 0;
}

int keys_blob(const struct gate_config *c, struct buf *ret_blob, struct weir_err *e)
{
	cleanup_sshkey struct sshkey key = { 0 };
	cleanup_buf struct buf line = { 0 };
	struct weir_err cause = { 0 };
	int err;

	if (c->agent) {
		if (fsio_read_file(AT_FDCWD, c->key, SSHKEY_FILE_MAX, &line, &cause) < 0)
			return refuse(e, REASON_KEY, "%s", cause.text);
		return sshkey_parse_public(buf_str(&line), ret_blob) < 0
			       ? refuse(e, REASON_KEY, "%s is no public key file", c->key)
			       : 0;
	}
	err = keys_load(c->key, &key, e);
	if (err == 0 && sshkey_blob(key.public_key, ret_blob) < 0)
		err = err_errno(e, -ENOMEM, "%s", c->key);
	return err;
}

void keys_raw_done(struct keys_raw *k)
{
	sshkey_done(&k->secret);
	buf_done(&k->blob);
}

/* SHA256: and base64 without padding. */
static int make_keyid(struct keys_raw *k)
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];

	if (digest_bytes(k->blob.data, k->blob.len, hash) < 0 ||
	    base64_write(hash, sizeof(hash), 0, &text) < 0)
		return -ENOMEM;
	snprintf(k->keyid, sizeof(k->keyid), "SHA256:%.*s", (int)strcspn(buf_str(&text), "="),
		 buf_str(&text));
	return 0;
}

int keys_raw_open(const struct gate_config *c, struct keys_raw *ret_key, struct weir_err *e)
{
	struct keys_raw *k = ret_key;
	cleanup_buf struct buf line = { 0 };
	struct weir_err cause = { 0 };
	int err;

	*k = (struct keys_raw){ .config = c };
	if (!c->agent) {
		err = keys_load(c->key, &k->secret, e);
		if (err == 0 && sshkey_blob(k->secret.public_key, &k->blob) < 0)
			err = err_errno(e, -ENOMEM, "signing");
	} else {
		err = fsio_read_file(AT_FDCWD, c->key, SSHKEY_FILE_MAX, &line, &cause);
		if (err < 0)
			err = refuse(e, REASON_KEY, "%s", cause.text);
		else if (sshkey_parse_public(buf_str(&line), &k->blob) < 0)
			err = refuse(e, REASON_KEY, "%s is no public key file", c->key);
	}
	if (err < 0)
		return err;
	if (sshkey_blob_ed25519(&k->blob, k->public_key) < 0)
		return refuse(e, REASON_KEY, "%s: attestations need an Ed25519 key", c->key);
	return make_keyid(k) < 0 ? err_errno(e, -ENOMEM, "signing") : 0;
}

static int sign_raw_by_agent(const struct keys_raw *k, const void *data, size_t len,
			     unsigned char *ret_signature, struct weir_err *e)
{
	cleanup_buf struct buf bytes = { 0 };
	cleanup_buf struct buf signature = { .max = SSHSIG_MAX };
	struct weir_err cause = { 0 };
	struct sshwire w, type, raw;

	if (buf_add(&bytes, data, len) < 0)
		return err_errno(e, -ENOMEM, "signing");
	if (agent_sign(k->config->agent, &k->blob, &bytes, &signature, &cause) < 0)
		return refuse(e, REASON_KEY, "%s", cause.text);
	w = (struct sshwire){ (const unsigned char *)signature.data, signature.len };
	if (sshwire_string(&w, &type) < 0 || !sshwire_is(&type, SSHKEY_TYPE_ED25519) ||
	    sshwire_string(&w, &raw) < 0 || raw.left != ED25519_SIGNATURE || w.left != 0 ||
	    digest_verify(k->public_key, data, len, raw.at) < 0)
		return refuse(e, REASON_KEY, "%s: the agent gave a wrong signature",
			      k->config->agent);
	memcpy(ret_signature, raw.at, ED25519_SIGNATURE);
	return 0;
}

int keys_sign_raw(const struct keys_raw *k, const void *data, size_t len,
		  unsigned char ret_signature[ED25519_SIGNATURE], struct weir_err *e)
{
	if (k->config->agent)
		return sign_raw_by_agent(k, data, len, ret_signature, e);
	return digest_sign(k->secret.seed, data, len, ret_signature) < 0
		       ? err_set(e, -EIO, "signing with %s failed", k->config->key)
		       : 0;
}
