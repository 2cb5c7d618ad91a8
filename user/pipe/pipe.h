/* SPDX-License-Identifier: MIT */
/*
 * The way of a record through the collector: decode, verdict, lineage, finding, trace,
 * and at once to whoever wants to hear of findings. Knows nothing of where records come
 * from: the kernel's ring, a stored trace, a test.
 */
#ifndef WEIR_PIPE_PIPE_H
#define WEIR_PIPE_PIPE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/event/finding.h"
#include "user/event/lineage.h"
#include "user/event/mounts.h"
#include "user/event/verdict.h"
#include "user/pipe/pending.h"
#include "user/policy/suggest.h"
#include "user/trace/writer.h"

/* Called for each finding when its first event arrives. Borrows: finding. */
typedef void pipe_alert_fn(const struct finding *finding, void *arg);

/* Called for each event that is well formed, with the process that acted (NULL: not known).
 * Borrows: all. */
typedef void pipe_watch_fn(const struct event *e, struct lineage_proc *proc, void *arg);

/* What a run without a policy would have needed, by path. */
struct pipe_wants {
	struct policy_want *items;
	size_t count, cap;
	size_t left_out; /* past the bound */
	uint64_t powers; /* WEIR_POWER_* */
};

struct pipe {
	struct trace_writer *trace; /* borrowed; NULL: none is written */
	struct mounts *mounts;	    /* borrowed */
	struct lineage *lineage;
	struct findings *findings;
	struct verdict verdict;
	struct pipe_wants wants;
	struct pending pending;
	pipe_alert_fn *alert;
	void *alert_arg;
	pipe_watch_fn *watch; /* NULL: nobody */
	void *watch_arg;
	uint64_t mutations; /* records of members' operations that passed */
	int trace_err;	    /* first failure to write the trace */
	struct weir_err trace_error;
};

/* Starts a pipe. Borrows: trace, mounts, arg, as long as it lives.
 * Returns: 0 or -ENOMEM. */
int pipe_init(struct pipe *p, struct trace_writer *trace, struct mounts *mounts,
	      pipe_alert_fn *alert, void *arg);
void pipe_done(struct pipe *p);

/* One record. Never fails: what is wrong becomes a reason of the verdict. Borrows: bytes. */
void pipe_event(struct pipe *p, const void *bytes, size_t len);

/* Makes findings of what is still held: no thread has an open under way any more. */
void pipe_settle(struct pipe *p);

/* A record of the collector itself, as JSON. type: VERDICT_START, _COVERAGE, _NOTE, _END.
 * Owns: json (a reference is taken over). Returns: 0 or -ENOMEM. */
int pipe_json(struct pipe *p, enum verdict_input type, json_t *json);

/* A finding that the collector made. Returns: as pipe_json. Borrows: note. */
int pipe_note(struct pipe *p, const struct note *note);

#endif
