/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/tree/rundir.h"

static char root[64], state_dir[96], ws[96], sub[128];

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/t_rundir.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(state_dir, sizeof(state_dir), "%s/state", root);
	snprintf(ws, sizeof(ws), "%s/ws", root);
	snprintf(sub, sizeof(sub), "%s/sub", ws);
	assert_int_equal(mkdir(ws, 0755), 0);
	assert_int_equal(mkdir(sub, 0755), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return fsio_remove_tree(AT_FDCWD, root, NULL);
}

static void make_run(const char *id)
{
	cleanup_free char *path = NULL;

	assert_true(asprintf(&path, "%s/runs/%s", state_dir, id) > 0);
	assert_int_equal(fsio_mkdir_p(path, 0700, NULL), 0);
}

/* The last one is the one that was made last, also within a second. */
static void t_order(void **state)
{
	cleanup_rundir_list struct rundir_list l = { 0 };
	char ids[50][RUNDIR_ID_SIZE];
	struct weir_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct rundir made = { .fd = -1 }, last = { .fd = -1 };

		assert_int_equal(rundir_create(state_dir, &made, &e), 0);
		assert_int_equal(rundir_open(state_dir, "last", &last, &e), 0);
		assert_string_equal(last.id, made.id);
		memcpy(ids[i], made.id, sizeof(ids[i]));
		rundir_done(&made);
		rundir_done(&last);
	}
	assert_int_equal(rundir_list(state_dir, &l, &e), 0);
	assert_true(l.count >= ARRAY_SIZE(ids));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_string_equal(l.ids[l.count - ARRAY_SIZE(ids) + i], ids[i]);
}

static void t_create(void **state)
{
	struct rundir a = { .fd = -1 }, b = { .fd = -1 };
	struct weir_err e = { 0 };
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(rundir_create(state_dir, &a, &e), 0);
	assert_int_equal(rundir_create(state_dir, &b, &e), 0);
	assert_true(rundir_id_is_valid(a.id));
	assert_string_not_equal(a.id, b.id);
	assert_int_equal(fstat(a.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(a.path, &st), 0);
	assert_int_equal(fcntl(a.fd, F_GETFD), FD_CLOEXEC);
	umask(022);
	rundir_done(&a);
	rundir_done(&b);
	assert_int_equal(a.fd, -1);
}

static void expect_open(const char *which, const char *id)
{
	struct rundir r = { .fd = -1 };
	struct weir_err e = { 0 };

	assert_int_equal(rundir_open(state_dir, which, &r, &e), 0);
	assert_string_equal(r.id, id);
	rundir_done(&r);
}

static void expect_no_open(const char *which, int err, const char *code, const char *text)
{
	struct rundir r = { .fd = -1 };
	struct weir_err e = { 0 };

	assert_int_equal(rundir_open(state_dir, which, &r, &e), err);
	assert_string_equal(e.code, code);
	if (!strstr(e.text, text))
		fail_msg("%s", e.text);
}

static void t_open(void **state)
{
	(void)state;
	expect_no_open(NULL, -ENOENT, "no-run", "there is no run yet");
	make_run("20261130-120000-00000a");
	make_run("20261130-120000-00000b");
	make_run("20261201-000000-ffffff");
	make_run("20261201-000000-FFFFFF"); /* no id: not listed */
	make_run("20261231-000000-ffffff.tmp");
	expect_open(NULL, "20261201-000000-ffffff");
	expect_open("", "20261201-000000-ffffff");
	expect_open("last", "20261201-000000-ffffff");
	expect_open("20261201", "20261201-000000-ffffff");
	expect_open("20261130-120000-00000a", "20261130-120000-00000a");
	expect_no_open("2026", -EEXIST, "run-ambiguous",
		       "'2026' is the start of 3 runs (20261130-120000-00000a, "
		       "20261130-120000-00000b, ...); write more of it");
	expect_no_open("20261130-", -EEXIST, "run-ambiguous", "2 runs");
	expect_no_open("1999", -ENOENT, "no-run", "there is no run '1999'");
	expect_no_open("20", -EINVAL, "no-run", "too short for a run's name");
	expect_no_open("../../etc", -EINVAL, "no-run", "is no run; `weir list`");
	expect_no_open("20261130-120000-00000a-and-more", -EINVAL, "no-run", "is no run");
	expect_no_open("x\033[31m", -EINVAL, "no-run", "x\\x1b[31m");
}

static void t_list(void **state)
{
	cleanup_rundir_list struct rundir_list l = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	assert_int_equal(rundir_list(state_dir, &l, &e), 0);
	assert_int_equal(l.count, 0);
	make_run("20261201-000000-ffffff");
	make_run("20261130-120000-00000a");
	assert_int_equal(rundir_list(state_dir, &l, &e), 0);
	assert_int_equal(l.count, 2);
	assert_string_equal(l.ids[0], "20261130-120000-00000a");
}

static void t_foreign_state(void **state)
{
	struct rundir r = { .fd = -1 };
	struct weir_err e = { 0 };
	char runs[128];

	(void)state;
	make_run("20261130-120000-00000a");
	snprintf(runs, sizeof(runs), "%s/runs", state_dir);
	assert_int_equal(chmod(runs, 0770), 0);
	assert_int_equal(rundir_create(state_dir, &r, &e), -EPERM);
	assert_non_null(strstr(e.text, "can be written by others; make it your own"));
	assert_int_equal(rundir_open(state_dir, NULL, &r, &e), -EPERM);
	fsio_remove_tree(AT_FDCWD, runs, NULL);
	assert_int_equal(symlink(root, runs), 0);
	assert_true(rundir_create(state_dir, &r, &e) < 0);
}

static void t_remove(void **state)
{
	struct weir_err e = { 0 };
	char file[200];

	(void)state;
	make_run("20261130-120000-00000a");
	snprintf(file, sizeof(file), "%s/runs/20261130-120000-00000a/sub/", state_dir);
	assert_int_equal(fsio_mkdir_p(file, 0700, NULL), 0);
	assert_int_equal(rundir_remove(state_dir, "20261130", &e), -EINVAL);
	assert_int_equal(rundir_remove(state_dir, "20261130-120000-00000a/", &e), -EINVAL);
	assert_int_equal(rundir_remove(state_dir, "20261130-120000-00000b", &e), -ENOENT);
	assert_int_equal(rundir_remove(state_dir, "20261130-120000-00000a", &e), 0);
	assert_int_equal(rundir_remove(state_dir, "20261130-120000-00000a", &e), -ENOENT);
}

#define RUN_A "20261130-120000-00000a"
#define RUN_B "20261130-120000-00000b"

static int lock_path(const char *path, const char *id, struct rundir_lock *l, struct weir_err *e)
{
	cleanup_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return rundir_lock(state_dir, fd, path, id, l, e);
}

static void t_lock(void **state)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	struct rundir_lock a = { 0 }, b = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	make_run(RUN_A);
	assert_int_equal(lock_path(ws, RUN_A, &a, &e), 0);
	assert_int_equal(lock_path(ws, RUN_B, &b, &e), -EBUSY);
	assert_string_equal(e.code, "workspace-busy");
	assert_non_null(strstr(e.text, "is in use by run " RUN_A));
	/* below and above are the same files */
	assert_int_equal(lock_path(sub, RUN_B, &b, &e), -EBUSY);
	assert_int_equal(lock_path(root, RUN_B, &b, &e), -EBUSY);
	assert_int_equal(lock_path("/", RUN_B, &b, &e), -EBUSY);
	assert_int_equal(lock_path("/usr", RUN_B, &b, &e), 0);
	assert_int_equal(rundir_unlock(&b, &e), 0);
	assert_int_equal(rundir_remove(state_dir, RUN_A, &e), -EBUSY);
	assert_string_equal(e.code, "run-active");
	assert_int_equal(rundir_locks(state_dir, &locks, &e), 0);
	assert_int_equal(locks.count, 1);
	assert_int_equal(locks.items[0].state, RUNDIR_LOCK_LIVE);
	assert_int_equal(locks.items[0].pid, getpid());
	assert_string_equal(locks.items[0].path, ws);
	assert_int_equal(rundir_lock_lift(state_dir, &locks.items[0], &e), -EBUSY);
	assert_int_equal(rundir_unlock(&a, &e), 0);
	assert_int_equal(rundir_unlock(&a, &e), 0);
	assert_int_equal(lock_path(ws, RUN_B, &b, &e), 0);
	assert_int_equal(rundir_unlock(&b, &e), 0);
	assert_int_equal(rundir_remove(state_dir, RUN_A, &e), 0);
}

/* A sibling that shares the name's start is another workspace. */
static void t_lock_sibling(void **state)
{
	struct rundir_lock a = { 0 }, b = { 0 };
	struct weir_err e = { 0 };
	char evil[128];

	(void)state;
	snprintf(evil, sizeof(evil), "%s-evil", ws);
	assert_int_equal(mkdir(evil, 0755), 0);
	assert_int_equal(lock_path(ws, RUN_A, &a, &e), 0);
	assert_int_equal(lock_path(evil, RUN_B, &b, &e), 0);
	rundir_unlock(&a, &e);
	rundir_unlock(&b, &e);
}

static void lock_in_child_that_dies(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rundir_lock l = { 0 };

		_exit(lock_path(ws, RUN_A, &l, NULL) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void t_lock_of_the_dead(void **state)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	struct rundir_lock b = { 0 };
	struct weir_err e = { 0 };

	(void)state;
	make_run(RUN_A);
	lock_in_child_that_dies();
	assert_int_equal(lock_path(ws, RUN_B, &b, &e), -EBUSY);
	assert_string_equal(e.code, "workspace-stale");
	assert_non_null(strstr(e.text, "held by run " RUN_A ", whose collector (process"));
	assert_non_null(strstr(e.text, "run `weir recover`"));
	assert_int_equal(rundir_remove(state_dir, RUN_A, &e), -EBUSY);
	assert_non_null(strstr(e.text, "weir recover"));
	assert_int_equal(rundir_locks(state_dir, &locks, &e), 0);
	assert_int_equal(locks.count, 1);
	assert_int_equal(locks.items[0].state, RUNDIR_LOCK_DEAD);
	assert_int_equal(rundir_lock_lift(state_dir, &locks.items[0], &e), 0);
	assert_int_equal(lock_path(ws, RUN_B, &b, &e), 0);
	assert_int_equal(rundir_unlock(&b, &e), 0);
}

static char *lock_file(struct buf *text)
{
	cleanup_rundir_locks struct rundir_locks locks = { 0 };
	char *path = NULL;

	assert_int_equal(rundir_locks(state_dir, &locks, NULL), 0);
	assert_int_equal(locks.count, 1);
	assert_true(asprintf(&path, "%s/locks/%s", state_dir, locks.items[0].name) > 0);
	assert_int_equal(fsio_read_file(AT_FDCWD, path, 4096, text, NULL), 0);
	return path;
}

static void edit(const char *path, struct buf *text, const char *key, const char *value)
{
	cleanup_buf struct buf out = { 0 };
	char *at = strstr(text->data, key), *end;

	assert_non_null(at);
	end = strchr(at, '\n');
	buf_add(&out, text->data, (size_t)(at - text->data));
	buf_addf(&out, "%s", value);
	buf_add(&out, end, strlen(end));
	assert_int_equal(fsio_replace(AT_FDCWD, path, out.data, out.len, 0600, NULL), 0);
}

static void t_lock_states(void **state)
{
	static const struct {
		const char *key, *value;
		enum rundir_lock_state want;
		bool taken; /* by the next run, without more ado */
	} rows[] = {
		{ "start", "start 1", RUNDIR_LOCK_DEAD, false },
		{ "pid", "pid 999999999", RUNDIR_LOCK_DEAD, false },
		{ "boot", "boot 00000000-0000-0000-0000-000000000000", RUNDIR_LOCK_OLD, true },
		{ "boot", "boot 0", RUNDIR_LOCK_BROKEN, false },
		{ "run", "run x", RUNDIR_LOCK_BROKEN, false },
		{ "pid", "pid 1x", RUNDIR_LOCK_BROKEN, false },
		{ "pid", "pid 99999999999999999999", RUNDIR_LOCK_BROKEN, false },
		{ "start", "start -1", RUNDIR_LOCK_BROKEN, false },
		{ "path", "path", RUNDIR_LOCK_BROKEN, false },
		{ "path", "path \\q", RUNDIR_LOCK_BROKEN, false },
		{ "weir", "weir.lock/2", RUNDIR_LOCK_BROKEN, false },
		{ "path", "path /\nmore 1", RUNDIR_LOCK_BROKEN, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup_rundir_locks struct rundir_locks locks = { 0 };
		cleanup_buf struct buf text = { 0 };
		cleanup_free char *path = NULL;
		struct rundir_lock a = { 0 }, b = { 0 };

		assert_int_equal(lock_path(ws, RUN_A, &a, NULL), 0);
		path = lock_file(&text);
		edit(path, &text, rows[i].key, rows[i].value);
		assert_int_equal(rundir_locks(state_dir, &locks, NULL), 0);
		if (locks.items[0].state != rows[i].want)
			fail_msg("%s: %d", rows[i].value, locks.items[0].state);
		assert_int_equal(lock_path(ws, RUN_B, &b, NULL), rows[i].taken ? 0 : -EBUSY);
		rundir_unlock(&a, NULL);
		rundir_unlock(&b, NULL);
	}
}

static void t_state(void **state)
{
	struct weir_err e = { 0 };
	char *text = NULL;

	(void)state;
	unsetenv("WEIR_STATE");
	assert_int_equal(rundir_state(&text, &e), 0);
	assert_string_equal(text, "/var/lib/weir");
	free(text);
	setenv("WEIR_STATE", "relative", 1);
	assert_int_equal(rundir_state(&text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "set it to an absolute path"));
	setenv("WEIR_STATE", "/x", 1);
	assert_int_equal(rundir_state(&text, &e), 0);
	assert_string_equal(text, "/x");
	free(text);
}

#define STATE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STATE_TEST(t_create),
		STATE_TEST(t_open),
		STATE_TEST(t_order),
		STATE_TEST(t_list),
		STATE_TEST(t_remove),
		STATE_TEST(t_foreign_state),
		STATE_TEST(t_lock),
		STATE_TEST(t_lock_sibling),
		STATE_TEST(t_lock_of_the_dead),
		STATE_TEST(t_lock_states),
		cmocka_unit_test(t_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
