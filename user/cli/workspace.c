/* SPDX-License-Identifier: MIT */
/* Where a run works and as whom: a directory that the caller names, or a fresh checkout. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/cli/cmd.h"
#include "user/cli/environ.h"
#include "user/cli/seal.h"
#include "user/cli/session.h"

/* What is wrong is what the caller said, not weir. */
static int bad_input(int err, struct weir_err *e)
{
	e->exit_code = CLI_USAGE;
	return err;
}

static int find_workspace(struct session *s, const char *path, struct weir_err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_errno(e, -errno, "workspace %s", path);
	if (S_ISLNK(st.st_mode))
		return err_set(e, -ELOOP,
			       "workspace %s is a symbolic link: name the directory itself", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "workspace %s is not a directory", path);
	s->workspace = realpath(path, NULL);
	if (!s->workspace)
		return err_errno(e, -errno, "workspace %s", path);
	if (strcmp(s->workspace, "/") == 0)
		return err_set(e, -EINVAL, "the root directory cannot be a workspace");
	s->workspace_fd = open(s->workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->workspace_fd < 0)
		return err_errno(e, -errno, "workspace %s", path);
	if (s->opt->policy && seal_foreign_type(s->workspace_fd))
		return err_set(e, -EOPNOTSUPP,
			       "workspace %s lies on %s, where others can change it unseen: use a "
			       "directory on a local file system",
			       path, seal_foreign_type(s->workspace_fd));
	return 0;
}

/* Opens the workspace by its real path; a link as its last component is refused. */
static int open_workspace(struct session *s, const char *path, struct weir_err *e)
{
	int err = find_workspace(s, path, e);

	if (err < 0)
		return bad_input(err, e);
	return rundir_lock(s->state, s->workspace_fd, s->workspace, s->run.id, &s->lock, e);
}

/* A fresh checkout of the base commit, in a directory of its own. */
static int check_out(struct session *s, struct weir_err *e)
{
	cleanup_free char *path = NULL, *owner = NULL;
	int err, status;

	if (asprintf(&path, "%s/work/%s", s->state, s->run.id) < 0 ||
	    asprintf(&owner, "%u:%u", s->user.uid, s->user.gid) < 0)
		return err_errno(e, -ENOMEM, "workspace");
	err = fsio_mkdir_p(path, 0755, e);
	s->fresh = err == 0;
	if (err == 0)
		err = open_workspace(s, path, e);
	if (err == 0)
		err = gate_nonce(s->opt->repository, s->opt->ref, s->workspace, &s->base, e);
	if (err < 0)
		return err;
	const char *args[] = { "checkout",   "--nonce", s->base.nonce, "--into",
			       s->workspace, "--owner", owner,	       NULL };
	status = gate_call(args, NULL, e);
	if (status != 0)
		return status < 0 ? status : gate_said(status, e);
	return 0;
}

int session_choose_workspace(struct session *s, struct weir_err *e)
{
	struct stat st;
	int err;

	if (!s->opt->workspace) {
		if (!gate_is_configured() && !s->opt->repository)
			return bad_input(
				err_set(e, -EINVAL,
					"no workspace: name a directory with -w DIR, or make a "
					"gate (weir-gate init --repo DIR) and let weir check it "
					"out"),
				e);
		err = environ_user(s->opt->user, NULL, &s->user, e);
		return err < 0 ? bad_input(err, e) : check_out(s, e);
	}
	err = open_workspace(s, s->opt->workspace, e);
	if (err < 0)
		return err;
	if (fstat(s->workspace_fd, &st) < 0)
		return err_errno(e, -errno, "workspace %s", s->workspace);
	err = environ_user(s->opt->user, &st, &s->user, e);
	if (err < 0)
		return bad_input(err, e);
	if (!gate_is_configured() && !s->opt->repository)
		return 0;
	return gate_nonce(s->opt->repository, s->opt->ref, s->workspace, &s->base, e);
}
