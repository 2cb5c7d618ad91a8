/* SPDX-License-Identifier: MIT */
/* The sealed start: who, where, under which policy, and the kernel side in place. */
#include "user/cli/session.h"

#include <errno.h>
#include <fcntl.h>
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

/* What is wrong is what the caller said, not weir. */
static int bad_input(int err, struct weir_err *e)
{
	e->exit_code = CLI_USAGE;
	return err;
}

/* File systems that other machines or user-space servers can change without this kernel
 * taking part: no seal holds there. Magic numbers of linux/magic.h and the file systems. */
static const char *foreign_type(int fd)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} types[] = {
		{ 0x6969, "NFS" },     { 0xff534d42, "CIFS" },	{ 0xfe534d42, "SMB" },
		{ 0x01021997, "9p" },  { 0x65735546, "FUSE" },	{ 0x00c36400, "Ceph" },
		{ 0x5346414f, "AFS" }, { 0x7461636f, "OCFS2" }, { 0x01161970, "GFS2" },
	};
	struct statfs fs;

	for (size_t i = 0; fstatfs(fd, &fs) == 0 && i < ARRAY_SIZE(types); i++)
		if ((uint32_t)fs.f_type == types[i].magic)
			return types[i].name;
	return NULL;
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
	if (s->opt->policy && foreign_type(s->workspace_fd))
		return err_set(e, -EOPNOTSUPP,
			       "workspace %s lies on %s, where others can change it unseen: use a "
			       "directory on a local file system",
			       path, foreign_type(s->workspace_fd));
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
		return status < 0 ? status : err_set(e, -EACCES, "weir-gate made no checkout");
	s->fresh = true;
	return 0;
}

static int choose_workspace(struct session *s, struct weir_err *e)
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
		return status < 0 ? status : err_set(e, -ENOENT, "the base commit has no policy");
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

static int hash_before(struct session *s, struct weir_err *e)
{
	cleanup_close int fd =
		openat(s->run.fd, "manifest.before", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(e, -errno, "manifest.before");
	return manifest_write_tree(s->workspace_fd, ".git", fd, &s->before, e);
}

int session_prepare(struct session *s, const struct run_options *opt, struct weir_err *e)
{
	int err;

	*s = (struct session){ .opt = opt,
			       .workspace_fd = -1,
			       .trace_fd = -1,
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
		err = choose_workspace(s, e);
	if (err == 0)
		err = load_policy(s, e);
	if (err == 0)
		err = make_tmpdir(s, e);
	if (err == 0)
		err = compile(s, e);
	return err == 0 ? hash_before(s, e) : err;
}

/* weir's own files, and the gate's: no member has any business there. Comes last, because
 * they may lie above a rule of the policy (TMPDIR's), which marks its ancestors. */
static int guard_own(struct session *s, struct weir_err *e)
{
	const struct weir_rule rule = { .flags = WEIR_RULE_TAMPER | WEIR_RULE_ROOT };
	const char *own[] = { s->state, "/etc/weir", "/var/lib/weir-gate", "/sys/fs/bpf",
			      s->base.repository };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		struct stat st;
		int err;

		if (!own[i] || lstat(own[i], &st) < 0)
			continue;
		err = kern_bind_path(&s->slot, own[i], 0, 0, &rule, e);
		if (err < 0)
			return err;
	}
	return 0;
}

static int bind_image(struct session *s, struct weir_err *e)
{
	const struct policy_image *im = s->image;
	int err = 0;

	for (size_t i = 0; err == 0 && i < im->object_count; i++) {
		const struct policy_object *o = &im->objects[i];
		const struct weir_rule rule = { .rights = o->rights,
						.flags = o->flags,
						.id = o->id };

		err = kern_bind_path(&s->slot, o->path, o->dev, o->ino, &rule, e);
	}
	for (size_t i = 0; err == 0 && i < im->name_count; i++) {
		const struct policy_name *n = &im->names[i];
		const struct weir_rule rule = { .rights = n->rights,
						.flags = n->flags,
						.id = n->id };

		err = kern_bind_name(&s->slot, n->dir, n->name, &rule, e);
	}
	return err;
}

/* Without a policy nothing is granted, but the two places that a run is about. */
static int bind_unjudged(struct session *s, struct weir_err *e)
{
	const struct weir_rule workspace = { .rights = WEIR_RIGHT_READ,
					     .flags = WEIR_RULE_WORKSPACE | WEIR_RULE_ROOT };
	const struct weir_rule temporary = { .rights = WEIR_RIGHT_READ };
	int err = kern_bind_path(&s->slot, s->workspace, 0, 0, &workspace, e);

	return err == 0 && s->own_tmpdir ? kern_bind_path(&s->slot, s->tmpdir, 0, 0, &temporary, e)
					 : err;
}

static bool has_rule(const struct session *s, const struct stat *st)
{
	for (size_t i = 0; s->image && i < s->image->object_count; i++)
		if (s->image->objects[i].dev == st->st_dev &&
		    s->image->objects[i].ino == st->st_ino)
			return true;
	return false;
}

/* Standard input and outputs are handed over by the caller; the run may also open them
 * again by name (/dev/stderr), where they are files. */
static int bind_streams(struct session *s, struct weir_err *e)
{
	int err = 0;

	for (int fd = 0; err == 0 && fd <= 2; fd++) {
		const struct weir_rule rule = {
			.rights = WEIR_RIGHT_READ | (fd ? WEIR_RIGHT_WRITE : 0),
		};
		struct stat st;

		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !has_rule(s, &st))
			err = kern_bind_fd(&s->slot, fd, s->slot.slot, &rule, e);
	}
	return err;
}

static int bind_rules(struct session *s, struct weir_err *e)
{
	int err = kern_know_mounts(&s->slot, e);

	if (err == 0)
		err = s->image ? bind_image(s, e) : bind_unjudged(s, e);
	if (err == 0)
		err = bind_streams(s, e);
	if (err == 0)
		err = guard_own(s, e);
	if (err == 0 && asprintf(&s->canary_dir, "%s/canary", s->run.path) < 0)
		err = err_errno(e, -ENOMEM, "canary");
	return err == 0 ? kern_canary_prepare(&s->slot, s->canary_dir, e) : err;
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
	struct weir_err doubt = { 0 };
	int err = kern_open(s->opt->without, &s->kern, e);

	if (err == 0)
		err = kern_slot_take(s->kern, s->opt->ring_bytes, &s->slot, e);
	if (err == 0)
		err = open_pipe(s, s->pipe.alert, e);
	if (err == 0)
		err = bind_rules(s, e);
	if (err == 0)
		err = kern_adopt(&s->slot, 0, WEIR_ROLE_COLLECTOR, e);
	if (err == 0)
		err = kern_watch(&s->slot, s->workspace_fd, false, e);
	if (err < 0)
		return err;
	kern_slot_start(&s->slot, s->mode, flags, rights);
	err = pipe_json(&s->pipe, VERDICT_START, start_record(s));
	if (err < 0)
		return err_errno(e, err, "starting the trace");
	session_prove(s, "at the start");
	if (sweep_writers(s, &doubt) < 0)
		session_doubt(s, "looking for open writers: %s", doubt.text);
	session_drain(s, 0);
	return 0;
}

/* A run that never began leaves nothing behind: no directory, no checkout. */
static void forget_run(struct session *s)
{
	if (s->trace_fd >= 0 || !s->run.path)
		return;
	fsio_remove_tree(AT_FDCWD, s->run.path, NULL);
	if (s->fresh)
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
	rundir_done(&s->run);
}
