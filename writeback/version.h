/* SPDX-License-Identifier: MIT */
/* Version of the gate, as it stands in promotion digests. */
#ifndef WEIR_WRITEBACK_VERSION_H
#define WEIR_WRITEBACK_VERSION_H

#include "user/base/version.h"

#define GATE_VERSION "weir-gate " WEIR_VERSION

#endif
