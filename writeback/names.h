/* SPDX-License-Identifier: MIT */
/*
 * Names and link targets that are dangerous on some system that may check the tree out.
 *
 * .git and what other systems take for it: letters of any case; HFS+ ignores U+200C-200F,
 * U+202A-202E, U+206A-206F, U+FEFF; NTFS drops dots and blanks at the end, has the short
 * names GIT~1 to GIT~9, and takes ":" for a stream and "\" for a separator.
 */
#ifndef WEIR_WRITEBACK_NAMES_H
#define WEIR_WRITEBACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "writeback/hazard.h"

/* Limits of what is promoted. */
#define NAMES_PATH_MAX 4095 /* PATH_MAX, without its NUL */
#define NAMES_DEPTH_MAX 128
#define NAMES_FILE_MAX (8ull << 30)   /* bytes; all that reads contents takes them in pieces */
#define NAMES_TOTAL_MAX (64ull << 30) /* bytes of all changed files together */

/* Whether one path component is .git or looks like it. Returns: truth. Borrows: name. */
bool name_is_dotgit(const char *name, size_t len);

/* Whether a component equals `want` (lower case, ASCII) as name_is_dotgit does for ".git", without
 * the short names. Returns: truth. Borrows: all. */
bool name_is_like(const char *name, size_t len, const char *want);

/* Adds the hazards of a path's components to h (each kind once). Returns: 0 or -ENOMEM.
 * Borrows: path. */
int names_inspect_path(struct hazards *h, const char *path);

/* The same for a symlink at path: leads outside (absolute, or more ".." than there are
 * directories behind the first `root` bytes), into a .git, or is itself a git control file. Returns: 0 or -ENOMEM.
 * Borrows: all. */
int names_inspect_link(struct hazards *h, const char *path, size_t root, const char *target);

#define NAME_PART_MAX 255	    /* bytes of a component: NAME_MAX; the rest is not looked at */
#define NAME_FOLD_MAX (4 * 256 + 1) /* bytes of a folded one, with its NUL */

/* Folded form of one component, equal for names that case-folding or normalising systems
 * can't hold beside each other: HFS ignorables dropped, canonical caseless form (NFD, full case
 * folding, NFD), NTFS's trailing dots and blanks cut. Bytes that are no UTF-8 stay, with ASCII
 * letters folded. Writes at most NAME_FOLD_MAX bytes. Aborts without memory, so that no twin is
 * missed. Returns: length. Borrows: name. Source: Unicode 15, 3.13; tables of libunistring. */
size_t name_fold(const char *name, size_t len, char *out);

/* The same with letters drawn as Latin ones where they look like them: equal for names that
 * people can't tell apart. Returns: length. Borrows: name. Source: UTS 39. */
size_t name_look(const char *name, size_t len, char *out);

/* Whether no byte is above 0x7f: name_fold and name_look are equal then. Returns: truth.
 * Borrows: name. */
bool name_is_ascii(const char *name, size_t len);

#endif
