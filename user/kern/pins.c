/* SPDX-License-Identifier: MIT */
#include "user/kern/pins.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"
#include "user/event/names.h"
#include "user/kern/objects.h"

/* What the collector uses of its pins, and where it keeps the descriptor. */
static const struct {
	const char *name;
	size_t fd; /* in struct kern */
} pins[] = {
	{ "maps/weir_tasks", offsetof(struct kern, tasks_fd) },
	{ KERN_PIN_STATE, offsetof(struct kern, state_fd) },
	{ "maps/weir_rules", offsetof(struct kern, rules_fd) },
	{ "maps/weir_names", offsetof(struct kern, names_fd) },
	{ "maps/weir_supers", offsetof(struct kern, supers_fd) },
	{ "maps/weir_creds", offsetof(struct kern, creds_fd) },
	{ "maps/weir_control", offsetof(struct kern, control_fd) },
	{ "maps/weir_rings", offsetof(struct kern, rings_fd) },
	{ "maps/weir_links", offsetof(struct kern, links_fd) },
	{ "maps/weir_nets", offsetof(struct kern, nets_fd) },
	{ "maps/weir_peers", offsetof(struct kern, peers_fd) },
	{ "bind", offsetof(struct kern, bind_fd) },
	{ "adopt", offsetof(struct kern, adopt_fd) },
};

static int open_pin(struct kern *k, const char *name, int *ret_fd, struct weir_err *e)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", k->pins, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return err_errno(e, -errno, "%s", path);
	*ret_fd = fd;
	return 0;
}

int pins_open(struct kern *k, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++) {
		int err = open_pin(k, pins[i].name, (int *)((char *)k + pins[i].fd), e);

		if (err < 0)
			return err;
	}
	return 0;
}

/* The memory is a section, so its map has a name of the compiler's. */
static int object_fd(struct bpf_object *obj, const char *name)
{
	const struct bpf_program *prog;
	const struct bpf_map *map;
	char full[64];

	if (strncmp(name, "maps/", 5) != 0) {
		snprintf(full, sizeof(full), "weir_%s", name);
		prog = bpf_object__find_program_by_name(obj, full);
		return prog ? bpf_program__fd(prog) : -ENOENT;
	}
	if (strcmp(name, KERN_PIN_STATE) != 0)
		return bpf_object__find_map_fd_by_name(obj, name + 5);
	map = bpf_object__find_map_by_name(obj, ".bss");
	return map ? bpf_map__fd(map) : -ENOENT;
}

int pins_take(struct kern *k, struct bpf_object *obj, struct weir_err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++) {
		int fd = object_fd(obj, pins[i].name);

		if (fd >= 0)
			fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0)
			return err_errno(e, -ENOENT, "%s", pins[i].name);
		*(int *)((char *)k + pins[i].fd) = fd;
	}
	return 0;
}

struct weir_state *pins_map(int fd)
{
	void *p = mmap(NULL, sizeof(struct weir_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pins_unmap(struct weir_state *state)
{
	if (state)
		munmap(state, sizeof(*state));
}

struct weir_run *kern_run(struct kern *k, uint32_t slot)
{
	return &k->state->runs[slot];
}

static bool is_there(const char *dir, const char *part, const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s%s", dir, part, name);
	return stat(path, &st) == 0;
}

/* Was all of a build pinned? One that can't be read may be in use by a program of its own. */
static bool is_whole(const char *dir)
{
	return is_there(dir, "complete", "");
}

/* What is attached is what is pinned. */
void pins_coverage(struct kern *k)
{
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		if (!is_there(k->pins, "links/", names_hook(i))) {
			k->hooks[i].source = KERN_SOURCE_MISSING;
			continue;
		}
		if (strncmp(names_hook(i), "cgroup_", 7) == 0)
			k->hooks[i].source = KERN_SOURCE_CGROUP;
		else if (i == WEIR_HOOK_TASK_NEWTASK || i == WEIR_HOOK_PROCESS_EXEC ||
			 i == WEIR_HOOK_PROCESS_EXIT || i == WEIR_HOOK_SECURITY_CAPABLE ||
			 i == WEIR_HOOK_INODE_CAPABLE || i == WEIR_HOOK_PTRACE_REFUSED)
			k->hooks[i].source = KERN_SOURCE_TRACING;
		else
			k->hooks[i].source = k->source;
	}
}

/* Hooks that have no link are remembered beside the pins as an empty directory, since bpffs
 * holds nothing else: those that the running kernel doesn't have, and those left out. */
int pins_finish(struct kern *k, struct weir_err *e)
{
	char path[256];

	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		bool absent = k->hooks[i].source == KERN_SOURCE_ABSENT;

		if (is_there(k->pins, "links/", names_hook(i)))
			continue;
		snprintf(path, sizeof(path), "%s/%s-%s", k->pins, absent ? "absent" : "left",
			 names_hook(i));
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_errno(e, -errno, "%s", path);
	}
	snprintf(path, sizeof(path), "%s/steps-%u", k->pins, k->steps);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	snprintf(path, sizeof(path), "%s/complete", k->pins);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	return 0;
}

void pins_recall(struct kern *k)
{
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++)
		if (k->hooks[i].source == KERN_SOURCE_MISSING &&
		    is_there(k->pins, "absent-", names_hook(i)))
			k->hooks[i].source = KERN_SOURCE_ABSENT;
}

static int gone(const struct kern *k, const char *part, const char *name, struct weir_err *e)
{
	return err_set(e, -ENOENT, "%s/%s%s is gone", k->pins, part, name);
}

/* How many there were is remembered in a name beside them. */
static unsigned int count_steps(const struct kern *k)
{
	cleanup_closedir DIR *dir = NULL;
	const struct dirent *entry;
	unsigned int count = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/steps", k->pins);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

int pins_check(const struct kern *k, struct weir_err *e)
{
	char count[16];

	if (!is_whole(k->pins))
		return gone(k, "complete", "", e);
	for (size_t i = 0; i < ARRAY_SIZE(pins); i++)
		if (!is_there(k->pins, pins[i].name, ""))
			return gone(k, pins[i].name, "", e);
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		const char *hook = names_hook(i);

		if (!is_there(k->pins, "links/", hook) && !is_there(k->pins, "absent-", hook) &&
		    !is_there(k->pins, "left-", hook))
			return gone(k, "links/", hook, e);
	}
	snprintf(count, sizeof(count), "-%u", count_steps(k));
	return is_there(k->pins, "steps", count) ? 0 : gone(k, "steps/", "*", e);
}

/* Name of this build's pins: objects, kernel, known overlay type, what is left out. */
int pins_name(struct kern *k, const char *without, struct weir_err *e)
{
	cleanup_digest struct digest *d = digest_new();
	unsigned char hash[DIGEST_SIZE];
	struct utsname uts;
	struct stat st;

	if (!d || uname(&uts) < 0)
		return err_errno(e, -ENOMEM, "naming the pins");
	digest_add(d, objects_digest(), strlen(objects_digest()));
	digest_add(d, kern_source_name(k->source), strlen(kern_source_name(k->source)) + 1);
	digest_add(d, uts.release, strlen(uts.release) + 1);
	digest_add(d, stat("/sys/kernel/btf/overlay", &st) == 0 ? "o" : "-", 1);
	if (without)
		digest_add(d, without, strlen(without));
	if (digest_end(d, hash) < 0)
		return err_errno(e, -EIO, "naming the pins");
	digest_hex(hash, DIGEST_SIZE, k->digest);
	snprintf(k->pins, sizeof(k->pins), "%s/%.16s", KERN_PIN_ROOT, k->digest);
	return 0;
}

int pins_in_use(const char *build)
{
	char path[256];
	struct weir_host *host;
	cleanup_close int fd = -1;
	int used;

	snprintf(path, sizeof(path), "%s/%s/" KERN_PIN_STATE, KERN_PIN_ROOT, build);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	/* of another build, only what comes first is known to be there */
	host = mmap(NULL, sizeof(*host), PROT_READ, MAP_SHARED, fd, 0);
	if (host == MAP_FAILED)
		return -errno;
	used = host->runs != 0;
	munmap(host, sizeof(*host));
	return used;
}

int pins_clear(const struct kern *k, const struct weir_err *why, struct weir_err *e)
{
	const char *build = strrchr(k->pins, '/') + 1;
	cleanup_close int root = open(KERN_PIN_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int used = pins_in_use(build);

	if (used > 0)
		return err_set(e, -EBUSY,
			       "%s while a run is active: try again after its end (`weir recover` "
			       "after a crash)",
			       why->text);
	if (used < 0 && is_whole(k->pins))
		return err_set(e, -ENOENT,
			       "%s, so that nobody can tell whether a run is active: when none is, "
			       "`weir unload` clears up",
			       why->text);
	return root < 0 ? 0 : fsio_remove_tree(root, build, e);
}

/* Removes the pins of other builds; keep may be NULL. */
int pins_remove_others(const char *keep, struct weir_err *e)
{
	cleanup_closedir DIR *dir = opendir(KERN_PIN_ROOT);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s", KERN_PIN_ROOT);
	while ((entry = readdir(dir))) {
		char path[sizeof(KERN_PIN_ROOT) + sizeof(entry->d_name)];
		int err, used;

		if (entry->d_name[0] == '.' || (keep && strcmp(entry->d_name, keep) == 0))
			continue;
		snprintf(path, sizeof(path), "%s/%s", KERN_PIN_ROOT, entry->d_name);
		used = pins_in_use(entry->d_name);
		if (keep && (used > 0 || (used < 0 && is_whole(path))))
			continue;
		if (used > 0)
			return err_set(e, -EBUSY,
				       "a run is active: wait for its end, or weir recover");
		err = fsio_remove_tree(dirfd(dir), entry->d_name, e);
		if (err < 0)
			return err;
	}
	return 0;
}
