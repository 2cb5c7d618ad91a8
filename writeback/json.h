/* SPDX-License-Identifier: MIT */
/*
 * Small helpers around jansson: strict reading, canonical writing, and texts that may hold
 * any bytes, which are stored in the form of user/base/escape.h.
 */
#ifndef WEIR_WRITEBACK_JSON_H
#define WEIR_WRITEBACK_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/base/buf.h"
#include "user/base/err.h"

static inline void cleanup_json_fn(json_t **j)
{
	json_decref(*j);
}
#define cleanup_json __attribute__((__cleanup__(cleanup_json_fn)))

/* Reads one JSON object; duplicate names and anything after it are errors.
 * Returns: a reference, NULL with e. Borrows: text, name (for messages). */
json_t *json_read(const char *text, size_t len, const char *name, struct weir_err *e);

/* Appends the canonical text (sorted, compact) and a newline. Returns: 0 or -ENOMEM.
 * Borrows: json. */
int json_canonical(const json_t *json, struct buf *ret_text);

/* Returns: a new string with the escaped form of text, NULL when out of memory.
 * Borrows: text. */
json_t *json_escaped(const char *text);

/* Returns: a new "MAJ:MIN" of an st_dev. */
json_t *json_dev(uint64_t dev);

/* The bytes behind an escaped text member. Returns: a string for free(), NULL when it is
 * missing, no text, or not in the escaped form. Borrows: all. */
char *json_take_escaped(const json_t *object, const char *name);

/* Copies a text of exactly size - 1 lower-case hex digits. Returns: 0 or -EINVAL. */
int json_take_fixed(const json_t *object, const char *name, char *ret_text, size_t size);

/* Reads "MAJ:MIN" as an st_dev. Returns: 0 or -EINVAL. Borrows: all. */
int json_take_dev(const json_t *object, const char *name, uint64_t *ret_dev);

/* Returns: whether a member is this very text. Borrows: all. */
bool json_text_is(const json_t *object, const char *name, const char *text);

#endif
