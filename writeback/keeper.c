/* SPDX-License-Identifier: MIT */
#include "writeback/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/fsio.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/repo.h"

int gate_need_root(void)
{
	if (geteuid() == 0)
		return 0;
	fprintf(stderr, "weir-gate: must be started as root (it drops privilege by itself)\n");
	return GATE_EXIT_USAGE;
}

int gate_fail(const struct weir_err *e)
{
	if (!e->text[0])
		return GATE_EXIT_FAILED;
	if (e->exit_code == GATE_EXIT_REFUSED)
		fprintf(stderr, "weir-gate: refused: %s: %s\n", e->code, e->text);
	else
		fprintf(stderr, "weir-gate: %s\n", e->text);
	return e->exit_code ? e->exit_code : GATE_EXIT_FAILED;
}

static int keeper_main(const struct gate_config *c, keeper_fn *fn, void *arg, const int *keep,
		       size_t count)
{
	struct weir_err e = { 0 };
	int err = priv_close_others(keep, count);

	if (err < 0)
		err_errno(&e, err, "closing descriptors");
	if (err == 0)
		err = priv_become(c->uid, c->gid, &e);
	if (err == 0 && prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		err = err_errno(&e, -errno, "starting the keeper");
	umask(022);
	if (err == 0)
		err = repo_start(&e);
	if (err == 0)
		err = fn(c, arg, &e);
	if (fflush(stdout) != 0 && err == 0)
		err = err_errno(&e, -errno, "writing the output");
	return err < 0 ? gate_fail(&e) : 0;
}

int keeper_start(const struct gate_config *c, keeper_fn *fn, void *arg, const int *keep,
		 size_t count, pid_t *ret_pid, struct weir_err *e)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(keeper_main(c, fn, arg, keep, count));
	if (pid < 0)
		return err_errno(e, -errno, "starting the keeper");
	*ret_pid = pid;
	return 0;
}

int keeper_run(const struct gate_config *c, keeper_fn *fn, void *arg, const int *keep, size_t count)
{
	struct weir_err e = { 0 };
	pid_t pid = -1;
	int status = keeper_start(c, fn, arg, keep, count, &pid, &e);

	if (status == 0)
		status = priv_wait(pid, "keeper", &e);
	if (e.text[0])
		return gate_fail(&e);
	return status;
}

int keeper_ask(const struct gate_config *c, keeper_fn *fn, void *arg, int *pipe_fd, size_t max,
	       struct buf *ret_text)
{
	int ends[2], status, err;
	struct weir_err e = { 0 };
	pid_t pid = -1;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_errno(&e, -errno, "starting the keeper");
		return gate_fail(&e);
	}
	*pipe_fd = ends[1];
	err = keeper_start(c, fn, arg, &ends[1], 1, &pid, &e);
	close(ends[1]);
	if (err == 0)
		err = fsio_read_fd(ends[0], max, ret_text);
	close(ends[0]);
	status = pid > 0 ? priv_wait(pid, "keeper", &e) : -1;
	if (e.text[0])
		return gate_fail(&e);
	return status == 0 && err < 0 ? GATE_EXIT_FAILED : status;
}
