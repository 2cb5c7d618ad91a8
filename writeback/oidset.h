/* SPDX-License-Identifier: MIT */
/* A table from object ids to numbers. */
#ifndef WEIR_WRITEBACK_OIDSET_H
#define WEIR_WRITEBACK_OIDSET_H

#include <git2.h>
#include <stdbool.h>
#include <stddef.h>

struct oidset;

/* Returns: an empty table for oidset_free, NULL when out of memory. */
struct oidset *oidset_new(void);
void oidset_free(struct oidset *s);

/* Adds an id that is not there. Returns: 0 or -ENOMEM. Borrows: id. */
int oidset_put(struct oidset *s, const git_oid *id, size_t number);

/* Returns: whether it is there. Gives: its number. Borrows: id. */
bool oidset_get(const struct oidset *s, const git_oid *id, size_t *ret_number);

#endif
