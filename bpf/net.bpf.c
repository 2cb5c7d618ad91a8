/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Networks. Addresses are taken from the kernel's copy. A connected socket passes here once,
 * when it is connected; sends without a connection each time, which only the cgroup hooks see
 * without a cost for all other sends on the host.
 */
#include "bpf/lib/reach.bpf.h"

/* A member, or NULL where there is nothing to do. */
static __always_inline struct weir_task *reacher(void)
{
	return weir_state->host.runs ? weir_member() : 0;
}

static __always_inline __u64 powers_of(__u32 slot)
{
	struct weir_run *run = weir_run_of(slot);

	return run ? run->powers : 0;
}

struct reach {
	__u16 hook;
	__u16 op;
	__u16 type;
	__u16 protocol;
};

/* A rule allows it, or the power does: among members on loopback addresses that is another one
 * than with the rest of the world. */
static __always_inline int judge_end_by(struct weir_end *end, const struct reach *r, __u64 power,
					bool among_members, bool here)
{
	struct weir_demand d = {
		.powers = among_members ? WEIR_POWER(LOOPBACK) : power,
		.kind = WEIR_KIND_NETWORK,
		.hook = r->hook,
		.op = r->op,
	};

	d.peer.type = r->type;
	d.peer.protocol = r->protocol;
	weir_put_end(&d.peer, end);
	d.rule = weir_net_rule(end);
	if (d.rule)
		d.powers = 0;
	return weir_demand_by(&d, here);
}

static __always_inline int judge_end(struct weir_end *end, const struct reach *r, __u64 power,
				     bool among_members)
{
	return judge_end_by(end, r, power, among_members, WEIR_HERE);
}

/* Reads an address that a member passed; family: what the kernel takes it for. */
static __always_inline bool read_address(struct weir_end *end, const void *address, int len,
					 __u16 family)
{
	struct sockaddr_in6 from = {};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&from;

	/* the kernel refuses what is shorter; without the scope, RFC 2133 */
	if (len < (family == AF_INET ? 16 : 24) ||
	    bpf_probe_read_kernel(&from, sizeof(from), address))
		return false;
	end->port = bpf_ntohs(v4->sin_port);
	if (family == AF_INET)
		weir_end_set_v4(end, v4->sin_addr.s_addr);
	else
		weir_end_set_v6(end, from.sin6_addr.in6_u.u6_addr32);
	return true;
}

static __always_inline void set_owner(struct weir_end *end, struct weir_task *member,
				      struct sock *sk, __u16 use)
{
	end->slot = member->slot;
	end->net = (__u64)sk->__sk_common.skc_net.net;
	end->protocols = weir_protocols_of(sk->sk_protocol);
	end->use = use;
}

static __always_inline int connect_to(struct weir_task *member, struct sock *sk,
				      struct sockaddr *address, int len)
{
	struct reach r = { .hook = WEIR_HOOK_SOCKET_CONNECT, .op = WEIR_OP_CONNECT };
	struct weir_end end = {};
	__u16 family = 0;

	bpf_probe_read_kernel(&family, sizeof(family), &address->sa_family);
	set_owner(&end, member, sk, WEIR_NET_EGRESS);
	/* other families: judged as the socket is made, or by the peer's hook; an address of
	 * none ends a connection */
	if (len < 2 || (family != AF_INET && family != AF_INET6) || !end.protocols ||
	    !read_address(&end, address, len, family))
		return weir_needless(r.hook);
	weir_end_resolve_any(&end);
	r.type = sk->sk_type;
	r.protocol = sk->sk_protocol;
	return judge_end(&end, &r, WEIR_POWER(EGRESS),
			 weir_end_is_loopback(&end) && weir_is_door(&end));
}

SEC("lsm/socket_connect")
int BPF_PROG(weir_socket_connect, struct socket *sock, struct sockaddr *address, int len)
{
	struct weir_task *member = reacher();

	if (!member)
		return 0;
	WEIR_ANSWER(connect_to(member, WEIR_PLAIN(socket, sock)->sk, address, len));
}

/* Notes where others of the run find sk. A socket that shares its port is no proof of who is
 * reached there; nor is it among members: who waits there already loses what it gets. */
static __always_inline void open_door(struct weir_end *end, struct socket *sock, struct sock *sk,
				      bool shared)
{
	struct weir_doorkey key = {};
	struct weir_door door = {};
	struct weir_made made;

	if (shared)
		return;
	weir_made_socket(&made, sock);
	door.sock = (__u64)sk;
	door.number = made.number;
	key.address[0] = end->address[0];
	key.address[1] = end->address[1];
	key.net = end->net;
	key.slot = end->slot;
	key.port = end->port;
	key.protocol = end->protocols;
	bpf_map_update_elem(&weir_doors, &key, &door, BPF_ANY);
}

/* What a server of TCP takes is judged when it begins to wait there. */
static __always_inline int bind_to(struct weir_task *member, struct socket *sock,
				   struct sockaddr *address, int len)
{
	struct reach r = { .hook = WEIR_HOOK_SOCKET_BIND, .op = WEIR_OP_BIND };
	struct sock *sk = sock->sk;
	struct weir_end end = {};
	__u16 family = sk->__sk_common.skc_family;
	bool shared = BPF_CORE_READ_BITFIELD_PROBED(sk, __sk_common.skc_reuse) ||
		      BPF_CORE_READ_BITFIELD_PROBED(sk, __sk_common.skc_reuseport);

	if (family != AF_INET && family != AF_INET6)
		return weir_needless(r.hook);
	set_owner(&end, member, sk, WEIR_NET_LISTEN);
	if (end.protocols != WEIR_NET_UDP || !read_address(&end, address, len, family) ||
	    end.port == 0)
		return weir_needless(r.hook);
	r.type = sk->sk_type;
	r.protocol = sk->sk_protocol;
	if (judge_end(&end, &r, WEIR_POWER(LISTEN), weir_end_is_loopback(&end) && !shared))
		return 1;
	open_door(&end, sock, sk, shared);
	return 0;
}

SEC("lsm/socket_bind")
int BPF_PROG(weir_socket_bind, struct socket *sock, struct sockaddr *address, int len)
{
	struct weir_task *member = reacher();

	if (!member)
		return 0;
	WEIR_ANSWER(bind_to(member, WEIR_PLAIN(socket, sock), address, len));
}

static __always_inline int listen_at(struct weir_task *member, struct socket *sock)
{
	struct reach r = { .hook = WEIR_HOOK_SOCKET_LISTEN, .op = WEIR_OP_LISTEN };
	struct sock *sk = sock->sk;
	struct weir_end end = {};
	__u16 family = sk->__sk_common.skc_family;
	bool shared = BPF_CORE_READ_BITFIELD_PROBED(sk, __sk_common.skc_reuseport);

	set_owner(&end, member, sk, WEIR_NET_LISTEN);
	if ((family != AF_INET && family != AF_INET6) || !end.protocols)
		return weir_needless(r.hook);
	end.port = sk->__sk_common.skc_num;
	if (family == AF_INET)
		weir_end_set_v4(&end, sk->__sk_common.skc_rcv_saddr);
	else
		weir_end_set_v6(&end, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32);
	r.type = sk->sk_type;
	r.protocol = sk->sk_protocol;
	if (judge_end(&end, &r, WEIR_POWER(LISTEN), weir_end_is_loopback(&end) && !shared))
		return 1;
	open_door(&end, sock, sk, shared);
	return 0;
}

SEC("lsm/socket_listen")
int BPF_PROG(weir_socket_listen, struct socket *sock)
{
	struct weir_task *member = reacher();

	if (!member)
		return 0;
	WEIR_ANSWER(listen_at(member, WEIR_PLAIN(socket, sock)));
}

/* Sockets whose every connection is judged; others (raw, packets, other protocols, machines
 * next door) are a power. */
static __always_inline bool is_judged_later(int family, int type, int protocol)
{
	if (family == AF_UNIX || family == AF_NETLINK)
		return true;
	if (family != AF_INET && family != AF_INET6)
		return false;
	if (type == SOCK_STREAM)
		return protocol == 0 || weir_protocols_of(protocol) == WEIR_NET_TCP;
	return type == SOCK_DGRAM && (protocol == 0 || weir_protocols_of(protocol) == WEIR_NET_UDP);
}

SEC("lsm/socket_create")
int BPF_PROG(weir_socket_create, int family, int type, int protocol, int kern)
{
	struct weir_demand d = WEIR_DEMAND(RAW, WEIR_HOOK_SOCKET_CREATE, WEIR_OP_SOCKET);

	if (kern || !reacher())
		return 0;
	if (is_judged_later(family, type, protocol))
		return weir_needless(WEIR_HOOK_SOCKET_CREATE);
	d.peer.family = family;
	d.peer.type = type;
	d.peer.protocol = protocol;
	WEIR_ANSWER(weir_demand(&d));
}

static __always_inline void note_socket(struct socket *sock, __u16 hook)
{
	struct weir_task *member = reacher();
	struct weir_made made;

	if (!member)
		return;
	weir_made_socket(&made, sock);
	weir_remember(&made, member->slot);
	weir_needless(hook);
}

SEC("lsm/socket_post_create")
int BPF_PROG(weir_socket_post_create, struct socket *sock, int family, int type, int protocol,
	     int kern)
{
	if (!kern)
		note_socket(sock, WEIR_HOOK_SOCKET_POST_CREATE);
	return 0;
}

SEC("lsm/socket_accept")
int BPF_PROG(weir_socket_accept, struct socket *sock, struct socket *newsock)
{
	note_socket(newsock, WEIR_HOOK_SOCKET_ACCEPT);
	return 0;
}

static __always_inline int send_netlink(struct sock *sk, struct sk_buff *skb)
{
	struct weir_demand d = WEIR_DEMAND(NETLINK, WEIR_HOOK_NETLINK_SEND, WEIR_OP_SEND);
	__u64 bytes = (__u64)BPF_CORE_READ(skb, data);

	if (!weir_netlink_changes(bytes, skb->len, sk->sk_protocol))
		return weir_needless(WEIR_HOOK_NETLINK_SEND);
	bpf_probe_read_kernel(&d.peer.port, sizeof(d.peer.port),
			      (void *)(bytes + offsetof(struct nlmsghdr, nlmsg_type)));
	d.peer.family = AF_NETLINK;
	d.peer.type = sk->sk_type;
	d.peer.protocol = sk->sk_protocol;
	return weir_demand(&d);
}

SEC("lsm/netlink_send")
int BPF_PROG(weir_netlink_send, struct sock *sk, struct sk_buff *skb)
{
	if (!reacher())
		return 0;
	WEIR_ANSWER(send_netlink(WEIR_PLAIN(sock, sk), WEIR_PLAIN(sk_buff, skb)));
}

/* Sends without a connection. The address is as the kernel understood it, whatever the family of
 * the socket. Returns 1 to allow, 0 to refuse. */
static __always_inline int send_to(struct weir_end *end, struct bpf_sock_addr *ctx, __u16 hook,
				   __u16 op)
{
	struct reach r = { .hook = hook, .op = op, .type = ctx->type, .protocol = ctx->protocol };
	struct weir_task *member = reacher();
	struct task_struct *task;

	if (!member)
		return 1;
	end->port = bpf_ntohs(ctx->user_port);
	end->slot = member->slot;
	end->use = WEIR_NET_EGRESS;
	end->protocols = weir_protocols_of(ctx->protocol);
	task = (struct task_struct *)bpf_get_current_task();
	end->net = (__u64)BPF_CORE_READ(task, nsproxy, net_ns);
	weir_end_resolve_any(end);
	return !judge_end_by(end, &r, WEIR_POWER(EGRESS),
			     weir_end_is_loopback(end) && weir_is_door(end), true);
}

SEC("cgroup/sendmsg4")
int weir_sendmsg4(struct bpf_sock_addr *ctx)
{
	struct weir_end end = {};

	weir_end_set_v4(&end, ctx->user_ip4);
	return send_to(&end, ctx, WEIR_HOOK_SENDMSG4, WEIR_OP_SEND);
}

static __always_inline void read_v6(struct weir_end *end, struct bpf_sock_addr *ctx)
{
	__u32 words[4];

	words[0] = ctx->user_ip6[0];
	words[1] = ctx->user_ip6[1];
	words[2] = ctx->user_ip6[2];
	words[3] = ctx->user_ip6[3];
	weir_end_set_v6(end, words);
}

SEC("cgroup/sendmsg6")
int weir_sendmsg6(struct bpf_sock_addr *ctx)
{
	struct weir_end end = {};

	read_v6(&end, ctx);
	return send_to(&end, ctx, WEIR_HOOK_SENDMSG6, WEIR_OP_SEND);
}

/* Data in the first packet (tcp(7), MSG_FASTOPEN) connects without a call of connect. */
static __always_inline bool is_fastopen(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tcp;

	if (!sk || ctx->protocol == IPPROTO_UDP)
		return false;
	tcp = bpf_skc_to_tcp_sock(sk);
	return tcp && tcp->fastopen_req;
}

SEC("cgroup/connect4")
int weir_connect4(struct bpf_sock_addr *ctx)
{
	struct weir_end end = {};

	if (!is_fastopen(ctx))
		return 1;
	weir_end_set_v4(&end, ctx->user_ip4);
	return send_to(&end, ctx, WEIR_HOOK_CONNECT4, WEIR_OP_CONNECT);
}

SEC("cgroup/connect6")
int weir_connect6(struct bpf_sock_addr *ctx)
{
	struct weir_end end = {};

	if (!is_fastopen(ctx))
		return 1;
	read_v6(&end, ctx);
	return send_to(&end, ctx, WEIR_HOOK_CONNECT6, WEIR_OP_CONNECT);
}
