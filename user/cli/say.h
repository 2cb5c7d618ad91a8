/* SPDX-License-Identifier: MIT */
/* How commands speak: results to standard output, one line of error to standard error. */
#ifndef WEIR_CLI_SAY_H
#define WEIR_CLI_SAY_H

#include <jansson.h>

#include "user/base/buf.h"
#include "user/base/err.h"

/* Prints the error; nothing if it has no text, since weir-gate has said it. Returns: the exit status that it asks for, CLI_FAILED without one.
 * Borrows: e. */
int say_error(const struct weir_err *e);

/* Prints to standard output. Returns: CLI_OK, or CLI_FAILED with the reason when it can't be
 * written or memory has run out. Borrows: json (NULL: out of memory), b. */
int say_json(const json_t *json);
int say_text(struct buf *b);

#endif
