/* SPDX-License-Identifier: MIT */
/*
 * What the gate attests of a promotion, for tools of others: in-toto Statements v1 in DSSE
 * envelopes (writeback/dsse.h), signed by the key that signed the commit. Subject of each:
 * the commit, by gitCommit and gitTree (a tag by gitTag), and the files of a directory
 * (writeback/dirs.h). They are files of the record (writeback/record.h):
 *
 *   provenance.json      SLSA provenance v1          how it came about
 *   runtime-trace.json   in-toto runtime-trace v0.1  what was watched while it ran
 *   vsa.json             SLSA source VSA v1          that it may stand on its branch
 *   svr.json             in-toto SVR v0.2            what was checked
 *   approvals.json       urn:weir:predicate:approvals:1  who agreed, and that nobody was asked
 *   reads                what the run read (writeback/reads.h); the first two have its digest
 *   link                 a link of in-toto's first format, for tools that know no other:
 *                        {"signed": ..., "signatures": [{"keyid", "sig" in hex}]} over OLPC
 *                        canonical JSON
 *
 * The bundle is the envelopes in this order, one a line (NAME.intoto.jsonl); the ledger's
 * entries have its SHA-256. Names that are weir's own are URNs: urn:weir:...
 */
#ifndef WEIR_WRITEBACK_ATTEST_H
#define WEIR_WRITEBACK_ATTEST_H

#include "user/base/buf.h"
#include "user/base/digest.h"
#include "user/base/err.h"

#define ATTEST_STATEMENT "https://in-toto.io/Statement/v1"

/* X(ID, file, predicate type) */
#define ATTEST_KINDS(X) \
	X(PROVENANCE, "provenance.json", "https://slsa.dev/provenance/v1") \
	X(TRACE, "runtime-trace.json", "https://in-toto.io/attestation/runtime-trace/v0.1") \
	X(VSA, "vsa.json", "https://slsa.dev/verification_summary/v1") \
	X(SVR, "svr.json", "https://in-toto.io/attestation/svr/v0.2") \
	X(APPROVALS, "approvals.json", "urn:weir:predicate:approvals:1")

enum attest_kind {
#define WEIR_X(id, file, type) ATTEST_##id,
	ATTEST_KINDS(WEIR_X)
#undef WEIR_X
	ATTEST_KIND_COUNT,
};

#define ATTEST_READS "reads"
#define ATTEST_LINK "link"

struct attestations {
	struct buf envelopes[ATTEST_KIND_COUNT];
	struct buf reads;
	struct buf link;
};

void attestations_done(struct attestations *a);

/* Returns: file name and predicate type of a kind; static. */
const char *attest_file(enum attest_kind kind);
const char *attest_type(enum attest_kind kind);

/* SHA-256 of the bundle, in hex. Returns: 0 or -EIO. Borrows: a. */
int attest_bundle_hash(const struct attestations *a, char ret_hex[DIGEST_HEX]);

struct promotion;

/* Makes all of them from a promotion whose commit is signed. Returns: 0, refused with code
 * "key", or a negative errno. Borrows: p (its reads are sorted). Gives: ret_attestations. */
int attest_make(struct promotion *p, struct attestations *ret_attestations, struct weir_err *e);

#endif
