/* SPDX-License-Identifier: MIT */
/*
 * What verify and audit read from: repository, signers, the ledger and its public key. Anybody
 * may use it; root drops to the repository's owner before anything is parsed.
 */
#ifndef WEIR_WRITEBACK_VERIFYSOURCE_H
#define WEIR_WRITEBACK_VERIFYSOURCE_H

#include <stdbool.h>

#include "writeback/ledger.h"
#include "writeback/repo.h"

struct verifysource {
	/* given; NULL: this host's */
	const char *repository;
	const char *signers_file;
	const char *ledger_file; /* public key */
	const char *ledger_dir;
	/* opened */
	struct repo repo;
	struct buf signers;
	struct note_key key;
	struct ledger ledger;
	bool has_ledger;
};

/* Releases what is open. */
void verifysource_done(struct verifysource *s);
#define cleanup_verifysource __attribute__((__cleanup__(verifysource_done)))

/* Opens all; the descriptors in s are set to -1 by the caller. Without the ledger's directory (in
 * a clone) has_ledger stays false. Returns: 0; a negative errno with exit status 2 for files that
 * are not there or not what they should be; refused with code "ledger" or "repository". */
int verifysource_open(struct verifysource *s, struct weir_err *e);

#endif
