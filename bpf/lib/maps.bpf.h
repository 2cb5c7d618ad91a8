/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All maps, declared once. bpf/maps.bpf.c defines them (with WEIR_DEFINE_MAPS set);
 * every other file sees them as extern and is linked to that one definition.
 */
#ifndef WEIR_LIB_MAPS_H
#define WEIR_LIB_MAPS_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi/control.h"
#include "bpf/abi/policy.h"

#ifdef WEIR_DEFINE_MAPS
#define WEIR_MAP(type, name) struct type name SEC(".maps")
#else
#define WEIR_MAP(type, name) extern struct type name SEC(".maps")
#endif

/* Who is a member. Written by task_alloc and adopt, deleted by task_free; preallocated,
 * because a look-up must not fail under memory pressure or preemption. Full: fork fails. */
struct weir_tasks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_MEMBERS_MAX);
	__type(key, __u64);
	__type(value, struct weir_task);
};
WEIR_MAP(weir_tasks_map, weir_tasks);

/* State of each run slot; user space maps it to read counters and latches. */
struct weir_runs_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_RUNS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct weir_run);
};
WEIR_MAP(weir_runs_map, weir_runs);

struct weir_host_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct weir_host);
};
WEIR_MAP(weir_host_map, weir_host);

/* Rules by object; written by user space only. */
struct weir_rules_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_RULES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct weir_objkey);
	__type(value, struct weir_rule);
};
WEIR_MAP(weir_rules_map, weir_rules);

/* Rules by directory and name; written by user space only. */
struct weir_names_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_NAMES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct weir_namekey);
	__type(value, struct weir_rule);
};
WEIR_MAP(weir_names_map, weir_names);

/* One bit for each inode number that has a rule or holds a named one. A clear bit saves
 * the hash look-up; a stale set bit only costs one. */
struct weir_bloom_bits {
	__u64 word[WEIR_BLOOM_SIZE / 64];
};
struct weir_bloom_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct weir_bloom_bits);
};
WEIR_MAP(weir_bloom_map, weir_bloom);

/* Superblocks that a run knew at its start. */
struct weir_supers_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct weir_sbkey);
	__type(value, __u32);
};
WEIR_MAP(weir_supers_map, weir_supers);

/* Credentials under which the host's overlays act on their layers. */
struct weir_creds_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
};
WEIR_MAP(weir_creds_map, weir_creds);

/* Control names and places below .git, by hash (bpf/abi/control.h). */
struct weir_control_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u32);
};
WEIR_MAP(weir_control_map, weir_control);

/* Hard links that are the run's own; deleted when the file is. Full: no right through links. */
struct weir_links_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_LINKS_MAX);
	__type(key, struct weir_linkkey);
	__type(value, struct weir_links);
};
WEIR_MAP(weir_links_map, weir_links);

/* Event buffers. A program claims one for as long as it composes a record, because a
 * per-CPU buffer would be shared with whoever preempts it. */
#define WEIR_SCRATCH_DATA (2 * WEIR_PATH_MAX + WEIR_NAME_MAX + 8)
struct weir_scratch_buf {
	__u32 busy;
	__u32 pad;
	union {
		struct weir_head head;
		struct weir_opev op;
		struct weir_execev exec;
		struct weir_forkev fork;
		struct weir_exitev exit;
		char bytes[sizeof(struct weir_opev) + WEIR_SCRATCH_DATA];
	};
};
struct weir_scratch_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEIR_SCRATCH_MAX);
	__type(key, __u32);
	__type(value, struct weir_scratch_buf);
};
WEIR_MAP(weir_scratch_map, weir_scratch);

/* One ring buffer for each active run, put there by its collector. */
struct weir_ring_inner {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct weir_rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WEIR_RUNS_MAX);
	__type(key, __u32);
	__array(values, struct weir_ring_inner);
};
WEIR_MAP(weir_rings_map, weir_rings);

#endif
