/* SPDX-License-Identifier: MIT */
/* Which paths of the workspace are explained by what members did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "bpf/abi/policy.h"
#include "tests/unit/records.h"
#include "user/event/mutation.h"

static int set_up(void **state)
{
	*state = mutations_new(REC_DEV, "/lab/ws");
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	mutations_free(*state);
	return 0;
}

static void add(struct mutations *m, struct weir_opev op, const char *first, const char *second)
{
	struct event event;
	struct rec r;

	if (second)
		op.second.dev = REC_DEV;
	rec_op(&r, op, first, second);
	event = rec_event(&r);
	assert_int_equal(mutations_add(m, &event), 0);
}

static struct weir_opev plain(unsigned int op)
{
	return rec_plain(1, 10, op, 0);
}

static struct weir_opev directory(unsigned int op)
{
	struct weir_opev ev = plain(op);

	ev.first.mode = S_IFDIR | 0755;
	ev.first.nlink = 2;
	return ev;
}

static bool explained(const struct mutations *m, const char *path)
{
	return mutations_explain(m, path, 0, NULL);
}

static void changes_of_one_object(void **state)
{
	static const unsigned int ops[] = {
		WEIR_OP_WRITE,	     WEIR_OP_CREATE, WEIR_OP_MKDIR,  WEIR_OP_MKNOD,
		WEIR_OP_SYMLINK,     WEIR_OP_UNLINK, WEIR_OP_RMDIR,  WEIR_OP_TRUNCATE,
		WEIR_OP_CHMOD,	     WEIR_OP_CHOWN,  WEIR_OP_UTIMES, WEIR_OP_SETXATTR,
		WEIR_OP_REMOVEXATTR, WEIR_OP_SETACL,
	};
	struct mutations *m = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct mutation found;
		char path[64];

		snprintf(path, sizeof(path), "/lab/ws/d/f%zu", i);
		add(m, plain(ops[i]), path, NULL);
		assert_true(mutations_explain(m, path + 8, 0, &found));
		assert_int_equal(found.ops, 1u << ops[i]);
		assert_false(found.subtree);
		assert_true(mutation_op_changes(ops[i], 0));
	}
	assert_false(explained(m, "d"));
	assert_false(explained(m, "d/f"));
	assert_false(explained(m, "d/f1/x"));
	assert_false(explained(m, ""));
}

static void other_operations_change_nothing(void **state)
{
	static const unsigned int ops[] = { WEIR_OP_NONE,   WEIR_OP_READ,   WEIR_OP_TMPFILE,
					    WEIR_OP_EXEC,   WEIR_OP_SIGNAL, WEIR_OP_BPF,
					    WEIR_OP_PTRACE, WEIR_OP_SYSCTL };
	struct mutations *m = *state;
	struct weir_opev op;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		op = plain(ops[i]);
		op.want = WEIR_RIGHT_READ;
		add(m, op, "/lab/ws/a", NULL);
	}
	assert_false(explained(m, "a"));
	assert_false(mutation_op_changes(WEIR_OP_COUNT, UINT32_MAX));
}

static void rights_decide_for_maps_ioctls_and_received_files(void **state)
{
	static const unsigned int ops[] = { WEIR_OP_MMAP, WEIR_OP_IOCTL, WEIR_OP_RECEIVE };
	struct mutations *m = *state;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		assert_false(mutation_op_changes(ops[i], WEIR_RIGHT_READ | WEIR_RIGHT_EXEC));
		assert_true(mutation_op_changes(ops[i], WEIR_RIGHT_WRITE));
	}
	add(m, plain(WEIR_OP_RECEIVE), "/lab/ws/a", NULL);
	assert_true(explained(m, "a"));
}

static void only_what_passed_counts(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_WRITE);

	op.outcome = WEIR_OUTCOME_DENIED;
	add(m, op, "/lab/ws/a", NULL);
	op.outcome = WEIR_OUTCOME_REFUSED;
	add(m, op, "/lab/ws/a", NULL);
	assert_false(explained(m, "a"));
}

static void foreign_writes_explain_nothing(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_WRITE);

	op.flags = WEIR_EV_OUTSIDER;
	add(m, op, "/lab/ws/a", NULL);
	op.flags = WEIR_EV_CANARY;
	add(m, op, "/lab/ws/a", NULL);
	assert_false(explained(m, "a"));
}

static void names_outside_are_not_in_the_workspace(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_WRITE);

	add(m, op, "/lab/ws2/a", NULL);
	add(m, op, "/lab/w", NULL);
	add(m, op, "/a", NULL);
	op.first.dev = REC_DEV + 1;
	add(m, op, "/lab/ws/b", NULL);
	assert_int_equal(mutations_count(m), 0);
	add(m, directory(WEIR_OP_CHMOD), "/lab/ws", NULL);
	assert_true(explained(m, ""));
	assert_false(explained(m, "a"));
}

static void a_renamed_file_has_two_ends(void **state)
{
	struct mutations *m = *state;

	add(m, plain(WEIR_OP_RENAME), "/lab/ws/a", "/lab/ws/d/b");
	assert_true(explained(m, "a"));
	assert_true(explained(m, "d/b"));
	assert_false(explained(m, "d/b/x"));
	add(m, plain(WEIR_OP_RENAME), "/lab/out/x", "/lab/ws/in");
	add(m, plain(WEIR_OP_RENAME), "/lab/ws/gone", "/lab/out/x");
	assert_true(explained(m, "in"));
	assert_true(explained(m, "gone"));
	assert_int_equal(mutations_count(m), 4);
}

static void a_renamed_directory_takes_its_subtree_along(void **state)
{
	struct mutations *m = *state;
	struct mutation found;

	add(m, directory(WEIR_OP_RENAME), "/lab/ws/old", "/lab/ws/d/new");
	assert_true(mutations_explain(m, "old/x/y/z", 0, &found));
	assert_true(found.subtree);
	assert_int_equal(found.ops, 1u << WEIR_OP_RENAME);
	assert_true(explained(m, "d/new/q"));
	assert_false(explained(m, "older/x"));
	assert_false(explained(m, "d/x"));
	assert_false(explained(m, "d"));
}

static void an_exchange_moves_both(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_EXCHANGE);

	op.second.mode = S_IFDIR | 0755;
	add(m, op, "/lab/ws/file", "/lab/ws/dir");
	assert_true(explained(m, "dir/x"));
	assert_true(explained(m, "file/x"));
}

static void a_link_makes_its_new_name(void **state)
{
	struct mutations *m = *state;

	add(m, plain(WEIR_OP_LINK), "/lab/ws/a", "/lab/ws/b");
	assert_true(explained(m, "b"));
	assert_false(explained(m, "a"));
}

static void a_write_through_one_name_shows_under_the_others(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_WRITE);
	struct mutation found;

	op.first.nlink = 2;
	op.first.ino = 4711;
	add(m, op, "/lab/out/other", NULL);
	assert_false(explained(m, "a"));
	assert_true(mutations_explain(m, "a", 4711, &found));
	assert_int_equal(found.ops, 1u << WEIR_OP_WRITE);
	assert_false(mutations_explain(m, "a", 4712, NULL));
	assert_int_equal(mutations_count(m), 0);
}

static void incomplete_paths_explain_nothing(void **state)
{
	struct mutations *m = *state;
	struct weir_opev op = plain(WEIR_OP_WRITE);

	op.flags = WEIR_EV_TRUNCATED;
	add(m, op, "/lab/ws/a", NULL);
	op.flags = WEIR_EV_UNRESOLVED;
	add(m, op, "/lab/ws/a", NULL);
	assert_false(explained(m, "a"));
	assert_int_equal(mutations_unresolved(m), 2);
}

static void who_and_how_often(void **state)
{
	struct mutations *m = *state;
	struct mutation found;

	add(m, rec_plain(5, 10, WEIR_OP_CREATE, 0), "/lab/ws/a", NULL);
	add(m, rec_plain(6, 11, WEIR_OP_CHMOD, 0), "/lab/ws/a", NULL);
	add(m, rec_plain(9, 12, WEIR_OP_UNLINK, 0), "/lab/ws/a", NULL);
	assert_true(mutations_explain(m, "a", 0, &found));
	assert_int_equal(found.count, 3);
	assert_int_equal(found.first_tgid, 10);
	assert_int_equal(found.first_start_ns, 1000);
	assert_int_equal(found.last_tgid, 12);
	assert_int_equal(found.last_start_ns, 1200);
	assert_int_equal(found.first_seq, 5);
	assert_int_equal(found.last_seq, 9);
	assert_int_equal(found.ops,
			 1u << WEIR_OP_CREATE | 1u << WEIR_OP_CHMOD | 1u << WEIR_OP_UNLINK);
}

static int count_one(const char *path, const struct mutation *mutation, void *arg)
{
	assert_true(path[0] == 'f');
	assert_int_equal(mutation->count, 1);
	return ++*(int *)arg == 5000;
}

static void a_walk_sees_each_and_can_stop(void **state)
{
	struct mutations *m = *state;
	char path[64];
	int count = 0;

	for (int i = 0; i < 20000; i++) {
		snprintf(path, sizeof(path), "/lab/ws/f%d", i);
		add(m, plain(WEIR_OP_CREATE), path, NULL);
	}
	assert_int_equal(mutations_count(m), 20000);
	assert_int_equal(mutations_each(m, count_one, &count), 1);
	assert_int_equal(count, 5000);
	count = -100000;
	assert_int_equal(mutations_each(m, count_one, &count), 0);
	assert_int_equal(count, -80000);
}

static void a_workspace_can_be_a_whole_file_system(void **state)
{
	struct mutations *m = mutations_new(REC_DEV, "/");

	(void)state;
	add(m, plain(WEIR_OP_CREATE), "/src/a", NULL);
	assert_true(explained(m, "src/a"));
	mutations_free(m);
}

static void past_its_bound_the_set_explains_nothing(void **state)
{
	struct mutations *m = *state;
	static char path[WEIR_PATH_MAX];
	unsigned int i = 0;

	add(m, plain(WEIR_OP_CREATE), "/lab/ws/a", NULL);
	assert_true(explained(m, "a"));
	for (size_t k = 0; k < sizeof(path) - 1; k++)
		path[k] = k % 200 == 7 ? '/' : 'd';
	memcpy(path, "/lab/ws", 7);
	while (!mutations_overflowed(m) && i < 20000) {
		snprintf(path + 8, 8, "%07u", i++);
		path[15] = 'x';
		add(m, plain(WEIR_OP_CREATE), path, NULL);
	}
	assert_true(mutations_overflowed(m));
	assert_true(i > MUTATION_BYTES / WEIR_PATH_MAX);
	assert_false(explained(m, "a"));
}

static void other_records_are_passed_over(void **state)
{
	struct mutations *m = *state;
	struct event event;
	struct rec r;

	rec_exec(&r, 1, 10, "/lab/ws/a", "a", 2);
	event = rec_event(&r);
	assert_int_equal(mutations_add(m, &event), 0);
	assert_int_equal(mutations_count(m), 0);
}

#define SET_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SET_TEST(changes_of_one_object),
		SET_TEST(other_operations_change_nothing),
		SET_TEST(rights_decide_for_maps_ioctls_and_received_files),
		SET_TEST(only_what_passed_counts),
		SET_TEST(foreign_writes_explain_nothing),
		SET_TEST(names_outside_are_not_in_the_workspace),
		SET_TEST(a_renamed_file_has_two_ends),
		SET_TEST(a_renamed_directory_takes_its_subtree_along),
		SET_TEST(an_exchange_moves_both),
		SET_TEST(a_link_makes_its_new_name),
		SET_TEST(a_write_through_one_name_shows_under_the_others),
		SET_TEST(incomplete_paths_explain_nothing),
		SET_TEST(who_and_how_often),
		SET_TEST(a_walk_sees_each_and_can_stop),
		SET_TEST(a_workspace_can_be_a_whole_file_system),
		SET_TEST(past_its_bound_the_set_explains_nothing),
		SET_TEST(other_records_are_passed_over),
	};

	return cmocka_run_group_tests_name("mutation", tests, NULL, NULL);
}
