/* SPDX-License-Identifier: MIT */
#include "user/kern/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
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
	const struct {
		const char *name;
		int *fd;
	} pins[] = {
		{ "maps/weir_tasks", &k->tasks_fd },
		{ "maps/weir_runs", &k->runs_fd },
		{ "maps/weir_host", &k->host_fd },
		{ "maps/weir_rules", &k->rules_fd },
		{ "maps/weir_names", &k->names_fd },
		{ "maps/weir_bloom", &k->bloom_fd },
		{ "maps/weir_supers", &k->supers_fd },
		{ "maps/weir_creds", &k->creds_fd },
		{ "maps/weir_control", &k->control_fd },
		{ "maps/weir_rings", &k->rings_fd },
		{ "maps/weir_links", &k->links_fd },
		{ "bind", &k->bind_fd },
		{ "adopt", &k->adopt_fd },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pins); i++) {
		int err = open_pin(k, pins[i].name, pins[i].fd, e);

		if (err < 0)
			return err;
	}
	return 0;
}

static void *map_array(int fd, size_t bytes)
{
	size_t size = (bytes + PINS_PAGE - 1) / PINS_PAGE * PINS_PAGE;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

int pins_map(struct kern *k, struct weir_err *e)
{
	k->run_stride = (sizeof(struct weir_run) + 7) / 8 * 8;
	k->runs = map_array(k->runs_fd, k->run_stride * WEIR_RUNS_MAX);
	k->host = map_array(k->host_fd, sizeof(struct weir_host));
	k->bloom = map_array(k->bloom_fd, WEIR_BLOOM_SIZE / 8);
	if (!k->runs || !k->host || !k->bloom)
		return err_errno(e, -errno, "mapping the state of the programs");
	return 0;
}

struct weir_run *kern_run(struct kern *k, uint32_t slot)
{
	return (struct weir_run *)((char *)k->runs + slot * k->run_stride);
}

/* What is attached is what is pinned. */
void pins_coverage(struct kern *k)
{
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		char path[256];
		struct stat st;

		snprintf(path, sizeof(path), "%s/links/%s", k->pins, names_hook(i));
		if (stat(path, &st) < 0) {
			k->hooks[i].source = KERN_SOURCE_MISSING;
			continue;
		}
		if (i == WEIR_HOOK_SYSCTL)
			k->hooks[i].source = KERN_SOURCE_CGROUP;
		else if (i == WEIR_HOOK_TASK_NEWTASK || i == WEIR_HOOK_PROCESS_EXEC ||
			 i == WEIR_HOOK_PROCESS_EXIT)
			k->hooks[i].source = KERN_SOURCE_TRACING;
		else
			k->hooks[i].source = KERN_SOURCE_LSM;
	}
}

/* Hooks that the running kernel doesn't have are remembered beside the pins as an empty
 * directory, since bpffs holds nothing else. */
int pins_finish(struct kern *k, struct weir_err *e)
{
	char path[256];

	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		if (k->hooks[i].source != KERN_SOURCE_ABSENT)
			continue;
		snprintf(path, sizeof(path), "%s/absent-%s", k->pins, names_hook(i));
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_errno(e, -errno, "%s", path);
	}
	snprintf(path, sizeof(path), "%s/complete", k->pins);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s", path);
	return 0;
}

void pins_recall(struct kern *k)
{
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++) {
		char path[256];
		struct stat st;

		snprintf(path, sizeof(path), "%s/absent-%s", k->pins, names_hook(i));
		if (k->hooks[i].source == KERN_SOURCE_MISSING && stat(path, &st) == 0)
			k->hooks[i].source = KERN_SOURCE_ABSENT;
	}
}

bool pins_complete(struct kern *k)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/complete", k->pins);
	return stat(path, &st) == 0;
}

/* Name of this build's pins: object, kernel, known overlay type, what is left out. */
int pins_name(struct kern *k, const void *bytes, size_t size, const char *without,
	      struct weir_err *e)
{
	cleanup_digest struct digest *d = digest_new();
	unsigned char hash[DIGEST_SIZE];
	struct utsname uts;
	struct stat st;

	if (!d || uname(&uts) < 0)
		return err_errno(e, -ENOMEM, "naming the pins");
	digest_add(d, bytes, size);
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

/* Does a build's pin directory hold an active run? */
static bool is_in_use(const char *dir)
{
	char path[256];
	struct weir_host host = { 0 };
	uint32_t zero = 0;
	cleanup_close int fd = -1;

	snprintf(path, sizeof(path), "%s/%s/maps/weir_host", KERN_PIN_ROOT, dir);
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, &host) < 0)
		return false;
	return host.runs != 0;
}

/* Removes the pins of other builds; keep may be NULL. */
int pins_remove_others(const char *keep, struct weir_err *e)
{
	cleanup_closedir DIR *dir = opendir(KERN_PIN_ROOT);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s", KERN_PIN_ROOT);
	while ((entry = readdir(dir))) {
		int err;

		if (entry->d_name[0] == '.' || (keep && strcmp(entry->d_name, keep) == 0))
			continue;
		if (is_in_use(entry->d_name)) {
			if (keep)
				continue;
			return err_set(e, -EBUSY,
				       "a run is active: wait for its end, or weir recover");
		}
		err = fsio_remove_tree(dirfd(dir), entry->d_name, e);
		if (err < 0)
			return err;
	}
	return 0;
}
