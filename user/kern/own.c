/* SPDX-License-Identifier: MIT */
#include "user/kern/own.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi/syscalls.h"
#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "user/kern/dcache.h"
#include "user/kern/objects.h"
#include "user/kern/syscalls.h"
#include "user/kern/types.h"

#define LINKS_MAX 8

struct kern_own {
	struct bpf_link *links[LINKS_MAX];
	int programs[LINKS_MAX]; /* descriptors of what is attached */
	const char *names[LINKS_MAX];
	size_t count;
	int handlers_fd; /* the kernel empties a table of programs that nobody holds open */
};

/* Programs that are attached, and the hooks that they see; the rest are handlers. */
static const struct own_program {
	const char *name;
	int hooks[3]; /* enum weir_hook; -1: no more */
	enum kern_source source;
} programs[] = {
	{ "weir_sys_exit", { -1 }, KERN_SOURCE_SYSCALL },
	{ "weir_sys_newtask",
	  { WEIR_HOOK_TASK_ALLOC, WEIR_HOOK_TASK_NEWTASK, -1 },
	  KERN_SOURCE_TRACING },
	{ "weir_sys_free", { WEIR_HOOK_TASK_FREE, -1 }, KERN_SOURCE_TRACING },
	{ "weir_sys_exec",
	  { WEIR_HOOK_PROCESS_EXEC, WEIR_HOOK_BPRM_CHECK, -1 },
	  KERN_SOURCE_TRACING },
	{ "weir_sys_signal", { WEIR_HOOK_TASK_KILL, -1 }, KERN_SOURCE_TRACING },
	{ "weir_process_exit", { WEIR_HOOK_PROCESS_EXIT, -1 }, KERN_SOURCE_TRACING },
};

static bool is_left_out(const struct own_program *p, const char *without)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->hooks) && p->hooks[i] >= 0; i++)
		if (names_hook_in((unsigned int)p->hooks[i], without))
			return true;
	return false;
}

static const struct own_program *find_program(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}

/* Handlers, and the programs that the collector calls itself. */
static bool is_called(const char *name)
{
	for (unsigned int i = 1; i < WEIR_HANDLER_COUNT; i++)
		if (strcmp(syscalls_program(i), name) == 0)
			return true;
	return strcmp(name, "weir_bind") == 0 || strcmp(name, "weir_adopt") == 0 ||
	       strcmp(name, "weir_sys_sample") == 0;
}

static void choose(struct bpf_object *obj, void *arg)
{
	const char *without = arg;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		const char *name = bpf_program__name(prog);
		const struct own_program *own = find_program(name);

		bpf_program__set_autoload(prog, own ? !is_left_out(own, without) : is_called(name));
	}
}

static int put_handlers(struct kern *k, struct bpf_object *obj, struct weir_err *e)
{
	int fd = fcntl(bpf_object__find_map_fd_by_name(obj, "weir_handlers"), F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return err_errno(e, -errno, "holding the handlers");
	k->own->handlers_fd = fd;
	for (__u32 i = 1; i < WEIR_HANDLER_COUNT; i++) {
		const struct bpf_program *prog =
			bpf_object__find_program_by_name(obj, syscalls_program(i));
		int handler = prog ? bpf_program__fd(prog) : -ENOENT;

		if (handler < 0 || bpf_map_update_elem(fd, &i, &handler, BPF_ANY) < 0)
			return err_errno(e, handler < 0 ? handler : -errno, "setting %s",
					 syscalls_program(i));
	}
	return 0;
}

static int attach(struct kern *k, struct bpf_object *obj, const char *without, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct own_program *p = &programs[i];
		const struct bpf_program *prog = bpf_object__find_program_by_name(obj, p->name);
		struct bpf_link *link;

		if (is_left_out(p, without))
			continue;
		link = prog ? bpf_program__attach(prog) : NULL;
		if (!link)
			return err_errno(e, prog ? -errno : -ENOENT, "attaching %s", p->name);
		k->own->links[k->own->count] = link;
		k->own->names[k->own->count] = p->name;
		k->own->programs[k->own->count++] =
			fcntl(bpf_program__fd(prog), F_DUPFD_CLOEXEC, 3);
		for (size_t h = 0; h < ARRAY_SIZE(p->hooks) && p->hooks[h] >= 0; h++)
			k->hooks[p->hooks[h]].source = p->source;
	}
	return 0;
}

/* setxattr(2) and removexattr(2) are the calls for ACLs too. */
static bool is_seen_by_another(unsigned int hook)
{
	return hook == WEIR_HOOK_INODE_SET_ACL || hook == WEIR_HOOK_INODE_REMOVE_ACL;
}

static void fill_coverage(struct kern *k, const char *without)
{
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		if (names_hook_in(i, without))
			k->hooks[i].source = KERN_SOURCE_MISSING;
		else if (syscalls_see(i))
			k->hooks[i].source = KERN_SOURCE_SYSCALL;
		else if (k->hooks[i].source == KERN_SOURCE_MISSING)
			k->hooks[i].source =
				is_seen_by_another(i) ? KERN_SOURCE_ABSENT : KERN_SOURCE_UNSEEN;
	}
}

int own_load(struct kern *k, const char *without, struct bpf_object **ret_programs,
	     struct weir_err *e)
{
	cleanup_with(types_close) struct btf *kernel = NULL;
	struct objects_plan plan = { .choose = choose, .arg = (void *)without };
	struct bpf_object *obj;
	int err;

	k->own = calloc(1, sizeof(*k->own));
	if (!k->own)
		return err_errno(e, -ENOMEM, "kernel side");
	k->own->handlers_fd = -1;
	err = types_open(&kernel, e);
	if (err < 0)
		return err;
	plan.kernel = kernel;
	err = objects_load_syscalls(&plan, &obj, e);
	if (err < 0)
		return err;
	err = syscalls_fill(bpf_object__find_map_fd_by_name(obj, "weir_calls"), without, e);
	if (err == 0)
		err = dcache_find(obj, e);
	if (err == 0)
		err = put_handlers(k, obj, e);
	if (err == 0)
		err = attach(k, obj, without, e);
	if (err < 0) {
		bpf_object__close(obj);
		return err;
	}
	fill_coverage(k, without);
	*ret_programs = obj;
	return 0;
}

int own_check(const struct kern_own *own, struct weir_err *e)
{
	for (size_t i = 0; i < own->count; i++) {
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);

		if (bpf_obj_get_info_by_fd(own->programs[i], &info, &size) < 0)
			return err_errno(e, -errno, "%s", own->names[i]);
		if (info.recursion_misses)
			return err_set(e, -EIO, "%s was skipped %llu times", own->names[i],
				       (unsigned long long)info.recursion_misses);
	}
	return 0;
}

void own_free(struct kern_own *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->count; i++) {
		bpf_link__destroy(own->links[i]);
		if (own->programs[i] >= 0)
			close(own->programs[i]);
	}
	if (own->handlers_fd >= 0)
		close(own->handlers_fd);
	free(own);
}
