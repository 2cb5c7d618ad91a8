/* SPDX-License-Identifier: MIT */
/* Texts of exceptions, what their ids are, and where they hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/event/names.h"
#include "writeback/exception.h"
#include "writeback/runfindings.h"

#define H "00112233445566778899aabbccddeeff"
#define SHA "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define HEAD \
	"weir-exception/1\ndecision accept\nrepository 00\nscope run 2026-a\nrole policy-owner\n" \
	"reason because\ncontrol none \\x0aof it\nowner pat\ncreated 2026-05-28T20:26:40Z\n" \
	"expires 2026-05-29T20:26:40Z\n"
#define GOOD HEAD "finding file-outside-" H "\nfinding network-" H "\n"
#define REVOKE \
	"weir-exception/1\ndecision revoke\nrepository 00\nscope repository\nrole " \
	"security\nreason r\n" \
	"control c\nowner o\ncreated 2026-05-28T20:26:40Z\nexpires " \
	"2026-05-29T20:26:40Z\nrevokes " SHA "\n"

static int parse(const char *text, struct exception *x)
{
	return exception_parse(text, strlen(text), x);
}

static void test_parse(void **state)
{
	cleanup_exception struct exception x = { 0 };
	cleanup_exception struct exception r = { 0 };
	cleanup_buf struct buf text = { 0 };

	(void)state;
	assert_int_equal(parse(GOOD, &x), 0);
	assert_int_equal(x.findings.count, 2);
	assert_int_equal(x.role, ROLE_POLICY_OWNER);
	assert_string_equal(x.control, "none \nof it");
	assert_int_equal(exception_format(&x, &text), 0);
	assert_string_equal(text.data, GOOD);
	assert_int_equal(parse(REVOKE, &r), 0);
	assert_true(r.revoke);
	assert_string_equal(r.revokes, SHA);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",
		HEAD,
		HEAD "finding file-outside-*\n",
		HEAD "finding *\n",
		HEAD "finding file-outside-" H "\nfinding file-outside-" H "\n",
		HEAD "finding network-" H "\nfinding file-outside-" H "\n",
		HEAD "finding nothing-" H "\n",
		HEAD "finding file-outside-" H "0\n",
		HEAD "finding file-outside-" H,
		GOOD "revokes " SHA "\n",
		GOOD "more x\n",
		GOOD "\n",
		REVOKE "finding file-outside-" H "\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct exception x;

		assert_int_equal(parse(bad[i], &x), -EBADMSG);
	}
	/* each line is needed */
	for (const char *at = GOOD; *at; at = strchr(at, '\n') + 1) {
		cleanup_buf struct buf text = { 0 };
		struct exception x;
		const char *next = strchr(at, '\n') + 1;

		buf_add(&text, GOOD, (size_t)(at - GOOD));
		buf_addf(&text, "%s", next);
		if (strncmp(at, "finding", 7) == 0)
			continue; /* of those one is enough */
		assert_int_equal(parse(buf_str(&text), &x), -EBADMSG);
	}
}

static void test_scopes(void **state)
{
	struct exception x = { 0 };
	char run[] = "run 2026-a", ref[] = "ref refs/heads/main", all[] = "repository";

	(void)state;
	x.scope = run;
	assert_false(exception_is_wide(&x));
	assert_true(exception_holds(&x, "2026-a", "refs/heads/main"));
	assert_false(exception_holds(&x, "2026-ab", "refs/heads/main"));
	x.scope = ref;
	assert_true(exception_is_wide(&x));
	assert_true(exception_holds(&x, "2026-b", "refs/heads/main"));
	assert_false(exception_holds(&x, "2026-b", "refs/heads/mai"));
	x.scope = all;
	assert_true(exception_is_wide(&x));
	assert_true(exception_holds(&x, "", ""));
}

static void test_roles(void **state)
{
	char id[128];

	(void)state;
	assert_int_equal(finding_role("file-outside-" H), ROLE_POLICY_OWNER);
	assert_int_equal(finding_role("credential-read-" H), ROLE_SECURITY);
	assert_int_equal(finding_role("module-" H), ROLE_PLATFORM_OWNER);
	assert_int_equal(finding_role("tamper-" H), ROLE_COUNT);
	assert_int_equal(finding_role("name-dotgit-" H), ROLE_COUNT);
	assert_int_equal(finding_role("attributes-filter-" H), ROLE_SECURITY);
	assert_int_equal(finding_role("none-" H), -EINVAL);
	assert_int_equal(finding_role(""), -EINVAL);
	assert_int_equal(finding_role("-" H), -EINVAL);
	/* no name stands for two classes */
	for (unsigned int kind = 1; kind < WEIR_KIND_COUNT; kind++)
		for (unsigned int i = 0; i < HAZARD_COUNT; i++)
			assert_string_not_equal(names_kind(kind), hazard_name((enum hazard_kind)i));
	for (unsigned int kind = 1; kind < WEIR_KIND_COUNT; kind++) {
		snprintf(id, sizeof(id), "%s-%s", names_kind(kind), H);
		assert_int_equal(finding_role(id), run_kind_role(kind));
		assert_true(strlen(id) < HAZARD_ID_MAX);
		assert_true(run_kind_role(kind) != ROLE_APPROVER &&
			    run_kind_role(kind) != ROLE_PRODUCER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_roles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
