/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Questions about ends of connections and messages: global functions, verified once. */
#include "bpf/lib/reach.bpf.h"

struct matcher {
	struct weir_nets *nets;
	struct weir_end *end;
	__u32 use; /* of the end, with WEIR_NET_V4 */
	__u32 id;
};

static long match_rule(__u32 i, void *arg)
{
	struct matcher *m = arg;
	struct weir_end *end = m->end;
	struct weir_netrule *r = &m->nets->rules[weir_below(i, WEIR_NETS_MAX)];
	__u64 other = ((end->address[0] ^ r->address[0]) & r->mask[0]) |
		      ((end->address[1] ^ r->address[1]) & r->mask[1]);

	if (i >= m->nets->count)
		return 1;
	/* all that has to fit as one number, without a branch for each */
	other |= (m->use & WEIR_NET_V4) ^ (r->use & WEIR_NET_V4);
	if (other || !(m->use & r->use & ~WEIR_NET_V4) || !(end->protocols & r->protocols) ||
	    end->port < r->from || end->port > r->to)
		return 0;
	m->id = r->id;
	return 1;
}

__noinline __u32 weir_net_rule(struct weir_end *end)
{
	struct matcher m = {};
	__u32 slot;

	if (!end)
		return 0;
	slot = end->slot;
	m.nets = bpf_map_lookup_elem(&weir_nets, &slot);
	if (!m.nets)
		return 0;
	m.end = end;
	m.use = end->use | (weir_end_is_v4(end) ? WEIR_NET_V4 : 0);
	bpf_loop(WEIR_NETS_MAX, match_rule, &m, 0);
	return m.id;
}

/* Is the socket that made it a door still one? */
static __always_inline bool is_open(struct weir_doorkey *key)
{
	struct weir_door *door = bpf_map_lookup_elem(&weir_doors, key);
	struct weir_made made;
	struct socket *socket;
	struct sock *sock;

	if (!door)
		return false;
	sock = (struct sock *)door->sock;
	if (BPF_CORE_READ(sock, __sk_common.skc_num) != key->port ||
	    (key->protocol == WEIR_NET_TCP &&
	     BPF_CORE_READ(sock, __sk_common.skc_state) != TCP_LISTEN))
		return false;
	socket = BPF_CORE_READ(sock, sk_socket);
	if (!socket)
		return false;
	weir_made_socket(&made, socket);
	return made.number == door->number;
}

__noinline bool weir_is_door(struct weir_end *end)
{
	struct weir_doorkey key = {};

	if (!end)
		return false;
	key.address[0] = end->address[0];
	key.address[1] = end->address[1];
	key.net = end->net;
	key.slot = end->slot;
	key.port = end->port;
	key.protocol = end->protocols;
	if (is_open(&key))
		return true;
	/* one that waits at all addresses, of its own family or of both */
	key.address[0] = 0;
	key.address[1] = weir_end_is_v4(end) ? V4_MAPPED : 0;
	if (is_open(&key))
		return true;
	key.address[1] = 0;
	return is_open(&key);
}

/* rtnetlink(7): the lower two bits of a message's type say what it does. */
#define RTM_FIRST 16
#define RTM_GET_KIND 2
#define NETLINK_ROUTE 0
#define NETLINK_SOCK_DIAG 4
#define NETLINK_GENERIC 16
#define SOCK_DIAG_BY_FAMILY 20
#define GENL_ID_CTRL 16
#define CTRL_GETFAMILY 3
#define CTRL_GETPOLICY 10
#define NLMSG_FIRST 16
#define MESSAGES_MAX 64

struct messages {
	__u64 at;
	__u32 left;
	__u32 protocol;
	__u32 changes;
	__u32 pad;
};

/* May a message of this type change anything? */
static __always_inline bool is_change(struct messages *m, __u32 type)
{
	__u8 command = 0;

	/* the kernel takes no notice of those */
	if (type < NLMSG_FIRST)
		return false;
	if (m->protocol == NETLINK_ROUTE)
		return ((type - RTM_FIRST) & 3) != RTM_GET_KIND;
	if (m->protocol == NETLINK_SOCK_DIAG)
		return type != SOCK_DIAG_BY_FAMILY;
	if (m->protocol == NETLINK_GENERIC && type == GENL_ID_CTRL) {
		bpf_probe_read_kernel(&command, 1, (void *)(m->at + sizeof(struct nlmsghdr)));
		return command != CTRL_GETFAMILY && command != CTRL_GETPOLICY;
	}
	return true;
}

static long look_at_message(__u32 i, void *arg)
{
	struct messages *m = arg;
	struct nlmsghdr head = {};
	__u32 step;

	if (m->left < sizeof(head))
		return 1;
	if (bpf_probe_read_kernel(&head, sizeof(head), (void *)m->at)) {
		m->changes = 1;
		return 1;
	}
	/* where the kernel stops reading */
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > m->left)
		return 1;
	if (is_change(m, head.nlmsg_type)) {
		m->changes = 1;
		return 1;
	}
	step = (head.nlmsg_len + 3) & ~3u;
	m->at += step;
	m->left = step < m->left ? m->left - step : 0;
	return 0;
}

/* Do len bytes of netlink messages at bytes change anything? More messages than are looked at
 * count as a change. */
__noinline bool weir_netlink_changes(__u64 bytes, __u32 len, __u32 protocol)
{
	struct messages m = { .at = bytes, .left = len, .protocol = protocol };

	bpf_loop(MESSAGES_MAX, look_at_message, &m, 0);
	return m.changes || m.left >= sizeof(struct nlmsghdr);
}
