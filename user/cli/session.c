/* SPDX-License-Identifier: MIT */
/* The sealed start: who, where, under which policy, and the kernel side in place. */
#include "user/cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/cli/cmd.h"
#include "user/cli/coverage.h"
#include "user/cli/environ.h"
#include "user/cli/links.h"
#include "user/cli/statement.h"
#include "user/cli/sweep.h"
#include "user/kern/canary.h"

#define CANARY_MS 20000

void session_doubt(struct session *s, const char *fmt, ...)
{
	char raw[400], text[900];
	va_list args;

	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	escape_text(raw, strlen(raw), text, sizeof(text));
	json_array_append_new(s->reasons, json_string(text));
}

/* The policy's exact bytes: from a file, or from the base commit through the gate. */
static int read_policy(struct session *s, struct buf *bytes, struct weir_err *e)
{
	const char *args[] = { "policy", "--nonce", s->base.nonce, NULL };
	int status;

	if (strcmp(s->opt->policy, "@base") != 0)
		return policy_load_file(s->opt->policy, &s->policy, bytes, e);
	if (!s->base.nonce)
		return err_set(e, -EINVAL, "-p @base needs a repository: configure a gate");
	status = gate_call(args, bytes, e);
	if (status != 0)
		return status < 0 ? status : gate_said(status, e);
	return policy_load(".weir/policy.yaml", bytes->data, bytes->len, &s->policy, e);
}

static int load_policy(struct session *s, struct weir_err *e)
{
	cleanup_buf struct buf bytes = { 0 };
	char hex[DIGEST_HEX];
	int err;

	if (!s->opt->policy)
		return 0;
	err = read_policy(s, &bytes, e);
	if (err < 0) {
		if (e->exit_code == 0)
			e->exit_code = 2;
		return err;
	}
	digest_hex(s->policy->sha256, DIGEST_SIZE, hex);
	s->policy_sha256 = strdup(hex);
	return fsio_replace(s->run.fd, "policy.yaml", bytes.data, bytes.len, 0600, e);
}

/* Private directory for temporary files, unless the policy sets another. */
static int make_tmpdir(struct session *s, struct weir_err *e)
{
	int err;

	s->tmpdir = environ_tmpdir(s->policy);
	if (s->tmpdir)
		return 0;
	if (asprintf(&s->tmpdir, "%s/tmp/%s", s->state, s->run.id) < 0)
		return err_errno(e, -ENOMEM, "TMPDIR");
	err = fsio_mkdir_p(s->tmpdir, 0700, e);
	if (err == 0 && chown(s->tmpdir, s->user.uid, s->user.gid) < 0)
		err = err_errno(e, -errno, "%s", s->tmpdir);
	s->own_tmpdir = err == 0;
	return err;
}

static int compile(struct session *s, struct weir_err *e)
{
	struct policy_env env = {
		.workspace = s->workspace,
		.home = s->user.home,
		.tmpdir = s->tmpdir,
	};
	int err;

	if (s->policy) {
		err = policy_compile(s->policy, &env, &s->image, e);
		if (err < 0) {
			if (e->exit_code == 0)
				e->exit_code = 2;
			return err;
		}
	}
	s->mode = !s->policy	 ? WEIR_MODE_TRACE
		  : s->opt->mode ? s->opt->mode
				 : (uint32_t)s->policy->mode.value;
	s->grace_ns = s->opt->grace_ns != UINT64_MAX ? s->opt->grace_ns
		      : s->policy		     ? s->policy->grace_ns.value
						     : 500000000ull;
	s->timeout_ns = s->opt->timeout_ns ? s->opt->timeout_ns
			: s->policy	   ? s->policy->time_ns.value
					   : 0;
	return environ_build(s->policy, &env, &s->user, &s->env, e);
}

/* Whoever else writes in the workspace is told of only once the run has begun: so often the tree is
 * read again. */
#define BEFORE_TRIES 10

static int hash_before(struct session *s, struct weir_err *e)
{
	cleanup_close int fd =
		openat(s->run.fd, "manifest.before", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct weir_err why;
	int err = fd < 0 ? -errno : -ESTALE;

	if (fd < 0)
		return err_errno(e, err, "manifest.before");
	for (int i = 0; i < BEFORE_TRIES && err == -ESTALE; i++) {
		why = (struct weir_err){ 0 };
		if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
			return err_errno(e, -errno, "manifest.before");
		err = manifest_write_tree(s->workspace_fd, ".git", fd, &s->before, &why);
	}
	if (err < 0)
		*e = why;
	return err == -ESTALE ? err_wrap(e, "somebody else writes in the workspace") : err;
}

int session_prepare(struct session *s, const struct run_options *opt, struct weir_err *e)
{
	int err;

	*s = (struct session){ .opt = opt,
			       .workspace_fd = -1,
			       .trace_fd = -1,
			       .alerts_fd = -1,
			       .wait_status = -1,
			       .run.fd = -1,
			       .child = { -1, -1, -1, -1, -1 },
			       .slot.ring_fd = -1 };
	s->reasons = json_array();
	clock_gettime(CLOCK_REALTIME, &s->started);
	err = s->reasons ? rundir_state(&s->state, e) : err_errno(e, -ENOMEM, "starting");
	if (err == 0)
		err = rundir_create(s->state, &s->run, e);
	if (err == 0)
		err = session_choose_workspace(s, e);
	if (err == 0 && s->base.nonce)
		err = statement_check_key(e);
	if (err == 0)
		err = load_policy(s, e);
	if (err == 0)
		err = make_tmpdir(s, e);
	if (err == 0)
		err = compile(s, e);
	if (err == 0)
		err = session_source(s, e);
	return err == 0 ? hash_before(s, e) : err;
}

static void on_record(void *arg, void *data, size_t len)
{
	struct session *s = arg;

	pipe_event(&s->pipe, data, len);
}

int session_drain(struct session *s, int wait_ms)
{
	return kern_ring_drain(s->ring, wait_ms);
}

static int open_pipe(struct session *s, pipe_alert_fn *alert, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	int err = fsio_read_file(AT_FDCWD, "/proc/self/mountinfo", 16u << 20, &text, e);

	if (err == 0)
		err = mounts_parse(text.data, text.len, &s->mounts, e);
	if (err < 0)
		return err;
	s->trace_fd = openat(s->run.fd, "trace", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (s->trace_fd < 0)
		return err_errno(e, -errno, "trace");
	err = trace_writer_new(s->trace_fd, &s->trace, e);
	if (err == 0 && pipe_init(&s->pipe, s->trace, s->mounts, alert, s) < 0)
		err = err_errno(e, -ENOMEM, "pipe");
	if (err < 0)
		return err;
	return kern_ring_open(&s->slot, on_record, s, &s->ring, e);
}

static json_t *start_record(struct session *s)
{
	static const char *const modes[] = { "off", "trace", "observe", "enforce" };
	char boot[64] = "", machine[64] = "";
	cleanup_buf struct buf b = { 0 };
	json_t *argv = json_array(), *workspace, *start;
	struct weir_bind look = { 0 };
	char dev[MOUNTS_DEV_SIZE];

	environ_read_id("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	environ_read_id("/etc/machine-id", machine, sizeof(machine));
	for (char *const *a = s->opt->argv; *a; a++) {
		buf_done(&b);
		buf_add_escaped(&b, *a, strlen(*a));
		json_array_append_new(argv, json_string(buf_str(&b)));
	}
	kern_look(s->kern, s->workspace_fd, &look);
	buf_done(&b);
	buf_add_escaped(&b, s->workspace, strlen(s->workspace));
	workspace = json_pack("{s:s, s:s, s:I}", "path", buf_str(&b), "dev",
			      mounts_dev_text(look.ret_object.dev, dev), "ino",
			      (json_int_t)look.ret_object.ino);
	start = json_pack("{s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:s, s:s}", "schema", "weir.start/1",
			  "run", s->run.id, "slot", (int)s->slot.slot, "mode", modes[s->mode],
			  "argv", argv, "workspace", workspace, "mounts", mounts_to_json(s->mounts),
			  "boot", boot, "machine", machine);
	json_object_set_new(start, "policy",
			    s->policy_sha256 ? json_string(s->policy_sha256) : json_null());
	json_object_set_new(start, "nonce",
			    s->base.nonce ? json_string(s->base.nonce) : json_null());
	json_object_set_new(start, "base",
			    s->base.nonce
				    ? json_pack("{s:s, s:s, s:s}", "repository", s->base.repository,
						"ref", s->base.ref, "commit", s->base.commit)
				    : json_null());
	return start;
}

void session_prove(struct session *s, const char *when)
{
	const struct weir_run *run = kern_run(s->kern, s->slot.slot);
	uint64_t before = run->members;
	struct weir_err e = { 0 };

	if (kern_canary_fly(&s->slot, s->canary_dir, CANARY_MS, &e) < 0)
		session_doubt(s, "%s: %s", when, e.text);
	s->canaries += run->members - before;
}

int session_attach(struct session *s, struct weir_err *e)
{
	uint32_t rights = s->image ? s->image->rights : WEIR_RIGHT_READ;
	uint32_t flags = s->policy && s->policy->lossless.value ? WEIR_RUN_LOSSLESS : 0;
	bool admin = s->policy && (s->policy->capabilities.value >> CAP_SYS_ADMIN & 1);
	cleanup_links struct links links = { 0 };
	struct weir_err doubt = { 0 };
	int err = kern_open(s->opt->source, s->opt->without, &s->kern, e);

	if (s->opt->source == KERN_SOURCE_SYSCALL)
		flags |= WEIR_RUN_AFTER;
	if (err == 0)
		err = kern_slot_take(s->kern, s->opt->ring_bytes, &s->slot, e);
	if (err == 0)
		err = open_pipe(s, s->pipe.alert, e);
	if (err == 0)
		err = session_bind(s, e);
	if (err == 0)
		err = kern_adopt(&s->slot, 0, WEIR_ROLE_COLLECTOR, e);
	if (err == 0 && s->opt->source != KERN_SOURCE_SYSCALL)
		err = kern_watch(&s->slot, s->workspace_fd, false, e);
	if (err < 0)
		return err;
	kern_slot_start(&s->slot, s->mode, flags | (admin ? WEIR_RUN_ADMIN : 0), rights,
			s->image ? s->image->powers : 0, s->image ? s->image->attempts : 0);
	err = pipe_json(&s->pipe, VERDICT_START, start_record(s));
	if (err < 0)
		return err_errno(e, err, "starting the trace");
	session_prove(s, "at the start");
	if (sweep_writers(s, &links, &doubt) < 0)
		session_doubt(s, "looking for open writers: %s", doubt.text);
	else if (links_own(&links, s, &doubt) < 0)
		session_doubt(s, "%s", doubt.text);
	session_drain(s, 0);
	return 0;
}

/* A run that never began leaves nothing behind: no directory, no checkout. */
static void forget_run(struct session *s)
{
	if (s->trace_fd >= 0 || !s->run.path)
		return;
	fsio_remove_tree(AT_FDCWD, s->run.path, NULL);
	if (s->fresh && s->workspace)
		fsio_remove_tree(AT_FDCWD, s->workspace, NULL);
}

void session_close(struct session *s)
{
	if (s->child.pid > 0)
		child_close(&s->child);
	if (s->kern)
		kern_slot_release(&s->slot);
	kern_ring_close(s->ring);
	pipe_done(&s->pipe);
	trace_writer_free(s->trace);
	mounts_free(s->mounts);
	kern_close(s->kern);
	rundir_unlock(&s->lock, NULL);
	forget_run(s);
	if (s->own_tmpdir)
		fsio_remove_tree(AT_FDCWD, s->tmpdir, NULL);
	if (s->canary_dir)
		fsio_remove_tree(AT_FDCWD, s->canary_dir, NULL);
	if (s->cgroup)
		rmdir(s->cgroup);
	policy_image_free(s->image);
	policy_free(s->policy);
	gate_base_done(&s->base);
	json_decref(s->reasons);
	json_decref(s->coverage);
	for (char **v = s->env; v && *v; v++)
		free(*v);
	free(s->env);
	free(s->user.home);
	free(s->policy_sha256);
	free(s->canary_dir);
	free(s->tmpdir);
	free(s->cgroup);
	free(s->workspace);
	free(s->state);
	if (s->workspace_fd >= 0)
		close(s->workspace_fd);
	if (s->trace_fd >= 0)
		close(s->trace_fd);
	if (s->alerts_fd >= 0)
		close(s->alerts_fd);
	rundir_done(&s->run);
}
