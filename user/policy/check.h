/* SPDX-License-Identifier: MIT */
/*
 * What can be wrong with a well-formed policy on any host.
 */
#ifndef WEIR_POLICY_CHECK_H
#define WEIR_POLICY_CHECK_H

#include "user/policy/policy.h"

/* Checks a loaded policy: rules that say nothing or contradict themselves, paths and
 * variables, globs, owners, names of the environment. Returns: 0 or -EINVAL with the place,
 * -ENOMEM. */
int policy_check(const struct policy *p, struct weir_err *e);

#endif
