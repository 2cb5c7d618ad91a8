/* SPDX-License-Identifier: MIT */
#include "user/kern/canary_reach.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/base/cleanup.h"

/* Discard, RFC 863: nothing listens there, and no policy needs it. */
#define PORT 9

static socklen_t fill_name(struct sockaddr_un *at, const char *name)
{
	memset(at, 0, sizeof(*at));
	at->sun_family = AF_UNIX;
	memcpy(at->sun_path + 1, name, strlen(name));
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int offer(int type, const char *name)
{
	struct sockaddr_un at;
	socklen_t len = fill_name(&at, name);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && (bind(fd, (struct sockaddr *)&at, len) < 0 ||
			(type == SOCK_STREAM && listen(fd, 1) < 0))) {
		close(fd);
		return -1;
	}
	return fd;
}

int canary_reach_open(struct canary_reach *ret_reach, struct weir_err *e)
{
	struct canary_reach r = { .stream = -1, .datagram = -1 };

	snprintf(r.name[0], sizeof(r.name[0]), "weir-canary-%d-stream", getpid());
	snprintf(r.name[1], sizeof(r.name[1]), "weir-canary-%d-datagram", getpid());
	r.stream = offer(SOCK_STREAM, r.name[0]);
	r.datagram = offer(SOCK_DGRAM, r.name[1]);
	r.queue = msgget(IPC_PRIVATE, 0600);
	r.semaphores = semget(IPC_PRIVATE, 1, 0600);
	r.memory = shmget(IPC_PRIVATE, 1, 0600);
	*ret_reach = r;
	if (r.stream < 0 || r.datagram < 0 || r.queue < 0 || r.semaphores < 0 || r.memory < 0)
		return err_errno(e, -errno, "canary: sockets and System V objects to prove with");
	return 0;
}

void canary_reach_close(struct canary_reach *r)
{
	if (r->stream >= 0)
		close(r->stream);
	if (r->datagram >= 0)
		close(r->datagram);
	if (r->queue >= 0)
		msgctl(r->queue, IPC_RMID, NULL);
	if (r->semaphores >= 0)
		semctl(r->semaphores, 0, IPC_RMID);
	if (r->memory >= 0)
		shmctl(r->memory, IPC_RMID, NULL);
}

int canary_socket(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	(void)r;
	return fd;
}

static struct sockaddr_in loopback(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

int canary_connect(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback();

	(void)r;
	return fd < 0 ? 0 : connect(fd, (struct sockaddr *)&at, sizeof(at));
}

int canary_bind(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback();

	(void)r;
	return fd < 0 ? 0 : bind(fd, (struct sockaddr *)&at, sizeof(at));
}

int canary_listen(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback();

	(void)r;
	at.sin_port = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return 0;
	return listen(fd, 1);
}

int canary_sendto(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback();

	(void)r;
	return fd < 0 ? 0 : (int)sendto(fd, "", 0, 0, (struct sockaddr *)&at, sizeof(at));
}

/* A link without a name and a number: the kernel would not even know which to change. */
int canary_netlink(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} message = {
		.head = { .nlmsg_len = sizeof(message), .nlmsg_type = RTM_SETLINK },
	};

	(void)r;
	return fd < 0 ? 0 : (int)send(fd, &message, sizeof(message), 0);
}

int canary_unix_connect(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t len = fill_name(&at, r->name[0]);

	return fd < 0 ? 0 : connect(fd, (struct sockaddr *)&at, len);
}

int canary_unix_send(const struct canary_reach *r)
{
	cleanup_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;
	socklen_t len = fill_name(&at, r->name[1]);

	return fd < 0 ? 0 : (int)sendto(fd, "", 1, 0, (struct sockaddr *)&at, len);
}

/* msgsnd says EACCES whatever the reason was. */
int canary_queue_send(const struct canary_reach *r)
{
	const struct {
		long type;
		char text[1];
	} message = { .type = 1 };
	int ret = msgsnd(r->queue, &message, 0, IPC_NOWAIT);

	if (ret < 0 && errno == EACCES)
		errno = EPERM;
	return ret;
}

int canary_make_queue(const struct canary_reach *r)
{
	int id = msgget(IPC_PRIVATE, 0600);

	(void)r;
	if (id >= 0)
		msgctl(id, IPC_RMID, NULL);
	return id;
}

int canary_make_semaphores(const struct canary_reach *r)
{
	int id = semget(IPC_PRIVATE, 1, 0600);

	(void)r;
	if (id >= 0)
		semctl(id, 0, IPC_RMID);
	return id;
}

int canary_make_memory(const struct canary_reach *r)
{
	int id = shmget(IPC_PRIVATE, 1, 0600);

	(void)r;
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return id;
}

int canary_remove_queue(const struct canary_reach *r)
{
	return msgctl(r->queue, IPC_RMID, NULL);
}

int canary_remove_semaphores(const struct canary_reach *r)
{
	return semctl(r->semaphores, 0, IPC_RMID);
}

int canary_remove_memory(const struct canary_reach *r)
{
	return shmctl(r->memory, IPC_RMID, NULL);
}
