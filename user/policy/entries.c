/* SPDX-License-Identifier: MIT */
/*
 * What the policy says, expanded: rules and stores with their numbers, paths and real
 * objects; and what can be wrong with them on this host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/text.h"

static int add_source(struct policy_build *b, const struct policy_entry *entry)
{
	struct policy_source *s = policy_grow(&b->im->sources, &b->im->source_count, sizeof(*s));

	if (!s || !(s->written = strdup(entry->written)))
		return policy_build_oom(b);
	s->pos = entry->pos;
	s->credential = entry->credential;
	return 0;
}

static int add_entry(struct policy_build *b, const struct policy_text *path,
		     const struct policy_rule *rule)
{
	struct policy_entry *entry = policy_grow(&b->entries, &b->entry_count, sizeof(*entry));
	int err;

	if (!entry)
		return policy_build_oom(b);
	entry->id = (uint32_t)b->entry_count;
	entry->written = path->text;
	entry->pos = path->pos;
	entry->credential = !rule;
	if (rule) {
		entry->allow = (uint32_t)rule->allow.value;
		entry->deny = (uint32_t)rule->deny.value;
		entry->optional = rule->optional.value;
		entry->broad = rule->broad.value;
	}
	err = add_source(b, entry);
	return err < 0 ? err : policy_expand_path(b->p, path, b->env, &entry->path, b->e);
}

static int by_path(const void *a, const void *b)
{
	const struct policy_entry *x = *(const struct policy_entry *const *)a;
	const struct policy_entry *y = *(const struct policy_entry *const *)b;
	int order = policy_path_compare(x->path.path, y->path.path);

	if (order)
		return order;
	if (x->credential != y->credential)
		return x->credential ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The same path twice as a rule, or twice as a store. */
static int check_twins(struct policy_build *b)
{
	cleanup_free const struct policy_entry **sorted =
		calloc(b->entry_count + 1, sizeof(*sorted));

	if (!sorted)
		return policy_build_oom(b);
	for (size_t i = 0; i < b->entry_count; i++)
		sorted[i] = &b->entries[i];
	qsort(sorted, b->entry_count, sizeof(*sorted), by_path);
	for (size_t i = 1; i < b->entry_count; i++) {
		const struct policy_entry *x = sorted[i - 1], *y = sorted[i];
		bool same = x->allow == y->allow && x->deny == y->deny;

		if (x->credential != y->credential || strcmp(x->path.path, y->path.path) != 0)
			continue;
		return policy_error(b->p->file, y->pos, b->e,
				    "'%s' has a %s in line %u already%s; keep one of them",
				    policy_quote(y->written).text, y->credential ? "store" : "rule",
				    x->pos.line, same ? "" : ", with other rights");
	}
	return 0;
}

static int check_broad(struct policy_build *b, const struct policy_entry *entry)
{
	const uint32_t much = WEIR_RIGHTS_MUTATE | WEIR_RIGHT_DEVICE | WEIR_RIGHT_CONTROL;
	const char *real = entry->at.absent ? NULL : entry->at.real;

	if (!(entry->allow & ~entry->deny & much) || entry->broad)
		return 0;
	if (!policy_path_is_broad(entry->path.path, &b->lexical) &&
	    !(real && policy_path_is_broad(real, &b->real)))
		return 0;
	return policy_error(b->p->file, entry->pos, b->e,
			    "'%s' is too much to change all of; name a directory below it, or add "
			    "`broad: true` to the rule",
			    policy_quote(entry->written).text);
}

/* A grant written inside the workspace must not lead out of it: the link may be a trap. */
static int check_inside(struct policy_build *b, const struct policy_entry *entry)
{
	const struct {
		const char *name, *lexical, *real;
	} bounds[] = {
		{ "workspace", b->lexical.workspace, b->real.workspace },
		{ "temporary directory", b->lexical.tmpdir, b->real.tmpdir },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
		if (!entry->allow || !bounds[i].lexical || !bounds[i].real)
			continue;
		if (!policy_path_is_below(entry->path.path, bounds[i].lexical) ||
		    policy_path_is_below(entry->at.real, bounds[i].real))
			continue;
		return policy_error(
			b->p->file, entry->pos, b->e,
			"'%s' leads out of the %s to '%s' by a symbolic link; remove the "
			"link, or grant the real path",
			policy_quote(entry->path.path).text, bounds[i].name,
			policy_quote(entry->at.real).text);
	}
	return 0;
}

static int check_absent(struct policy_build *b, struct policy_entry *entry)
{
	if (!entry->allow)
		return 0;
	if (!entry->optional)
		return policy_error(b->p->file, entry->pos, b->e,
				    "'%s' does not exist; create it before the run, grant '%s' "
				    "instead, or add `optional: true` to the rule",
				    policy_quote(entry->path.path).text,
				    policy_quote(entry->at.real).text);
	entry->skipped = true;
	return policy_add_note(b, POLICY_NOTE_SKIPPED, entry,
			       "'%s' does not exist; the optional rule grants nothing in this run",
			       policy_quote(entry->path.path).text);
}

static int look_at_entry(struct policy_build *b, struct policy_entry *entry)
{
	struct weir_err why = { 0 };
	int err = policy_resolve(entry->path.path, &entry->at, &why);

	if (err == -ENOMEM)
		return policy_build_oom(b);
	if (err < 0)
		return policy_error(b->p->file, entry->pos, b->e, "'%s': %s; mend the path",
				    policy_quote(entry->path.path).text, why.text);
	err = check_broad(b, entry);
	if (err == 0)
		err = check_inside(b, entry);
	if (err < 0)
		return err;
	if (entry->at.absent)
		return check_absent(b, entry);
	if (entry->path.must_dir && !S_ISDIR(entry->at.st.st_mode))
		return policy_error(b->p->file, entry->pos, b->e,
				    "'%s' is no directory but is written as one; drop the / at its "
				    "end",
				    policy_quote(entry->path.path).text);
	entry->bound = true;
	if (entry->at.link_count == 0)
		return 0;
	return policy_add_note(b, POLICY_NOTE_SYMLINK, entry,
			       "'%s' goes through a symbolic link; the rule holds for '%s'",
			       policy_quote(entry->path.path).text,
			       policy_quote(entry->at.real).text);
}

/* What is written, before the host is looked at. */
static int add_entries(struct policy_build *b)
{
	const struct policy *p = b->p;
	int err = 0;

	for (size_t i = 0; err == 0 && i < p->files.count; i++)
		err = add_entry(b, &p->files.items[i].path, &p->files.items[i]);
	for (size_t i = 0; err == 0 && i < p->credentials.count; i++)
		err = add_entry(b, &p->credentials.items[i], NULL);
	return err == 0 ? check_twins(b) : err;
}

int policy_build_entries(struct policy_build *b)
{
	int err = add_entries(b);

	for (size_t i = 0; err == 0 && i < b->entry_count; i++)
		err = look_at_entry(b, &b->entries[i]);
	return err;
}

int policy_build_written(struct policy_build *b)
{
	int err = add_entries(b);

	for (size_t i = 0; err == 0 && i < b->entry_count; i++)
		err = check_broad(b, &b->entries[i]);
	return err;
}
