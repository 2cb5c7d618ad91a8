/* SPDX-License-Identifier: MIT */
/* A run's slot: its ring, its rules, the file systems it knows, the tree it watches. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/abi/control.h"
#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/kern/control.h"
#include "user/kern/kern.h"
#include "user/kern/recover.h"

/* Makes room for one more element. */
static int grow(void *array, size_t count, size_t *cap, size_t size)
{
	void *old, *new;

	if (count < *cap)
		return 0;
	memcpy(&old, array, sizeof(old));
	*cap = *cap ? *cap * 2 : 64;
	new = realloc(old, *cap * size);
	if (!new)
		return -ENOMEM;
	memcpy(array, &new, sizeof(new));
	return 0;
}

int kern_slot_hold(struct kern_slot *s, int fd)
{
	if (grow(&s->pins, s->pin_count, &s->pin_cap, sizeof(int)) < 0) {
		close(fd);
		return -ENOMEM;
	}
	s->pins[s->pin_count++] = fd;
	return 0;
}

static int make_ring(struct kern_slot *s, size_t bytes, struct weir_err *e)
{
	s->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "weir_ring", 0, 0, (uint32_t)bytes, NULL);
	if (s->ring_fd < 0)
		return err_errno(e, -errno, "making a ring of %zu bytes", bytes);
	if (bpf_map_update_elem(s->kern->rings_fd, &s->slot, &s->ring_fd, BPF_ANY) < 0)
		return err_errno(e, -errno, "setting the ring");
	return 0;
}

uint32_t kern_trouble(const struct kern_slot *s)
{
	uint32_t trouble = kern_run(s->kern, s->slot)->trouble;

	if (s->kern->state->host.unjudged != s->unjudged)
		trouble |= WEIR_TROUBLE_PLACE;
	return trouble;
}

static int find_slot(struct kern *k, uint32_t *ret_slot)
{
	for (uint32_t i = 0; i < WEIR_RUNS_MAX; i++) {
		struct weir_run *run = kern_run(k, i);

		/* members that are left keep the slot of their dead run */
		if (run->mode == WEIR_MODE_OFF && run->live == 0 &&
		    !(run->flags & WEIR_RUN_TAKEN)) {
			*ret_slot = i;
			return 0;
		}
	}
	return -EBUSY;
}

int kern_slot_take(struct kern *k, size_t ring_bytes, struct kern_slot *ret_slot,
		   struct weir_err *e)
{
	struct kern_slot s = { .kern = k, .ring_fd = -1 };
	int err;

	if (flock(k->lock_fd, LOCK_EX) < 0)
		return err_errno(e, -errno, "locking the slots");
	err = find_slot(k, &s.slot);
	if (err == 0) {
		struct weir_run *run = kern_run(k, s.slot);

		memset(run, 0, sizeof(*run));
		run->flags = WEIR_RUN_TAKEN;
		s.unjudged = k->state->host.unjudged;
		__atomic_add_fetch(&k->state->host.runs, 1, __ATOMIC_SEQ_CST);
	}
	flock(k->lock_fd, LOCK_UN);
	if (err < 0)
		return err_set(e, err, "%d runs are active: wait for one to end", WEIR_RUNS_MAX);
	err = make_ring(&s, ring_bytes, e);
	*ret_slot = s;
	if (err < 0)
		kern_slot_release(ret_slot);
	return err;
}

void kern_slot_start(struct kern_slot *s, uint32_t mode, uint32_t flags, uint32_t rights,
		     uint64_t powers, uint64_t attempts)
{
	struct weir_run *run = kern_run(s->kern, s->slot);

	run->rights = rights;
	run->powers = powers;
	run->attempts = attempts;
	run->flags = WEIR_RUN_TAKEN | flags;
	__atomic_store_n(&run->mode, mode, __ATOMIC_SEQ_CST);
}

void kern_slot_release(struct kern_slot *s)
{
	struct kern *k = s->kern;
	struct weir_run *run;

	if (!k)
		return;
	run = kern_run(k, s->slot);
	kern_unwatch(s);
	if (run->live)
		__atomic_or_fetch(&run->flags, WEIR_RUN_DEAD, __ATOMIC_SEQ_CST);
	__atomic_store_n(&run->mode, WEIR_MODE_OFF, __ATOMIC_SEQ_CST);
	__atomic_store_n(&run->home, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < s->rule_count; i++)
		bpf_map_delete_elem(k->rules_fd, &s->rules[i]);
	for (size_t i = 0; i < s->name_count; i++)
		bpf_map_delete_elem(k->names_fd, &s->names[i]);
	for (size_t i = 0; i < s->super_count; i++) {
		struct weir_sbkey key = { .dev = s->supers[i], .slot = s->slot };

		bpf_map_delete_elem(k->supers_fd, &key);
	}
	for (size_t i = 0; i < s->pin_count; i++)
		close(s->pins[i]);
	bpf_map_delete_elem(k->rings_fd, &s->slot);
	if (s->ring_fd >= 0)
		close(s->ring_fd);
	free(s->pins);
	free(s->rules);
	free(s->names);
	free(s->supers);
	if (!run->live) {
		/* the program counts its entry down, which deleting it from here would not */
		kern_adopt(s, 0, WEIR_ROLE_NONE, NULL);
		kern_slot_forget(k, s->slot);
		__atomic_and_fetch(&run->flags, ~WEIR_RUN_TAKEN, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&k->state->host.runs, 1, __ATOMIC_SEQ_CST);
	}
	memset(s, 0, sizeof(*s));
	s->ring_fd = -1;
}

int kern_look(struct kern *k, int fd, struct weir_bind *ret_bind)
{
	struct weir_bind bind = { .fd = (uint32_t)fd };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &bind, .ctx_size_in = sizeof(bind));

	if (bpf_prog_test_run_opts(k->bind_fd, &opts) < 0)
		return -errno;
	if (bind.ret_err < 0)
		return bind.ret_err;
	*ret_bind = bind;
	return 0;
}

static void bloom_set(struct kern *k, const struct weir_objkey *key, uint8_t bits)
{
	__atomic_or_fetch(&k->state->bloom[weir_spread(key->inode, WEIR_BLOOM_BITS)], bits,
			  __ATOMIC_SEQ_CST);
}

/* Where most walks of a run end. A rule that takes this one's place takes it here too. */
static void set_home(struct kern_slot *s, const struct weir_objkey *key,
		     const struct weir_rule *rule)
{
	struct weir_run *run = kern_run(s->kern, s->slot);

	if (key->slot != s->slot)
		return;
	if (run->home == key->inode)
		__atomic_store_n(&run->home, 0, __ATOMIC_SEQ_CST);
	if (!(rule->flags & WEIR_RULE_WORKSPACE) || !(rule->flags & WEIR_RULE_ROOT))
		return;
	run->home_rule = *rule;
	__atomic_store_n(&run->home, key->inode, __ATOMIC_SEQ_CST);
}

int kern_bind_fd(struct kern_slot *s, int fd, uint32_t slot, const struct weir_rule *rule,
		 struct weir_err *e)
{
	struct weir_bind bind = { 0 };
	int err = kern_look(s->kern, fd, &bind), copy;

	if (err < 0)
		return err_errno(e, err, "looking at an object");
	bind.ret_key.slot = slot;
	if (grow(&s->pins, s->pin_count, &s->pin_cap, sizeof(int)) < 0 ||
	    grow(&s->rules, s->rule_count, &s->rule_cap, sizeof(struct weir_objkey)) < 0)
		return err_errno(e, -ENOMEM, "binding a rule");
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return err_errno(e, -errno, "holding an object in place");
	s->pins[s->pin_count++] = copy;
	bloom_set(s->kern, &bind.ret_key, WEIR_BLOOM_RULE);
	if (bpf_map_update_elem(s->kern->rules_fd, &bind.ret_key, rule, BPF_ANY) < 0)
		return errno == E2BIG ? err_set(e, -E2BIG, "more than %d rules on this host",
						WEIR_RULES_MAX)
				      : err_errno(e, -errno, "binding a rule");
	s->rules[s->rule_count++] = bind.ret_key;
	set_home(s, &bind.ret_key, rule);
	return 0;
}

int kern_bind_path(struct kern_slot *s, const char *path, uint64_t dev, uint64_t ino,
		   const struct weir_rule *rule, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, -errno, "%s", path);
	if (ino && (st.st_dev != dev || st.st_ino != ino))
		return err_set(e, -ESTALE, "%s: replaced while the policy was read; try again",
			       path);
	err = kern_bind_fd(s, fd, s->slot, rule, e);
	return err < 0 ? err_wrap(e, "%s", path) : 0;
}

int kern_bind_name(struct kern_slot *s, const char *dir, const char *name,
		   const struct weir_rule *rule, struct weir_err *e)
{
	cleanup_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct weir_namekey key = { 0 };
	struct weir_bind bind = { 0 };
	int err;

	if (fd < 0)
		return err_errno(e, -errno, "%s", dir);
	err = kern_look(s->kern, fd, &bind);
	if (err < 0)
		return err_errno(e, err, "%s", dir);
	key.dir = bind.ret_key;
	key.dir.slot = s->slot;
	if (strlen(name) >= WEIR_NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: longer than %d bytes", name,
			       WEIR_NAME_MAX - 1);
	key.hash = kern_name_hash(name, s->kern->state->host.seed);
	if (grow(&s->names, s->name_count, &s->name_cap, sizeof(key)) < 0 ||
	    grow(&s->pins, s->pin_count, &s->pin_cap, sizeof(int)) < 0)
		return err_errno(e, -ENOMEM, "binding a name");
	bloom_set(s->kern, &bind.ret_key, WEIR_BLOOM_NAMED);
	if (bpf_map_update_elem(s->kern->names_fd, &key, rule, BPF_ANY) < 0)
		return err_errno(e, -errno, "binding the name %s in %s", name, dir);
	s->names[s->name_count++] = key;
	s->pins[s->pin_count++] = TAKE_FD(fd);
	return 0;
}

int kern_own_links(struct kern_slot *s, const struct weir_bind *look, struct weir_err *e)
{
	const struct weir_object *o = &look->ret_object;
	const struct weir_links links = { .slot = s->slot, .made = o->nlink - 1 };
	const struct weir_linkkey key = {
		.inode = o->magic == BTRFS_SUPER_MAGIC ? look->ret_key.inode : 0,
		.ino = o->ino,
		.dev = o->dev,
		.gen = o->gen,
	};

	if (bpf_map_update_elem(s->kern->links_fd, &key, &links, BPF_ANY) < 0 && errno != E2BIG)
		return err_errno(e, -errno, "learning the hard links of the workspace");
	return 0;
}

static int know_device(struct kern_slot *s, unsigned int major, unsigned int minor,
		       struct weir_err *e)
{
	struct weir_sbkey key = { .dev = major << 20 | minor, .slot = s->slot };
	uint32_t one = 1;

	if (grow(&s->supers, s->super_count, &s->super_cap, sizeof(uint32_t)) < 0)
		return err_errno(e, -ENOMEM, "learning the file systems");
	if (bpf_map_update_elem(s->kern->supers_fd, &key, &one, BPF_ANY) < 0)
		return err_errno(e, -errno, "learning the file systems");
	s->supers[s->super_count++] = key.dev;
	return 0;
}

/* An overlay that is mounted here acts on its layers under these credentials. */
static int know_overlay(struct kern_slot *s, const char *point, struct weir_err *e)
{
	cleanup_close int fd = open(point, O_PATH | O_CLOEXEC);
	struct weir_bind bind = { 0 };
	uint32_t one = 1;

	/* hidden below another mount, or gone: it gives no rights then */
	if (fd < 0 || kern_look(s->kern, fd, &bind) < 0 || !bind.ret_cred)
		return 0;
	if (bpf_map_update_elem(s->kern->creds_fd, &bind.ret_cred, &one, BPF_ANY) < 0)
		return err_errno(e, -errno, "learning the overlays");
	return 0;
}

int kern_know_mounts(struct kern_slot *s, struct weir_err *e)
{
	cleanup_fclose FILE *f = fopen("/proc/self/mountinfo", "re");
	cleanup_free char *line = NULL;
	size_t size = 0;

	if (!f)
		return err_errno(e, -errno, "/proc/self/mountinfo");
	while (getline(&line, &size, f) > 0) {
		unsigned int major, minor;
		char point[4096];
		int err;

		if (sscanf(line, "%*d %*d %u:%u %*s %4095s", &major, &minor, point) != 3)
			return err_set(e, -EBADMSG, "/proc/self/mountinfo: unknown form");
		err = know_device(s, major, minor, e);
		if (err == 0 && strstr(line, " - overlay "))
			err = know_overlay(s, point, e);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Notes a device that holds a watched tree. The table is small: with more devices than it
 * holds, every device counts. Returns: whether there was room. */
static bool watch_device(struct kern *k, uint32_t dev)
{
	for (uint32_t i = 0; i < WEIR_WATCH_MAX; i++) {
		if (k->state->host.dev[i] == dev || k->state->host.dev[i] == 0) {
			k->state->host.dev[i] = dev;
			return true;
		}
	}
	return false;
}

static void count_watch(struct kern_slot *s, uint32_t dev, bool seal)
{
	struct weir_host *host = &s->kern->state->host;

	if (!s->watch_dev) {
		s->watch_dev = dev;
		s->watch_wide = !watch_device(s->kern, dev);
		host->wide += s->watch_wide;
		host->watched++;
	}
	if (seal && !s->sealed) {
		s->sealed = true;
		host->sealed++;
	}
}

/* Another slot's rule of the same place, if whoever made it is there. */
static bool is_sealed_by_other(const struct kern_slot *s, struct weir_objkey key)
{
	struct weir_rule rule;

	key.slot = WEIR_SLOT_SEAL;
	return bpf_map_lookup_elem(s->kern->rules_fd, &key, &rule) == 0 &&
	       (rule.flags & WEIR_RULE_SEAL) && rule.id != s->slot && rule.id < WEIR_RUNS_MAX &&
	       !(kern_run(s->kern, rule.id)->flags & WEIR_RUN_DEAD);
}

int kern_watch(struct kern_slot *s, int fd, bool seal, struct weir_err *e)
{
	struct weir_rule rule = { .flags = seal ? WEIR_RULE_SEAL : WEIR_RULE_WATCH, .id = s->slot };
	struct weir_bind bind = { 0 };
	int err = kern_look(s->kern, fd, &bind);

	if (err < 0)
		return err_errno(e, err, "watching the workspace");
	if (flock(s->kern->lock_fd, LOCK_EX) < 0)
		return err_errno(e, -errno, "locking the slots");
	if (is_sealed_by_other(s, bind.ret_key)) {
		flock(s->kern->lock_fd, LOCK_UN);
		return err_set(e, -EBUSY, "is sealed already: wait, or see `weir list`");
	}
	count_watch(s, bind.ret_object.dev, seal);
	err = kern_bind_fd(s, fd, WEIR_SLOT_SEAL, &rule, e);
	flock(s->kern->lock_fd, LOCK_UN);
	return err;
}

void kern_unwatch(struct kern_slot *s)
{
	struct kern *k = s->kern;

	if (!s->watch_dev)
		return;
	for (size_t i = 0; i < s->rule_count; i++)
		if (s->rules[i].slot == WEIR_SLOT_SEAL)
			bpf_map_delete_elem(k->rules_fd, &s->rules[i]);
	if (flock(k->lock_fd, LOCK_EX) == 0) {
		k->state->host.wide -= s->watch_wide;
		k->state->host.sealed -= s->sealed;
		if (--k->state->host.watched == 0)
			memset(k->state->host.dev, 0, sizeof(k->state->host.dev));
		flock(k->lock_fd, LOCK_UN);
	}
	s->watch_dev = 0;
	s->sealed = false;
}
