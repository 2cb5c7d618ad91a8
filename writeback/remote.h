/* SPDX-License-Identifier: MIT */
/*
 * Mode `push`: the trusted repository is elsewhere, and gate.yaml's `repository` is the gate's own
 * copy of it. This is the only place where git is executed: never on a workspace, on the copy
 * alone, as the gate's user, without configuration of system or user, without hooks of the copy,
 * by a clean environment, over ssh with a key and known hosts of its own or to a path.
 * What is sent there passes the hooks of the other side (writeback/receive.h, or others).
 *
 * Before a nonce is issued and before a promotion the copy follows the remote, forward only. A
 * promotion goes out as branch and records in one atomic push that names the old value of both
 * (--force-with-lease), before the copy's own refs move; its record has the ledger's `intent`
 * with proof then. The ledger says `done` after that, and the records are pushed again.
 *
 * When a push fails, the remote is asked what it has: the new commit (then it went well), the old
 * one (then the promotion is aborted), another (base-moved). When it can't be asked, the journal
 * stays (writeback/publish.h), and the next gate asks again before anything else.
 */
#ifndef WEIR_WRITEBACK_REMOTE_H
#define WEIR_WRITEBACK_REMOTE_H

#include "writeback/config.h"
#include "writeback/reflock.h"

#define REMOTE_TIMEOUT_S 600u

/* Whether this gate pushes. Returns: truth. Borrows: c. */
bool remote_is_used(const struct gate_config *c);

/* Lets the copy follow the remote: branches of gate.yaml and records. Under the gate's lock.
 * unfinished: a promotion is being completed, whose last records may be here alone. Returns: 0;
 * refused with code "remote", or -EIO, with what git said; another negative errno. */
int remote_follow(const struct gate_config *c, const struct repo *r, bool unfinished,
		  struct weir_err *e);

/* Pushes refs at once, each from its old to its new value. Returns: 0 when the remote has them;
 * refused with code "push" or "base-moved" when it has not; -EAGAIN when nobody knows.
 * Borrows: all. */
int remote_push(const struct gate_config *c, const struct repo *r, const struct reflock *refs,
		size_t count, struct weir_err *e);

#endif
