/* SPDX-License-Identifier: MIT */
/*
 * Client of ssh-agent (draft-miller-ssh-agent): one question, one answer.
 *   u32 length | byte 13 | string public blob | string data | u32 flags
 *   u32 length | byte 14 | string signature          (anything else: refused)
 *   u32 1      | byte 11
 *   u32 length | byte 12 | u32 count | {string public blob, string comment} ...
 */
#ifndef WEIR_WRITEBACK_AGENT_H
#define WEIR_WRITEBACK_AGENT_H

#include "user/base/buf.h"
#include "user/base/err.h"

/* Asks the agent at a unix socket to sign data with the key of blob; RSA keys sign with
 * SHA-512. Gives: the signature string, opaque. Waits 60 s at most (a touch on a security
 * key takes time). Returns: 0 or a negative errno with e. Borrows: all. */
int agent_sign(const char *socket_path, const struct buf *blob, const struct buf *data,
	       struct buf *ret_signature, struct weir_err *e);

/* The key of an agent that holds one. Returns: 0, -EINVAL with e when it holds none or several,
 * or another negative errno. Borrows: socket_path. Gives: its blob. */
int agent_only_key(const char *socket_path, struct buf *ret_blob, struct weir_err *e);

#endif
