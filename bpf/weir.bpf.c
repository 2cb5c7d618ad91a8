/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All programs as one unit: libbpf 1.1 can't link objects that call kernel functions. */
#include "bpf/kinds.bpf.c"
#include "bpf/names.bpf.c"

#include "bpf/control.bpf.c"

#include "bpf/attr.bpf.c"
#include "bpf/exec.bpf.c"
#include "bpf/file.bpf.c"
#include "bpf/guard.bpf.c"
#include "bpf/life.bpf.c"
#include "bpf/name.bpf.c"
#include "bpf/task.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
