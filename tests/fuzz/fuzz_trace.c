/* SPDX-License-Identifier: MIT */
/*
 * Trace files from an enemy. The first byte of the input chooses:
 *   even  the rest is the file as it is;
 *   odd   the rest is records: they are put into frames with a right chain, as somebody
 *         who forges a trace would, at most (first byte / 2 + 1) * 8 bytes to a frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "user/base/fsio.h"
#include "user/event/verdict.h"
#include "user/trace/reader.h"

static void add_frame(int fd, unsigned char chain[DIGEST_SIZE], uint64_t number,
		      const uint8_t *data, size_t size)
{
	struct trace_frame_head head = {
		.magic = TRACE_FRAME_MAGIC,
		.length = (uint32_t)size,
		.number = number,
	};
	struct digest *d = digest_new();

	FUZZ_REQUIRE(d && digest_add(d, chain, DIGEST_SIZE) == 0 &&
		     digest_add(d, &head, sizeof(head)) == 0 && digest_add(d, data, size) == 0 &&
		     digest_end(d, chain) == 0);
	digest_free(d);
	FUZZ_REQUIRE(fsio_write_all(fd, &head, sizeof(head)) == 0 &&
		     fsio_write_all(fd, data, size) == 0 &&
		     fsio_write_all(fd, chain, DIGEST_SIZE) == 0);
}

static void write_forged(int fd, size_t step, const uint8_t *data, size_t size)
{
	unsigned char chain[DIGEST_SIZE];

	digest_bytes(TRACE_MAGIC, TRACE_MAGIC_SIZE, chain);
	FUZZ_REQUIRE(fsio_write_all(fd, TRACE_MAGIC, TRACE_MAGIC_SIZE) == 0);
	size -= size % 8;
	for (uint64_t number = 0; size > 0; number++) {
		size_t len = size < step ? size : step;

		add_frame(fd, chain, number, data, len);
		data += len;
		size -= len;
	}
}

static void read_back(int fd, uint64_t size)
{
	struct verdict *v = calloc(1, sizeof(*v));
	struct trace_reader *r = NULL;
	struct weir_err e = { 0 };
	struct trace_record record;
	uint64_t last = 0;
	int ret = trace_reader_new(fd, &r, &e);

	FUZZ_REQUIRE(v);
	while (ret >= 0 && (ret = trace_reader_next(r, &record, &e)) == 1) {
		FUZZ_REQUIRE(record.offset > last && record.offset < size);
		FUZZ_REQUIRE(record.len <= TRACE_RECORD_MAX);
		last = record.offset;
		verdict_add(v, record.type, record.bytes, record.len);
	}
	if (ret < 0)
		FUZZ_REQUIRE(ret == -EBADMSG && strstr(e.text, "TR-"));
	else
		FUZZ_REQUIRE(trace_reader_size(r) + trace_reader_torn(r) == size);
	if (!r || !trace_reader_ended(r))
		FUZZ_REQUIRE(verdict_finish(v) != VERDICT_CLEAN);
	trace_reader_free(r);
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("trace", MFD_CLOEXEC);
	FUZZ_REQUIRE(fd >= 0);
	if (data[0] % 2 == 0)
		FUZZ_REQUIRE(fsio_write_all(fd, data + 1, size - 1) == 0);
	else
		write_forged(fd, ((size_t)data[0] / 2 + 1) * 8, data + 1, size - 1);
	read_back(fd, (uint64_t)lseek(fd, 0, SEEK_END));
	close(fd);
	return 0;
}
