/* SPDX-License-Identifier: MIT */
/*
 * Findings of a run: FINDING events and notes, aggregated by (kind, op, outcome, path, target)
 * with exact counts, the first actor, its ancestors and the rule that was missing.
 *
 * An event with two bad objects (rename, link) gives two findings. Proofs of life give
 * none. Bounds: FINDINGS_MAX distinct ones and FINDINGS_BYTES of paths; what comes after
 * is counted exactly in one finding per kind with `overflow` set.
 */
#ifndef WEIR_EVENT_FINDING_H
#define WEIR_EVENT_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/event/event.h"
#include "user/event/lineage.h"
#include "user/event/mounts.h"
#include "user/event/names.h"
#include "user/event/note.h"

#define FINDINGS_MAX 10000
#define FINDINGS_BYTES (8u << 20)

struct finding {
	unsigned int kind;
	unsigned int op;
	unsigned int outcome;
	enum severity severity;
	const char *family; /* class of the hook: "file", "name" ...; "run" for notes */
	const char *path;   /* host path, not escaped, NUL-terminated; "" if there is none */
	size_t path_len;    /* Units: bytes */
	const char *other;  /* the other path of a rename or link, like path; "" */
	const char *text;   /* of a note or an overflow, escaped; "" */
	const char *target; /* what else it was aimed at: event_target(); "" */
	uint64_t count;	    /* of events */
	uint64_t first_seq; /* of the first event, 0 for notes */
	uint64_t ts_ns;	    /* of the first event, since boot */
	uint32_t flags;	    /* WEIR_EV_*, of the first event */
	uint32_t rule;	    /* number of the policy rule that applied, 0: none */
	uint32_t want;	    /* rights that were asked for */
	uint32_t have;
	uint32_t aux;
	uint32_t pid; /* of the first event, for findings without actor; 0 for notes */
	uint32_t ns_pid;
	uint32_t uid;
	uint32_t error;
	uint64_t powers;	     /* that were asked for */
	struct weir_object object;   /* of the first event */
	struct weir_peer peer;	     /* likewise */
	struct lineage_actor *actor; /* NULL for notes, overflows and outsiders */
	bool overflow;
	bool note;
};

/* Where the texts of a finding lie that is made of one event alone. */
struct finding_texts {
	char path[MOUNTS_PATH_SIZE];
	char other[MOUNTS_PATH_SIZE];
	char target[EVENT_TARGET_SIZE];
};

/* What an OP event says about its first or its second object, as a finding of its own (whether it
 * is one or not), counted once and without an actor. Borrows: e; mounts (may be NULL); texts,
 * as long as *ret_finding is used. Returns: 0 or -ENAMETOOLONG. */
int finding_of_event(const struct event *e, bool second, const struct mounts *mounts,
		     struct finding_texts *texts, struct finding *ret_finding);

struct findings;

/* Returns: a handle for findings_free, NULL when out of memory. Borrows: mounts (may be
 * NULL) and lineage, which must outlive the handle. */
struct findings *findings_new(const struct mounts *mounts, struct lineage *lineage);
void findings_free(struct findings *f);
static inline void cleanup_findings_fn(struct findings **f)
{
	findings_free(*f);
}
#define cleanup_findings __attribute__((__cleanup__(cleanup_findings_fn)))

/* Takes an event and the process that lineage_add() gave for it (may be NULL); events that
 * are no findings change nothing. Findings that are new have the highest indexes.
 * Returns: number of new findings (0 to 2), or -ENOMEM. Borrows: e, proc. */
int findings_add_event(struct findings *f, const struct event *e, struct lineage_proc *proc);

/* Takes a note. Returns: 1 when it is new, 0, or -ENOMEM. Borrows: n. */
int findings_add_note(struct findings *f, const struct note *n);

/* Returns: how many there are; the one at index i < count, borrowed until the handle goes.
 * Borrows: f. */
size_t findings_count(const struct findings *f);
const struct finding *findings_at(const struct findings *f, size_t i);

/* Form of schema weir.run/1, member of findings[]:
 *   class, kind, severity, op, outcome, count, rule (number or null),
 *   object {path, dev "MAJ:MIN", ino, type "file"|"directory"|... or null, size, and where
 *     escaping changed the path path_bytes: its exact bytes in base64},
 *   actor (as lineage_actor_json, with ns_pid and uid; null for notes and overflows),
 *   flags ["truncated", "unresolved", ...], want, have (names of rights), aux;
 *   other (second path of a rename or link), text, overflow, powers ["namespaces: user"],
 *   target (a text), peer (of the first event: {pid, uid, start_ns} of a process, {family, type,
 *   protocol, port, address} of a socket, number) where they apply.
 * Returns: a new reference, NULL when out of memory. Borrows: f. */
json_t *finding_json(const struct finding *f);
json_t *findings_json(const struct findings *f);

#endif
