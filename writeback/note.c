/* SPDX-License-Identifier: MIT */
#include "writeback/note.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/sshwire.h"

#define ED25519_TYPE 0x01
#define DASH "\xe2\x80\x94 "
#define DASH_LEN 4u
#define ID_SIZE 4u
#define SIGNATURE_SIZE (ID_SIZE + ED25519_SIGNATURE)

/* Printable ASCII without '+': narrower than the standard, which has all of Unicode. */
static bool name_ok(const char *name, size_t len)
{
	if (len == 0 || len >= NOTE_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= 0x20 || name[i] >= 0x7f || name[i] == '+')
			return false;
	return true;
}

int note_key_set(struct note_key *k, const char *name,
		 const unsigned char public_key[ED25519_PUBLIC])
{
	unsigned char hash[DIGEST_SIZE];
	cleanup_buf struct buf text = { 0 };
	int err;

	if (!name_ok(name, strlen(name)))
		return -EINVAL;
	if (name != k->name)
		snprintf(k->name, sizeof(k->name), "%s", name);
	memcpy(k->public_key, public_key, ED25519_PUBLIC);
	k->old_count = 0;
	buf_addf(&text, "%s\n%c", name, ED25519_TYPE);
	err = buf_add(&text, public_key, ED25519_PUBLIC);
	if (err == 0)
		err = digest_bytes(text.data, text.len, hash);
	if (err == 0)
		memcpy(k->id, hash, sizeof(k->id));
	return err;
}

/* base64 of exactly `size` bytes, written as only this project and the standard do: no white
 * space, canonical. */
static int read_base64(const char *text, size_t len, unsigned char *ret_bytes, size_t size)
{
	cleanup_buf struct buf bytes = { 0 };

	if (len != (size + 2) / 3 * 4)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= ' ')
			return -EBADMSG;
	if (base64_read(text, len, &bytes) < 0 || bytes.len != size)
		return -EBADMSG;
	memcpy(ret_bytes, bytes.data, size);
	return 0;
}

int note_key_change(struct note_key *k, const unsigned char public_key[ED25519_PUBLIC],
		    uint64_t until)
{
	unsigned int count = k->old_count;
	int err;

	if (count == NOTE_OLD_MAX)
		return -E2BIG;
	memmove(k->old + 1, k->old, count * sizeof(k->old[0]));
	k->old[0].until = until;
	memcpy(k->old[0].public_key, k->public_key, ED25519_PUBLIC);
	memcpy(k->old[0].id, k->id, ID_SIZE);
	err = note_key_set(k, k->name, public_key);
	k->old_count = count + 1;
	return err;
}

void note_key_before(const struct note_key *k, unsigned int i, struct note_key *ret_key)
{
	*ret_key = (struct note_key){ 0 };
	snprintf(ret_key->name, sizeof(ret_key->name), "%s", k->name);
	memcpy(ret_key->public_key, k->old[i].public_key, ED25519_PUBLIC);
	memcpy(ret_key->id, k->old[i].id, ID_SIZE);
}

/* One key; *at is then behind it. */
static int take_key(const char **at, struct note_key *ret_key)
{
	unsigned char raw[1 + ED25519_PUBLIC];
	char name[NOTE_NAME_MAX], hex[2 * ID_SIZE + 1];
	size_t len = strcspn(*at, "+");

	if (!name_ok(*at, len) || (*at)[len] != '+')
		return -EBADMSG;
	memcpy(name, *at, len);
	name[len] = '\0';
	*at += len + 1;
	len = strcspn(*at, "+");
	if (len != 2 * ID_SIZE || (*at)[len] != '+')
		return -EBADMSG;
	memcpy(hex, *at, len);
	hex[len] = '\0';
	*at += len + 1;
	len = strcspn(*at, " \t\r\n");
	if (read_base64(*at, len, raw, sizeof(raw)) < 0 || raw[0] != ED25519_TYPE)
		return -EBADMSG;
	*at += len;
	if (note_key_set(ret_key, name, raw + 1) < 0)
		return -EBADMSG;
	digest_hex(ret_key->id, ID_SIZE, name);
	return strcmp(name, hex) == 0 ? 0 : -EBADMSG;
}

/* A line of a key that was there before. */
static int take_old(const char **at, struct note_key *k)
{
	struct note_key key = { 0 };
	struct note_old *old = &k->old[k->old_count];
	char *end;

	if (k->old_count == NOTE_OLD_MAX || strncmp(*at, "until ", 6) != 0 || (*at)[6] < '0' ||
	    (*at)[6] > '9')
		return -EBADMSG;
	errno = 0;
	old->until = strtoull(*at + 6, &end, 10);
	if (errno != 0 || *end != ' ')
		return -EBADMSG;
	*at = end + 1;
	if (take_key(at, &key) < 0 || strcmp(key.name, k->name) != 0)
		return -EBADMSG;
	memcpy(old->public_key, key.public_key, ED25519_PUBLIC);
	memcpy(old->id, key.id, ID_SIZE);
	k->old_count++;
	return 0;
}

int note_key_parse(const char *text, struct note_key *ret_key)
{
	const char *at = text + strspn(text, " \t\r\n");

	if (take_key(&at, ret_key) < 0)
		return -EBADMSG;
	for (;;) {
		size_t space = strspn(at, " \t\r\n");
		bool fresh = memchr(at, '\n', space) != NULL;

		at += space;
		if (*at == '\0')
			return 0;
		if (!fresh || take_old(&at, ret_key) < 0)
			return -EBADMSG;
	}
}

static void add_key(const char *name, const unsigned char id[ID_SIZE],
		    const unsigned char public_key[ED25519_PUBLIC], struct buf *ret_text)
{
	unsigned char raw[1 + ED25519_PUBLIC] = { ED25519_TYPE };
	char hex[2 * ID_SIZE + 1];

	memcpy(raw + 1, public_key, ED25519_PUBLIC);
	digest_hex(id, ID_SIZE, hex);
	buf_addf(ret_text, "%s+%s+", name, hex);
	base64_write(raw, sizeof(raw), 0, ret_text);
	buf_add(ret_text, "\n", 1);
}

int note_key_format(const struct note_key *k, struct buf *ret_text)
{
	add_key(k->name, k->id, k->public_key, ret_text);
	for (unsigned int i = 0; i < k->old_count; i++) {
		buf_addf(ret_text, "until %llu ", (unsigned long long)k->old[i].until);
		add_key(k->name, k->old[i].id, k->old[i].public_key, ret_text);
	}
	return ret_text->failed ? -ENOMEM : 0;
}

/* UTF-8 without control characters but newlines. */
static bool text_ok(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t step = escape_utf8_len((const unsigned char *)text + i, len - i);

		if (step == 0 || ((unsigned char)text[i] < 0x20 && text[i] != '\n'))
			return false;
		i += step;
	}
	return true;
}

/* The line of a signature over a text. */
static int add_signature(const struct note_key *k, const unsigned char seed[ED25519_SEED],
			 const char *text, size_t len, struct buf *ret_note)
{
	unsigned char raw[SIGNATURE_SIZE];
	int err;

	memcpy(raw, k->id, ID_SIZE);
	err = digest_sign(seed, text, len, raw + ID_SIZE);
	if (err < 0)
		return err;
	buf_addf(ret_note, DASH "%s ", k->name);
	base64_write(raw, sizeof(raw), 0, ret_note);
	return buf_add(ret_note, "\n", 1);
}

int note_sign(const struct note_key *k, const unsigned char seed[ED25519_SEED], const char *text,
	      size_t len, struct buf *ret_note)
{
	if (len == 0 || text[len - 1] != '\n' || !text_ok(text, len))
		return -EINVAL;
	buf_add(ret_note, text, len);
	buf_add(ret_note, "\n", 1);
	return add_signature(k, seed, text, len, ret_note);
}

/* Where the signatures start: behind the last blank line. NULL: there is none. */
static const char *find_signatures(const char *note, size_t len)
{
	for (size_t i = len; i-- > 1;)
		if (note[i] == '\n' && note[i - 1] == '\n')
			return note + i + 1;
	return NULL;
}

int note_cosign(const struct note_key *k, const unsigned char seed[ED25519_SEED], struct buf *note)
{
	const char *at = note->len > 0 ? find_signatures(note->data, note->len) : NULL;
	cleanup_buf struct buf line = { 0 };
	int err;

	if (!at)
		return -EINVAL;
	err = add_signature(k, seed, note->data, (size_t)(at - note->data) - 1, &line);
	return err < 0 ? err : buf_add(note, line.data, line.len);
}

/* One line. Returns: 1 for a good signature of this key, 0 for one of another, -EBADMSG. */
static int check_line(const struct note_key *k, const char *line, size_t len, const char *text,
		      size_t text_len)
{
	unsigned char raw[SIGNATURE_SIZE];
	cleanup_buf struct buf any = { 0 };
	const char *name = line + DASH_LEN, *space;
	size_t name_len, left;

	if (len < DASH_LEN || memcmp(line, DASH, DASH_LEN) != 0)
		return -EBADMSG;
	space = memchr(name, ' ', len - DASH_LEN);
	name_len = space ? (size_t)(space - name) : 0;
	if (name_len == 0)
		return -EBADMSG;
	left = len - DASH_LEN - name_len - 1;
	if (memchr(space + 1, ' ', left) || base64_read(space + 1, left, &any) < 0 ||
	    any.len <= ID_SIZE)
		return -EBADMSG;
	if (name_len != strlen(k->name) || memcmp(name, k->name, name_len) != 0 ||
	    memcmp(any.data, k->id, ID_SIZE) != 0)
		return 0;
	if (any.len != sizeof(raw))
		return -EBADMSG;
	memcpy(raw, any.data, sizeof(raw));
	return digest_verify(k->public_key, text, text_len, raw + ID_SIZE) == 0 ? 1 : -EBADMSG;
}

int note_open(const struct note_key *k, const char *note, size_t len, size_t *ret_len,
	      struct weir_err *e)
{
	const char *at = len > 0 && len <= NOTE_MAX ? find_signatures(note, len) : NULL;
	const char *end = note + len;
	unsigned int lines = 0;
	bool good = false;
	size_t text_len;

	if (!at || at == end || note[len - 1] != '\n' || !text_ok(note, len))
		return err_set(e, -EBADMSG, "not a signed note");
	text_len = (size_t)(at - note) - 1;
	for (; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		int err = check_line(k, at, (size_t)(stop - at), note, text_len);

		if (err < 0 || ++lines > NOTE_SIGNATURES_MAX)
			return err_set(e, -EBADMSG,
				       "a signature of the note is wrong or can't be read");
		good |= err == 1;
	}
	if (!good)
		return err_set(e, -ENOKEY, "the note is not signed by %s", k->name);
	*ret_len = text_len;
	return 0;
}
