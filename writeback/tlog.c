/* SPDX-License-Identifier: MIT */
#include "writeback/tlog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/sshwire.h"

#define PROOF_HEAD "c2sp.org/tlog-proof@v1\n"
#define EXTRA "extra "
#define INDEX "index "
#define OLD "old "
#define HASH_BASE64 44u

int tlog_number(const char **at, const char *end, uint64_t *ret_number)
{
	const char *p = *at;
	uint64_t n = 0;

	if (p >= end || (*p == '0' && (end - p < 2 || p[1] != '\n')))
		return -EBADMSG;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -EBADMSG;
	if (p == *at || p >= end || *p != '\n')
		return -EBADMSG;
	*at = p + 1;
	*ret_number = n;
	return 0;
}

/* A line with the base64 of one hash. */
static int take_hash(const char **at, const char *end, struct merkle_hash *ret_hash)
{
	cleanup_buf struct buf bytes = { 0 };

	if ((size_t)(end - *at) < HASH_BASE64 + 1 || (*at)[HASH_BASE64] != '\n' ||
	    memchr(*at, '\n', HASH_BASE64) || memchr(*at, ' ', HASH_BASE64) ||
	    base64_read(*at, HASH_BASE64, &bytes) < 0 || bytes.len != DIGEST_SIZE)
		return -EBADMSG;
	memcpy(ret_hash->bytes, bytes.data, DIGEST_SIZE);
	*at += HASH_BASE64 + 1;
	return 0;
}

static void add_hash(const struct merkle_hash *h, struct buf *b)
{
	base64_write(h->bytes, DIGEST_SIZE, 0, b);
	buf_add(b, "\n", 1);
}

static bool take_text(const char **at, const char *end, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(end - *at) < len || memcmp(*at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

int tlog_checkpoint_sign(const struct tlog_checkpoint *c, const struct note_key *k,
			 const unsigned char seed[ED25519_SEED], struct buf *ret_note)
{
	cleanup_buf struct buf text = { 0 };

	buf_addf(&text, "%s\n%llu\n", k->name, (unsigned long long)c->size);
	add_hash(&c->root, &text);
	return text.failed ? -ENOMEM : note_sign(k, seed, text.data, text.len, ret_note);
}

/* By the key of now, or one before it. until: entries that it may have signed for. */
static int open_note(const struct note_key *k, const char *note, size_t len, size_t *ret_len,
		     uint64_t *ret_until, struct weir_err *e)
{
	int err = note_open(k, note, len, ret_len, e);

	*ret_until = MERKLE_SIZE_MAX;
	for (unsigned int i = 0; err == -ENOKEY && i < k->old_count; i++) {
		struct note_key old;

		note_key_before(k, i, &old);
		*ret_until = k->old[i].until;
		err = note_open(&old, note, len, ret_len, e);
		if (err == 0 && e)
			*e = (struct weir_err){ 0 };
	}
	return err == -ENOKEY ? -EBADMSG : err;
}

int tlog_checkpoint_open(const struct note_key *k, const char *note, size_t len,
			 struct tlog_checkpoint *ret_checkpoint, struct weir_err *e)
{
	const char *at = note, *end;
	uint64_t until;
	size_t text_len;
	int err = open_note(k, note, len, &text_len, &until, e);

	if (err < 0)
		return err;
	end = note + text_len;
	if (!take_text(&at, end, k->name) || !take_text(&at, end, "\n"))
		return err_set(e, -EBADMSG, "the checkpoint is of another log than %s", k->name);
	if (tlog_number(&at, end, &ret_checkpoint->size) < 0 ||
	    ret_checkpoint->size > MERKLE_SIZE_MAX ||
	    take_hash(&at, end, &ret_checkpoint->root) < 0)
		return err_set(e, -EBADMSG, "the checkpoint's size or root can't be read");
	if (ret_checkpoint->size > until)
		return err_set(
			e, -EBADMSG,
			"the checkpoint of %llu entries is signed with a key that was in use "
			"until %llu",
			(unsigned long long)ret_checkpoint->size, (unsigned long long)until);
	for (; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
		if (*at == '\n')
			return err_set(e, -EBADMSG, "the checkpoint has an empty line");
	return 0;
}

int tlog_path(int level, uint64_t index, unsigned int width, char ret_path[TLOG_PATH_MAX])
{
	char groups[40] = "";
	uint64_t rest = index;
	int len;

	snprintf(groups, sizeof(groups), "%03u", (unsigned int)(rest % 1000));
	while ((rest /= 1000) > 0) {
		char more[sizeof(groups)];

		if (snprintf(more, sizeof(more), "x%03u/%s", (unsigned int)(rest % 1000), groups) >=
		    (int)sizeof(more))
			return -ENAMETOOLONG;
		memcpy(groups, more, sizeof(groups));
	}
	if (level == TLOG_ENTRIES)
		len = snprintf(ret_path, TLOG_PATH_MAX, "tile/entries/%s", groups);
	else
		len = snprintf(ret_path, TLOG_PATH_MAX, "tile/%d/%s", level, groups);
	if (width < MERKLE_TILE)
		len += snprintf(ret_path + len, TLOG_PATH_MAX - (size_t)len, ".p/%u", width);
	return len < (int)TLOG_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int tlog_bundle_parse(const char *data, size_t len, unsigned int width,
		      struct tlog_entry ret_entries[MERKLE_TILE])
{
	if (width > MERKLE_TILE)
		return -EBADMSG;
	for (unsigned int i = 0; i < width; i++) {
		size_t size;

		if (len < 2)
			return -EBADMSG;
		size = (size_t)(unsigned char)data[0] << 8 | (unsigned char)data[1];
		if (len - 2 < size)
			return -EBADMSG;
		ret_entries[i] = (struct tlog_entry){ data + 2, size };
		data += 2 + size;
		len -= 2 + size;
	}
	return len == 0 ? 0 : -EBADMSG;
}

int tlog_bundle_add(struct buf *bundle, const void *entry, size_t len)
{
	unsigned char head[2] = { (unsigned char)(len >> 8), (unsigned char)len };

	if (len > TLOG_ENTRY_MAX)
		return -EFBIG;
	buf_add(bundle, head, sizeof(head));
	return buf_add(bundle, entry, len);
}

int tlog_proof_format(uint64_t index, const struct merkle_path *path, const struct buf *checkpoint,
		      struct buf *ret_text)
{
	buf_addf(ret_text, PROOF_HEAD INDEX "%llu\n", (unsigned long long)index);
	for (unsigned int i = 0; i < path->count; i++)
		add_hash(&path->hashes[i], ret_text);
	buf_add(ret_text, "\n", 1);
	return buf_add(ret_text, checkpoint->data, checkpoint->len);
}

static int take_path(const char **at, const char *end, struct merkle_path *ret_path)
{
	ret_path->count = 0;
	while (*at < end && **at != '\n') {
		if (ret_path->count >= MERKLE_PATH_MAX ||
		    take_hash(at, end, &ret_path->hashes[ret_path->count]) < 0)
			return -EBADMSG;
		ret_path->count++;
	}
	return 0;
}

int tlog_proof_parse(const struct note_key *k, const char *text, size_t len,
		     struct tlog_proof *ret_proof, struct weir_err *e)
{
	const char *at = text, *end = text + len;

	if (len > NOTE_MAX || !take_text(&at, end, PROOF_HEAD))
		return err_set(e, -EBADMSG, "not a proof of a transparency log");
	if (take_text(&at, end, EXTRA)) {
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return err_set(e, -EBADMSG, "the proof ends early");
		at++;
	}
	if (!take_text(&at, end, INDEX) || tlog_number(&at, end, &ret_proof->index) < 0 ||
	    take_path(&at, end, &ret_proof->path) < 0 || !take_text(&at, end, "\n"))
		return err_set(e, -EBADMSG, "the proof's index or hashes can't be read");
	return tlog_checkpoint_open(k, at, (size_t)(end - at), &ret_proof->checkpoint, e);
}

int tlog_consistency_format(uint64_t old, const struct merkle_path *path, struct buf *ret_text)
{
	buf_addf(ret_text, OLD "%llu\n", (unsigned long long)old);
	for (unsigned int i = 0; i < path->count; i++)
		add_hash(&path->hashes[i], ret_text);
	return ret_text->failed ? -ENOMEM : 0;
}

int tlog_consistency_parse(const char *text, size_t len, uint64_t *ret_old,
			   struct merkle_path *ret_path)
{
	const char *at = text, *end = text + len;

	if (!take_text(&at, end, OLD) || tlog_number(&at, end, ret_old) < 0 ||
	    take_path(&at, end, ret_path) < 0)
		return -EBADMSG;
	return at == end ? 0 : -EBADMSG;
}
