/* SPDX-License-Identifier: MIT */
/*
 * Trace file, version 1. All integers little endian; lengths in bytes.
 *
 * TR-1  A file starts with 16 bytes: "weir-trace/1\n" and three NUL bytes.
 * TR-2  Then come frames: a head of 16 bytes {u32 magic "WFRM", u32 length, u64 number},
 *       `length` bytes of records, and 32 bytes of chain. A frame's length is a multiple
 *       of 8, not 0, and at most TRACE_FRAME_MAX less head and chain: 64 KiB in all.
 * TR-3  Frames are numbered from 0 without gaps.
 * TR-4  The chain of a frame is SHA-256 over the chain of the frame before (for the first:
 *       SHA-256 of the 16 bytes of TR-1), its own head and its records. The chain of the
 *       last frame is the root of the trace.
 * TR-5  A record is {u16 type, u16 flags, u32 length}, `length` bytes, and NUL bytes up to
 *       a multiple of 8. It lies within one frame.
 * TR-6  Types are those of enum trace_type; others are refused. The only flag is
 *       TRACE_MORE: the next record has the same type and goes on with this one. Together
 *       they have at most TRACE_RECORD_MAX bytes. Events are never split.
 * TR-7  The first record is START, and there is no other START.
 * TR-8  END is the last record of the last frame; nothing follows it. A file without END
 *       is a valid prefix of a trace: the run is indeterminate.
 * TR-9  A file that ends inside a frame (a crash while writing) is valid up to that frame;
 *       the bytes after it are reported as a torn tail and belong to nothing. A split record
 *       whose end is missing is not handed out. If the file ends inside its first 16
 *       bytes it holds no trace.
 * TR-10 A reader hands out no record of a frame before the frame's chain was checked, and
 *       after the first refusal nothing more.
 *
 * A writer appends, never goes back, and syncs at START and END and where its caller asks;
 * if the disk is full it cuts the file back to the last whole frame and fails for good.
 */
#ifndef WEIR_TRACE_FORMAT_H
#define WEIR_TRACE_FORMAT_H

#include <stdint.h>

#include "user/base/digest.h"

#define TRACE_MAGIC "weir-trace/1\n\0\0\0"
#define TRACE_MAGIC_SIZE 16

#define TRACE_FRAME_MAGIC 0x4d524657u /* "WFRM" */
#define TRACE_FRAME_MAX 65536u
#define TRACE_FRAME_HEAD 16u
#define TRACE_FRAME_DATA (TRACE_FRAME_MAX - TRACE_FRAME_HEAD - DIGEST_SIZE)

#define TRACE_RECORD_HEAD 8u
#define TRACE_RECORD_MAX (4u << 20)
#define TRACE_MORE 1u

/* X(ID, number, name) */
#define TRACE_TYPES(X) \
	X(START, 1, "start") \
	X(EVENT, 2, "event") \
	X(COVERAGE, 3, "coverage") \
	X(NOTE, 4, "note") \
	X(END, 5, "end")

enum trace_type {
#define TRACE_X(id, number, name) TRACE_##id = number,
	TRACE_TYPES(TRACE_X)
#undef TRACE_X
};

struct trace_frame_head {
	uint32_t magic;
	uint32_t length;
	uint64_t number;
};
_Static_assert(sizeof(struct trace_frame_head) == TRACE_FRAME_HEAD, "TR-2");

struct trace_record_head {
	uint16_t type;
	uint16_t flags;
	uint32_t length;
};
_Static_assert(sizeof(struct trace_record_head) == TRACE_RECORD_HEAD, "TR-5");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces are little endian");

#endif
