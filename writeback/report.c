/* SPDX-License-Identifier: MIT */
#include "writeback/report.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"

#define LINES 40 /* of each list on a terminal; JSON has all */

/* Lists are long: they are written at once, not built as values first. */
static void add_escaped(struct buf *b, const char *path)
{
	cleanup_buf struct buf escaped = { 0 };

	buf_add_escaped(&escaped, path, strlen(path));
	for (size_t i = 0; i < escaped.len; i++) {
		if (escaped.data[i] == '"' || escaped.data[i] == '\\')
			buf_add(b, "\\", 1);
		buf_add(b, &escaped.data[i], 1);
	}
}

static void add_changes(struct buf *b, const struct changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct change *change = &c->items[i];
		char hex[DIGEST_HEX] = "";

		if (change->new_mode)
			digest_hex(change->sha256, DIGEST_SIZE, hex);
		buf_addf(b, "%s{\"change\":\"%s\",\"mode\":\"%06o\",\"path\":\"", i ? "," : "",
			 change_letter(change), change->new_mode);
		add_escaped(b, change->path);
		buf_addf(b, "\",\"sha256\":\"%s\",\"size\":%llu}", hex,
			 (unsigned long long)change->size);
	}
}

static void add_left(struct buf *b, const struct changes *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct change *change = &c->items[i];

		buf_addf(b, "%s{\"change\":\"%s\",\"ignored\":%s,\"path\":\"", i ? "," : "",
			 change_letter(change), change->ignored ? "true" : "false");
		add_escaped(b, change->path);
		buf_addf(b, "\",\"tracked\":%s}", change->old_mode ? "true" : "false");
	}
}

static void add_warnings(struct buf *b, const struct hazards *h)
{
	for (size_t i = 0; i < h->count; i++) {
		buf_addf(b, "%s{\"id\":\"%s\",\"path\":\"", i ? "," : "",
			 hazard_name(h->items[i].kind));
		add_escaped(b, h->items[i].path);
		buf_addf(b, "\",\"why\":\"%s\"}", hazard_why(h->items[i].kind));
	}
}

int report_json(const struct promotion *p, struct buf *ret_text)
{
	char commit[OID_HEX], tree[OID_HEX];
	struct buf *b = ret_text;

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	git_oid_tostr(tree, sizeof(tree), &p->tree);
	buf_addf(b, "{\"changes\":[");
	add_changes(b, &p->changes);
	buf_addf(b, "],\"commit\":\"%s\",\"crosscheck\":\"%s\",\"left_behind\":[", commit,
		 p->strength == TREE_STRENGTH_FULL ? "full" : "stat");
	add_left(b, &p->left);
	buf_addf(b, "],\"not_attested\":\"%s\",\"parent\":\"%s\",\"promotion\":\"%s\",\"ref\":\"",
		 p->not_attested, p->nonce.commit, p->digest);
	add_escaped(b, p->nonce.ref);
	buf_addf(b,
		 "\",\"run\":\"%s\",\"schema\":\"weir.promotion/1\",\"tree\":\"%s\","
		 "\"untouched\":%llu,\"warnings\":[",
		 p->statement.run, tree, (unsigned long long)p->untouched);
	add_warnings(b, &p->hazards);
	return buf_addf(b, "]}\n");
}

static void print_path(FILE *out, const char *before, const char *path, const char *after)
{
	cleanup_buf struct buf b = { 0 };

	buf_add_escaped(&b, path, strlen(path));
	fprintf(out, "%s%s%s\n", before, buf_str(&b), after);
}

/* What the base ignores (build output) is counted only: it would drown the rest. */
static void print_changes(FILE *out, const struct changes *c, bool left)
{
	size_t ignored = 0, more = 0, shown = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct change *change = &c->items[i];
		char before[32];

		if (left && change->ignored && change->old_mode == 0) {
			ignored++;
			continue;
		}
		if (shown == LINES) {
			more++;
			continue;
		}
		shown++;
		snprintf(before, sizeof(before), "  %s ", change_letter(change));
		print_path(out, before, change->path,
			   !left		   ? ""
			   : change->old_mode != 0 ? " (tracked)"
						   : "");
	}
	if (more > 0)
		fprintf(out, "  and %zu more (--json has all)\n", more);
	if (ignored > 0)
		fprintf(out, "  and %zu ignored file%s (--json has all)\n", ignored,
			ignored == 1 ? "" : "s");
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

		snprintf(before, sizeof(before),
			 "warning: %s: %s: ", hazard_name(p->hazards.items[i].kind),
			 hazard_why(p->hazards.items[i].kind));
		print_path(out, before, p->hazards.items[i].path, "");
	}
	if (p->hazards.count > LINES)
		fprintf(out, "and %zu more warnings (--json has all)\n", p->hazards.count - LINES);
	if (p->untouched > 0)
		fprintf(out, "note: %llu file%s written during the run and ended as before\n",
			(unsigned long long)p->untouched, p->untouched == 1 ? " was" : "s were");
	fprintf(out, "note: %s\n", p->not_attested);
}
