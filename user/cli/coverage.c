/* SPDX-License-Identifier: MIT */
#include "user/cli/coverage.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/names.h"
#include "user/event/verdict.h"

/* Bytes of mountinfo: 100,000 mounts of 200 bytes. */
#define MOUNTINFO_MAX ((size_t)20 << 20)

/* Families of operations. hooks: the family of WEIR_HOOKS that sees it, NULL: none does. */
static const struct family {
	const char *name;
	const char *hooks;
	const char *what;
} families[] = {
	{ "file", "file", "opening, truncating and receiving files" },
	{ "name", "name", "creating, linking, renaming and removing names" },
	{ "attr", "attr", "modes, owners, times, extended attributes, ACLs, ioctls" },
	{ "credential-read", "file", "reading credential stores" },
	{ "exec", "exec", "running programs, interpreters and loaders" },
	{ "task", "task", "who belongs to the run" },
	{ "guard", "guard", "signals, ptrace, limits and bpf() against the collector" },
	{ "memory-attach", "guard", "ptrace, /proc/PID/mem and process_vm_* against outsiders" },
	{ "memory", "process", "the memory, priority and limits of outsiders, by any call" },
	{ "signal", "process", "signals to outsiders, also by way of a file's owner" },
	{ "cred", "cred", "users, groups, capabilities, set-id programs, keyrings" },
	{ "ipc", "ipc",
	  "unix sockets with outsiders, System V and POSIX IPC, input into terminals" },
	{ "net", "network", "connections, listeners, sends, raw sockets, netlink" },
	{ "mount", "space", "mounting by the old and the new calls" },
	{ "namespace", "kernel", "new namespaces, and entering others" },
	{ "kernel", "kernel", "modules, kexec, perf, time, host name, reboot, swap, quota, log" },
	{ "io_uring", NULL, "setting up io_uring (its file operations are seen)" },
};

/*
 * full     judged by kernel object; a workspace can lie here and be sealed
 * layered  judged where the files of the layers really live
 * foreign  members are judged, but a server or another machine can change files unseen
 * kernel   no files but switches of the kernel; reading is the default, no more
 */
static const struct filesystem {
	const char *type;
	const char *support;
} filesystems[] = {
	{ "ext2", "full" },	    { "ext3", "full" },	       { "ext4", "full" },
	{ "xfs", "full" },	    { "btrfs", "full" },       { "f2fs", "full" },
	{ "tmpfs", "full" },	    { "ramfs", "full" },       { "rootfs", "full" },
	{ "vfat", "full" },	    { "exfat", "full" },       { "squashfs", "full" },
	{ "erofs", "full" },	    { "iso9660", "full" },     { "overlay", "layered" },
	{ "ecryptfs", "layered" },  { "nfs", "foreign" },      { "nfs4", "foreign" },
	{ "cifs", "foreign" },	    { "smb3", "foreign" },     { "9p", "foreign" },
	{ "ceph", "foreign" },	    { "virtiofs", "foreign" }, { "fuse", "foreign" },
	{ "fuseblk", "foreign" },   { "afs", "foreign" },      { "gfs2", "foreign" },
	{ "ocfs2", "foreign" },	    { "proc", "kernel" },      { "sysfs", "kernel" },
	{ "devtmpfs", "kernel" },   { "devpts", "kernel" },    { "cgroup", "kernel" },
	{ "cgroup2", "kernel" },    { "debugfs", "kernel" },   { "tracefs", "kernel" },
	{ "securityfs", "kernel" }, { "bpf", "kernel" },       { "pstore", "kernel" },
	{ "efivarfs", "kernel" },   { "configfs", "kernel" },  { "fusectl", "kernel" },
	{ "mqueue", "kernel" },	    { "hugetlbfs", "kernel" }, { "binfmt_misc", "kernel" },
	{ "autofs", "kernel" },	    { "selinuxfs", "kernel" }, { "nsfs", "kernel" },
	{ "rpc_pipefs", "kernel" }, { "nfsd", "kernel" },
};

static const char *const blind_spots[] = {
	"single writes to a file that was opened for writing: the opening is judged and recorded",
	"single stores into a shared writable mapping: the opening of the file is judged",
	"what a server does that members ask over a socket or a pipe (families ipc and net)",
	"reads outside of credential stores",
	"file systems that other machines or user-space servers change (support: foreign)",
	"a kernel that is itself compromised, and whoever is root outside of the run",
};

/* Of source syscall, beside these. */
static const char *const syscall_spots[] = {
	"what happens between a call and the look at its result: threads that exchange a path or a "
	"descriptor meanwhile (by design of this source)",
	"refused attempts: only calls that succeed are looked at, but for bpf()",
	"io_uring: a member that sets it up makes the run indeterminate",
	"calls of another ABI (32-bit): they make the run indeterminate",
	"changes of the workspace by others while the run goes on; it is not sealed while it is "
	"hashed",
	"what a rename wrote over; targets of symbolic links that only the file system knows",
	"interpreters of a script that is exchanged while it starts",
	"self-protection: members that have the power can end or change the collector (signals, "
	"ptrace and limits against it are reported, not refused)",
};

static bool is_attached(const struct kern *k, unsigned int hook)
{
	if (!k || k->hooks[hook].source == KERN_SOURCE_MISSING)
		return false;
	if (k->hooks[hook].source == KERN_SOURCE_UNSEEN)
		return !verdict_hook_seen(hook);
	return k->hooks[hook].source != KERN_SOURCE_ABSENT || verdict_hook_optional(hook);
}

json_t *coverage_hooks_json(const struct kern *k)
{
	json_t *hooks = json_object();

	for (unsigned int i = 0; hooks && i < WEIR_HOOK_COUNT; i++) {
		enum kern_source source =
			is_attached(k, i) ? k->hooks[i].source : KERN_SOURCE_MISSING;
		json_t *hook =
			json_pack("{s:s, s:s, s:b}", "source", kern_source_name(source), "family",
				  names_hook_family(i), "proven", k && k->hooks[i].proven);

		if (json_object_set_new(hooks, names_hook(i), hook) < 0) {
			json_decref(hooks);
			return NULL;
		}
	}
	return hooks;
}

static bool is_watched(const struct kern *k, const struct family *family)
{
	if (!family->hooks)
		return false;
	/* it sees some of that, but guards nothing */
	if (k && k->source == KERN_SOURCE_SYSCALL && strcmp(family->name, "guard") == 0)
		return false;
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++)
		if (strcmp(names_hook_family(i), family->hooks) == 0 && !is_attached(k, i))
			return false;
	return true;
}

json_t *coverage_families_json(const struct kern *k)
{
	json_t *list = json_object();

	for (size_t i = 0; list && i < ARRAY_SIZE(families); i++) {
		json_t *family = json_pack("{s:b, s:s}", "watched", is_watched(k, &families[i]),
					   "what", families[i].what);

		if (json_object_set_new(list, families[i].name, family) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* "fuse.sshfs" is a fuse. */
static const char *support_of(const char *type, size_t len)
{
	const char *dot = memchr(type, '.', len);

	if (dot)
		len = (size_t)(dot - type);
	for (size_t i = 0; i < ARRAY_SIZE(filesystems); i++)
		if (strlen(filesystems[i].type) == len &&
		    memcmp(filesystems[i].type, type, len) == 0)
			return filesystems[i].support;
	return "unknown";
}

static int count_filesystem(json_t *list, const char *type, size_t len)
{
	cleanup_buf struct buf name = { 0 };
	json_t *entry;

	if (buf_add_escaped(&name, type, len) < 0)
		return -1;
	entry = json_object_get(list, buf_str(&name));
	if (entry)
		return json_object_set_new(
			entry, "mounts",
			json_integer(json_integer_value(json_object_get(entry, "mounts")) + 1));
	return json_object_set_new(
		list, buf_str(&name),
		json_pack("{s:s, s:i}", "support", support_of(type, len), "mounts", 1));
}

json_t *coverage_filesystems_json(const char *text)
{
	json_t *list = json_object();

	for (const char *line = text; list && *line;) {
		const char *end = strchrnul(line, '\n');
		const char *type = memmem(line, (size_t)(end - line), " - ", 3);

		if (type) {
			size_t len = strcspn(type += 3, " \n");

			if (count_filesystem(list, type, len) < 0) {
				json_decref(list);
				return NULL;
			}
		}
		line = *end ? end + 1 : end;
	}
	return list;
}

static int add_texts(json_t *list, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(list, json_string(texts[i])) < 0)
			return -1;
	return 0;
}

static json_t *blind_spots_json(const struct kern *k)
{
	json_t *list = json_array();
	int err = add_texts(list, blind_spots, ARRAY_SIZE(blind_spots));

	if (err == 0 && k && k->source == KERN_SOURCE_SYSCALL)
		err = add_texts(list, syscall_spots, ARRAY_SIZE(syscall_spots));
	if (err == 0)
		return list;
	json_decref(list);
	return NULL;
}

json_t *coverage_json(const struct kern *k)
{
	cleanup_buf struct buf mounts = { 0 };
	struct kern_probe probe;
	struct utsname uts;

	kern_probe(&probe);
	if (uname(&uts) < 0)
		uts.machine[0] = '\0';
	/* a list that can't be read is empty: then no file system is known */
	if (fsio_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &mounts, NULL) < 0)
		buf_done(&mounts);
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "schema", "weir.coverage/1",
		"source", kern_source_name(k ? k->source : KERN_SOURCE_MISSING), "kernel",
		probe.release, "machine", uts.machine, "preempt",
		*probe.preempt ? probe.preempt : "unknown", "programs", k ? k->digest : "", "hooks",
		coverage_hooks_json(k), "families", coverage_families_json(k), "filesystems",
		coverage_filesystems_json(buf_str(&mounts)), "blind_spots", blind_spots_json(k));
}
