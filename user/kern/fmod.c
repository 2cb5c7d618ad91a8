/* SPDX-License-Identifier: MIT */
#include "user/kern/fmod.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"

const char *fmod_name(unsigned int hook, enum kern_source source)
{
	static const struct {
		enum weir_hook hook;
		const char *name;
	} others[] = {
		{ WEIR_HOOK_BPRM_CHECK, "bprm_check" },
		{ WEIR_HOOK_INODE_FREE, "inode_free" },
		{ WEIR_HOOK_SHM_ALLOC, "shm_alloc" },
		{ WEIR_HOOK_MSG_QUEUE_ALLOC, "msg_queue_alloc" },
		{ WEIR_HOOK_SEM_ALLOC, "sem_alloc" },
		{ WEIR_HOOK_USERNS_CREATE, "create_user_ns" },
	};

	for (size_t i = 0; source == KERN_SOURCE_FMOD_RET && i < ARRAY_SIZE(others); i++)
		if (others[i].hook == hook)
			return others[i].name;
	return names_hook(hook);
}

/* Of the program behind a pinned link. */
static int misses_of(const char *path, uint64_t *ret_misses)
{
	struct bpf_link_info link = { 0 };
	struct bpf_prog_info info = { 0 };
	__u32 link_size = sizeof(link), size = sizeof(info);
	cleanup_close int fd = bpf_obj_get(path);
	cleanup_close int prog = -1;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &link, &link_size) < 0)
		return -errno;
	prog = bpf_prog_get_fd_by_id(link.prog_id);
	if (prog < 0 || bpf_obj_get_info_by_fd(prog, &info, &size) < 0)
		return -errno;
	*ret_misses = info.recursion_misses;
	return 0;
}

int fmod_misses(const struct kern *k, uint64_t *ret_misses, struct weir_err *e)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		uint64_t misses = 0;
		char path[256];
		int err;

		if (k->hooks[i].source != KERN_SOURCE_FMOD_RET)
			continue;
		snprintf(path, sizeof(path), "%s/links/%s", k->pins, names_hook(i));
		err = misses_of(path, &misses);
		if (err < 0)
			return err_errno(e, err, "%s", path);
		all += misses;
	}
	*ret_misses = all;
	return 0;
}

bool fmod_loads(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_MODIFY_RETURN);
	int id = libbpf_find_vmlinux_btf_id(FMOD_PREFIX "file_open", BPF_MODIFY_RETURN), fd, link;

	if (id < 0)
		return false;
	opts.attach_btf_id = (__u32)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "weir_try", "GPL", nothing, ARRAY_SIZE(nothing),
			   &opts);
	if (fd < 0)
		return false;
	link = bpf_link_create(fd, 0, BPF_MODIFY_RETURN, NULL);
	close(fd);
	if (link < 0)
		return false;
	close(link);
	return true;
}
