/* SPDX-License-Identifier: MIT */
/* Loading, attaching and pinning the programs; taking the pins of an earlier run. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/names.h"
#include "user/event/verdict.h"
#include "user/kern/control.h"
#include "user/kern/fmod.h"
#include "user/kern/kern.h"
#include "user/kern/objects.h"
#include "user/kern/own.h"
#include "user/kern/pins.h"
#include "user/kern/types.h"

#define BPF_FS_MAGIC_NUMBER 0xcafe4a11

const char *kern_source_name(enum kern_source source)
{
	static const char *const names[] = { "none",	 "unseen",  "absent",  "lsm",
					     "fmod_ret", "syscall", "tracing", "cgroup" };

	return names[source];
}

enum kern_source kern_source_find(const char *name)
{
	static const enum kern_source all[] = { KERN_SOURCE_LSM, KERN_SOURCE_FMOD_RET,
						KERN_SOURCE_SYSCALL };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(kern_source_name(all[i]), name) == 0)
			return all[i];
	return KERN_SOURCE_MISSING;
}

/* Attached to the root of all control groups. */
static bool is_of_cgroup(const struct bpf_program *prog)
{
	return strncmp(bpf_program__section_name(prog), "cgroup/", 7) == 0;
}

static int hook_of_program(const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);
	const char *slash = strchr(section, '/'), *name = slash ? slash + 1 : NULL;
	char in_cgroup[64];

	if (!name)
		return -ENOENT;
	if (is_of_cgroup(prog)) {
		snprintf(in_cgroup, sizeof(in_cgroup), "cgroup_%s", name);
		name = in_cgroup;
	}
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++)
		if (strcmp(names_hook(i), name) == 0)
			return (int)i;
	return -ENOENT;
}

/* What there is in the running kernel, in one pass through its types: libbpf makes one for each
 * name. */
struct kernel_has {
	struct {
		__u32 id;	   /* of the LSM hook's function, or of the tracepoint; 0: none */
		unsigned int args; /* of the function */
		bool silent;	   /* it answers nothing */
	} hooks[WEIR_HOOK_COUNT];
	bool cast;
};

/* At the end of a function of the kernel's, by its name. */
static const enum weir_hook of_functions[] = { WEIR_HOOK_SECURITY_CAPABLE, WEIR_HOOK_INODE_CAPABLE,
					       WEIR_HOOK_PTRACE_REFUSED };

static bool is_of_function(unsigned int hook)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_functions); i++)
		if (of_functions[i] == hook)
			return true;
	return false;
}

/* What objects_load asks back for. */
struct choice {
	struct kern *kern;
	const struct kernel_has *has;
	const char *without;
};

static void look_at_type(const struct btf *btf, __u32 id, enum kern_source source,
			 struct kernel_has *has)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const char *hooks = source == KERN_SOURCE_FMOD_RET ? FMOD_PREFIX : "bpf_lsm_";
	const char *name, *prefix = btf_is_func(t) ? hooks : "btf_trace_";

	if (!btf_is_func(t) && !btf_is_typedef(t))
		return;
	name = btf__name_by_offset(btf, t->name_off);
	for (size_t i = 0; btf_is_func(t) && i < ARRAY_SIZE(of_functions); i++) {
		const char *function = names_hook(of_functions[i]);

		if (name[0] == function[0] && strcmp(name, function) == 0)
			has->hooks[of_functions[i]].id = id;
	}
	if (name[0] != 'b' && name[0] != hooks[0])
		return;
	if (btf_is_func(t) && strcmp(name, "bpf_rdonly_cast") == 0)
		has->cast = true;
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return;
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		const struct btf_type *proto =
			btf_is_func(t) ? btf__type_by_id(btf, t->type) : NULL;

		if (is_of_function(i) || strcmp(fmod_name(i, source), name + strlen(prefix)) != 0)
			continue;
		has->hooks[i].id = id;
		if (proto) {
			has->hooks[i].args = btf_vlen(proto);
			has->hooks[i].silent = proto->type == 0;
		}
	}
}

static uint32_t place_of_program(const struct bpf_program *prog, void *arg)
{
	const struct choice *c = arg;
	int hook = hook_of_program(prog);

	return hook < 0 ? 0 : c->has->hooks[hook].id;
}

/* A program named weir_X_N wants a hook with N arguments. */
static bool program_fits(const struct bpf_program *prog, unsigned int args)
{
	const char *name = bpf_program__name(prog);
	const char *digit = name + strlen(name) - 1;

	if (args && digit[-1] == '_' && *digit >= '0' && *digit <= '9')
		return args == (unsigned int)(*digit - '0');
	return args != 0;
}

__attribute__((format(printf, 2, 0))) static int quiet_print(enum libbpf_print_level level,
							     const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && getenv("WEIR_DEBUG"))
		return vfprintf(stderr, fmt, args);
	return 0;
}

static void choose_programs(struct bpf_object *programs, void *arg)
{
	const struct choice *c = arg;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, programs)
	{
		int hook = hook_of_program(prog);
		bool is_lsm = strncmp(bpf_program__section_name(prog), "lsm/", 4) == 0;
		bool fits = true;

		if (hook >= 0 && is_lsm) {
			fits = program_fits(prog, c->has->hooks[hook].args);
			if (!c->has->hooks[hook].args && verdict_hook_optional((unsigned int)hook))
				c->kern->hooks[hook].source = KERN_SOURCE_ABSENT;
		}
		if (hook >= 0 && is_of_function((unsigned int)hook) && !c->has->hooks[hook].id) {
			fits = false;
			if (verdict_hook_optional((unsigned int)hook))
				c->kern->hooks[hook].source = KERN_SOURCE_ABSENT;
		}
		if (hook >= 0 && names_hook_in((unsigned int)hook, c->without))
			fits = false;
		bpf_program__set_autoload(prog, fits);
		/* nothing to change where nothing is returned */
		if (fits && is_lsm && c->kern->source == KERN_SOURCE_FMOD_RET &&
		    c->has->hooks[hook].silent)
			bpf_program__set_expected_attach_type(prog, BPF_TRACE_FENTRY);
	}
}

static int pin_link(struct kern *k, struct bpf_link *link, const char *hook, struct weir_err *e)
{
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/links/%s", k->pins, hook);
	err = bpf_link__pin(link, path);
	bpf_link__destroy(link);
	return err < 0 ? err_errno(e, err, "pinning %s", path) : 0;
}

static int attach_all(struct bpf_object *programs, struct kern *k, struct weir_err *e)
{
	cleanup_close int cgroup = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, programs)
	{
		int hook = hook_of_program(prog), err;
		struct bpf_link *link;

		if (hook < 0 || !bpf_program__autoload(prog))
			continue;
		/* the same for a tracepoint */
		link = is_of_cgroup(prog) ? bpf_program__attach_cgroup(prog, cgroup)
					  : bpf_program__attach_lsm(prog);
		if (!link)
			return err_errno(e, -errno, "attaching to %s",
					 names_hook((unsigned int)hook));
		err = pin_link(k, link, names_hook((unsigned int)hook), e);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Pins of maps and of the programs that the collector runs itself. */
static int pin_program(struct bpf_object *programs, struct kern *k, const char *name,
		       const char *pin, struct weir_err *e)
{
	char path[256];
	int err;

	snprintf(path, sizeof(path), "%s/%s", k->pins, pin);
	err = bpf_program__pin(bpf_object__find_program_by_name(programs, name), path);
	return err < 0 ? err_errno(e, err, "pinning %s", path) : 0;
}

static int pin_objects(struct bpf_object *programs, struct kern *k, struct weir_err *e)
{
	struct bpf_map *map;
	char path[256];
	int err;

	bpf_object__for_each_map(map, programs)
	{
		if (bpf_map__is_internal(map))
			continue;
		snprintf(path, sizeof(path), "%s/maps/%s", k->pins, bpf_map__name(map));
		err = bpf_map__pin(map, path);
		if (err < 0)
			return err_errno(e, err, "pinning %s", path);
	}
	snprintf(path, sizeof(path), "%s/" KERN_PIN_STATE, k->pins);
	err = bpf_map__pin(bpf_object__find_map_by_name(programs, ".bss"), path);
	if (err < 0)
		return err_errno(e, err, "pinning %s", path);
	err = pin_program(programs, k, "weir_bind", "bind", e);
	return err < 0 ? err : pin_program(programs, k, "weir_adopt", "adopt", e);
}

static int make_pins_dir(const struct kern *k, const char *name, struct weir_err *e)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", k->pins, name);
	return fsio_mkdir_p(path, 0700, e);
}

/* The programs are whole before the first is attached. */
static int attach_objects(struct bpf_object *programs, struct kern *k, struct weir_err *e)
{
	char path[256];
	int err = make_pins_dir(k, "links", e);

	if (err == 0)
		err = make_pins_dir(k, "maps", e);
	if (err == 0)
		err = make_pins_dir(k, "steps", e);
	if (err == 0)
		err = pin_objects(programs, k, e);
	snprintf(path, sizeof(path), "%s/steps", k->pins);
	if (err == 0)
		err = objects_join(programs, path, &k->steps, e);
	return err < 0 ? err : attach_all(programs, k, e);
}

static int load_new(struct kern *k, const char *without, struct weir_err *e)
{
	cleanup_with(types_close) struct btf *btf = NULL;
	struct kernel_has has = { 0 };
	struct choice choice = { k, &has, without };
	struct objects_plan plan = { .choose = choose_programs,
				     .place = place_of_program,
				     .arg = &choice };
	struct bpf_object *programs;
	int err = types_open(&btf, e);

	if (err < 0)
		return err;
	for (__u32 id = 1; id < btf__type_cnt(btf); id++)
		look_at_type(btf, id, k->source, &has);
	plan.kernel = btf;
	plan.fmod = k->source == KERN_SOURCE_FMOD_RET;
	plan.can_split = has.cast && !plan.fmod;
	err = objects_load(&plan, &programs, e);
	if (err < 0)
		return err;
	err = attach_objects(programs, k, e);
	k->loaded_now = true;
	bpf_object__close(programs);
	return err;
}

static int mount_bpffs(struct weir_err *e)
{
	struct statfs fs;

	if (statfs("/sys/fs/bpf", &fs) == 0 && (uint32_t)fs.f_type == BPF_FS_MAGIC_NUMBER)
		return 0;
	return err_set(e, -ENOENT,
		       "/sys/fs/bpf is not a BPF file system: mount -t bpf bpf /sys/fs/bpf");
}

/* What the programs need before the first run. */
static int fill_new(struct kern *k, struct weir_err *e)
{
	int err = kern_fill_control(k->control_fd, e);

	if (err == 0 && getrandom(&k->state->host.seed, sizeof(k->state->host.seed), 0) < 0)
		err = err_errno(e, -errno, "drawing a seed");
	return err;
}

static int load_locked(struct kern *k, const char *without, struct weir_err *e)
{
	struct weir_err why = { 0 };
	int err = 0;

	if (pins_check(k, &why) < 0) {
		err = pins_clear(k, &why, e);
		if (err < 0)
			return err;
		pins_remove_others(strrchr(k->pins, '/') + 1, NULL);
		err = load_new(k, without, e);
	}
	if (err == 0)
		err = pins_open(k, e);
	if (err < 0)
		return err;
	k->state = pins_map(k->state_fd);
	if (!k->state)
		return err_errno(e, -errno, "mapping the state of the programs");
	if (k->loaded_now) {
		err = fill_new(k, e);
		if (err == 0)
			err = pins_finish(k, e);
	}
	pins_coverage(k);
	pins_recall(k);
	if (err == 0 && k->source == KERN_SOURCE_FMOD_RET)
		err = fmod_misses(k, &k->misses, e);
	return err;
}

/* Source SYSCALL: nothing stays, so nothing is pinned. */
static int load_own(struct kern *k, const char *without, struct weir_err *e)
{
	struct bpf_object *programs;
	int err;

	k->pins[0] = '\0';
	k->loaded_now = true;
	err = own_load(k, without, &programs, e);
	if (err < 0)
		return err;
	err = pins_take(k, programs, e);
	if (err == 0) {
		k->state = pins_map(k->state_fd);
		err = k->state ? fill_new(k, e) : err_errno(e, -errno, "mapping the state");
	}
	/* links and maps are held by descriptors of their own */
	bpf_object__close(programs);
	return err;
}

int kern_open(enum kern_source source, const char *without, struct kern **ret_kern,
	      struct weir_err *e)
{
	struct rlimit files = { 0, 0 };
	struct kern *k = calloc(1, sizeof(*k));
	int err = 0;

	if (!k)
		return err_errno(e, -ENOMEM, "kernel side");
	k->source = source;
	k->tasks_fd = k->state_fd = k->rules_fd = k->names_fd = -1;
	k->supers_fd = k->creds_fd = k->control_fd = k->rings_fd = k->links_fd = -1;
	k->nets_fd = k->peers_fd = k->bind_fd = k->adopt_fd = -1;
	libbpf_set_print(quiet_print);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max = 1048576;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (source != KERN_SOURCE_SYSCALL)
		err = mount_bpffs(e);
	k->lock_fd = open(KERN_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (err == 0 && (k->lock_fd < 0 || flock(k->lock_fd, LOCK_EX) < 0))
		err = err_errno(e, -errno, "%s", KERN_LOCK_FILE);
	if (err == 0)
		err = pins_name(k, without, e);
	if (err == 0)
		err = source == KERN_SOURCE_SYSCALL ? load_own(k, without, e)
						    : load_locked(k, without, e);
	if (k->lock_fd >= 0)
		flock(k->lock_fd, LOCK_UN);
	if (err < 0) {
		kern_close(k);
		return err;
	}
	*ret_kern = k;
	return 0;
}

int kern_check(const struct kern *k, struct weir_err *e)
{
	uint64_t misses = k->misses;
	int err = k->own ? own_check(k->own, e) : pins_check(k, e);

	if (err == 0 && k->source == KERN_SOURCE_FMOD_RET)
		err = fmod_misses(k, &misses, e);
	if (err == 0 && misses != k->misses)
		err = err_set(e, -EIO, "programs were skipped %llu times (source fmod_ret)",
			      (unsigned long long)(misses - k->misses));
	return err;
}

void kern_close(struct kern *k)
{
	int *fds[] = { &k->tasks_fd, &k->state_fd,   &k->rules_fd, &k->names_fd, &k->supers_fd,
		       &k->creds_fd, &k->control_fd, &k->rings_fd, &k->links_fd, &k->nets_fd,
		       &k->peers_fd, &k->bind_fd,    &k->adopt_fd, &k->lock_fd };

	if (!k)
		return;
	own_free(k->own);
	pins_unmap(k->state);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	free(k);
}

int kern_unload(struct weir_err *e)
{
	cleanup_close int lock = open(KERN_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int err;

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_errno(e, -errno, "%s", KERN_LOCK_FILE);
	err = pins_remove_others(NULL, e);
	if (err == 0 && rmdir(KERN_PIN_ROOT) < 0 && errno != ENOENT)
		err = err_errno(e, -errno, "%s", KERN_PIN_ROOT);
	/* the group above those of the runs, which limits nothing itself */
	if (err == 0 && rmdir(KERN_CGROUP) < 0 && errno != ENOENT)
		err = err_errno(e, -errno, "%s", KERN_CGROUP);
	return err;
}
