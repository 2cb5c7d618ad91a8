/* SPDX-License-Identifier: MIT */
/*
 * SSH keys: private keys as OpenSSH writes them without a passphrase, and public keys as in
 * authorized files.
 *
 * Private key file (PROTOCOL.key of OpenSSH): PEM armor "OPENSSH PRIVATE KEY" around
 *   "openssh-key-v1\0" | string cipher | string kdf | string kdf options | u32 count |
 *   string public blob | string private part
 * private part: u32 check twice, string type, string public 32, string seed 32 || public
 * 32, string comment, padding 1, 2, 3 ... to a multiple of 8. Read here: cipher "none",
 * one key, ssh-ed25519.
 */
#ifndef WEIR_WRITEBACK_SSHKEY_H
#define WEIR_WRITEBACK_SSHKEY_H

#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define SSHKEY_FILE_MAX 65536
#define SSHKEY_TYPE_ED25519 "ssh-ed25519"

struct sshkey {
	unsigned char seed[ED25519_SEED];
	unsigned char public_key[ED25519_PUBLIC];
};

/* Wipes a private key. */
void sshkey_done(struct sshkey *k);
#define cleanup_sshkey __attribute__((__cleanup__(sshkey_done)))

/* Reads a private key file's text. Returns: 0, -EBADMSG for a damaged file, -ENOTSUP for
 * a passphrase or another type; e says which. Borrows: text. */
int sshkey_parse(const char *text, size_t len, struct sshkey *ret_key, struct weir_err *e);

/* Writes a private key file's text from a seed. Returns: 0 or a negative errno.
 * Borrows: seed, comment. */
int sshkey_format(const unsigned char seed[ED25519_SEED], const char *comment,
		  struct buf *ret_text);

/* Appends the public blob "string ssh-ed25519, string key". Returns: as buf_add. */
int sshkey_blob(const unsigned char public_key[ED25519_PUBLIC], struct buf *ret_blob);

/* Takes the key out of such a blob. Returns: 0, -ENOTSUP for another type, -EBADMSG.
 * Borrows: blob. */
int sshkey_blob_ed25519(const struct buf *blob, unsigned char ret_key[ED25519_PUBLIC]);

/* Reads the blob of "type base64 [comment]". Returns: 0 or -EBADMSG. Borrows: line. */
int sshkey_parse_public(const char *line, struct buf *ret_blob);

#endif
