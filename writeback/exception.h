/* SPDX-License-Identifier: MIT */
/*
 * What a person signs to accept findings for a time, and to end that. Text, version 1, by the
 * rules of writeback/approval.h:
 *
 *   weir-exception/1
 *   decision accept|revoke
 *   repository ID
 *   scope run ID | ref NAME | repository   the last two are wildcards: two persons sign
 *   role NAME                 that every finding's class needs; the signature's namespace
 *   reason TEXT               why it is acceptable
 *   control TEXT              what stands in for what is missing
 *   owner TEXT                who answers for it
 *   created TIME
 *   expires TIME              at most writeback.exception_span of the policy later
 *   finding ID                hazard.h, runfindings.h; a list, no patterns; sorted, one at least
 *   revokes SHA256            of an `accept` text that is to end at once; only with `revoke`,
 *                             which has no finding
 *
 * An exception is named by the SHA-256 of its text.
 */
#ifndef WEIR_WRITEBACK_EXCEPTION_H
#define WEIR_WRITEBACK_EXCEPTION_H

#include <stdint.h>

#include "writeback/config.h"
#include "writeback/roles.h"

#define EXCEPTION_HEAD "weir-exception/1"
#define EXCEPTION_MAX ((size_t)1 << 20) /* bytes */
#define EXCEPTION_FINDINGS_MAX 1000

struct exception {
	bool revoke;
	char *repository;
	char *scope;
	enum role role;
	char *reason;
	char *control;
	char *owner;
	int64_t created; /* seconds since 1970 */
	int64_t expires;
	struct gate_texts findings;
	char *revokes; /* NULL for `accept` */
};

void exception_done(struct exception *x);
#define cleanup_exception __attribute__((__cleanup__(exception_done)))

/* Appends the text. Returns: 0, -EINVAL when something is missing or has no place in it, -ENOMEM.
 * Borrows: x. */
int exception_format(const struct exception *x, struct buf *ret_text);

/* Reads a text that exception_format could have written, byte for byte.
 * Returns: 0, -EBADMSG, -ENOMEM. Borrows: text. Gives: ret_exception. */
int exception_parse(const char *text, size_t len, struct exception *ret_exception);

/* Whether the scope is more than one run. Returns: truth. Borrows: x. */
bool exception_is_wide(const struct exception *x);

/* Whether the scope holds a run on a ref. Returns: truth. Borrows: all. */
bool exception_holds(const struct exception *x, const char *run, const char *ref);

#endif
