/* SPDX-License-Identifier: MIT */
/*
 * Files of git whose content matters to whoever checks them out: .gitattributes that name
 * programs or change bytes, .gitmodules that lead elsewhere. Judged on the quarantined bytes,
 * each setting at its line.
 *
 * .gitattributes (gitattributes(5)): PATTERN ATTRIBUTE..., an attribute being NAME, -NAME, !NAME
 * or NAME=VALUE; "[attr]NAME ATTRIBUTE..." defines a macro. "filter" set in any way, and "diff"
 * or "merge" with a value that git doesn't have built in, name a program of the reader's
 * configuration. ident, working-tree-encoding, export-subst and export-ignore change what is
 * checked out or archived.
 *
 * .gitmodules (gitmodules(5), git-config(1)): [submodule "NAME"], KEY = VALUE. Fine are names
 * and paths that stay in the tree, and URLs of https, ssh and git+ssh or of the form
 * user@host:path, without blanks, controls and leading "-"; branch, shallow and ignore; nothing
 * else: update runs commands, and includes read other files.
 */
#ifndef WEIR_WRITEBACK_CONTENT_H
#define WEIR_WRITEBACK_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "writeback/hazard.h"

/* Whether a path's content has to be inspected. Returns: truth. Borrows: path. */
bool content_matters(const char *path);

/* Adds what the content of such a file brings, one finding for each class with its first line.
 * Returns: 0 or -ENOMEM. Borrows: all. */
int content_inspect(struct hazards *h, const char *path, const char *data, size_t len);

#endif
