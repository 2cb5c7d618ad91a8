/* SPDX-License-Identifier: MIT */
#include "writeback/ledgertile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"

#define SLOTS 8u

struct slot {
	unsigned int level;
	unsigned int width; /* 0: empty */
	uint64_t index;
	struct merkle_hash hashes[MERKLE_TILE];
};

struct ledger_cache {
	unsigned int next;
	struct slot slots[SLOTS];
};

struct ledger_cache *ledgertile_cache_new(void)
{
	return calloc(1, sizeof(struct ledger_cache));
}

/* Hashes at a level of tiles in a log of this size. */
static uint64_t level_count(uint64_t size, unsigned int level)
{
	return level < MERKLE_LEVELS ? size >> (8 * level) : 0;
}

/* Width of a tile in a log of this size, 0 for none. */
static unsigned int tile_width(uint64_t size, unsigned int level, uint64_t index)
{
	uint64_t count = level_count(size, level), from = index * MERKLE_TILE;

	if (count <= from)
		return 0;
	return count - from >= MERKLE_TILE ? MERKLE_TILE : (unsigned int)(count - from);
}

/* A file as wide as asked for; the full one serves where the partial one is gone. */
static int read_file(const struct ledger *l, int level, uint64_t index, unsigned int width,
		     size_t max, struct buf *ret_bytes)
{
	char path[TLOG_PATH_MAX];
	int err = tlog_path(level, index, width, path);

	if (err == 0)
		err = fsio_read_file(l->dir, path, max, ret_bytes, NULL);
	if (err != -ENOENT || width == MERKLE_TILE)
		return err;
	err = tlog_path(level, index, MERKLE_TILE, path);
	return err < 0 ? err : fsio_read_file(l->dir, path, max, ret_bytes, NULL);
}

static int fill_slot(const struct ledger *l, struct slot *s)
{
	cleanup_buf struct buf bytes = { 0 };
	int err = read_file(l, (int)s->level, s->index, s->width, sizeof(s->hashes), &bytes);

	if (err != 0)
		return err == -EFBIG ? -EBADMSG : err;
	if (bytes.len != s->width * DIGEST_SIZE && bytes.len != sizeof(s->hashes))
		return -EBADMSG;
	memcpy(s->hashes, bytes.data, s->width * DIGEST_SIZE);
	return 0;
}

int ledgertile_read(void *arg, unsigned int level, uint64_t index, struct merkle_hash *ret_hash)
{
	const struct ledger_view *v = arg;
	struct ledger_cache *c = v->ledger->cache;
	uint64_t tile = index / MERKLE_TILE;
	unsigned int width = tile_width(v->size, level, tile);
	struct slot *s;
	int err;

	if (index % MERKLE_TILE >= width)
		return -ENOENT;
	for (unsigned int i = 0; i < SLOTS; i++) {
		s = &c->slots[i];
		if (s->width != width || s->level != level || s->index != tile)
			continue;
		*ret_hash = s->hashes[index % MERKLE_TILE];
		return 0;
	}
	s = &c->slots[c->next++ % SLOTS];
	*s = (struct slot){ .level = level, .width = width, .index = tile };
	err = fill_slot(v->ledger, s);
	if (err < 0)
		s->width = 0;
	else
		*ret_hash = s->hashes[index % MERKLE_TILE];
	return err;
}

int ledgertile_bundle(const struct ledger_view *v, uint64_t index, struct buf *ret_bytes,
		      struct tlog_entry ret_entries[MERKLE_TILE])
{
	uint64_t tile = index / MERKLE_TILE;
	unsigned int width = tile_width(v->size, 0, tile);
	int err;

	if (index % MERKLE_TILE >= width)
		return -ENOENT;
	err = read_file(v->ledger, TLOG_ENTRIES, tile, width, TLOG_BUNDLE_MAX, ret_bytes);
	if (err < 0)
		return err == -EFBIG ? -EBADMSG : err;
	err = tlog_bundle_parse(ret_bytes->data, ret_bytes->len, width, ret_entries);
	return err < 0 ? tlog_bundle_parse(ret_bytes->data, ret_bytes->len, MERKLE_TILE,
					   ret_entries)
		       : 0;
}

static int sync_dir(int dir, const char *path)
{
	cleanup_close int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Directories above a tile; a new one is synced into its parent. */
static int make_parents(int dir, const char *path)
{
	char copy[TLOG_PATH_MAX];
	char *last = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		int err = 0;

		*slash = '\0';
		if (mkdirat(dir, copy, 0755) == 0) {
			if (last)
				*last = '\0';
			err = sync_dir(dir, last ? copy : ".");
			if (last)
				*last = '/';
		} else if (errno != EEXIST) {
			return -errno;
		}
		*slash = '/';
		last = slash;
		if (err < 0)
			return err;
	}
	return 0;
}

static int write_file(const struct ledger *l, int level, uint64_t index, unsigned int width,
		      const void *data, size_t len)
{
	char path[TLOG_PATH_MAX];
	int err = tlog_path(level, index, width, path);

	if (err == 0)
		err = make_parents(l->dir, path);
	return err < 0 ? err : fsio_replace(l->dir, path, data, len, 0644, NULL);
}

/* The last bundle must be what the last tile of hashes says, else nothing is built on it. */
static int check_bundle(const struct ledger_view *v, const struct tlog_entry *entries,
			uint64_t first, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct merkle_hash want, have;
		int err = ledgertile_read((void *)(uintptr_t)v, 0, first + i, &want);

		if (err == 0)
			err = merkle_leaf(entries[i].data, entries[i].len, &have);
		if (err < 0)
			return err;
		if (!merkle_equal(&want, &have))
			return -EBADMSG;
	}
	return 0;
}

static int add_bundle(const struct ledger *l, const void *entry, size_t len)
{
	const struct ledger_view now = { l, l->checkpoint.size };
	unsigned int have = (unsigned int)(now.size % MERKLE_TILE);
	struct tlog_entry entries[MERKLE_TILE];
	cleanup_buf struct buf bytes = { 0 };
	uint64_t first = now.size - have;
	int err = 0;

	if (have > 0) {
		err = ledgertile_bundle(&now, now.size - 1, &bytes, entries);
		if (err == 0)
			err = check_bundle(&now, entries, first, have);
		/* of a full bundle that a crash left, only what the log has counts */
		if (err == 0)
			bytes.len = (size_t)(entries[have - 1].data + entries[have - 1].len -
					     bytes.data);
	}
	if (err == 0)
		err = tlog_bundle_add(&bytes, entry, len);
	return err < 0 ? err
		       : write_file(l, TLOG_ENTRIES, first / MERKLE_TILE, have + 1, bytes.data,
				    bytes.len);
}

/* One hash more at a level; a tile that is full by it gives one hash more to the next. */
static int add_hash(const struct ledger *l, unsigned int level, struct merkle_hash *hash,
		    bool *ret_full)
{
	const struct ledger_view now = { l, l->checkpoint.size };
	uint64_t count = level_count(now.size, level);
	unsigned int have = (unsigned int)(count % MERKLE_TILE);
	struct merkle_hash tile[MERKLE_TILE];
	int err = 0;

	for (unsigned int i = 0; err == 0 && i < have; i++)
		err = ledgertile_read((void *)(uintptr_t)&now, level, count - have + i, &tile[i]);
	if (err < 0)
		return err;
	tile[have++] = *hash;
	err = write_file(l, (int)level, count / MERKLE_TILE, have, tile, have * DIGEST_SIZE);
	*ret_full = have == MERKLE_TILE;
	for (unsigned int n = MERKLE_TILE; err == 0 && *ret_full && n > 1; n /= 2)
		for (unsigned int i = 0; err == 0 && i < n / 2; i++)
			err = merkle_node(&tile[2 * i], &tile[2 * i + 1], &tile[i]);
	*hash = tile[0];
	return err;
}

int ledgertile_add(const struct ledger *l, const void *entry, size_t len)
{
	struct merkle_hash hash;
	bool full = true;
	int err = merkle_leaf(entry, len, &hash);

	if (err == 0)
		err = add_bundle(l, entry, len);
	for (unsigned int level = 0; err == 0 && full; level++)
		err = add_hash(l, level, &hash, &full);
	/* a file of the same name that a crash left may be in the cache */
	memset(l->cache, 0, sizeof(*l->cache));
	return err;
}

static void drop_partials(const struct ledger *l, int level, uint64_t index)
{
	char path[TLOG_PATH_MAX], partials[TLOG_PATH_MAX + 3];

	if (tlog_path(level, index, MERKLE_TILE, path) < 0)
		return;
	snprintf(partials, sizeof(partials), "%s.p", path);
	fsio_remove_tree(l->dir, partials, NULL);
}

void ledgertile_drop_partials(const struct ledger *l)
{
	uint64_t count = l->checkpoint.size;

	if (count > 0 && count % MERKLE_TILE == 0)
		drop_partials(l, TLOG_ENTRIES, count / MERKLE_TILE - 1);
	for (int level = 0; count > 0 && count % MERKLE_TILE == 0; level++) {
		count /= MERKLE_TILE;
		drop_partials(l, level, count - 1);
	}
}
