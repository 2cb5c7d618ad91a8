/* SPDX-License-Identifier: MIT */
/* The trace file against each rule of user/trace/format.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/trace/reader.h"
#include "user/trace/writer.h"

#define EVENTS 2000
#define EVENT_SIZE 200

static int new_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct trace_writer *new_writer(int fd)
{
	struct trace_writer *w = NULL;

	assert_int_equal(trace_writer_new(fd, &w, NULL), 0);
	return w;
}

static void add(struct trace_writer *w, enum trace_type type, const char *text)
{
	struct weir_err e = { 0 };

	if (trace_writer_add(w, type, text, strlen(text), &e) < 0)
		fail_msg("%s", e.text);
}

static void event_bytes(unsigned int n, char out[EVENT_SIZE + 1])
{
	memset(out, 'a' + (int)(n % 26), EVENT_SIZE);
	snprintf(out, 16, "%u", n);
	out[EVENT_SIZE] = '\0';
}

/* START, events over several frames, END. Returns: a descriptor. */
static int write_trace(unsigned char ret_root[DIGEST_SIZE], uint64_t *ret_size)
{
	int fd = new_file();
	cleanup_trace_writer struct trace_writer *w = new_writer(fd);
	char bytes[EVENT_SIZE + 1];

	add(w, TRACE_START, "{\"run\":1}");
	for (unsigned int i = 0; i < EVENTS; i++) {
		event_bytes(i, bytes);
		assert_int_equal(trace_writer_add(w, TRACE_EVENT, bytes, EVENT_SIZE, NULL), 0);
	}
	add(w, TRACE_COVERAGE, "{}");
	add(w, TRACE_NOTE, "{\"kind\":\"x\"}");
	add(w, TRACE_END, "{\"end\":1}");
	if (ret_root)
		trace_writer_root(w, ret_root);
	if (ret_size)
		*ret_size = trace_writer_size(w);
	return fd;
}

/* Reads to the end. Returns: what the reader said last; *ret_count: records before that. */
static int read_all(int fd, unsigned int *ret_count, bool *ret_ended, struct weir_err *e)
{
	cleanup_trace_reader struct trace_reader *r = NULL;
	struct trace_record record;
	int ret = trace_reader_new(fd, &r, e);

	*ret_count = 0;
	*ret_ended = false;
	if (ret < 0)
		return ret;
	while ((ret = trace_reader_next(r, &record, e)) == 1)
		(*ret_count)++;
	*ret_ended = trace_reader_ended(r);
	if (ret < 0)
		assert_int_equal(trace_reader_next(r, &record, e), ret);
	return ret;
}

static void expect_refusal(int fd, const char *word)
{
	struct weir_err e = { 0 };
	unsigned int count;
	bool ended;

	assert_int_equal(read_all(fd, &count, &ended, &e), -EBADMSG);
	assert_string_equal(e.code, "trace-corrupt");
	if (!strstr(e.text, word) || !strstr(e.text, "at byte "))
		fail_msg("\"%s\" is not in \"%s\"", word, e.text);
	assert_false(ended);
}

static void records_come_back_as_they_were(void **state)
{
	unsigned char root[DIGEST_SIZE], again[DIGEST_SIZE];
	uint64_t size;
	cleanup_close int fd = write_trace(root, &size);
	cleanup_trace_reader struct trace_reader *r = NULL;
	struct trace_record record;
	char bytes[EVENT_SIZE + 1];

	(void)state;
	assert_int_equal(trace_reader_new(fd, &r, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.type, TRACE_START);
	assert_int_equal(record.offset, 32);
	assert_int_equal(record.len, 9);
	assert_memory_equal(record.bytes, "{\"run\":1}", 9);
	for (unsigned int i = 0; i < EVENTS; i++) {
		event_bytes(i, bytes);
		assert_int_equal(trace_reader_next(r, &record, NULL), 1);
		assert_int_equal(record.type, TRACE_EVENT);
		assert_int_equal(record.len, EVENT_SIZE);
		assert_int_equal((uintptr_t)record.bytes % 8, 0);
		assert_memory_equal(record.bytes, bytes, EVENT_SIZE);
	}
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.type, TRACE_COVERAGE);
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.type, TRACE_NOTE);
	assert_false(trace_reader_ended(r));
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.type, TRACE_END);
	assert_true(trace_reader_ended(r));
	assert_true(record.frame > 3);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	trace_reader_root(r, again);
	assert_memory_equal(root, again, DIGEST_SIZE);
	assert_int_equal(trace_reader_size(r), size);
	assert_int_equal(trace_reader_torn(r), 0);
}

static void patch(int fd, uint64_t offset, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(fd, bytes, len, (off_t)offset), (ssize_t)len);
}

static void TR_1_a_file_starts_with_its_magic(void **state)
{
	cleanup_close int fd = write_trace(NULL, NULL);

	(void)state;
	patch(fd, 11, "2", 1);
	expect_refusal(fd, "TR-1");
}

static void TR_2_heads_of_frames_are_checked(void **state)
{
	static const uint32_t lengths[] = { 0, 4, 9, TRACE_FRAME_DATA + 8, UINT32_MAX, 0x80000000 };
	cleanup_close int fd = write_trace(NULL, NULL);
	uint32_t good;

	(void)state;
	assert_int_equal(pread(fd, &good, 4, 20), 4);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		patch(fd, 20, &lengths[i], 4);
		expect_refusal(fd, "TR-2");
	}
	patch(fd, 20, &good, 4);
	patch(fd, 16, "X", 1);
	expect_refusal(fd, "at byte 16 (frame 0): no frame starts here (TR-2)");
}

/* Where the frames of a trace start; the last entry is the end. Returns: frames. */
static unsigned int find_frames(int fd, uint64_t *ret_offsets, unsigned int max)
{
	uint64_t at = TRACE_MAGIC_SIZE;
	struct trace_frame_head head;
	unsigned int n = 0;

	while (n + 1 < max && pread(fd, &head, sizeof(head), (off_t)at) == (ssize_t)sizeof(head)) {
		ret_offsets[n++] = at;
		at += sizeof(head) + head.length + DIGEST_SIZE;
	}
	ret_offsets[n] = at;
	return n;
}

static void TR_3_a_frame_taken_out_repeated_or_moved(void **state)
{
	cleanup_close int good = write_trace(NULL, NULL);
	cleanup_buf struct buf b = { 0 };
	uint64_t at[64];
	unsigned int n = find_frames(good, at, 64);
	static const unsigned int orders[][4] = {
		{ 0, 2, 3, 99 }, /* frame 1 missing */
		{ 0, 1, 1, 2 },	 /* twice */
		{ 0, 2, 1, 3 },	 /* exchanged */
		{ 1, 2, 3, 99 }, /* the first missing */
	};

	(void)state;
	assert_true(n > 4);
	lseek(good, 0, SEEK_SET);
	assert_int_equal(fsio_read_fd(good, 1 << 24, &b), 0);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		cleanup_close int fd = new_file();

		assert_int_equal(fsio_write_all(fd, b.data, TRACE_MAGIC_SIZE), 0);
		for (size_t k = 0; k < 4 && orders[i][k] < n; k++) {
			uint64_t from = at[orders[i][k]], to = at[orders[i][k] + 1];

			assert_int_equal(fsio_write_all(fd, b.data + from, to - from), 0);
		}
		expect_refusal(fd, "TR-3");
	}
}

/* Renumbering a moved frame does not help. */
static void TR_4_the_chain_binds_frames_to_their_place(void **state)
{
	cleanup_close int fd = write_trace(NULL, NULL);
	uint64_t at[64], number = 1;
	cleanup_free char *frame = malloc(TRACE_FRAME_MAX);
	size_t len;

	(void)state;
	assert_true(find_frames(fd, at, 64) > 4);
	len = at[3] - at[2];
	assert_int_equal(pread(fd, frame, len, (off_t)at[2]), (ssize_t)len);
	memcpy(frame + 8, &number, 8);
	patch(fd, at[1], frame, len);
	expect_refusal(fd, "TR-4");
}

static void TR_4_every_changed_byte_is_seen(void **state)
{
	uint64_t size;
	cleanup_close int fd = new_file();
	struct trace_writer *w = new_writer(fd);
	struct weir_err e = { 0 };
	unsigned int count;
	bool ended;

	(void)state;
	add(w, TRACE_START, "{\"a\":1}");
	add(w, TRACE_EVENT, "0123456789");
	add(w, TRACE_END, "{}");
	size = trace_writer_size(w);
	trace_writer_free(w);
	assert_int_equal(read_all(fd, &count, &ended, &e), 0);
	assert_int_equal(count, 3);
	assert_true(ended);
	for (uint64_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit += 3) {
			unsigned char byte;

			assert_int_equal(pread(fd, &byte, 1, (off_t)i), 1);
			byte ^= (unsigned char)(1 << bit);
			patch(fd, i, &byte, 1);
			assert_true(read_all(fd, &count, &ended, &e) < 0 || !ended);
			byte ^= (unsigned char)(1 << bit);
			patch(fd, i, &byte, 1);
		}
	}
	assert_int_equal(read_all(fd, &count, &ended, &e), 0);
}

/* A file with frames that are well chained but hold the records given. */
static int forge(const struct buf *frames, size_t count)
{
	unsigned char chain[DIGEST_SIZE];
	int fd = new_file();

	assert_int_equal(fsio_write_all(fd, TRACE_MAGIC, TRACE_MAGIC_SIZE), 0);
	digest_bytes(TRACE_MAGIC, TRACE_MAGIC_SIZE, chain);
	for (size_t i = 0; i < count; i++) {
		struct trace_frame_head head = {
			.magic = TRACE_FRAME_MAGIC,
			.length = (uint32_t)frames[i].len,
			.number = i,
		};
		cleanup_digest struct digest *d = digest_new();

		digest_add(d, chain, sizeof(chain));
		digest_add(d, &head, sizeof(head));
		digest_add(d, frames[i].data, frames[i].len);
		digest_end(d, chain);
		assert_int_equal(fsio_write_all(fd, &head, sizeof(head)), 0);
		assert_int_equal(fsio_write_all(fd, frames[i].data, frames[i].len), 0);
		assert_int_equal(fsio_write_all(fd, chain, sizeof(chain)), 0);
	}
	return fd;
}

static void put(struct buf *b, unsigned int type, unsigned int flags, uint32_t length,
		const char *bytes, size_t len)
{
	struct trace_record_head head = { (uint16_t)type, (uint16_t)flags, length };

	buf_add(b, &head, sizeof(head));
	buf_add(b, bytes, len);
}

static void put_start(struct buf *b)
{
	put(b, TRACE_START, 0, 2, "{}\0\0\0\0\0\0", 8);
}

static void TR_5_records_lie_within_their_frame(void **state)
{
	static const uint32_t lengths[] = { 9, 16, 17, UINT32_MAX, UINT32_MAX - 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		cleanup_buf struct buf b = { 0 };

		put_start(&b);
		put(&b, TRACE_EVENT, 0, lengths[i], "12345678", 8);
		{
			cleanup_close int fd = forge(&b, 1);

			expect_refusal(fd, "TR-5");
		}
	}
}

static void TR_5_padding_is_zero(void **state)
{
	cleanup_buf struct buf b = { 0 };
	cleanup_close int fd = -1;

	(void)state;
	put_start(&b);
	put(&b, TRACE_EVENT, 0, 3, "123\0\0\0\0x", 8);
	fd = forge(&b, 1);
	expect_refusal(fd, "TR-5");
}

static void TR_6_types_and_flags_are_known(void **state)
{
	static const struct {
		unsigned int type, flags;
	} bad[] = { { 0, 0 }, { 6, 0 }, { 0xffff, 0 }, { TRACE_NOTE, 2 }, { TRACE_EVENT, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cleanup_buf struct buf b = { 0 };
		cleanup_close int fd = -1;

		put_start(&b);
		put(&b, bad[i].type, bad[i].flags, 8, "12345678", 8);
		fd = forge(&b, 1);
		expect_refusal(fd, "TR-6");
	}
}

static void TR_6_a_split_record_goes_on_with_its_type(void **state)
{
	cleanup_buf struct buf b = { 0 };
	cleanup_close int fd = -1;

	(void)state;
	put_start(&b);
	put(&b, TRACE_NOTE, TRACE_MORE, 8, "12345678", 8);
	put(&b, TRACE_COVERAGE, 0, 8, "12345678", 8);
	fd = forge(&b, 1);
	expect_refusal(fd, "TR-6");
}

static void TR_6_a_split_record_has_a_bound(void **state)
{
	cleanup_free char *piece = calloc(1, 65000);
	struct buf frames[70] = { 0 };
	cleanup_close int fd = -1;

	(void)state;
	put_start(&frames[0]);
	for (size_t i = 1; i < ARRAY_SIZE(frames); i++)
		put(&frames[i], TRACE_NOTE, TRACE_MORE, 65000, piece, 65000);
	fd = forge(frames, ARRAY_SIZE(frames));
	expect_refusal(fd, "TR-6");
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		buf_done(&frames[i]);
}

static void TR_6_long_records_are_split_and_joined(void **state)
{
	static const size_t sizes[] = { 0,	1,	65479,	 65480,		  65481,
					130960, 130961, 1000000, TRACE_RECORD_MAX };
	cleanup_close int fd = new_file();
	struct trace_writer *w = new_writer(fd);
	cleanup_trace_reader struct trace_reader *r = NULL;
	cleanup_free char *bytes = malloc(TRACE_RECORD_MAX + 1);
	struct trace_record record;

	(void)state;
	for (size_t i = 0; i <= TRACE_RECORD_MAX; i++)
		bytes[i] = (char)(i * 31 >> 3);
	assert_int_equal(trace_writer_add(w, TRACE_START, bytes, 300000, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_int_equal(trace_writer_add(w, TRACE_NOTE, bytes, sizes[i], NULL), 0);
	assert_int_equal(trace_writer_add(w, TRACE_NOTE, bytes, TRACE_RECORD_MAX + 1, NULL),
			 -EFBIG);
	assert_int_equal(trace_writer_add(w, TRACE_EVENT, bytes, 65481, NULL), -EFBIG);
	assert_int_equal(trace_writer_add(w, TRACE_END, bytes, 200000, NULL), 0);
	trace_writer_free(w);
	assert_int_equal(trace_reader_new(fd, &r, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.len, 300000);
	assert_memory_equal(record.bytes, bytes, record.len);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(trace_reader_next(r, &record, NULL), 1);
		assert_int_equal(record.type, TRACE_NOTE);
		assert_int_equal(record.len, sizes[i]);
		if (record.len > 0)
			assert_memory_equal(record.bytes, bytes, record.len);
	}
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_true(trace_reader_ended(r));
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
}

static void TR_7_start_comes_first_and_once(void **state)
{
	cleanup_buf struct buf without = { 0 }, twice = { 0 };
	cleanup_close int fd = -1, fd2 = -1, fd3 = new_file();
	cleanup_trace_writer struct trace_writer *w = new_writer(fd3);

	(void)state;
	put(&without, TRACE_EVENT, 0, 8, "12345678", 8);
	fd = forge(&without, 1);
	expect_refusal(fd, "TR-7");
	put_start(&twice);
	put_start(&twice);
	fd2 = forge(&twice, 1);
	expect_refusal(fd2, "TR-7");
	assert_int_equal(trace_writer_add(w, TRACE_EVENT, "x", 1, NULL), -EINVAL);
	add(w, TRACE_START, "{}");
	assert_int_equal(trace_writer_add(w, TRACE_START, "{}", 2, NULL), -EINVAL);
	assert_int_equal(trace_writer_add(w, (enum trace_type)9, "{}", 2, NULL), -EINVAL);
	add(w, TRACE_EVENT, "x");
}

static void TR_8_nothing_follows_end(void **state)
{
	cleanup_close int fd = write_trace(NULL, NULL);
	cleanup_close int fd2 = -1, fd3 = -1, fd4 = new_file();
	cleanup_trace_writer struct trace_writer *w = new_writer(fd4);
	struct buf frames[2] = { 0 };

	(void)state;
	lseek(fd, 0, SEEK_END);
	assert_int_equal(fsio_write_all(fd, "x", 1), 0);
	{
		struct weir_err e = { 0 };
		unsigned int count;
		bool ended;

		assert_int_equal(read_all(fd, &count, &ended, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "TR-8"));
	}
	put_start(&frames[0]);
	put(&frames[0], TRACE_END, 0, 2, "{}\0\0\0\0\0\0", 8);
	put(&frames[0], TRACE_NOTE, 0, 2, "{}\0\0\0\0\0\0", 8);
	fd2 = forge(frames, 1);
	expect_refusal(fd2, "TR-8");
	buf_done(&frames[0]);
	put_start(&frames[0]);
	put(&frames[0], TRACE_END, 0, 2, "{}\0\0\0\0\0\0", 8);
	put(&frames[1], TRACE_NOTE, 0, 2, "{}\0\0\0\0\0\0", 8);
	fd3 = forge(frames, 2);
	{
		struct weir_err e = { 0 };
		unsigned int count;
		bool ended;

		assert_int_equal(read_all(fd3, &count, &ended, &e), -EBADMSG);
		assert_int_equal(count, 2);
		assert_non_null(strstr(e.text, "TR-8"));
	}
	buf_done(&frames[0]);
	buf_done(&frames[1]);
	add(w, TRACE_START, "{}");
	add(w, TRACE_END, "{}");
	assert_int_equal(trace_writer_add(w, TRACE_NOTE, "{}", 2, NULL), -EINVAL);
}

/* Cut anywhere, a trace is a shorter trace or, within its first bytes, none. */
static void TR_9_every_prefix_is_valid(void **state)
{
	cleanup_close int fd = new_file();
	struct trace_writer *w = new_writer(fd);
	uint64_t size;

	(void)state;
	add(w, TRACE_START, "{\"a\":1}");
	for (int i = 0; i < 3; i++) {
		add(w, TRACE_EVENT, "0123456789");
		assert_int_equal(trace_writer_flush(w, NULL), 0);
	}
	add(w, TRACE_END, "{}");
	size = trace_writer_size(w);
	trace_writer_free(w);
	for (uint64_t cut = size - 1; cut + 1 > 0; cut--) {
		cleanup_trace_reader struct trace_reader *r = NULL;
		struct weir_err e = { 0 };
		struct trace_record record;
		unsigned int count = 0;
		int ret;

		assert_int_equal(ftruncate(fd, (off_t)cut), 0);
		ret = trace_reader_new(fd, &r, &e);
		if (cut < TRACE_MAGIC_SIZE) {
			assert_int_equal(ret, -EBADMSG);
			assert_non_null(strstr(e.text, "TR-9"));
			if (cut == 0)
				break;
			continue;
		}
		assert_int_equal(ret, 0);
		while ((ret = trace_reader_next(r, &record, &e)) == 1)
			count++;
		assert_int_equal(ret, 0);
		assert_false(trace_reader_ended(r));
		assert_int_equal(trace_reader_size(r) + trace_reader_torn(r), cut);
		assert_true(count <= 4);
	}
}

static void TR_9_a_growing_file_can_be_followed(void **state)
{
	cleanup_close int fd = new_file();
	cleanup_trace_writer struct trace_writer *w = new_writer(fd);
	cleanup_trace_reader struct trace_reader *r = NULL;
	cleanup_free char *bytes = calloc(1, 200000);
	struct trace_record record;

	(void)state;
	assert_int_equal(trace_reader_new(fd, &r, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	add(w, TRACE_START, "{}");
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	/* a long record of which only the first frames are in the file */
	assert_int_equal(trace_writer_add(w, TRACE_NOTE, bytes, 200000, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	assert_int_equal(trace_writer_flush(w, NULL), 0);
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(record.type, TRACE_NOTE);
	assert_int_equal(record.len, 200000);
	add(w, TRACE_END, "{}");
	assert_int_equal(trace_reader_next(r, &record, NULL), 1);
	assert_int_equal(trace_reader_next(r, &record, NULL), 0);
	assert_true(trace_reader_ended(r));
}

static void TR_10_nothing_is_handed_out_before_its_chain_is_checked(void **state)
{
	cleanup_close int fd = write_trace(NULL, NULL);
	struct weir_err e = { 0 };
	unsigned int count;
	uint64_t at[64];
	bool ended;

	(void)state;
	find_frames(fd, at, 64);
	patch(fd, at[2] - DIGEST_SIZE - 1, "!", 1); /* the last byte of frame 1's records */
	assert_int_equal(read_all(fd, &count, &ended, &e), -EBADMSG);
	assert_int_equal(count, 1); /* START, alone in frame 0 */
}

static void a_full_disk_ends_the_trace_for_good(void **state)
{
	char path[] = "/tmp/t_trace.XXXXXX";
	cleanup_close int fd = mkstemp(path);
	struct trace_writer *w = new_writer(fd);
	struct rlimit old, small = { 100000, 100000 };
	struct weir_err e = { 0 };
	char bytes[EVENT_SIZE + 1];
	unsigned int count;
	int err = 0;
	bool ended;

	(void)state;
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	add(w, TRACE_START, "{}");
	for (unsigned int i = 0; i < EVENTS && err == 0; i++) {
		event_bytes(i, bytes);
		err = trace_writer_add(w, TRACE_EVENT, bytes, EVENT_SIZE, &e);
	}
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	assert_non_null(strstr(e.text, "trace: writing at byte "));
	assert_int_equal(trace_writer_add(w, TRACE_END, "{}", 2, &e), -EFBIG);
	assert_int_equal(trace_writer_sync(w, &e), -EFBIG);
	assert_int_equal(lseek(fd, 0, SEEK_END), trace_writer_size(w));
	trace_writer_free(w);
	assert_int_equal(read_all(fd, &count, &ended, &e), 0);
	assert_true(count > 200);
	assert_false(ended);
}

static void only_empty_regular_files_are_written(void **state)
{
	cleanup_close int fd = new_file(), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct trace_writer *w = NULL;

	(void)state;
	assert_int_equal(trace_writer_new(full, &w, NULL), -EINVAL);
	assert_int_equal(fsio_write_all(fd, "x", 1), 0);
	assert_int_equal(trace_writer_new(fd, &w, NULL), -EEXIST);
	assert_null(w);
}

/* SIGKILL at some moment while records are being written. */
static void a_killed_writer_leaves_a_valid_prefix(void **state)
{
	(void)state;
	for (int round = 0; round < 8; round++) {
		cleanup_close int fd = new_file();
		struct weir_err e = { 0 };
		unsigned int count;
		struct stat st;
		pid_t pid = fork();
		bool ended;

		if (pid == 0) {
			struct trace_writer *w = NULL;
			char bytes[EVENT_SIZE + 1];

			trace_writer_new(fd, &w, NULL);
			trace_writer_add(w, TRACE_START, "{}", 2, NULL);
			for (unsigned int i = 0;; i++) {
				event_bytes(i, bytes);
				trace_writer_add(w, TRACE_EVENT, bytes, EVENT_SIZE, NULL);
			}
		}
		do {
			usleep(300);
			fstat(fd, &st);
		} while (st.st_size < 200000 + round * 70000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(read_all(fd, &count, &ended, &e), 0);
		assert_true(count > 500);
		assert_false(ended);
	}
}

static void types_have_names(void **state)
{
	(void)state;
	assert_string_equal(trace_type_name(TRACE_START), "start");
	assert_string_equal(trace_type_name(TRACE_END), "end");
	assert_string_equal(trace_type_name(0), "unknown");
	assert_string_equal(trace_type_name(77), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_back_as_they_were),
		cmocka_unit_test(TR_1_a_file_starts_with_its_magic),
		cmocka_unit_test(TR_2_heads_of_frames_are_checked),
		cmocka_unit_test(TR_3_a_frame_taken_out_repeated_or_moved),
		cmocka_unit_test(TR_4_the_chain_binds_frames_to_their_place),
		cmocka_unit_test(TR_4_every_changed_byte_is_seen),
		cmocka_unit_test(TR_5_records_lie_within_their_frame),
		cmocka_unit_test(TR_5_padding_is_zero),
		cmocka_unit_test(TR_6_types_and_flags_are_known),
		cmocka_unit_test(TR_6_a_split_record_goes_on_with_its_type),
		cmocka_unit_test(TR_6_a_split_record_has_a_bound),
		cmocka_unit_test(TR_6_long_records_are_split_and_joined),
		cmocka_unit_test(TR_7_start_comes_first_and_once),
		cmocka_unit_test(TR_8_nothing_follows_end),
		cmocka_unit_test(TR_9_every_prefix_is_valid),
		cmocka_unit_test(TR_9_a_growing_file_can_be_followed),
		cmocka_unit_test(TR_10_nothing_is_handed_out_before_its_chain_is_checked),
		cmocka_unit_test(a_full_disk_ends_the_trace_for_good),
		cmocka_unit_test(only_empty_regular_files_are_written),
		cmocka_unit_test(a_killed_writer_leaves_a_valid_prefix),
		cmocka_unit_test(types_have_names),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
