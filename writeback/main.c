/* SPDX-License-Identifier: MIT */
/* weir-gate: the only program that writes to the trusted repository. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/command.h"
#include "writeback/reason.h"
#include "writeback/version.h"

static const struct {
	const char *name;
	const char *argv0;
	const char *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
#define WEIR_X(function, name, summary) { name, "weir-gate " name, summary, command_##function },
	GATE_COMMANDS(WEIR_X)
#undef WEIR_X
};

/* What git tells its hooks, and only `receive` is a hook. */
static const char *const hook_variables[] = { "GIT_DIR", "GIT_QUARANTINE_PATH", "GIT_PUSH_CERT",
					      "GIT_PUSH_CERT_NONCE", "GIT_PUSH_CERT_NONCE_STATUS" };

/* Nothing else of the caller's environment reaches libraries. Returns: 0 or -1. */
static int clean_environment(const char *command)
{
	char *kept[ARRAY_SIZE(hook_variables)] = { NULL };
	bool hook = command && strcmp(command, "receive") == 0;
	int err = 0;

	for (size_t i = 0; hook && i < ARRAY_SIZE(hook_variables); i++) {
		const char *value = getenv(hook_variables[i]);

		kept[i] = value ? strdup(value) : NULL;
		if (value && !kept[i])
			err = -1;
	}
	if (clearenv() != 0 || setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) != 0)
		err = -1;
	for (size_t i = 0; i < ARRAY_SIZE(hook_variables); i++) {
		if (kept[i] && setenv(hook_variables[i], kept[i], 1) != 0)
			err = -1;
		free(kept[i]);
	}
	return err;
}

static int help(void)
{
	printf("usage: weir-gate COMMAND [OPTION...]\n\ncommands:\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n`weir-gate COMMAND --help` tells more.\n");
	return fflush(stdout) == 0 ? 0 : GATE_EXIT_FAILED;
}

static int unknown_command(const char *name)
{
	char safe[256];

	escape_bytes(name, strnlen(name, 64), safe, sizeof(safe));
	fprintf(stderr, "weir-gate: there is no command '%s'; `weir-gate help` lists them\n", safe);
	return GATE_EXIT_USAGE;
}

/* Descriptors 0 to 2 must be open, so that no file of ours takes their place. */
static int open_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	if (open_standard() < 0 || clean_environment(argc > 1 ? argv[1] : NULL) < 0)
		return GATE_EXIT_FAILED;
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		fprintf(stderr, "weir-gate: which command? `weir-gate help` lists them\n");
		return GATE_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return help();
	if (strcmp(argv[1], "--version") == 0) {
		printf("%s\n", GATE_VERSION);
		return fflush(stdout) == 0 ? 0 : GATE_EXIT_FAILED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		argv[1] = (char *)(uintptr_t)commands[i].argv0;
		return commands[i].run(argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}
