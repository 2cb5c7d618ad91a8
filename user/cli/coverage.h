/* SPDX-License-Identifier: MIT */
/*
 * Coverage of a run: which hooks are attached and how, which families of operations are
 * watched, which file systems there are and how far they can be judged, and what is known
 * to be out of sight. It goes into the trace (record COVERAGE, which user/event/verdict.h
 * reads) and into coverage.json of the run directory.
 *
 *   {"schema": "weir.coverage/1", "source": "lsm", "kernel": "6.12.57", "machine": "x86_64",
 *    "preempt": "full", "programs": DIGEST,
 *    "hooks": {"file_open": {"source": "lsm", "family": "file", "proven": true}},
 *    "families": {"file": {"watched": true, "what": TEXT}},
 *    "filesystems": {"ext4": {"support": "full", "mounts": 3}},
 *    "blind_spots": [TEXT]}
 *
 * source: where decisions are made: lsm, fmod_ret, syscall, none. Of a hook also tracing, cgroup,
 * absent (this kernel reports the same through another hook), unseen (out of this source's sight).
 * support: full, layered, foreign, kernel, unknown; see coverage.c.
 */
#ifndef WEIR_CLI_COVERAGE_H
#define WEIR_CLI_COVERAGE_H

#include <jansson.h>

#include "user/kern/kern.h"

/* Returns: a new reference, NULL when out of memory. Borrows: k; NULL: nothing attached. */
json_t *coverage_json(const struct kern *k);

/* Parts of it, likewise. */
json_t *coverage_hooks_json(const struct kern *k);
json_t *coverage_families_json(const struct kern *k);

/* File systems of a mountinfo text. Returns: a new reference, NULL when out of memory.
 * Borrows: text. Source: proc(5), /proc/PID/mountinfo. */
json_t *coverage_filesystems_json(const char *text);

#endif
