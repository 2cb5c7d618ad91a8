/* SPDX-License-Identifier: MIT */
/* weir-gate receive: git runs it as a hook of the gate's repository (writeback/receive.h). */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/config.h"
#include "writeback/keeper.h"
#include "writeback/reason.h"
#include "writeback/receive.h"

#define INPUT_MAX ((size_t)16 << 20)

struct args {
	const char *config;
	const char *hook;
	const char *state; /* of a transaction */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'c':
		a->config = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->hook && (a->state || strcmp(a->hook, "reference-transaction") != 0))
			usage_error(state, "too many arguments");
		if (!a->hook)
			a->hook = arg;
		else
			a->state = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->hook || (strcmp(a->hook, "pre-receive") != 0 &&
				 strcmp(a->hook, "reference-transaction") != 0))
			usage_error(state, "pre-receive or reference-transaction STATE is missing");
		if (!a->state && strcmp(a->hook, "reference-transaction") == 0)
			usage_error(state, "the STATE of the transaction is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* git runs hooks for the repository of GIT_DIR: it must be the one that gate.yaml names. */
static int check_place(const struct gate_config *c, struct weir_err *e)
{
	const char *dir = getenv("GIT_DIR");
	struct stat ours, theirs;

	if (!dir)
		return err_set(e, -EINVAL, "receive is run by git, as a hook");
	if (stat(c->repository, &ours) < 0)
		return err_errno(e, -errno, "repository %s", c->repository);
	if (stat(dir, &theirs) < 0 || ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return refuse(e, REASON_REPOSITORY, "the hook runs elsewhere than in %s",
			      c->repository);
	return 0;
}

/* Where git keeps the objects of a push until the hook agrees: a directory of its own among the
 * repository's. Returns: 0 or a negative errno. Gives: ret_path, NULL outside of a push. */
static int find_incoming(const struct gate_config *c, char **ret_path, struct weir_err *e)
{
	const char *given = getenv("GIT_QUARANTINE_PATH");
	const char *name = given ? strrchr(given, '/') : NULL;
	struct stat ours, theirs;

	*ret_path = NULL;
	if (!given)
		return 0;
	if (!name || asprintf(ret_path, "%s/objects%s", c->repository, name) < 0) {
		*ret_path = NULL;
		return err_set(e, -EINVAL, "the place of the pushed objects can't be read");
	}
	if (lstat(*ret_path, &ours) < 0 || stat(given, &theirs) < 0 || !S_ISDIR(ours.st_mode) ||
	    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return refuse(e, REASON_REPOSITORY, "the pushed objects are elsewhere than in %s",
			      c->repository);
	return 0;
}

static int receive(const struct args *a, const struct gate_config *c, struct weir_err *e)
{
	cleanup_receive struct receive r = { .config = c,
					     .transaction = a->state != NULL,
					     .repo = { .fd = -1 },
					     .ledger = { .dir = -1 } };
	cleanup_free char *incoming = NULL;
	cleanup_buf struct buf text = { 0 };
	int err = fsio_read_fd(STDIN_FILENO, INPUT_MAX, &text);

	if (err < 0)
		return err_errno(e, err, "reading what git hands to the hook");
	err = check_place(c, e);
	if (err == 0 && !r.transaction)
		err = find_incoming(c, &incoming, e);
	r.incoming = incoming;
	if (err == 0)
		err = receive_parse(&r, buf_str(&text), e);
	/* nothing is asked for */
	if (err < 0 || r.count == 0)
		return err;
	err = receive_open(&r, e);
	return err < 0 ? err : receive_judge(&r, e);
}

int command_receive(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "config", 'c', "FILE", 0, "instead of " GATE_CONFIG, 0 },
		{ 0 },
	};
	static const struct argp argp = { options,
					  parse,
					  "pre-receive | reference-transaction STATE",
					  "Judge what would change in the gate's repository: git "
					  "runs it as a hook (`weir-gate init` installs both).",
					  NULL,
					  NULL,
					  NULL };
	cleanup_config struct gate_config c = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int err;

	usage_parse(&argp, argc, argv, 0, &a);
	/* what is done or given up is past judging */
	if (a.state && (strcmp(a.state, "committed") == 0 || strcmp(a.state, "aborted") == 0))
		return 0;
	umask(022);
	err = config_load_file(a.config ? a.config : GATE_CONFIG, &c, &e);
	if (err == 0)
		err = receive(&a, &c, &e);
	return err < 0 ? gate_fail(&e) : 0;
}
