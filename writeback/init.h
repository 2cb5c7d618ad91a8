/* SPDX-License-Identifier: MIT */
/*
 * Parts of `weir-gate init` (cmdinit.c): user, keys, repository. Nothing that exists is
 * overwritten; what was made is taken back when a later part fails.
 */
#ifndef WEIR_WRITEBACK_INIT_H
#define WEIR_WRITEBACK_INIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/base/buf.h"
#include "user/base/err.h"
#include "writeback/config.h"

/* Finds a system user, or makes it with useradd. Gives: uid and gid in c.
 * Returns: 0 or a negative errno with e. */
int init_user(struct gate_config *c, struct weir_err *e);

/* Makes a new bare repository, or takes an existing one: checks it under its present
 * owner's uid, refuses hard-linked objects, and gives it to the gate's user.
 * Returns: 0 or a negative errno with e. Borrows: c. */
int init_repository(const struct gate_config *c, struct weir_err *e);

/* Files made so far, newest last; taken back on failure. */
struct init_files {
	char *paths[16];
	unsigned int count;
};

struct init_file {
	const char *path;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

/* Creates a file that must not exist. Returns: 0 or a negative errno with e. Borrows: all. */
int init_file(struct init_files *made, const struct init_file *file, const struct buf *content,
	      struct weir_err *e);

/* Appends a public key as openssl reads it: SubjectPublicKeyInfo (RFC 8410). Keys of other types
 * than Ed25519 have none. Returns: 0 or -ENOMEM. Borrows: blob. */
int init_pem(const struct buf *blob, struct buf *ret_text);

/* Makes the signing key (or takes the agent's public key from that file), the signers file
 * and, unless there is one, the host key; fills c's key, signers and hosts.
 * Returns: 0 or a negative errno with e. */
int init_keys(struct gate_config *c, const char *agent_public, struct init_files *made,
	      struct weir_err *e);

/* Makes the ledger's key, its public text, and the empty ledger; fills c's ledger and
 * ledger_key. Returns: 0 or a negative errno with e. Borrows: c. */
int init_ledger(struct gate_config *c, struct init_files *made, struct weir_err *e);

/* The same for a gate that was made before there was a ledger: adds the keys to GATE_CONFIG.
 * Gives: c, as read. Returns: 0 or a negative errno with e. */
int init_add_ledger(struct gate_config *c, struct init_files *made, struct weir_err *e);

/* Installs the hooks of writeback/receive.h, and settings of git that close what they don't see.
 * Hooks that exist are not replaced. Returns: 0, -EEXIST, or a negative errno with e.
 * Borrows: c. */
int init_hooks(const struct gate_config *c, struct init_files *made, struct weir_err *e);

void init_undo(struct init_files *made);
void init_files_done(struct init_files *made);

#endif
