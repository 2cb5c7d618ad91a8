/* SPDX-License-Identifier: MIT */
/*
 * Inside of user/event/verdict.h: the JSON records that a verdict reads. json may be NULL
 * or of any form; what is wrong with it becomes a reason.
 */
#ifndef WEIR_EVENT_VERDICT_READ_H
#define WEIR_EVENT_VERDICT_READ_H

#include <jansson.h>

#include "user/event/verdict.h"

/* Each takes one record. Returns: nothing, see above. Borrows: v, json. */
void verdict_read_start(struct verdict *v, const json_t *json);
void verdict_read_coverage(struct verdict *v, const json_t *json);
void verdict_read_note(struct verdict *v, const json_t *json);
void verdict_read_end(struct verdict *v, const json_t *json);

#endif
