/* SPDX-License-Identifier: MIT */
/* Runs a fuzzer's entry point over the files given as arguments: the corpus as a test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "user/base/buf.h"
#include "user/base/fsio.h"

#define INPUT_MAX ((size_t)16 << 20)

static int replay(const char *path)
{
	struct weir_err e = { 0 };
	struct buf b = { 0 };
	uint8_t *copy;

	if (fsio_read_file(AT_FDCWD, path, INPUT_MAX, &b, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	/* an exact copy, so that a read past the end is seen */
	copy = malloc(b.len ? b.len : 1);
	if (!copy)
		return 1;
	if (b.len > 0)
		memcpy(copy, b.data, b.len);
	LLVMFuzzerTestOneInput(copy, b.len);
	free(copy);
	buf_done(&b);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed += replay(argv[i]);
	printf("%d inputs replayed, %d unreadable\n", argc - 1 - failed, failed);
	return failed > 0;
}
