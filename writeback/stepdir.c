/* SPDX-License-Identifier: MIT */
/*
 * Step 3 for a directory (writeback/dirs.h): every file of it, whether git would ignore it and
 * whether the run changed it or not. A part of a directory is none: what may not go stops it.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"
#include "writeback/lost.h"
#include "writeback/names.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

/* No findings where programs are what it is about: nobody can read them, and they can be run. */
#define EXPECTED (1ull << HAZARD_PROGRAM | 1ull << HAZARD_BINARY | 1ull << HAZARD_EXECUTABLE)

static bool is_outside(const struct change *c, void *arg)
{
	const struct promotion *p = arg;

	return !dirs_inside(p->dir.from, c->path);
}

static bool is_no_concern(const char *path, size_t len, void *arg)
{
	const struct promotion *p = arg;

	(void)len;
	return !dirs_inside(p->dir.from, path);
}

/* All files of the directory; what else the run changed stays behind. */
static int sort_out(struct promotion *p, const struct base *sources, struct weir_err *e)
{
	const struct base none = { 0 };
	struct changes all = { 0 }, rest = { 0 };
	int err =
		changes_find(&p->repo, sources, p->pristine ? p->before : NULL, p->after, &all, e);

	if (err == 0)
		err = changes_find(&p->repo, &none, NULL, p->after, &p->changes, e);
	if (err == 0 && (changes_move(&all, &p->left, is_outside, p) < 0 ||
			 changes_move(&p->changes, &rest, is_outside, p) < 0))
		err = err_errno(e, -ENOMEM, "sorting the changes");
	if (err == 0 && lost_inspect(&p->hazards, p->before, p->after, is_no_concern, p) < 0)
		err = err_errno(e, -ENOMEM, "comparing the manifests");
	changes_done(&all);
	changes_done(&rest);
	return err;
}

static bool is_listed(const struct promotion *p, const struct change *c)
{
	const struct policy_texts *globs = &p->policy->writeback_paths;

	for (size_t i = 0; i < globs->count; i++)
		if (glob_match(globs->items[i].text, c->path, c->len))
			return true;
	return false;
}

/* Before the run it was as in the base, or not there at all: nobody else brought it. */
static int check_before(const struct promotion *p, const struct base *sources,
			const struct change *c, struct weir_err *e)
{
	const struct base_entry *source = base_find(sources, c->path, c->len);
	size_t row;
	int equal;

	if (p->pristine || !manifest_find(p->before, c->path, c->len, &row) ||
	    S_ISDIR(p->before->rows[row].mode))
		return 0;
	equal = source ? base_entry_equals(&p->repo, source, &p->before->rows[row], e) : 0;
	if (equal < 0)
		return equal;
	return equal ? 0 : refuse(e, REASON_WORKSPACE_DIRTY, "%s", c->path);
}

static int check_file(const struct promotion *p, const struct base *sources, const struct change *c,
		      struct weir_err *e)
{
	const char *name = dirs_inside(p->dir.from, c->path);
	size_t len = strlen(name), tail = strlen(DIRS_BUNDLE);

	/* the one bundle at the top says whose promotion the directory is */
	if (strcmp(name, DIRS_SUMS) == 0 ||
	    (!strchr(name, '/') && len > tail && strcmp(name + len - tail, DIRS_BUNDLE) == 0))
		return refuse(e, REASON_DIRECTORY_FILES, "%s is a file that the gate writes",
			      c->path);
	if (!is_listed(p, c))
		return refuse(e, REASON_DIRECTORY_FILES, "%s is not in writeback.paths", c->path);
	return check_before(p, sources, c, e);
}

static int check_count(const struct promotion *p, struct weir_err *e)
{
	uint64_t bytes = 0;

	if (p->changes.count == 0)
		return refuse(e, REASON_NOTHING, "%s has no files", p->dir.from);
	if (p->changes.count > CHANGES_MAX)
		return refuse(e, REASON_LIMIT, "%zu files", p->changes.count);
	for (size_t i = 0; i < p->changes.count; i++)
		bytes += S_ISREG(p->changes.items[i].st_mode) ? p->changes.items[i].size : 0;
	return bytes > NAMES_TOTAL_MAX
		       ? refuse(e, REASON_LIMIT, "%llu bytes", (unsigned long long)bytes)
		       : 0;
}

int dir_inspect(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	cleanup_base struct base sources = { 0 };
	int err = base_load(&p->repo, &p->base_head.tree, &sources, e);

	(void)ret_answer;
	p->expected = EXPECTED;
	if (err == 0)
		err = sort_out(p, &sources, e);
	if (err == 0)
		err = check_count(p, e);
	for (size_t i = 0; err == 0 && i < p->changes.count; i++)
		err = check_file(p, &sources, &p->changes.items[i], e);
	if (err == 0)
		err = inspect_findings(p, e);
	hazards_drop(&p->hazards, p->expected);
	return err;
}
