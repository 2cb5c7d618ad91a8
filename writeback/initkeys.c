/* SPDX-License-Identifier: MIT */
/* Keys made by weir-gate init; contract in init.h. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/init.h"
#include "writeback/sshkey.h"
#include "writeback/sshwire.h"

static const struct init_file public_file = { GATE_KEY ".pub", 0644, 0, 0 };
static const struct init_file pem_file = { GATE_PEM, 0644, 0, 0 };
static const struct init_file signers_file = { GATE_SIGNERS, 0644, 0, 0 };
static const struct init_file host_file = { GATE_HOST_KEY, 0600, 0, 0 };

int init_file(struct init_files *made, const struct init_file *file, const struct buf *content,
	      struct weir_err *e)
{
	const char *path = file->path;
	cleanup_close int fd = -1;
	int err;

	if (made->count >= ARRAY_SIZE(made->paths))
		return err_errno(e, -E2BIG, "%s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == EEXIST)
		return err_set(e, -EEXIST, "%s exists; init overwrites nothing", path);
	if (fd < 0)
		return err_errno(e, -errno, "%s", path);
	made->paths[made->count] = strdup(path);
	if (made->paths[made->count])
		made->count++;
	err = fsio_write_all(fd, content->data, content->len);
	if (err == 0 &&
	    (fchown(fd, file->uid, file->gid) < 0 || fchmod(fd, file->mode) < 0 || fsync(fd) < 0))
		err = -errno;
	return err < 0 ? err_errno(e, err, "%s", path) : 0;
}

void init_undo(struct init_files *made)
{
	while (made->count > 0)
		if (unlink(made->paths[--made->count]) < 0 && errno == EISDIR)
			rmdir(made->paths[made->count]);
}

void init_files_done(struct init_files *made)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(made->paths); i++)
		free(made->paths[i]);
}

static int add_public_line(const unsigned char *public_key, const char *comment, struct buf *b)
{
	cleanup_buf struct buf blob = { 0 };
	int err = sshkey_blob(public_key, &blob);

	if (err < 0)
		return err;
	buf_addf(b, "%s ", SSHKEY_TYPE_ED25519);
	base64_write(blob.data, blob.len, 0, b);
	return buf_addf(b, " %s\n", comment);
}

static int make_key(const struct gate_config *c, struct init_files *made, struct buf *ret_line,
		    struct weir_err *e)
{
	const struct init_file key = { GATE_KEY, 0600, c->uid, c->gid };
	unsigned char seed[ED25519_SEED], public_key[ED25519_PUBLIC];
	cleanup_buf struct buf text = { 0 };
	int err = digest_random(seed, sizeof(seed));

	if (err == 0)
		err = digest_public(seed, public_key);
	if (err == 0)
		err = sshkey_format(seed, c->email, &text);
	OPENSSL_cleanse(seed, sizeof(seed));
	if (err == 0)
		err = add_public_line(public_key, c->email, ret_line);
	if (err < 0)
		err_errno(e, err, "making the signing key");
	else
		err = init_file(made, &key, &text, e);
	if (text.data)
		OPENSSL_cleanse(text.data, text.cap);
	return err < 0 ? err : init_file(made, &public_file, ret_line, e);
}

static int take_public(const char *path, struct init_files *made, struct buf *ret_line,
		       struct weir_err *e)
{
	cleanup_buf struct buf blob = { 0 };
	int err = fsio_read_file(AT_FDCWD, path, SSHKEY_FILE_MAX, ret_line, e);

	if (err < 0)
		return err;
	if (sshkey_parse_public(buf_str(ret_line), &blob) < 0)
		return err_set(e, -EINVAL, "%s is no SSH public key", path);
	return init_file(made, &public_file, ret_line, e);
}

/* A host key may exist: the collector of this host signs with it. Seed in, public out. */
static int host_key(struct init_files *made, char *ret_public_hex, struct weir_err *e)
{
	unsigned char seed[ED25519_SEED], public_key[ED25519_PUBLIC];
	char hex[2 * ED25519_SEED + 2] = "";
	cleanup_buf struct buf text = { 0 };
	struct stat st;
	int err;

	if (lstat(GATE_HOST_KEY, &st) == 0) {
		if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 077))
			return err_set(e, -EPERM, "%s must be a file of root with mode 0600",
				       GATE_HOST_KEY);
		err = fsio_read_file(AT_FDCWD, GATE_HOST_KEY, 256, &text, e);
		if (err < 0)
			return err;
		snprintf(hex, sizeof(hex), "%.*s", (int)strcspn(buf_str(&text), "\n"),
			 buf_str(&text));
		if (digest_unhex(hex, seed, sizeof(seed)) < 0)
			return err_set(e, -EINVAL, "%s does not hold 64 hex digits", GATE_HOST_KEY);
	} else {
		err = digest_random(seed, sizeof(seed));
		if (err < 0)
			return err_errno(e, err, "making the host key");
		digest_hex(seed, sizeof(seed), hex);
		buf_addf(&text, "%s\n", hex);
		err = init_file(made, &host_file, &text, e);
		if (err < 0)
			return err;
	}
	err = digest_public(seed, public_key);
	OPENSSL_cleanse(seed, sizeof(seed));
	OPENSSL_cleanse(hex, sizeof(hex));
	if (text.data)
		OPENSSL_cleanse(text.data, text.cap);
	digest_hex(public_key, sizeof(public_key), ret_public_hex);
	return err < 0 ? err_errno(e, err, "reading the host key") : 0;
}

int init_pem(const struct buf *blob, struct buf *ret_text)
{
	static const unsigned char head[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
					      0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
	unsigned char der[sizeof(head) + ED25519_PUBLIC];

	if (sshkey_blob_ed25519(blob, der + sizeof(head)) < 0)
		return 0;
	memcpy(der, head, sizeof(head));
	buf_addf(ret_text, "-----BEGIN PUBLIC KEY-----\n");
	base64_write(der, sizeof(der), 64, ret_text);
	return buf_addf(ret_text, "-----END PUBLIC KEY-----\n");
}

static int write_pem(const struct buf *line, struct init_files *made, struct weir_err *e)
{
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf text = { 0 };

	if (sshkey_parse_public(buf_str(line), &blob) < 0)
		return err_set(e, -EINVAL, "the gate's public key can't be read");
	if (init_pem(&blob, &text) < 0)
		return err_errno(e, -ENOMEM, "%s", GATE_PEM);
	return text.len ? init_file(made, &pem_file, &text, e) : 0;
}

int init_keys(struct gate_config *c, const char *agent_public, struct init_files *made,
	      struct weir_err *e)
{
	cleanup_buf struct buf line = { 0 };
	cleanup_buf struct buf signers = { 0 };
	char host[DIGEST_HEX];
	int err = agent_public ? take_public(agent_public, made, &line, e)
			       : make_key(c, made, &line, e);

	if (err == 0) {
		buf_addf(&signers, "%s namespaces=\"git\" %.*s\n", c->email,
			 (int)strcspn(buf_str(&line), "\n"), buf_str(&line));
		err = init_file(made, &signers_file, &signers, e);
	}
	if (err == 0)
		err = write_pem(&line, made, e);
	if (err == 0)
		err = host_key(made, host, e);
	if (err < 0)
		return err;
	c->key = strdup(agent_public ? GATE_KEY ".pub" : GATE_KEY);
	c->signers = strdup(GATE_SIGNERS);
	if (!c->key || !c->signers || gate_texts_add(&c->hosts, host) < 0)
		return err_errno(e, -ENOMEM, "keys");
	return 0;
}
