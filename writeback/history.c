/* SPDX-License-Identifier: MIT */
#include "writeback/history.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/cleanup.h"
#include "writeback/oidset.h"

struct walk {
	const struct repo *repo;
	struct oidset *seen;
	git_oid *queue;
	size_t head;
	size_t tail;
	size_t room;
};

static int add(struct walk *w, const git_oid *id, struct weir_err *e)
{
	size_t number;

	if (oidset_get(w->seen, id, &number))
		return 0;
	if (w->tail >= HISTORY_COMMITS_MAX)
		return err_set(e, -E2BIG, "the history has more than %u commits",
			       HISTORY_COMMITS_MAX);
	if (w->tail == w->room) {
		size_t room = w->room ? 2 * w->room : 256;
		git_oid *queue = reallocarray(w->queue, room, sizeof(*queue));

		if (!queue)
			return err_errno(e, -ENOMEM, "walking the history");
		w->queue = queue;
		w->room = room;
	}
	if (oidset_put(w->seen, id, w->tail) < 0)
		return err_errno(e, -ENOMEM, "walking the history");
	w->queue[w->tail++] = *id;
	return 0;
}

static int visit(struct walk *w, const git_oid *id, history_fn *fn, void *arg, struct weir_err *e)
{
	git_commit *commit = NULL;
	int err;

	if (git_commit_lookup(&commit, w->repo->git, id) < 0)
		return repo_error(e, "walking the history");
	err = fn(id, commit, arg, e);
	for (unsigned int i = 0; err == 1 && i < git_commit_parentcount(commit); i++)
		if (add(w, git_commit_parent_id(commit, i), e) < 0)
			err = e->err < 0 ? e->err : -ENOMEM;
	git_commit_free(commit);
	return err < 0 ? err : 0;
}

int history_walk(const struct repo *r, const git_oid *tip, history_fn *fn, void *arg,
		 struct weir_err *e)
{
	struct walk w = { .repo = r, .seen = oidset_new() };
	int err = w.seen ? add(&w, tip, e) : err_errno(e, -ENOMEM, "walking the history");

	while (err == 0 && w.head < w.tail) {
		git_oid id = w.queue[w.head++];

		err = visit(&w, &id, fn, arg, e);
	}
	oidset_free(w.seen);
	free(w.queue);
	return err;
}

static int look(const git_oid *id, const git_commit *commit, void *arg, struct weir_err *e)
{
	(void)commit;
	(void)e;
	return git_oid_equal(id, arg) ? -ECANCELED : 1;
}

int history_reaches(const struct repo *r, const git_oid *tip, const git_oid *old,
		    struct weir_err *e)
{
	git_oid want = *old;
	int err = history_walk(r, tip, look, &want, e);

	return err == -ECANCELED ? 1 : err;
}
