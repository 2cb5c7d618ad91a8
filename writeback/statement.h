/* SPDX-License-Identifier: MIT */
/*
 * The collector's signed statement about a run: canonical JSON (sorted, compact) and a
 * newline, with these members and no others:
 *
 *   schema "weir.statement/1", run, nonce, machine, boot, mode, verdict, repository, ref,
 *   commit: texts;  host_key, coverage, manifest_before, manifest_after, policy: 64 hex
 *   digits;  trace {root: 64 hex digits, bytes};  counters: object;
 *   exit {"code": n} or {"signal": n};  workspace {path, dev, ino} with
 *   st_dev and st_ino as numbers
 *
 * policy is null for a run without one. repository and workspace.path are escaped (user/base/escape.h). The signature is raw
 * Ed25519 by the host key over "weir-statement/1", a NUL, and the bytes; 128 hex digits.
 */
#ifndef WEIR_WRITEBACK_STATEMENT_H
#define WEIR_WRITEBACK_STATEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"
#include "writeback/config.h"

#define STATEMENT_SCHEMA "weir.statement/1"
#define STATEMENT_CONTEXT "weir-statement/1" /* with its NUL */
#define STATEMENT_MAX ((size_t)1 << 20)

struct statement {
	char *run;
	char *nonce;
	char *machine;
	char *boot;
	char *mode;
	char *verdict;
	char *repository;
	char *ref;
	char *commit;
	char *workspace;
	uint64_t dev; /* st_dev */
	uint64_t ino;
	uint64_t trace_bytes;
	int exit_code; /* -1 when a signal ended the command */
	int exit_signal;
	char host_key[DIGEST_HEX];
	char trace_root[DIGEST_HEX];
	char coverage[DIGEST_HEX];
	char manifest_before[DIGEST_HEX];
	char manifest_after[DIGEST_HEX];
	char policy[DIGEST_HEX];
	char counters[DIGEST_HEX]; /* SHA-256 of the canonical text of counters */
	char sha256[DIGEST_HEX];   /* of the statement itself */
};

void statement_done(struct statement *s);
#define cleanup_statement __attribute__((__cleanup__(statement_done)))

/* Reads and checks the shape. Returns: 0, refused with code "statement".
 * Borrows: text. Gives: ret_statement. */
int statement_parse(const char *text, size_t len, struct statement *ret_statement,
		    struct weir_err *e);

/* Checks the signature with the statement's host key, which must be one of hosts (NULL: any).
 * Returns: 0, refused with code "statement-signature". Borrows: all. */
int statement_check(const struct statement *s, const char *text, size_t len,
		    const char *signature_hex, const struct gate_texts *hosts, struct weir_err *e);

#endif
