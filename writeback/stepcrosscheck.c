/* SPDX-License-Identifier: MIT */
/*
 * Step 2, cross-check: manifest(before) + traced mutations == manifest(after), path by
 * path, and the workspace still is what manifest(after) says. A difference without a traced
 * writer was made by somebody outside the run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "writeback/promotion.h"
#include "writeback/reader.h"
#include "writeback/reason.h"
#include "writeback/tracecheck.h"

static int explain(const struct promotion *p, const struct tree_changes *changes,
		   struct weir_err *e)
{
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *c = &changes->items[i];

		if (mutations_explain(p->mutations, c->path, c->after.ino, NULL) ||
		    mutations_explain(p->mutations, c->path, c->before.ino, NULL))
			continue;
		if (!first)
			first = c->path;
		count++;
	}
	if (!first)
		return 0;
	return refuse(e, REASON_FOREIGN_WRITE,
		      "%s changed during the run, but no member of the run did it (%zu such "
		      "path%s)",
		      first[0] ? first : "the workspace itself", count, count == 1 ? "" : "s");
}

struct untouched {
	struct promotion *p;
	uint64_t count;
};

#define CONTENT_OPS \
	(1u << WEIR_OP_WRITE | 1u << WEIR_OP_TRUNCATE | 1u << WEIR_OP_MMAP | 1u << WEIR_OP_CREATE)

/* Written, and yet the same: put back, or replaced by equal bytes. */
static int count_untouched(const char *path, const struct mutation *m, void *arg)
{
	struct untouched *u = arg;
	const struct manifest *before = u->p->before, *after = u->p->after;
	size_t old, now;

	if ((m->ops & CONTENT_OPS) && manifest_find(before, path, strlen(path), &old) &&
	    manifest_find(after, path, strlen(path), &now) && S_ISREG(after->rows[now].mode) &&
	    memcmp(before->rows[old].sha256, after->rows[now].sha256, DIGEST_SIZE) == 0)
		u->count++;
	return 0;
}

static int check_manifests(struct promotion *p, struct tree_changes *changes, struct weir_err *e)
{
	struct untouched u = { p, 0 };
	int err;

	if (mutations_overflowed(p->mutations))
		return refuse(e, REASON_LIMIT, "the trace changes more paths than can be checked");
	err = tree_compare_tables(p->before, p->after, 0, changes, e);
	if (err == 0)
		err = explain(p, changes, e);
	if (err < 0)
		return err;
	mutations_each(p->mutations, count_untouched, &u);
	p->untouched = u.count;
	return 0;
}

struct differences {
	char first[256];
	const char *how;
};

static int on_difference(enum tree_change_kind kind, uint32_t what, const char *path, void *arg,
			 struct weir_err *e)
{
	struct differences *d = arg;

	(void)e;
	if (d->how)
		return 0;
	d->how = kind == TREE_ADDED	       ? "appeared"
		 : kind == TREE_REMOVED	       ? "vanished"
		 : what & TREE_CHANGED_TYPE    ? "was replaced"
		 : what & TREE_CHANGED_CONTENT ? "has another content"
					       : "has another mode";
	snprintf(d->first, sizeof(d->first), "%s", path[0] ? path : ".");
	return 0;
}

static int check_workspace(struct promotion *p, struct weir_err *e)
{
	struct differences d = { 0 };
	struct reader_done done = { 0 };
	struct weir_err cause = { 0 };
	int err;

	if (lseek(p->files[RUN_AFTER], 0, SEEK_SET) < 0)
		return err_errno(e, -errno, "manifest.after");
	err = reader_compare(p->reader, p->files[RUN_AFTER], p->strength, on_difference, &d, &done,
			     &cause);
	if (err == -ESTALE || err == -EXDEV)
		return refuse(e, REASON_CHANGED_AFTER, "%s", cause.text);
	if (err < 0)
		return err_set(e, err, "%s", cause.text);
	p->hashed_files = done.hashed_files;
	if (done.differences == 0)
		return 0;
	return refuse(e, REASON_CHANGED_AFTER, "%s %s after the run ended (%llu such path%s)",
		      d.first, d.how ? d.how : "changed", (unsigned long long)done.differences,
		      done.differences == 1 ? "" : "s");
}

int run_crosscheck(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_tree_changes struct tree_changes changes = { 0 };
	bool trace = p->strength == TREE_STRENGTH_TRACE;
	int err = check_manifests(p, &changes, e);

	(void)ret_answer;
	if (err < 0 || p->resumed)
		return err;
	if (!trace)
		return check_workspace(p, e);
	err = tracecheck_allow(p, e);
	return err < 0 ? err : tracecheck_workspace(p, &changes, e);
}
