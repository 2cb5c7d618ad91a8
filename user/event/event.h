/* SPDX-License-Identifier: MIT */
/*
 * One record of the kernel side, checked. The bytes are hostile: they may come from a
 * trace file that somebody edited. event_decode() is pure and allocates nothing.
 *
 * Source of the format: bpf/abi/event.h. What is checked beyond it:
 *  - the size in the head is the size of the bytes, a multiple of 8 and exactly what the
 *    lengths inside ask for; padding is zero;
 *  - op, hook, kind, outcome are in range, rights, powers and flags have only defined bits;
 *  - a path is a row of NUL-terminated components that are neither empty nor "." nor
 *    "..", hold no '/', and have at most 255 bytes each. In a record with
 *    WEIR_EV_UNRESOLVED any component is taken as it is, because names of detached
 *    objects ("memfd:a/b", "/") are chosen by the process or the kernel;
 *  - seq is not 0; a finding names its kind.
 * Records of version 1 decode as well; what version 2 added is zero then.
 */
#ifndef WEIR_EVENT_EVENT_H
#define WEIR_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/event.h"

/* Units: bytes. Enough for every path that event_path() can build. */
#define EVENT_PATH_SIZE (WEIR_PATH_MAX + 8)

/* Fields are in host order. The pointers reach into the bytes that were decoded. */
struct event {
	union {
		struct weir_head head; /* the first member of each */
		struct weir_opev op;
		struct weir_forkev fork;
		struct weir_execev exec;
		struct weir_exitev exit;
	};
	const char *first;  /* op: first path; exec: path of the program. Stored form. */
	const char *second; /* op: second path */
	const char *args;   /* exec: NUL-separated, the last may lack its NUL */
	const char *name;   /* op: a label, any bytes */
	uint32_t first_len; /* Units: bytes */
	uint32_t second_len;
	uint32_t args_len;
	uint32_t name_len;
};

/* Why a record is refused. X(ID, stable name, text) */
#define EVENT_REFUSALS(X) \
	X(NONE, "none", "no refusal") \
	X(SHORT, "short", "ends before its fixed part does") \
	X(VERSION, "version", "has a version that this build does not know") \
	X(TYPE, "type", "has an unknown type") \
	X(SIZE, "size", "states another size than it has") \
	X(LENGTH, "length", "has a length past its bound") \
	X(SEQ, "seq", "has no sequence number") \
	X(OP, "op", "has an operation out of range") \
	X(HOOK, "hook", "has a hook out of range") \
	X(KIND, "kind", "has a kind out of range, or is a finding without one") \
	X(OUTCOME, "outcome", "has an outcome out of range") \
	X(FLAGS, "flags", "has undefined flags") \
	X(RIGHTS, "rights", "has undefined rights") \
	X(PATH, "path", "has a path that is no row of plain components") \
	X(TASK, "task", "names no task") \
	X(PADDING, "padding", "has padding that is not zero")

enum event_refusal {
#define EVENT_X(id, name, text) EVENT_REFUSE_##id,
	EVENT_REFUSALS(EVENT_X)
#undef EVENT_X
	EVENT_REFUSE_COUNT,
};

struct event_why {
	enum event_refusal reason;
	size_t offset; /* of the offending field in the record. Units: bytes */
};

/* Checks len bytes, which must be exactly one record.
 * Returns: 0, or -EBADMSG with *ret_why filled (may be NULL) and *ret_event undefined.
 * Borrows: bytes, for as long as *ret_event is used; no alignment is needed. */
int event_decode(const void *bytes, size_t len, struct event *ret_event, struct event_why *ret_why);

/* Returns: the stable name and the English text of a refusal ("record " + text); static. */
const char *event_refusal_name(enum event_refusal reason);
const char *event_refusal_text(enum event_refusal reason);

/* Turns a stored path into text, names the way around, inside its own file system:
 * "/lab/ws/main.c"; "/" for the root; ".../ws/main.c" when WEIR_EV_TRUNCATED is set and
 * "ws/main.c" when WEIR_EV_UNRESOLVED is: only a text that starts with '/' is complete.
 * The bytes are not escaped. Borrows: path. Units: bytes.
 * Returns: length without the NUL, or -ENAMETOOLONG (never with EVENT_PATH_SIZE). */
int event_path(const char *path, size_t len, uint32_t flags, char *out, size_t size);

/* The same for the first or second object of an op, or the program of an exec; "" when
 * the record has no such object. Returns: as event_path. Borrows: e. */
int event_path_first(const struct event *e, char *out, size_t size);
int event_path_second(const struct event *e, char *out, size_t size);

/* Units: bytes. Enough for every text of event_place(). */
#define EVENT_PLACE_SIZE 256

/* The name of what an op was aimed at if that is in no file system: "tcp:192.0.2.1:443",
 * "udp:[::1]:53", "socket:packet", "netlink:route:16" (the message's type), "unix:@name" (NULs in
 * it become @), "sysv:msg:0x2a" (its key); "" for anything else. Any bytes, not escaped.
 * Returns: length without the NUL. Borrows: e; out. */
int event_place(const struct event *e, char *out, size_t size);

/* Units: bytes. Enough for every text of event_target(). */
#define EVENT_TARGET_SIZE 1536

/* What an op was aimed at besides paths, as one line of text without what differs from one run
 * to the next (process ids): powers, socket, name. "" if nothing is known. Escaped.
 * Returns: out. Borrows: e; out, which holds EVENT_TARGET_SIZE bytes. */
const char *event_target(const struct event *e, char *out);

/* Returns: true when an object is named: it has a device. Borrows: o. */
static inline bool event_object_present(const struct weir_object *o)
{
	return o->dev != 0;
}

/* Returns: true when the event speaks against the run (proofs of life do not). Borrows: e. */
bool event_is_finding(const struct event *e);

#endif
