/* SPDX-License-Identifier: MIT */
/* What members may do, put into the kernel: the policy's rules, then weir's own guard. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/cli/session.h"
#include "user/kern/canary.h"
#include "user/policy/resolve.h"

/* weir's own files, and the gate's: no member has any business there. Comes last, because
 * they may lie above a rule of the policy (TMPDIR's), which marks its ancestors. */
static int guard_own(struct session *s, struct weir_err *e)
{
	const struct weir_rule rule = { .flags = WEIR_RULE_TAMPER | WEIR_RULE_ROOT };
	const char *own[] = { s->state,	     "/etc/weir",    "/var/lib/weir-gate",
			      "/sys/fs/bpf", KERN_LOCK_FILE, s->base.repository };

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

/* Networks and other processes. */
static int bind_reach(struct session *s, struct weir_err *e)
{
	const struct policy_image *im = s->image;
	int err = kern_set_nets(&s->slot, im->nets, im->net_count, e);

	for (size_t i = 0; err == 0 && i < im->peer_count; i++) {
		const struct policy_peer *p = &im->peers[i];
		const struct weir_rule rule = { .flags = p->ignored ? WEIR_PEER_IGNORED : 0,
						.id = p->id };

		err = p->path ? kern_bind_socket(&s->slot, p->path, p->dev, p->ino, &rule, e)
			      : kern_bind_abstract(&s->slot, p->abstract, &rule, e);
		/* a service that comes and goes need not be there */
		if (err < 0 && p->ignored)
			err = 0;
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

/* Where POSIX shared memory, semaphores and queues are, unless the policy has a rule there. */
static int bind_shared(struct session *s, struct weir_err *e)
{
	static const char *const places[] = { "/dev/shm", "/dev/mqueue" };
	const struct weir_rule rule = { .rights = WEIR_RIGHT_READ, .flags = WEIR_RULE_SHARED };
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(places); i++) {
		const struct policy_object *o =
			s->image ? policy_image_find(s->image, places[i]) : NULL;
		struct stat st;

		if ((o && !(o->flags & WEIR_RULE_ANCESTOR)) || lstat(places[i], &st) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		err = kern_bind_path(&s->slot, places[i], 0, 0, &rule, e);
	}
	return err;
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

/* Where a .git that is no directory leads to; NULL: nowhere that git would go. */
static char *git_target(const struct session *s, mode_t mode)
{
	static const char key[] = "gitdir: ";
	cleanup_buf struct buf text = { 0 };
	const char *target = ".git";
	char *path = NULL;

	if (S_ISREG(mode)) {
		if (fsio_read_file(s->workspace_fd, ".git", 8192, &text, NULL) < 0 ||
		    strncmp(buf_str(&text), key, sizeof(key) - 1) != 0)
			return NULL;
		target = buf_str(&text) + sizeof(key) - 1;
	}
	if (asprintf(&path, "%s%s%.*s", target[0] == '/' ? "" : s->workspace,
		     target[0] == '/' ? "" : "/", (int)strcspn(target, "\r\n"), target) < 0)
		return NULL;
	return path;
}

/* git's control files are looked for below .git. One that leads to another place in the
 * workspace has them there, where nobody would see them change. */
static void doubt_git(struct session *s)
{
	cleanup_policy_resolved struct policy_resolved at = { 0 };
	cleanup_free char *path = NULL;
	struct weir_err why = { 0 };
	struct stat st;

	if (!s->image || fstatat(s->workspace_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(st.st_mode))
		return;
	path = git_target(s, st.st_mode);
	if (path && policy_resolve(path, &at, &why) == 0 &&
	    policy_path_is_below(at.real, s->workspace))
		session_doubt(s,
			      "the workspace's .git leads to %s, in the workspace, where git's "
			      "control files are not watched: use a .git that is a directory",
			      at.real);
}

int session_bind(struct session *s, struct weir_err *e)
{
	int err = kern_know_mounts(&s->slot, e);

	if (err == 0)
		err = s->image ? bind_image(s, e) : bind_unjudged(s, e);
	if (err == 0 && s->image)
		err = bind_reach(s, e);
	if (err == 0)
		err = bind_shared(s, e);
	if (err == 0)
		err = bind_streams(s, e);
	if (err == 0)
		err = guard_own(s, e);
	if (err == 0)
		doubt_git(s);
	if (err == 0 && asprintf(&s->canary_dir, "%s/canary", s->run.path) < 0)
		err = err_errno(e, -ENOMEM, "canary");
	return err == 0 ? kern_canary_prepare(&s->slot, s->canary_dir, e) : err;
}
