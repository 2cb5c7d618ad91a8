/* SPDX-License-Identifier: MIT */
/*
 * The verdict on a run, computed from the records of its trace and nothing else. Pure:
 * the collector feeds it while it writes the trace, the gate feeds it from the file, and
 * both get the same answer. Nothing is allocated.
 *
 *   violated       any count in END's latch, any FINDING event (but proofs of life), any
 *                  NOTE of severity error or worse
 *   unjudged       else, when START says mode "trace"; reasons are listed all the same
 *   indeterminate  else, when there is any reason of VERDICT_REASONS
 *   clean          else
 *
 * What is read of the JSON records (members not named here are ignored):
 *
 * START     {"slot": 3, "mode": "trace"|"observe"|"enforce", ...}
 * NOTE      user/event/note.h
 * COVERAGE  {"source": "lsm"|"fmod_ret"|"syscall", "hooks": {"file_open": {"source": "lsm"|
 *           "fmod_ret"|"syscall"|"tracing"|"cgroup"|"absent"|"unseen"|"none", ...}}}
 *           Without "source" it is lsm. Every hook of WEIR_HOOKS must be there with a source
 *           other than none; absent (the kernel has no such hook, and another one sees the
 *           same) is good for those that verdict_hook_optional() names; unseen, where the
 *           source is syscall, for those that verdict_hook_seen() doesn't name.
 * END       {"hooks": {"file_open": {"seen": 9, "emitted": 9, "aggregated": 0, "dropped": 0}},
 *            "latch": {"file-outside": 1}, "trouble": 0, "last_seq": 9, "live": 0,
 *            "reasons": ["what kept the collector from being sure"]}
 *           hooks, latch, trouble, last_seq are required. Hooks or kinds left out count 0.
 *
 * Sequence numbers may come out of order (programs on several CPUs), but each from 1 to
 * last_seq exactly once.
 */
#ifndef WEIR_EVENT_VERDICT_H
#define WEIR_EVENT_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/policy.h"
#include "user/event/event.h"
#include "user/event/note.h"

/* Where the decisions of a run were made. X(ID, name) */
#define VERDICT_SOURCES(X) \
	X(LSM, "lsm") \
	X(FMOD_RET, "fmod_ret") \
	X(SYSCALL, "syscall")

enum verdict_source {
#define VERDICT_X(id, name) VERDICT_SOURCE_##id,
	VERDICT_SOURCES(VERDICT_X)
#undef VERDICT_X
	VERDICT_SOURCE_COUNT,
};

/* Types of trace records: the numbers of user/trace/format.h. */
enum verdict_input {
	VERDICT_START = 1,
	VERDICT_EVENT = 2,
	VERDICT_COVERAGE = 3,
	VERDICT_NOTE = 4,
	VERDICT_END = 5,
};

enum verdict_value {
	VERDICT_CLEAN,
	VERDICT_VIOLATED,
	VERDICT_INDETERMINATE,
	VERDICT_UNJUDGED,
};

/* Why a run is indeterminate. X(ID, stable name) */
#define VERDICT_REASONS(X) \
	X(START, "no-start") \
	X(END, "no-end") \
	X(ORDER, "record-order") \
	X(RECORD, "bad-record") \
	X(VERSION, "unknown-version") \
	X(SLOT, "foreign-slot") \
	X(GAP, "sequence-gap") \
	X(REPEAT, "sequence-repeat") \
	X(COUNTERS, "counters") \
	X(DROPPED, "records-dropped") \
	X(LATCH, "latch-mismatch") \
	X(TROUBLE, "trouble") \
	X(LIVE, "members-alive") \
	X(COVERAGE, "coverage") \
	X(COLLECTOR, "collector")

enum verdict_reason {
#define VERDICT_X(id, name) VERDICT_REASON_##id,
	VERDICT_REASONS(VERDICT_X)
#undef VERDICT_X
	VERDICT_REASON_COUNT,
};

/* Texts that are kept; what comes after is only counted, per reason. */
#define VERDICT_TEXTS 24
#define VERDICT_HOLES 256

struct verdict_text {
	enum verdict_reason reason;
	char text[240]; /* one line, escaped */
};

/* Numbers first..last that have not come although later ones have. */
struct verdict_hole {
	uint64_t first, last;
};

/* Start with {0}. Read the members after verdict_finish(). */
struct verdict {
	enum verdict_value value;
	uint64_t reasons[VERDICT_REASON_COUNT]; /* how often each */
	struct verdict_text texts[VERDICT_TEXTS];
	unsigned int text_count;
	uint64_t latch[WEIR_KIND_COUNT]; /* END's counts */
	uint64_t found[WEIR_KIND_COUNT]; /* FINDING events read */
	uint64_t noted[WEIR_KIND_COUNT]; /* NOTEs of severity error or worse, their counts */
	uint64_t records;		 /* EVENTs read */
	uint64_t read[WEIR_HOOK_COUNT];	 /* OP records read, by hook */
	uint64_t max_seq;
	uint32_t slot;
	uint32_t mode; /* enum weir_mode */
	enum verdict_source source;
	bool started, covered, ended, finished;
	unsigned int hole_count;
	struct verdict_hole holes[VERDICT_HOLES];
};

/* Feeds one trace record of the given type; EVENT bytes are decoded here.
 * Never fails: what can't be understood is a reason. Borrows: bytes. */
void verdict_add(struct verdict *v, unsigned int type, const void *bytes, size_t len);

/* The same for callers that have decoded already. Borrows: all. */
void verdict_add_event(struct verdict *v, const struct event *e);
void verdict_add_refused(struct verdict *v, const struct event_why *why);
void verdict_add_json(struct verdict *v, enum verdict_input type, const json_t *json);

/* Adds a reason of the caller's own (the reader refused the trace). Borrows: fmt. */
void verdict_add_reason(struct verdict *v, enum verdict_reason reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Ends the feed. Returns: the verdict, also in v->value. Borrows: v. */
enum verdict_value verdict_finish(struct verdict *v);

/* Violations of one kind that somebody would have to accept: the most that latch, events
 * and notes show. Returns: a count. Borrows: v. */
uint64_t verdict_kind_count(const struct verdict *v, unsigned int kind);

/* Returns: true for a hook that some supported kernels lack, with no loss of sight. */
bool verdict_hook_optional(unsigned int hook);

/* Returns: true for a hook that source "syscall" has to see like the others. */
bool verdict_hook_seen(unsigned int hook);

/* Returns: "clean" ..., a reason's name, a source's name; static. */
const char *verdict_source_name(enum verdict_source source);
const char *verdict_name(enum verdict_value value);
const char *verdict_reason_name(enum verdict_reason reason);

/* {"verdict", "reasons": [{"code", "text"}], "kinds": {"file-outside": 2}}.
 * Returns: a new reference, NULL when out of memory. Borrows: v. */
json_t *verdict_json(const struct verdict *v);

#endif
