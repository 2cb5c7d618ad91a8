/* SPDX-License-Identifier: MIT */
/*
 * weir pending, review, approve, reject, withdraw, except: what people say about a promotion. The gate
 * does the work; here a run's id becomes its directory, and the agent's socket, which the gate would not
 * look for itself, is named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/cli/cmd.h"
#include "user/cli/gatecall.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"

#define GATE_ARGS 64

struct call {
	const char *args[GATE_ARGS];
	int count;
};

static int add(struct call *c, const char *arg)
{
	if (c->count == GATE_ARGS - 1)
		return -1;
	c->args[c->count++] = arg;
	return 0;
}

static int call_gate(const struct call *c)
{
	struct weir_err e = { 0 };
	int status = gate_call(c->args, NULL, &e);

	return status < 0 ? say_error(&e) : status;
}

/* weir NAME [RUN] [OPTION...] becomes weir-gate NAME --run DIR [--agent SOCKET] [OPTION...]. */
static int about_run(const char *name, bool signs, int argc, char **argv)
{
	const char *agent = getenv("SSH_AUTH_SOCK"), *which = NULL;
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_free char *state = NULL;
	struct call c = { .args = { name }, .count = 1 };
	struct weir_err e = { 0 };
	int first = 1, full = 0;

	if (argc > 1 && argv[1][0] != '-')
		which = argv[first++];
	else if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 ||
			      strncmp(argv[1], "--nonce", 7) == 0))
		first = 0;
	if (first > 0) {
		if (runs_open(which, &state, &run, &e) < 0)
			return say_error(&e);
		full |= add(&c, "--run") | add(&c, run.path);
	}
	if (signs && agent && agent[0])
		full |= add(&c, "--agent") | add(&c, agent);
	for (int i = first > 0 ? first : 1; i < argc; i++)
		full |= add(&c, argv[i]);
	if (full) {
		fprintf(stderr, "weir: more than %d arguments\n", GATE_ARGS - 2);
		return CLI_USAGE;
	}
	return call_gate(&c);
}

int cmd_pending(int argc, char **argv)
{
	struct call c = { .args = { "pending" }, .count = 1 };

	for (int i = 1; i < argc; i++)
		if (add(&c, argv[i]) < 0)
			return CLI_USAGE;
	return call_gate(&c);
}

int cmd_review(int argc, char **argv)
{
	return about_run("review", false, argc, argv);
}

int cmd_approve(int argc, char **argv)
{
	return about_run("approve", true, argc, argv);
}

int cmd_reject(int argc, char **argv)
{
	return about_run("reject", true, argc, argv);
}

int cmd_withdraw(int argc, char **argv)
{
	return about_run("withdraw", true, argc, argv);
}

int cmd_except(int argc, char **argv)
{
	return about_run("except", true, argc, argv);
}
