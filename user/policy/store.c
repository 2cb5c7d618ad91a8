/* SPDX-License-Identifier: MIT */
/*
 * What lies in credential stores. Each file becomes an object of its own, because another
 * hard link to it has other ancestors.
 */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"

static void close_fts(FTS **fts)
{
	if (*fts)
		fts_close(*fts);
}

static int add_file(struct policy_build *b, const struct policy_item *store, const char *path,
		    const struct policy_item *near, const struct stat *st)
{
	struct policy_object o = {
		.rights = near->rights & ~(uint32_t)WEIR_RIGHT_READ,
		.flags = WEIR_RULE_CREDENTIAL,
		.id = store->store->id,
		.line = store->store->pos.line,
	};

	if (++b->store_files > POLICY_STORE_FILES_MAX)
		return policy_error(
			b->p->file, store->store->pos, b->e,
			"the stores hold more than %d files, at '%s'; name the files or "
			"directories with secrets instead of all of '%s'",
			POLICY_STORE_FILES_MAX, policy_quote(path).text,
			policy_quote(store->path).text);
	return policy_add_object(b, path, st, &o);
}

static int found_file(struct policy_build *b, const struct policy_item *store, const char *path,
		      const struct stat *st)
{
	const struct policy_item *near = policy_item_above(b, path, true);

	/* has a rule of its own, or was given to read by one below the store */
	if (!near || strcmp(near->path, path) == 0 || (near->rights & WEIR_RIGHT_READ))
		return 0;
	return add_file(b, store, path, near, st);
}

/* A link in a store: what it leads to is the secret. */
static int found_link(struct policy_build *b, const struct policy_item *store, const char *path)
{
	cleanup_policy_resolved struct policy_resolved at = { 0 };
	struct weir_err why = { 0 };
	const struct policy_item *near;
	int err = policy_resolve(path, &at, &why);

	if (err < 0)
		return policy_error(b->p->file, store->store->pos, b->e, "'%s': %s; mend the link",
				    policy_quote(path).text, why.text);
	near = at.absent ? NULL : policy_item_above(b, at.real, true);
	if (at.absent || (near && (near->flags & WEIR_RULE_CREDENTIAL)))
		return 0; /* leads nowhere, or is looked at in its own place */
	if (S_ISDIR(at.st.st_mode))
		return policy_error(
			b->p->file, store->store->pos, b->e,
			"the store holds a link '%s' to the directory '%s'; name that as "
			"a store too, or remove the link",
			policy_quote(path).text, policy_quote(at.real).text);
	if (!S_ISREG(at.st.st_mode) || (near && strcmp(near->path, at.real) == 0))
		return 0;
	err = policy_add_note(b, POLICY_NOTE_SYMLINK, store->store,
			      "the store holds a link to '%s'; reading that is a finding as well",
			      policy_quote(at.real).text);
	return err < 0 ? err : add_file(b, store, at.real, near ? near : store, &at.st);
}

static int look_at_file(struct policy_build *b, const struct policy_item *store,
			const FTSENT *entry)
{
	if (entry->fts_level > WEIR_DEPTH_MAX)
		return policy_error(b->p->file, store->store->pos, b->e,
				    "the store has more than %d levels, at '%s'; name directories "
				    "further down",
				    WEIR_DEPTH_MAX, policy_quote(entry->fts_path).text);
	switch (entry->fts_info) {
	case FTS_F:
		return found_file(b, store, entry->fts_path, entry->fts_statp);
	case FTS_SL:
	case FTS_SLNONE:
		return found_link(b, store, entry->fts_path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		/* gone since it was listed: the directory's own rule holds for what comes */
		if (entry->fts_errno == ENOENT)
			return 0;
		return err_errno(b->e, -entry->fts_errno, "credential store: '%s'",
				 policy_quote(entry->fts_path).text);
	}
	return 0;
}

static int look_at_store(struct policy_build *b, const struct policy_item *store)
{
	char *roots[] = { (char *)store->path, NULL };
	FTS *fts __attribute__((cleanup(close_fts))) =
		fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	if (!fts)
		return policy_build_oom(b);
	for (;;) {
		FTSENT *entry;
		int err;

		errno = 0;
		entry = fts_read(fts);
		if (!entry)
			return errno ? err_errno(b->e, -errno, "credential store: '%s'",
						 policy_quote(store->path).text)
				     : 0;
		err = look_at_file(b, store, entry);
		if (err < 0)
			return err;
	}
}

int policy_build_stores(struct policy_build *b)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->item_count; i++)
		if (b->items[i].store)
			err = look_at_store(b, &b->items[i]);
	return err;
}
