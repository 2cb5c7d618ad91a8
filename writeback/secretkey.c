/* SPDX-License-Identifier: MIT */
#include "writeback/secretkey.h"

#include <stdint.h>
#include <string.h>

#define LABEL_MAX 40
#define GAP_MAX 64 /* bytes between two characters of base64: line end, indentation, quotes */
#define BODY_MIN 40
#define HEADERS_MAX 8

/* What is read: base64, past everything that can stand between its lines. */
struct body {
	const unsigned char *data;
	size_t len;
	size_t at;
	char first[64]; /* its first characters */
	size_t count;
};

static bool is_base64(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/' || c == '=';
}

/* Line ends, blanks, quotes, and "\n" or "\r" as two characters. */
static bool skip_gap(struct body *b)
{
	size_t start = b->at;

	while (b->at < b->len) {
		unsigned char c = b->data[b->at];
		bool escape = c == '\\' && b->at + 1 < b->len &&
			      strchr("nrt", b->data[b->at + 1]) && b->data[b->at + 1];

		if (!escape && !(c && strchr(" \t\r\n\"',;>#*", c)))
			break;
		b->at += escape ? 2 : 1;
		if (b->at - start > GAP_MAX)
			return false;
	}
	return b->at > start;
}

static void read_body(struct body *b)
{
	while (b->at < b->len) {
		unsigned char c = b->data[b->at];

		if (!is_base64(c)) {
			if (!skip_gap(b))
				return;
			continue;
		}
		if (b->count < sizeof(b->first) - 1)
			b->first[b->count] = (char)c;
		b->count++;
		b->at++;
	}
}

/* "Proc-Type: 4,ENCRYPTED", "Version: 1": lines with a colon before the content. */
static bool skip_headers(struct body *b)
{
	bool locked = false;

	for (unsigned int i = 0; i < HEADERS_MAX; i++) {
		const unsigned char *line = b->data + b->at;
		size_t rest = b->len - b->at, n = 0;

		while (n < rest && n < 128 && line[n] != '\n' && line[n] != '\\')
			n++;
		if (!memchr(line, ':', n))
			break;
		locked |= memmem(line, n, "ENCRYPTED", 9) != NULL;
		b->at += n;
		skip_gap(b);
	}
	return locked;
}

static size_t label_length(const unsigned char *data, size_t len)
{
	size_t n = 0;

	while (n < len && n < LABEL_MAX &&
	       ((data[n] >= 'A' && data[n] <= 'Z') || (data[n] >= '0' && data[n] <= '9') ||
		data[n] == ' '))
		n++;
	return len - n >= 5 && memcmp(data + n, "-----", 5) == 0 ? n : 0;
}

static bool ends_with(const unsigned char *data, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(data + len - n, end, n) == 0;
}

/* DER of a key is a SEQUENCE: 0x30 and a length, which base64 begins with M and A to I. */
static bool is_der(const char *first)
{
	return first[0] == 'M' && first[1] >= 'A' && first[1] <= 'I';
}

size_t secretkey_pem(const unsigned char *data, size_t len, bool *ret_locked)
{
	static const char begin[] = "-----BEGIN ";
	static const char ssh[] = "b3BlbnNzaC1rZXktdjEA";	      /* openssh-key-v1 and NUL */
	static const char open[] = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"; /* and cipher "none" */
	struct body b = { .data = data, .len = len, .at = sizeof(begin) - 1 };
	const unsigned char *label = data + b.at;
	size_t label_len;
	bool pgp;

	if (len <= b.at)
		return 0;
	label_len = label_length(label, len - b.at);
	pgp = ends_with(label, label_len, "PGP PRIVATE KEY BLOCK");
	if (!pgp && !ends_with(label, label_len, "PRIVATE KEY"))
		return 0;
	b.at += label_len + 5;
	if (!skip_gap(&b))
		return 0;
	*ret_locked = skip_headers(&b) || ends_with(label, label_len, "ENCRYPTED PRIVATE KEY");
	read_body(&b);
	if (b.count < BODY_MIN)
		return 0;
	if (strncmp(b.first, ssh, sizeof(ssh) - 1) == 0)
		*ret_locked = strncmp(b.first, open, sizeof(open) - 1) != 0;
	else if (!pgp && !*ret_locked && !is_der(b.first))
		return 0;
	return b.at;
}

size_t secretkey_putty(const unsigned char *data, size_t len, bool *ret_locked)
{
	static const char lines[] = "Private-Lines: ", cipher[] = "Encryption: ";
	const unsigned char *private = memmem(data, len, lines, sizeof(lines) - 1);
	const unsigned char *encryption = memmem(data, len, cipher, sizeof(cipher) - 1);
	size_t rest;

	if (!private || !encryption || encryption > private)
		return 0;
	rest = len - (size_t)(encryption - data) - (sizeof(cipher) - 1);
	*ret_locked = rest < 4 || memcmp(encryption + sizeof(cipher) - 1, "none", 4) != 0;
	rest = len - (size_t)(private - data);
	/* the number of lines, and the lines: some of it is enough */
	return (size_t)(private - data) + (rest < 256 ? rest : 256);
}

static uint32_t bech32_step(uint32_t sum, unsigned int value)
{
	static const uint32_t generator[] = { 0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
					      0x2a1462b3 };
	uint32_t top = sum >> 25;

	sum = (sum & 0x1ffffff) << 5 ^ value;
	for (unsigned int i = 0; i < 5; i++)
		if (top >> i & 1)
			sum ^= generator[i];
	return sum;
}

bool secretkey_is_age(const unsigned char *data, size_t len)
{
	static const char prefix[] = "age-secret-key-";
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	uint32_t sum = 1;

	if (len <= sizeof(prefix))
		return false;
	for (const char *c = prefix; *c; c++)
		sum = bech32_step(sum, (unsigned char)*c >> 5);
	sum = bech32_step(sum, 0);
	for (const char *c = prefix; *c; c++)
		sum = bech32_step(sum, (unsigned char)*c & 31);
	for (size_t i = sizeof(prefix); i < len; i++) {
		const char *digit = data[i] ? strchr(digits, data[i]) : NULL;

		if (!digit)
			return false;
		sum = bech32_step(sum, (unsigned int)(digit - digits));
	}
	return sum == 1;
}
