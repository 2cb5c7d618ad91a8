/* SPDX-License-Identifier: MIT */
/*
 * What a policy says about networks and other processes: `network`, `ipc`, `ignore`.
 *
 * A network is an address and a number of bits, 192.0.2.0/24 or 2001:db8::/32; an address alone
 * is one host. IPv4 is the same through sockets of either family; ::/0 is all of IPv6 only.
 */
#ifndef WEIR_POLICY_REACH_H
#define WEIR_POLICY_REACH_H

#include "user/policy/events.h"
#include "user/policy/policy.h"

/* Reads a list of ports and ranges of ports. Borrows: l, f. Returns: 0, -EINVAL with the place,
 * -ENOMEM. */
int policy_read_ports(struct policy_loader *l, const struct policy_field *f,
		      struct policy_ports *ports);

/* Checks what can be checked without the host: networks, the same rule twice, paths and names of
 * sockets. Returns: 0, -EINVAL with the place, -ENOMEM. Borrows: p. */
int policy_check_reach(const struct policy *p, struct weir_err *e);

/* WEIR_POWER_* that network and ipc grant without an address or a name. Borrows: p. */
uint64_t policy_reach_powers(const struct policy *p);

/* Appends the lines of a policy that grant the powers of network and ipc that are in powers, but
 * those that only a rule can grant. Returns: as buf_add. */
int policy_add_reach_powers(struct buf *b, uint64_t powers);

/* Address and mask of a network's text, and WEIR_NET_V4 in use. Borrows: text. Returns: NULL, or
 * what is wrong with it; static. */
const char *policy_parse_cidr(const char *text, struct weir_netrule *ret_rule);

#endif
