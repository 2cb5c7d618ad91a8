/* SPDX-License-Identifier: MIT */
#include "user/cli/alerts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/cli/cmd.h"
#include "user/report/alert.h"
#include "user/report/report.h"

/* A line is whole or not there: one write. */
static int write_line(const struct session *s, const struct buf *line)
{
	ssize_t len = write(s->alerts_fd, line->data, line->len);

	if (len < 0)
		return -errno;
	return (size_t)len == line->len ? 0 : -ENOSPC;
}

static struct timespec now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t;
}

/* The run's members write where the run may write. A file that is to be made is where its directory
 * is. */
static int check_place(const struct session *s, const char *path, struct weir_err *e)
{
	cleanup_free char *copy = strdup(path);
	cleanup_free char *real = realpath(path, NULL);
	size_t len = strlen(s->workspace);

	if (!real && copy)
		real = realpath(dirname(copy), NULL);
	if (!real)
		return err_errno(e, -errno, "--alerts %s", path);
	if (strncmp(real, s->workspace, len) != 0 || (real[len] != '/' && real[len] != '\0'))
		return 0;
	e->exit_code = CLI_USAGE;
	return err_set(e, -EINVAL,
		       "--alerts %s: lies in the workspace, where the run may change it", path);
}

/* Gives: s->alerts_fd. */
static int open_file(struct session *s, const char *path, struct weir_err *e)
{
	struct stat st;
	int err = check_place(s, path, e);

	if (err < 0)
		return err;
	/* a FIFO that nobody reads is no reason to wait, and one that nobody reads any more none
	 * to die; the command gets its signals anew */
	signal(SIGPIPE, SIG_IGN);
	s->alerts_fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (s->alerts_fd < 0 && errno == ENXIO)
		return err_set(e, -ENXIO, "--alerts %s: nobody reads this pipe", path);
	if (s->alerts_fd < 0 || fstat(s->alerts_fd, &st) < 0)
		return err_errno(e, -errno, "--alerts %s", path);
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
		e->exit_code = CLI_USAGE;
		return err_set(e, -EINVAL, "--alerts %s: neither a file nor a pipe", path);
	}
	/* through a link that led nowhere before */
	return check_place(s, path, e);
}

int alerts_open(struct session *s, struct weir_err *e)
{
	const char *path = s->opt->alerts;
	struct timespec when = now();
	cleanup_buf struct buf line = { 0 };
	int err;

	if (!path)
		return 0;
	err = open_file(s, path, e);
	if (err < 0)
		return err;
	err = report_alert_start(s->run.id, &when, &line);
	if (err == 0)
		err = write_line(s, &line);
	return err < 0 ? err_errno(e, err, "--alerts %s", path) : 0;
}

static void show(const struct session *s, const struct finding *finding)
{
	cleanup_buf struct buf line = { 0 };
	bool color = isatty(2);

	if (s->opt->quiet || report_alert_line(finding, color, &line) < 0)
		return;
	fprintf(stderr, "%s%s", color ? "\r\033[K" : "", buf_str(&line));
}

void alerts_finding(struct session *s, const struct finding *finding)
{
	struct timespec when = now();
	cleanup_buf struct buf line = { 0 };
	int err;

	show(s, finding);
	if (s->alerts_fd < 0)
		return;
	err = report_alert_finding(finding, s->run.id, &when, &line);
	if (err == 0)
		err = write_line(s, &line);
	if (err == 0)
		return;
	session_doubt(s, "an alert could not be written to %s: %s", s->opt->alerts, strerror(-err));
	close(s->alerts_fd);
	s->alerts_fd = -1;
}

void alerts_end(struct session *s)
{
	struct timespec when = now();
	cleanup_buf struct buf line = { 0 };
	int err;

	if (s->alerts_fd < 0)
		return;
	err = report_alert_end(s->pipe.verdict.value, findings_count(s->pipe.findings), s->run.id,
			       &when, &line);
	if (err == 0)
		err = write_line(s, &line);
	if (err < 0)
		fprintf(stderr, "weir: --alerts %s: %s\n", s->opt->alerts, strerror(-err));
}
