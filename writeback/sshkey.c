/* SPDX-License-Identifier: MIT */
#include "writeback/sshkey.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "writeback/sshwire.h"

static const char magic[] = "openssh-key-v1"; /* with its NUL */
static const char begin[] = "-----BEGIN OPENSSH PRIVATE KEY-----";
static const char end[] = "-----END OPENSSH PRIVATE KEY-----";

void sshkey_done(struct sshkey *k)
{
	OPENSSL_cleanse(k, sizeof(*k));
}

static void wipe_buf(struct buf *b)
{
	if (b->data)
		OPENSSL_cleanse(b->data, b->cap);
	buf_done(b);
}

/* The part behind "private part": checks everything that is redundant. */
static int parse_private(struct sshwire priv, const struct sshwire *pub, struct sshkey *ret_key)
{
	struct sshwire type, public_key, secret, comment, blob = *pub, blob_type, blob_key;
	uint32_t check[2];

	if (sshwire_u32(&priv, &check[0]) < 0 || sshwire_u32(&priv, &check[1]) < 0 ||
	    check[0] != check[1] || sshwire_string(&priv, &type) < 0)
		return -EBADMSG;
	if (!sshwire_is(&type, SSHKEY_TYPE_ED25519))
		return -ENOTSUP;
	if (sshwire_string(&priv, &public_key) < 0 || sshwire_string(&priv, &secret) < 0 ||
	    sshwire_string(&priv, &comment) < 0 || public_key.left != ED25519_PUBLIC ||
	    secret.left != ED25519_SEED + ED25519_PUBLIC || priv.left > 255)
		return -EBADMSG;
	for (size_t i = 0; i < priv.left; i++)
		if (priv.at[i] != i + 1)
			return -EBADMSG;
	if (sshwire_string(&blob, &blob_type) < 0 || sshwire_string(&blob, &blob_key) < 0 ||
	    blob.left != 0 || !sshwire_is(&blob_type, SSHKEY_TYPE_ED25519) ||
	    blob_key.left != ED25519_PUBLIC)
		return -EBADMSG;
	memcpy(ret_key->seed, secret.at, ED25519_SEED);
	if (digest_public(ret_key->seed, ret_key->public_key) < 0)
		return -EBADMSG;
	if (memcmp(ret_key->public_key, public_key.at, ED25519_PUBLIC) != 0 ||
	    memcmp(ret_key->public_key, secret.at + ED25519_SEED, ED25519_PUBLIC) != 0 ||
	    memcmp(ret_key->public_key, blob_key.at, ED25519_PUBLIC) != 0)
		return -EBADMSG;
	return 0;
}

static int parse_blob(const struct buf *raw, struct sshkey *ret_key)
{
	struct sshwire w = { (const unsigned char *)raw->data, raw->len };
	struct sshwire cipher, kdf, options, pub, priv;
	uint32_t count;

	if (w.left < sizeof(magic) || memcmp(w.at, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	w.at += sizeof(magic);
	w.left -= sizeof(magic);
	if (sshwire_string(&w, &cipher) < 0 || sshwire_string(&w, &kdf) < 0 ||
	    sshwire_string(&w, &options) < 0 || sshwire_u32(&w, &count) < 0)
		return -EBADMSG;
	if (!sshwire_is(&cipher, "none") || !sshwire_is(&kdf, "none"))
		return -ENOKEY;
	if (count != 1 || sshwire_string(&w, &pub) < 0 || sshwire_string(&w, &priv) < 0 ||
	    w.left != 0)
		return -EBADMSG;
	return parse_private(priv, &pub, ret_key);
}

int sshkey_parse(const char *text, size_t len, struct sshkey *ret_key, struct weir_err *e)
{
	__attribute__((__cleanup__(wipe_buf))) struct buf raw = { .max = SSHKEY_FILE_MAX };
	const char *from = memmem(text, len, begin, strlen(begin));
	const char *to = from ? memmem(from, len - (size_t)(from - text), end, strlen(end)) : NULL;
	int err;

	if (!from || !to)
		return err_set(e, -EBADMSG, "no OpenSSH private key in it");
	from += strlen(begin);
	err = from > to ? -EBADMSG : base64_read(from, (size_t)(to - from), &raw);
	if (err == 0)
		err = parse_blob(&raw, ret_key);
	if (err < 0)
		sshkey_done(ret_key);
	if (err == -ENOKEY)
		return err_set(e, -ENOTSUP, "the key has a passphrase; use ssh-agent for it");
	if (err == -ENOTSUP)
		return err_set(e, err, "not an Ed25519 key");
	return err < 0 ? err_set(e, -EBADMSG, "damaged private key") : 0;
}

int sshkey_blob(const unsigned char public_key[ED25519_PUBLIC], struct buf *ret_blob)
{
	int err = sshwire_put_text(ret_blob, SSHKEY_TYPE_ED25519);

	return err < 0 ? err : sshwire_put(ret_blob, public_key, ED25519_PUBLIC);
}

static int format_private(const unsigned char *seed, const unsigned char *public_key,
			  const char *comment, struct buf *b)
{
	unsigned char secret[ED25519_SEED + ED25519_PUBLIC], check[4];

	if (digest_random(check, sizeof(check)) < 0)
		return -EIO;
	memcpy(secret, seed, ED25519_SEED);
	memcpy(secret + ED25519_SEED, public_key, ED25519_PUBLIC);
	buf_add(b, check, sizeof(check));
	buf_add(b, check, sizeof(check));
	sshwire_put_text(b, SSHKEY_TYPE_ED25519);
	sshwire_put(b, public_key, ED25519_PUBLIC);
	sshwire_put(b, secret, sizeof(secret));
	OPENSSL_cleanse(secret, sizeof(secret));
	sshwire_put_text(b, comment);
	for (unsigned char pad = 1; b->len % 8 != 0; pad++)
		buf_add(b, &pad, 1);
	return b->failed ? -ENOMEM : 0;
}

int sshkey_format(const unsigned char seed[ED25519_SEED], const char *comment, struct buf *ret_text)
{
	__attribute__((__cleanup__(wipe_buf))) struct buf raw = { .max = SSHKEY_FILE_MAX };
	__attribute__((__cleanup__(wipe_buf))) struct buf priv = { .max = SSHKEY_FILE_MAX };
	cleanup_buf struct buf blob = { 0 };
	unsigned char public_key[ED25519_PUBLIC];
	int err = digest_public(seed, public_key);

	if (err == 0)
		err = sshkey_blob(public_key, &blob);
	if (err == 0)
		err = format_private(seed, public_key, comment, &priv);
	if (err < 0)
		return err;
	buf_add(&raw, magic, sizeof(magic));
	sshwire_put_text(&raw, "none");
	sshwire_put_text(&raw, "none");
	sshwire_put_text(&raw, "");
	buf_add_u32be(&raw, 1);
	sshwire_put(&raw, blob.data, blob.len);
	sshwire_put(&raw, priv.data, priv.len);
	buf_addf(ret_text, "%s\n", begin);
	base64_write(raw.data, raw.len, 70, ret_text);
	buf_addf(ret_text, "%s\n", end);
	return raw.failed || ret_text->failed ? -ENOMEM : 0;
}

int sshkey_blob_ed25519(const struct buf *blob, unsigned char ret_key[ED25519_PUBLIC])
{
	struct sshwire w = { (const unsigned char *)blob->data, blob->len }, type, key;

	if (sshwire_string(&w, &type) < 0)
		return -EBADMSG;
	if (!sshwire_is(&type, SSHKEY_TYPE_ED25519))
		return -ENOTSUP;
	if (sshwire_string(&w, &key) < 0 || key.left != ED25519_PUBLIC || w.left != 0)
		return -EBADMSG;
	memcpy(ret_key, key.at, ED25519_PUBLIC);
	return 0;
}

int sshkey_parse_public(const char *line, struct buf *ret_blob)
{
	size_t type = strcspn(line, " \t");
	const char *from = line + type + strspn(line + type, " \t");
	struct sshwire w, name;

	if (type == 0 || base64_read(from, strcspn(from, " \t\r\n"), ret_blob) < 0)
		return -EBADMSG;
	w.at = (const unsigned char *)ret_blob->data;
	w.left = ret_blob->len;
	if (sshwire_string(&w, &name) < 0 || name.left != type || memcmp(name.at, line, type) != 0)
		return -EBADMSG;
	return 0;
}
