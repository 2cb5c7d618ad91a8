/* SPDX-License-Identifier: MIT */
/*
 * NOTE record of a trace: a finding by the collector itself (leftover members, writers
 * that a sweep found, a lost canary). JSON object; all members but kind and severity may
 * be absent; unknown members are ignored:
 *
 *   {"kind": "membership", "severity": "error", "op": "write", "outcome": "passed",
 *    "path": "/lab/ws/a", "dev": "8:1", "ino": 12, "text": "what happened", "count": 1}
 *
 * path and text are escaped (user/base/escape.h). Severity error or worse makes the
 * verdict violated. In a run without policy a leftover member is a notice.
 */
#ifndef WEIR_EVENT_NOTE_H
#define WEIR_EVENT_NOTE_H

#include <jansson.h>
#include <stdint.h>

#include "user/base/err.h"
#include "user/event/names.h"

struct note {
	unsigned int kind;    /* enum weir_kind */
	unsigned int op;      /* enum weir_op */
	unsigned int outcome; /* enum weir_outcome */
	enum severity severity;
	uint32_t dev;
	uint64_t ino;
	uint64_t count;
	const char *path; /* escaped; "" if none */
	const char *text; /* escaped; "" if none */
};

/* Returns: 0 or -EINVAL. Borrows: json, for as long as the texts of *ret_note are used. */
int note_from_json(const json_t *json, struct note *ret_note, struct weir_err *e);

/* Returns: a new reference, NULL when out of memory. Borrows: n. */
json_t *note_to_json(const struct note *n);

#endif
