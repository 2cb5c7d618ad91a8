/* SPDX-License-Identifier: MIT */
#include "user/kern/objects.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objects_digest.h"
#include "split.skel.h"
#include "sys.skel.h"
#include "weir.skel.h"

#include "user/base/cleanup.h"
#include "user/kern/types.h"

/* Functions of one program: its own, and those that it calls. */
#define FUNCTIONS_MAX 64

static const char step_prefix[] = "freplace/";

const char *objects_digest(void)
{
	return OBJECTS_DIGEST;
}

bool objects_is_step(const struct bpf_program *prog)
{
	return strncmp(bpf_program__section_name(prog), step_prefix, sizeof(step_prefix) - 1) == 0;
}

/* The name of the function that a step takes the place of. */
static const char *step_name(const struct bpf_program *step)
{
	return bpf_program__section_name(step) + sizeof(step_prefix) - 1;
}

/* Id of that function in the object's BTF, 0: there is none. */
static __u32 step_function(const struct bpf_object *programs, const struct bpf_program *step)
{
	int id = btf__find_by_name_kind(bpf_object__btf(programs), step_name(step), BTF_KIND_FUNC);

	return id > 0 ? (__u32)id : 0;
}

/* Does a loaded program call a function? */
static bool calls(const struct bpf_program *prog, __u32 function)
{
	struct bpf_func_info functions[FUNCTIONS_MAX] = { { 0 } };
	struct bpf_prog_info info = {
		.func_info = (uint64_t)(uintptr_t)functions,
		.func_info_rec_size = sizeof(functions[0]),
		.nr_func_info = FUNCTIONS_MAX,
	};
	__u32 len = sizeof(info);

	if (bpf_program__fd(prog) < 0 || objects_is_step(prog) ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) < 0)
		return false;
	for (__u32 i = 0; i < info.nr_func_info && i < FUNCTIONS_MAX; i++)
		if (functions[i].type_id == function)
			return true;
	return false;
}

/* What libbpf asks before it loads a program. */
struct loading {
	const struct objects_plan *plan;
	struct bpf_object *programs;
};

/* libbpf would look through all types of the kernel for each program. */
static int prepare_hook(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct loading *loading = (const struct loading *)cookie;

	opts->attach_btf_id = loading->plan->place(prog, loading->plan->arg);
	return opts->attach_btf_id ? 0 : -ENOENT;
}

/* A step is verified as a part of one program, which has been loaded before. */
static int prepare_step(struct bpf_program *step, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct loading *loading = (const struct loading *)cookie;
	struct bpf_program *prog;

	opts->attach_btf_id = step_function(loading->programs, step);
	bpf_object__for_each_program(prog, loading->programs)
	{
		if (!calls(prog, opts->attach_btf_id))
			continue;
		opts->attach_prog_fd = (__u32)bpf_program__fd(prog);
		return 0;
	}
	return -ENOENT;
}

static const struct handler {
	const char *section;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	libbpf_prog_prepare_load_fn_t prepare;
} handlers[] = {
	{ "lsm+", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, prepare_hook },
	{ "tp_btf+", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, prepare_hook },
	{ "fexit+", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, prepare_hook },
	{ "freplace+", BPF_PROG_TYPE_EXT, 0, prepare_step },
};

/* libbpf looks at its handlers no more once the programs are loaded. */
static int handlers_add(struct loading *loading, int *ids)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)loading,
			    .prog_prepare_load_fn = handlers[i].prepare);

		bool fmod = loading->plan->fmod && handlers[i].type == BPF_PROG_TYPE_LSM;

		ids[i] = libbpf_register_prog_handler(
			handlers[i].section, fmod ? BPF_PROG_TYPE_TRACING : handlers[i].type,
			fmod ? BPF_MODIFY_RETURN : handlers[i].attach, &opts);
		if (ids[i] < 0)
			err = ids[i];
	}
	return err;
}

static void handlers_remove(const int *ids)
{
	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++)
		if (ids[i] >= 0)
			libbpf_unregister_prog_handler(ids[i]);
}

/* Makes the map of variables, which begin as zeros. If libbpf makes it, it writes all the zeros. */
static int make_memory(const struct bpf_object *programs)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct bpf_map *map = bpf_object__find_map_by_name(programs, ".bss");
	cleanup_close int fd = -1;

	if (!map)
		return -ENOENT;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "weir.bss", sizeof(__u32), bpf_map__value_size(map),
			    1, &opts);
	if (fd < 0)
		return fd;
	/* it takes a descriptor of its own */
	return bpf_map__reuse_fd(map, fd);
}

/* The name is what libbpf calls the map of variables by. */
static int load(struct loading *loading, const void *bytes, size_t size, struct weir_err *e)
{
	cleanup_close int types = memfd_create("weir-types", MFD_CLOEXEC);
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "weir", .btf_custom_path = path);
	struct bpf_object *programs;
	int err;

	if (types < 0)
		return err_errno(e, -errno, "types for the programs");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	programs = bpf_object__open_mem(bytes, size, &opts);
	if (!programs)
		return err_errno(e, -errno, "opening the programs");
	loading->programs = programs;
	loading->plan->choose(programs, loading->plan->arg);
	err = types_pick(loading->plan->kernel, programs, types, e);
	if (err == 0) {
		err = make_memory(programs);
		if (err == 0)
			err = bpf_object__load(programs);
		if (err < 0)
			err_errno(e, err,
				  "the kernel refused the programs (WEIR_DEBUG=1 shows its log)");
	}
	if (err < 0)
		bpf_object__close(programs);
	return err;
}

int objects_load(const struct objects_plan *plan, struct bpf_object **ret_programs,
		 struct weir_err *e)
{
	struct loading loading = { .plan = plan };
	struct weir_err split = { 0 };
	int ids[ARRAY_SIZE(handlers)], err = handlers_add(&loading, ids);
	const void *bytes;
	size_t size;

	if (err == 0 && plan->can_split) {
		bytes = split_bpf__elf_bytes(&size);
		err = load(&loading, bytes, size, &split);
	}
	if (err < 0 || !plan->can_split) {
		bytes = weir_bpf__elf_bytes(&size);
		err = load(&loading, bytes, size, e);
	}
	handlers_remove(ids);
	if (err == 0)
		*ret_programs = loading.programs;
	return err;
}

int objects_load_syscalls(const struct objects_plan *plan, struct bpf_object **ret_programs,
			  struct weir_err *e)
{
	struct loading loading = { .plan = plan };
	const void *bytes;
	size_t size;
	int err;

	bytes = sys_bpf__elf_bytes(&size);
	err = load(&loading, bytes, size, e);
	if (err == 0)
		*ret_programs = loading.programs;
	return err;
}

static int join(const struct bpf_program *step, const struct bpf_program *prog, __u32 function,
		const char *dir, struct weir_err *e)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .target_btf_id = function);
	cleanup_close int link =
		bpf_link_create(bpf_program__fd(step), bpf_program__fd(prog), 0, &opts);
	char path[300];

	if (link < 0)
		return err_errno(e, -errno, "putting %s into %s", step_name(step),
				 bpf_program__name(prog));
	snprintf(path, sizeof(path), "%s/%s-%s", dir, bpf_program__name(prog), step_name(step));
	return bpf_obj_pin(link, path) < 0 ? err_errno(e, -errno, "pinning %s", path) : 0;
}

int objects_join(const struct bpf_object *programs, const char *dir, unsigned int *ret_count,
		 struct weir_err *e)
{
	struct bpf_program *step, *prog;

	*ret_count = 0;
	bpf_object__for_each_program(step, programs)
	{
		__u32 function = objects_is_step(step) ? step_function(programs, step) : 0;

		bpf_object__for_each_program(prog, programs)
		{
			int err;

			if (!function || !calls(prog, function))
				continue;
			err = join(step, prog, function, dir, e);
			if (err < 0)
				return err;
			(*ret_count)++;
		}
	}
	return 0;
}
