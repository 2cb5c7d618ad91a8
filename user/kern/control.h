/* SPDX-License-Identifier: MIT */
/* The table of control names, as the programs look names up (bpf/abi/control.h). */
#ifndef WEIR_KERN_CONTROL_H
#define WEIR_KERN_CONTROL_H

#include <stdint.h>

#include "user/base/err.h"

/* Hash of a name of a rule as the programs make it (weir_hash_secret in bpf/abi/control.h). */
uint64_t kern_name_hash(const char *name, uint64_t seed);

/* Fills the map. Returns: 0 or a negative errno. Borrows: control_fd. */
int kern_fill_control(int control_fd, struct weir_err *e);

#endif
