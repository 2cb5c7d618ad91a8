/* SPDX-License-Identifier: MIT */
/* The gate lock, quarantines, and what to do after a crash; contract in publish.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/journal.h"
#include "writeback/publish.h"
#include "writeback/record.h"
#include "writeback/remote.h"

static int make_dir(const struct repo *r, const char *path, struct weir_err *e)
{
	if (mkdirat(r->fd, path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, -errno, "%s/%s", r->path, path);
	return 0;
}

int publish_lock(const struct repo *r, struct weir_err *e)
{
	cleanup_close int fd = -1;
	int err = make_dir(r, "weir", e);

	if (err < 0)
		return err;
	fd = openat(r->fd, "weir/gate", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(e, -errno, "%s/weir/gate", r->path);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_errno(e, -errno, "%s/weir/gate", r->path);
	return TAKE_FD(fd);
}

int publish_open_quarantine(const struct repo *r, const char *nonce, int *ret_dir,
			    struct weir_err *e)
{
	cleanup_free char *path = NULL;
	int err = make_dir(r, "weir/quarantine", e);

	if (err < 0)
		return err;
	if (asprintf(&path, "weir/quarantine/%s", nonce) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "quarantine");
	}
	err = fsio_remove_tree(r->fd, path, e);
	if (err == 0)
		err = make_dir(r, path, e);
	if (err < 0)
		return err;
	*ret_dir = openat(r->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_dir < 0 ? err_errno(e, -errno, "%s/%s", r->path, path) : 0;
}

void publish_drop_quarantine(const struct repo *r, const char *nonce)
{
	cleanup_free char *path = NULL;

	if (asprintf(&path, "weir/quarantine/%s", nonce) < 0) {
		path = NULL;
		return;
	}
	fsio_remove_tree(r->fd, path, NULL);
}

static int read_branch(const struct repo *r, const struct reflock *l, git_oid *ret_oid,
		       struct weir_err *e)
{
	struct weir_err cause = { 0 };
	int err = repo_read_ref(r, l->ref, ret_oid, &cause);

	if (err == -ENOENT) {
		memset(ret_oid, 0, sizeof(*ret_oid));
		return 0;
	}
	if (err < 0)
		*e = cause;
	return err;
}

/* The directory that a journal names, as gate.yaml has it now. Returns: 1, 0 when it names none,
 * or a negative errno with e. Gives: ret_dir. */
static int find_dir(const struct gate_config *c, const struct journal *j, struct gate_dir *ret_dir,
		    struct weir_err *e)
{
	int err = j->dir ? dirs_find(c, j->dir, ret_dir) : 0;

	if (err < 0)
		return err_set(e, err,
			       "a promotion to the directory %s was begun, and gate.yaml does not "
			       "list it any more: list it until the next promotion",
			       j->dir);
	return j->dir != NULL;
}

static int redo_dir(const struct gate_config *c, const struct journal *j, struct weir_err *e)
{
	cleanup_gate_dir struct gate_dir dir = { 0 };
	int err = find_dir(c, j, &dir, e);

	return err == 1 ? dirsdisk_swap(&dir, &j->swap, e) : err;
}

/* Afterwards only one directory is there: the old one when `back`, else the new one. */
static int end_dir(const struct gate_config *c, const struct journal *j, bool back,
		   struct weir_err *e)
{
	cleanup_gate_dir struct gate_dir dir = { 0 };
	int err = find_dir(c, j, &dir, e);

	if (err == 1 && back && j->ready)
		err = dirsdisk_swap_back(&dir, &j->swap, e);
	return err < 0 || !j->dir ? err : dirsdisk_clean(&dir, e);
}

/* Redo from a "ready" journal: refs that are still old are swapped, in order. */
static int redo(const struct repo *r, const struct gate_config *c, struct journal *j,
		struct weir_err *e)
{
	for (unsigned int i = 0; i < JOURNAL_REFS; i++) {
		struct reflock *l = &j->refs[i];
		git_oid now;
		int err = read_branch(r, l, &now, e);

		if (err < 0)
			return err;
		if (git_oid_equal(&now, &l->new_id))
			continue;
		if (!git_oid_equal(&now, &l->old))
			return err_code(e, -ESTALE, "base-moved", "%s moved after a crash", l->ref);
		free(l->file);
		l->file = NULL;
		err = i == JOURNAL_REFS - 1 ? redo_dir(c, j, e) : 0;
		if (err == 0)
			err = reflock_prepare(r, l, i, e);
		/* the journal must know the new lock's inode before the lock is taken */
		if (err == 0)
			err = journal_write(r, j, e);
		if (err == 0)
			err = reflock_take(r, l, e);
		if (err == 0)
			err = reflock_publish(r, l, e);
		reflock_drop(r, l);
		if (err < 0)
			return err;
	}
	return 0;
}

/* The branch is elsewhere: whatever was begun is not published. */
static int give_up(const struct gate_config *c, struct gateledger *g, const struct journal *j,
		   struct weir_err *e)
{
	int err = end_dir(c, j, true, e);

	if (err < 0)
		return err;
	return gateledger_end(g, j->intent, j->nonce.promoted, LEDGER_ABORTED, "crash",
			      "the gate was ended before it had published", e);
}

/* Whether the ledger says already that it was given up: a crash came before the journal went. */
static int is_aborted(struct gateledger *g, const struct journal *j, struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	int err = gateledger_read(g, j->intent + 1, &n, e);

	if (err == -ENOENT)
		return 0;
	return err < 0 ? err : n.kind == LEDGER_ABORTED && n.intent == (int64_t)j->intent;
}

static int complete(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		    struct journal *j, struct weir_err *e)
{
	const struct reflock *branch = &j->refs[JOURNAL_REFS - 1];
	struct nonce n = { 0 };
	git_oid now;
	int err = is_aborted(g, j, e), reaches;

	if (err == 1)
		return give_up(c, g, j, e);
	if (err == 0 && remote_is_used(c))
		err = remote_follow(c, r, true, e);
	if (err == 0)
		err = read_branch(r, branch, &now, e);
	if (err < 0)
		return err;
	/* a tag or a directory is there or not */
	if (git_oid_is_zero(&now) || j->dir || strncmp(branch->ref, "refs/tags/", 10) == 0)
		reaches = git_oid_equal(&now, &branch->new_id);
	else
		reaches = repo_reaches(r, &now, &branch->new_id, e);
	if (reaches < 0)
		return reaches;
	if (!reaches) {
		if (!git_oid_equal(&now, &branch->old))
			return give_up(c, g, j, e);
		if (remote_is_used(c))
			err = remote_push(c, r, j->refs, JOURNAL_REFS, e);
		if (err == -EPERM)
			return give_up(c, g, j, e);
		if (err == 0)
			err = redo(r, c, j, e);
		/* somebody else's directory stays where it is */
		if (err == -EPERM && j->dir)
			return give_up(c, g, j, e);
		if (err < 0)
			return err;
	}
	err = publish_end(r, c, g, j, e);
	if (err == 0)
		err = end_dir(c, j, false, e);
	if (err == 0)
		err = nonce_load(j->nonce.id, &n, e);
	if (err == 0 && !n.used) {
		n.run = TAKE_PTR(j->nonce.run);
		memcpy(n.statement, j->nonce.statement, sizeof(n.statement));
		memcpy(n.promoted, j->nonce.promoted, sizeof(n.promoted));
	}
	/* also when it is used already: the issued one may still be there */
	if (err == 0)
		err = nonce_use(&n, e);
	nonce_done(&n);
	return err;
}

/* A lock that was taken outside of a publication. */
static int clean_other(const struct repo *r, const struct gate_config *c, struct weir_err *e)
{
	int err = reflock_clean_file(r, RECORD_REF, REFLOCK_OTHER, e);

	for (size_t i = 0; err == 0 && i < c->refs.count; i++)
		err = reflock_clean_file(r, c->refs.items[i], REFLOCK_OTHER, e);
	if (err == 0)
		unlinkat(r->fd, "weir/lock-2", 0);
	return err;
}

int publish_recover(const struct repo *r, const struct gate_config *c, struct gateledger *g,
		    struct weir_err *e)
{
	cleanup_journal struct journal j = { 0 };
	int err = clean_other(r, c, e);

	if (err < 0)
		return err;
	err = journal_read(r, &j, e);
	if (err < 0 && err != -ENOENT)
		return err;
	if (err == 0) {
		for (unsigned int i = 0; i < JOURNAL_REFS; i++) {
			err = reflock_clean(r, &j.refs[i], e);
			if (err < 0)
				return err;
		}
		err = j.ready ? complete(r, c, g, &j, e) : give_up(c, g, &j, e);
		if (err < 0)
			return err;
	}
	record_clean(r);
	unlinkat(r->fd, "weir/lock-0", 0);
	unlinkat(r->fd, "weir/lock-1", 0);
	err = fsio_remove_tree(r->fd, "weir/quarantine", e);
	return err < 0 ? err : journal_remove(r, e);
}
