/* SPDX-License-Identifier: MIT */
/* The caller's terminal in raw mode, and bytes both ways to the run's own. */
#ifndef WEIR_CLI_TERMINAL_H
#define WEIR_CLI_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
	int master; /* -1: none */
	bool raw;
	struct termios before;
};

/* Puts standard input into raw mode. Borrows: master. */
void terminal_start(struct terminal *t, int master);

/* Copies what is there from standard input to the run, and back. */
void terminal_input(struct terminal *t);
void terminal_output(struct terminal *t);

/* Passes the window's size on. */
void terminal_resize(struct terminal *t);

/* Gives the terminal back as it was. */
void terminal_stop(struct terminal *t);

#endif
