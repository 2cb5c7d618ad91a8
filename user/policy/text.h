/* SPDX-License-Identifier: MIT */
/*
 * A policy's bytes before YAML sees them.
 */
#ifndef WEIR_POLICY_TEXT_H
#define WEIR_POLICY_TEXT_H

#include "user/policy/policy.h"

/* Refuses what nobody would see in a review: too many bytes, other encodings, control and
 * hidden characters. Borrows: file, bytes. Returns: 0, -EINVAL or -EFBIG with the place. */
int policy_check_text(const char *file, const char *bytes, size_t len, struct weir_err *e);

/* Says that a policy has too many bytes. Borrows: file. Returns: -EFBIG. */
int policy_too_large(const char *file, struct weir_err *e);

/* Grows an array by one zeroed item; its count must change nowhere else until the last. Borrows: items (a pointer to the array's pointer).
 * Returns: the new item, valid until the next call, or NULL when out of memory. */
void *policy_grow(void *items, size_t *count, size_t size);

#endif
