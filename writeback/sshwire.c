/* SPDX-License-Identifier: MIT */
#include "writeback/sshwire.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int sshwire_u32(struct sshwire *w, uint32_t *ret_value)
{
	if (w->left < 4)
		return -EBADMSG;
	*ret_value = (uint32_t)w->at[0] << 24 | (uint32_t)w->at[1] << 16 | (uint32_t)w->at[2] << 8 |
		     w->at[3];
	w->at += 4;
	w->left -= 4;
	return 0;
}

int sshwire_u8(struct sshwire *w, unsigned char *ret_value)
{
	if (w->left < 1)
		return -EBADMSG;
	*ret_value = *w->at++;
	w->left--;
	return 0;
}

int sshwire_u64(struct sshwire *w, uint64_t *ret_value)
{
	uint32_t high, low;

	if (w->left < 8 || sshwire_u32(w, &high) < 0 || sshwire_u32(w, &low) < 0)
		return -EBADMSG;
	*ret_value = (uint64_t)high << 32 | low;
	return 0;
}

int sshwire_string(struct sshwire *w, struct sshwire *ret_string)
{
	uint32_t len;

	if (sshwire_u32(w, &len) < 0 || len > w->left)
		return -EBADMSG;
	ret_string->at = w->at;
	ret_string->left = len;
	w->at += len;
	w->left -= len;
	return 0;
}

bool sshwire_is(const struct sshwire *w, const char *text)
{
	return w->left == strlen(text) && memcmp(w->at, text, w->left) == 0;
}

int sshwire_put(struct buf *b, const void *data, size_t len)
{
	int err = len > UINT32_MAX ? -EFBIG : buf_add_u32be(b, (uint32_t)len);

	return err < 0 ? err : buf_add(b, data, len);
}

int sshwire_put_text(struct buf *b, const char *text)
{
	return sshwire_put(b, text, strlen(text));
}

static int add_group(struct buf *b, const unsigned int *value, unsigned int pads)
{
	unsigned int word = value[0] << 18 | value[1] << 12 | value[2] << 6 | value[3];
	unsigned char bytes[3] = { (unsigned char)(word >> 16), (unsigned char)(word >> 8),
				   (unsigned char)word };

	/* bits that no byte uses must be zero: one text for one content */
	if ((pads == 1 && bytes[2] != 0) || (pads == 2 && (bytes[1] != 0 || bytes[2] != 0)))
		return -EBADMSG;
	return buf_add(b, bytes, 3 - pads);
}

int base64_read(const char *text, size_t len, struct buf *ret_bytes)
{
	unsigned int value[4], count = 0, pads = 0;
	bool over = false;

	for (size_t i = 0; i < len; i++) {
		const char *digit;
		int err;

		if (text[i] == '\n' || text[i] == '\r' || text[i] == ' ' || text[i] == '\t')
			continue;
		digit = text[i] ? strchr(digits, text[i]) : NULL;
		if (over || (!digit && text[i] != '=') || (digit && pads > 0))
			return -EBADMSG;
		if (!digit && (count < 2 || ++pads > 2))
			return -EBADMSG;
		value[count++] = digit ? (unsigned int)(digit - digits) : 0;
		if (count < 4)
			continue;
		err = add_group(ret_bytes, value, pads);
		if (err < 0)
			return err;
		over = pads > 0;
		count = 0;
	}
	return count == 0 ? 0 : -EBADMSG;
}

int base64_write(const void *data, size_t len, unsigned int wrap, struct buf *ret_text)
{
	const unsigned char *in = data;
	unsigned int column = 0;

	for (size_t i = 0; i < len; i += 3) {
		unsigned int word = (unsigned int)in[i] << 16;

		if (i + 1 < len)
			word |= (unsigned int)in[i + 1] << 8;
		if (i + 2 < len)
			word |= in[i + 2];
		for (unsigned int k = 0; k < 4; k++) {
			char c = i + k > len ? '=' : digits[word >> (18 - 6 * k) & 63];

			buf_add(ret_text, &c, 1);
			if (wrap > 0 && ++column == wrap) {
				buf_add(ret_text, "\n", 1);
				column = 0;
			}
		}
	}
	if (wrap > 0 && column > 0)
		buf_add(ret_text, "\n", 1);
	return ret_text->failed ? -ENOMEM : 0;
}
