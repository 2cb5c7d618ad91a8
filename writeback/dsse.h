/* SPDX-License-Identifier: MIT */
/*
 * DSSE envelopes (Dead Simple Signing Envelope, protocol 1.0.2) with one Ed25519 signature:
 *
 *   {"payload": base64, "payloadType": TYPE, "signatures": [{"keyid": ID, "sig": base64}]}
 *
 * Signed bytes (PAE): "DSSEv1" SP LEN(TYPE) SP TYPE SP LEN(PAYLOAD) SP PAYLOAD, lengths in
 * decimal. keyid is a hint that nobody signed. Read: standard and URL-safe base64.
 */
#ifndef WEIR_WRITEBACK_DSSE_H
#define WEIR_WRITEBACK_DSSE_H

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define DSSE_IN_TOTO "application/vnd.in-toto+json"
#define DSSE_MAX ((size_t)64 << 20)

/* Appends the bytes that are signed. Returns: 0 or -ENOMEM. Borrows: all. */
int dsse_pae(const char *type, const void *payload, size_t len, struct buf *ret_bytes);

/* Appends an envelope and a newline. Returns: 0 or -ENOMEM. Borrows: all. */
int dsse_format(const char *type, const void *payload, size_t len, const char *keyid,
		const unsigned char signature[ED25519_SIGNATURE], struct buf *ret_text);

/* Checks an envelope of this type with a key: a good signature among at most 16. Gives: the
 * payload, the very bytes that were signed. Returns: 0; -EBADMSG with why in e; -ENOMEM.
 * Borrows: all. */
int dsse_open(const char *type, const unsigned char key[ED25519_PUBLIC], const char *text,
	      size_t len, struct buf *ret_payload, struct weir_err *e);

#endif
