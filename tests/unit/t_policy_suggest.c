/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/cleanup.h"
#include "user/policy/suggest.h"

#define WRITE WEIR_RIGHT_WRITE
#define CREATE WEIR_RIGHT_CREATE
#define DELETE WEIR_RIGHT_DELETE
#define EXEC WEIR_RIGHT_EXEC

static const struct policy_env env = { "/lab/ws", "/lab/home", "/lab/tmp" };

static void expect(const struct policy_want *wants, size_t count, const char *want)
{
	static const char head[] = "apiVersion: weir/v1\n"
				   "kind: CapabilitySet\n"
				   "metadata: {name: t, owners: [a]}\n";
	cleanup_buf struct buf b = { 0 }, text = { 0 };
	struct policy *p = NULL;
	struct weir_err e = { 0 };

	assert_int_equal(policy_suggest(wants, count, &env, &b), 0);
	assert_string_equal(buf_str(&b), want);
	/* what is proposed must be a policy */
	buf_addf(&text, "%s%s", head, buf_str(&b));
	if (count && strstr(want, "- path") &&
	    policy_load("p.yaml", text.data, text.len, &p, &e) < 0)
		fail_msg("%s\n%s", e.text, text.data);
	policy_free(p);
}

#define EXPECT(wants, text) expect(wants, ARRAY_SIZE(wants), text)

static void t_own_places(void **state)
{
	static const struct policy_want wants[] = {
		{ "/lab/ws/src/a.o", CREATE },
		{ "/lab/ws/src/a.o", WRITE },
		{ "/lab/ws/conftest", EXEC },
		{ "/lab/tmp/cc1.s", CREATE | DELETE },
		{ "/lab/ws/.git/index.lock", CREATE },
		{ "/usr/bin/gcc", EXEC },
		{ "/usr/lib/gcc/cc1", EXEC },
		{ "/bin/sh", EXEC },
		{ "/nothing/missing", 0 },
	};

	(void)state;
	EXPECT(wants, "files:\n"
		      "  - path: /bin\n"
		      "    allow: [exec]\n"
		      "  - path: ${TMPDIR}\n"
		      "    allow: [write]\n"
		      "  - path: ${WORKSPACE}\n"
		      "    allow: [write, exec]\n"
		      "  - path: /usr\n"
		      "    allow: [exec]\n");
	expect(NULL, 0, "");
}

static void t_outside(void **state)
{
	static const struct policy_want wants[] = {
		/* a new name: its directory */
		{ "/var/cache/x/new", CREATE },
		/* a tree that the run made itself: the directory it was made in */
		{ "/srv/app/a", CREATE },
		{ "/srv/app/a/b", CREATE },
		{ "/srv/app/a/b/f", CREATE | WRITE },
		/* one file: itself; three: their directory */
		{ "/data/one", WRITE },
		{ "/data/many/1", WRITE },
		{ "/data/many/2", WRITE },
		{ "/data/many/3", WEIR_RIGHT_ATTR },
		/* too broad: alone */
		{ "/lab/home/.bashrc", CREATE },
		{ "/etc/x", CREATE },
		/* a secret */
		{ "/lab/home/.npmrc", WEIR_RIGHT_READ },
		/* directories like a sibling's name */
		{ "/lab/ws-evil/f", CREATE },
	};

	(void)state;
	EXPECT(wants, "files:\n"
		      "  - path: /data/many\n"
		      "    allow: [write]\n"
		      "  - path: /data/one\n"
		      "    allow: [write]\n"
		      "  # must exist before the run; consider whether it should be changed\n"
		      "  - path: /etc/x\n"
		      "    allow: [write]\n"
		      "  # must exist before the run; consider whether it should be changed\n"
		      "  - path: ${HOME}/.bashrc\n"
		      "    allow: [write]\n"
		      "  - path: ${HOME}/.npmrc\n"
		      "    allow: [read]\n"
		      "  - path: /lab/ws-evil\n"
		      "    allow: [write]\n"
		      "  - path: /srv/app\n"
		      "    allow: [write]\n"
		      "  - path: /var/cache/x\n"
		      "    allow: [write]\n");
}

/* The workspace has its own rule, whatever happens around it. */
static void t_around_the_workspace(void **state)
{
	static const struct policy_want beside[] = {
		{ "/lab/out.txt", CREATE }, { "/lab/a", WRITE },     { "/lab/b", WRITE },
		{ "/lab/c", WRITE },	    { "/lab/ws/x", CREATE }, { "/lab/tmp/t", CREATE },
	};
	static const struct policy_want itself[] = {
		{ "/lab/ws", CREATE | DELETE },
		{ "/lab/ws.old", CREATE },
	};
	static const struct policy_want programs[] = {
		{ "/usr/bin/gcc", EXEC },
		{ "/usr/src/ws/conftest", EXEC },
		{ "/usr/src/ws/x", WRITE },
		{ "/usr/src/other/x", WRITE },
	};
	static const struct policy_env in_usr = { "/usr/src/ws", "/home/u", "/tmp/t" };
	cleanup_buf struct buf b = { 0 };

	(void)state;
	EXPECT(beside, "files:\n"
		       "  - path: /lab/a\n"
		       "    allow: [write]\n"
		       "  - path: /lab/b\n"
		       "    allow: [write]\n"
		       "  - path: /lab/c\n"
		       "    allow: [write]\n"
		       "  # must exist before the run; consider whether it should be changed\n"
		       "  - path: /lab/out.txt\n"
		       "    allow: [write]\n"
		       "  - path: ${TMPDIR}\n"
		       "    allow: [write]\n"
		       "  - path: ${WORKSPACE}\n"
		       "    allow: [write]\n");
	EXPECT(itself, "files:\n"
		       "  - path: ${WORKSPACE}\n"
		       "    allow: [write]\n"
		       "  # must exist before the run; consider whether it should be changed\n"
		       "  - path: /lab/ws.old\n"
		       "    allow: [write]\n");
	assert_int_equal(policy_suggest(programs, 1, &in_usr, &b), 0);
	assert_int_equal(policy_suggest(programs, 2, &in_usr, &b), 0);
	assert_string_equal(buf_str(&b), "files:\n"
					 "  - path: /usr\n"
					 "    allow: [exec]\n"
					 "files:\n"
					 "  - path: /usr\n"
					 "    allow: [exec]\n"
					 "  - path: ${WORKSPACE}\n"
					 "    allow: [exec]\n");
	buf_done(&b);
	assert_int_equal(policy_suggest(programs, 4, &in_usr, &b), 0);
	assert_string_equal(buf_str(&b), "files:\n"
					 "  - path: /usr\n"
					 "    allow: [exec]\n"
					 "  - path: /usr/src/other/x\n"
					 "    allow: [write]\n"
					 "  - path: ${WORKSPACE}\n"
					 "    allow: [write, exec]\n");
}

static void t_control(void **state)
{
	static const struct policy_want wants[] = {
		{ "/lab/ws/.github/workflows/ci.yml", WEIR_RIGHT_CONTROL },
		{ "/lab/ws/x", CREATE },
	};

	(void)state;
	EXPECT(wants, "files:\n"
		      "  - path: ${WORKSPACE}\n"
		      "    allow: [write]\n"
		      "  # must exist before the run; consider whether it should be changed\n"
		      "  - path: ${WORKSPACE}/.github/workflows/ci.yml\n"
		      "    allow: [write]\n");
}

static void t_hostile_names(void **state)
{
	static const struct policy_want wants[] = {
		{ "/d/a b", WRITE },
		{ "/d/q\"\\\n\033", WRITE },
		{ "/e/bidi\xe2\x80\xae", WRITE },
		{ "/f/\xff", WRITE },
		{ "/g/*.c", WRITE },
		{ "/h/${HOME}/x", CREATE },
		{ "/etc/\xff", WRITE },
		{ "/caf\xc3\xa9/x", WRITE },
	};

	(void)state;
	EXPECT(wants, "files:\n"
		      "  - path: \"/caf\xc3\xa9/x\"\n"
		      "    allow: [write]\n"
		      "  - path: \"/d/a b\"\n"
		      "    allow: [write]\n"
		      "  - path: \"/d/q\\\"\\\\\\u000a\\u001b\"\n"
		      "    allow: [write]\n"
		      "  - path: \"/e/bidi\\u202e\"\n"
		      "    allow: [write]\n"
		      "  # /etc/\\xff: a policy can't spell this name; grant its directory\n"
		      "  - path: /f\n"
		      "    allow: [write]\n"
		      "  - path: /g\n"
		      "    allow: [write]\n"
		      "  - path: /h\n"
		      "    allow: [write]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_own_places),		  cmocka_unit_test(t_outside),
		cmocka_unit_test(t_around_the_workspace), cmocka_unit_test(t_control),
		cmocka_unit_test(t_hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
