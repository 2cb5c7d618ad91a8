/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All maps. */
#ifndef WEIR_LIB_MAPS_H
#define WEIR_LIB_MAPS_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi/control.h"
#include "bpf/abi/reach.h"
#include "bpf/abi/state.h"

#define WEIR_MAP(type, name) struct type name SEC(".maps")

/* The only variable, so that it is where its section begins. Words, so that the skeleton names
 * no type of the ABI. */
__u64 weir_memory[sizeof(struct weir_state) / 8];
#define weir_state ((struct weir_state *)weir_memory)

/* Who is a member. Written by task_alloc and adopt, deleted by task_free; preallocated,
 * because a look-up must not fail under memory pressure or preemption. Full: fork fails. */
struct weir_tasks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_MEMBERS_MAX);
	__type(key, __u64);
	__type(value, struct weir_task);
};
WEIR_MAP(weir_tasks_map, weir_tasks);

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
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct weir_linkkey);
	__type(value, struct weir_links);
};
WEIR_MAP(weir_links_map, weir_links);

/* Network rules, by slot; written by user space only. */
struct weir_nets_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_RUNS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct weir_nets);
};
WEIR_MAP(weir_nets_map, weir_nets);

/* Unix sockets of outsiders that a run may talk to, or that are refused without a finding: by
 * their inode, or, with inode 0, by the hash of an abstract name. Written by user space only. */
struct weir_peers_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEIR_PEERS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct weir_objkey);
	__type(value, struct weir_rule);
};
WEIR_MAP(weir_peers_map, weir_peers);

/* What members made, with their slot. Full: the eldest is forgotten, and belongs to nobody. */
struct weir_made_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WEIR_MADE_MAX);
	__type(key, struct weir_made);
	__type(value, __u32);
};
WEIR_MAP(weir_made_map, weir_made);

/* Ends at which members wait. Full: likewise. */
struct weir_doors_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WEIR_DOORS_MAX);
	__type(key, struct weir_doorkey);
	__type(value, struct weir_door);
};
WEIR_MAP(weir_doors_map, weir_doors);

/* Files whose signals go where a member said, with its run's slot. Replaced when an outsider says
 * where. A run that says it more often than the table has room for (WEIR_OWNED_OF_RUN) is not sure. */
struct weir_owned_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WEIR_OWNED_MAX);
	__type(key, __u64);
	__type(value, __u32);
};
WEIR_MAP(weir_owned_map, weir_owned);

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
