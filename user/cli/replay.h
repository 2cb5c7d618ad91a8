/* SPDX-License-Identifier: MIT */
/* A run once more, from its trace alone: what is left of one that was cut short. */
#ifndef WEIR_CLI_REPLAY_H
#define WEIR_CLI_REPLAY_H

#include <jansson.h>

#include "user/base/err.h"
#include "user/tree/rundir.h"

/* Reads the trace of a run up to its end, or to where it breaks off, which makes the verdict
 * indeterminate unless it is violated. Gives: the document that run.json would be, as far as
 * the trace tells. Returns: 0, -ENOENT, -EBADMSG (not even a beginning that can be read),
 * -ENOMEM, an errno of reading. Borrows: run. */
int replay_run(const struct rundir *run, json_t **ret_json, struct weir_err *e);

#endif
