/* SPDX-License-Identifier: MIT */
/*
 * Name rules: what denies must go on denying when another object takes the place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/policy/build.h"
#include "user/policy/text.h"

static int add_name(struct policy_build *b, const struct policy_entry *entry, const char *dir,
		    const char *name)
{
	const struct policy_item *above = policy_item_above(b, dir, true), *own = NULL;
	struct policy_name *n;

	if (b->im->name_count >= WEIR_NAMES_MAX)
		return err_code(b->e, -E2BIG, "policy",
				"%s: the policy needs more than %u names; deny directories instead "
				"of single files",
				policy_quote(b->p->file).text, WEIR_NAMES_MAX);
	n = policy_grow(&b->im->names, &b->im->name_count, sizeof(*n));
	if (!n || !(n->dir = strdup(dir)) || !(n->name = strdup(name)))
		return policy_build_oom(b);
	n->id = entry->id;
	n->line = entry->pos.line;
	n->rights = (above ? above->rights : b->im->rights) & ~entry->deny;
	if (above)
		n->flags = above->flags & WEIR_RULE_CREDENTIAL;
	if (!entry->credential)
		return 0;
	n->flags |= WEIR_RULE_CREDENTIAL;
	if (entry->bound)
		own = policy_item_above(b, entry->at.real, true);
	if (!own || !(own->rights & WEIR_RIGHT_READ))
		n->rights &= ~(uint32_t)WEIR_RIGHT_READ;
	return 0;
}

static int add_names(struct policy_build *b, const struct policy_entry *entry)
{
	const struct policy_resolved *at = &entry->at;
	int err = 0;

	if (at->absent) {
		err = add_name(b, entry, at->real, at->absent);
	} else if (strcmp(at->real, "/") != 0) {
		cleanup_free char *dir = strdup(at->real);
		char *slash = dir ? strrchr(dir, '/') : NULL;

		if (!slash)
			return policy_build_oom(b);
		*slash = '\0';
		err = add_name(b, entry, dir[0] ? dir : "/", slash + 1);
	}
	for (size_t i = 0; err == 0 && i < at->link_count; i++)
		err = add_name(b, entry, at->links[i].dir, at->links[i].name);
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct policy_name *x = a, *y = b;
	int order = policy_path_compare(x->dir, y->dir);

	if (order == 0)
		order = strcmp(x->name, y->name);
	return order ? order : (x->id < y->id ? -1 : x->id > y->id);
}

/* Two rules with one name: what either takes away is gone. */
static int merge_names(struct policy_build *b)
{
	struct policy_image *im = b->im;
	size_t kept = 0;

	if (im->name_count)
		qsort(im->names, im->name_count, sizeof(im->names[0]), by_name);
	for (size_t i = 0; i < im->name_count; i++) {
		struct policy_name *n = &im->names[i], *last = kept ? &im->names[kept - 1] : NULL;
		const struct policy_entry *entry = &b->entries[n->id - 1];
		int err;

		if (!last || strcmp(last->dir, n->dir) != 0 || strcmp(last->name, n->name) != 0) {
			struct policy_name moved = *n;

			*n = (struct policy_name){ 0 };
			im->names[kept++] = moved;
			continue;
		}
		last->rights &= n->rights;
		last->flags |= n->flags;
		free(n->dir);
		free(n->name);
		*n = (struct policy_name){ 0 };
		if (!entry->at.absent || last->id == entry->id)
			continue;
		err = policy_add_note(b, POLICY_NOTE_MERGED, entry,
				      "'%s/%s' does not exist and stands for this rule and that of "
				      "line %u; what either denies is denied there",
				      policy_quote(last->dir).text, last->name, last->line);
		if (err < 0)
			return err;
	}
	im->name_count = kept;
	return 0;
}

int policy_build_names(struct policy_build *b)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->entry_count; i++)
		if (b->entries[i].credential || b->entries[i].deny)
			err = add_names(b, &b->entries[i]);
	return err < 0 ? err : merge_names(b);
}
