/* SPDX-License-Identifier: MIT */
#include "user/event/verdict_read.h"

#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"

/* More is no count of this world, and sums of some stay below 2^64. */
#define COUNT_MAX ((json_int_t)1 << 56)

static bool read_count(const json_t *json, uint64_t *ret_count)
{
	json_int_t value = json_integer_value(json);

	*ret_count = 0;
	if (!json_is_integer(json) || value < 0 || value > COUNT_MAX)
		return false;
	*ret_count = (uint64_t)value;
	return true;
}

void verdict_read_start(struct verdict *v, const json_t *json)
{
	static const char *const modes[] = {
		[WEIR_MODE_TRACE] = "trace",
		[WEIR_MODE_OBSERVE] = "observe",
		[WEIR_MODE_ENFORCE] = "enforce",
	};
	const char *mode = json_string_value(json_object_get(json, "mode"));
	uint64_t slot;

	if (v->started)
		return;
	v->started = true;
	for (uint32_t i = WEIR_MODE_TRACE; mode && i < ARRAY_SIZE(modes); i++)
		if (strcmp(mode, modes[i]) == 0)
			v->mode = i;
	if (v->mode == WEIR_MODE_OFF)
		verdict_add_reason(v, VERDICT_REASON_RECORD,
				   "start: mode is not trace, observe or enforce");
	if (!read_count(json_object_get(json, "slot"), &slot) || slot >= WEIR_RUNS_MAX)
		verdict_add_reason(v, VERDICT_REASON_RECORD, "start: slot is missing");
	v->slot = (uint32_t)slot;
}

static void read_source(struct verdict *v, const json_t *json)
{
	const json_t *source = json_object_get(json, "source");
	const char *name = json_string_value(source);

	if (!source)
		return;
	for (unsigned int i = 0; name && i < VERDICT_SOURCE_COUNT; i++) {
		if (strcmp(name, verdict_source_name((enum verdict_source)i)) == 0) {
			v->source = (enum verdict_source)i;
			return;
		}
	}
	verdict_add_reason(v, VERDICT_REASON_COVERAGE, "the source is not one of those known");
}

/* Does a hook hold that has this source? */
static bool is_covered(const struct verdict *v, unsigned int hook, const char *source)
{
	if (!source || !*source || strcmp(source, "none") == 0)
		return false;
	if (strcmp(source, "absent") == 0)
		return verdict_hook_optional(hook);
	if (strcmp(source, "unseen") == 0)
		return v->source == VERDICT_SOURCE_SYSCALL && !verdict_hook_seen(hook);
	return true;
}

void verdict_read_coverage(struct verdict *v, const json_t *json)
{
	const json_t *hooks = json_object_get(json, "hooks");

	v->covered = true;
	read_source(v, json);
	for (unsigned int hook = 0; hook < WEIR_HOOK_COUNT; hook++) {
		const json_t *entry = json_object_get(hooks, names_hook(hook));

		if (!is_covered(v, hook, json_string_value(json_object_get(entry, "source"))))
			verdict_add_reason(v, VERDICT_REASON_COVERAGE, "hook %s was not attached",
					   names_hook(hook));
	}
}

void verdict_read_note(struct verdict *v, const json_t *json)
{
	struct weir_err e = { 0 };
	struct note note;

	if (note_from_json(json, &note, &e) < 0)
		verdict_add_reason(v, VERDICT_REASON_RECORD, "%s", e.text);
	else if (note.severity >= SEVERITY_ERROR)
		v->noted[note.kind] += note.count > 0 ? note.count : 1;
}

static bool read_stat(const json_t *entry, struct weir_hookstat *ret_stat)
{
	uint64_t seen, emitted, aggregated, dropped;
	bool ok = read_count(json_object_get(entry, "seen"), &seen);

	ok = read_count(json_object_get(entry, "emitted"), &emitted) && ok;
	ok = read_count(json_object_get(entry, "aggregated"), &aggregated) && ok;
	ok = read_count(json_object_get(entry, "dropped"), &dropped) && ok;
	*ret_stat = (struct weir_hookstat){
		.seen = seen,
		.emitted = emitted,
		.aggregated = aggregated,
		.dropped = dropped,
	};
	return ok;
}

static void check_stat(struct verdict *v, int hook, const struct weir_hookstat *stat)
{
	if (stat->seen != stat->emitted + stat->aggregated + stat->dropped)
		verdict_add_reason(
			v, VERDICT_REASON_COUNTERS,
			"hook %s saw %llu operations and accounts for %llu",
			names_hook((unsigned int)hook), (unsigned long long)stat->seen,
			(unsigned long long)(stat->emitted + stat->aggregated + stat->dropped));
	if (stat->dropped)
		verdict_add_reason(v, VERDICT_REASON_DROPPED, "hook %s lost %llu records",
				   names_hook((unsigned int)hook),
				   (unsigned long long)stat->dropped);
	if (v->read[hook] > stat->emitted)
		verdict_add_reason(v, VERDICT_REASON_COUNTERS,
				   "hook %s wrote %llu records, but %llu were read",
				   names_hook((unsigned int)hook),
				   (unsigned long long)stat->emitted,
				   (unsigned long long)v->read[hook]);
}

static void read_hooks(struct verdict *v, json_t *hooks)
{
	struct weir_hookstat stats[WEIR_HOOK_COUNT] = { 0 };
	uint64_t emitted = 0;
	const char *name;
	json_t *entry;

	if (!json_is_object(hooks))
		verdict_add_reason(v, VERDICT_REASON_RECORD, "end: hooks are missing");
	json_object_foreach (hooks, name, entry) {
		int hook = names_find_hook(name);

		if (hook < 0 || !read_stat(entry, &stats[hook]))
			verdict_add_reason(v, VERDICT_REASON_RECORD,
					   "end: hook %s is unknown or lacks a counter", name);
	}
	for (int hook = 0; hook < WEIR_HOOK_COUNT; hook++) {
		check_stat(v, hook, &stats[hook]);
		emitted += stats[hook].emitted;
	}
	if (emitted != v->records)
		verdict_add_reason(v, VERDICT_REASON_COUNTERS,
				   "the kernel wrote %llu records, %llu were read",
				   (unsigned long long)emitted, (unsigned long long)v->records);
}

static void read_latch(struct verdict *v, json_t *latch)
{
	const char *name;
	json_t *value;

	if (!json_is_object(latch))
		verdict_add_reason(v, VERDICT_REASON_RECORD, "end: latch is missing");
	json_object_foreach (latch, name, value) {
		int kind = names_find_kind(name);
		uint64_t count;

		if (kind < 0 || !read_count(value, &count))
			verdict_add_reason(v, VERDICT_REASON_RECORD,
					   "end: latch %s is unknown or no count", name);
		else
			v->latch[kind] = count;
	}
	for (unsigned int kind = 0; kind < WEIR_KIND_COUNT; kind++)
		if (v->latch[kind] != v->found[kind])
			verdict_add_reason(v, VERDICT_REASON_LATCH,
					   "the kernel counted %llu findings of kind %s, "
					   "%llu were read",
					   (unsigned long long)v->latch[kind], names_kind(kind),
					   (unsigned long long)v->found[kind]);
}

static void read_trouble(struct verdict *v, const json_t *json)
{
	static const struct {
		uint64_t bit;
		const char *text;
	} troubles[] = {
		{ WEIR_TROUBLE_RING, "a record was lost because the ring buffer was full" },
		{ WEIR_TROUBLE_SCRATCH, "a record was lost because no event buffer was left" },
		{ WEIR_TROUBLE_MEMBER, "a process could not be watched, so its fork failed" },
		{ WEIR_TROUBLE_DEAD, "the collector died" },
		{ WEIR_TROUBLE_PLACE, "another process changed something that nobody can place" },
		{ WEIR_TROUBLE_LINKS, "too many hard links were made to remember them" },
		{ WEIR_TROUBLE_OWNED, "members said too often who gets the signals of a file" },
		{ WEIR_TROUBLE_UNKNOWN,
		  "what a system call was about was gone when it was looked at" },
		{ WEIR_TROUBLE_URING,
		  "a member used io_uring, whose operations are no system calls" },
		{ WEIR_TROUBLE_ABI, "a member used system calls of another ABI, or unknown ones" },
	};
	uint64_t trouble;

	if (!read_count(json, &trouble)) {
		verdict_add_reason(v, VERDICT_REASON_RECORD, "end: trouble is missing");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (trouble & troubles[i].bit)
			verdict_add_reason(v, VERDICT_REASON_TROUBLE, "%s", troubles[i].text);
		trouble &= ~troubles[i].bit;
	}
	if (trouble)
		verdict_add_reason(v, VERDICT_REASON_TROUBLE, "unknown trouble 0x%llx",
				   (unsigned long long)trouble);
}

static void read_last_seq(struct verdict *v, const json_t *json)
{
	uint64_t last;

	if (!read_count(json, &last))
		verdict_add_reason(v, VERDICT_REASON_RECORD, "end: last_seq is missing");
	else if (last > v->max_seq)
		verdict_add_reason(v, VERDICT_REASON_GAP, "records %llu to %llu are missing",
				   (unsigned long long)v->max_seq + 1, (unsigned long long)last);
	else if (last < v->max_seq)
		verdict_add_reason(v, VERDICT_REASON_COUNTERS,
				   "the last record should be %llu, but %llu was read",
				   (unsigned long long)last, (unsigned long long)v->max_seq);
}

void verdict_read_end(struct verdict *v, const json_t *json)
{
	const json_t *reasons = json_object_get(json, "reasons");
	const json_t *live = json_object_get(json, "live");
	const json_t *reason;
	uint64_t alive = 0;
	size_t i;

	if (v->ended)
		return;
	v->ended = true;
	read_hooks(v, json_object_get(json, "hooks"));
	read_latch(v, json_object_get(json, "latch"));
	read_trouble(v, json_object_get(json, "trouble"));
	read_last_seq(v, json_object_get(json, "last_seq"));
	if (live && (!read_count(live, &alive) || alive > 0))
		verdict_add_reason(v, VERDICT_REASON_LIVE, "%llu members were still alive",
				   (unsigned long long)alive);
	if (reasons && !json_is_array(reasons))
		verdict_add_reason(v, VERDICT_REASON_RECORD, "end: reasons are no list");
	json_array_foreach (reasons, i, reason) {
		const char *text = json_string_value(reason);

		verdict_add_reason(v, VERDICT_REASON_COLLECTOR, "%s", text ? text : "unknown");
	}
}
