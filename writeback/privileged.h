/* SPDX-License-Identifier: MIT */
/*
 * Paths whose content other people's machines run or obey without asking: CI, hooks, editors,
 * agents, shells, interpreters, builds. Each is a class of hazard.h with a role of its own.
 *
 * Names are compared as systems that fold case and normalise do (name_fold), at any depth. A row
 * that begins with a dot may be a directory and stands for all below it.
 */
#ifndef WEIR_WRITEBACK_PRIVILEGED_H
#define WEIR_WRITEBACK_PRIVILEGED_H

#include "writeback/hazard.h"

struct privileged;

/* Prepares the table. Returns: 0 or -ENOMEM. Gives: ret for privileged_free. */
int privileged_new(struct privileged **ret_privileged);
void privileged_free(struct privileged *p);
static inline void cleanup_privileged_fn(struct privileged **p)
{
	privileged_free(*p);
}
#define cleanup_privileged __attribute__((__cleanup__(cleanup_privileged_fn)))

/* The class of a path. Returns: a kind, HAZARD_COUNT for an ordinary path; the part that matched in
 * ret_row, static. Borrows: p, path. */
enum hazard_kind privileged_class(const struct privileged *p, const char *path,
				  const char **ret_row);

#endif
