/* SPDX-License-Identifier: MIT */
/* weir-gate attest: hands out what is attested of a commit, for tools of others. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/attest.h"
#include "writeback/command.h"
#include "writeback/keeper.h"
#include "writeback/kind.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/record.h"
#include "writeback/revision.h"
#include "writeback/verifysource.h"

struct args {
	const char *commit;
	const char *repo;
	const char *output;
	const char *file;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'r':
		a->repo = arg;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case 'f':
		a->file = arg;
		return 0;
	case ARGP_KEY_ARG:
		return usage_take_one(state, "commit", arg, &a->commit);
	case ARGP_KEY_END:
		if (!a->commit || !a->repo)
			usage_error(state, "%s is missing", a->commit ? "--repo DIR" : "COMMIT");
		if (a->file && (strchr(a->file, '/') || a->file[0] == '.'))
			usage_error(state, "--file is a file's name");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int read_bundle(const struct repo *r, const git_oid *commit, struct buf *ret_text,
		       struct weir_err *e)
{
	cleanup_buf struct buf promotion = { 0 };
	int err = record_read_file(r, commit, "promotion", &promotion, e);

	for (enum attest_kind kind = 0; err == 0 && kind < ATTEST_KIND_COUNT; kind++)
		if (kind_attests(kind_of_text(buf_str(&promotion)), kind))
			err = record_read_file(r, commit, attest_file(kind), ret_text, e);
	return err;
}

/* What reads the repository is not root; what writes the file is who called. */
static int read_as_owner(const struct args *a, int to, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_buf struct buf text = { 0 };
	git_oid commit;
	int err = verifysource_open_repo(a->repo, &repo, e);

	if (err == 0)
		err = revision_find(&repo, a->commit, &commit, e);
	if (err < 0)
		return err;
	err = a->file ? record_read_file(&repo, &commit, a->file, &text, e)
		      : read_bundle(&repo, &commit, &text, e);
	if (err == -ENOENT)
		return refuse(e, REASON_VERIFY, "%s: nothing is attested of it in %s (%s)",
			      a->commit, a->repo, e->text[0] ? e->text : "no record");
	if (err == 0) {
		err = fsio_write_all(to, text.data, text.len);
		if (err < 0)
			err_errno(e, err, "%s", a->output ? a->output : "writing the output");
	}
	return err;
}

/* A child drops to the owner, so that this process can take back what it made. Returns: the exit
 * status. */
static int attest(const struct args *a, struct weir_err *e)
{
	cleanup_close int fd = -1;
	int status = -1;
	pid_t pid;

	if (a->output) {
		fd = open(a->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			return err_errno(e, -errno, "%s", a->output);
	}
	pid = fork();
	if (pid == 0)
		_exit(read_as_owner(a, a->output ? fd : STDOUT_FILENO, e) < 0 ? gate_fail(e) : 0);
	if (pid < 0)
		err_errno(e, -errno, "reading the attestations");
	else
		status = priv_wait(pid, "reader", e);
	if (a->output && status == 0 && fsync(fd) < 0)
		status = err_errno(e, -errno, "%s", a->output);
	if (a->output && status != 0)
		unlink(a->output);
	return status;
}

int command_attest(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "repo", 'r', "DIR", 0, "repository with refs/weir/attestations", 0 },
		{ "output", 'o', "FILE", 0, "write there (NAME.intoto.jsonl); must not exist", 0 },
		{ "file", 'f', "NAME", 0,
		  "one file of the record instead (reads, link, done.tlog-proof ...)", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"COMMIT",
		"Print the attestations of a promoted commit, one envelope a line. They are "
		"as they are stored: `weir-gate verify` checks them.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	status = attest(&a, &e);
	return status < 0 ? gate_fail(&e) : status;
}
