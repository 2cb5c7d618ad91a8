/* SPDX-License-Identifier: MIT */
/*
 * What verify and audit read from: repository, signers, the ledger and its public key. Anybody
 * may use it; root drops to the repository's owner before anything is parsed.
 */
#ifndef WEIR_WRITEBACK_VERIFYSOURCE_H
#define WEIR_WRITEBACK_VERIFYSOURCE_H

#include <argp.h>
#include <stdbool.h>

#include "writeback/config.h"
#include "writeback/keyhist.h"
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
	struct keyhist keys;	  /* of the ledger */
	struct weir_err keys_why; /* why they can't be read; empty: they could */
	bool has_ledger;
};

#define VERIFYSOURCE_CLOSED \
	{ \
		.repo = { .fd = -1 }, .ledger = {.dir = -1 } \
	}

enum verifysource_key {
	VERIFYSOURCE_SIGNERS = 's',
	VERIFYSOURCE_KEY = 'k',
	VERIFYSOURCE_LEDGER = 'l',
};

/* clang-format off */
#define VERIFYSOURCE_OPTIONS \
	{ "signers", VERIFYSOURCE_SIGNERS, "FILE", 0, "allowed_signers file", 0 }, \
	{ "ledger-key", VERIFYSOURCE_KEY, "FILE", 0, \
	  "public key of the ledger (default " GATE_LEDGER_PUBLIC ")", 0 }, \
	{ "ledger", VERIFYSOURCE_LEDGER, "DIR", 0, \
	  "ledger to look at too (default: this host's, with its key)", 0 }
/* clang-format on */

/* Takes one of VERIFYSOURCE_OPTIONS. Returns: 0 or ARGP_ERR_UNKNOWN. Borrows: arg. */
error_t verifysource_option(struct verifysource *s, int key, char *arg);

/* Releases what is open. */
void verifysource_done(struct verifysource *s);
#define cleanup_verifysource __attribute__((__cleanup__(verifysource_done)))

/* Opens a repository to read from it, as its owner when the caller is root. Returns: 0, refused
 * with code "repository", or a negative errno. Borrows: path. Gives: ret_repo. */
int verifysource_open_repo(const char *path, struct repo *ret_repo, struct weir_err *e);

/* Opens all; the descriptors in s are set to -1 by the caller. Without the ledger's directory (in
 * a clone) has_ledger stays false. Returns: 0; a negative errno with exit status 2 for files that
 * are not there or not what they should be; refused with code "ledger" or "repository". */
int verifysource_open(struct verifysource *s, struct weir_err *e);

#endif
