/* SPDX-License-Identifier: MIT */
/* Makes records as the kernel side writes them, from paths as people write them. */
#ifndef WEIR_TESTS_RECORDS_H
#define WEIR_TESTS_RECORDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/event/event.h"

#define REC_DEV (8u << 20 | 1u)

struct rec {
	_Alignas(8) char bytes[WEIR_RECORD_MAX + 64];
	size_t len;
};

/* "/a/b" becomes "b\0a\0". Returns: bytes. */
static inline size_t rec_store_path(char *out, const char *path)
{
	size_t used = 0;

	for (size_t end = strlen(path); end > 0;) {
		size_t start = end;

		while (start > 0 && path[start - 1] != '/')
			start--;
		if (end > start) {
			memcpy(out + used, path + start, end - start);
			used += end - start;
			out[used++] = '\0';
		}
		end = start > 0 ? start - 1 : 0;
	}
	return used;
}

static inline struct weir_head rec_head(uint16_t type, uint64_t seq, uint32_t tgid,
					uint64_t start_ns)
{
	return (struct weir_head){
		.version = WEIR_ABI_VERSION,
		.type = type,
		.seq = seq,
		.ts_ns = 1000 * seq,
		.slot = 1,
		.tgid = tgid,
		.pid = tgid,
		.ns_tgid = tgid,
		.uid = 1000,
		.start_ns = start_ns,
	};
}

static inline void rec_close(struct rec *r, size_t len)
{
	uint32_t size = (uint32_t)((len + 7) & ~(size_t)7);

	memset(r->bytes + len, 0, size - len);
	memcpy(r->bytes + offsetof(struct weir_head, size), &size, sizeof(size));
	r->len = size;
}

/* An operation; op holds everything but lengths. second may be NULL. */
static inline void rec_op(struct rec *r, struct weir_opev op, const char *first, const char *second)
{
	size_t at = sizeof(op);

	op.first_len = first ? (uint32_t)rec_store_path(r->bytes + at, first) : 0;
	at += op.first_len;
	op.second_len = second ? (uint32_t)rec_store_path(r->bytes + at, second) : 0;
	at += op.second_len;
	memcpy(r->bytes, &op, sizeof(op));
	rec_close(r, at);
}

/* A plain one on a regular file. */
static inline struct weir_opev rec_plain(uint64_t seq, uint32_t tgid, unsigned int op,
					 unsigned int kind)
{
	return (struct weir_opev){
		.head = rec_head(WEIR_RECORD_OP, seq, tgid, 100 * (uint64_t)tgid),
		.op = (uint16_t)op,
		.kind = (uint16_t)kind,
		.outcome = WEIR_OUTCOME_PASSED,
		.flags = kind ? WEIR_EV_FINDING | WEIR_EV_BAD_FIRST : 0,
		.want = 2,
		.first = { .ino = 12,
			   .dev = REC_DEV,
			   .mode = S_IFREG | 0644,
			   .nlink = 1,
			   .size = 5 },
	};
}

static inline void rec_fork(struct rec *r, uint64_t seq, uint32_t tgid, uint32_t child)
{
	struct weir_forkev fork = {
		.head = rec_head(WEIR_RECORD_FORK, seq, tgid, 100 * (uint64_t)tgid),
		.child_tgid = child,
		.child_pid = child,
		.child_start_ns = 100 * (uint64_t)child,
	};

	memcpy(r->bytes, &fork, sizeof(fork));
	rec_close(r, sizeof(fork));
}

static inline void rec_exec(struct rec *r, uint64_t seq, uint32_t tgid, const char *path,
			    const char *args, size_t args_len)
{
	struct weir_execev exec = {
		.head = rec_head(WEIR_RECORD_EXEC, seq, tgid, 100 * (uint64_t)tgid),
		.exe = { .ino = 7, .dev = REC_DEV, .mode = S_IFREG | 0755, .nlink = 1 },
		.args_len = (uint32_t)args_len,
		.args_total = (uint32_t)args_len,
	};
	size_t at = sizeof(exec);

	exec.path_len = (uint32_t)rec_store_path(r->bytes + at, path);
	at += exec.path_len;
	memcpy(r->bytes + at, args, args_len);
	memcpy(r->bytes, &exec, sizeof(exec));
	rec_close(r, at + args_len);
}

static inline void rec_exit(struct rec *r, uint64_t seq, uint32_t tgid)
{
	struct weir_exitev ev = { .head = rec_head(WEIR_RECORD_EXIT, seq, tgid,
						   100 * (uint64_t)tgid) };

	memcpy(r->bytes, &ev, sizeof(ev));
	rec_close(r, sizeof(ev));
}

/* Decodes what was made, which must be good. */
static inline struct event rec_event(const struct rec *r)
{
	struct event_why why = { 0 };
	struct event event;

	if (event_decode(r->bytes, r->len, &event, &why) < 0)
		abort();
	return event;
}

#endif
