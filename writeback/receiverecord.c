/* SPDX-License-Identifier: MIT */
/* Receiving records: what refs/weir/attestations may grow by; contract in receive.h. */
#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/history.h"
#include "writeback/reason.h"
#include "writeback/receive.h"

#define HEX_DIGITS "0123456789abcdef"

/* One step of the records, from a tree to the next. */
struct growth {
	struct receive *receive;
	struct oidset *seen; /* commits whose records were looked at */
	struct weir_err *e;
};

/* The tree at an id, or none. Returns: 0 or a negative errno. */
static int get_tree(const struct growth *g, const git_oid *id, git_tree **ret_tree)
{
	*ret_tree = NULL;
	if (!id || git_oid_is_zero(id))
		return 0;
	return git_tree_lookup(ret_tree, g->receive->repo.git, id) < 0
		       ? repo_error(g->e, "reading the records")
		       : 0;
}

static int bad(const struct growth *g, const char *what)
{
	return refuse(g->e, REASON_RECORDS, RECORD_REF ": %s", what);
}

/* The record of a commit is one that verify accepts, and a branch has or gets the commit. */
static int check_record(const struct growth *g, const char *hex)
{
	struct receive *r = g->receive;
	cleanup_verify struct verify v = { 0 };
	struct weir_err cause = { 0 };
	size_t number;
	git_oid id;

	if (git_oid_fromstr(&id, hex) < 0)
		return bad(g, "a record has no commit's name");
	if (oidset_get(r->good, &id, &number) || oidset_get(g->seen, &id, &number))
		return 0;
	if (oidset_put(g->seen, &id, 0) < 0)
		return err_errno(g->e, -ENOMEM, "receiving");
	if (receive_verify(r, &id, false, &v, &cause) == 0)
		return 0;
	return refuse(g->e, REASON_RECORDS, "the record of %s: %.*s", hex,
		      (int)strcspn(cause.text, ";"), cause.text);
}

/* Files that were there stay as they are; those that are new have names of records. */
static int check_files(const struct growth *g, const git_tree *old, const git_tree *now)
{
	for (size_t i = 0; i < git_tree_entrycount(now); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(now, i);
		const char *name = git_tree_entry_name(entry);
		const git_tree_entry *was = old ? git_tree_entry_byname(old, name) : NULL;

		if (was && !git_oid_equal(git_tree_entry_id(was), git_tree_entry_id(entry)))
			return bad(g, "a file of a record has other bytes");
		if ((uint32_t)git_tree_entry_filemode_raw(entry) != GIT_MODE_FILE ||
		    (!was && !record_knows(name)))
			return bad(g, "a record has a file that records don't have");
	}
	return 0;
}

/* Level 0: directories of two digits; 1: of commits; 2: files. */
static int compare(const struct growth *g, unsigned int level, const git_oid *old_id,
		   const git_oid *new_id, const char *name);

static int compare_entry(const struct growth *g, unsigned int level, const git_tree *old,
			 const git_tree_entry *entry)
{
	const char *name = git_tree_entry_name(entry);
	const git_tree_entry *was = old ? git_tree_entry_byname(old, name) : NULL;

	if (was && git_oid_equal(git_tree_entry_id(was), git_tree_entry_id(entry)))
		return 0;
	if ((uint32_t)git_tree_entry_filemode_raw(entry) != GIT_MODE_TREE ||
	    strlen(name) != (level == 0 ? 2 : OID_HEX - 1) ||
	    strspn(name, HEX_DIGITS) != strlen(name))
		return bad(g, "something stands there that is no record");
	return compare(g, level + 1, was ? git_tree_entry_id(was) : NULL, git_tree_entry_id(entry),
		       name);
}

static int compare(const struct growth *g, unsigned int level, const git_oid *old_id,
		   const git_oid *new_id, const char *name)
{
	git_tree *old = NULL, *now = NULL;
	int err = get_tree(g, old_id, &old);

	if (err == 0)
		err = get_tree(g, new_id, &now);
	for (size_t i = 0; err == 0 && old && i < git_tree_entrycount(old); i++)
		if (!git_tree_entry_byname(now,
					   git_tree_entry_name(git_tree_entry_byindex(old, i))))
			err = bad(g, "a record or a file of it is gone");
	if (err == 0 && level == 2)
		err = check_files(g, old, now);
	for (size_t i = 0; err == 0 && level < 2 && i < git_tree_entrycount(now); i++)
		err = compare_entry(g, level, old, git_tree_entry_byindex(now, i));
	git_tree_free(old);
	git_tree_free(now);
	return err == 0 && level == 2 ? check_record(g, name) : err;
}

/* Each commit of the records on its own: nothing is hidden in between. */
static int walk(const struct growth *g, const git_oid *now, const git_oid *new_id)
{
	struct receive *r = g->receive;
	git_oid at = *new_id;

	for (unsigned int i = 0; !git_oid_equal(&at, now); i++) {
		struct repo_commit head, parent = { 0 };
		int err = repo_read_commit(&r->repo, &at, &head, g->e);

		if (err < 0)
			return err;
		if (head.parents > 1 || i >= RECEIVE_COMMITS_MAX)
			return bad(g, "its history is no single line");
		if (head.parents == 0 && !git_oid_is_zero(now))
			return bad(g, "it would lose the records that it has");
		if (head.parents == 1)
			err = repo_read_commit(&r->repo, &head.parent, &parent, g->e);
		if (err == 0)
			err = compare(g, 0, head.parents ? &parent.tree : NULL, &head.tree, "");
		if (err < 0)
			return err;
		at = head.parent;
	}
	return 0;
}

int receive_records(struct receive *r, const git_oid *now, const git_oid *new_id,
		    struct weir_err *e)
{
	struct growth g = { .receive = r, .seen = oidset_new(), .e = e };
	int err = 0;

	if (!g.seen)
		return err_errno(e, -ENOMEM, "receiving");
	if (!git_oid_is_zero(now)) {
		err = history_reaches(&r->repo, new_id, now, e);
		err = err == 0	? bad(&g, "it would lose the records that it has")
		      : err < 0 ? err
				: 0;
	}
	if (err == 0)
		err = walk(&g, now, new_id);
	oidset_free(g.seen);
	return err;
}
