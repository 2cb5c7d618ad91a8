/* SPDX-License-Identifier: MIT */
/*
 * weir commit, rebase, revert, tag, verify, audit, attest: the gate does the work; weir holds the seal while it does.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/cli/cmd.h"
#include "user/cli/gatecall.h"
#include "user/cli/runs.h"
#include "user/cli/say.h"
#include "user/cli/seal.h"
#include "user/tree/rundir.h"

#define GATE_ARGS 24

/* The workspace as the run's statement names it; only to know what to seal. The gate
 * checks the statement itself. */
static char *workspace_of(const struct rundir *run)
{
	cleanup_buf struct buf text = { 0 };
	json_t *json;
	char *path = NULL;

	if (fsio_read_file(run->fd, "statement.json", 1u << 20, &text, NULL) < 0)
		return NULL;
	json = json_loads(buf_str(&text), JSON_REJECT_DUPLICATES, NULL);
	path = (char *)json_string_value(
		json_object_get(json_object_get(json, "workspace"), "path"));
	path = path ? strdup(path) : NULL;
	json_decref(json);
	if (path && escape_undo(path) < 0) {
		free(path);
		return NULL;
	}
	return path;
}

static int promote(const struct rundir *run, const char *option, const char *const *rest,
		   struct weir_err *e)
{
	const char *args[GATE_ARGS] = { "commit", "--run", run->path };
	cleanup_free char *workspace = workspace_of(run);
	struct seal seal = SEAL_NONE;
	struct kern_probe probe;
	unsigned long long denied;
	int n = 3, status = 0;

	if (option)
		args[n++] = option;
	for (int i = 0; rest[i]; i++)
		args[n++] = rest[i];
	kern_probe(&probe);
	if (workspace && probe.source == KERN_SOURCE_MISSING)
		return err_set(e, -ENOSYS, "cannot seal %s: %s", workspace, probe.missing);
	if (workspace && probe.source == KERN_SOURCE_SYSCALL)
		fprintf(stderr,
			"weir: nothing keeps others out of %s meanwhile: the gate takes only bytes "
			"that the run's manifest names\n",
			workspace);
	/* without a statement there is nothing to promote: let the gate say so */
	else if (workspace && access(workspace, F_OK) == 0)
		status = seal_begin(workspace, probe.source, &seal, e);
	if (status == 0)
		status = gate_call(args, NULL, e);
	denied = seal_denied(&seal);
	seal_end(&seal);
	if (denied)
		fprintf(stderr,
			"weir: while the gate worked, %llu attempts to change %s were denied\n",
			denied, workspace);
	return status;
}

#define COMMIT_USAGE " [RUN] [-m MESSAGE] [OPTION of weir-gate commit...]"

static int too_many(void)
{
	fprintf(stderr, "weir: more than %d arguments for weir-gate\n", GATE_ARGS - 4);
	return CLI_USAGE;
}

static int promote_run(int argc, char **argv, const char *option)
{
	cleanup_free char *state = NULL;
	cleanup_rundir struct rundir run = { .fd = -1 };
	struct weir_err e = { 0 };
	const char *which = NULL;
	int first = 1, status;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)) {
		printf("Usage: weir %s" COMMIT_USAGE "\n", argv[0]);
		return CLI_OK;
	}
	if (argc > 1 && argv[1][0] != '-')
		which = argv[first++];
	if (argc - first > GATE_ARGS - 5)
		return too_many();
	status = runs_open(which, &state, &run, &e);
	if (status == 0)
		status = promote(&run, option, (const char *const *)argv + first, &e);
	return status < 0 ? say_error(&e) : status;
}

int cmd_commit(int argc, char **argv)
{
	return promote_run(argc, argv, NULL);
}

int cmd_rebase(int argc, char **argv)
{
	return promote_run(argc, argv, "--rebase");
}

/* The gate's command of the same name, with the same arguments. */
static int pass_on(const char *name, int argc, char **argv)
{
	const char *args[GATE_ARGS] = { name };
	struct weir_err e = { 0 };
	int status;

	if (argc > GATE_ARGS - 4)
		return too_many();
	for (int i = 1; i < argc; i++)
		args[i] = argv[i];
	status = gate_call(args, NULL, &e);
	return status < 0 ? say_error(&e) : status;
}

int cmd_verify(int argc, char **argv)
{
	return pass_on("verify", argc, argv);
}

int cmd_audit(int argc, char **argv)
{
	return pass_on("audit", argc, argv);
}

int cmd_attest(int argc, char **argv)
{
	return pass_on("attest", argc, argv);
}

int cmd_revert(int argc, char **argv)
{
	return pass_on("revert", argc, argv);
}

int cmd_tag(int argc, char **argv)
{
	return pass_on("tag", argc, argv);
}
