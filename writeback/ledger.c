/* SPDX-License-Identifier: MIT */
#include "writeback/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/ledgertile.h"
#include "writeback/reason.h"

void ledger_close(struct ledger *l)
{
	if (l->dir >= 0)
		close(l->dir);
	free(l->path);
	free(l->cache);
	buf_done(&l->note);
	*l = (struct ledger){ .dir = -1 };
}

static int damaged(const struct ledger *l, struct weir_err *e, const char *what)
{
	return refuse(e, REASON_LEDGER, "%s: %s", l->path, what);
}

/* What reading tiles gives is either an errno or "this is not the log". */
static int judge(const struct ledger *l, int err, struct weir_err *e, const char *what)
{
	if (err == -EBADMSG || err == -ENOENT || err == -EINVAL)
		return damaged(l, e, what);
	return err < 0 ? err_errno(e, err, "ledger %s", l->path) : 0;
}

static int write_checkpoint(struct ledger *l, const struct tlog_checkpoint *c,
			    const unsigned char seed[ED25519_SEED], struct weir_err *e)
{
	cleanup_buf struct buf note = { 0 };
	int err = tlog_checkpoint_sign(c, &l->key, seed, &note);

	if (err < 0)
		return err_errno(e, err, "signing the ledger's checkpoint");
	err = fsio_replace(l->dir, LEDGER_CHECKPOINT, note.data, note.len, 0644, e);
	if (err < 0)
		return err_wrap(e, "ledger %s", l->path);
	l->checkpoint = *c;
	l->note.len = 0;
	return buf_add(&l->note, note.data, note.len) < 0
		       ? err_errno(e, -ENOMEM, "ledger %s", l->path)
		       : 0;
}

static int start(const char *path, const struct note_key *k, struct ledger *l, struct weir_err *e)
{
	*l = (struct ledger){ .dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .key = *k };
	if (l->dir < 0)
		return refuse(e, REASON_LEDGER, "%s: %s", path, strerror(errno));
	l->path = strdup(path);
	l->cache = ledgertile_cache_new();
	return l->path && l->cache ? 0 : err_errno(e, -ENOMEM, "ledger %s", path);
}

int ledger_create(const char *path, const struct note_key *k,
		  const unsigned char seed[ED25519_SEED], struct weir_err *e)
{
	cleanup_ledger struct ledger l = { .dir = -1 };
	struct tlog_checkpoint empty = { 0 };
	int err = start(path, k, &l, e);

	if (err == 0 && digest_bytes("", 0, empty.root.bytes) < 0)
		err = err_errno(e, -EIO, "ledger %s", path);
	return err < 0 ? err : write_checkpoint(&l, &empty, seed, e);
}

static int check_root(struct ledger *l, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	const struct merkle_source source = { ledgertile_read, &now };
	struct merkle_hash root;
	int err = merkle_root(&source, now.size, &root);

	if (err < 0)
		return judge(l, err, e, "a tile is missing or damaged");
	if (!merkle_equal(&root, &l->checkpoint.root))
		return damaged(l, e, "its tiles have another root than its checkpoint");
	return 0;
}

int ledger_open(const char *path, const struct note_key *k, struct ledger *ret_ledger,
		struct weir_err *e)
{
	struct ledger *l = ret_ledger;
	struct weir_err cause = { 0 };
	int err = start(path, k, l, e);

	if (err == 0 && fsio_read_file(l->dir, LEDGER_CHECKPOINT, NOTE_MAX, &l->note, &cause) < 0)
		err = damaged(l, e, cause.text);
	if (err == 0 &&
	    tlog_checkpoint_open(k, buf_str(&l->note), l->note.len, &l->checkpoint, &cause) < 0)
		err = damaged(l, e, cause.text);
	if (err == 0)
		err = check_root(l, e);
	if (err < 0)
		ledger_close(l);
	return err;
}

int ledger_check_prefix(struct ledger *l, const struct tlog_checkpoint *old, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	const struct merkle_source source = { ledgertile_read, &now };
	struct merkle_path path;
	int err;

	if (old->size > l->checkpoint.size)
		return refuse(e, REASON_LEDGER_ROLLED_BACK,
			      "%s has %llu entries, and had %llu before", l->path,
			      (unsigned long long)l->checkpoint.size,
			      (unsigned long long)old->size);
	err = merkle_prove_consistency(&source, old->size, l->checkpoint.size, &path);
	if (err == 0)
		err = merkle_check_consistency(old->size, &old->root, l->checkpoint.size,
					       &l->checkpoint.root, &path);
	if (err == -EBADMSG)
		return refuse(e, REASON_LEDGER_ROLLED_BACK,
			      "the first %llu entries of %s are not those it had before",
			      (unsigned long long)old->size, l->path);
	return judge(l, err, e, "a tile is missing or damaged");
}

int ledger_check_follows(struct ledger *l, const char *note, size_t len, struct weir_err *e)
{
	struct tlog_checkpoint old;
	struct weir_err cause = { 0 };

	if (tlog_checkpoint_open(&l->key, note, len, &old, &cause) < 0)
		return refuse(e, REASON_LEDGER, "the kept copy of %s's checkpoint: %s", l->path,
			      cause.text);
	return ledger_check_prefix(l, &old, e);
}

/* The log of size + 1 that the tiles hold by now must go on from the signed one. */
static int check_next(const struct ledger *l, struct tlog_checkpoint *next, struct weir_err *e)
{
	struct ledger_view then = { l, next->size };
	const struct merkle_source source = { ledgertile_read, &then };
	const struct tlog_checkpoint *old = &l->checkpoint;
	struct merkle_path path;
	int err = merkle_root(&source, next->size, &next->root);

	if (err == 0)
		err = merkle_prove_consistency(&source, old->size, next->size, &path);
	if (err == 0)
		err = merkle_check_consistency(old->size, &old->root, next->size, &next->root,
					       &path);
	return judge(l, err, e, "the new tiles do not go on from the old ones");
}

int ledger_append(struct ledger *l, const unsigned char seed[ED25519_SEED], const void *entry,
		  size_t len, uint64_t *ret_index, struct weir_err *e)
{
	struct tlog_checkpoint next = { .size = l->checkpoint.size + 1 };
	int err = ledgertile_add(l, entry, len);

	if (err < 0)
		return judge(l, err, e, "the last bundle of entries is damaged");
	err = check_next(l, &next, e);
	if (err == 0)
		err = write_checkpoint(l, &next, seed, e);
	if (err < 0)
		return err;
	*ret_index = next.size - 1;
	ledgertile_drop_partials(l);
	return 0;
}

int ledger_cosign(struct ledger *l, const struct note_key *k,
		  const unsigned char seed[ED25519_SEED], struct weir_err *e)
{
	struct tlog_checkpoint same;
	int err;

	if (tlog_checkpoint_open(k, buf_str(&l->note), l->note.len, &same, NULL) == 0)
		return 0;
	err = note_cosign(k, seed, &l->note);
	if (err < 0)
		return err_errno(e, err, "signing the ledger's checkpoint");
	return fsio_replace(l->dir, LEDGER_CHECKPOINT, l->note.data, l->note.len, 0644, e);
}

int ledger_read(struct ledger *l, uint64_t index, struct buf *ret_entry, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	const struct merkle_source source = { ledgertile_read, &now };
	struct tlog_entry entries[MERKLE_TILE], *found = &entries[index % MERKLE_TILE];
	cleanup_buf struct buf bytes = { 0 };
	struct merkle_path path;
	struct merkle_hash leaf;
	int err;

	if (index >= now.size)
		return -ENOENT;
	err = ledgertile_bundle(&now, index, &bytes, entries);
	if (err == 0)
		err = merkle_leaf(found->data, found->len, &leaf);
	if (err == 0)
		err = merkle_prove_inclusion(&source, index, now.size, &path);
	if (err == 0)
		err = merkle_check_inclusion(&leaf, index, now.size, &path, &l->checkpoint.root);
	if (err < 0)
		return judge(l, err, e, "an entry is missing or damaged");
	return buf_add(ret_entry, found->data, found->len) < 0
		       ? err_errno(e, -ENOMEM, "ledger %s", l->path)
		       : 0;
}

int ledger_prove(struct ledger *l, uint64_t index, struct buf *ret_proof, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	const struct merkle_source source = { ledgertile_read, &now };
	struct merkle_path path;
	struct merkle_hash leaf;
	int err = ledgertile_read(&now, 0, index, &leaf);

	if (err == 0)
		err = merkle_prove_inclusion(&source, index, now.size, &path);
	if (err == 0)
		err = merkle_check_inclusion(&leaf, index, now.size, &path, &l->checkpoint.root);
	if (err < 0)
		return judge(l, err, e, "a tile is missing or damaged");
	return tlog_proof_format(index, &path, &l->note, ret_proof) < 0
		       ? err_errno(e, -ENOMEM, "ledger %s", l->path)
		       : 0;
}

int ledger_prove_prefix(struct ledger *l, uint64_t old, struct buf *ret_proof, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	const struct merkle_source source = { ledgertile_read, &now };
	struct merkle_path path;
	int err = merkle_prove_consistency(&source, old, now.size, &path);

	if (err < 0)
		return judge(l, err, e, "a tile is missing or damaged");
	return tlog_consistency_format(old, &path, ret_proof) < 0
		       ? err_errno(e, -ENOMEM, "ledger %s", l->path)
		       : 0;
}

/* Roots of complete subtrees, largest first, as the bits of the number of entries say. */
struct range {
	struct merkle_hash roots[MERKLE_PATH_MAX];
	unsigned int count;
};

static int range_add(struct range *r, uint64_t index, const struct merkle_hash *leaf)
{
	int err = 0;

	r->roots[r->count++] = *leaf;
	for (; err == 0 && (index & 1); index >>= 1) {
		r->count--;
		err = merkle_node(&r->roots[r->count - 1], &r->roots[r->count],
				  &r->roots[r->count - 1]);
	}
	return err;
}

static int range_root(struct range *r, struct merkle_hash *ret_root)
{
	int err = 0;

	if (r->count == 0)
		return digest_bytes("", 0, ret_root->bytes);
	for (; err == 0 && r->count > 1; r->count--)
		err = merkle_node(&r->roots[r->count - 2], &r->roots[r->count - 1],
				  &r->roots[r->count - 2]);
	*ret_root = r->roots[0];
	return err;
}

static int walk_bundle(struct ledger_view *now, uint64_t first, struct range *r, ledger_walk_fn *fn,
		       void *arg, struct weir_err *e)
{
	struct tlog_entry entries[MERKLE_TILE];
	cleanup_buf struct buf bytes = { 0 };
	uint64_t width = now->size - first < MERKLE_TILE ? now->size - first : MERKLE_TILE;
	int err = ledgertile_bundle(now, first, &bytes, entries);

	for (uint64_t i = 0; err == 0 && i < width; i++) {
		struct merkle_hash leaf, tile;

		err = merkle_leaf(entries[i].data, entries[i].len, &leaf);
		if (err == 0)
			err = ledgertile_read(now, 0, first + i, &tile);
		if (err == 0 && !merkle_equal(&leaf, &tile))
			err = -EBADMSG;
		if (err == 0)
			err = range_add(r, first + i, &leaf);
		if (err == 0 && fn) {
			err = fn(first + i, &entries[i], arg, e);
			if (err != 0)
				return err;
		}
	}
	return judge(now->ledger, err, e, "an entry is missing or damaged");
}

int ledger_walk(struct ledger *l, ledger_walk_fn *fn, void *arg, struct weir_err *e)
{
	struct ledger_view now = { l, l->checkpoint.size };
	struct range range = { .count = 0 };
	struct merkle_hash root;
	int err = 0;

	for (uint64_t first = 0; err == 0 && first < now.size; first += MERKLE_TILE)
		err = walk_bundle(&now, first, &range, fn, arg, e);
	if (err != 0)
		return err;
	err = range_root(&range, &root);
	if (err < 0)
		return err_errno(e, err, "ledger %s", l->path);
	return merkle_equal(&root, &l->checkpoint.root)
		       ? 0
		       : damaged(l, e, "its entries have another root than its checkpoint");
}
