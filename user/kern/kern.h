/* SPDX-License-Identifier: MIT */
/*
 * The kernel side as an object:  open -> slot -> bind -> adopt -> (run) -> release -> close
 *
 * Programs, links and maps stay pinned under /sys/fs/bpf/weir/DIGEST between runs, so
 * that only the first run after boot or after a new build pays for loading. DIGEST names
 * the build's BPF object, the kernel, and what was left out; pins of another build are
 * replaced as soon as no run uses them. Idle programs cost others one look at an array.
 */
#ifndef WEIR_KERN_KERN_H
#define WEIR_KERN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi/reach.h"
#include "bpf/abi/state.h"
#include "user/base/err.h"

#define KERN_PIN_ROOT "/sys/fs/bpf/weir"
#define KERN_PIN_STATE "maps/weir_state"  /* weir_memory of the programs */
#define KERN_CGROUP "/sys/fs/cgroup/weir" /* above the groups of the runs */
#define KERN_LOCK_FILE "/run/weir.lock"	  /* held while pins or slots change hands */

/* How a hook is attached; LSM, FMOD_RET and SYSCALL also say where all of a run's decisions are
 * made. */
enum kern_source {
	KERN_SOURCE_MISSING = 0, /* not attached */
	KERN_SOURCE_UNSEEN,	 /* the run's source can't see it */
	KERN_SOURCE_ABSENT,	 /* this kernel has no such hook, and needs none */
	KERN_SOURCE_LSM,
	KERN_SOURCE_FMOD_RET,
	KERN_SOURCE_SYSCALL, /* looked at when the call ends */
	KERN_SOURCE_TRACING,
	KERN_SOURCE_CGROUP,
};

struct kern_hook {
	enum kern_source source;
	bool proven; /* a canary saw it refuse and allow */
};

struct kern {
	enum kern_source source; /* of all decisions */
	char digest[65];
	char pins[128];	    /* directory of this build's pins; "": nothing is pinned */
	bool loaded_now;    /* false: the pins were there */
	unsigned int steps; /* so many places where a shared step was put in, if loaded now */
	int lock_fd;
	int tasks_fd, state_fd, rules_fd, names_fd, supers_fd, creds_fd;
	int control_fd, rings_fd, links_fd, nets_fd, peers_fd;
	int bind_fd, adopt_fd;
	struct weir_state *state; /* shared with the programs */
	struct kern_hook hooks[WEIR_HOOK_COUNT];
	uint64_t misses;      /* of source FMOD_RET: times that programs had been skipped before */
	struct kern_own *own; /* what is not pinned but goes with the collector, or NULL */
};

/* Loads and attaches, or takes the pins. Source SYSCALL pins nothing: it protects nothing either,
 * and its programs end with the collector. without: name of a hook to leave out (the run is
 * then indeterminate), NULL for none. Needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN.
 * Gives: *ret_kern for kern_close. Returns: 0 or a negative errno with what is missing. */
int kern_open(enum kern_source source, const char *without, struct kern **ret_kern,
	      struct weir_err *e);

/* Whether everything is still attached, and has been run: what is pinned is. Returns: 0; -ENOENT,
 * and e names what somebody removed; -EIO, and e names a program that was skipped. Borrows: k. */
int kern_check(const struct kern *k, struct weir_err *e);

/* Closes descriptors and mappings; pins stay. NULL is fine. */
void kern_close(struct kern *k);

/* Removes all pins of all builds; programs end when their last user does.
 * Returns: 0, -EBUSY while a run is active, or a negative errno. */
int kern_unload(struct weir_err *e);

/* Returns: the state of a slot, shared with the kernel, valid until kern_close(k). */
struct weir_run *kern_run(struct kern *k, uint32_t slot);

/* Name of a source, as in the coverage. Returns: static text. */
const char *kern_source_name(enum kern_source source);

/* Returns: LSM, FMOD_RET or SYSCALL by its name, else MISSING. Borrows: name. */
enum kern_source kern_source_find(const char *name);

/* Reading and writing maps of slots (user/kern/slot.c). -------------------------------- */

struct kern_slot {
	struct kern *kern;
	uint32_t slot;
	int *pins; /* O_PATH descriptors that keep bound inodes in place */
	size_t pin_count, pin_cap;
	struct weir_objkey *rules;
	size_t rule_count, rule_cap;
	struct weir_namekey *names;
	size_t name_count, name_cap;
	uint32_t *supers;
	size_t super_count, super_cap;
	uint32_t watch_dev; /* device of the workspace, 0: none watched */
	uint32_t unjudged;  /* weir_host.unjudged at the start */
	bool watch_wide;    /* it found no room in weir_host.dev */
	bool sealed;	    /* counted in weir_host.sealed */
	int ring_fd;
};

/* WEIR_TROUBLE_*: of the run, and of the host, which concerns every run. */
uint32_t kern_trouble(const struct kern_slot *s);

/* Takes a free slot and puts it into mode OFF with an own ring of ring_bytes (a power of two).
 * Gives: *ret_slot for kern_slot_release. Returns: 0, -EBUSY when all are taken. */
int kern_slot_take(struct kern *k, size_t ring_bytes, struct kern_slot *ret_slot,
		   struct weir_err *e);

/* Takes one record of len bytes, which is gone when it returns. Borrows: data. */
typedef void kern_record_fn(void *arg, void *data, size_t len);

/* The reading end of the slot's ring: fn gets each record, within kern_ring_drain.
 * Gives: *ret_ring for kern_ring_close. Returns: 0 or a negative errno. */
struct kern_ring;
int kern_ring_open(const struct kern_slot *s, kern_record_fn *fn, void *arg,
		   struct kern_ring **ret_ring, struct weir_err *e);

/* NULL is fine. The slot keeps its ring. */
void kern_ring_close(struct kern_ring *r);

/* Returns: a descriptor that is readable when the kernel wants the ring to be read; not to
 * be closed. */
int kern_ring_fd(const struct kern_ring *r);

/* Takes what is in the ring, or waits so long for something. Returns: the number of records
 * taken, or a negative errno. */
int kern_ring_drain(struct kern_ring *r, int wait_ms);

/* Begins to judge: from here on rules hold. rights: where no rule applies; powers: WEIR_POWER_*
 * of members; attempts: kinds of findings of which an attempt that the kernel refuses is one,
 * bit n for enum weir_kind n. */
void kern_slot_start(struct kern_slot *s, uint32_t mode, uint32_t flags, uint32_t rights,
		     uint64_t powers, uint64_t attempts);

/* Frees rules, ring and slot. Members that are left keep a dead run's rights: none. */
void kern_slot_release(struct kern_slot *s);

/* Looks at the object behind fd. Returns: 0 or a negative errno. Borrows: fd. */
int kern_look(struct kern *k, int fd, struct weir_bind *ret_bind);

/* Binds a rule to the object at path, which is not followed if it is a link. dev and ino,
 * when not 0, must be what the object has (st_dev, st_ino). Returns: 0 or a negative errno. */
int kern_bind_path(struct kern_slot *s, const char *path, uint64_t dev, uint64_t ino,
		   const struct weir_rule *rule, struct weir_err *e);

/* The same for the object behind a descriptor, which is duplicated.
 * slot WEIR_SLOT_SEAL makes a rule that holds for everybody. Returns: likewise. */
int kern_bind_fd(struct kern_slot *s, int fd, uint32_t slot, const struct weir_rule *rule,
		 struct weir_err *e);

/* Binds a rule to a name in a directory. Returns: 0 or a negative errno. */
int kern_bind_name(struct kern_slot *s, const char *dir, const char *name,
		   const struct weir_rule *rule, struct weir_err *e);

/* Says that all names of the file, as kern_look saw it, are the run's own. More than
 * WEIR_LINKS_MAX are left out. Returns: 0 or a negative errno. Borrows: look. */
int kern_own_links(struct kern_slot *s, const struct weir_bind *look, struct weir_err *e);

/* Sets the slot's network rules, WEIR_NETS_MAX at most (user/kern/reach.c).
 * Returns: 0 or a negative errno. Borrows: rules. */
int kern_set_nets(struct kern_slot *s, const struct weir_netrule *rules, size_t count,
		  struct weir_err *e);

/* Binds a rule to a unix socket: the one at path, with dev and ino as in kern_bind_path, or those
 * with an abstract name. Returns: 0 or a negative errno. */
int kern_bind_socket(struct kern_slot *s, const char *path, uint64_t dev, uint64_t ino,
		     const struct weir_rule *rule, struct weir_err *e);
int kern_bind_abstract(struct kern_slot *s, const char *name, const struct weir_rule *rule,
		       struct weir_err *e);

/* Holds fd, which is taken, for as long as the slot is. Returns: 0 or -ENOMEM. */
int kern_slot_hold(struct kern_slot *s, int fd);

/* Makes the file systems that are mounted now known to the slot, and the host's overlays.
 * Returns: 0 or a negative errno. Borrows: mountinfo text. */
int kern_know_mounts(struct kern_slot *s, struct weir_err *e);

/* Puts the workspace at fd under watch for outsiders' changes (seal false), or stops them
 * (seal true). Returns: 0, -EBUSY while another slot seals it, or a negative errno.
 * Borrows: fd. */
int kern_watch(struct kern_slot *s, int fd, bool seal, struct weir_err *e);
void kern_unwatch(struct kern_slot *s);

/* Members (user/kern/members.c). -------------------------------------------------------- */

/* Gives the caller (pid 0) or its newest child a role in the run. Returns: 0 or an errno. */
int kern_adopt(struct kern_slot *s, pid_t pid, enum weir_role role, struct weir_err *e);

/* Calls fn for each member that has not exited. Returns: 0, fn's non-zero, or an errno. */
int kern_each_member(struct kern_slot *s, int (*fn)(const struct weir_task *, void *), void *arg);

/* Kills all members until none is left or timeout_ms passed. Returns: members left. */
uint64_t kern_kill_members(struct kern_slot *s, unsigned int timeout_ms);

/* Probing (user/kern/probe.c). ---------------------------------------------------------- */

struct kern_probe {
	char release[65];
	bool root;
	bool btf;
	bool lsm_bpf; /* bpf is in the active list */
	char lsm_list[256];
	bool bpffs;
	bool cgroup2;
	bool lockdown; /* confidentiality: no BPF reads */
	bool ftrace_enabled;
	char preempt[32];
	bool enforce;		 /* all that enforcing needs is there */
	char missing[256];	 /* one line: what is missing and what to do; "" if nothing */
	bool observe;		 /* at least source SYSCALL can be had */
	char blind[256];	 /* likewise for that */
	bool preemptible;	 /* or it can\'t be told: source FMOD_RET can be slipped past */
	enum kern_source source; /* the best one, as far as looking tells; MISSING: none */
};

/* Looks at the host. Only where the best source is missing, and all else is there, one program is
 * loaded, to see whether fmod_ret is to be had. Always succeeds. */
void kern_probe(struct kern_probe *ret_probe);

#endif
