/* SPDX-License-Identifier: MIT */
/*
 * Step 3, inspect: which changes count, and whether their names, types and modes may enter
 * a tree that other people check out. Content is judged in quarantine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "user/base/glob.h"
#include "writeback/ignore.h"
#include "writeback/lost.h"
#include "writeback/names.h"
#include "writeback/privileged.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"
#include "writeback/rebase.h"
#include "writeback/twins.h"

#define DELETIONS_MIN 10 /* files; fewer are no mass */

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

struct concern {
	const struct promotion *p;
	const struct ignore *ignore;
};

static bool is_no_concern(const char *path, size_t len, void *arg)
{
	const struct concern *c = arg;
	const struct change as_change = { .path = (char *)(uintptr_t)path, .len = len };
	cleanup_free char *inside = NULL;

	if (len == 1 && path[0] == '.')
		return true;
	if (base_find(&c->p->base, path, len))
		return !is_listed(c->p, &as_change);
	/* a name inside: rules for directories only hold for it as well */
	if (asprintf(&inside, "%.*s/x", (int)len, path) < 0) {
		inside = NULL;
		return false;
	}
	return ignore_match(c->ignore, inside) || !is_listed(c->p, &as_change);
}

static int sort_out(struct promotion *p, struct weir_err *e)
{
	cleanup_ignore struct ignore *ignore = NULL;
	int err = base_load(&p->repo, &p->began_head.tree, &p->base, e);

	if (err == 0)
		err = changes_find(&p->repo, &p->base, p->pristine ? p->before : NULL, p->after,
				   &p->changes, e);
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
	if (lost_inspect(&p->hazards, p->before, p->after, is_no_concern,
			 &(struct concern){ p, ignore }) < 0)
		return err_errno(e, -ENOMEM, "comparing the manifests");
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

	if (p->pristine)
		return 0;
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

/* Whether there is NAME in a directory ("" for the root), and of which type. Returns: st_mode, or
 * 0. Paths too long for the buffer are refused by names_inspect_path. */
static uint32_t mode_in(const struct manifest *m, const char *dir, const char *name)
{
	char path[NAMES_PATH_MAX + 16];
	size_t row;
	int len = snprintf(path, sizeof(path), "%s%s%s", dir, dir[0] ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(path) || !manifest_find(m, path, (size_t)len, &row))
		return 0;
	return m->rows[row].mode;
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return tree_path_compare(x->path, x->len, y->path, y->len);
}

/* Whether the run's own work takes it out of the branch. */
static bool is_deleted(const struct promotion *p, const struct base_entry *entry)
{
	const struct change key = { .path = entry->path, .len = entry->len };
	const struct change *c =
		bsearch(&key, p->changes.items, p->changes.count, sizeof(key), by_path);

	return c && c->new_mode == 0;
}

/* Whether the branch that the run did not see has NAME in a directory, as a file or as one with
 * files below it, and keeps it. Its tree and the run's are one after the rebase. */
static bool is_in_branch(const struct promotion *p, const char *dir, const char *name)
{
	char path[NAMES_PATH_MAX + 16];
	int n = snprintf(path, sizeof(path), "%s%s%s", dir, dir[0] ? "/" : "", name);
	size_t len = n < 0 ? sizeof(path) : (size_t)n;

	if (!p->rebased || len >= sizeof(path))
		return false;
	for (size_t i = base_find_from(&p->base, path, len); i < p->base.count; i++) {
		const struct base_entry *entry = &p->base.entries[i];

		if (entry->len < len || memcmp(entry->path, path, len) != 0)
			return false;
		if ((entry->len == len || entry->path[len] == '/') && !is_deleted(p, entry))
			return true;
	}
	return false;
}

static bool has(const struct promotion *p, const char *dir, const char *name, bool as_dir)
{
	uint32_t mode = mode_in(p->after, dir, name);

	return (as_dir ? S_ISDIR(mode) : mode != 0) || is_in_branch(p, dir, name);
}

/* A directory with a .git, or one that looks like a bare repository, once the run's files and the
 * branch's are together. */
static bool is_repository(const struct promotion *p, const char *dir)
{
	return (dir[0] && has(p, dir, ".git", false)) ||
	       (has(p, dir, "objects", true) && has(p, dir, "refs", true) &&
		has(p, dir, "HEAD", false));
}

static size_t count_below(const struct manifest *m, const char *dir)
{
	size_t len = strlen(dir), count = 0, row;

	if (strcmp(dir, ".") == 0)
		return m->count;
	if (!manifest_find(m, dir, len, &row))
		return 0;
	for (row++; row < m->count; row++) {
		const struct manifest_row *r = &m->rows[row];
		const char *path = m->paths + r->path;

		if (r->path_len <= len || memcmp(path, dir, len) != 0 || path[len] != '/')
			break;
		/* the files, without what git keeps beside them */
		if (!S_ISDIR(r->mode) &&
		    !(r->path_len > len + 5 && memcmp(path + len + 1, ".git", 4) == 0 &&
		      (path[len + 5] == '/' || r->path_len == len + 5)))
			count++;
	}
	return count;
}

static int add_nested(struct promotion *p, const char *dir)
{
	const struct hazard *last =
		p->hazards.count ? &p->hazards.items[p->hazards.count - 1] : NULL;
	char detail[64];

	/* changes are in the order of paths: those of one repository follow each other */
	if (last && last->kind == HAZARD_NESTED && strcmp(last->path, dir) == 0)
		return 0;
	snprintf(detail, sizeof(detail), "%zu files", count_below(p->after, dir));
	return hazards_note(&p->hazards, HAZARD_NESTED, dir,
			    &(struct hazard_note){ .detail = detail });
}

/* The outermost repository around a path. Returns: 1 if there is one, 0, or -ENOMEM. */
static int check_nested(struct promotion *p, const struct change *c)
{
	cleanup_free char *dir = strndup(c->path, c->len);
	int err;

	if (!dir)
		return -ENOMEM;
	for (char *slash = dir; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (is_repository(p, dir)) {
			err = add_nested(p, dir);
			return err < 0 ? err : 1;
		}
		*slash = '/';
	}
	if (!is_repository(p, ""))
		return 0;
	err = add_nested(p, ".");
	return err < 0 ? err : 1;
}

static bool same_dir(const struct change *a, const struct change *b)
{
	const char *slash = strrchr(a->path, '/');
	size_t len = slash ? (size_t)(slash - a->path) + 1 : 0;

	return strncmp(a->path, b->path, len) == 0 && !strchr(b->path + len, '/');
}

static int add_size(struct promotion *p, const struct change *c)
{
	char detail[80];

	snprintf(detail, sizeof(detail), "%llu bytes, the limit is %llu",
		 (unsigned long long)c->size, NAMES_FILE_MAX);
	return hazards_note(&p->hazards, HAZARD_SIZE, c->path,
			    &(struct hazard_note){ .detail = detail });
}

static const char *type_name(uint32_t mode)
{
	return S_ISFIFO(mode)	? "FIFO"
	       : S_ISSOCK(mode) ? "socket"
	       : S_ISBLK(mode)	? "block device"
	       : S_ISCHR(mode)	? "character device"
				: "of a type that git does not know";
}

/* What the path or the mode say. */
static int inspect_path(struct promotion *p, const struct change *c)
{
	int err = 0;

	if (c->old_mode == GIT_MODE_COMMIT)
		err = hazards_add(&p->hazards, HAZARD_SUBMODULE, c->path);
	if (err == 0 && c->old_mode == 0 && S_ISREG(c->st_mode) && (c->st_mode & 07000))
		err = hazards_add(&p->hazards, HAZARD_SETID, c->path);
	if (err == 0 && c->size > NAMES_FILE_MAX && S_ISREG(c->st_mode))
		err = add_size(p, c);
	if (err == 0 && c->special)
		err = hazards_note(&p->hazards, HAZARD_SPECIAL, c->path,
				   &(struct hazard_note){ .detail = type_name(c->st_mode) });
	if (err == 0 && c->new_mode == GIT_MODE_EXEC && c->old_mode != GIT_MODE_EXEC)
		err = hazards_add(&p->hazards, HAZARD_EXECUTABLE, c->path);
	/* deleting a bad name is fine, but not of weir's own */
	if (err == 0 && (c->st_mode != 0 || strncmp(c->path, ".weir/", 6) == 0))
		err = names_inspect_path(&p->hazards, c->path);
	return err;
}

static int inspect_privilege(struct promotion *p, const struct privileged *table,
			     const struct change *c)
{
	const char *row;
	enum hazard_kind kind = privileged_class(table, c->path, &row);
	char detail[96];

	if (kind == HAZARD_COUNT)
		return 0;
	snprintf(detail, sizeof(detail), "%s as %s",
		 c->new_mode == 0   ? "deleted, known"
		 : c->old_mode == 0 ? "added, known"
				    : "changed, known",
		 row);
	return hazards_note(&p->hazards, kind, c->path,
			    &(struct hazard_note){ .detail = detail,
						   .subject = c->sha256,
						   .subject_len = DIGEST_SIZE });
}

static int inspect_deletions(struct promotion *p)
{
	size_t deleted = 0;
	char detail[64];

	for (size_t i = 0; i < p->changes.count; i++)
		deleted += p->changes.items[i].new_mode == 0 && !p->changes.items[i].special;
	if (deleted < DELETIONS_MIN || deleted <= p->base.count / 2)
		return 0;
	snprintf(detail, sizeof(detail), "%zu of %zu", deleted, p->base.count);
	return hazards_note(&p->hazards, HAZARD_DELETIONS, ".",
			    &(struct hazard_note){ .detail = detail,
						   .subject = detail,
						   .subject_len = strlen(detail) });
}

static int inspect_changes(struct promotion *p)
{
	cleanup_privileged struct privileged *table = NULL;
	int err = privileged_new(&table), nested = 0;

	for (size_t i = 0; err == 0 && i < p->changes.count; i++) {
		const struct change *c = &p->changes.items[i];

		if (p->after && c->st_mode != 0 &&
		    (i == 0 || c[-1].st_mode == 0 || !same_dir(&c[-1], c)))
			nested = check_nested(p, c);
		else if (c->st_mode == 0)
			nested = 0;
		if (nested != 0) {
			err = nested < 0 ? nested : 0;
			continue;
		}
		err = inspect_path(p, c);
		if (err == 0)
			err = inspect_privilege(p, table, c);
	}
	return err == 0 ? inspect_deletions(p) : err;
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

/* What there is besides: "; git has no place for a/b (empty directory)". */
static void say_lost(const struct promotion *p, struct buf *out)
{
	size_t count = 0;

	for (size_t i = 0; i < p->hazards.count; i++) {
		const struct hazard *item = &p->hazards.items[i];

		if (item->kind != HAZARD_LOST || ++count > 3)
			continue;
		buf_addf(out, "%s ", count == 1 ? "; git has no place for" : ",");
		buf_add_escaped(out, item->path, strlen(item->path));
		buf_addf(out, " (%s)", item->detail);
	}
	if (count > 3)
		buf_addf(out, " and %zu more", count - 3);
}

static int check_count(const struct promotion *p, struct weir_err *e)
{
	cleanup_buf struct buf lost = { 0 };
	uint64_t bytes = 0;

	if (p->policy->writeback_paths.count == 0)
		return refuse(e, REASON_NOTHING, "the policy has no writeback.paths");
	if (p->changes.count == 0) {
		say_lost(p, &lost);
		return refuse(e, REASON_NOTHING,
			      "nothing changed inside writeback.paths (%zu path%s elsewhere)%s",
			      p->left.count, p->left.count == 1 ? "" : "s", buf_str(&lost));
	}
	if (p->changes.count > CHANGES_MAX)
		return refuse(e, REASON_LIMIT, "%zu changed files", p->changes.count);
	for (size_t i = 0; i < p->changes.count; i++)
		bytes += S_ISREG(p->changes.items[i].st_mode) ? p->changes.items[i].size : 0;
	if (bytes > NAMES_TOTAL_MAX)
		return refuse(e, REASON_LIMIT, "%llu bytes in changed files",
			      (unsigned long long)bytes);
	return 0;
}

int inspect_findings(struct promotion *p, struct weir_err *e)
{
	int err = inspect_changes(p);

	if (err == 0 && p->after)
		err = inspect_modes(p);
	if (err == 0)
		err = twins_inspect(&p->hazards, &p->base, &p->changes);
	if (err < 0)
		return err_errno(e, err, "inspecting the changes");
	return hazards_judge_hopeless(&p->hazards, e);
}

int run_inspect(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e)
{
	int err = sort_out(p, e);

	(void)ret_answer;
	if (err == 0)
		err = check_count(p, e);
	if (err == 0)
		err = check_left(p, e);
	for (size_t i = 0; err == 0 && i < p->changes.count; i++)
		err = check_before(p, &p->changes.items[i], e);
	if (err == 0 && p->rebased)
		err = rebase_inspect(p, e);
	return err < 0 ? err : inspect_findings(p, e);
}
