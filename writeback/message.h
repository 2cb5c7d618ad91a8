/* SPDX-License-Identifier: MIT */
/*
 * Commit messages: what a person may write, and our trailers after it.
 *
 * Refused: empty messages, more than MESSAGE_MAX bytes, NUL, control characters but newline
 * and tab, hidden characters, invalid UTF-8, and lines that imitate our trailers in any
 * case, with blanks around or another separator.
 */
#ifndef WEIR_WRITEBACK_MESSAGE_H
#define WEIR_WRITEBACK_MESSAGE_H

#include "user/base/buf.h"
#include "user/base/err.h"

#define MESSAGE_MAX 65536 /* bytes */

/* Checks a message. Returns: 0 or refused with code "message". Borrows: message. */
int message_check(const char *message, struct weir_err *e);

/* Checks an author "Name <email>". Returns: 0 or refused with code "message".
 * Borrows: author. */
int message_check_author(const char *author, struct weir_err *e);

/* Appends a message without blank lines at its end. Returns: as buf_add. Borrows: message. */
int message_add(struct buf *b, const char *message);

#endif
