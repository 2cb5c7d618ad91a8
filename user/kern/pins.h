/* SPDX-License-Identifier: MIT */
/*
 * What stays in the kernel between runs, under KERN_PIN_ROOT/BUILD/:
 *
 *   links/HOOK      attached programs: what is pinned is attached
 *   maps/NAME       all maps
 *   bind, adopt     programs that the collector runs itself
 *   absent-HOOK/    an empty directory for a hook that this kernel does not have
 *   complete/       an empty directory, made last: without it the rest is thrown away
 */
#ifndef WEIR_KERN_PINS_H
#define WEIR_KERN_PINS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/kern/kern.h"

#define PINS_PAGE 4096u /* arrays are mapped in whole pages */

/* Names k->pins after the BPF object, the kernel, what is known of overlays, and what is left
 * out. Returns: 0 or a negative errno. Borrows: bytes, without (may be NULL). */
int pins_name(struct kern *k, const void *bytes, size_t size, const char *without,
	      struct weir_err *e);

/* Returns: whether all pins of this build are there. */
bool pins_complete(struct kern *k);

/* Opens maps and programs, and maps the shared arrays. Returns: 0 or a negative errno. */
int pins_open(struct kern *k, struct weir_err *e);
int pins_map(struct kern *k, struct weir_err *e);

/* Fills k->hooks from the links, then from what is noted as absent. */
void pins_coverage(struct kern *k);
void pins_recall(struct kern *k);

/* Notes the absent hooks and that all is there. Returns: 0 or a negative errno. */
int pins_finish(struct kern *k, struct weir_err *e);

/* Removes the pins of other builds that no run uses; keep NULL: of all builds.
 * Returns: 0; -EBUSY if keep is NULL and a run is active; a negative errno. Borrows: keep. */
int pins_remove_others(const char *keep, struct weir_err *e);

#endif
