/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types of the kernel that programs take numbers and arguments for (WEIR_PLAIN). User space puts
 * their ids in the running kernel's BTF into the programs' constants before it loads them.
 */
#ifndef WEIR_ABI_CASTS_H
#define WEIR_ABI_CASTS_H

/* clang-format off */
#define WEIR_CASTS(X) \
	X(cred) X(dentry) X(file) X(iattr) X(inode) X(kern_ipc_perm) X(linux_binprm) X(path) \
	X(sk_buff) X(sock) X(socket) X(super_block) X(task_struct) X(unix_sock) X(vfsmount)
/* clang-format on */

enum weir_cast {
#define WEIR_CAST_ID(name) WEIR_CAST_##name,
	WEIR_CASTS(WEIR_CAST_ID)
#undef WEIR_CAST_ID
	WEIR_CAST_COUNT
};

#endif
