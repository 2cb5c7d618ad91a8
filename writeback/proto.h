/* SPDX-License-Identifier: MIT */
/*
 * Messages between the processes of weir-gate, over a SOCK_SEQPACKET pair: one packet is
 * one message {u32 type, bytes}, at most PROTO_MAX bytes, with at most PROTO_FDS
 * descriptors. A longer one, or one with more descriptors, ends the conversation.
 */
#ifndef WEIR_WRITEBACK_PROTO_H
#define WEIR_WRITEBACK_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/buf.h"

#define PROTO_MAX ((size_t)120 << 10)
#define PROTO_FDS 24

struct proto_message {
	uint32_t type;
	struct buf data;
	int fds[PROTO_FDS]; /* close-on-exec */
	unsigned int fd_count;
	size_t at; /* next byte that proto_take gives */
};

/* Closes the descriptors that nobody took and frees the bytes. */
void proto_done(struct proto_message *m);
#define cleanup_proto __attribute__((__cleanup__(proto_done)))

/* Makes a pair of sockets. Returns: 0 or a negative errno. */
int proto_pair(int ret_fds[2]);

/* Sends a message. Returns: 0, -EMSGSIZE, or another negative errno. Borrows: all. */
int proto_send(int fd, uint32_t type, const void *data, size_t len, const int *fds,
	       unsigned int fd_count);

/* Waits for a message; m is emptied first. Returns: 0, -EPIPE when the other side is gone,
 * -EBADMSG for one that breaks the rules, or another negative errno. */
int proto_recv(int fd, struct proto_message *ret_message);

/* Takes the next len bytes of a message. Returns: the bytes, borrowed from m, or NULL when
 * there are fewer. */
const void *proto_take(struct proto_message *m, size_t len);

/* Takes {u32 len, bytes}. Returns: the bytes (not terminated), or NULL. */
const char *proto_take_bytes(struct proto_message *m, size_t *ret_len);

/* Takes the next descriptor; the caller owns it. Returns: it, or -1 when there is none. */
int proto_take_fd(struct proto_message *m);

/* Appends {u32 len, bytes} in host order. Returns: as buf_add. Borrows: data. */
int proto_put_bytes(struct buf *b, const void *data, size_t len);

#endif
