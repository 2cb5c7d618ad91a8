/* SPDX-License-Identifier: MIT */
/*
 * Packs and their indexes from an enemy: two bytes of length, the index, the pack. Invariants: only
 * what was asked for comes, no more of it than was said, and success means all of it.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "user/base/fsio.h"
#include "writeback/packread.h"

static int add_up(const void *data, size_t len, void *arg)
{
	uint64_t *sum = arg;

	FUZZ_REQUIRE(data && len > 0);
	*sum += len;
	return 0;
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);

	FUZZ_REQUIRE(fd >= 0 && fsio_write_all(fd, data, size) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char ids[][PACK_ID] = { { 0x42, 1, 2 }, { 0 }, { 0xff, 0xff } };
	uint64_t offset, sum;
	size_t cut;
	int idx, pack;

	if (size < 2)
		return 0;
	cut = (size_t)data[0] << 8 | data[1];
	data += 2;
	size -= 2;
	cut = cut < size ? cut : size;
	idx = file_of(data, cut);
	pack = file_of(data + cut, size - cut);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (packread_find(idx, ids[i], &offset) < 0)
			offset = 12;
		for (uint64_t want = 0; want < 70000; want = want * 3 + 5) {
			int err;

			sum = 0;
			err = packread_stream(pack, offset, want, add_up, &sum);
			FUZZ_REQUIRE(sum <= want && (err < 0 || sum == want));
		}
	}
	close(idx);
	close(pack);
	return 0;
}
