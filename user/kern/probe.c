/* SPDX-License-Identifier: MIT */
/* What this host can do, found by looking; nothing is loaded. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/kern/fmod.h"
#include "user/kern/kern.h"

#define BPF_FS_MAGIC_NUMBER 0xcafe4a11
#define CGROUP2_MAGIC_NUMBER 0x63677270

static void read_line(const char *path, char *out, size_t size)
{
	cleanup_fclose FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (!f || !fgets(out, (int)size, f))
		return;
	out[strcspn(out, "\n")] = '\0';
}

static bool is_mounted(const char *path, uint32_t magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (uint32_t)fs.f_type == magic;
}

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

/* "none voluntary (full)" -> "full" */
static void bracketed(const char *text, char *out, size_t size)
{
	const char *open = strpbrk(text, "([");
	size_t len;

	out[0] = '\0';
	if (!open)
		return;
	len = strcspn(open + 1, ")]");
	if (len >= size)
		len = size - 1;
	memcpy(out, open + 1, len);
	out[len] = '\0';
}

/* Something that a source needs, and what to do where it is not so. */
struct check {
	bool ok;
	const char *text;
};

/* Copies the first text whose check fails. Returns: whether all hold. */
static bool all_hold(const struct check *checks, size_t count, char *out, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (!checks[i].ok) {
			snprintf(out, size, "%s", checks[i].text);
			return false;
		}
	}
	return true;
}

/* What looks at system calls needs little: pointers that a program may follow by their type. */
static void find_blind(struct kern_probe *p)
{
	unsigned int major = 0, minor = 0;
	const struct check checks[] = {
		{ p->root, "weir needs root: run it with sudo" },
		{ p->btf, "no /sys/kernel/btf/vmlinux: boot a kernel with CONFIG_DEBUG_INFO_BTF" },
		{ !p->lockdown, "kernel lockdown is confidentiality: BPF may not read; boot with "
				"lockdown=integrity" },
		{ sscanf(p->release, "%u.%u", &major, &minor) == 2 &&
			  (major > 6 || (major == 6 && minor >= 2)),
		  "looking at system calls needs Linux 6.2 or later" },
	};

	p->observe = all_hold(checks, ARRAY_SIZE(checks), p->blind, sizeof(p->blind));
}

static void find_missing(struct kern_probe *p)
{
	const struct check checks[] = {
		{ p->root, "weir needs root: run it with sudo" },
		{ p->btf, "no /sys/kernel/btf/vmlinux: boot a kernel with CONFIG_DEBUG_INFO_BTF" },
		{ *p->lsm_list, "the list of active LSMs is not there: mount -t securityfs "
				"securityfs /sys/kernel/security" },
		{ p->lsm_bpf,
		  "bpf is not an active LSM: add it to lsm= on the kernel command line" },
		{ p->bpffs, "no BPF file system: mount -t bpf bpf /sys/fs/bpf" },
		{ p->cgroup2, "no cgroup2 at /sys/fs/cgroup: boot with "
			      "systemd.unified_cgroup_hierarchy=1 or mount it" },
		{ !p->lockdown, "kernel lockdown is confidentiality: BPF may not read; boot with "
				"lockdown=integrity" },
		{ p->ftrace_enabled, "kernel.ftrace_enabled is 0, which switches enforcement off: "
				     "sysctl kernel.ftrace_enabled=1" },
	};

	p->enforce = all_hold(checks, ARRAY_SIZE(checks), p->missing, sizeof(p->missing));
}

void kern_probe(struct kern_probe *ret_probe)
{
	struct kern_probe *p = ret_probe;
	struct utsname uts;
	char line[512];
	struct stat st;

	memset(p, 0, sizeof(*p));
	if (uname(&uts) == 0)
		snprintf(p->release, sizeof(p->release), "%s", uts.release);
	p->root = geteuid() == 0;
	p->btf = stat("/sys/kernel/btf/vmlinux", &st) == 0;
	read_line("/sys/kernel/security/lsm", p->lsm_list, sizeof(p->lsm_list));
	p->lsm_bpf = has_word(p->lsm_list, "bpf");
	p->bpffs = is_mounted("/sys/fs/bpf", BPF_FS_MAGIC_NUMBER);
	p->cgroup2 = is_mounted("/sys/fs/cgroup", CGROUP2_MAGIC_NUMBER);
	read_line("/sys/kernel/security/lockdown", line, sizeof(line));
	p->lockdown = strstr(line, "[confidentiality]") != NULL;
	read_line("/proc/sys/kernel/ftrace_enabled", line, sizeof(line));
	p->ftrace_enabled = strcmp(line, "0") != 0;
	read_line("/sys/kernel/debug/sched/preempt", line, sizeof(line));
	bracketed(line, p->preempt, sizeof(p->preempt));
	find_missing(p);
	find_blind(p);
	p->preemptible = strcmp(p->preempt, "none") != 0 && strcmp(p->preempt, "voluntary") != 0;
	if (p->enforce)
		p->source = KERN_SOURCE_LSM;
	else if (p->observe && !p->lsm_bpf && p->bpffs && p->cgroup2 && p->ftrace_enabled &&
		 fmod_loads())
		p->source = KERN_SOURCE_FMOD_RET;
	else if (p->observe)
		p->source = KERN_SOURCE_SYSCALL;
}
