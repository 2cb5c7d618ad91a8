/* SPDX-License-Identifier: MIT */
#include "user/event/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/event/names.h"
#include "user/event/verdict_read.h"

static const char *const values[] = {
	[VERDICT_CLEAN] = "clean",
	[VERDICT_VIOLATED] = "violated",
	[VERDICT_INDETERMINATE] = "indeterminate",
	[VERDICT_UNJUDGED] = "unjudged",
};

static const char *const reason_names[] = {
#define VERDICT_X(id, name) [VERDICT_REASON_##id] = name,
	VERDICT_REASONS(VERDICT_X)
#undef VERDICT_X
};

const char *verdict_name(enum verdict_value value)
{
	return (size_t)value < ARRAY_SIZE(values) ? values[value] : "unknown";
}

const char *verdict_reason_name(enum verdict_reason reason)
{
	return (size_t)reason < ARRAY_SIZE(reason_names) ? reason_names[reason] : "unknown";
}

const char *verdict_source_name(enum verdict_source source)
{
	static const char *const names[] = {
#define VERDICT_X(id, name) [VERDICT_SOURCE_##id] = (name),
		VERDICT_SOURCES(VERDICT_X)
#undef VERDICT_X
	};

	return (size_t)source < ARRAY_SIZE(names) ? names[source] : "unknown";
}

bool verdict_hook_seen(unsigned int hook)
{
	static const bool seen[WEIR_HOOK_COUNT] = {
		[WEIR_HOOK_FILE_OPEN] = true,	   [WEIR_HOOK_FILE_RECEIVE] = true,
		[WEIR_HOOK_FILE_TRUNCATE] = true,  [WEIR_HOOK_PATH_TRUNCATE] = true,
		[WEIR_HOOK_PATH_MKNOD] = true,	   [WEIR_HOOK_PATH_MKDIR] = true,
		[WEIR_HOOK_PATH_SYMLINK] = true,   [WEIR_HOOK_PATH_LINK] = true,
		[WEIR_HOOK_PATH_RENAME] = true,	   [WEIR_HOOK_PATH_UNLINK] = true,
		[WEIR_HOOK_PATH_RMDIR] = true,	   [WEIR_HOOK_INODE_SETATTR] = true,
		[WEIR_HOOK_INODE_SETXATTR] = true, [WEIR_HOOK_INODE_REMOVEXATTR] = true,
		[WEIR_HOOK_FILE_IOCTL] = true,	   [WEIR_HOOK_BPRM_CHECK] = true,
		[WEIR_HOOK_TASK_ALLOC] = true,	   [WEIR_HOOK_TASK_FREE] = true,
		[WEIR_HOOK_TASK_NEWTASK] = true,   [WEIR_HOOK_PROCESS_EXEC] = true,
		[WEIR_HOOK_PROCESS_EXIT] = true,   [WEIR_HOOK_BPF] = true,
		[WEIR_HOOK_TASK_KILL] = true,	   [WEIR_HOOK_PTRACE] = true,
		[WEIR_HOOK_TASK_SETRLIMIT] = true, [WEIR_HOOK_INODE_FILE_SETATTR] = true,
	};

	return hook < WEIR_HOOK_COUNT && seen[hook];
}

bool verdict_hook_optional(unsigned int hook)
{
	/* path_truncate sees ftruncate before 6.2 */
	return hook == WEIR_HOOK_FILE_TRUNCATE ||
	       /* inode_setxattr and inode_removexattr see ACLs before 6.2 */
	       hook == WEIR_HOOK_INODE_SET_ACL || hook == WEIR_HOOK_INODE_REMOVE_ACL ||
	       /* file_ioctl sees compat ioctls where this one is missing */
	       hook == WEIR_HOOK_FILE_IOCTL_COMPAT ||
	       /* file_setattr(2) came with it, in 6.17 */
	       hook == WEIR_HOOK_INODE_FILE_SETATTR ||
	       /* a function of the kernel's own, which a build may have inlined: without it, what
		* the kernel refuses is not told, but nothing that succeeds is missed */
	       hook == WEIR_HOOK_PTRACE_REFUSED;
}

/* One text for each reason, several for what the collector says itself. */
static bool wants_text(const struct verdict *v, enum verdict_reason reason)
{
	return v->text_count < VERDICT_TEXTS &&
	       (v->reasons[reason] == 0 || reason == VERDICT_REASON_COLLECTOR);
}

void verdict_add_reason(struct verdict *v, enum verdict_reason reason, const char *fmt, ...)
{
	struct verdict_text *text;
	char raw[sizeof(text->text)];
	va_list args;

	if (wants_text(v, reason)) {
		text = &v->texts[v->text_count++];
		va_start(args, fmt);
		vsnprintf(raw, sizeof(raw), fmt, args);
		va_end(args);
		text->reason = reason;
		escape_text(raw, strlen(raw), text->text, sizeof(text->text));
	}
	v->reasons[reason]++;
}

static void add_hole(struct verdict *v, unsigned int at, uint64_t first, uint64_t last)
{
	if (v->hole_count == VERDICT_HOLES) {
		verdict_add_reason(v, VERDICT_REASON_GAP,
				   "more than %d gaps between sequence numbers", VERDICT_HOLES);
		return;
	}
	memmove(&v->holes[at + 1], &v->holes[at], (v->hole_count - at) * sizeof(v->holes[0]));
	v->holes[at] = (struct verdict_hole){ first, last };
	v->hole_count++;
}

static void fill_hole(struct verdict *v, unsigned int at, uint64_t seq)
{
	struct verdict_hole hole = v->holes[at];

	if (hole.first < seq && seq < hole.last) {
		v->holes[at].last = seq - 1;
		add_hole(v, at + 1, seq + 1, hole.last);
	} else if (hole.first < hole.last) {
		v->holes[at].first += seq == hole.first;
		v->holes[at].last -= seq == hole.last;
	} else {
		v->hole_count--;
		memmove(&v->holes[at], &v->holes[at + 1],
			(v->hole_count - at) * sizeof(v->holes[0]));
	}
}

static void track_seq(struct verdict *v, uint64_t seq)
{
	if (seq == v->max_seq + 1) {
		v->max_seq = seq;
		return;
	}
	if (seq > v->max_seq) {
		add_hole(v, v->hole_count, v->max_seq + 1, seq - 1);
		v->max_seq = seq;
		return;
	}
	for (unsigned int i = v->hole_count; i > 0; i--) {
		if (seq >= v->holes[i - 1].first && seq <= v->holes[i - 1].last) {
			fill_hole(v, i - 1, seq);
			return;
		}
	}
	verdict_add_reason(v, VERDICT_REASON_REPEAT, "record %llu came twice",
			   (unsigned long long)seq);
}

/* Everything but START needs one before it, and nothing follows END. */
static void check_order(struct verdict *v, unsigned int type)
{
	if (type == VERDICT_START ? v->started : !v->started)
		verdict_add_reason(v, VERDICT_REASON_ORDER,
				   "the first record, and only that, "
				   "must be a start");
	if (v->ended)
		verdict_add_reason(v, VERDICT_REASON_ORDER, "a record follows the end");
}

/* The creation that was judged before was none: its finding goes, in the kernel's latch too. */
static void take_back(struct verdict *v, const struct event *e)
{
	if (e->op.error >= WEIR_KIND_COUNT || v->found[e->op.error] == 0)
		verdict_add_reason(v, VERDICT_REASON_RECORD,
				   "record %llu takes back a finding that was not made",
				   (unsigned long long)e->head.seq);
	else
		v->found[e->op.error]--;
}

void verdict_add_event(struct verdict *v, const struct event *e)
{
	check_order(v, VERDICT_EVENT);
	v->records++;
	track_seq(v, e->head.seq);
	if (v->started && e->head.slot != v->slot)
		verdict_add_reason(v, VERDICT_REASON_SLOT,
				   "record %llu belongs to run slot %u, this run has %u",
				   (unsigned long long)e->head.seq, e->head.slot, v->slot);
	if (e->head.type != WEIR_RECORD_OP)
		return;
	v->read[e->op.hook]++;
	if (event_is_finding(e))
		v->found[e->op.kind]++;
	if ((e->op.flags & WEIR_EV_EXISTED) && e->op.error)
		take_back(v, e);
}

void verdict_add_refused(struct verdict *v, const struct event_why *why)
{
	check_order(v, VERDICT_EVENT);
	v->records++;
	verdict_add_reason(v,
			   why->reason == EVENT_REFUSE_VERSION ? VERDICT_REASON_VERSION
							       : VERDICT_REASON_RECORD,
			   "event number %llu %s (at its byte %zu)", (unsigned long long)v->records,
			   event_refusal_text(why->reason), why->offset);
}

void verdict_add_json(struct verdict *v, enum verdict_input type, const json_t *json)
{
	check_order(v, type);
	if (type == VERDICT_START)
		verdict_read_start(v, json);
	else if (type == VERDICT_COVERAGE)
		verdict_read_coverage(v, json);
	else if (type == VERDICT_NOTE)
		verdict_read_note(v, json);
	else if (type == VERDICT_END)
		verdict_read_end(v, json);
}

void verdict_add(struct verdict *v, unsigned int type, const void *bytes, size_t len)
{
	struct event_why why;
	struct event event;
	json_error_t error;
	json_t *json;

	if (type == VERDICT_EVENT) {
		if (event_decode(bytes, len, &event, &why) < 0)
			verdict_add_refused(v, &why);
		else
			verdict_add_event(v, &event);
		return;
	}
	if (type < VERDICT_START || type > VERDICT_END) {
		verdict_add_reason(v, VERDICT_REASON_RECORD, "record of unknown type %u", type);
		return;
	}
	json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		verdict_add_reason(v, VERDICT_REASON_RECORD,
				   "a record of type %u is no JSON: %s at byte %d", type,
				   error.text, error.position);
	verdict_add_json(v, type, json);
	json_decref(json);
}

static bool is_violated(const struct verdict *v)
{
	for (unsigned int kind = 0; kind < WEIR_KIND_COUNT; kind++)
		if (verdict_kind_count(v, kind) > 0)
			return true;
	return false;
}

static bool has_reason(const struct verdict *v)
{
	for (unsigned int reason = 0; reason < VERDICT_REASON_COUNT; reason++)
		if (v->reasons[reason] > 0)
			return true;
	return false;
}

enum verdict_value verdict_finish(struct verdict *v)
{
	if (v->finished)
		return v->value;
	v->finished = true;
	if (!v->started)
		verdict_add_reason(v, VERDICT_REASON_START, "the trace has no start");
	if (!v->covered)
		verdict_add_reason(v, VERDICT_REASON_COVERAGE, "the trace has no coverage");
	if (!v->ended)
		verdict_add_reason(v, VERDICT_REASON_END,
				   "the trace has no end: the collector did not finish");
	if (v->hole_count > 0)
		verdict_add_reason(v, VERDICT_REASON_GAP, "records %llu to %llu are missing",
				   (unsigned long long)v->holes[0].first,
				   (unsigned long long)v->holes[0].last);
	if (is_violated(v))
		v->value = VERDICT_VIOLATED;
	else if (v->started && v->mode == WEIR_MODE_TRACE)
		v->value = VERDICT_UNJUDGED;
	else if (has_reason(v))
		v->value = VERDICT_INDETERMINATE;
	else
		v->value = VERDICT_CLEAN;
	return v->value;
}

uint64_t verdict_kind_count(const struct verdict *v, unsigned int kind)
{
	uint64_t count;

	if (kind >= WEIR_KIND_COUNT)
		return 0;
	count = v->latch[kind] > v->found[kind] ? v->latch[kind] : v->found[kind];
	return count + v->noted[kind];
}

static json_t *reasons_json(const struct verdict *v)
{
	json_t *list = json_array();

	for (unsigned int i = 0; list && i < v->text_count; i++) {
		const struct verdict_text *text = &v->texts[i];

		if (json_array_append_new(list, json_pack("{s:s, s:s}", "code",
							  verdict_reason_name(text->reason), "text",
							  text->text)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *verdict_json(const struct verdict *v)
{
	json_t *kinds = json_object();
	json_t *o;

	for (unsigned int kind = 0; kinds && kind < WEIR_KIND_COUNT; kind++) {
		uint64_t count = verdict_kind_count(v, kind);

		if (count > 0 && json_object_set_new(kinds, names_kind(kind),
						     json_integer((json_int_t)count)) < 0) {
			json_decref(kinds);
			kinds = NULL;
		}
	}
	o = json_pack("{s:s, s:o, s:o}", "verdict", verdict_name(v->value), "reasons",
		      reasons_json(v), "kinds", kinds);
	return o;
}
