/* SPDX-License-Identifier: MIT */
/*
 * Names of the ABI's numbers, and back. The tables are made from the lists in bpf/abi,
 * so there is no second list to forget. Names are what reports, policies and traces use.
 */
#ifndef WEIR_EVENT_NAMES_H
#define WEIR_EVENT_NAMES_H

#include <stdbool.h>

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/policy.h"

/* From harmless to grave; the words of WEIR_KINDS and of notes. */
#define NAMES_SEVERITIES(X) \
	X(DEBUG, "debug") \
	X(INFORMATIONAL, "informational") \
	X(NOTICE, "notice") \
	X(WARNING, "warning") \
	X(ERROR, "error") \
	X(CRITICAL, "critical") \
	X(ALERT, "alert") \
	X(EMERGENCY, "emergency")

enum severity {
#define NAMES_X(id, name) SEVERITY_##id,
	NAMES_SEVERITIES(NAMES_X)
#undef NAMES_X
	SEVERITY_COUNT,
};

/* Returns: the name of a number, "unknown" when out of range; static. */
const char *names_kind(unsigned int kind);
const char *names_op(unsigned int op);
const char *names_outcome(unsigned int outcome);
const char *names_hook(unsigned int hook);
const char *names_hook_family(unsigned int hook);
const char *names_severity(unsigned int severity);
const char *names_record(unsigned int type);

/* Returns: how grave a finding of this kind is; SEVERITY_ERROR when out of range. */
enum severity names_kind_severity(unsigned int kind);

/* Returns: the number of a name, or -ENOENT. Borrows: name. */
int names_find_kind(const char *name);
int names_find_op(const char *name);
int names_find_outcome(const char *name);
int names_find_hook(const char *name);

/* Is a hook in a list "file_open,capset"? Returns: false also for NULL. Borrows: list. */
bool names_hook_in(unsigned int hook, const char *list);
int names_find_severity(const char *name);

/* Returns: the bit of a single right ("write" is WEIR_RIGHT_WRITE alone, not the policy
 * word that stands for all changes), or -ENOENT. Borrows: name. */
int names_find_right(const char *name);

/* Units: bytes. Enough for all rights. */
#define NAMES_RIGHTS_SIZE 96

/* Writes "read,write", "none" for 0; undefined bits as one hex number at the end.
 * Returns: out. Borrows: out, which holds NAMES_RIGHTS_SIZE bytes. */
const char *names_rights(uint32_t rights, char *out, size_t size);

/* Returns: the key of a policy that grants power number `bit` and its word there ("namespaces",
 * "user"), NULL when no policy does; static. */
const char *names_power_key(unsigned int bit);
const char *names_power_word(unsigned int bit);

/* Returns: the name of bit number `bit` of weir_opev.flags ("truncated"), NULL when the
 * bit has no meaning; static. */
const char *names_flag(unsigned int bit);

#endif
