/* SPDX-License-Identifier: MIT */
/* Statements about promotions from an enemy: what is read is written back byte for byte. */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/approval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct approval a;
	struct buf again = { 0 };

	if (approval_parse((const char *)data, size, &a) < 0) {
		FUZZ_REQUIRE(!a.promotion && a.acknowledged.count == 0);
		return 0;
	}
	FUZZ_REQUIRE(approval_format(&a, &again) == 0 && again.len == size &&
		     memcmp(again.data, data, size) == 0);
	FUZZ_REQUIRE(a.role < ROLE_COUNT && (a.until != 0) == (a.decision == APPROVAL_APPROVE));
	buf_done(&again);
	approval_done(&a);
	return 0;
}
