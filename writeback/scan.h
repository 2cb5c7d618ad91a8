/* SPDX-License-Identifier: MIT */
/*
 * What is in a file: one look over the bytes that are taken into quarantine, whatever its size,
 * in bounded memory. Text that shows something else than it is, secrets, programs, binaries and
 * stand-ins for content that is elsewhere.
 *
 * A file arrives in pieces. What could begin in one piece and end in the next is looked at
 * once: scan_feed says how many bytes at the end of a piece have to stand in front of the next.
 *
 * Text is what has no NUL in its first SCAN_HEAD bytes, as git has it. Bytes that are no UTF-8
 * are skipped: other encodings are no hazard. Places are LINE:COLUMN in text (from 1, columns
 * in bytes) and "byte N" (from 0) in binaries. Each class is one finding in a file, with its
 * first place and how often it is there, but each secret is a finding of its own.
 */
#ifndef WEIR_WRITEBACK_SCAN_H
#define WEIR_WRITEBACK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/digest.h"
#include "writeback/hazard.h"
#include "writeback/secrets.h"

#define SCAN_BEHIND 512 /* bytes before a position that are looked at again */
#define SCAN_OVERLAP (SECRET_SPAN + SCAN_BEHIND) /* bytes; the most that comes again */
#define SCAN_HEAD 8000				 /* bytes; buffer_is_binary() of git */
#define SCAN_LINE_MAX 10000 /* bytes of a line that a person would still read */
#define SCAN_SECRETS_MAX 64 /* in one file; more are one finding about the file */
#define SCAN_PIECE_MIN (SCAN_HEAD + SCAN_OVERLAP)

/* What was found of one class. */
struct scan_tally {
	uint64_t times;
	char place[32];
	char detail[64];
};

struct scan_secret {
	enum hazard_kind kind;
	char place[32];
	char detail[96];
	unsigned char subject[DIGEST_SIZE]; /* SHA-256 of the secret */
};

struct scan {
	struct secrets *secrets; /* patterns */

	/* the piece that is looked at */
	uint64_t offset;     /* in the file, of its first byte */
	size_t from;	     /* bytes at its front that were looked at before */
	uint64_t line;	     /* of that byte, from 1 */
	uint64_t line_start; /* offset in the file of that line's first byte */

	bool begun;
	bool binary;
	bool lfs;
	const char *program; /* format of a program, static, or NULL */
	uint64_t size;

	/* text, from piece to piece */
	uint64_t line_len; /* bytes of the line so far; UINT64_MAX: too many, and noted */
	uint32_t before;   /* the code point before, 0: none */
	uint32_t word;	   /* scripts in the word so far, bits of scantext.c */

	uint64_t tallied; /* classes that have a tally */
	struct scan_tally tallies[HAZARD_COUNT];
	struct scan_secret found[SCAN_SECRETS_MAX];
	size_t found_count;
};

/* Makes a scanner for any number of files, one after the other. Returns: 0 or -ENOMEM.
 * Gives: ret_scan for scan_free. */
int scan_new(struct scan **ret_scan);
void scan_free(struct scan *s);

/* Begins a file. Borrows: s. */
void scan_begin(struct scan *s);

/* Looks at the next piece, which has SCAN_PIECE_MIN bytes at least; `last` when the file ends with
 * it, however short it is. Returns: how many bytes of its end have to come again in front of the
 * next piece (at most SCAN_OVERLAP; 0 when last), or a negative errno. Borrows: data. */
long scan_feed(struct scan *s, const unsigned char *data, size_t len, bool last);

/* Adds what was found in the file since scan_begin. sha256 is of its whole content.
 * Returns: 0 or -ENOMEM. Borrows: path, sha256. */
int scan_end(struct scan *s, struct hazards *h, const char *path,
	     const unsigned char sha256[DIGEST_SIZE]);

/* For scantext.c: notes one of a class at a position of the piece. Borrows: all. */
void scan_note(struct scan *s, enum hazard_kind kind, const unsigned char *data, size_t pos,
	       const char *detail);

/* Whether all bytes are printable ASCII, tabs and line ends: nothing to look at as text.
 * Borrows: data. Returns: truth. */
bool scan_is_plain(const unsigned char *data, size_t len);

/* Notes the text hazards that begin in data[s->from .. to); len is the end of what is there.
 * Returns: the position after the last character looked at. Borrows: data. */
size_t scan_text(struct scan *s, const unsigned char *data, size_t to, size_t len);

#endif
