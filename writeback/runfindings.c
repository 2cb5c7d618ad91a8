/* SPDX-License-Identifier: MIT */
#include "writeback/runfindings.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/event/finding.h"
#include "user/event/names.h"
#include "user/trace/reader.h"
#include "writeback/json.h"

#define ID_DIGITS 32

/* Who answers for what: the policy's owner for what a policy could have allowed, security for
 * what crosses a border, the platform's owner for what touches the host itself. */
static const struct {
	bool may;
	enum role role;
} kinds[WEIR_KIND_COUNT] = {
	[WEIR_KIND_FILE_OUTSIDE] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_FILE_TRANSIENT] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_UNDECLARED_INPUT] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_EXEC_NEW_BINARY] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_NETWORK] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_IPC] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_ATTEMPT] = { true, ROLE_POLICY_OWNER },
	[WEIR_KIND_FILE_CONTROL] = { true, ROLE_SECURITY },
	[WEIR_KIND_CREDENTIAL_READ] = { true, ROLE_SECURITY },
	[WEIR_KIND_MEMORY_ACCESS] = { true, ROLE_SECURITY },
	[WEIR_KIND_EXEC_MEMFD] = { true, ROLE_SECURITY },
	[WEIR_KIND_NAMESPACE] = { true, ROLE_SECURITY },
	[WEIR_KIND_PRIVILEGE] = { true, ROLE_SECURITY },
	[WEIR_KIND_MOUNT] = { true, ROLE_PLATFORM_OWNER },
	[WEIR_KIND_KERNEL_TUNABLE] = { true, ROLE_PLATFORM_OWNER },
	[WEIR_KIND_MODULE] = { true, ROLE_PLATFORM_OWNER },
	[WEIR_KIND_BPF] = { true, ROLE_PLATFORM_OWNER },
	[WEIR_KIND_MEMBERSHIP] = { true, ROLE_PLATFORM_OWNER },
	/* all else: nobody */
};

void run_findings_done(struct run_findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].text);
	free(f->items);
	*f = (struct run_findings){ 0 };
}

enum role run_kind_role(unsigned int kind)
{
	return kind < WEIR_KIND_COUNT && kinds[kind].may ? kinds[kind].role : ROLE_COUNT;
}

int finding_role(const char *id)
{
	const char *dash = strrchr(id, '-');
	size_t len = dash ? (size_t)(dash - id) : 0;

	if (!dash || strlen(dash + 1) != ID_DIGITS ||
	    strspn(dash + 1, "0123456789abcdef") != ID_DIGITS)
		return -EINVAL;
	for (unsigned int i = 0; i < HAZARD_COUNT; i++) {
		const char *name = hazard_name((enum hazard_kind)i);

		if (strlen(name) == len && strncmp(name, id, len) == 0)
			return (int)role_find(hazard_role_name(hazard_role((enum hazard_kind)i)));
	}
	for (unsigned int i = 1; i < WEIR_KIND_COUNT; i++)
		if (strlen(names_kind(i)) == len && strncmp(names_kind(i), id, len) == 0)
			return (int)run_kind_role(i);
	return -EINVAL;
}

static int make_id(const struct finding *f, char *ret_id)
{
	static const char head[] = "weir-run-finding/1";
	const char *parts[] = { names_kind(f->kind),
				names_op(f->op),
				names_outcome(f->outcome),
				f->path,
				f->other,
				f->text,
				f->target };
	cleanup_digest struct digest *d = digest_new();
	unsigned char hash[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	int err = d ? digest_add(d, head, sizeof(head)) : -ENOMEM;

	/* findings without a target keep the id that they had before there were any */
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(parts) - !*f->target; i++)
		err = digest_add(d, parts[i], strlen(parts[i]) + 1);
	if (err == 0)
		err = digest_end(d, hash);
	if (err < 0)
		return err;
	digest_hex(hash, sizeof(hash), hex);
	snprintf(ret_id, HAZARD_ID_MAX, "%.30s-%.*s", names_kind(f->kind), ID_DIGITS, hex);
	return 0;
}

static int add_finding(struct run_findings *all, const struct finding *f)
{
	struct run_finding *items, *item;
	cleanup_buf struct buf text = { 0 };

	/* an event that was latched counts whatever its weight; a note of the collector may not */
	if (f->note && f->severity < SEVERITY_ERROR)
		return 0;
	items = reallocarray(all->items, all->count + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	all->items = items;
	item = &items[all->count++];
	*item = (struct run_finding){ .kind = f->kind, .count = f->count };
	buf_addf(&text, "%s %s ", names_op(f->op), names_outcome(f->outcome));
	buf_add_escaped(&text, f->path, f->path_len);
	if (f->text[0])
		buf_addf(&text, " %s", f->text);
	if (f->target[0])
		buf_addf(&text, " (%s)", f->target);
	item->text = strdup(buf_str(&text));
	if (!item->text)
		return -ENOMEM;
	/* a path that was cut could be that of anything */
	if (f->overflow || (!f->note && !f->path[0]) ||
	    (f->flags & (WEIR_EV_TRUNCATED | WEIR_EV_UNRESOLVED)))
		return 0;
	return make_id(f, item->id);
}

struct reading {
	struct mounts *mounts;
	struct lineage *lineage;
	struct findings *findings;
};

static void reading_done(struct reading *r)
{
	findings_free(r->findings);
	lineage_free(r->lineage);
	mounts_free(r->mounts);
}

static int read_record(struct reading *r, const struct trace_record *record)
{
	cleanup_json json_t *json = NULL;
	struct lineage_proc *proc = NULL;
	struct event_why why;
	struct event event;
	struct note note;
	int err;

	if (record->type == TRACE_EVENT) {
		if (!r->findings)
			return -EBADMSG;
		if (event_decode(record->bytes, record->len, &event, &why) < 0)
			return 0;
		err = lineage_add(r->lineage, &event, &proc);
		if (err == -ENOMEM)
			return err;
		err = findings_add_event(r->findings, &event, proc);
		return err < 0 ? err : 0;
	}
	if (record->type != TRACE_START && record->type != TRACE_NOTE)
		return 0;
	json = json_loadb(record->bytes, record->len, JSON_REJECT_DUPLICATES, NULL);
	if (record->type == TRACE_NOTE) {
		if (!r->findings || note_from_json(json, &note, NULL) < 0)
			return -EBADMSG;
		err = findings_add_note(r->findings, &note);
		return err < 0 ? err : 0;
	}
	if (r->findings || mounts_from_json(json_object_get(json, "mounts"), &r->mounts, NULL) < 0)
		return -EBADMSG;
	r->lineage = lineage_new(r->mounts);
	r->findings = r->lineage ? findings_new(r->mounts, r->lineage) : NULL;
	return r->findings ? 0 : -ENOMEM;
}

int run_findings_read(int trace_fd, struct run_findings *ret_findings, struct weir_err *e)
{
	__attribute__((__cleanup__(reading_done))) struct reading r = { 0 };
	cleanup_trace_reader struct trace_reader *reader = NULL;
	struct trace_record record;
	int err;

	*ret_findings = (struct run_findings){ 0 };
	if (lseek(trace_fd, 0, SEEK_SET) < 0)
		return err_errno(e, -errno, "trace");
	err = trace_reader_new(trace_fd, &reader, e);
	while (err == 0 && (err = trace_reader_next(reader, &record, e)) == 1)
		err = read_record(&r, &record);
	if (err < 0 && !e->text[0])
		err_errno(e, err, "reading the trace's findings");
	for (size_t i = 0; err == 0 && r.findings && i < findings_count(r.findings); i++)
		if (add_finding(ret_findings, findings_at(r.findings, i)) < 0)
			err = err_errno(e, -ENOMEM, "reading the trace's findings");
	if (err < 0)
		run_findings_done(ret_findings);
	return err;
}
