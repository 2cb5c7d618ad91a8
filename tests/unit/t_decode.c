/* SPDX-License-Identifier: MIT */
/* Records are accepted when they are exact, and refused by name and place when not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "bpf/abi/counters.h"
#include "tests/unit/records.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"

static void expect(const struct rec *r, size_t len, enum event_refusal reason, size_t offset)
{
	/* an exact copy, so that the sanitizer sees any read past the end */
	cleanup_free char *copy = malloc(len ? len : 1);
	struct event_why why = { 0 };
	struct event event;

	memcpy(copy, r->bytes, len);
	assert_int_equal(event_decode(copy, len, &event, &why), -EBADMSG);
	assert_string_equal(event_refusal_name(why.reason), event_refusal_name(reason));
	assert_int_equal(why.offset, offset);
}

static void make_rename(struct rec *r)
{
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_RENAME, WEIR_KIND_FILE_OUTSIDE);

	op.second = op.first;
	rec_op(r, op, "/lab/ws/old", "/lab/out/new");
}

static void an_operation_with_two_paths(void **state)
{
	char path[EVENT_PATH_SIZE];
	struct event event;
	struct rec r;

	(void)state;
	make_rename(&r);
	event = rec_event(&r);
	assert_int_equal(event.op.op, WEIR_OP_RENAME);
	assert_int_equal(event.head.tgid, 10);
	assert_int_equal(event_path_first(&event, path, sizeof(path)), 11);
	assert_string_equal(path, "/lab/ws/old");
	assert_int_equal(event_path_second(&event, path, sizeof(path)), 12);
	assert_string_equal(path, "/lab/out/new");
	assert_true(event_is_finding(&event));
}

static void paths_of_all_shapes(void **state)
{
	char out[EVENT_PATH_SIZE], small[8];

	(void)state;
	assert_int_equal(event_path("", 0, 0, out, sizeof(out)), 1);
	assert_string_equal(out, "/");
	assert_int_equal(event_path("b\0a\0", 4, WEIR_EV_TRUNCATED, out, sizeof(out)), 7);
	assert_string_equal(out, ".../a/b");
	assert_int_equal(event_path("memfd:a/b\0", 10, WEIR_EV_UNRESOLVED, out, sizeof(out)), 9);
	assert_string_equal(out, "memfd:a/b");
	assert_int_equal(event_path("b\0\0", 3, WEIR_EV_UNRESOLVED, out, sizeof(out)), 2);
	assert_string_equal(out, "/b");
	assert_int_equal(event_path("", 0, WEIR_EV_UNRESOLVED, out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(event_path("abcdef\0", 7, 0, small, sizeof(small)), -ENAMETOOLONG);
	assert_int_equal(event_path("abcde\0", 6, 0, small, sizeof(small)), 6);
	assert_string_equal(small, "/abcde");
}

static void an_object_that_is_not_there_has_no_path(void **state)
{
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_BPF, WEIR_KIND_BPF);
	char path[EVENT_PATH_SIZE];
	struct event event;
	struct rec r;

	(void)state;
	memset(&op.first, 0, sizeof(op.first));
	rec_op(&r, op, NULL, NULL);
	event = rec_event(&r);
	assert_int_equal(event_path_first(&event, path, sizeof(path)), 0);
	assert_int_equal(event_path_second(&event, path, sizeof(path)), 0);
	rec_exit(&r, 1, 10);
	event = rec_event(&r);
	assert_int_equal(event_path_first(&event, path, sizeof(path)), 0);
}

static void a_path_of_the_greatest_length(void **state)
{
	static char path[WEIR_PATH_MAX + 1];
	char text[EVENT_PATH_SIZE];
	struct event event;
	struct rec r;

	(void)state;
	for (size_t i = 0; i < WEIR_PATH_MAX; i++)
		path[i] = i % 128 == 0 ? '/' : 'd';
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), path, NULL);
	event = rec_event(&r);
	assert_int_equal(event.first_len, WEIR_PATH_MAX);
	assert_int_equal(event_path_first(&event, text, sizeof(text)), WEIR_PATH_MAX);
	assert_string_equal(text, path);
}

static void hostile_name_bytes_are_kept(void **state)
{
	const char *name = "/lab/out/a\x80z\033[31m\n\"}";
	char text[EVENT_PATH_SIZE];
	struct event event;
	struct rec r;

	(void)state;
	rec_op(&r, rec_plain(1, 10, WEIR_OP_CREATE, 0), name, NULL);
	event = rec_event(&r);
	event_path_first(&event, text, sizeof(text));
	assert_string_equal(text, name);
}

static void proofs_of_life_are_no_findings(void **state)
{
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_WRITE, WEIR_KIND_FILE_OUTSIDE);
	struct event event;
	struct rec r;

	(void)state;
	op.flags |= WEIR_EV_CANARY;
	rec_op(&r, op, "/x", NULL);
	event = rec_event(&r);
	assert_false(event_is_finding(&event));
}

static void every_shorter_record_is_refused(void **state)
{
	struct event event;
	struct rec r;

	(void)state;
	make_rename(&r);
	for (size_t len = 0; len < r.len; len++) {
		cleanup_free char *copy = malloc(len ? len : 1);

		memcpy(copy, r.bytes, len);
		assert_int_equal(event_decode(copy, len, &event, NULL), -EBADMSG);
	}
}

/* One byte, two or four at an offset replaced, and what is then said. */
struct edit {
	size_t offset;
	uint32_t value;
	size_t width;
	enum event_refusal reason;
	size_t at;
};

static void apply(const struct rec *good, const struct edit *edits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct rec bad = *good;

		memcpy(bad.bytes + edits[i].offset, &edits[i].value, edits[i].width);
		expect(&bad, bad.len, edits[i].reason, edits[i].at);
	}
}

#define HEAD(field) offsetof(struct weir_head, field)
#define OP(field) offsetof(struct weir_opev, field)
#define EXEC(field) offsetof(struct weir_execev, field)

static void edited_operations_are_refused(void **state)
{
	const struct edit edits[] = {
		{ HEAD(version), 3, 2, EVENT_REFUSE_VERSION, HEAD(version) },
		{ HEAD(version), 0, 2, EVENT_REFUSE_VERSION, HEAD(version) },
		{ HEAD(type), 0, 2, EVENT_REFUSE_TYPE, HEAD(type) },
		{ HEAD(type), 5, 2, EVENT_REFUSE_TYPE, HEAD(type) },
		{ HEAD(size), 256, 4, EVENT_REFUSE_SIZE, HEAD(size) },
		{ HEAD(size), 0, 4, EVENT_REFUSE_SIZE, HEAD(size) },
		{ HEAD(seq), 0, 4, EVENT_REFUSE_SEQ, HEAD(seq) },
		{ OP(op), WEIR_OP_COUNT, 2, EVENT_REFUSE_OP, OP(op) },
		{ OP(hook), WEIR_HOOK_COUNT, 2, EVENT_REFUSE_HOOK, OP(hook) },
		{ OP(kind), WEIR_KIND_COUNT, 2, EVENT_REFUSE_KIND, OP(kind) },
		{ OP(kind), WEIR_KIND_NONE, 2, EVENT_REFUSE_KIND, OP(kind) },
		{ OP(outcome), WEIR_OUTCOME_COUNT, 2, EVENT_REFUSE_OUTCOME, OP(outcome) },
		{ OP(flags), 1u << 12 | 1, 4, EVENT_REFUSE_FLAGS, OP(flags) },
		{ OP(want), 1u << 9, 4, EVENT_REFUSE_RIGHTS, OP(want) },
		{ OP(have), 1u << 31, 4, EVENT_REFUSE_RIGHTS, OP(have) },
		{ OP(first.pad), 1, 4, EVENT_REFUSE_PADDING, OP(first.pad) },
		{ OP(second.pad), 1, 4, EVENT_REFUSE_PADDING, OP(second.pad) },
		{ OP(first_len), 8193, 4, EVENT_REFUSE_LENGTH, OP(first_len) },
		{ OP(first_len), UINT32_MAX, 4, EVENT_REFUSE_LENGTH, OP(first_len) },
		{ OP(second_len), UINT32_MAX, 4, EVENT_REFUSE_LENGTH, OP(second_len) },
		{ OP(second_len), 0, 4, EVENT_REFUSE_SIZE, HEAD(size) },
		{ OP(powers) + 4, 1u << 30, 4, EVENT_REFUSE_RIGHTS, OP(powers) },
		{ OP(name_len), WEIR_LABEL_MAX + 1, 4, EVENT_REFUSE_LENGTH, OP(name_len) },
		{ OP(name_len), 8, 4, EVENT_REFUSE_SIZE, HEAD(size) },
		{ OP(pad), 1, 4, EVENT_REFUSE_PADDING, OP(pad) },
		{ 256, 'x' | '/' << 8, 2, EVENT_REFUSE_PATH, 256 }, /* "x/d" */
		{ 256, 0, 1, EVENT_REFUSE_PATH, 256 },		    /* empty name */
		{ 260, '.' | '.' << 8, 2, EVENT_REFUSE_PATH, 260 }, /* ".." */
		{ 266, 'x', 1, EVENT_REFUSE_PATH, 266 },	    /* no NUL at the end */
		{ 278, 'x', 1, EVENT_REFUSE_PATH, 278 },	    /* nor of the second */
		{ 279, 1, 1, EVENT_REFUSE_PADDING, 279 },
	};
	struct rec r;

	(void)state;
	make_rename(&r); /* at 256 "old\0ws\0lab\0", at 267 "new\0out\0lab\0", at 279 one zero */
	assert_int_equal(r.len, 280);
	apply(&r, edits, ARRAY_SIZE(edits));
}

static void dots_are_no_names(void **state)
{
	struct event event;
	struct rec r;

	(void)state;
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), "/a/.", NULL);
	expect(&r, r.len, EVENT_REFUSE_PATH, 256);
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), "/../a", NULL);
	expect(&r, r.len, EVENT_REFUSE_PATH, 258);
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), "/.../.a/..b", NULL);
	event = rec_event(&r);
	assert_int_equal(event.first_len, 11);
}

static void a_name_has_255_bytes_at_most(void **state)
{
	char path[258] = "/";
	struct rec r;

	(void)state;
	memset(path + 1, 'n', 255);
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), path, NULL);
	rec_event(&r);
	path[256] = 'n';
	rec_op(&r, rec_plain(1, 10, WEIR_OP_WRITE, 0), path, NULL);
	expect(&r, r.len, EVENT_REFUSE_PATH, 256);
}

static void detached_objects_keep_any_name(void **state)
{
	struct weir_opev op = rec_plain(1, 10, WEIR_OP_EXEC, WEIR_KIND_EXEC_MEMFD);
	char text[EVENT_PATH_SIZE];
	struct event event;
	struct rec r;

	(void)state;
	op.first_len = 14;
	memcpy(r.bytes, &op, sizeof(op));
	memcpy(r.bytes + sizeof(op), "memfd:../etc/x", 15);
	memcpy(r.bytes + offsetof(struct weir_opev, first_len), &(uint32_t){ 15 }, 4);
	rec_close(&r, sizeof(op) + 15);
	expect(&r, r.len, EVENT_REFUSE_PATH, 256);
	op.flags |= WEIR_EV_UNRESOLVED;
	op.first_len = 15;
	memcpy(r.bytes, &op, sizeof(op));
	rec_close(&r, sizeof(op) + 15);
	event = rec_event(&r);
	event_path_first(&event, text, sizeof(text));
	assert_string_equal(text, "memfd:../etc/x"); /* no '/' in front: not a place */
}

static void edited_execs_are_refused(void **state)
{
	const struct edit edits[] = {
		{ EXEC(flags), 1u << 12, 4, EVENT_REFUSE_FLAGS, EXEC(flags) },
		{ EXEC(exe.pad), 1, 4, EVENT_REFUSE_PADDING, EXEC(exe.pad) },
		{ EXEC(path_len), 8193, 4, EVENT_REFUSE_LENGTH, EXEC(path_len) },
		{ EXEC(args_len), 1025, 4, EVENT_REFUSE_LENGTH, EXEC(args_len) },
		{ EXEC(args_total), 3, 4, EVENT_REFUSE_LENGTH, EXEC(args_total) },
		{ EXEC(path_len), 100, 4, EVENT_REFUSE_SIZE, HEAD(size) },
		{ HEAD(tgid), 0, 4, EVENT_REFUSE_TASK, HEAD(tgid) },
	};
	struct event event;
	struct rec r;

	(void)state;
	rec_exec(&r, 1, 10, "/usr/bin/make", "make\0-j2", 8);
	event = rec_event(&r);
	assert_int_equal(event.args_len, 8);
	assert_memory_equal(event.args, "make\0-j2", 8);
	apply(&r, edits, ARRAY_SIZE(edits));
}

static void edited_forks_and_exits_are_refused(void **state)
{
	const struct edit forks[] = {
		{ offsetof(struct weir_forkev, child_tgid), 0, 4, EVENT_REFUSE_TASK,
		  offsetof(struct weir_forkev, child_tgid) },
		{ offsetof(struct weir_forkev, child_pid), 0, 4, EVENT_REFUSE_TASK,
		  offsetof(struct weir_forkev, child_pid) },
		{ HEAD(type), WEIR_RECORD_EXIT, 2, EVENT_REFUSE_PADDING,
		  offsetof(struct weir_exitev, pad) },
		{ HEAD(type), WEIR_RECORD_EXEC, 2, EVENT_REFUSE_SHORT, 80 },
	};
	const struct edit exits[] = {
		{ offsetof(struct weir_exitev, pad), 1, 4, EVENT_REFUSE_PADDING,
		  offsetof(struct weir_exitev, pad) },
	};
	struct rec r;

	(void)state;
	rec_fork(&r, 1, 10, 11);
	rec_event(&r);
	apply(&r, forks, ARRAY_SIZE(forks));
	rec_exit(&r, 1, 10);
	rec_event(&r);
	apply(&r, exits, ARRAY_SIZE(exits));
}

static void records_longer_than_the_bound_are_refused(void **state)
{
	static char big[WEIR_RECORD_MAX + 8];
	struct weir_head head = rec_head(WEIR_RECORD_OP, 1, 10, 1000);
	struct event_why why;
	struct event event;

	(void)state;
	head.size = sizeof(big);
	memcpy(big, &head, sizeof(head));
	assert_int_equal(event_decode(big, sizeof(big), &event, &why), -EBADMSG);
	assert_int_equal(why.reason, EVENT_REFUSE_SIZE);
}

static void every_refusal_has_a_name_and_a_text(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_REFUSE_COUNT; i++) {
		assert_string_not_equal(event_refusal_name((enum event_refusal)i), "unknown");
		assert_true(strlen(event_refusal_text((enum event_refusal)i)) > 5);
	}
	assert_string_equal(event_refusal_name(EVENT_REFUSE_COUNT), "unknown");
}

/* Records as they lie on people's disks: they must decode for ever. */
static const struct golden {
	const char *file;
	const char *first, *second;
	unsigned int type, op, kind, flags;
	uint64_t seq;
	const char *target;
} golden[] = {
	{ "tests/abi/v1-write.rec", "/lab/ws/src/main.c", "", WEIR_RECORD_OP, WEIR_OP_WRITE, 0, 0,
	  4, "" },
	{ "tests/abi/v1-rename.rec", "/tmp/n", "/lab/out/b", WEIR_RECORD_OP, WEIR_OP_RENAME,
	  WEIR_KIND_FILE_OUTSIDE, WEIR_EV_FINDING | WEIR_EV_BAD_SECOND, 5, "" },
	{ "tests/abi/v1-memfd.rec", "memfd:a/b", "", WEIR_RECORD_OP, WEIR_OP_EXEC,
	  WEIR_KIND_EXEC_MEMFD, WEIR_EV_FINDING | WEIR_EV_BAD_FIRST | WEIR_EV_UNRESOLVED, 6, "" },
	{ "tests/abi/v1-fork.rec", "", "", WEIR_RECORD_FORK, 0, 0, 0, 1, "" },
	{ "tests/abi/v1-exec.rec", "/usr/bin/make", "", WEIR_RECORD_EXEC, 0, 0, 0, 2, "" },
	{ "tests/abi/v1-exit.rec", "", "", WEIR_RECORD_EXIT, 0, 0, 0, 3, "" },
	{ "tests/abi/v2-ptrace.rec", "/lab/bin/victim", "", WEIR_RECORD_OP, WEIR_OP_PTRACE,
	  WEIR_KIND_MEMORY_ACCESS, WEIR_EV_FINDING | WEIR_EV_BAD_FIRST, 7, "memory: outsiders" },
	{ "tests/abi/v2-socket.rec", "", "", WEIR_RECORD_OP, 0, WEIR_KIND_NETWORK,
	  WEIR_EV_FINDING | WEIR_EV_BAD_FIRST, 8, "" },
	{ "tests/abi/v2-name.rec", "", "", WEIR_RECORD_OP, 0, WEIR_KIND_IPC,
	  WEIR_EV_FINDING | WEIR_EV_BAD_FIRST, 9, "" },
	{ "tests/abi/v2-fork.rec", "", "", WEIR_RECORD_FORK, 0, 0, 0, 1, "" },
	{ "tests/abi/v2-exec.rec", "/usr/bin/make", "", WEIR_RECORD_EXEC, 0, 0, 0, 2, "" },
	{ "tests/abi/v2-exit.rec", "", "", WEIR_RECORD_EXIT, 0, 0, 0, 3, "" },
};

static void golden_records_of_all_versions_decode(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		char text[EVENT_PATH_SIZE], target[EVENT_TARGET_SIZE];
		cleanup_buf struct buf b = { 0 };
		struct event_why why = { 0 };
		struct event event;

		assert_int_equal(fsio_read_file(AT_FDCWD, golden[i].file, 65536, &b, NULL), 0);
		assert_int_equal(event_decode(b.data, b.len, &event, &why), 0);
		assert_int_equal(event.head.type, golden[i].type);
		assert_int_equal(event.head.seq, golden[i].seq);
		assert_int_equal(event.head.tgid, 4321);
		event_path_first(&event, text, sizeof(text));
		assert_string_equal(text, golden[i].first);
		event_path_second(&event, text, sizeof(text));
		assert_string_equal(text, golden[i].second);
		assert_string_equal(event_target(&event, target), golden[i].target);
		if (event.head.type != WEIR_RECORD_OP)
			continue;
		assert_int_equal(event.op.op, golden[i].op);
		assert_int_equal(event.op.kind, golden[i].kind);
		assert_int_equal(event.op.flags, golden[i].flags);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_with_two_paths),
		cmocka_unit_test(paths_of_all_shapes),
		cmocka_unit_test(an_object_that_is_not_there_has_no_path),
		cmocka_unit_test(a_path_of_the_greatest_length),
		cmocka_unit_test(hostile_name_bytes_are_kept),
		cmocka_unit_test(proofs_of_life_are_no_findings),
		cmocka_unit_test(every_shorter_record_is_refused),
		cmocka_unit_test(edited_operations_are_refused),
		cmocka_unit_test(dots_are_no_names),
		cmocka_unit_test(a_name_has_255_bytes_at_most),
		cmocka_unit_test(detached_objects_keep_any_name),
		cmocka_unit_test(edited_execs_are_refused),
		cmocka_unit_test(edited_forks_and_exits_are_refused),
		cmocka_unit_test(records_longer_than_the_bound_are_refused),
		cmocka_unit_test(every_refusal_has_a_name_and_a_text),
		cmocka_unit_test(golden_records_of_all_versions_decode),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
