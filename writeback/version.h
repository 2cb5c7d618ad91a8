/* SPDX-License-Identifier: MIT */
/* Version of the gate, as it stands in promotion digests. */
#ifndef WEIR_WRITEBACK_VERSION_H
#define WEIR_WRITEBACK_VERSION_H

#ifndef WEIR_VERSION
#define WEIR_VERSION "0.1"
#endif
#define GATE_VERSION "weir-gate " WEIR_VERSION

#endif
