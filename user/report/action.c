/* SPDX-License-Identifier: MIT */
/* What was done to an object, in words. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "user/report/text.h"

/* What the phrase is followed by. */
enum object_word {
	OBJECT_NONE, /* the phrase says it */
	OBJECT_TYPE, /* "file", "directory" ... */
	OBJECT_SIZE, /* and how large it was */
};

static const struct {
	const char *phrase;
	enum object_word object;
} actions[WEIR_OP_COUNT] = {
	[WEIR_OP_NONE] = { "", OBJECT_NONE },
	[WEIR_OP_READ] = { "read", OBJECT_TYPE },
	[WEIR_OP_WRITE] = { "write to", OBJECT_TYPE },
	[WEIR_OP_CREATE] = { "create file", OBJECT_NONE },
	[WEIR_OP_TMPFILE] = { "create unnamed file in", OBJECT_NONE },
	[WEIR_OP_MKDIR] = { "create directory", OBJECT_NONE },
	[WEIR_OP_MKNOD] = { "create special file", OBJECT_NONE },
	[WEIR_OP_SYMLINK] = { "create symbolic link", OBJECT_NONE },
	[WEIR_OP_LINK] = { "make another name for", OBJECT_TYPE },
	[WEIR_OP_RENAME] = { "rename", OBJECT_SIZE },
	[WEIR_OP_EXCHANGE] = { "swap", OBJECT_SIZE },
	[WEIR_OP_UNLINK] = { "remove", OBJECT_SIZE },
	[WEIR_OP_RMDIR] = { "remove directory", OBJECT_NONE },
	[WEIR_OP_TRUNCATE] = { "truncate", OBJECT_SIZE },
	[WEIR_OP_CHMOD] = { "change the mode of", OBJECT_TYPE },
	[WEIR_OP_CHOWN] = { "change the owner of", OBJECT_TYPE },
	[WEIR_OP_UTIMES] = { "change the times of", OBJECT_TYPE },
	[WEIR_OP_SETXATTR] = { "set an extended attribute of", OBJECT_TYPE },
	[WEIR_OP_REMOVEXATTR] = { "remove an extended attribute of", OBJECT_TYPE },
	[WEIR_OP_SETACL] = { "change the ACL of", OBJECT_TYPE },
	[WEIR_OP_IOCTL] = { "control by ioctl", OBJECT_TYPE },
	[WEIR_OP_MMAP] = { "map for writing", OBJECT_TYPE },
	[WEIR_OP_RECEIVE] = { "receive a descriptor of", OBJECT_TYPE },
	[WEIR_OP_EXEC] = { "run", OBJECT_NONE },
	[WEIR_OP_BPF] = { "use bpf()", OBJECT_NONE },
	[WEIR_OP_SIGNAL] = { "send a signal", OBJECT_NONE },
	[WEIR_OP_PTRACE] = { "trace a process", OBJECT_NONE },
	[WEIR_OP_PRLIMIT] = { "change a process's limits", OBJECT_NONE },
	[WEIR_OP_MOUNT] = { "mount", OBJECT_NONE },
	[WEIR_OP_UMOUNT] = { "unmount", OBJECT_NONE },
	[WEIR_OP_SYSCTL] = { "change a kernel setting", OBJECT_NONE },
	[WEIR_OP_SCHEDULE] = { "change a process's priority or processors", OBJECT_NONE },
	[WEIR_OP_SETUID] = { "become another user", OBJECT_NONE },
	[WEIR_OP_SETGID] = { "take another group", OBJECT_NONE },
	[WEIR_OP_SETGROUPS] = { "change its groups", OBJECT_NONE },
	[WEIR_OP_CAPSET] = { "gain capabilities", OBJECT_NONE },
	[WEIR_OP_KEYCTL] = { "use a keyring", OBJECT_NONE },
	[WEIR_OP_NAMESPACE] = { "make a namespace", OBJECT_NONE },
	[WEIR_OP_SETNS] = { "enter a namespace", OBJECT_NONE },
	[WEIR_OP_BIND_MOUNT] = { "mount in another place", OBJECT_TYPE },
	[WEIR_OP_MOVE_MOUNT] = { "move a mount", OBJECT_NONE },
	[WEIR_OP_REMOUNT] = { "change a mount", OBJECT_NONE },
	[WEIR_OP_PIVOT_ROOT] = { "change the root of its mounts", OBJECT_NONE },
	[WEIR_OP_MODULE] = { "load or remove a kernel module", OBJECT_NONE },
	[WEIR_OP_MODULE_REQUEST] = { "make the kernel look for a module", OBJECT_NONE },
	[WEIR_OP_KEXEC] = { "load another kernel", OBJECT_NONE },
	[WEIR_OP_PERF] = { "open a performance counter", OBJECT_NONE },
	[WEIR_OP_SETTIME] = { "set the clock", OBJECT_NONE },
	[WEIR_OP_HOSTNAME] = { "set the host's name", OBJECT_NONE },
	[WEIR_OP_REBOOT] = { "reboot", OBJECT_NONE },
	[WEIR_OP_SWAP] = { "change swap space", OBJECT_NONE },
	[WEIR_OP_ACCOUNTING] = { "change process accounting", OBJECT_NONE },
	[WEIR_OP_QUOTA] = { "change quotas", OBJECT_NONE },
	[WEIR_OP_SYSLOG] = { "use the kernel's log", OBJECT_NONE },
	[WEIR_OP_FANOTIFY] = { "watch a file system", OBJECT_NONE },
	[WEIR_OP_RAWIO] = { "use the hardware", OBJECT_NONE },
	[WEIR_OP_CONNECT] = { "connect to", OBJECT_TYPE },
	[WEIR_OP_BIND] = { "take the address", OBJECT_NONE },
	[WEIR_OP_LISTEN] = { "wait for connections at", OBJECT_NONE },
	[WEIR_OP_SOCKET] = { "make a socket", OBJECT_NONE },
	[WEIR_OP_SEND] = { "send to", OBJECT_TYPE },
	[WEIR_OP_IPC_CREATE] = { "make a System V object", OBJECT_NONE },
	[WEIR_OP_IPC_USE] = { "use a System V object", OBJECT_NONE },
	[WEIR_OP_IPC_SET] = { "change a System V object", OBJECT_NONE },
};

void text_add_action(struct page *p, const json_t *f, bool size)
{
	const json_t *object = json_object_get(f, "object");
	const char *type = text_of(object, "type"), *name = text_of(f, "op");
	int op = names_find_op(name);
	uint64_t flags = text_number(f, "aux");

	if (op < 0 || (!actions[op].phrase && op != WEIR_OP_NONE)) {
		text_add(p, name);
		return;
	}
	if (op == WEIR_OP_WRITE && flags & O_APPEND)
		buf_addf(p->b, "append to");
	else if (op == WEIR_OP_WRITE && flags & O_TRUNC)
		buf_addf(p->b, "overwrite");
	else
		buf_addf(p->b, "%s", actions[op].phrase);
	if (actions[op].object == OBJECT_NONE || !*type)
		return;
	buf_addf(p->b, " ");
	text_add(p, type);
	if (size && actions[op].object == OBJECT_SIZE && strcmp(type, "file") == 0) {
		buf_addf(p->b, " of ");
		text_add_count(p, text_number(object, "size"), "byte");
	}
}

const char *text_outcome(const json_t *f)
{
	static const char *const words[WEIR_OUTCOME_COUNT] = {
		[WEIR_OUTCOME_PASSED] = "let through",
		[WEIR_OUTCOME_DENIED] = "denied",
		[WEIR_OUTCOME_REFUSED] = "refused by the kernel",
	};
	int outcome = names_find_outcome(text_of(f, "outcome"));

	if (outcome < 0 || names_find_op(text_of(f, "op")) == WEIR_OP_NONE)
		return "";
	return words[outcome];
}

bool text_is_notice(const json_t *f)
{
	int severity = names_find_severity(text_of(f, "severity"));

	return strcmp(text_of(f, "class"), "run") == 0 && severity >= 0 &&
	       severity < SEVERITY_ERROR && !json_is_true(json_object_get(f, "overflow"));
}
