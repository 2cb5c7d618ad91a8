/* SPDX-License-Identifier: MIT */
/* Who did it: chains of processes, with bounded memory and pids used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/records.h"
#include "user/event/lineage.h"

/* Of the address sanitizer, which Debian ships without its header. Units: bytes */
extern size_t __sanitizer_get_current_allocated_bytes(void);

static uint64_t seq;

static struct lineage_proc *add(struct lineage *l, const struct rec *r)
{
	struct event event = rec_event(r);
	struct lineage_proc *proc = NULL;

	assert_int_equal(lineage_add(l, &event, &proc), 0);
	return proc;
}

static struct lineage_proc *exec_as(struct lineage *l, uint32_t tgid, const char *path)
{
	struct rec r;

	rec_exec(&r, ++seq, tgid, path, path, strlen(path) + 1);
	return add(l, &r);
}

static struct lineage_proc *do_fork(struct lineage *l, uint32_t tgid, uint32_t child)
{
	struct rec r;

	rec_fork(&r, ++seq, tgid, child);
	return add(l, &r);
}

static void do_exit(struct lineage *l, uint32_t tgid)
{
	struct rec r;

	rec_exit(&r, ++seq, tgid);
	add(l, &r);
}

static struct lineage_proc *do_write(struct lineage *l, uint32_t tgid)
{
	struct rec r;

	rec_op(&r, rec_plain(++seq, tgid, WEIR_OP_WRITE, 0), "/x", NULL);
	return add(l, &r);
}

static void expect_level(const struct lineage_actor *actor, unsigned int depth, uint32_t pid,
			 const char *exe)
{
	struct lineage_level level;

	assert_int_equal(lineage_level(actor, depth, &level), 0);
	assert_int_equal(level.pid, pid);
	assert_string_equal(level.exe, exe);
}

static void a_chain_reaches_the_first_process(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;
	struct lineage_level level;

	(void)state;
	exec_as(l, 10, "/usr/bin/make");
	do_fork(l, 10, 11);
	exec_as(l, 11, "/bin/sh");
	do_fork(l, 11, 12);
	exec_as(l, 12, "/bin/rm");
	actor = lineage_hold(l, do_write(l, 12));
	expect_level(actor, 0, 12, "8:1:/bin/rm");
	expect_level(actor, 1, 11, "8:1:/bin/sh");
	expect_level(actor, 2, 10, "8:1:/usr/bin/make");
	assert_int_equal(lineage_level(actor, 3, &level), -ENOENT);
	assert_int_equal(lineage_level(actor, 0, &level), 0);
	assert_int_equal(level.ns_pid, 12);
	assert_int_equal(level.uid, 1000);
	assert_memory_equal(level.args, "/bin/rm", 8);
	lineage_drop(l, actor);
}

static void host_paths_come_from_the_mounts(void **state)
{
	cleanup_mounts struct mounts *m = mounts_new();
	cleanup_lineage struct lineage *l = lineage_new(m);
	struct lineage_actor *actor;

	(void)state;
	assert_int_equal(mounts_add(m, REC_DEV, "/", "/"), 0);
	actor = lineage_hold(l, exec_as(l, 10, "/usr/bin/make"));
	expect_level(actor, 0, 10, "/usr/bin/make");
	lineage_drop(l, actor);
}

static void an_actor_stays_what_it_was(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;

	(void)state;
	exec_as(l, 10, "/bin/sh");
	do_fork(l, 10, 11);
	exec_as(l, 11, "/bin/first");
	actor = lineage_hold(l, do_write(l, 11));
	exec_as(l, 11, "/bin/second");
	exec_as(l, 10, "/bin/other");
	expect_level(actor, 0, 11, "8:1:/bin/first");
	expect_level(actor, 1, 10, "8:1:/bin/sh"); /* what it ran when it forked */
	lineage_drop(l, actor);
}

static void a_pid_used_again_is_another_process(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct weir_opev op = rec_plain(100, 11, WEIR_OP_WRITE, 0);
	struct lineage_actor *old, *new;
	struct rec r;

	(void)state;
	exec_as(l, 10, "/bin/sh");
	do_fork(l, 10, 11);
	exec_as(l, 11, "/bin/old");
	old = lineage_hold(l, do_write(l, 11));
	do_exit(l, 11);
	rec_fork(&r, 50, 10, 11);
	memcpy(r.bytes + offsetof(struct weir_forkev, child_start_ns), &(uint64_t){ 9999 }, 8);
	add(l, &r);
	op.head.start_ns = 9999;
	rec_op(&r, op, "/x", NULL);
	new = lineage_hold(l, add(l, &r));
	expect_level(old, 0, 11, "8:1:/bin/old");
	expect_level(new, 0, 11, "8:1:/bin/sh");
	lineage_drop(l, old);
	lineage_drop(l, new);
}

static void threads_are_folded_in(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct weir_opev op = rec_plain(100, 10, WEIR_OP_WRITE, 0);
	struct lineage_actor *actor;
	struct rec r;

	(void)state;
	exec_as(l, 10, "/bin/node");
	rec_fork(&r, 2, 10, 10);
	memcpy(r.bytes + offsetof(struct weir_forkev, child_pid), &(uint32_t){ 77 }, 4);
	add(l, &r);
	op.head.pid = 77;
	rec_op(&r, op, "/x", NULL);
	actor = lineage_hold(l, add(l, &r));
	expect_level(actor, 0, 10, "8:1:/bin/node");
	assert_int_equal(lineage_count(l), 1);
	lineage_drop(l, actor);
}

/* D08: what is kept after n short processes does not grow with n. */
static void short_processes_leave_nothing(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	size_t at_half = 0, memory_at_half = 0;

	(void)state;
	exec_as(l, 1, "/usr/bin/xargs");
	for (uint32_t i = 0; i < 20000; i++) {
		do_fork(l, 1, 100 + i);
		exec_as(l, 100 + i, "/bin/true");
		do_write(l, 100 + i);
		do_exit(l, 100 + i);
		if (i == 10000) {
			at_half = lineage_count(l);
			memory_at_half = __sanitizer_get_current_allocated_bytes();
		}
	}
	assert_true(lineage_count(l) < 100);
	assert_int_equal(lineage_count(l), at_half);
	assert_true(memory_at_half > 0);
	assert_true(__sanitizer_get_current_allocated_bytes() <= memory_at_half + 4096);
}

static void a_chain_of_dying_parents_is_cut_and_counted(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;
	struct lineage_level level;
	unsigned int depth = 0, total = 0;

	(void)state;
	exec_as(l, 1, "/bin/daemon");
	for (uint32_t i = 1; i < 20000; i++) {
		do_fork(l, i, i + 1);
		do_exit(l, i);
	}
	assert_true(lineage_count(l) < 2 * LINEAGE_DEPTH + 100);
	actor = lineage_hold(l, do_write(l, 20000));
	for (; lineage_level(actor, depth, &level) == 0; depth++)
		total += 1 + level.elided;
	assert_int_equal(total, 20000);
	assert_int_equal(level.pid, 1);
	assert_true(depth < 2 * LINEAGE_DEPTH + 100);
	assert_string_equal(level.exe, "8:1:/bin/daemon");
	lineage_drop(l, actor);
}

static void a_dead_parent_stays_while_a_child_lives(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	do_fork(l, 1, 2);
	exec_as(l, 2, "/bin/parent");
	do_fork(l, 2, 3);
	do_exit(l, 2);
	for (uint32_t i = 100; i < 300; i++) {
		do_fork(l, 1, i);
		do_exit(l, i);
	}
	actor = lineage_hold(l, do_write(l, 3));
	expect_level(actor, 1, 2, "8:1:/bin/parent");
	do_exit(l, 3);
	for (uint32_t i = 300; i < 500; i++) {
		do_fork(l, 1, i);
		do_exit(l, i);
	}
	expect_level(actor, 1, 2, "8:1:/bin/parent");
	lineage_drop(l, actor);
	assert_true(lineage_count(l) <= 65); /* the first one, and those that linger */
}

static void records_after_an_exit_still_have_their_actor(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	do_fork(l, 1, 2);
	exec_as(l, 2, "/bin/late");
	do_exit(l, 2);
	do_exit(l, 2); /* two threads can both be last */
	actor = lineage_hold(l, do_write(l, 2));
	expect_level(actor, 0, 2, "8:1:/bin/late");
	lineage_drop(l, actor);
}

static void unknown_processes_hang_below_their_parent(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct weir_opev op = rec_plain(9, 50, WEIR_OP_WRITE, 0);
	struct lineage_actor *actor;
	struct rec r;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	op.head.ppid = 1;
	rec_op(&r, op, "/x", NULL);
	actor = lineage_hold(l, add(l, &r));
	expect_level(actor, 1, 1, "8:1:/bin/sh");
	lineage_drop(l, actor);
}

static void outsiders_are_not_taken_in(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct weir_opev op = rec_plain(9, 50, WEIR_OP_WRITE, WEIR_KIND_GATE_RACE);
	struct rec r;

	(void)state;
	op.flags |= WEIR_EV_OUTSIDER;
	rec_op(&r, op, "/x", NULL);
	assert_null(add(l, &r));
	assert_int_equal(lineage_count(l), 0);
}

/* A forged trace where a process forks its own ancestor. */
static void no_process_becomes_its_own_ancestor(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;
	struct lineage_level level;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	do_fork(l, 1, 2);
	do_fork(l, 2, 3);
	do_fork(l, 3, 1);
	actor = lineage_hold(l, do_write(l, 3));
	assert_int_equal(lineage_level(actor, 2, &level), 0);
	assert_int_equal(lineage_level(actor, 3, &level), -ENOENT);
	lineage_drop(l, actor);
}

static void above_the_bound_events_lack_their_actor(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_proc *proc;
	struct event event;
	struct rec r;

	(void)state;
	for (uint32_t i = 1; i <= LINEAGE_MAX; i++)
		do_write(l, i);
	rec_op(&r, rec_plain(1, LINEAGE_MAX + 1, WEIR_OP_WRITE, 0), "/x", NULL);
	event = rec_event(&r);
	assert_int_equal(lineage_add(l, &event, &proc), -E2BIG);
	assert_null(proc);
	assert_non_null(do_write(l, 7));
}

static void json_of_an_actor(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;
	struct rec r;
	json_t *json;
	char *text;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	do_fork(l, 1, 2);
	rec_exec(&r, ++seq, 2, "/bin/e\033x", "e\0a\nb\0\0c", 8);
	memcpy(r.bytes + offsetof(struct weir_execev, args_total), &(uint32_t){ 5000 }, 4);
	actor = lineage_hold(l, add(l, &r));
	json = lineage_actor_json(actor);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"ancestors\":[{\"args\":[\"/bin/sh\"],\"exe\":\"8:1:/bin/sh\","
				  "\"pid\":1}],\"args\":[\"e\",\"a\\\\x0ab\",\"\",\"c\"],"
				  "\"args_cut\":true,\"exe\":\"8:1:/bin/e\\\\x1bx\",\"ns_pid\":2,"
				  "\"pid\":2,\"uid\":1000}");
	free(text);
	json_decref(json);
	lineage_drop(l, actor);
	json = lineage_actor_json(NULL);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"ancestors\":[],\"args\":[],\"exe\":\"\",\"ns_pid\":0,"
				  "\"pid\":0,\"uid\":0}");
	free(text);
	json_decref(json);
}

static void json_of_a_long_chain_is_short(void **state)
{
	cleanup_lineage struct lineage *l = lineage_new(NULL);
	struct lineage_actor *actor;
	json_t *json, *list, *entry;
	size_t total = 0, i;

	(void)state;
	exec_as(l, 1, "/bin/sh");
	for (uint32_t n = 1; n < 200; n++)
		do_fork(l, n, n + 1);
	actor = lineage_hold(l, do_write(l, 200));
	json = lineage_actor_json(actor);
	list = json_object_get(json, "ancestors");
	assert_int_equal(json_array_size(list), 24);
	json_array_foreach (list, i, entry)
		total += 1 + (size_t)json_integer_value(json_object_get(entry, "elided"));
	assert_int_equal(total, 199);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 23), "pid")), 1);
	json_decref(json);
	lineage_drop(l, actor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_reaches_the_first_process),
		cmocka_unit_test(host_paths_come_from_the_mounts),
		cmocka_unit_test(an_actor_stays_what_it_was),
		cmocka_unit_test(a_pid_used_again_is_another_process),
		cmocka_unit_test(threads_are_folded_in),
		cmocka_unit_test(short_processes_leave_nothing),
		cmocka_unit_test(a_chain_of_dying_parents_is_cut_and_counted),
		cmocka_unit_test(a_dead_parent_stays_while_a_child_lives),
		cmocka_unit_test(records_after_an_exit_still_have_their_actor),
		cmocka_unit_test(unknown_processes_hang_below_their_parent),
		cmocka_unit_test(outsiders_are_not_taken_in),
		cmocka_unit_test(no_process_becomes_its_own_ancestor),
		cmocka_unit_test(above_the_bound_events_lack_their_actor),
		cmocka_unit_test(json_of_an_actor),
		cmocka_unit_test(json_of_a_long_chain_is_short),
	};

	return cmocka_run_group_tests_name("lineage", tests, NULL, NULL);
}
