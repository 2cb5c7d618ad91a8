/* SPDX-License-Identifier: MIT */
/* The table of control names, as the programs look names up (bpf/abi/control.h). */
#ifndef WEIR_KERN_CONTROL_H
#define WEIR_KERN_CONTROL_H

#include "user/base/err.h"

/* Fills the map. Returns: 0 or a negative errno. Borrows: control_fd. */
int kern_fill_control(int control_fd, struct weir_err *e);

#endif
