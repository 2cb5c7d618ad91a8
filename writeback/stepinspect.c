/* SPDX-License-Identifier: MIT */
/*
 * Step 3, inspect: which changes count, and whether their names, types and modes may enter
 * a tree that other people check out. Content is judged in quarantine.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"
#include "writeback/ignore.h"
#include "writeback/names.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/twins.h"

#define CHANGES_MAX 1000000

static bool is_listed(const struct promotion *p, const struct change *c)
{
	const struct policy_texts *globs = &p->policy->writeback_paths;

	for (size_t i = 0; i < globs->count; i++)
		if (glob_match(globs->items[i].text, c->path, c->len))
			return true;
	return false;
}

static bool stays_tracked(const struct change *c, void *arg)
{
	return c->old_mode != 0 && !is_listed(arg, c);
}

static bool stays(const struct change *c, void *arg)
{
	return c->ignored || !is_listed(arg, c);
}

static int sort_out(struct promotion *p, struct weir_err *e)
{
	cleanup_ignore struct ignore *ignore = NULL;
	int err = base_load(&p->repo, &p->base_head.tree, &p->base, e);

	if (err == 0)
		err = changes_find(&p->repo, &p->base, p->after, &p->changes, e);
	if (err == 0)
		err = ignore_load(&p->repo, &p->base, &ignore, e);
	if (err < 0)
		return err;
	for (size_t i = 0; i < p->changes.count; i++) {
		struct change *c = &p->changes.items[i];

		c->ignored = c->old_mode == 0 && ignore_match(ignore, c->path);
	}
	if (changes_move(&p->changes, &p->left, stays_tracked, p) < 0 ||
	    changes_move(&p->changes, &p->left, stays, p) < 0)
		return err_errno(e, -ENOMEM, "sorting the changes");
	return 0;
}

static int check_left(const struct promotion *p, struct weir_err *e)
{
	const struct change *first = NULL;
	size_t count = 0;

	if (p->policy->unlisted.value != POLICY_UNLISTED_REFUSE)
		return 0;
	for (size_t i = 0; i < p->left.count; i++) {
		if (p->left.items[i].ignored)
			continue;
		if (!first)
			first = &p->left.items[i];
		count++;
	}
	if (!first)
		return 0;
	return refuse(e, REASON_UNLISTED, "%s changed outside writeback.paths (%zu such path%s)",
		      first->path, count, count == 1 ? "" : "s");
}

/* What is promoted must be the run's own work: before it, the path was as in the base. */
static int check_before(const struct promotion *p, const struct change *c, struct weir_err *e)
{
	const struct base_entry *base = base_find(&p->base, c->path, c->len);
	size_t row;
	bool there = manifest_find(p->before, c->path, c->len, &row);
	int equal;

	if (there && S_ISDIR(p->before->rows[row].mode) && c->old_mode != GIT_MODE_COMMIT)
		there = false;
	if (!base)
		equal = !there;
	else
		equal = there ? base_entry_equals(&p->repo, base, &p->before->rows[row], e) : 0;
	if (equal < 0)
		return equal;
	return equal ? 0 : refuse(e, REASON_WORKSPACE_DIRTY, "%s", c->path);
}

static bool manifest_has_dir(const struct manifest *m, const char *dir, const char *name)
{
	cleanup_free char *path = NULL;
	size_t row;
	int len = asprintf(&path, "%s%s%s", dir, dir[0] ? "/" : "", name);

	if (len < 0) {
		path = NULL;
		return false;
	}
	return manifest_find(m, path, (size_t)len, &row) && S_ISDIR(m->rows[row].mode);
}

static bool manifest_has(const struct manifest *m, const char *dir, const char *name)
{
	cleanup_free char *path = NULL;
	size_t row;
	int len = asprintf(&path, "%s/%s", dir, name);

	if (len < 0) {
		path = NULL;
		return false;
	}
	return manifest_find(m, path, (size_t)len, &row);
}

/* A directory with a .git, or one that looks like a bare repository. */
static bool is_repository(const struct manifest *m, const char *dir)
{
	return (dir[0] && manifest_has(m, dir, ".git")) ||
	       (manifest_has_dir(m, dir, "objects") && manifest_has_dir(m, dir, "refs") &&
		(dir[0] ? manifest_has(m, dir, "HEAD")
			: manifest_find(m, "HEAD", 4, &(size_t){ 0 })));
}

static int check_nested(struct promotion *p, const struct change *c)
{
	cleanup_free char *dir = strndup(c->path, c->len);

	if (!dir)
		return -ENOMEM;
	for (char *slash; (slash = strrchr(dir, '/'));) {
		*slash = '\0';
		if (is_repository(p->after, dir))
			return hazards_add(&p->hazards, HAZARD_NESTED, dir);
	}
	return is_repository(p->after, "") ? hazards_add(&p->hazards, HAZARD_NESTED, ".") : 0;
}

static bool same_dir(const struct change *a, const struct change *b)
{
	const char *slash = strrchr(a->path, '/');
	size_t len = slash ? (size_t)(slash - a->path) + 1 : 0;

	return strncmp(a->path, b->path, len) == 0 && !strchr(b->path + len, '/');
}

static int inspect_change(struct promotion *p, size_t i)
{
	const struct change *c = &p->changes.items[i];
	int err = 0;

	if (c->old_mode == GIT_MODE_COMMIT)
		err = hazards_add(&p->hazards, HAZARD_SUBMODULE, c->path);
	if (err == 0 && c->special)
		err = hazards_add(&p->hazards, HAZARD_SPECIAL, c->path);
	if (err == 0 && c->old_mode == 0 && S_ISREG(c->st_mode) && (c->st_mode & 07000))
		err = hazards_add(&p->hazards, HAZARD_SETID, c->path);
	if (err == 0 && c->size > NAMES_FILE_MAX && S_ISREG(c->st_mode))
		err = hazards_add(&p->hazards, HAZARD_SIZE, c->path);
	/* deleting a bad name is fine, but not of weir's own */
	if (err == 0 && (c->st_mode != 0 || strncmp(c->path, ".weir/", 6) == 0))
		err = names_inspect_path(&p->hazards, c->path);
	if (err == 0 && c->st_mode != 0 && (i == 0 || !same_dir(&p->changes.items[i - 1], c)))
		err = check_nested(p, c);
	return err;
}

/* Bits that git has no place for: on tracked files they would be lost without a word. */
static int inspect_modes(struct promotion *p)
{
	for (size_t i = 0; i < p->base.count; i++) {
		const struct base_entry *b = &p->base.entries[i];
		struct change as_change = { .path = b->path, .len = b->len };
		size_t row;

		if (!manifest_find(p->after, b->path, b->len, &row) ||
		    !S_ISREG(p->after->rows[row].mode) || !(p->after->rows[row].mode & 07000) ||
		    !is_listed(p, &as_change))
			continue;
		if (hazards_add(&p->hazards, HAZARD_SETID, b->path) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int check_count(const struct promotion *p, struct weir_err *e)
{
	if (p->policy->writeback_paths.count == 0)
		return refuse(e, REASON_NOTHING, "the policy has no writeback.paths");
	if (p->changes.count == 0)
		return refuse(e, REASON_NOTHING,
			      "nothing changed inside writeback.paths (%zu path%s elsewhere)",
			      p->left.count, p->left.count == 1 ? "" : "s");
	if (p->changes.count > CHANGES_MAX)
		return refuse(e, REASON_LIMIT, "%zu changed files", p->changes.count);
	return 0;
}

int step_inspect(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = sort_out(p, e);

	(void)ret_answer;
	if (err == 0)
		err = check_count(p, e);
	if (err == 0)
		err = check_left(p, e);
	for (size_t i = 0; err == 0 && i < p->changes.count; i++)
		err = check_before(p, &p->changes.items[i], e);
	if (err < 0)
		return err;
	for (size_t i = 0; err == 0 && i < p->changes.count; i++)
		err = inspect_change(p, i);
	if (err == 0)
		err = inspect_modes(p);
	if (err == 0)
		err = twins_inspect(&p->hazards, &p->base, &p->changes);
	if (err < 0)
		return err_errno(e, err, "inspecting the changes");
	return hazards_judge_hopeless(&p->hazards, e);
}
