/* SPDX-License-Identifier: MIT */
#include "user/base/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct digest {
	EVP_MD_CTX *ctx;
};

struct digest *digest_new(void)
{
	struct digest *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->ctx = EVP_MD_CTX_new();
	if (!d->ctx || EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) != 1) {
		digest_free(d);
		return NULL;
	}
	return d;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

int digest_add(struct digest *d, const void *data, size_t len)
{
	return EVP_DigestUpdate(d->ctx, data, len) == 1 ? 0 : -EIO;
}

int digest_end(struct digest *d, unsigned char ret_hash[DIGEST_SIZE])
{
	/* the same algorithm again: to look it up costs more than a short text */
	if (EVP_DigestFinal_ex(d->ctx, ret_hash, NULL) != 1 ||
	    EVP_DigestInit_ex(d->ctx, NULL, NULL) != 1)
		return -EIO;
	return 0;
}

int digest_bytes(const void *data, size_t len, unsigned char ret_hash[DIGEST_SIZE])
{
	return EVP_Digest(data, len, ret_hash, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

void digest_hex(const unsigned char *hash, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[hash[i] >> 4];
		ret_hex[2 * i + 1] = digits[hash[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

/* One more than the value of each digit; 0: none. */
static const unsigned char hex_values[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

int digest_unhex(const char *hex, unsigned char *ret_bytes, size_t len)
{
	if (strlen(hex) != 2 * len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned int hi = hex_values[(unsigned char)hex[2 * i]];
		unsigned int lo = hex_values[(unsigned char)hex[2 * i + 1]];

		if (hi == 0 || lo == 0)
			return -EINVAL;
		ret_bytes[i] = (unsigned char)((hi - 1) << 4 | (lo - 1));
	}
	return 0;
}

int digest_random(void *ret_bytes, size_t len)
{
	char *at = ret_bytes;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int digest_sign(const unsigned char seed[ED25519_SEED], const void *data, size_t len,
		unsigned char ret_signature[ED25519_SIGNATURE])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ED25519_SEED);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t size = ED25519_SIGNATURE;
	int ok = key && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		 EVP_DigestSign(ctx, ret_signature, &size, data, len) == 1 &&
		 size == ED25519_SIGNATURE;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok ? 0 : -EIO;
}

int digest_public(const unsigned char seed[ED25519_SEED], unsigned char ret_key[ED25519_PUBLIC])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, ED25519_SEED);
	size_t size = ED25519_PUBLIC;
	int ok = key && EVP_PKEY_get_raw_public_key(key, ret_key, &size) == 1 &&
		 size == ED25519_PUBLIC;

	EVP_PKEY_free(key);
	return ok ? 0 : -EIO;
}

int digest_verify(const unsigned char key[ED25519_PUBLIC], const void *data, size_t len,
		  const unsigned char signature[ED25519_SIGNATURE])
{
	EVP_PKEY *pub = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, ED25519_PUBLIC);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ret = -EIO;

	if (pub && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pub) == 1)
		ret = EVP_DigestVerify(ctx, signature, ED25519_SIGNATURE, data, len) == 1
			      ? 0
			      : -EBADMSG;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pub);
	return ret;
}
