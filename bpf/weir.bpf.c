/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All programs as one unit: libbpf 1.1 can't link objects that call kernel functions. With
 * WEIR_STUBS, the steps that almost all of them take are programs of their own; they come last,
 * because they are loaded as parts of the others. */
#include "bpf/ends.bpf.c"
#include "bpf/kinds.bpf.c"
#include "bpf/names.bpf.c"

#include "bpf/control.bpf.c"

#include "bpf/attr.bpf.c"
#include "bpf/cred.bpf.c"
#include "bpf/exec.bpf.c"
#include "bpf/file.bpf.c"
#include "bpf/guard.bpf.c"
#include "bpf/ipc.bpf.c"
#include "bpf/kernel.bpf.c"
#include "bpf/life.bpf.c"
#include "bpf/name.bpf.c"
#include "bpf/net.bpf.c"
#include "bpf/process.bpf.c"
#include "bpf/space.bpf.c"
#include "bpf/task.bpf.c"

#include "bpf/attempt.bpf.c"

#ifdef WEIR_STUBS
#include "bpf/stubs.bpf.c"

#include "bpf/steps.bpf.c"
#endif

#ifdef WEIR_SYSCALLS
#include "bpf/resolve.bpf.c"
#include "bpf/systask.bpf.c"

#include "bpf/sys.bpf.c"
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
