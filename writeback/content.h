/* SPDX-License-Identifier: MIT */
/*
 * Files of git whose content matters to whoever checks them out: .gitattributes that name
 * programs, .gitmodules that lead elsewhere. Judged on the quarantined bytes.
 */
#ifndef WEIR_WRITEBACK_CONTENT_H
#define WEIR_WRITEBACK_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "writeback/hazard.h"

/* Whether a path's content has to be inspected. Returns: truth. Borrows: path. */
bool content_matters(const char *path);

/* Adds what the content of such a file brings. Returns: 0 or -ENOMEM. Borrows: all. */
int content_inspect(struct hazards *h, const char *path, const char *data, size_t len);

#endif
