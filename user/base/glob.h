/* SPDX-License-Identifier: MIT */
/*
 * Globs over relative paths, for writeback.paths. A pattern is matched against the whole
 * path, component by component:
 *
 *   **       as a whole component: any number of components, also none; at the end of
 *            a pattern one at least, so that it means what is below
 *   *        any characters of one component, also none
 *   ?        one character: a well-formed UTF-8 sequence, or one byte that is none
 *   [a-z_]   one ASCII character of the set; [!...] or [^...] one character not in it
 *   \x       the character x itself
 *
 * A pattern that ends in "/" means all below: "src/" is "src/" + "**". A pattern that
 * names a directory alone does not name what is in it. A dot at the start of a name is
 * nothing special. Matching is by bytes, with case. Time is at most (pattern x path).
 *
 * Refused: empty patterns, a "/" at the start, empty, "." and ".." components, "**"
 * beside other characters, an open "[", a "\" at the end, bytes that are not ASCII in a set,
 * control characters, and more than GLOB_MAX bytes.
 */
#ifndef WEIR_BASE_GLOB_H
#define WEIR_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "user/base/err.h"

#define GLOB_MAX 4096

/* Checks a pattern. Returns: 0, or -EINVAL with a text that says what and how to mend,
 * without position. Borrows: pattern. */
int glob_check(const char *pattern, struct weir_err *e);

/* Whether path (relative, len bytes) matches a pattern that passed glob_check; any other
 * pattern matches nothing that it should not, but is no error. Borrows: both.
 * Returns: truth. */
bool glob_match(const char *pattern, const char *path, size_t len);

#endif
