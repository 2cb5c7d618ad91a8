/* SPDX-License-Identifier: MIT */
#include "writeback/sshsig.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/agent.h"
#include "writeback/sshcert.h"
#include "writeback/sshpub.h"

static const char preamble[] = "SSHSIG";
#define PREAMBLE 6 /* without the NUL */
static const char begin[] = "-----BEGIN SSH SIGNATURE-----";
static const char end[] = "-----END SSH SIGNATURE-----";

static int signed_bytes(const char *name_space, const char *hash_name, const void *data, size_t len,
			struct buf *ret_bytes)
{
	const EVP_MD *md = strcmp(hash_name, "sha256") == 0 ? EVP_sha256() : EVP_sha512();
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned int size = 0;

	if (EVP_Digest(data, len, hash, &size, md, NULL) != 1)
		return -EIO;
	buf_add(ret_bytes, preamble, PREAMBLE);
	sshwire_put_text(ret_bytes, name_space);
	sshwire_put_text(ret_bytes, "");
	sshwire_put_text(ret_bytes, hash_name);
	sshwire_put(ret_bytes, hash, size);
	return ret_bytes->failed ? -ENOMEM : 0;
}

static int armor(const struct buf *blob, const char *name_space, const void *signature, size_t len,
		 struct buf *ret_armor)
{
	cleanup_buf struct buf raw = { .max = SSHSIG_MAX };

	buf_add(&raw, preamble, PREAMBLE);
	buf_add_u32be(&raw, 1);
	sshwire_put(&raw, blob->data, blob->len);
	sshwire_put_text(&raw, name_space);
	sshwire_put_text(&raw, "");
	sshwire_put_text(&raw, "sha512");
	sshwire_put(&raw, signature, len);
	if (raw.failed)
		return -ENOMEM;
	buf_addf(ret_armor, "%s\n", begin);
	base64_write(raw.data, raw.len, 70, ret_armor);
	buf_addf(ret_armor, "%s\n", end);
	return ret_armor->failed ? -ENOMEM : 0;
}

int sshsig_sign(const struct sshkey *key, const char *name_space, const void *data, size_t len,
		struct buf *ret_armor)
{
	cleanup_buf struct buf bytes = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf signature = { 0 };
	unsigned char raw[ED25519_SIGNATURE];
	int err = signed_bytes(name_space, "sha512", data, len, &bytes);

	if (err == 0)
		err = digest_sign(key->seed, bytes.data, bytes.len, raw);
	if (err == 0)
		err = sshkey_blob(key->public_key, &blob);
	if (err < 0)
		return err;
	sshwire_put_text(&signature, SSHKEY_TYPE_ED25519);
	sshwire_put(&signature, raw, sizeof(raw));
	return signature.failed
		       ? -ENOMEM
		       : armor(&blob, name_space, signature.data, signature.len, ret_armor);
}

/* By a plain key, or by the key that a certificate is for. */
static int check_signature(const struct sshwire *blob, const struct sshwire *signature,
			   const struct buf *bytes)
{
	cleanup_sshcert struct sshcert cert = { 0 };
	struct sshwire plain = *blob;
	int err = 0;

	if (sshcert_is(blob)) {
		err = sshcert_read(blob, &cert);
		plain = sshwire_of(&cert.plain);
	}
	return err < 0 ? err : sshpub_verify(&plain, signature, bytes->data, bytes->len);
}

int sshsig_sign_agent(const char *socket_path, const struct buf *blob, const char *name_space,
		      const void *data, size_t len, struct buf *ret_armor, struct weir_err *e)
{
	cleanup_buf struct buf bytes = { 0 };
	cleanup_buf struct buf signature = { .max = SSHSIG_MAX };
	struct sshwire key = sshwire_of(blob), raw;
	int err = signed_bytes(name_space, "sha512", data, len, &bytes);

	if (err < 0)
		return err_errno(e, err, "signing");
	err = agent_sign(socket_path, blob, &bytes, &signature, e);
	if (err < 0)
		return err;
	raw = sshwire_of(&signature);
	err = check_signature(&key, &raw, &bytes);
	if (err < 0)
		return err_set(e, err, "%s: the agent gave a wrong signature", socket_path);
	err = armor(blob, name_space, signature.data, signature.len, ret_armor);
	return err < 0 ? err_errno(e, err, "signing") : 0;
}

struct parsed {
	struct sshwire blob;
	struct sshwire name_space;
	struct sshwire hash;
	struct sshwire signature;
};

static int parse(const struct buf *raw, struct parsed *p)
{
	struct sshwire w = { (const unsigned char *)raw->data, raw->len }, reserved;
	uint32_t version;

	if (w.left < PREAMBLE || memcmp(w.at, preamble, PREAMBLE) != 0)
		return -EBADMSG;
	w.at += PREAMBLE;
	w.left -= PREAMBLE;
	if (sshwire_u32(&w, &version) < 0 || version != 1 || sshwire_string(&w, &p->blob) < 0 ||
	    sshwire_string(&w, &p->name_space) < 0 || sshwire_string(&w, &reserved) < 0 ||
	    sshwire_string(&w, &p->hash) < 0 || sshwire_string(&w, &p->signature) < 0 ||
	    w.left != 0)
		return -EBADMSG;
	return 0;
}

static int check(const struct buf *raw, const char *name_space, const void *data, size_t len,
		 struct buf *ret_blob)
{
	cleanup_buf struct buf bytes = { 0 };
	struct parsed p;
	int err = parse(raw, &p);

	if (err < 0)
		return err;
	if (!sshwire_is(&p.name_space, name_space) ||
	    !(sshwire_is(&p.hash, "sha512") || sshwire_is(&p.hash, "sha256")))
		return -EBADMSG;
	err = signed_bytes(name_space, sshwire_is(&p.hash, "sha256") ? "sha256" : "sha512", data,
			   len, &bytes);
	if (err == 0)
		err = check_signature(&p.blob, &p.signature, &bytes);
	return err < 0 ? err : buf_add(ret_blob, p.blob.at, p.blob.left);
}

int sshsig_verify(const char *armor_text, size_t armor_len, const char *name_space,
		  const void *data, size_t len, struct buf *ret_blob, struct weir_err *e)
{
	cleanup_buf struct buf raw = { .max = SSHSIG_MAX };
	const char *from, *to = NULL;
	int err = -EBADMSG;

	from = memmem(armor_text, armor_len, begin, strlen(begin));
	if (from)
		to = memmem(from, armor_len - (size_t)(from - armor_text), end, strlen(end));
	if (to) {
		from += strlen(begin);
		err = from > to ? -EBADMSG : base64_read(from, (size_t)(to - from), &raw);
	}
	if (err == 0)
		err = check(&raw, name_space, data, len, ret_blob);
	if (err == -ENOTSUP)
		return err_set(e, err, "signed by a key or certificate of an unknown kind");
	if (err == -EKEYREJECTED)
		return err_set(e, err,
			       "signed by a weak key, by SHA-1, or by a security key that nobody "
			       "touched");
	return err < 0 ? err_set(e, -EBADMSG, "the signature is damaged or wrong") : 0;
}
