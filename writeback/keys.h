/* SPDX-License-Identifier: MIT */
/*
 * The gate's signing key: an OpenSSH file that belongs to the gate's user with no
 * permission for others, or one that an ssh-agent holds.
 */
#ifndef WEIR_WRITEBACK_KEYS_H
#define WEIR_WRITEBACK_KEYS_H

#include "user/base/buf.h"
#include "user/base/err.h"
#include "writeback/config.h"
#include "writeback/sshkey.h"

/* Reads a private key file after checking its type, owner and mode.
 * Returns: 0, refused with code "key" (with what is wrong), or a negative errno.
 * Borrows: path. */
int keys_load(const char *path, struct sshkey *ret_key, struct weir_err *e);

/* Signs data for git (SSHSIG, namespace "git") with the configured key or agent, after
 * checking that the signers file lists the key for git now: otherwise nobody could verify.
 * Gives: the armor. Returns: 0, refused with code "key", or a negative errno.
 * Borrows: all. */
int keys_sign_commit(const struct gate_config *c, const void *data, size_t len,
		     struct buf *ret_armor, struct weir_err *e);

/* Appends the public blob of the configured key, or of the agent's. Returns: 0, refused with code
 * "key", or a negative errno. Borrows: c. */
int keys_blob(const struct gate_config *c, struct buf *ret_blob, struct weir_err *e);

/* The same key for raw Ed25519 signatures (DSSE, in-toto), loaded once for several; other types
 * of keys can't make them. */
struct keys_raw {
	const struct gate_config *config;
	struct sshkey secret; /* wiped; unused with an agent */
	struct buf blob;
	unsigned char public_key[ED25519_PUBLIC];
	char keyid[64]; /* fingerprint as ssh-keygen -l prints it */
};

void keys_raw_done(struct keys_raw *k);
#define cleanup_keys_raw __attribute__((__cleanup__(keys_raw_done)))

/* Returns: 0, refused with code "key", or a negative errno. Borrows: c, until it is done. */
int keys_raw_open(const struct gate_config *c, struct keys_raw *ret_key, struct weir_err *e);

/* Signs the bytes as they are. Returns: 0, refused with code "key", or a negative errno.
 * Borrows: all. */
int keys_sign_raw(const struct keys_raw *k, const void *data, size_t len,
		  unsigned char ret_signature[ED25519_SIGNATURE], struct weir_err *e);

#endif
