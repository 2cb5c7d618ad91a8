/* SPDX-License-Identifier: MIT */
#include "writeback/report.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/json.h"

#define LINES 40 /* of each list on a terminal; JSON has all */

static json_t *changes_json(const struct changes *c)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < c->count; i++) {
		const struct change *change = &c->items[i];
		char hex[DIGEST_HEX], mode[8];

		digest_hex(change->sha256, DIGEST_SIZE, hex);
		snprintf(mode, sizeof(mode), "%06o", change->new_mode & 0777777);
		json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:I, s:s}", "change",
						      change_letter(change), "path",
						      json_escaped(change->path), "mode", mode,
						      "size", (json_int_t)change->size, "sha256",
						      change->new_mode ? hex : ""));
	}
	return list;
}

static json_t *left_json(const struct changes *c)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < c->count; i++) {
		const struct change *change = &c->items[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:b, s:b}", "change",
						      change_letter(change), "path",
						      json_escaped(change->path), "tracked",
						      change->old_mode != 0, "ignored",
						      change->ignored));
	}
	return list;
}

static json_t *warnings_json(const struct hazards *h)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < h->count; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "id",
						      hazard_name(h->items[i].kind), "path",
						      json_escaped(h->items[i].path), "why",
						      hazard_why(h->items[i].kind)));
	return list;
}

int report_json(const struct promotion *p, struct buf *ret_text)
{
	char commit[OID_HEX], tree[OID_HEX];
	cleanup_json json_t *root = NULL;

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	git_oid_tostr(tree, sizeof(tree), &p->tree);
	root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:s}",
			 "schema", "weir.promotion/1", "commit", commit, "ref", p->nonce.ref,
			 "parent", p->nonce.commit, "tree", tree, "promotion", p->digest, "run",
			 p->statement.run, "crosscheck",
			 p->strength == TREE_STRENGTH_FULL ? "full" : "stat", "changes",
			 changes_json(&p->changes), "left_behind", left_json(&p->left), "warnings",
			 warnings_json(&p->hazards), "untouched", (json_int_t)p->untouched,
			 "not_attested", p->not_attested);
	return root ? json_canonical(root, ret_text) : -ENOMEM;
}

static void print_path(FILE *out, const char *before, const char *path, const char *after)
{
	cleanup_buf struct buf b = { 0 };

	buf_add_escaped(&b, path, strlen(path));
	fprintf(out, "%s%s%s\n", before, buf_str(&b), after);
}

static void print_changes(FILE *out, const struct changes *c, bool left)
{
	for (size_t i = 0; i < c->count && i < LINES; i++) {
		const struct change *change = &c->items[i];
		char before[32];

		snprintf(before, sizeof(before), "  %s ", change_letter(change));
		print_path(out, before, change->path,
			   !left		 ? "" :
			   change->old_mode != 0 ? " (tracked)" :
			   change->ignored	 ? " (ignored)" :
						   "");
	}
	if (c->count > LINES)
		fprintf(out, "  and %zu more (--json has all)\n", c->count - LINES);
}

void report_text(const struct promotion *p, FILE *out)
{
	char commit[OID_HEX];

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	fprintf(out, "promoted %s to %s\n  parent    %s\n  promotion sha256:%s\n", commit,
		p->nonce.ref, p->nonce.commit, p->digest);
	fprintf(out, "%zu file%s changed:\n", p->changes.count, p->changes.count == 1 ? "" : "s");
	print_changes(out, &p->changes, false);
	if (p->left.count > 0) {
		fprintf(out, "%zu changed file%s left behind:\n", p->left.count,
			p->left.count == 1 ? "" : "s");
		print_changes(out, &p->left, true);
	}
	for (size_t i = 0; i < p->hazards.count && i < LINES; i++) {
		char before[128];

		snprintf(before, sizeof(before), "warning: %s: %s: ",
			 hazard_name(p->hazards.items[i].kind), hazard_why(p->hazards.items[i].kind));
		print_path(out, before, p->hazards.items[i].path, "");
	}
	if (p->hazards.count > LINES)
		fprintf(out, "and %zu more warnings (--json has all)\n", p->hazards.count - LINES);
	if (p->untouched > 0)
		fprintf(out, "note: %llu file%s written during the run and ended as before\n",
			(unsigned long long)p->untouched, p->untouched == 1 ? " was" : "s were");
	fprintf(out, "note: %s\n", p->not_attested);
}
