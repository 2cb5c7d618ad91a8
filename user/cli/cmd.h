/* SPDX-License-Identifier: MIT */
/* The commands of weir: one table in main.c, from which dispatch and help come. */
#ifndef WEIR_CLI_CMD_H
#define WEIR_CLI_CMD_H

/* Exit statuses, as the README and the man page list them. */
enum cli_exit {
	CLI_OK = 0,
	CLI_USAGE = 2,
	CLI_VIOLATED = 120,
	CLI_INDETERMINATE = 121,
	CLI_REFUSED = 122,
	CLI_FAILED = 125,
	CLI_NOT_EXECUTABLE = 126,
	CLI_NOT_FOUND = 127,
};

struct cmd {
	const char *name;
	const char *summary;		  /* one line */
	int (*fn)(int argc, char **argv); /* argv[0] is "weir NAME"; returns an exit status */
};

/* One for each row of the table; argv as in struct cmd. Return: an exit status. */
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_seal(int argc, char **argv);
int cmd_unseal(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_commit(int argc, char **argv);
int cmd_rebase(int argc, char **argv);
int cmd_pending(int argc, char **argv);
int cmd_review(int argc, char **argv);
int cmd_approve(int argc, char **argv);
int cmd_reject(int argc, char **argv);
int cmd_withdraw(int argc, char **argv);
int cmd_except(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_attest(int argc, char **argv);
int cmd_revert(int argc, char **argv);
int cmd_tag(int argc, char **argv);
int cmd_unload(int argc, char **argv);

#endif
