/* SPDX-License-Identifier: MIT */
#include "writeback/rebase.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/digest.h"
#include "writeback/promotion.h"
#include "writeback/reason.h"

#define CONTROL_DIR ".weir"

/* The id of .weir/ in a commit; zero where it has none. */
static int control_of(const struct repo *r, const git_oid *commit, git_oid *ret_id,
		      struct weir_err *e)
{
	struct repo_commit head;
	uint32_t mode;
	int err = repo_read_commit(r, commit, &head, e);

	memset(ret_id, 0, sizeof(*ret_id));
	if (err == 0)
		err = repo_find(r, &head.tree, CONTROL_DIR, ret_id, &mode, e);
	if (err != -ENOENT)
		return err;
	*e = (struct weir_err){ 0 };
	return 0;
}

int rebase_check_commits(const struct repo *r, const git_oid *began, const git_oid *onto,
			 struct weir_err *e)
{
	git_oid then, now;
	int err = repo_reaches(r, onto, began, e);

	if (err == 0)
		return refuse(e, REASON_BASE_MOVED,
			      "the branch does not go on from where the run began");
	if (err < 0)
		return err;
	err = control_of(r, began, &then, e);
	if (err == 0)
		err = control_of(r, onto, &now, e);
	if (err < 0)
		return err;
	return git_oid_equal(&then, &now)
		       ? 0
		       : refuse(e, REASON_REBASE_POLICY,
				"%s has changed on the branch since the run began", CONTROL_DIR);
}

static int conflict(const char *path, size_t len, struct weir_err *e)
{
	cleanup_buf struct buf safe = { 0 };

	buf_add_escaped(&safe, path, len);
	refuse(e, REASON_REBASE_CONFLICT, "%.512s has changed on the branch as well",
	       buf_str(&safe));
	return -EPERM;
}

static bool same(const struct base_entry *a, const struct base_entry *b)
{
	return !a || !b ? a == b : a->mode == b->mode && git_oid_equal(&a->oid, &b->oid);
}

static bool is_below(const struct base_entry *entry, const char *dir, size_t len)
{
	return entry->len > len && memcmp(entry->path, dir, len) == 0 && entry->path[len] == '/';
}

/* Returns: where the entries below a directory begin. */
static size_t find_below(const struct base *b, const char *dir, size_t len)
{
	size_t at = base_find_from(b, dir, len);

	return at < b->count && b->entries[at].len == len &&
			       memcmp(b->entries[at].path, dir, len) == 0
		       ? at + 1
		       : at;
}

static int check_below(const struct base *began, const struct base *onto, const char *path,
		       size_t len, struct weir_err *e)
{
	size_t i = find_below(began, path, len), k = find_below(onto, path, len);

	for (;; i++, k++) {
		const struct base_entry *a = i < began->count ? &began->entries[i] : NULL;
		const struct base_entry *b = k < onto->count ? &onto->entries[k] : NULL;
		bool in_a = a && is_below(a, path, len), in_b = b && is_below(b, path, len);

		if (!in_a && !in_b)
			return 0;
		if (!in_a || !in_b || a->len != b->len || memcmp(a->path, b->path, a->len) != 0 ||
		    !same(a, b))
			return conflict(path, len, e);
	}
}

int rebase_check_path(const struct base *began, const struct base *onto, const char *path,
		      size_t len, struct weir_err *e)
{
	for (size_t i = 1; i <= len; i++)
		if ((i == len || path[i] == '/') &&
		    !same(base_find(began, path, i), base_find(onto, path, i)))
			return conflict(path, i, e);
	return check_below(began, onto, path, len, e);
}

/* A proposal says what it is on; else it is the tip, which publication compares again. */
static int find_onto(const struct promotion *p, git_oid *ret_onto, struct weir_err *e)
{
	cleanup_buf struct buf base = { 0 };

	if (!p->resumed)
		return repo_read_ref(&p->repo, p->nonce.ref, ret_onto, e);
	if (digest_find(buf_str(&p->pending.promotion), "base", &base) < 0 ||
	    git_oid_fromstr(ret_onto, buf_str(&base)) < 0)
		return refuse(e, REASON_VOID, "the proposal names no base");
	return 0;
}

int rebase_find_base(struct promotion *p, struct weir_err *e)
{
	git_oid onto = p->began_commit;
	int err = p->resumed || p->rebase ? find_onto(p, &onto, e) : 0;

	if (err < 0)
		return err;
	p->base_commit = onto;
	p->rebased = !git_oid_equal(&p->began_commit, &onto);
	git_oid_tostr(p->base_hex, sizeof(p->base_hex), &onto);
	return p->rebased ? rebase_check_commits(&p->repo, &p->began_commit, &onto, e) : 0;
}

/* What the run is known to have read, and is another file now; if it read more than a list holds,
 * all that is another file. */
static int note_reads(struct promotion *p, const struct base *onto)
{
	for (size_t i = 0; i < p->base.count; i++) {
		const struct base_entry *entry = &p->base.entries[i];
		const struct base_entry *now = base_find(onto, entry->path, entry->len);

		if (same(entry, now) || (!p->reads.overflow && !reads_have(&p->reads, entry->path)))
			continue;
		if (hazards_note(&p->hazards, HAZARD_REBASE_READ, entry->path,
				 &(struct hazard_note){
					 .subject = now ? now->oid.id : (const void *)"",
					 .subject_len = now ? sizeof(now->oid.id) : 0 }) < 0)
			return -ENOMEM;
	}
	return 0;
}

int rebase_inspect(struct promotion *p, struct weir_err *e)
{
	cleanup_base struct base onto = { 0 };
	struct base began;
	int err = base_load(&p->repo, &p->base_head.tree, &onto, e);

	for (size_t i = 0; err == 0 && i < p->changes.count; i++) {
		const struct change *c = &p->changes.items[i];

		err = rebase_check_path(&p->base, &onto, c->path, c->len, e);
	}
	if (err < 0)
		return err;
	if (note_reads(p, &onto) < 0)
		return err_errno(e, -ENOMEM, "comparing the reads");
	began = p->base;
	p->base = onto;
	onto = began;
	return 0;
}
