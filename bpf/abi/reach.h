/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a run may reach beyond files: addresses of networks, sockets of other processes.
 * Layout versioned together with the records (WEIR_ABI_VERSION).
 */
#ifndef WEIR_ABI_REACH_H
#define WEIR_ABI_REACH_H

#include "bpf/abi/limits.h"
#include "bpf/abi/types.h"

/* weir_netrule.use */
#define WEIR_NET_EGRESS (1u << 0) /* connect, send */
#define WEIR_NET_LISTEN (1u << 1) /* bind, listen */
#define WEIR_NET_V4 (1u << 2)	  /* of IPv4; else it holds for other addresses only */

/* weir_netrule.protocols */
#define WEIR_NET_TCP (1u << 0)
#define WEIR_NET_UDP (1u << 1)

/*
 * An address is two numbers, most significant first; one of IPv4 is ::ffff:a.b.c.d, so that it
 * is the same through a socket of either family (RFC 4291, 2.5.5.2).
 */
struct weir_netrule {
	__u64 address[2]; /* bits that are not in the mask are 0 */
	__u64 mask[2];
	__u16 from; /* ports, both included */
	__u16 to;
	__u16 use;
	__u16 protocols;
	__u32 id; /* number of the policy rule, from 1 */
	__u32 pad;
};
WEIR_ASSERT_SIZE(struct weir_netrule, 48);

/* All rules of a run, in the order of the policy. */
struct weir_nets {
	__u32 count;
	__u32 pad;
	struct weir_netrule rules[WEIR_NETS_MAX];
};
WEIR_ASSERT_SIZE(struct weir_nets, 8 + 48 * WEIR_NETS_MAX);

/* Something that members made: an inode and its number (sockets, POSIX objects), a System V object
 * and WEIR_MADE_SYSV, or the name of a queue that is being made and WEIR_MADE_QUEUE. */
#define WEIR_MADE_SYSV (~0ull)
#define WEIR_MADE_QUEUE (~1ull)
struct weir_made {
	__u64 address;
	__u64 number;
};
WEIR_ASSERT_SIZE(struct weir_made, 16);

/* Where members of a run wait for others. */
struct weir_doorkey {
	__u64 address[2]; /* as in weir_netrule */
	__u64 net;	  /* network namespace */
	__u32 slot;
	__u16 port;
	__u16 protocol; /* WEIR_NET_* */
};
WEIR_ASSERT_SIZE(struct weir_doorkey, 32);

/* The socket that made it a door, to be looked at again: it may be closed by now. */
struct weir_door {
	__u64 sock;
	__u64 number; /* of its inode */
};
WEIR_ASSERT_SIZE(struct weir_door, 16);

/* weir_rule.flags of a peer: what is done there is refused without a finding. */
#define WEIR_PEER_IGNORED (1u << 16)

#endif
