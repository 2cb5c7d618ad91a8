/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every bound that kernel and user side share, with the reason for the number.
 * What goes past a bound is never cut silently: it has no rights, or the run
 * becomes indeterminate, or the policy is refused; each line says which.
 */
#ifndef WEIR_ABI_LIMITS_H
#define WEIR_ABI_LIMITS_H

/* Runs at once on a host; one more is refused. A slot costs one page-sized state. */
#define WEIR_RUNS_MAX 256

/* Tasks of all runs together, the collector of each among them; one more fails its fork. pid_max's
 * old default. */
#define WEIR_MEMBERS_MAX 32768

/* Object rules of all runs together; one more is refused when the policy is bound. */
#define WEIR_RULES_MAX 100000

/* Name rules (absent paths, credential names) of all runs together; refused likewise. */
#define WEIR_NAMES_MAX 16384

/* Network rules of a run, one for each range of ports; one more is refused when the policy is
 * compiled. Each connection of a member compares all of them: 30 instructions a rule. */
#define WEIR_NETS_MAX 128

/* Unix sockets that runs may talk to, of all runs together; refused likewise. */
#define WEIR_PEERS_MAX 4096

/* Addresses and ports at which members wait, of all runs together; as with the next. */
#define WEIR_DOORS_MAX 4096

/* Sockets and System V objects that members made and that may be asked about; the ones that were
 * used least recently are forgotten, and then belong to nobody. */
#define WEIR_MADE_MAX 16384

/* Times that members of a run may say who gets the signals of a file (F_SETOWN), which almost no program
 * does at all; one more makes the run indeterminate. The table has twice the room, since its processors
 * keep parts of it to themselves. */
#define WEIR_OWNED_OF_RUN 64
#define WEIR_OWNED_MAX (2 * WEIR_OWNED_OF_RUN * WEIR_RUNS_MAX)

/* Files with hard links of their own of all runs together (an npm or cargo tree has some
 * thousands); one more makes the run that makes it indeterminate. */
#define WEIR_LINKS_MAX 65536

/* Levels of names that a walk looks at, the object's own among them; deeper objects have no rights,
 * and an outsider's change below them counts like one without a desk (WEIR_DESKS_MAX). PATH_MAX is
 * 4096 bytes, so an ordinary path of two-letter names has 1,365 levels; real trees stay below 60,
 * and each level costs 35 instructions, or 95 where names matter. */
#define WEIR_DEPTH_MAX 128

/* Bytes of a path in one record, each component with its NUL: 128 of 63 bytes, or PATH_MAX twice.
 * Longer paths are marked truncated and keep the components next to the object. */
#define WEIR_PATH_MAX 8192

/* Longest single component (NAME_MAX) with its NUL. */
#define WEIR_NAME_MAX 256

/* Bytes of an exec's arguments that are kept as a label, their NULs among them: what people look at.
 * The rest is cut, and its length told. */
#define WEIR_ARGS_MAX 1024

/* Bytes of a name that is no path: an abstract socket has 108, a module 56. Longer ones are cut. */
#define WEIR_LABEL_MAX 128

/* Event buffers in use at one time, machine-wide; none left counts as a drop. A program holds
 * at most one, so this is the number of programs that can be preempted while they tell. */
#define WEIR_SCRATCH_MAX 64

/* Decisions about outsiders at one time, machine-wide: tasks that can be preempted in the middle
 * of one. One more makes all active runs indeterminate, and is refused while a tree is sealed. */
#define WEIR_DESKS_MAX 1024
#define WEIR_CLAIMS_MAX (2 * WEIR_DESKS_MAX)

/* Hooks that a run has counters for; a power of two. */
#define WEIR_HOOKS_MAX 128

/* Words of working memory in the entry of each member; the programs assert that they fit. */
#define WEIR_WORK_WORDS 16

/* Cells that count members by the hash of their address. A cell of 0 proves that a task is no
 * member, which is what almost every look-up on a host asks; with all members alive there are
 * two in a cell. */
#define WEIR_CROWD_BITS 14
#define WEIR_CROWD_SIZE (1u << WEIR_CROWD_BITS)

/* Bytes of the bloom array: ten for each of 100,000 rules, rounded up to a power of two. */
#define WEIR_BLOOM_BITS 20
#define WEIR_BLOOM_SIZE (1u << WEIR_BLOOM_BITS)

/* Longest control name that is compared (".gitlab-ci.yml" has 14). */
#define WEIR_CTLNAME_MAX 32

#endif
