/* SPDX-License-Identifier: MIT */
#include "writeback/baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/cleanup.h"
#include "writeback/changes.h"

void baseline_done(struct baseline *b)
{
	free(b->items);
	digest_free(b->digest);
	*b = (struct baseline){ 0 };
}

int baseline_add(struct baseline *b, uint32_t mode, uint64_t size,
		 const unsigned char sha256[DIGEST_SIZE], const char *path, size_t len)
{
	char hex[DIGEST_HEX], head[32 + DIGEST_HEX];
	struct digest *d;
	int n;

	if (!b->digest)
		b->digest = digest_new();
	d = b->digest;
	if (b->count == b->cap) {
		size_t cap = b->cap ? b->cap * 2 : 256;
		void *items = reallocarray(b->items, cap, sizeof(*b->items));

		if (!items)
			return -ENOMEM;
		b->items = items;
		b->cap = cap;
	}
	digest_hex(sha256, DIGEST_SIZE, hex);
	n = snprintf(head, sizeof(head), "%o %" PRIu64 " %s ", mode, size, hex);
	if (!d || digest_add(d, head, (size_t)n) < 0 || digest_add(d, path, len) < 0 ||
	    digest_end(d, b->items[b->count]) < 0)
		return -EIO;
	b->count++;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, DIGEST_SIZE);
}

int baseline_end(struct baseline *b, char ret_hex[DIGEST_HEX])
{
	unsigned char hash[DIGEST_SIZE];
	int err;

	if (b->count > 0)
		qsort(b->items, b->count, sizeof(*b->items), by_bytes);
	err = digest_bytes(b->count ? (const void *)b->items : "", b->count * sizeof(*b->items),
			   hash);
	if (err == 0)
		digest_hex(hash, sizeof(hash), ret_hex);
	return err;
}

int baseline_of(const struct manifest *m, char ret_hex[DIGEST_HEX])
{
	cleanup_baseline struct baseline b = { 0 };
	int err = 0;

	for (size_t i = 0; err == 0 && i < m->count; i++) {
		const struct manifest_row *row = &m->rows[i];

		/* what git can't hold has mode 0, and so is not in any commit's */
		if (!S_ISDIR(row->mode))
			err = baseline_add(&b, change_git_mode(row->mode), row->size, row->sha256,
					   m->paths + row->path, row->path_len);
	}
	return err < 0 ? err : baseline_end(&b, ret_hex);
}
