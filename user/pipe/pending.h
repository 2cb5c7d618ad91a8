/* SPDX-License-Identifier: MIT */
/*
 * Creations that may be taken back. The kernel judges an open with O_CREAT before it
 * knows whether the name exists (WEIR_EV_SPECULATIVE); the next event of the same thread
 * tells. Until then such a finding is held, so that nobody is alarmed for nothing.
 */
#ifndef WEIR_PIPE_PENDING_H
#define WEIR_PIPE_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/event/event.h"

/* Threads that can be in the middle of an open at one time; one more is not held. */
#define PENDING_MAX 256

struct pending_slot {
	uint32_t pid;
	uint32_t len;
	void *bytes; /* copy of the record, NULL: free */
};

struct pending {
	struct pending_slot slots[PENDING_MAX];
	size_t used;
};

/* Holds a record. Returns: true, or false when there is no room: then it counts at once.
 * Borrows: bytes, of which a copy is kept. */
bool pending_hold(struct pending *p, uint32_t pid, const void *bytes, size_t len);

/* Takes what a thread has pending; any thread if pid is 0. Gives: *ret_bytes for free, NULL
 * if there is nothing. Returns: its length. */
size_t pending_take(struct pending *p, uint32_t pid, void **ret_bytes);

/* Frees what is left. */
void pending_done(struct pending *p);

/* Is this a creation that the next event may take back? Borrows: e. */
bool pending_is_open(const struct event *e);

#endif
