/* SPDX-License-Identifier: MIT */
/*
 * Proofs of the hooks that see what is no file: the collector offers sockets and System V objects
 * of its own for a moment, which no canary may use, whatever the policy grants to members.
 */
#ifndef WEIR_KERN_CANARY_REACH_H
#define WEIR_KERN_CANARY_REACH_H

#include "user/base/err.h"

struct canary_reach {
	int stream, datagram;	       /* sockets with abstract names */
	char name[2][64];	       /* of both, without the first NUL */
	int queue, semaphores, memory; /* System V ids, -1: none */
};

/* Opens all that the proofs use. Gives: ret_reach for canary_reach_close, also on failure.
 * Returns: 0 or a negative errno. */
int canary_reach_open(struct canary_reach *ret_reach, struct weir_err *e);

/* Takes it away again. */
void canary_reach_close(struct canary_reach *r);

/* One act each, as a canary. Returns: what the call returned; a refusal is -1 with errno EPERM. */
int canary_socket(const struct canary_reach *r);
int canary_connect(const struct canary_reach *r);
int canary_bind(const struct canary_reach *r);
int canary_listen(const struct canary_reach *r);
int canary_sendto(const struct canary_reach *r);
int canary_netlink(const struct canary_reach *r);
int canary_unix_connect(const struct canary_reach *r);
int canary_unix_send(const struct canary_reach *r);
int canary_queue_send(const struct canary_reach *r);
int canary_make_queue(const struct canary_reach *r);
int canary_make_semaphores(const struct canary_reach *r);
int canary_make_memory(const struct canary_reach *r);
int canary_remove_queue(const struct canary_reach *r);
int canary_remove_semaphores(const struct canary_reach *r);
int canary_remove_memory(const struct canary_reach *r);

#endif
