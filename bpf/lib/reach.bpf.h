/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a member reaches beyond files: ends of connections, and things that members made
 * themselves (sockets, System V objects), which are free among them.
 */
#ifndef WEIR_LIB_REACH_H
#define WEIR_LIB_REACH_H

#include "bpf/lib/demand.bpf.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_NETLINK 16

#define SOCK_STREAM 1
#define SOCK_DGRAM 2

#define TCP_LISTEN 10

/* One end of a connection, as in weir_netrule. */
struct weir_end {
	__u64 address[2];
	__u64 net; /* address of its network namespace, of a local end */
	__u32 slot;
	__u16 port;
	__u16 use;	 /* WEIR_NET_EGRESS or WEIR_NET_LISTEN */
	__u16 protocols; /* one of WEIR_NET_* */
	__u16 pad[3];
};

#define V4_MAPPED 0x0000ffff00000000ull

/* Number of the network rule that allows it, 0: none. */
__u32 weir_net_rule(struct weir_end *end);
/* Does a member of the run wait at this end? */
bool weir_is_door(struct weir_end *end);

static __always_inline bool weir_end_is_v4(const struct weir_end *end)
{
	return end->address[0] == 0 && end->address[1] >> 32 == 0xffff;
}

static __always_inline bool weir_end_is_any(const struct weir_end *end)
{
	return end->address[0] == 0 && (end->address[1] == 0 || end->address[1] == V4_MAPPED);
}

/* 127.0.0.0/8 and ::1. */
static __always_inline bool weir_end_is_loopback(const struct weir_end *end)
{
	return end->address[0] == 0 && (end->address[1] == 1 || end->address[1] >> 24 == 0xffff7f);
}

static __always_inline void weir_end_set_v4(struct weir_end *end, __u32 be_address)
{
	end->address[0] = 0;
	end->address[1] = V4_MAPPED | bpf_ntohl(be_address);
}

/* words: four, in network order. */
static __always_inline void weir_end_set_v6(struct weir_end *end, const __u32 *words)
{
	end->address[0] = (__u64)bpf_ntohl(words[0]) << 32 | bpf_ntohl(words[1]);
	end->address[1] = (__u64)bpf_ntohl(words[2]) << 32 | bpf_ntohl(words[3]);
}

/* Whoever connects to no address gets to this host. */
static __always_inline void weir_end_resolve_any(struct weir_end *end)
{
	if (end->address[0] == 0 && end->address[1] == V4_MAPPED)
		end->address[1] |= 0x7f000001;
	else if (end->address[0] == 0 && end->address[1] == 0)
		end->address[1] = 1;
}

static __always_inline void weir_put_end(struct weir_peer *peer, const struct weir_end *end)
{
	__u64 words[2] = { bpf_be64_to_cpu(end->address[0]), bpf_be64_to_cpu(end->address[1]) };

	peer->port = end->port;
	peer->family = weir_end_is_v4(end) ? AF_INET : AF_INET6;
	if (weir_end_is_v4(end))
		words[0] = words[1] >> 32;
	if (weir_end_is_v4(end))
		words[1] = 0;
	__builtin_memcpy(peer->address, words, sizeof(words));
}

/* Rules are for these; any other protocol is a power of its own. */
static __always_inline __u16 weir_protocols_of(__u32 protocol)
{
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP)
		return WEIR_NET_TCP;
	if (protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE)
		return WEIR_NET_UDP;
	return 0;
}

/* The inode of a socket, as two numbers. */
static __always_inline void weir_made_socket(struct weir_made *made, struct socket *socket)
{
	struct inode *inode =
		(struct inode *)((__u64)socket +
				 bpf_core_field_offset(struct socket_alloc, vfs_inode));

	made->address = (__u64)inode;
	made->number = BPF_CORE_READ(inode, i_ino);
}

#endif
