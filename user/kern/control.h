/* SPDX-License-Identifier: MIT */
/* The table of control names, as the programs look names up (bpf/abi/control.h). */
#ifndef WEIR_KERN_CONTROL_H
#define WEIR_KERN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/err.h"

/* Hash of a name as the programs make it (weir_hash_word in bpf/abi/control.h), from seed on;
 * fold: as in lower case. */
uint64_t kern_name_hash(const char *name, uint64_t seed, bool fold);

/* Fills the map. Returns: 0 or a negative errno. Borrows: control_fd. */
int kern_fill_control(int control_fd, struct weir_err *e);

#endif
