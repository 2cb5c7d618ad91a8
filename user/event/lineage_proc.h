/* SPDX-License-Identifier: MIT */
/* Inside of user/event/lineage.h: what a process and an actor hold. */
#ifndef WEIR_EVENT_LINEAGE_PROC_H
#define WEIR_EVENT_LINEAGE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program with its arguments; shared by all processes that were forked since. */
struct lineage_image {
	uint32_t refs;
	uint32_t exe_len;
	uint32_t args_len;
	uint32_t args_total;
	char data[]; /* exe and a NUL, args */
};

struct lineage_proc {
	uint64_t start_ns;
	uint32_t tgid;
	uint32_t ns_pid;
	uint32_t uid;
	uint32_t depth;	 /* ancestors at birth, those taken out since included */
	uint32_t elided; /* taken out between this one and `parent` */
	uint32_t holds;	 /* actors */
	bool dead;
	bool queued;		     /* in the ring of those that died last */
	struct lineage_image *image; /* what it runs */
	struct lineage_image *birth; /* what `parent` ran when it forked */
	struct lineage_proc *parent, *child, *next, *prev;
	struct lineage_proc *hash_next;
};

struct lineage_actor {
	struct lineage_proc *proc;
	struct lineage_image *image;
};

/* Returns: an image with one reference, NULL when out of memory. Borrows: exe, args. */
struct lineage_image *lineage_image_new(const char *exe, size_t exe_len, const char *args,
					size_t args_len, uint32_t args_total);

/* Takes and gives back a reference; NULL stays NULL. Returns: image. Borrows: image. */
struct lineage_image *lineage_image_get(struct lineage_image *image);
void lineage_image_put(struct lineage_image *image);

#endif
