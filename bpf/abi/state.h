/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs keep in one piece of memory, which the collector maps: the programs reach
 * it without a look-up, and the verifier has nothing to follow in it.
 */
#ifndef WEIR_ABI_STATE_H
#define WEIR_ABI_STATE_H

#include "bpf/abi/policy.h"

/* Event buffers. A program claims one for as long as it composes a record, because a
 * per-CPU buffer would be shared with whoever preempts it. */
#define WEIR_SCRATCH_DATA (2 * WEIR_PATH_MAX + WEIR_NAME_MAX + WEIR_LABEL_MAX + 8)
struct weir_scratch_buf {
	__u32 claim;  /* its index in claims */
	__u32 offset; /* in bytes, of the next component */
	__u32 limit;  /* of the path */
	__u32 flags;  /* WEIR_EV_TRUNCATED, WEIR_EV_UNRESOLVED */
	union {
		struct weir_head head;
		struct weir_opev op;
		struct weir_execev exec;
		struct weir_forkev fork;
		struct weir_exitev exit;
		char bytes[sizeof(struct weir_opev) + WEIR_SCRATCH_DATA];
	};
};
WEIR_ASSERT_SIZE(struct weir_scratch_buf, 16 + sizeof(struct weir_opev) + WEIR_SCRATCH_DATA);

/* Where a decision about an outsider lies, claimed likewise (weir_task has a member's). */
struct weir_desk {
	__u32 claim;
	__u32 pad;
	__u64 work[WEIR_WORK_WORDS];
};
WEIR_ASSERT_SIZE(struct weir_desk, 8 + 8 * WEIR_WORK_WORDS);

struct weir_state {
	struct weir_host host;

	/* How many entries of weir_tasks there are for each hash of an address. Counted up before
	 * an entry is made and down after one is deleted, so that 0 proves that there is none;
	 * what user space deletes stays counted, which only costs a look-up. */
	__u32 crowd[WEIR_CROWD_SIZE];

	/* WEIR_BLOOM_* by inode address. A clear bit saves the hash look-up; a stale set bit only
	 * costs one. */
	__u8 bloom[WEIR_BLOOM_SIZE];

	/* State of each run slot: counters and latches. */
	struct weir_run runs[WEIR_RUNS_MAX];

	/* Who has which of the following: 1, taken. The range of each begins at its own size, and
	 * the rest stays 0. */
	__u32 claims[WEIR_CLAIMS_MAX];
	struct weir_scratch_buf scratch[WEIR_SCRATCH_MAX];
	struct weir_desk desks[WEIR_DESKS_MAX];
};

#endif
