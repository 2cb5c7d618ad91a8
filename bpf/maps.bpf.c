/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Definitions of the maps (bpf/lib/maps.bpf.h says what each is for) and the licence. */
#define WEIR_DEFINE_MAPS
#include "bpf/lib/maps.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
