/* SPDX-License-Identifier: MIT */
/*
 * Public keys of SSH and what they sign, by OpenSSL. Blobs (RFC 4253 6.6, RFC 5656, RFC 8332,
 * RFC 8709, PROTOCOL.u2f of OpenSSH):
 *
 *   ssh-ed25519                          string key 32
 *   ecdsa-sha2-nistp256, 384, 521        string curve, string point
 *   ssh-rsa                              mpint e, mpint n (2048 bits at least)
 *   sk-ssh-ed25519@openssh.com           string key 32, string application
 *   sk-ecdsa-sha2-nistp256@openssh.com   string curve, string point, string application
 *
 * Signatures: string type, string bytes; RSA as rsa-sha2-256 or rsa-sha2-512, never by SHA-1;
 * security keys add byte flags, u32 counter, and sign SHA-256(application) | flags | counter |
 * SHA-256(data). A signature of a security key that nobody touched (flag 1) is refused.
 */
#ifndef WEIR_WRITEBACK_SSHPUB_H
#define WEIR_WRITEBACK_SSHPUB_H

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "writeback/sshwire.h"

#define SSHPUB_FINGERPRINT 51 /* "SHA256:", 43 characters, NUL */

/* Checks a signature over data by a plain key, no certificate.
 * Returns: 0, -EBADMSG when it is wrong or damaged, -ENOTSUP for a type that is not listed
 * above, -EKEYREJECTED for a weak key or an untouched security key. Borrows: all. */
int sshpub_verify(const struct sshwire *blob, const struct sshwire *signature, const void *data,
		  size_t len);

/* Writes a key's fingerprint as ssh-keygen -l does. Returns: 0 or a negative errno.
 * Borrows: blob. */
int sshpub_fingerprint(const struct sshwire *blob, char ret_text[SSHPUB_FINGERPRINT]);

/* Views a buffer as bytes to read. Returns: the view, borrowed from b. */
static inline struct sshwire sshwire_of(const struct buf *b)
{
	return (struct sshwire){ (const unsigned char *)b->data, b->len };
}

/* Returns: whether two views have the same bytes. */
bool sshwire_equal(const struct sshwire *a, const struct sshwire *b);

#endif
