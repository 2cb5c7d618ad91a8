/* SPDX-License-Identifier: MIT */
/*
 * Manifests as hostile bytes. What the reader accepts must come out of the writer
 * byte for byte: each state has one spelling.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "user/base/fsio.h"
#include "user/tree/compare.h"

/* Reads all entries; copies them to w if there is one. Returns as the reader does. */
static int read_all(struct manifest_reader *r, struct manifest_writer *w, struct weir_err *e)
{
	struct tree_entry entry;
	int err;

	while ((err = manifest_reader_next(r, &entry, e)) > 0)
		if (w && manifest_writer_add(w, &entry, NULL) < 0)
			abort();
	return err;
}

static void check_copy(const uint8_t *data, size_t size, struct manifest_reader *r,
		       const struct manifest_summary *s, int fd)
{
	struct buf b = { 0 };
	struct manifest_reader *again = NULL, *one = NULL, *two = NULL;
	struct manifest_writer *w = NULL;
	struct manifest_summary copy;
	struct tree_changes c = { 0 };

	if (manifest_reader_new_bytes(data, size, "m", &again, NULL) < 0 ||
	    manifest_writer_new(fd, manifest_reader_taken_ns(r), manifest_reader_tick_ns(r), &w,
				NULL) < 0 ||
	    read_all(again, w, NULL) != 0 || manifest_writer_end(w, &copy, NULL) < 0)
		abort();
	lseek(fd, 0, SEEK_SET);
	if (fsio_read_fd(fd, size + 1, &b) < 0 || b.len != size ||
	    memcmp(b.data, data, size) != 0 || memcmp(copy.sha256, s->sha256, DIGEST_SIZE) != 0 ||
	    copy.bytes != size)
		abort();
	if (manifest_reader_new_bytes(data, size, "m", &one, NULL) < 0 ||
	    manifest_reader_new_bytes(data, size, "m", &two, NULL) < 0 ||
	    tree_compare_manifests(one, two, ~0u, &c, NULL) != 0 || c.count != 0)
		abort();
	tree_changes_done(&c);
	manifest_reader_free(again);
	manifest_reader_free(one);
	manifest_reader_free(two);
	manifest_writer_free(w);
	buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest_reader *r = NULL;
	struct manifest_summary s;
	struct weir_err e = { 0 };
	int fd, err = manifest_reader_new_bytes(data, size, "m", &r, &e);

	if (err == 0)
		err = read_all(r, NULL, &e);
	if (err < 0) {
		if (strncmp(e.text, "m:", 2) != 0 || strcmp(e.code, "manifest-bad") != 0)
			abort();
		manifest_reader_free(r);
		return 0;
	}
	manifest_reader_summary(r, &s);
	fd = memfd_create("m", MFD_CLOEXEC);
	if (fd >= 0) {
		check_copy(data, size, r, &s, fd);
		close(fd);
	}
	manifest_reader_free(r);
	return 0;
}
