/* SPDX-License-Identifier: MIT */
/*
 * The events of a policy's YAML, one after the other, without what a policy must not have.
 */
#ifndef WEIR_POLICY_EVENTS_H
#define WEIR_POLICY_EVENTS_H

#include <yaml.h>

#include "user/policy/schema.h"

struct policy_loader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *file;
	const char *bytes;
	size_t len;
	struct weir_err *e;
	struct policy *p;
};

/* Moves on to the next event; refuses anchors, aliases and tags. Borrows: l.
 * Returns: 0, -EINVAL with the place and what to do, -ENOMEM. */
int policy_loader_next(struct policy_loader *l);

/* Where the current event begins. Borrows: l. Returns: the place. */
struct policy_pos policy_loader_pos(const struct policy_loader *l);

/* The current event as a scalar; `key` and `want` are for the message if it is none.
 * Gives: ret_scalar, borrowed until the next event. Returns: 0 or -EINVAL. */
int policy_loader_scalar(struct policy_loader *l, const char *key, const char *want,
			 struct policy_scalar *ret_scalar);

/* Says that the current event is not what is wanted. Borrows: all. Returns: -EINVAL. */
int policy_loader_wrong_type(struct policy_loader *l, const char *key, const char *want);

/* Sets the error to -ENOMEM. Borrows: l. Returns: -ENOMEM. */
int policy_loader_oom(struct policy_loader *l);

#endif
