/* SPDX-License-Identifier: MIT */
/*
 * Secrets by their form. Private keys in PEM, OpenSSH, PGP and PuTTY files, by their first
 * bytes and not by their headline alone (which programs that read keys contain); tokens by
 * prefix, length and alphabet, and by their checksum where the issuer publishes one.
 *
 * Sources: RFC 7468, RFC 5958, RFC 9580, PROTOCOL.key of OpenSSH; "Behind GitHub's new
 * authentication token formats" (2021; npm does the same): 30 characters and their CRC-32 in
 * six digits of base 62; BIP 173 (age keys); the issuers' documentation for prefixes.
 */
#ifndef WEIR_WRITEBACK_SECRETS_H
#define WEIR_WRITEBACK_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writeback/hazard.h"

#define SECRET_SPAN 4096 /* bytes that are enough to judge a secret, from its anchor on */

struct secrets;

/* A secret in data[start .. start + len). */
struct secret {
	enum hazard_kind kind;
	size_t start;
	size_t len;
	const char *what; /* "GitHub token"; static */
};

/* Prepares the search. Returns: 0 or -ENOMEM. Gives: ret for secrets_free. */
int secrets_new(struct secrets **ret_secrets);
void secrets_free(struct secrets *s);

/* Bytes to search: an anchor begins in data[from .. to), its secret may go on up to data[len]. */
struct secret_piece {
	const unsigned char *data;
	size_t len;
	size_t from;
	size_t to;
};

/* Finds the secrets of a piece, one after the other; *at is `from` before the first call.
 * Returns: truth. Borrows: in. */
bool secrets_next(const struct secrets *s, const struct secret_piece *in, size_t *at,
		  struct secret *ret_secret);

#endif
