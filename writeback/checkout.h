/* SPDX-License-Identifier: MIT */
/*
 * A fresh workspace: the files of a commit, bytes as in the blobs (no filters, no line ends,
 * no ident), and a .git of its own that holds this one commit (shallow), so that ordinary
 * git works inside. Nothing is shared or hard-linked with the trusted repository; there is
 * no remote and no hook.
 *
 * The keeper reads objects and sends them; the writer, under the workspace owner's uid,
 * makes the files beneath the directory's descriptor. Messages (writeback/proto.h):
 *   CHECKOUT_DIR    bytes path                         also for submodules, as empty ones
 *   CHECKOUT_FILE   u32 mode, u64 size, 20 id, bytes path; then the content in
 *   CHECKOUT_DATA   bytes, together size
 *   CHECKOUT_LINK   20 id, bytes path, bytes target
 *   CHECKOUT_MODULE 20 id, bytes path
 *   CHECKOUT_GIT    u32 shallow, bytes ref, bytes commit, bytes pack name; descriptors pack, idx
 * The writer answers CHECKOUT_DONE, or CHECKOUT_FAILED with bytes text.
 */
#ifndef WEIR_WRITEBACK_CHECKOUT_H
#define WEIR_WRITEBACK_CHECKOUT_H

#include <sys/types.h>

#include "writeback/nonce.h"
#include "writeback/repo.h"

enum checkout_type {
	CHECKOUT_DIR = 1,
	CHECKOUT_FILE,
	CHECKOUT_DATA,
	CHECKOUT_LINK,
	CHECKOUT_MODULE,
	CHECKOUT_GIT,
	CHECKOUT_DONE,
	CHECKOUT_FAILED,
};

#define CHECKOUT_PIECE ((size_t)64 << 10) /* bytes of content in one message */

/* The keeper's side: sends the commit of a nonce. Returns: 0 or a negative errno with e. Gives: the
 * hash of writeback/baseline.h.
 * Borrows: all. */
int checkout_send(const struct repo *r, const struct nonce *n, int fd, char ret_hash[DIGEST_HEX],
		  struct weir_err *e);

/* Forks the writer for an empty directory. Called as root. Gives: its socket and pid.
 * Returns: 0 or a negative errno. Borrows: dir_fd. */
int checkout_start_writer(int dir_fd, uid_t uid, gid_t gid, int *ret_fd, pid_t *ret_pid,
			  struct weir_err *e);

#endif
