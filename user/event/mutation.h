/* SPDX-License-Identifier: MIT */
/*
 * Which paths of the workspace the members of a run may have changed, from the events of
 * its trace. The gate compares: a difference between two manifests that is not in here
 * has no traced writer.
 *
 * Only operations that the kernel let pass count, and only those of members: not those
 * of outsiders (foreign writes explain nothing) and not proofs of life. A path counts as
 * it was named at the time. A directory that was renamed or exchanged stands for its whole
 * subtree at both ends. A file with more than one name is remembered by inode number too,
 * since a write through one name shows under the others. Paths that are not complete
 * explain nothing and are counted.
 *
 * Memory: about 80 bytes and the path for each distinct path. Past MUTATION_PATHS paths or
 * MUTATION_BYTES of paths the set stops, says so (mutation_overflowed), and must not be
 * used to explain anything: the gate refuses.
 */
#ifndef WEIR_EVENT_MUTATION_H
#define WEIR_EVENT_MUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/event/event.h"

#define MUTATION_PATHS 1000000
#define MUTATION_BYTES (96u << 20)

struct mutation {
	uint64_t ops;	     /* bit n: enum weir_op n */
	bool subtree;	     /* the path and everything below it */
	uint32_t count;	     /* events, sticks at UINT32_MAX */
	uint32_t first_tgid; /* who did it first and last: keys of user/event/lineage.h */
	uint32_t last_tgid;
	uint64_t first_start_ns;
	uint64_t last_start_ns;
	uint64_t first_seq;
	uint64_t last_seq;
};

struct mutations;

/* dev and root: the workspace's device (kernel encoding) and its path inside that file
 * system ("/lab/ws"; mounts_locate gives both). Returns: a handle for mutations_free, NULL
 * when out of memory. Borrows: root (copied). */
struct mutations *mutations_new(uint32_t dev, const char *root);
void mutations_free(struct mutations *m);
static inline void cleanup_mutations_fn(struct mutations **m)
{
	mutations_free(*m);
}
#define cleanup_mutations __attribute__((__cleanup__(cleanup_mutations_fn)))

/* Takes any event. Returns: 0 or -ENOMEM (the set has overflowed). Borrows: e. */
int mutations_add(struct mutations *m, const struct event *e);

/* What may have changed path, relative to the workspace without "./" ("src/a.c"; "" is the
 * workspace itself). ino: its inode number in one of the manifests, 0 if not known.
 * *ret_mutation (may be NULL) is the entry of the path itself, else of the inode, else of
 * the nearest directory above whose subtree counts.
 * Returns: true when it is explained; false also when the set has overflowed.
 * Borrows: path. */
bool mutations_explain(const struct mutations *m, const char *path, uint64_t ino,
		       struct mutation *ret_mutation);

/* Calls fn for each path until it returns other than 0; the order is not defined.
 * Returns: what fn returned last, 0 for an empty set. Borrows: all. */
typedef int mutations_each_fn(const char *path, const struct mutation *mutation, void *arg);
int mutations_each(const struct mutations *m, mutations_each_fn *fn, void *arg);

/* Returns: distinct paths; events in the workspace's file system without a complete path;
 * whether a bound was hit. Borrows: m. */
size_t mutations_count(const struct mutations *m);
uint64_t mutations_unresolved(const struct mutations *m);
bool mutations_overflowed(const struct mutations *m);

/* Returns: true when a passed operation of this kind can change what a manifest shows
 * (want: rights asked for, which decide for reads, maps, ioctls and received files). */
bool mutation_op_changes(unsigned int op, uint32_t want);

#endif
