/* SPDX-License-Identifier: MIT */
/*
 * Texts that people sign, from an enemy: statements about promotions and exceptions. What is read
 * is written back byte for byte.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/approval.h"
#include "writeback/exception.h"
#include "writeback/runfindings.h"

static void try_exception(const char *text, size_t len)
{
	struct exception x;
	struct buf again = { 0 };

	if (exception_parse(text, len, &x) < 0) {
		FUZZ_REQUIRE(!x.repository && x.findings.count == 0);
		return;
	}
	FUZZ_REQUIRE(exception_format(&x, &again) == 0 && again.len == len &&
		     memcmp(again.data, text, len) == 0);
	FUZZ_REQUIRE(x.revoke == (x.findings.count == 0) && x.expires > x.created);
	for (size_t i = 0; i < x.findings.count; i++)
		FUZZ_REQUIRE(finding_role(x.findings.items[i]) >= 0);
	buf_done(&again);
	exception_done(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct approval a;
	struct buf again = { 0 };

	try_exception((const char *)data, size);
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
