/* SPDX-License-Identifier: MIT */
#include "writeback/report.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"

#define LINES 40	 /* of each list on a terminal; JSON has all */
#define FINDING_LINES 10 /* of each class */

/* Lists are long: they are written at once, not built as values first. */
static void add_json_text(struct buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"' || text[i] == '\\')
			buf_add(b, "\\", 1);
		buf_add(b, &text[i], 1);
	}
}

static void add_escaped(struct buf *b, const char *path)
{
	cleanup_buf struct buf escaped = { 0 };

	buf_add_escaped(&escaped, path, strlen(path));
	add_json_text(b, buf_str(&escaped), escaped.len);
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

int report_left(const struct changes *left, struct buf *ret_text)
{
	buf_addf(ret_text, "[");
	add_left(ret_text, left);
	return buf_addf(ret_text, "]");
}

void report_findings(const struct hazards *h, bool strict, struct buf *ret_text)
{
	struct buf *b = ret_text;

	buf_addf(b, "[");
	for (size_t i = 0; i < h->count; i++) {
		const struct hazard *item = &h->items[i];

		buf_addf(b, "%s{\"accepted\":%s,\"class\":\"%s\",\"detail\":\"", i ? "," : "",
			 item->accepted ? "true" : "false", hazard_name(item->kind));
		add_json_text(b, item->detail, strlen(item->detail));
		buf_addf(b, "\",\"id\":\"%s\",\"path\":\"", item->id);
		add_escaped(b, item->path);
		buf_addf(b,
			 "\",\"place\":\"%s\",\"role\":\"%s\",\"severity\":\"%s\","
			 "\"times\":%llu,\"why\":\"%s\"}",
			 item->place, hazard_role_name(hazard_role(item->kind)),
			 hazard_severity(item->kind, strict), (unsigned long long)item->times,
			 hazard_why(item->kind));
	}
	buf_addf(b, "]");
}

int report_refusal(const struct hazards *h, bool strict, const struct weir_err *e,
		   struct buf *ret_text)
{
	struct buf *b = ret_text;

	buf_addf(b, "{\"code\":\"%s\",\"findings\":", e->code);
	report_findings(h, strict, b);
	buf_addf(b, ",\"schema\":\"weir.refusal/1\",\"text\":\"");
	add_json_text(b, e->text, strlen(e->text));
	buf_addf(b, "\"}\n");
	return b->failed ? -ENOMEM : 0;
}

int report_json(const struct promotion *p, struct buf *ret_text)
{
	char commit[OID_HEX], tree[OID_HEX];
	struct buf *b = ret_text;

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	git_oid_tostr(tree, sizeof(tree), &p->tree);
	buf_addf(b, "{\"attestations\":\"%s\",\"changes\":[", p->bundle_sha256);
	add_changes(b, &p->changes);
	buf_addf(b, "],\"commit\":\"%s\",\"crosscheck\":\"%s\",\"findings\":", commit,
		 kind_of(p->kind)->has_run ? tree_strength_name(p->strength) : "none");
	report_findings(&p->hazards, p->policy->strict.value != 0, b);
	buf_addf(b, ",\"left_behind\":[");
	add_left(b, &p->left);
	buf_addf(b, "],\"parent\":\"%s\",\"promotion\":\"%s\",\"ref\":\"", p->base_hex, p->digest);
	add_escaped(b, p->target);
	buf_addf(b,
		 "\",\"run\":\"%s\",\"schema\":\"weir.promotion/1\",\"tree\":\"%s\","
		 "\"untouched\":%llu}\n",
		 p->statement.run, tree, (unsigned long long)p->untouched);
	return b->failed ? -ENOMEM : 0;
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

static void print_counts(FILE *out, const struct changes *c)
{
	size_t added = 0, deleted = 0;

	for (size_t i = 0; i < c->count; i++) {
		const char *letter = change_letter(&c->items[i]);

		added += letter[0] == 'A';
		deleted += letter[0] == 'D';
	}
	fprintf(out, "%zu file%s changed (%zu added, %zu replaced, %zu deleted):\n", c->count,
		c->count == 1 ? "" : "s", added, c->count - added - deleted, deleted);
}

static void print_finding(FILE *out, const struct hazard *item)
{
	cleanup_buf struct buf b = { 0 };

	buf_add_escaped(&b, item->path, strlen(item->path));
	fprintf(out, "%s: %s: %s: %s%s%s", item->accepted ? "accepted" : "warning",
		hazard_name(item->kind), hazard_why(item->kind), buf_str(&b),
		item->place[0] ? ":" : "", item->place);
	if (item->times > 1)
		fprintf(out, " and %llu more", (unsigned long long)item->times - 1);
	fprintf(out, "%s%s\n", item->detail[0] ? ": " : "", item->detail);
}

/* Each class has a few lines; the rest of it is counted, so that no class drowns another. */
static void print_findings(FILE *out, const struct hazards *h)
{
	size_t shown[HAZARD_COUNT] = { 0 };

	for (size_t i = 0; i < h->count; i++)
		if (shown[h->items[i].kind]++ < FINDING_LINES)
			print_finding(out, &h->items[i]);
	for (unsigned int kind = 0; kind < HAZARD_COUNT; kind++)
		if (shown[kind] > FINDING_LINES)
			fprintf(out, "warning: %s: %zu more (--json has all)\n",
				hazard_name((enum hazard_kind)kind), shown[kind] - FINDING_LINES);
}

void report_text(const struct promotion *p, FILE *out)
{
	char commit[OID_HEX];

	git_oid_tostr(commit, sizeof(commit), &p->commit);
	fprintf(out, "promoted %s to %s\n  parent    %s\n  promotion sha256:%s\n", commit,
		p->target, p->base_hex, p->digest);
	print_counts(out, &p->changes);
	print_changes(out, &p->changes, false);
	if (p->left.count > 0) {
		fprintf(out, "%zu changed file%s left behind:\n", p->left.count,
			p->left.count == 1 ? "" : "s");
		print_changes(out, &p->left, true);
	}
	print_findings(out, &p->hazards);
	if (p->untouched > 0)
		fprintf(out, "note: %llu file%s written during the run and ended as before\n",
			(unsigned long long)p->untouched, p->untouched == 1 ? " was" : "s were");
}
