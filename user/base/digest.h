/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4) and Ed25519 (RFC 8032) by OpenSSL: the only place outside
 * writeback/ that knows it.
 */
#ifndef WEIR_BASE_DIGEST_H
#define WEIR_BASE_DIGEST_H

#include <stddef.h>

#include "user/base/err.h"

#define DIGEST_SIZE 32
#define DIGEST_HEX (2 * DIGEST_SIZE + 1)
#define ED25519_SEED 32
#define ED25519_PUBLIC 32
#define ED25519_SIGNATURE 64

struct digest; /* a running hash */

/* Starts a hash. Gives: a handle for digest_free. Returns: NULL when out of memory. */
struct digest *digest_new(void);
void digest_free(struct digest *d);
static inline void cleanup_digest_fn(struct digest **d)
{
	digest_free(*d);
}
#define cleanup_digest __attribute__((__cleanup__(cleanup_digest_fn)))

/* Adds bytes. Returns: 0 or -EIO. Borrows: data. */
int digest_add(struct digest *d, const void *data, size_t len);

/* Gives the hash and starts over, so that a handle serves many texts.
 * Returns: 0 or -EIO. */
int digest_end(struct digest *d, unsigned char ret_hash[DIGEST_SIZE]);

/* Hash of one text. Returns: 0, -ENOMEM or -EIO. Borrows: data. */
int digest_bytes(const void *data, size_t len, unsigned char ret_hash[DIGEST_SIZE]);

/* Lower-case hex. Borrows: hash. */
void digest_hex(const unsigned char *hash, size_t len, char *ret_hex);

/* Reads 2 * len lower-case hex digits and the end. Returns: 0 or -EINVAL. Borrows: hex. */
int digest_unhex(const char *hex, unsigned char *ret_bytes, size_t len);

/* Random bytes of the kernel. Returns: 0 or a negative errno. */
int digest_random(void *ret_bytes, size_t len);

/* Signs with the key of a 32-byte seed. Returns: 0 or -EIO. Borrows: seed, data. */
int digest_sign(const unsigned char seed[ED25519_SEED], const void *data, size_t len,
		unsigned char ret_signature[ED25519_SIGNATURE]);

/* Public key of a seed. Returns: 0 or -EIO. Borrows: seed. */
int digest_public(const unsigned char seed[ED25519_SEED], unsigned char ret_key[ED25519_PUBLIC]);

/* Returns: 0 when the signature is good, -EBADMSG when not, -EIO. Borrows: all. */
int digest_verify(const unsigned char key[ED25519_PUBLIC], const void *data, size_t len,
		  const unsigned char signature[ED25519_SIGNATURE]);

#endif
