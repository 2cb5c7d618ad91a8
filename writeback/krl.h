/* SPDX-License-Identifier: MIT */
/*
 * Key revocation lists as ssh-keygen -k writes them (PROTOCOL.krl of OpenSSH):
 *
 *   "SSHKRL\n\0", u32 format 1, u64 version, u64 date, u64 flags, string reserved,
 *   string comment, then sections {byte type, string data}:
 *     1 certificates   string authority ("": any), string reserved, {byte type, string data}:
 *         0x20 serials u64 ..., 0x21 range u64 first, u64 last, 0x22 bitmap u64 offset,
 *         mpint bits, 0x23 key ids (strings)
 *     2 keys           strings: blobs
 *     3 SHA-1, 5 SHA-256 of blobs: strings
 *
 * Signed lists (section 4), extensions and everything else are errors, so that no revocation
 * is overlooked. An empty text revokes nothing.
 */
#ifndef WEIR_WRITEBACK_KRL_H
#define WEIR_WRITEBACK_KRL_H

#include "user/base/err.h"
#include "writeback/sshwire.h"

#define KRL_MAX ((size_t)16 << 20) /* bytes */

/* Checks that a list can be read to its end. Returns: 0 or -EBADMSG with e. Borrows: data,
 * name (for messages). */
int krl_check(const struct sshwire *data, const char *name, struct weir_err *e);

/* Whether a blob is revoked: a plain key by itself; a certificate also by its serial, its key
 * id, its authority, or the key that it certifies.
 * Returns: 1, 0, or -EBADMSG for a list that can't be read. Borrows: all. */
int krl_has(const struct sshwire *data, const struct sshwire *blob);

#endif
