/* SPDX-License-Identifier: MIT */
/* Names of ends that are in no file system: addresses, abstract sockets, System V objects. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "user/base/cleanup.h"
#include "user/event/event.h"

struct word {
	unsigned int number;
	const char *name;
};

/* Source: linux/socket.h, AF_*. */
static const struct word families[] = {
	{ AF_AX25, "ax25" },
	{ AF_IPX, "ipx" },
	{ AF_APPLETALK, "appletalk" },
	{ AF_X25, "x25" },
	{ AF_KEY, "key" },
	{ AF_PACKET, "packet" },
	{ AF_RDS, "rds" },
	{ AF_PPPOX, "pppox" },
	{ AF_CAN, "can" },
	{ AF_TIPC, "tipc" },
	{ AF_BLUETOOTH, "bluetooth" },
	{ AF_RXRPC, "rxrpc" },
	{ AF_ALG, "alg" },
	{ AF_NFC, "nfc" },
	{ AF_VSOCK, "vsock" },
	{ AF_KCM, "kcm" },
	{ AF_QIPCRTR, "qipcrtr" },
	{ AF_SMC, "smc" },
	{ AF_XDP, "xdp" },
	{ 45, "mctp" },
	{ AF_INET, "ipv4" },
	{ AF_INET6, "ipv6" },
};

/* Source: linux/netlink.h, NETLINK_*. */
static const struct word netlinks[] = {
	{ 0, "route" },		  { 2, "usersock" }, { 4, "sock-diag" },  { 6, "xfrm" },
	{ 7, "selinux" },	  { 9, "audit" },    { 11, "connector" }, { 12, "netfilter" },
	{ 15, "kobject-uevent" }, { 16, "generic" }, { 21, "crypto" },
};

/* Protocols whose addresses are judged. */
static const struct word protocols[] = {
	{ IPPROTO_TCP, "tcp" },
	{ IPPROTO_UDP, "udp" },
	{ IPPROTO_UDPLITE, "udplite" },
	{ IPPROTO_MPTCP, "mptcp" },
};

static const char *find(const struct word *words, size_t count, unsigned int number)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].number == number)
			return words[i].name;
	return NULL;
}

/* "tcp:192.0.2.1:443", "udp:[2001:db8::1]:53" */
static int put_address(const struct weir_peer *peer, char *out, size_t size)
{
	const char *protocol = find(protocols, ARRAY_SIZE(protocols), peer->protocol);
	bool v6 = peer->family == AF_INET6;
	char address[INET6_ADDRSTRLEN] = "";

	inet_ntop(peer->family, peer->address, address, sizeof(address));
	if (protocol)
		return snprintf(out, size, "%s:%s%s%s:%u", protocol, v6 ? "[" : "", address,
				v6 ? "]" : "", peer->port);
	return snprintf(out, size, "ip-%u:%s", peer->protocol, address);
}

/* "socket:packet", "socket:ipv4:raw:1" */
static int put_socket(const struct weir_peer *peer, char *out, size_t size)
{
	const char *name = find(families, ARRAY_SIZE(families), peer->family);
	char number[16];

	snprintf(number, sizeof(number), "%u", peer->family);
	if (peer->family == AF_INET || peer->family == AF_INET6)
		return snprintf(out, size, "socket:%s:%s:%u", name,
				peer->type == SOCK_RAW ? "raw" : "other", peer->protocol);
	return snprintf(out, size, "socket:%s", name ? name : number);
}

static int put_netlink(const struct weir_peer *peer, char *out, size_t size)
{
	const char *name = find(netlinks, ARRAY_SIZE(netlinks), peer->protocol);

	if (name)
		return snprintf(out, size, "netlink:%s:%u", name, peer->port);
	return snprintf(out, size, "netlink:%u:%u", peer->protocol, peer->port);
}

/* "unix:@name", "unix:" for a socket that has no name */
static int put_unix(const struct event *e, char *out, size_t size)
{
	char name[WEIR_LABEL_MAX + 1];
	size_t len = e->name_len < WEIR_LABEL_MAX ? e->name_len : WEIR_LABEL_MAX;

	/* a name may hold NULs */
	for (size_t i = 0; i < len; i++)
		name[i] = e->name[i] ? e->name[i] : '@';
	name[len] = '\0';
	return snprintf(out, size, "unix:%s%s", len ? "@" : "", name);
}

/* "sysv:msg:0x2a", by its key; IPC_PRIVATE is 0. "sysv:0x2a" where only the key is known. */
static int put_sysv(const struct event *e, char *out, size_t size)
{
	return snprintf(out, size, "sysv:%.*s%s0x%" PRIx64, (int)e->name_len,
			e->name ? e->name : "", e->name_len ? ":" : "",
			(uint64_t)e->op.peer.number);
}

static bool is_sysv(unsigned int op)
{
	return op == WEIR_OP_IPC_CREATE || op == WEIR_OP_IPC_USE || op == WEIR_OP_IPC_SET;
}

int event_place(const struct event *e, char *out, size_t size)
{
	const struct weir_peer *peer = &e->op.peer;
	int len = 0;

	out[0] = '\0';
	if (e->head.type != WEIR_RECORD_OP)
		return 0;
	if (is_sysv(e->op.op))
		len = put_sysv(e, out, size);
	else if (e->op.op == WEIR_OP_SOCKET)
		len = put_socket(peer, out, size);
	else if (peer->family == AF_INET || peer->family == AF_INET6)
		len = put_address(peer, out, size);
	else if (peer->family == AF_NETLINK)
		len = put_netlink(peer, out, size);
	else if (peer->family == AF_UNIX)
		len = put_unix(e, out, size);
	return len < (int)size ? len : (int)size - 1;
}
