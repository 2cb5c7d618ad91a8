/* SPDX-License-Identifier: MIT */
#include "writeback/sshpub.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "user/base/cleanup.h"

#define RSA_BITS_MIN 2048
#define RSA_BYTES_MAX 2048
#define SK_TOUCHED 1

enum family {
	FAMILY_ED25519,
	FAMILY_ECDSA,
	FAMILY_RSA,
};

static const struct key_type {
	const char *name;
	enum family family;
	const char *curve; /* of SSH, and OpenSSL's name for it */
	const char *group;
	const char *hash;
	bool security_key;
} types[] = {
	{ "ssh-ed25519", FAMILY_ED25519, NULL, NULL, NULL, false },
	{ "ecdsa-sha2-nistp256", FAMILY_ECDSA, "nistp256", "P-256", "SHA256", false },
	{ "ecdsa-sha2-nistp384", FAMILY_ECDSA, "nistp384", "P-384", "SHA384", false },
	{ "ecdsa-sha2-nistp521", FAMILY_ECDSA, "nistp521", "P-521", "SHA512", false },
	{ "ssh-rsa", FAMILY_RSA, NULL, NULL, NULL, false },
	{ "sk-ssh-ed25519@openssh.com", FAMILY_ED25519, NULL, NULL, NULL, true },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", FAMILY_ECDSA, "nistp256", "P-256", "SHA256", true },
};

bool sshwire_equal(const struct sshwire *a, const struct sshwire *b)
{
	return a->left == b->left && (a->left == 0 || memcmp(a->at, b->at, a->left) == 0);
}

/* Takes the ownership of the builder. */
static EVP_PKEY *from_params(const char *name, OSSL_PARAM_BLD *builder)
{
	OSSL_PARAM *params = builder ? OSSL_PARAM_BLD_to_param(builder) : NULL;
	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, name, NULL);
	EVP_PKEY *key = NULL;

	if (!params || !context || EVP_PKEY_fromdata_init(context) != 1 ||
	    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(context);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(builder);
	return key;
}

static EVP_PKEY *read_ecdsa(struct sshwire *w, const struct key_type *type)
{
	OSSL_PARAM_BLD *b;
	struct sshwire curve, point;

	if (sshwire_string(w, &curve) < 0 || !sshwire_is(&curve, type->curve) ||
	    sshwire_string(w, &point) < 0)
		return NULL;
	b = OSSL_PARAM_BLD_new();
	if (b &&
	    (OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, type->group, 0) != 1 ||
	     OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.left) !=
		     1)) {
		OSSL_PARAM_BLD_free(b);
		return NULL;
	}
	return from_params("EC", b);
}

static EVP_PKEY *read_rsa(struct sshwire *w)
{
	OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
	BIGNUM *e = NULL, *n = NULL;
	struct sshwire exponent, modulus;
	EVP_PKEY *key = NULL;

	if (sshwire_string(w, &exponent) == 0 && sshwire_string(w, &modulus) == 0 &&
	    exponent.left <= 8 && modulus.left <= RSA_BYTES_MAX) {
		e = BN_bin2bn(exponent.at, (int)exponent.left, NULL);
		n = BN_bin2bn(modulus.at, (int)modulus.left, NULL);
	}
	if (b && e && n && OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e) == 1 &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n) == 1)
		key = from_params("RSA", b);
	else
		OSSL_PARAM_BLD_free(b);
	BN_free(e);
	BN_free(n);
	return key;
}

struct key {
	const struct key_type *type;
	EVP_PKEY *pkey;
	struct sshwire application; /* of security keys */
};

static int read_key(const struct sshwire *blob, struct key *k)
{
	struct sshwire w = *blob, name, raw;

	if (sshwire_string(&w, &name) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (sshwire_is(&name, types[i].name))
			k->type = &types[i];
	if (!k->type)
		return -ENOTSUP;
	if (k->type->family == FAMILY_ECDSA)
		k->pkey = read_ecdsa(&w, k->type);
	else if (k->type->family == FAMILY_RSA)
		k->pkey = read_rsa(&w);
	else if (sshwire_string(&w, &raw) == 0 && raw.left == ED25519_PUBLIC)
		k->pkey =
			EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw.at, ED25519_PUBLIC);
	if (!k->pkey || (k->type->security_key && sshwire_string(&w, &k->application) < 0) ||
	    w.left != 0)
		return -EBADMSG;
	if (k->type->family == FAMILY_RSA && EVP_PKEY_get_bits(k->pkey) < RSA_BITS_MIN)
		return -EKEYREJECTED;
	return 0;
}

/* r and s as two mpints become the DER that OpenSSL wants. */
static int ecdsa_to_der(const struct sshwire *raw, unsigned char **ret_der, size_t *ret_len)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	struct sshwire w = *raw, r, s;
	BIGNUM *bn_r = NULL, *bn_s = NULL;
	int len = -1;

	if (sig && sshwire_string(&w, &r) == 0 && sshwire_string(&w, &s) == 0 && w.left == 0 &&
	    r.left <= 67 && s.left <= 67) {
		bn_r = BN_bin2bn(r.at, (int)r.left, NULL);
		bn_s = BN_bin2bn(s.at, (int)s.left, NULL);
		if (bn_r && bn_s && ECDSA_SIG_set0(sig, bn_r, bn_s) == 1) {
			bn_r = bn_s = NULL;
			len = i2d_ECDSA_SIG(sig, ret_der);
		}
	}
	BN_free(bn_r);
	BN_free(bn_s);
	ECDSA_SIG_free(sig);
	*ret_len = len > 0 ? (size_t)len : 0;
	return len > 0 ? 0 : -EBADMSG;
}

static int check_raw(const struct key *k, const char *hash, const unsigned char *sig,
		     size_t sig_len, const struct buf *data)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int good = 0;

	if (context && EVP_DigestVerifyInit_ex(context, NULL, hash, NULL, NULL, k->pkey, NULL) == 1)
		good = EVP_DigestVerify(context, sig, sig_len, (const unsigned char *)data->data,
					data->len);
	EVP_MD_CTX_free(context);
	return good == 1 ? 0 : -EBADMSG;
}

/* What a security key signs instead of the data. */
static int wrap_data(const struct key *k, struct sshwire *w, const void *data, size_t len,
		     struct buf *ret_bytes)
{
	unsigned char application[DIGEST_SIZE], message[DIGEST_SIZE], flags;
	uint32_t counter;

	if (sshwire_u8(w, &flags) < 0 || sshwire_u32(w, &counter) < 0)
		return -EBADMSG;
	if (!(flags & SK_TOUCHED))
		return -EKEYREJECTED;
	if (digest_bytes(k->application.at, k->application.left, application) < 0 ||
	    digest_bytes(data, len, message) < 0)
		return -EIO;
	buf_add(ret_bytes, application, sizeof(application));
	buf_add(ret_bytes, &flags, 1);
	buf_add_u32be(ret_bytes, counter);
	return buf_add(ret_bytes, message, sizeof(message));
}

static int check_type(const struct key *k, const struct sshwire *type, const char **ret_hash)
{
	*ret_hash = k->type->hash;
	if (k->type->family != FAMILY_RSA)
		return sshwire_is(type, k->type->name) ? 0 : -EBADMSG;
	*ret_hash = sshwire_is(type, "rsa-sha2-512") ? "SHA512" : "SHA256";
	if (sshwire_is(type, "ssh-rsa"))
		return -EKEYREJECTED; /* by SHA-1 */
	return sshwire_is(type, "rsa-sha2-512") || sshwire_is(type, "rsa-sha2-256") ? 0 : -EBADMSG;
}

static int check(const struct key *k, const struct sshwire *signature, const void *data, size_t len)
{
	cleanup_buf struct buf bytes = { 0 };
	struct sshwire w = *signature, type, raw;
	unsigned char *der = NULL;
	const char *hash;
	size_t der_len;
	int err;

	if (sshwire_string(&w, &type) < 0 || sshwire_string(&w, &raw) < 0)
		return -EBADMSG;
	err = check_type(k, &type, &hash);
	if (err == 0)
		err = k->type->security_key ? wrap_data(k, &w, data, len, &bytes)
					    : buf_add(&bytes, data, len);
	if (err == 0 && w.left != 0)
		err = -EBADMSG;
	if (err < 0)
		return err;
	if (k->type->family != FAMILY_ECDSA)
		return check_raw(k, hash, raw.at, raw.left, &bytes);
	err = ecdsa_to_der(&raw, &der, &der_len);
	if (err == 0)
		err = check_raw(k, hash, der, der_len, &bytes);
	OPENSSL_free(der);
	return err;
}

int sshpub_verify(const struct sshwire *blob, const struct sshwire *signature, const void *data,
		  size_t len)
{
	struct key k = { 0 };
	int err = read_key(blob, &k);

	if (err == 0)
		err = check(&k, signature, data, len);
	EVP_PKEY_free(k.pkey);
	return err;
}

int sshpub_fingerprint(const struct sshwire *blob, char ret_text[SSHPUB_FINGERPRINT])
{
	cleanup_buf struct buf text = { 0 };
	unsigned char hash[DIGEST_SIZE];
	int err = digest_bytes(blob->at, blob->left, hash);

	if (err == 0)
		err = base64_write(hash, sizeof(hash), 0, &text);
	if (err == 0)
		snprintf(ret_text, SSHPUB_FINGERPRINT, "SHA256:%.43s", buf_str(&text));
	return err;
}
