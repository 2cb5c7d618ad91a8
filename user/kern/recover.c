/* SPDX-License-Identifier: MIT */
#include "user/kern/recover.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/kern/kern.h"
#include "user/kern/pins.h"

/* A slot that was taken belongs to its collector at once; longer than this means that the
 * collector is gone. */
#define LOOK_AGAIN_NS 300000000

/* The pins of one build; maps alone, no programs. */
struct pins {
	struct kern kern;
	const char *build;
};

/* value_size 0: whatever it is. Returns: a descriptor or a negative errno. */
static int open_map(const char *build, const char *name, size_t value_size)
{
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s/maps/%s", KERN_PIN_ROOT, build, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (value_size &&
	    (bpf_obj_get_info_by_fd(fd, &info, &size) < 0 || info.value_size != value_size)) {
		close(fd);
		return -EPROTO;
	}
	return fd;
}

static void close_pins(struct pins *p)
{
	int fds[] = { p->kern.tasks_fd, p->kern.state_fd,  p->kern.rules_fd,
		      p->kern.names_fd, p->kern.supers_fd, p->kern.rings_fd };

	pins_unmap(p->kern.state);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int open_pins(const char *build, struct pins *p)
{
	const struct {
		const char *name;
		int *fd;
		size_t value_size;
	} maps[] = {
		{ "weir_tasks", &p->kern.tasks_fd, sizeof(struct weir_task) },
		{ "weir_state", &p->kern.state_fd, sizeof(struct weir_state) },
		{ "weir_rules", &p->kern.rules_fd, sizeof(struct weir_rule) },
		{ "weir_names", &p->kern.names_fd, sizeof(struct weir_rule) },
		{ "weir_supers", &p->kern.supers_fd, sizeof(uint32_t) },
		{ "weir_rings", &p->kern.rings_fd, 0 },
	};
	int err = 0;

	*p = (struct pins){ .build = build };
	snprintf(p->kern.pins, sizeof(p->kern.pins), "%s/%.64s", KERN_PIN_ROOT, build);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		*maps[i].fd = -1;
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(maps); i++) {
		*maps[i].fd = open_map(build, maps[i].name, maps[i].value_size);
		if (*maps[i].fd < 0)
			err = *maps[i].fd;
	}
	if (err == 0) {
		p->kern.state = pins_map(p->kern.state_fd);
		if (!p->kern.state)
			err = -errno;
	}
	if (err < 0)
		close_pins(p);
	return err;
}

/* A zombie is in the map until it is reaped, but collects nothing any more. */
static bool is_running(uint32_t tgid)
{
	char path[40], line[512];
	cleanup_fclose FILE *f = NULL;
	const char *state;

	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	f = fopen(path, "re");
	if (!f || !fgets(line, sizeof(line), f))
		return false;
	state = strrchr(line, ')');
	return state && state[1] == ' ' && !strchr("ZX", state[2]);
}

static bool has_collector(const struct pins *p, uint32_t slot)
{
	uint64_t key, next;
	const uint64_t *at = NULL;

	while (bpf_map_get_next_key(p->kern.tasks_fd, at, &next) == 0) {
		struct weir_task task;

		key = next;
		at = &key;
		if (bpf_map_lookup_elem(p->kern.tasks_fd, &key, &task) == 0 && task.slot == slot &&
		    task.role == WEIR_ROLE_COLLECTOR && is_running(task.tgid))
			return true;
	}
	return false;
}

static bool is_stale(struct pins *p, uint32_t slot)
{
	const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
	const struct weir_run *run = kern_run(&p->kern, slot);

	if (!(run->flags & WEIR_RUN_TAKEN) || has_collector(p, slot))
		return false;
	if (run->flags & WEIR_RUN_DEAD)
		return true;
	nanosleep(&pause, NULL);
	return (run->flags & WEIR_RUN_TAKEN) && !has_collector(p, slot);
}

typedef bool match_fn(const void *key, const void *value, uint32_t slot);

static bool match_rule(const void *key, const void *value, uint32_t slot)
{
	const struct weir_objkey *k = key;
	const struct weir_rule *rule = value;

	return k->slot == slot || (k->slot == WEIR_SLOT_SEAL && rule->id == slot);
}

static bool match_seal(const void *key, const void *value, uint32_t slot)
{
	(void)value;
	(void)slot;
	return ((const struct weir_objkey *)key)->slot == WEIR_SLOT_SEAL;
}

static bool match_name(const void *key, const void *value, uint32_t slot)
{
	(void)value;
	return ((const struct weir_namekey *)key)->dir.slot == slot;
}

static bool match_super(const void *key, const void *value, uint32_t slot)
{
	(void)value;
	return ((const struct weir_sbkey *)key)->slot == slot;
}

static bool match_task(const void *key, const void *value, uint32_t slot)
{
	(void)key;
	return ((const struct weir_task *)value)->slot == slot;
}

static bool match_links(const void *key, const void *value, uint32_t slot)
{
	(void)key;
	return ((const struct weir_links *)value)->slot == slot;
}

static bool match_made(const void *key, const void *value, uint32_t slot)
{
	(void)key;
	return *(const uint32_t *)value == slot;
}

static bool match_door(const void *key, const void *value, uint32_t slot)
{
	(void)value;
	return ((const struct weir_doorkey *)key)->slot == slot;
}

/* Counts what matches, and deletes it if wanted. */
static uint64_t sweep(int fd, match_fn *match, uint32_t slot, bool delete)
{
	union {
		struct weir_objkey rule;
		struct weir_namekey name;
		struct weir_sbkey super;
		struct weir_linkkey links;
		struct weir_made made;
		struct weir_doorkey door;
	} key, next;
	union {
		struct weir_rule rule;
		struct weir_links links;
		struct weir_task task;
		struct weir_door door;
		uint32_t one;
	} value;
	const void *at = NULL;
	uint64_t count = 0;

	while (bpf_map_get_next_key(fd, at, &next) == 0) {
		bool found =
			bpf_map_lookup_elem(fd, &next, &value) == 0 && match(&next, &value, slot);

		count += found;
		if (found && delete &&bpf_map_delete_elem(fd, &next) == 0)
			continue; /* from the key before, which is still there */
		key = next;
		at = &key;
	}
	return count;
}

void kern_slot_forget(struct kern *k, uint32_t slot)
{
	static const struct {
		const char *map;
		match_fn *match;
	} maps[] = {
		{ "weir_links", match_links },
		{ "weir_peers", match_rule },
		{ "weir_made", match_made },
		{ "weir_doors", match_door },
	};
	const char *build = strrchr(k->pins, '/') + 1;
	cleanup_close int nets = -1;

	sweep(k->tasks_fd, match_task, slot, true);
	if (k->own) {
		/* of its own, and it watches no more than files */
		sweep(k->links_fd, match_links, slot, true);
		return;
	}
	nets = open_map(build, "weir_nets", 0);
	if (nets >= 0)
		bpf_map_delete_elem(nets, &slot);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		cleanup_close int fd = open_map(build, maps[i].map, 0);

		if (fd >= 0)
			sweep(fd, maps[i].match, slot, true);
	}
}

/* The slot's rules and seals go before the slot can be taken again. */
static bool free_slot(struct pins *p, uint32_t slot)
{
	struct weir_run *run = kern_run(&p->kern, slot);
	struct weir_host *host = &p->kern.state->host;
	uint64_t seals;

	if (!(run->flags & WEIR_RUN_TAKEN) || run->live || has_collector(p, slot))
		return false;
	seals = sweep(p->kern.rules_fd, match_seal, 0, false);
	__atomic_store_n(&run->mode, WEIR_MODE_OFF, __ATOMIC_SEQ_CST);
	sweep(p->kern.rules_fd, match_rule, slot, true);
	sweep(p->kern.names_fd, match_name, slot, true);
	sweep(p->kern.supers_fd, match_super, slot, true);
	kern_slot_forget(&p->kern, slot);
	bpf_map_delete_elem(p->kern.rings_fd, &slot);
	if (seals && sweep(p->kern.rules_fd, match_seal, 0, false) == 0) {
		host->watched = host->wide = host->sealed = 0;
		memset(host->dev, 0, sizeof(host->dev));
	}
	__atomic_store_n(&run->flags, 0, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&host->runs, 1, __ATOMIC_SEQ_CST);
	return true;
}

static int remember_pid(const struct weir_task *task, void *arg)
{
	struct kern_stale *stale = arg;

	for (size_t i = 0; i < KERN_STALE_PIDS; i++) {
		if (stale->pids[i] == task->tgid)
			return 0;
		if (stale->pids[i] == 0) {
			stale->pids[i] = task->tgid;
			return 0;
		}
	}
	return 1;
}

static int recover_slot(struct pins *p, uint32_t slot, bool kill, unsigned int timeout_ms,
			struct kern_stale *ret_stale, struct weir_err *e)
{
	struct kern_slot s = { .kern = &p->kern, .slot = slot, .ring_fd = -1 };
	const struct weir_run *run = kern_run(&p->kern, slot);
	struct kern_stale stale = { .build = p->build, .slot = slot, .live = run->live };
	cleanup_close int lock = -1;

	if (run->live)
		kern_each_member(&s, remember_pid, &stale);
	if (run->live && kill)
		kern_kill_members(&s, timeout_ms);
	lock = open(KERN_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_errno(e, -errno, "%s", KERN_LOCK_FILE);
	stale.freed = free_slot(p, slot);
	*ret_stale = stale;
	return 0;
}

/* Whoever loads programs holds the lock until they are complete. */
static int remove_incomplete(const char *build, kern_stale_fn *fn, void *arg, struct weir_err *e)
{
	const struct kern_stale stale = { .build = build, .pins = true, .freed = true };
	cleanup_close int lock = open(KERN_LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cleanup_close int root = open(KERN_PIN_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[300];
	struct stat st;
	int err;

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_errno(e, -errno, "%s", KERN_LOCK_FILE);
	snprintf(path, sizeof(path), "%s/complete", build);
	if (root < 0 || fstatat(root, build, &st, 0) < 0 || fstatat(root, path, &st, 0) == 0 ||
	    pins_in_use(build) > 0)
		return 0;
	err = fsio_remove_tree(root, build, e);
	if (err == 0)
		fn(&stale, arg);
	return err;
}

static int recover_build(const char *build, bool kill, unsigned int timeout_ms, kern_stale_fn *fn,
			 void *arg, struct weir_err *e)
{
	struct pins p;
	int err = open_pins(build, &p), left = 0;

	if (err == -ENOENT)
		return remove_incomplete(build, fn, arg, e);
	if (err == -EPROTO)
		return err_set(e, err,
			       "%s/%s is of a weir with another layout: recover with that one",
			       KERN_PIN_ROOT, build);
	if (err < 0)
		return err_errno(e, err, "%s/%s", KERN_PIN_ROOT, build);
	for (uint32_t slot = 0; err == 0 && slot < WEIR_RUNS_MAX; slot++) {
		struct kern_stale stale = { 0 };

		if (!is_stale(&p, slot))
			continue;
		err = recover_slot(&p, slot, kill, timeout_ms, &stale, e);
		if (err < 0)
			break;
		left += !stale.freed;
		fn(&stale, arg);
	}
	close_pins(&p);
	if (err == 0)
		err = remove_incomplete(build, fn, arg, e);
	return err < 0 ? err : left;
}

int kern_recover(bool kill, unsigned int timeout_ms, kern_stale_fn *fn, void *arg,
		 struct weir_err *e)
{
	cleanup_closedir DIR *dir = opendir(KERN_PIN_ROOT);
	struct dirent *entry;
	int left = 0;

	if (!dir)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s", KERN_PIN_ROOT);
	while ((entry = readdir(dir))) {
		int ret;

		if (entry->d_name[0] == '.')
			continue;
		ret = recover_build(entry->d_name, kill, timeout_ms, fn, arg, e);
		if (ret < 0)
			return ret;
		left += ret;
	}
	return left;
}
