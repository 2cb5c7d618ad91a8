/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fixed-width types for both targets of the ABI: the BPF programs (which take
 * them from vmlinux.h) and user space. Records hold only these types, and each
 * size and offset that matters is asserted where the record is defined.
 */
#ifndef WEIR_ABI_TYPES_H
#define WEIR_ABI_TYPES_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define WEIR_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), "ABI: size of " #type)
#define WEIR_ASSERT_OFFSET(type, field, offset) \
	_Static_assert(__builtin_offsetof(type, field) == (offset), \
		       "ABI: offset of " #type "." #field)

#endif
