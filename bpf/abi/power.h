/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Powers: rights that no file has. Each is a bit of a run's mask and a word of a list in
 * the policy; what the policy doesn't list is denied.
 *
 *   memory: [members, outsiders]      reading, changing and tracing processes
 *   signals: [outsiders]              signals to processes that are no members
 *   scheduling: [outsiders]           their priority, processors, limits
 *   privileges: {allow: [setuid]}     users, groups, capabilities, keys
 *   namespaces: [user, mount]         new ones; join: entering one that there is
 *   mounts: [mount, bind]             by the old and the new API
 *   kernel: [module, settime]         the kernel's own state
 *
 * Bits are never given another meaning: traces hold them.
 */
#ifndef WEIR_ABI_POWER_H
#define WEIR_ABI_POWER_H

#include "bpf/abi/types.h"

/* clang-format off */
/* X(ID, bit, word, kind of finding when it is missing). One list for each key of the policy. */
#define WEIR_POWERS_MEMORY(X) \
	X(MEMORY_MEMBERS, 0, "members", MEMORY_ACCESS) \
	X(MEMORY_OUTSIDERS, 1, "outsiders", MEMORY_ACCESS)
#define WEIR_POWERS_SIGNALS(X) \
	X(SIGNAL_OUTSIDERS, 2, "outsiders", IPC)
#define WEIR_POWERS_SCHEDULING(X) \
	X(SCHEDULE_OUTSIDERS, 3, "outsiders", MEMORY_ACCESS)
#define WEIR_POWERS_PRIVILEGES(X) \
	X(SETUID, 4, "setuid", PRIVILEGE) \
	X(SETGID, 5, "setgid", PRIVILEGE) \
	X(SETGROUPS, 6, "setgroups", PRIVILEGE) \
	X(CAPSET, 7, "capset", PRIVILEGE) \
	X(SETID_EXEC, 8, "setid-exec", PRIVILEGE) \
	X(KEYRING, 9, "keyring", PRIVILEGE)
#define WEIR_POWERS_NAMESPACES(X) \
	X(NS_USER, 10, "user", NAMESPACE) \
	X(NS_MOUNT, 11, "mount", NAMESPACE) \
	X(NS_PID, 12, "pid", NAMESPACE) \
	X(NS_NET, 13, "net", NAMESPACE) \
	X(NS_UTS, 14, "uts", NAMESPACE) \
	X(NS_IPC, 15, "ipc", NAMESPACE) \
	X(NS_CGROUP, 16, "cgroup", NAMESPACE) \
	X(NS_TIME, 17, "time", NAMESPACE) \
	X(NS_JOIN, 18, "join", NAMESPACE)
#define WEIR_POWERS_MOUNTS(X) \
	X(MOUNT_NEW, 20, "mount", MOUNT) \
	X(MOUNT_BIND, 21, "bind", MOUNT) \
	X(MOUNT_MOVE, 22, "move", MOUNT) \
	X(MOUNT_REMOUNT, 23, "remount", MOUNT) \
	X(MOUNT_UMOUNT, 24, "umount", MOUNT) \
	X(MOUNT_PIVOT, 25, "pivot-root", MOUNT)
#define WEIR_POWERS_KERNEL(X) \
	X(MODULE, 28, "module", MODULE) \
	X(MODULE_REQUEST, 29, "module-request", ATTEMPT) \
	X(KEXEC, 30, "kexec", MODULE) \
	X(PERF, 31, "perf", KERNEL_TUNABLE) \
	X(SETTIME, 32, "settime", KERNEL_TUNABLE) \
	X(HOSTNAME, 33, "hostname", KERNEL_TUNABLE) \
	X(REBOOT, 34, "reboot", KERNEL_TUNABLE) \
	X(SWAP, 35, "swap", KERNEL_TUNABLE) \
	X(ACCOUNTING, 36, "accounting", KERNEL_TUNABLE) \
	X(QUOTA, 37, "quota", KERNEL_TUNABLE) \
	X(SYSLOG, 38, "syslog", KERNEL_TUNABLE) \
	X(FANOTIFY, 39, "fanotify", KERNEL_TUNABLE) \
	X(RAWIO, 40, "rawio", KERNEL_TUNABLE)

/* Of maps in the policy, where these words are keys. A rule there (egress, listen, unix) grants
 * what it names, and no bit. */
#define WEIR_POWERS_NETWORK(X) \
	X(EGRESS, 44, "egress", NETWORK) \
	X(LISTEN, 45, "listen", NETWORK) \
	X(LOOPBACK, 46, "loopback", NETWORK) \
	X(RAW, 47, "raw", NETWORK) \
	X(NETLINK, 48, "netlink", NETWORK)
#define WEIR_POWERS_IPC(X) \
	X(UNIX, 50, "unix", IPC) \
	X(SYSV, 51, "sysv", IPC) \
	X(SYSV_OUTSIDERS, 52, "sysv: any", IPC) \
	X(POSIX, 53, "posix", IPC) \
	X(TERMINAL, 54, "terminal", IPC) \
	X(RECEIVE, 55, "receive", IPC)

/* X(key of the policy, list) */
#define WEIR_POWER_KEYS(X) \
	X(memory, WEIR_POWERS_MEMORY) \
	X(signals, WEIR_POWERS_SIGNALS) \
	X(scheduling, WEIR_POWERS_SCHEDULING) \
	X(privileges, WEIR_POWERS_PRIVILEGES) \
	X(namespaces, WEIR_POWERS_NAMESPACES) \
	X(mounts, WEIR_POWERS_MOUNTS) \
	X(kernel, WEIR_POWERS_KERNEL)
#define WEIR_POWER_MAPS(X) \
	X(network, WEIR_POWERS_NETWORK) \
	X(ipc, WEIR_POWERS_IPC)
/* clang-format on */

#define WEIR_POWERS(X) \
	WEIR_POWERS_MEMORY(X) \
	WEIR_POWERS_SIGNALS(X) \
	WEIR_POWERS_SCHEDULING(X) \
	WEIR_POWERS_PRIVILEGES(X) \
	WEIR_POWERS_NAMESPACES(X) \
	WEIR_POWERS_MOUNTS(X) \
	WEIR_POWERS_KERNEL(X) \
	WEIR_POWERS_NETWORK(X) \
	WEIR_POWERS_IPC(X)

enum weir_power {
#define WEIR_X(id, bit, word, kind) WEIR_POWER_##id = (bit),
	WEIR_POWERS(WEIR_X)
#undef WEIR_X
};
#define WEIR_POWER_BIT(bit) (1ull << (bit))
#define WEIR_POWER(id) WEIR_POWER_BIT(WEIR_POWER_##id)

/* No policy grants it: collector, programs. */
#define WEIR_POWER_NEVER WEIR_POWER_BIT(63)

#define WEIR_POWER_OR(id, bit, word, kind) | WEIR_POWER_BIT(bit)
#define WEIR_POWERS_ALL (0ull WEIR_POWERS(WEIR_POWER_OR))

#define WEIR_POWER_PLUS(id, bit, word, kind) +WEIR_POWER_BIT(bit)
_Static_assert((0ull WEIR_POWERS(WEIR_POWER_PLUS)) == WEIR_POWERS_ALL, "ABI: powers share no bit");

#endif
