/* SPDX-License-Identifier: MIT */
/* weir: the table of commands, from which dispatch and help come. */
#include <stdio.h>
#include <string.h>

#include "bpf/abi/event.h"
#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/version.h"
#include "user/cli/cmd.h"

static const struct cmd commands[] = {
	{ "run", "run a command under watch and judge what it did", cmd_run },
	{ "show", "tell what a run did", cmd_show },
	{ "trace", "print every record of a run, for forensics", cmd_trace },
	{ "list", "list the runs, and the seals", cmd_list },
	{ "rm", "remove runs", cmd_rm },
	{ "seal", "let nobody change a directory, as long as this goes on", cmd_seal },
	{ "unseal", "end a seal", cmd_unseal },
	{ "commit", "promote a run: let the gate make a signed commit of it", cmd_commit },
	{ "rebase", "the same on top of a branch that has moved meanwhile", cmd_rebase },
	{ "pending", "list the promotions that wait for people", cmd_pending },
	{ "review", "show all of a promotion that waits", cmd_review },
	{ "approve", "sign a yes to it", cmd_approve },
	{ "reject", "sign a no to it", cmd_reject },
	{ "withdraw", "take back what you signed about it", cmd_withdraw },
	{ "except", "accept findings of a run for a time, by name, signed", cmd_except },
	{ "verify", "verify a promoted commit", cmd_verify },
	{ "audit", "verify every commit of a branch, and the ledger", cmd_audit },
	{ "revert", "undo the tip of a branch, signed by a platform owner", cmd_revert },
	{ "tag", "name a promoted commit for good, by a signed tag", cmd_tag },
	{ "attest", "print the attestations of a promoted commit", cmd_attest },
	{ "policy", "check a policy, or explain what it says about a path", cmd_policy },
	{ "doctor", "tell what this host can do, by trying, and what to change", cmd_doctor },
	{ "recover", "clean up after a crash: slots, members, locks, checkouts", cmd_recover },
	{ "unload", "take weir's programs out of the kernel", cmd_unload },
};

static void print_help(FILE *to)
{
	fputs("Usage: weir COMMAND [OPTION...]\n"
	      "Watches a command, judges what it did to the host, and promotes its output.\n\n",
	      to);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fputs("  help      this, or with the name of a command its options\n\n"
	      "A first run:  sudo weir run -w DIR -- make\n"
	      "Exit status:  that of the command; 120 violated, 121 indeterminate, 122 refused by\n"
	      "              the gate, 2 usage or policy error, 125 weir failed, 126 and 127 as\n"
	      "              env(1). More in weir(1).\n",
	      to);
}

static const struct cmd *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	char safe[128];

	escape_bytes(name, strlen(name), safe, sizeof(safe));
	fprintf(stderr, "weir: unknown command '%s'; there are:", safe);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(stderr, " %s", commands[i].name);
	fprintf(stderr, " help\n");
	return CLI_USAGE;
}

/* The command's name becomes "weir NAME", as its messages and its help should show it. */
static int call(const struct cmd *cmd, int argc, char **argv)
{
	char name[32];

	snprintf(name, sizeof(name), "weir %s", cmd->name);
	argv[0] = name;
	return cmd->fn(argc, argv);
}

static int help(int argc, char **argv)
{
	char *const option = (char *)"--help";
	const struct cmd *cmd;

	if (argc < 2) {
		print_help(stdout);
		return CLI_OK;
	}
	cmd = find_command(argv[1]);
	if (!cmd)
		return unknown_command(argv[1]);
	return call(cmd, 2, (char *[]){ argv[1], option, NULL });
}

int main(int argc, char **argv)
{
	const struct cmd *cmd;

	if (argc < 2) {
		fprintf(stderr, "weir: which command? `weir help` lists them\n");
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "-?") == 0) {
		print_help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("weir %s (records of version %d)\n", WEIR_VERSION, WEIR_ABI_VERSION);
		return CLI_OK;
	}
	cmd = find_command(argv[1]);
	return cmd ? call(cmd, argc - 1, argv + 1) : unknown_command(argv[1]);
}
