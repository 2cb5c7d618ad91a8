/* SPDX-License-Identifier: MIT */
/*
 * Signed notes (c2sp.org/signed-note) with Ed25519 keys:
 *
 *   TEXT             one or more lines of UTF-8 without control characters
 *   (blank line)
 *   U+2014 NAME base64(key id, 4 bytes || signature, 64 bytes)     one or more
 *
 * key id = SHA-256(NAME || "\n" || 0x01 || public key)[:4]. A public key is written as
 * NAME+HEX8+base64(0x01 || public key). Signatures by other keys are ignored.
 */
#ifndef WEIR_WRITEBACK_NOTE_H
#define WEIR_WRITEBACK_NOTE_H

#include <stdbool.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define NOTE_MAX ((size_t)64 << 10)
#define NOTE_NAME_MAX 256u
#define NOTE_SIGNATURES_MAX 64u

struct note_key {
	char name[NOTE_NAME_MAX];
	unsigned char public_key[ED25519_PUBLIC];
	unsigned char id[4];
};

/* Fills a key. Returns: 0, -EINVAL for a name with spaces or '+', -EIO. Borrows: all. */
int note_key_set(struct note_key *k, const char *name,
		 const unsigned char public_key[ED25519_PUBLIC]);

/* Reads NAME+HEX8+BASE64, white space around it is skipped. Returns: 0 or -EBADMSG.
 * Borrows: text. */
int note_key_parse(const char *text, struct note_key *ret_key);

/* Appends the same, with a newline. Returns: 0 or -ENOMEM. Borrows: k. */
int note_key_format(const struct note_key *k, struct buf *ret_text);

/* Appends the note of a text, which ends in a newline, signed by one key.
 * Returns: 0, -EINVAL for a text that no note can hold, -EIO, -ENOMEM. Borrows: all. */
int note_sign(const struct note_key *k, const unsigned char seed[ED25519_SEED], const char *text,
	      size_t len, struct buf *ret_note);

/* Checks a note: shape, and a good signature by this key; a bad one by it is an error even
 * beside a good one. *ret_len is the length of the text, from the note's first byte.
 * Returns: 0; -EBADMSG with why in e. Borrows: all. Units: bytes. */
int note_open(const struct note_key *k, const char *note, size_t len, size_t *ret_len,
	      struct weir_err *e);

#endif
