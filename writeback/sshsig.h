/* SPDX-License-Identifier: MIT */
/*
 * SSH signatures (PROTOCOL.sshsig of OpenSSH), as stock git and ssh-keygen -Y use them.
 *
 * Blob: "SSHSIG" | u32 1 | string public blob | string namespace | string "" |
 *       string hash name | string signature
 * Signed bytes: "SSHSIG" | string namespace | string "" | string hash name |
 *       string H(message)            (no version number)
 * Armor: "-----BEGIN SSH SIGNATURE-----", base64 in lines of 70, "-----END ...".
 * Written: hash sha512, Ed25519, or whatever an agent signs with. Read: sha256 and sha512, and
 * the keys of sshpub.h and certificates of sshcert.h.
 */
#ifndef WEIR_WRITEBACK_SSHSIG_H
#define WEIR_WRITEBACK_SSHSIG_H

#include "user/base/buf.h"
#include "user/base/err.h"
#include "writeback/sshkey.h"

#define SSHSIG_MAX 16384 /* bytes of an armored signature; RSA 16384 fits */

/* Signs with a private key. Gives: the armored text with its last newline.
 * Returns: 0 or a negative errno. Borrows: all. */
int sshsig_sign(const struct sshkey *key, const char *name_space, const void *data, size_t len,
		struct buf *ret_armor);

/* Signs by the agent at a unix socket path; blob is the public key. The agent's signature
 * is checked. Returns: 0 or a negative errno with e. Borrows: all. */
int sshsig_sign_agent(const char *socket_path, const struct buf *blob, const char *name_space,
		      const void *data, size_t len, struct buf *ret_armor, struct weir_err *e);

/* Checks an armored signature over data in this namespace. Gives: the public blob that
 * signed (a certificate as it is); whether it is trusted is the caller's question
 * (signers_find). Returns: 0, -EBADMSG when it is damaged, wrong or of another namespace,
 * -ENOTSUP for an unknown kind of key, -EKEYREJECTED for a weak one. Borrows: all. */
int sshsig_verify(const char *armor, size_t armor_len, const char *name_space, const void *data,
		  size_t len, struct buf *ret_blob, struct weir_err *e);

#endif
