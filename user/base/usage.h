/* SPDX-License-Identifier: MIT */
/*
 * Options of a command, by argp, with errors of one line: argp's own take two or more.
 * For command lines only: a wrong one ends the program with USAGE_EXIT.
 */
#ifndef WEIR_BASE_USAGE_H
#define WEIR_BASE_USAGE_H

#include <argp.h>

#define USAGE_EXIT 2

/* Parses like argp_parse, with --help and --usage. Whatever is wrong ends the program: an
 * option that is unknown, ambiguous, without its value or with one too many, an argument
 * that the parser does not take. Returns: when all is well. Borrows: all. */
void usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/* Ends the program with "NAME: text" on standard error, in place of argp_error. What the
 * text quotes of the command line is escaped here. Returns: never. Borrows: the text. */
void usage_error(const struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Takes an argument of which there is one; `what` is its name in a message.
 * Returns: 0; a second one ends the program. Borrows: arg, in *at. */
error_t usage_take_one(const struct argp_state *state, const char *what, char *arg,
		       const char **at);

#endif
