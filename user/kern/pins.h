/* SPDX-License-Identifier: MIT */
/*
 * What stays in the kernel between runs, under KERN_PIN_ROOT/BUILD/:
 *
 *   links/HOOK      attached programs: what is pinned is attached
 *   maps/NAME       all maps
 *   bind, adopt     programs that the collector runs itself
 *   steps/PROG-STEP what is put into a program (user/kern/objects.h)
 *   steps-N/        an empty directory: there are N of these
 *   absent-HOOK/    an empty directory for a hook that this kernel does not have
 *   left-HOOK/      the same for one that was left out
 *   complete/       an empty directory, made last: without it the rest is thrown away
 *
 * If any of these is gone (somebody removed it), the next start makes all anew, or refuses
 * while a run may be using them.
 */
#ifndef WEIR_KERN_PINS_H
#define WEIR_KERN_PINS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/kern/kern.h"

/* Names k->pins after the BPF objects, the source, the kernel, what is known of overlays, and what is left
 * out. Returns: 0 or a negative errno. Borrows: without (may be NULL). */
int pins_name(struct kern *k, const char *without, struct weir_err *e);

/* Whether all pins of this build are there. Returns: 0; -ENOENT, and e names the first that
 * is gone. Borrows: k. */
int pins_check(const struct kern *k, struct weir_err *e);

/* Whether a run is active in a build. Returns: 1, 0, or a negative errno when the map that
 * says so is gone. Borrows: build. */
int pins_in_use(const char *build);

/* Removes the pins of this build, which are not whole (why, of pins_check). Returns: 0; -EBUSY
 * or -ENOENT when a run is active there or may be; a negative errno. Borrows: all. */
int pins_clear(const struct kern *k, const struct weir_err *why, struct weir_err *e);

/* Opens maps and programs. Returns: 0 or a negative errno. */
int pins_open(struct kern *k, struct weir_err *e);

/* The same from an object that is loaded, for a source that pins nothing. Returns: 0 or a negative
 * errno. Borrows: obj. */
struct bpf_object;
int pins_take(struct kern *k, struct bpf_object *obj, struct weir_err *e);

/* Returns: the memory of the programs behind fd, for pins_unmap; NULL with errno. */
struct weir_state *pins_map(int fd);
void pins_unmap(struct weir_state *state);

/* Fills k->hooks from the links, then from what is noted as absent. */
void pins_coverage(struct kern *k);
void pins_recall(struct kern *k);

/* Notes the hooks without a link and that all is there. Returns: 0 or a negative errno. */
int pins_finish(struct kern *k, struct weir_err *e);

/* Removes the pins of other builds that no run uses; keep NULL: of all builds.
 * Returns: 0; -EBUSY if keep is NULL and a run is active; a negative errno. Borrows: keep. */
int pins_remove_others(const char *keep, struct weir_err *e);

#endif
