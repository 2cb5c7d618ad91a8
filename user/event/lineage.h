/* SPDX-License-Identifier: MIT */
/*
 * The processes of a run, from FORK, EXEC and EXIT records in the order of the ring.
 *
 * A process is (tgid, start of its leader), so that a pid used again is another process;
 * threads are folded into it. What it is called comes from its last exec; what its parent
 * was called is what the parent ran *when it forked*, whatever the parent did later.
 *
 * Memory: a process is kept while it lives, while a descendant lives, or while somebody
 * holds it as an actor. Dead processes that are neither are dropped; dead ones in the
 * middle of a chain longer than LINEAGE_DEPTH are taken out of it and counted (`elided`).
 * Above LINEAGE_MAX nodes no new process is added and events have no actor.
 * An OP record costs one look-up and no allocation.
 */
#ifndef WEIR_EVENT_LINEAGE_H
#define WEIR_EVENT_LINEAGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "user/event/event.h"
#include "user/event/mounts.h"

#define LINEAGE_DEPTH 64
#define LINEAGE_MAX 131072

struct lineage;
struct lineage_proc;  /* one process */
struct lineage_actor; /* a process as it was at one moment */

/* One step of a chain: the actor (0), its parent (1), ... Borrowed from the actor. */
struct lineage_level {
	uint32_t pid; /* tgid in the initial namespace */
	uint32_t ns_pid;
	uint32_t uid;
	uint32_t elided;     /* processes left out between this one and the one before */
	uint64_t start_ns;   /* since boot */
	const char *exe;     /* host path as mounts_resolve() gives it, "" if not known */
	const char *args;    /* NUL-separated bytes */
	uint32_t args_len;   /* Units: bytes */
	uint32_t args_total; /* more than args_len: the rest was cut */
};

/* Returns: a handle for lineage_free, NULL when out of memory. Borrows: mounts (may be
 * NULL), for the life of the handle. */
struct lineage *lineage_new(const struct mounts *mounts);

/* All actors must have been dropped before. */
void lineage_free(struct lineage *l);
static inline void cleanup_lineage_fn(struct lineage **l)
{
	lineage_free(*l);
}
#define cleanup_lineage __attribute__((__cleanup__(cleanup_lineage_fn)))

/* Takes one event. *ret_proc (may be NULL) is the process that acted, NULL when it could
 * not be kept; it is valid until the next call. Returns: 0, -ENOMEM, or -E2BIG when
 * LINEAGE_MAX is reached (go on; events then lack their actor). Borrows: e. */
int lineage_add(struct lineage *l, const struct event *e, struct lineage_proc **ret_proc);

/* Holds a process as it is now. Returns: an actor for lineage_drop, NULL when out of
 * memory. Borrows: proc. */
struct lineage_actor *lineage_hold(struct lineage *l, struct lineage_proc *proc);
void lineage_drop(struct lineage *l, struct lineage_actor *actor);

/* Step number `depth` of the chain, the run's first process last.
 * Returns: 0, or -ENOENT past the end. Borrows: actor. */
int lineage_level(const struct lineage_actor *actor, unsigned int depth,
		  struct lineage_level *ret_level);

/* {"pid", "ns_pid", "uid", "exe", "args": [], "ancestors": [{"pid", "exe", "args"}]}, texts
 * escaped; "args_cut": true and "elided": N where they apply. ancestors[0] is the parent.
 * actor may be NULL: pid 0 and empty texts.
 * Returns: a new reference, NULL when out of memory. Borrows: actor. */
json_t *lineage_actor_json(const struct lineage_actor *actor);

/* Returns: processes kept now. Borrows: l. */
size_t lineage_count(const struct lineage *l);

#endif
