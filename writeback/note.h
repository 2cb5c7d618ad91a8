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
 *
 * A log whose key was changed writes those that it had before into further lines of the file with its
 * public key, the latest first, under the same NAME:
 *
 *   until SIZE NAME+HEX8+BASE64     signed checkpoints of not more than SIZE entries
 */
#ifndef WEIR_WRITEBACK_NOTE_H
#define WEIR_WRITEBACK_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define NOTE_MAX ((size_t)64 << 10)
#define NOTE_NAME_MAX 256u
#define NOTE_SIGNATURES_MAX 64u

#define NOTE_OLD_MAX 16u

struct note_old {
	unsigned char public_key[ED25519_PUBLIC];
	unsigned char id[4];
	uint64_t until; /* entries */
};

struct note_key {
	char name[NOTE_NAME_MAX];
	unsigned char public_key[ED25519_PUBLIC];
	unsigned char id[4];
	struct note_old old[NOTE_OLD_MAX]; /* the latest first */
	unsigned int old_count;
};

/* Fills a key that had none before it. Returns: 0, -EINVAL for a name with spaces or '+', -EIO. Borrows: all. */
int note_key_set(struct note_key *k, const char *name,
		 const unsigned char public_key[ED25519_PUBLIC]);

/* Puts another key in place of the one that k has, which signed until the log had so many entries.
 * Returns: 0, -E2BIG for one too many, -EIO. Borrows: public_key. */
int note_key_change(struct note_key *k, const unsigned char public_key[ED25519_PUBLIC],
		    uint64_t until);

/* The key that came i places before. Borrows: k. */
void note_key_before(const struct note_key *k, unsigned int i, struct note_key *ret_key);

/* Reads NAME+HEX8+BASE64, white space around it is skipped, and the lines of those before it.
 * Returns: 0 or -EBADMSG. Borrows: text. */
int note_key_parse(const char *text, struct note_key *ret_key);

/* Appends the same, each with a newline. Returns: 0 or -ENOMEM. Borrows: k. */
int note_key_format(const struct note_key *k, struct buf *ret_text);

/* Appends the note of a text, which ends in a newline, signed by one key.
 * Returns: 0, -EINVAL for a text that no note can hold, -EIO, -ENOMEM. Borrows: all. */
int note_sign(const struct note_key *k, const unsigned char seed[ED25519_SEED], const char *text,
	      size_t len, struct buf *ret_note);

/* Appends a signature by one more key to a whole note. Returns: 0, -EINVAL for what is no note, -EIO,
 * -ENOMEM. Borrows: k, seed. */
int note_cosign(const struct note_key *k, const unsigned char seed[ED25519_SEED], struct buf *note);

/* Checks a note: shape, and a good signature by this key; a bad one by it is an error even
 * beside a good one. *ret_len is the length of the text, from the note's first byte.
 * Those before the key do not count. Returns: 0; -ENOKEY when this key did not sign; -EBADMSG;
 * each with why in e. Borrows: all. Units: bytes. */
int note_open(const struct note_key *k, const char *note, size_t len, size_t *ret_len,
	      struct weir_err *e);

#endif
