/* SPDX-License-Identifier: MIT */
/*
 * What is valid in a policy, and yet gives away more than it seems.
 */
#ifndef WEIR_POLICY_WARN_H
#define WEIR_POLICY_WARN_H

#include "user/policy/policy.h"

/* Appends "warning: FILE:LINE:COLUMN: ..." for each thing that gives away the host or lets everything
 * through: sockets of container engines, message buses and service managers; all of the internet;
 * `broad: true`; programs from anywhere; opened credential stores; powers and capabilities of
 * the kernel; hooks of loaders; everything promoted unseen. Borrows: p. Returns: as buf_add. */
int policy_add_warnings(struct buf *b, const struct policy *p);

#endif
