/* SPDX-License-Identifier: MIT */
/* A run once more, from its trace alone: what is left of one that was cut short. */
#ifndef WEIR_CLI_REPLAY_H
#define WEIR_CLI_REPLAY_H

#include <jansson.h>

#include "user/base/err.h"
#include "user/event/event.h"
#include "user/event/lineage.h"
#include "user/event/mounts.h"
#include "user/tree/rundir.h"

/* Reads the trace of a run up to its end, or to where it breaks off, which makes the verdict
 * indeterminate unless it is violated. Gives: the document that run.json would be, as far as
 * the trace tells. Returns: 0, -ENOENT, -EBADMSG (not even a beginning that can be read),
 * -ENOMEM, an errno of reading. Borrows: run. */
int replay_run(const struct rundir *run, json_t **ret_json, struct weir_err *e);

/* Who hears of each record, in the order of the trace. All that they get is borrowed. */
struct replay_watch {
	void (*event)(const struct event *e, const struct mounts *mounts, struct lineage *lineage,
		      struct lineage_proc *proc, void *arg);
	/* The collector's own records: name is "start", "coverage", "note" or "end". */
	void (*json)(const char *name, const json_t *json, void *arg);
	void *arg;
};

/* Reads the trace of a run up to its end, or to where it breaks off. Returns: 0, -EBADMSG with
 * the place and the reason after all records before it were handed out, -ENOENT, -ENOMEM, an
 * errno of reading. Borrows: run, watch. */
int replay_watch(const struct rundir *run, const struct replay_watch *watch, struct weir_err *e);

#endif
