/* SPDX-License-Identifier: MIT */
/* Every number of the ABI has a name, and every name leads back to its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "user/event/names.h"

static void round_trip(const char *(*name)(unsigned int), int (*find)(const char *),
		       unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		assert_string_not_equal(name(i), "unknown");
		assert_int_equal(find(name(i)), i);
	}
	assert_string_equal(name(count), "unknown");
	assert_string_equal(name(0xffffffff), "unknown");
	assert_int_equal(find("unknown"), -ENOENT);
	assert_int_equal(find(""), -ENOENT);
}

static void names_lead_back_to_their_numbers(void **state)
{
	(void)state;
	round_trip(names_kind, names_find_kind, WEIR_KIND_COUNT);
	round_trip(names_op, names_find_op, WEIR_OP_COUNT);
	round_trip(names_outcome, names_find_outcome, WEIR_OUTCOME_COUNT);
	round_trip(names_hook, names_find_hook, WEIR_HOOK_COUNT);
	round_trip(names_severity, names_find_severity, SEVERITY_COUNT);
}

static void names_are_those_of_reports(void **state)
{
	(void)state;
	assert_string_equal(names_kind(WEIR_KIND_FILE_OUTSIDE), "file-outside");
	assert_string_equal(names_op(WEIR_OP_RENAME), "rename");
	assert_string_equal(names_outcome(WEIR_OUTCOME_DENIED), "denied");
	assert_string_equal(names_hook(WEIR_HOOK_FILE_OPEN), "file_open");
	assert_string_equal(names_record(WEIR_RECORD_EXEC), "exec");
	assert_string_equal(names_record(0), "unknown");
}

static void every_hook_has_a_family(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < WEIR_HOOK_COUNT; i++)
		assert_string_not_equal(names_hook_family(i), "unknown");
	assert_string_equal(names_hook_family(WEIR_HOOK_PATH_RENAME), "name");
	assert_string_equal(names_hook_family(WEIR_HOOK_COUNT), "unknown");
}

static void severities_of_kinds(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < WEIR_KIND_COUNT; i++)
		assert_true(names_kind_severity(i) < SEVERITY_COUNT);
	assert_int_equal(names_kind_severity(WEIR_KIND_NONE), SEVERITY_INFORMATIONAL);
	assert_int_equal(names_kind_severity(WEIR_KIND_TAMPER), SEVERITY_ALERT);
	assert_int_equal(names_kind_severity(WEIR_KIND_ATTEMPT), SEVERITY_NOTICE);
	assert_int_equal(names_kind_severity(WEIR_KIND_COUNT), SEVERITY_ERROR);
	assert_true(SEVERITY_NOTICE < SEVERITY_ERROR && SEVERITY_ERROR < SEVERITY_ALERT);
}

static void rights_as_bits_and_words(void **state)
{
	char out[NAMES_RIGHTS_SIZE], small[8];

	(void)state;
	assert_int_equal(names_find_right("write"), WEIR_RIGHT_WRITE);
	assert_int_equal(names_find_right("control"), WEIR_RIGHT_CONTROL);
	assert_int_equal(names_find_right("fly"), -ENOENT);
	assert_string_equal(names_rights(0, out, sizeof(out)), "none");
	assert_string_equal(names_rights(WEIR_RIGHT_READ | WEIR_RIGHT_EXEC, out, sizeof(out)),
			    "read,exec");
	assert_string_equal(names_rights(1u << 31 | WEIR_RIGHT_LINK, out, sizeof(out)),
			    "link,0x80000000");
	names_rights(0xffffffff, out, sizeof(out));
	assert_true(strlen(out) + 1 < sizeof(out));
	assert_true(strlen(names_rights(0xffffffff, small, sizeof(small))) < sizeof(small));
}

static void flags_have_names(void **state)
{
	unsigned int named = 0;

	(void)state;
	for (unsigned int bit = 0; bit < 40; bit++)
		named += names_flag(bit) != NULL;
	assert_int_equal(named, 12);
	assert_string_equal(names_flag(4), "truncated");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_back_to_their_numbers),
		cmocka_unit_test(names_are_those_of_reports),
		cmocka_unit_test(every_hook_has_a_family),
		cmocka_unit_test(severities_of_kinds),
		cmocka_unit_test(rights_as_bits_and_words),
		cmocka_unit_test(flags_have_names),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
