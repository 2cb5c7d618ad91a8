/* SPDX-License-Identifier: MIT */
/*
 * Signing with a person's key. It happens in a process of its own that has the uid of the key's
 * owner: neither root nor the gate's user handles keys of people.
 *
 * KEY is an OpenSSH private key file without a passphrase; or a public key or certificate file,
 * whose key the agent holds; or the word `agent`, for the only key there.
 */
#ifndef WEIR_WRITEBACK_SIGNER_H
#define WEIR_WRITEBACK_SIGNER_H

#include "user/base/buf.h"
#include "user/base/err.h"

struct signing {
	const char *key;   /* KEY */
	const char *agent; /* socket, NULL: none */
	const char *name_space;
	const struct buf *data;
};

/* Signs (SSHSIG). Called as root, or by whom the key belongs to. Returns: 0; the exit status of a signer that has said what
 * went wrong; or a negative errno with e. Gives: the armor. Borrows: s. */
int signer_sign(const struct signing *s, struct buf *ret_armor, struct weir_err *e);

/* Reads the public blob that signer_sign signs with, in the same way. Returns: as signer_sign. */
int signer_public(const struct signing *s, struct buf *ret_blob, struct weir_err *e);

#endif
