/* SPDX-License-Identifier: MIT */
/*
 * Privilege in phases. weir-gate starts as root, opens what only root can open, and forks:
 *
 *   keeper   uid of the gate's user, no capability: repository, key, state. Parses what is
 *            hostile; never sees the workspace.
 *   reader   uid nobody, CAP_DAC_READ_SEARCH alone: opens files beneath the workspace's
 *            descriptor and passes them on. Has no key and can't reach one: the key is not
 *            beneath the workspace, and it gets no other directory.
 *   writer   uid of the workspace's owner, no capability: fills a fresh checkout.
 *
 * Each drop is verified; no_new_privs is set; the processes are not dumpable.
 */
#ifndef WEIR_WRITEBACK_PRIV_H
#define WEIR_WRITEBACK_PRIV_H

#include <sys/types.h>

#include "user/base/err.h"

#define PRIV_NOBODY 65534

/* Becomes a plain user without groups or capabilities. Returns: 0 or a negative errno. */
int priv_become(uid_t uid, gid_t gid, struct weir_err *e);

/* Becomes nobody with CAP_DAC_READ_SEARCH alone. Returns: 0 or a negative errno. */
int priv_become_reader(struct weir_err *e);

/* Closes every descriptor from 3 up but those in keep (ascending or not, -1 ignored).
 * Returns: 0 or a negative errno. Borrows: keep. */
int priv_close_others(const int *keep, size_t count);

/* Waits for a child. Returns: its exit status, 125 when a signal ended it (e says which), or a
 * negative errno. */
int priv_wait(pid_t pid, const char *name, struct weir_err *e);

#endif
