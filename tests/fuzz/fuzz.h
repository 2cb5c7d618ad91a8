/* SPDX-License-Identifier: MIT */
/* What each tests/fuzz/fuzz_*.c defines: libFuzzer's entry point (llvm.org/docs/LibFuzzer). */
#ifndef WEIR_TESTS_FUZZ_H
#define WEIR_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Tries one input; aborts when an invariant is broken. Returns: 0. Borrows: data. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_REQUIRE(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

#endif
