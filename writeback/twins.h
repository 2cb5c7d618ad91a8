/* SPDX-License-Identifier: MIT */
/*
 * Names in one directory of the new tree that some systems can't keep apart.
 */
#ifndef WEIR_WRITEBACK_TWINS_H
#define WEIR_WRITEBACK_TWINS_H

#include "writeback/changes.h"
#include "writeback/hazard.h"

/* Adds a hazard for each added path that folds to the name of another one in the tree that
 * base and changes make. Returns: 0 or -ENOMEM. Borrows: all. */
int twins_inspect(struct hazards *h, const struct base *b, const struct changes *changes);

#endif
