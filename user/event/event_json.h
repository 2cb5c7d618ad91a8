/* SPDX-License-Identifier: MIT */
/*
 * One event of a trace for programs, form of schema weir.event/1:
 *   schema, record "op"|"fork"|"exec"|"exit", seq, time_ns (since boot), thread, actor (as in
 *   weir.run/1: who acted, after what this event changed about it)
 *   op:   hook, finding (true: it speaks against the run), and the members of a finding of
 *         weir.run/1; kind and severity are null where nothing was missing
 *   fork: child {pid, thread, start_ns}, clone_flags
 *   exec: object {path, dev, ino}
 *   exit: status {code} or {signal}
 */
#ifndef WEIR_EVENT_EVENT_JSON_H
#define WEIR_EVENT_EVENT_JSON_H

#include <jansson.h>

#include "user/event/event.h"
#include "user/event/lineage.h"
#include "user/event/mounts.h"

/* Returns: a new reference, NULL when out of memory. Borrows: e; mounts; lineage, and the process
 * that it gave for the event (may be NULL). */
json_t *event_json(const struct event *e, const struct mounts *mounts, struct lineage *lineage,
		   struct lineage_proc *proc);

#endif
