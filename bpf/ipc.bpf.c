/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other processes: unix sockets, System V objects. What members made is free among them; what
 * anybody else made is a finding unless the policy names it.
 */
#include "bpf/lib/reach.bpf.h"

/* Who waits at a socket: the process that called listen(2), as far as it is known. A socket with
 * a path has the name of that process's program as its label. */
static __always_inline void put_listener(struct weir_demand *d, struct sock *sock)
{
	struct weir_peer *peer = &d->peer;
	struct pid *pid = BPF_CORE_READ(sock, sk_peer_pid);
	struct task_struct *task;
	struct hlist_node *node;

	if (!pid)
		return;
	peer->tgid = BPF_CORE_READ(pid, numbers[0].nr);
	node = BPF_CORE_READ(pid, tasks[PIDTYPE_TGID].first);
	if (!node)
		return;
	task = (struct task_struct *)((__u64)node - bpf_core_field_offset(struct task_struct,
									  pid_links[PIDTYPE_TGID]));
	peer->uid = BPF_CORE_READ(task, real_cred, uid.val);
	peer->start_ns = BPF_CORE_READ(task, start_boottime);
	if (!d->name)
		d->name =
			(const char *)BPF_CORE_READ(task, mm, exe_file, f_path.dentry, d_name.name);
}

/* What a socket is bound to. */
struct bound {
	struct dentry *dentry; /* NULL: abstract, or nothing */
	const char *name;
	__u32 len; /* of the abstract name, without the NUL before it */
};

static __always_inline bool look_at_bound(struct bound *b, struct sock *sock)
{
	struct unix_sock *plain = bpf_skc_to_unix_sock(sock);
	struct unix_address *address;
	int len;

	if (!plain)
		return false;
	plain = WEIR_PLAIN(unix_sock, plain);
	b->dentry = plain->path.dentry;
	if (b->dentry)
		return true;
	address = plain->addr;
	if (!address)
		return true;
	len = BPF_CORE_READ(address, len) - (int)offsetof(struct sockaddr_un, sun_path) - 1;
	if (len <= 0)
		return true;
	b->name = (const char *)address + bpf_core_field_offset(struct unix_address, name) +
		  offsetof(struct sockaddr_un, sun_path) + 1;
	b->len = len;
	return true;
}

/* The policy's rule for this peer, NULL: none. */
static __always_inline struct weir_rule *rule_of(const struct bound *b, __u32 slot)
{
	struct weir_objkey key = { .slot = slot };
	struct inode *inode;

	if (b->dentry) {
		inode = b->dentry->d_inode;
		if (!inode)
			return 0;
		key.inode = (__u64)inode;
		key.ino = inode->i_ino;
		key.dev = b->dentry->d_sb->s_dev;
		key.gen = inode->i_generation;
	} else {
		struct weir_name name = { .bytes = (__u64)b->name, .len = b->len };

		if (!b->name)
			return 0;
		key.ino = weir_name_hash(&name);
	}
	return bpf_map_lookup_elem(&weir_peers, &key);
}

/* sock: of the peer; socket: what it is the end of. */
static __always_inline int talk_to(struct sock *sock, struct socket *socket, __u16 hook, __u16 op)
{
	struct weir_demand d = { .powers = WEIR_POWER(UNIX), .kind = WEIR_KIND_IPC };
	struct weir_task *member = weir_member();
	struct weir_rule *rule;
	struct weir_made made;
	struct bound bound = {};

	if (!member)
		return 0;
	if (socket) {
		weir_made_socket(&made, socket);
		if (weir_made_by(&made, member->slot))
			return weir_needless(hook);
	}
	d.hook = hook;
	d.op = op;
	if (look_at_bound(&bound, sock)) {
		rule = rule_of(&bound, member->slot);
		if (rule && (rule->flags & WEIR_PEER_IGNORED)) {
			d.kind = WEIR_KIND_ATTEMPT;
		} else if (rule) {
			d.powers = 0;
			d.rule = rule->id;
		}
		d.object = bound.dentry;
		d.name = bound.name;
		d.name_len = bound.len;
	}
	d.peer.family = AF_UNIX;
	d.peer.type = sock->sk_type;
	put_listener(&d, sock);
	return weir_demand(&d);
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(weir_unix_stream_connect, struct sock *sock, struct sock *other, struct sock *newsk)
{
	if (weir_state->host.runs == 0)
		return 0;
	WEIR_ANSWER(talk_to(other, WEIR_PLAIN(sock, other)->sk_socket,
			    WEIR_HOOK_UNIX_STREAM_CONNECT, WEIR_OP_CONNECT));
}

SEC("lsm/unix_may_send")
int BPF_PROG(weir_unix_may_send, struct socket *sock, struct socket *other)
{
	struct sock *peer;

	if (weir_state->host.runs == 0)
		return 0;
	/* not as plain: it is asked for as a unix socket, which needs the trust */
	peer = other->sk;
	if (!peer)
		return 0;
	WEIR_ANSWER(talk_to(peer, other, WEIR_HOOK_UNIX_MAY_SEND, WEIR_OP_SEND));
}

/* System V. A new object is noted for its maker; one that an outsider makes takes away what was
 * noted for an earlier one at the same address. */
static __always_inline int make_object(struct kern_ipc_perm *perm, __u16 hook, const char *what)
{
	struct weir_demand d = WEIR_DEMAND(SYSV, hook, WEIR_OP_IPC_CREATE);
	struct weir_made made = { .address = (__u64)perm, .number = WEIR_MADE_SYSV };
	struct weir_task *member;
	int deny;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	if (!member) {
		bpf_map_delete_elem(&weir_made, &made);
		return 0;
	}
	d.name = what;
	d.peer.number = (__u32)perm->key;
	deny = weir_demand(&d);
	if (!deny)
		weir_remember(&made, member->slot);
	return deny;
}

/* aux: permissions asked for, or the command. what: NULL where any of the three asks. */
static __always_inline int use_object(struct kern_ipc_perm *perm, __u16 hook, __u16 op, __u32 aux,
				      const char *what)
{
	struct weir_demand d = {
		.powers = WEIR_POWER(SYSV_OUTSIDERS),
		.kind = WEIR_KIND_IPC,
		.hook = hook,
		.op = op,
		.aux = aux,
		.name = what,
	};
	struct weir_made made = { .address = (__u64)perm, .number = WEIR_MADE_SYSV };
	struct weir_task *member;

	if (weir_state->host.runs == 0)
		return 0;
	member = weir_member();
	if (!member)
		return 0;
	if (weir_made_by(&made, member->slot))
		return weir_needless(hook);
	d.peer.number = (__u32)perm->key;
	return weir_demand(&d);
}

/* Associate, attach, send, receive, operate, look at: all ask here. */
SEC("lsm/ipc_permission")
int BPF_PROG(weir_ipc_permission, struct kern_ipc_perm *perm, short flag)
{
	WEIR_ANSWER(use_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_IPC_PERMISSION,
			       WEIR_OP_IPC_USE, (__u16)flag, 0));
}

SEC("lsm/shm_alloc_security")
int BPF_PROG(weir_shm_alloc, struct kern_ipc_perm *perm)
{
	WEIR_ANSWER(make_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_SHM_ALLOC, "shm"));
}

SEC("lsm/msg_queue_alloc_security")
int BPF_PROG(weir_msg_queue_alloc, struct kern_ipc_perm *perm)
{
	WEIR_ANSWER(make_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_MSG_QUEUE_ALLOC, "msg"));
}

SEC("lsm/sem_alloc_security")
int BPF_PROG(weir_sem_alloc, struct kern_ipc_perm *perm)
{
	WEIR_ANSWER(make_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_SEM_ALLOC, "sem"));
}

#define IPC_RMID 0
#define IPC_SET 1
#define SHM_LOCK 11
#define SHM_UNLOCK 12

/* Who owns an object may remove and change it without ipc_permission. Other commands have no
 * object, or ask there. */
static __always_inline bool needs_owner(int cmd)
{
	return cmd == IPC_RMID || cmd == IPC_SET || cmd == SHM_LOCK || cmd == SHM_UNLOCK;
}

SEC("lsm/shm_shmctl")
int BPF_PROG(weir_shmctl, struct kern_ipc_perm *perm, int cmd)
{
	if (!needs_owner(cmd))
		return 0;
	WEIR_ANSWER(use_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_SHMCTL, WEIR_OP_IPC_SET,
			       cmd, "shm"));
}

SEC("lsm/msg_queue_msgctl")
int BPF_PROG(weir_msgctl, struct kern_ipc_perm *perm, int cmd)
{
	if (!needs_owner(cmd))
		return 0;
	WEIR_ANSWER(use_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_MSGCTL, WEIR_OP_IPC_SET,
			       cmd, "msg"));
}

SEC("lsm/sem_semctl")
int BPF_PROG(weir_semctl, struct kern_ipc_perm *perm, int cmd)
{
	if (!needs_owner(cmd))
		return 0;
	WEIR_ANSWER(use_object(WEIR_PLAIN(kern_ipc_perm, perm), WEIR_HOOK_SEMCTL, WEIR_OP_IPC_SET,
			       cmd, "sem"));
}

/* POSIX queues have no path_* hooks. For other file systems these answer at once: their names were
 * judged before. */
static __always_inline bool is_queue_dir(struct inode *dir)
{
	return WEIR_PLAIN(inode, dir)->i_sb->s_magic == MQUEUE_MAGIC;
}

static __always_inline int create_queue(struct dentry *dentry, __u32 mode)
{
	struct weir_made made = { .address = (__u64)dentry, .number = WEIR_MADE_QUEUE };
	struct weir_task *member;

	if (weir_one(WEIR_HOOK_INODE_CREATE, WEIR_OP_CREATE, dentry, WEIR_RIGHT_CREATE, mode))
		return 1;
	member = weir_state->host.runs ? weir_member() : 0;
	if (member)
		weir_remember(&made, member->slot);
	return 0;
}

SEC("lsm/inode_create")
int BPF_PROG(weir_inode_create, struct inode *dir, struct dentry *dentry, umode_t mode)
{
	if (!is_queue_dir(dir))
		return 0;
	WEIR_ANSWER(create_queue(WEIR_PLAIN(dentry, dentry), mode));
}

SEC("lsm/inode_unlink")
int BPF_PROG(weir_inode_unlink, struct inode *dir, struct dentry *dentry)
{
	if (!is_queue_dir(dir))
		return 0;
	WEIR_ANSWER(weir_one(WEIR_HOOK_INODE_UNLINK, WEIR_OP_UNLINK, WEIR_PLAIN(dentry, dentry),
			     WEIR_RIGHT_DELETE, 0));
}
