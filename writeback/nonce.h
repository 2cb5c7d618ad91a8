/* SPDX-License-Identifier: MIT */
/*
 * Nonces: what a run may be promoted to, decided before it starts, for one use.
 *
 *   GATE_STATE              0700, of the gate's user
 *   GATE_STATE/nonces/N     issued;   N: 32 lower-case hex digits
 *   GATE_STATE/used/N       promoted; wins over nonces/N when a crash left both
 *
 * Each file is one JSON object: schema "weir.nonce/1", nonce, repository, id, ref, commit,
 * workspace {path, dev, ino}, issued (seconds since 1970), checkout (of what
 * the gate filled the workspace with, see writeback/baseline.h; or it is not there);
 * used ones also run, statement
 * (SHA-256 of the statement) and promoted (commit).
 */
#ifndef WEIR_WRITEBACK_NONCE_H
#define WEIR_WRITEBACK_NONCE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define NONCE_BYTES 16
#define NONCE_HEX (2 * NONCE_BYTES + 1)
#define NONCE_SCHEMA "weir.nonce/1"

struct nonce {
	char id[NONCE_HEX];
	char *repository;
	char repo_id[33];
	char *ref;
	char commit[41];
	char *workspace;
	uint64_t dev; /* st_dev */
	uint64_t ino;
	int64_t issued;
	char checkout
		[DIGEST_HEX]; /* writeback/baseline.h; "": the gate did not fill the workspace */
	/* of used ones */
	bool used;
	char *run;
	char statement[DIGEST_HEX];
	char promoted[41];
};

void nonce_done(struct nonce *n);
#define cleanup_nonce __attribute__((__cleanup__(nonce_done)))

/* Makes an id and stores the nonce; the caller has set repository to ino.
 * Returns: 0 or a negative errno with e. */
int nonce_issue(struct nonce *n, struct weir_err *e);

/* Stores it again, with checkout set. Returns: 0 or a negative errno with e. */
int nonce_fill(const struct nonce *n, struct weir_err *e);

/* Loads a nonce by its id. Returns: 0, refused with code "nonce-unknown", or a negative
 * errno. Borrows: id. Gives: ret_nonce. */
int nonce_load(const char *id, struct nonce *ret_nonce, struct weir_err *e);

/* Marks a nonce as used, with run, statement and promoted set. Doing it again with the same
 * values changes nothing. Returns: 0 or a negative errno with e. */
int nonce_use(const struct nonce *n, struct weir_err *e);

/* Appends the JSON of a nonce and a newline. Returns: 0 or -ENOMEM. Borrows: n. */
int nonce_format(const struct nonce *n, struct buf *ret_text);

#endif
