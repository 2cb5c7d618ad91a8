/* SPDX-License-Identifier: MIT */
/* The next key lies in a file beside the one in use, with ".new" behind its name, until it takes that
 * one's place; a crash leaves it there, and it is taken up again. */
#ifndef WEIR_WRITEBACK_KEYNEXT_H
#define WEIR_WRITEBACK_KEYNEXT_H

#include <stdbool.h>

#include "user/base/err.h"
#include "writeback/sshkey.h"

/* Loads it, made if it is not there. Returns: 0 or a negative errno with e. Borrows: now (path of the
 * one in use), comment. Gives: ret_key (wipe it). */
int keynext_make(const char *now, const char *comment, struct sshkey *ret_key, struct weir_err *e);

/* Returns: whether there is one. Borrows: now. */
bool keynext_is_there(const char *now);

/* Puts it in place of the one in use. Returns: 0 or a negative errno with e. Borrows: now. */
int keynext_take(const char *now, struct weir_err *e);

#endif
