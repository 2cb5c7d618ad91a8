/* SPDX-License-Identifier: MIT */
/*
 * Error record of module borders. The caller owns it and starts with {0}; success
 * leaves it untouched. Library code fills it and prints nothing; the command line
 * prints it once. The text is one line, subject first, already safe for a terminal.
 */
#ifndef WEIR_BASE_ERR_H
#define WEIR_BASE_ERR_H

#include <stdbool.h>

struct weir_err {
	int err;	/* negative errno, 0 if unset */
	int exit_code;	/* exit status that this error asks for, 0: the caller's default */
	char code[32];	/* stable name for programs ("base-moved"), "" if none */
	char text[992]; /* what, where, what to do; always terminated, no newline */
};

/* Sets e (may be NULL) to err and a formatted text. Returns: err, so that callers can
 * write `return err_set(...)`. Borrows: everything; the text is copied. */
int err_set(struct weir_err *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with a stable code, for refusals that tests and programs compare.
 * Returns: err. Borrows: code and text. */
int err_code(struct weir_err *e, int err, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Like err_set, and appends ": " and the text of err, for which a long text is cut. Returns:
 * err. Borrows: the text. */
int err_errno(struct weir_err *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts context in front of the text that e has. Returns: e->err. Borrows: the text. */
int err_wrap(struct weir_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* clang's analyser sees one file at a time, and can't know that these return less than 0. */
#if defined(__clang_analyzer__) && !defined(WEIR_ERR_ITSELF)
#define err_set(...) (err_set(__VA_ARGS__), -1)
#define err_code(...) (err_code(__VA_ARGS__), -1)
#define err_errno(...) (err_errno(__VA_ARGS__), -1)
#endif

#endif
