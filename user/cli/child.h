/* SPDX-License-Identifier: MIT */
/*
 * The command of a run, held between fork and exec: single-threaded, its identity,
 * limits and descriptors final, so that membership can be given before it runs a single
 * instruction of the command.
 */
#ifndef WEIR_CLI_CHILD_H
#define WEIR_CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/err.h"

struct child_spec {
	char *const *argv;
	char *const *envp;
	const char *cwd;
	const char *user; /* for its supplementary groups */
	uid_t uid;
	gid_t gid;
	uint64_t capabilities; /* kept in all sets, the bounding set included */
	bool no_new_privs;
	bool terminal;	     /* own pseudo terminal; else only an own session */
	uint64_t file_bytes; /* largest file that it may write, 0: no limit */
	const char *cgroup;  /* directory of its cgroup, NULL: none */
};

struct child {
	pid_t pid;
	int pidfd;
	int master; /* of the pseudo terminal, -1: none */
	int go;	    /* write end that releases it */
	int report; /* read end: errno of a failed exec, or end of file */
};

/* Forks and waits until the child has set itself up. Gives: *ret_child.
 * Returns: 0 or a negative errno, the child then being gone. Borrows: spec. */
int child_hold(const struct child_spec *spec, struct child *ret_child, struct weir_err *e);

/* Lets it exec. Returns: 0, or the negative errno with which exec failed. */
int child_release(struct child *c);

/* Closes what is open. The process is left alone. */
void child_close(struct child *c);

#endif
