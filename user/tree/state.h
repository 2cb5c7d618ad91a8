/* SPDX-License-Identifier: MIT */
/*
 * The parts of the state directory, inside this module.
 */
#ifndef WEIR_TREE_STATE_H
#define WEIR_TREE_STATE_H

#include <stdbool.h>

#include "user/base/err.h"

/* Opens STATE/part, made first if `create`; checks that nobody else can change it.
 * Borrows: state, part. Returns: a descriptor; -ENOENT without an error text if it is not
 * there and need not be; -EPERM; other errno. */
int state_open_part(const char *state, const char *part, bool create, struct weir_err *e);

#endif
