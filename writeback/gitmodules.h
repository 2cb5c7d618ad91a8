/* SPDX-License-Identifier: MIT */
/*
 * .gitmodules, read as strictly as git reads it loosely: only what a submodule needs, in the
 * plainest spelling. What is written otherwise is a fault, whether git would take it or not.
 *
 * Grammar: lines of blanks, "# ..." or "; ...", [submodule "NAME"], and KEY = VALUE below one. No
 * continued lines, no escapes, no other quotes than around a whole value, no controls but tab.
 * CVE-2018-11235 (names), 2018-17456 (URL as an option), 2020-5260 (newline in URL),
 * 2025-48384 (carriage return) and ext:: transports are what this is for.
 */
#ifndef WEIR_WRITEBACK_GITMODULES_H
#define WEIR_WRITEBACK_GITMODULES_H

#include <stddef.h>

struct gitmodules_fault {
	unsigned long line; /* from 1 */
	const char *why;    /* static */
};

/* Checks a whole file. Returns: 0, or -EINVAL with the first fault. Borrows: data. */
int gitmodules_check(const char *data, size_t len, struct gitmodules_fault *ret_fault);

#endif
