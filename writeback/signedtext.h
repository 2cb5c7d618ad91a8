/* SPDX-License-Identifier: MIT */
/*
 * Texts that people sign (writeback/approval.h, writeback/exception.h): lines "KEY VALUE" in a
 * fixed order. Reading is done by value alone; that nothing else stands in a text, and
 * everything in its one form, is known when writing what was read gives the same bytes.
 */
#ifndef WEIR_WRITEBACK_SIGNEDTEXT_H
#define WEIR_WRITEBACK_SIGNEDTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "user/base/buf.h"

/* Appends "KEY VALUE\n", the value escaped, "-" for NULL and "". Returns: as buf_add.
 * Borrows: all. */
int signed_add(struct buf *b, const char *key, const char *value);

/* Calls fn for each line after the first, which must be `head`, with its value undone ("-":
 * NULL). Returns: 0, -EBADMSG for a text of another shape, -ENOMEM, or what fn returned.
 * Borrows: all. */
int signed_each(const char *text, size_t len, const char *head,
		int (*fn)(const char *key, const char *value, void *arg), void *arg);

#endif
