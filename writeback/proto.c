/* SPDX-License-Identifier: MIT */
#include "writeback/proto.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/base/cleanup.h"

void proto_done(struct proto_message *m)
{
	for (unsigned int i = 0; i < m->fd_count; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->fd_count = 0;
	m->at = 0;
	buf_done(&m->data);
}

int proto_pair(int ret_fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0 ? -errno : 0;
}

int proto_send(int fd, uint32_t type, const void *data, size_t len, const int *fds,
	       unsigned int fd_count)
{
	union {
		char bytes[CMSG_SPACE(PROTO_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec parts[2] = { { &type, sizeof(type) }, { (void *)(uintptr_t)data, len } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	struct cmsghdr *c;
	ssize_t n;

	if (len > PROTO_MAX || fd_count > PROTO_FDS)
		return -EMSGSIZE;
	if (fd_count > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	do {
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int take_fds(struct msghdr *msg, struct proto_message *m)
{
	int err = msg->msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EBADMSG : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		unsigned int count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
			err = -EBADMSG;
			continue;
		}
		count = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (unsigned int i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (m->fd_count < PROTO_FDS) {
				m->fds[m->fd_count++] = fd;
			} else {
				close(fd);
				err = -EBADMSG;
			}
		}
	}
	return err;
}

int proto_recv(int fd, struct proto_message *ret_message)
{
	union {
		char bytes[CMSG_SPACE(PROTO_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct proto_message *m = ret_message;
	cleanup_free char *bytes = malloc(PROTO_MAX);
	struct iovec parts[2] = { { &m->type, sizeof(m->type) }, { bytes, PROTO_MAX } };
	struct msghdr msg = { .msg_iov = parts,
			      .msg_iovlen = 2,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t n;
	int err;

	proto_done(m);
	if (!bytes)
		return -ENOMEM;
	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	err = take_fds(&msg, m);
	if (err == 0 && (size_t)n < sizeof(m->type))
		err = -EBADMSG;
	if (err == 0)
		err = buf_add(&m->data, bytes, (size_t)n - sizeof(m->type));
	if (err < 0)
		proto_done(m);
	return err;
}

const void *proto_take(struct proto_message *m, size_t len)
{
	const char *at;

	if (!m->data.data || len > m->data.len - m->at)
		return NULL;
	at = m->data.data + m->at;
	m->at += len;
	return at;
}

const char *proto_take_bytes(struct proto_message *m, size_t *ret_len)
{
	const void *head = proto_take(m, sizeof(uint32_t));
	uint32_t len;

	if (!head)
		return NULL;
	memcpy(&len, head, sizeof(len));
	*ret_len = len;
	return proto_take(m, len);
}

int proto_take_fd(struct proto_message *m)
{
	for (unsigned int i = 0; i < m->fd_count; i++)
		if (m->fds[i] >= 0)
			return TAKE_FD(m->fds[i]);
	return -1;
}

int proto_put_bytes(struct buf *b, const void *data, size_t len)
{
	uint32_t head = (uint32_t)len;
	int err = len > PROTO_MAX ? -EMSGSIZE : buf_add(b, &head, sizeof(head));

	return err < 0 ? err : buf_add(b, data, len);
}
