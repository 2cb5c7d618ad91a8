/* SPDX-License-Identifier: MIT */
#include "writeback/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"

#define LFS_MAX 1024 /* bytes of a pointer; git-lfs reads no more */

int scan_new(struct scan **ret_scan)
{
	struct scan *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (secrets_new(&s->secrets) < 0) {
		free(s);
		return -ENOMEM;
	}
	*ret_scan = s;
	return 0;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	secrets_free(s->secrets);
	free(s);
}

void scan_begin(struct scan *s)
{
	struct secrets *secrets = s->secrets;

	/* what stands behind is large, and read only as far as it was written */
	memset(s, 0, offsetof(struct scan, tallies));
	s->found_count = 0;
	s->secrets = secrets;
	s->line = 1;
}

/* Lines up to a position: how many end before it, and where the last of them does. */
static void count_lines(const struct scan *s, const unsigned char *data, size_t pos,
			uint64_t *ret_line, uint64_t *ret_start)
{
	const unsigned char *at = data, *end = data + pos;

	*ret_line = s->line;
	*ret_start = s->line_start;
	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		(*ret_line)++;
		*ret_start = s->offset + (uint64_t)(at - data);
	}
}

static void write_place(const struct scan *s, const unsigned char *data, size_t pos, char *out,
			size_t size)
{
	uint64_t line, start, offset = s->offset + pos;

	if (s->binary) {
		snprintf(out, size, "byte %" PRIu64, offset);
		return;
	}
	count_lines(s, data, pos, &line, &start);
	snprintf(out, size, "%" PRIu64 ":%" PRIu64, line, offset - start + 1);
}

void scan_note(struct scan *s, enum hazard_kind kind, const unsigned char *data, size_t pos,
	       const char *detail)
{
	struct scan_tally *t = &s->tallies[kind];

	if (s->tallied & 1ull << kind) {
		t->times++;
		return;
	}
	s->tallied |= 1ull << kind;
	t->times = 1;
	write_place(s, data, pos, t->place, sizeof(t->place));
	snprintf(t->detail, sizeof(t->detail), "%s", detail);
}

static const char *program_format(const unsigned char *data, size_t len)
{
	static const struct {
		const char *magic;
		unsigned int len;
		const char *name;
	} formats[] = {
		{ "\x7f"
		  "ELF",
		  4, "ELF" },
		{ "MZ", 2, "Windows" },
		{ "\xfe\xed\xfa\xce", 4, "Mach-O" },
		{ "\xfe\xed\xfa\xcf", 4, "Mach-O" },
		{ "\xce\xfa\xed\xfe", 4, "Mach-O" },
		{ "\xcf\xfa\xed\xfe", 4, "Mach-O" },
		{ "\xca\xfe\xba\xbe", 4, "Java or Mach-O" },
		{ "\0asm", 4, "WebAssembly" },
		{ "dex\n", 4, "Dalvik" },
		{ "!<arch>\n", 8, "object archive" },
		{ "BC\xc0\xde", 4, "LLVM bitcode" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (len >= formats[i].len && memcmp(data, formats[i].magic, formats[i].len) == 0)
			return formats[i].name;
	return NULL;
}

/* Source: git-lfs, docs/spec.md; "hawser" is its name of old. */
static bool is_lfs(const unsigned char *data, size_t len)
{
	static const char *const heads[] = { "version https://git-lfs.github.com/spec/",
					     "version https://hawser.github.com/spec/" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (len <= LFS_MAX && len > strlen(heads[i]) &&
		    memcmp(data, heads[i], strlen(heads[i])) == 0)
			return true;
	return false;
}

static void look_at_head(struct scan *s, const unsigned char *data, size_t len, bool last)
{
	s->begun = true;
	s->binary = len > 0 && memchr(data, '\0', len < SCAN_HEAD ? len : SCAN_HEAD) != NULL;
	s->program = s->binary ? program_format(data, len) : NULL;
	s->lfs = last && is_lfs(data, len);
}

/* Looks for a line end once in SCAN_LINE_MAX bytes, from behind: most lines are never met. */
static void look_at_lines(struct scan *s, const unsigned char *data, size_t to)
{
	size_t pos = s->from;

	while (pos < to) {
		size_t left = to - pos, span = SCAN_LINE_MAX - (size_t)s->line_len;
		const unsigned char *end;

		if (s->line_len == UINT64_MAX) {
			end = memchr(data + pos, '\n', left);
			if (!end)
				return;
			pos = (size_t)(end - data) + 1;
			s->line_len = 0;
			continue;
		}
		end = memrchr(data + pos, '\n', left <= span ? left : span + 1);
		if (end) {
			pos = (size_t)(end - data) + 1;
			s->line_len = 0;
			if (left <= span) {
				s->line_len = to - pos;
				return;
			}
		} else if (left <= span) {
			s->line_len += left;
			return;
		} else {
			scan_note(s, HAZARD_LONGLINE, data, pos, "");
			s->line_len = UINT64_MAX;
		}
	}
}

static int look_for_secrets(struct scan *s, const unsigned char *data, size_t to, size_t len)
{
	const struct secret_piece piece = { data, len, s->from, to };
	size_t at = s->from;
	struct secret secret;

	while (secrets_next(s->secrets, &piece, &at, &secret)) {
		struct scan_secret *f = &s->found[s->found_count];

		if (s->found_count == SCAN_SECRETS_MAX) {
			scan_note(s, HAZARD_SECRETMANY, data, secret.start, "");
			continue;
		}
		f->kind = secret.kind;
		write_place(s, data, secret.start, f->place, sizeof(f->place));
		snprintf(f->detail, sizeof(f->detail), "%s", secret.what);
		if (digest_bytes(data + secret.start, secret.len, f->subject) < 0)
			return -ENOMEM;
		s->found_count++;
	}
	return 0;
}

long scan_feed(struct scan *s, const unsigned char *data, size_t len, bool last)
{
	size_t to = last ? len : len - SECRET_SPAN, behind;
	int err;

	if (!last && len < SCAN_PIECE_MIN)
		return -EINVAL;
	if (!s->begun)
		look_at_head(s, data, len, last);
	if (!s->binary) {
		to = scan_text(s, data, to, len);
		look_at_lines(s, data, to);
	}
	err = look_for_secrets(s, data, to, len);
	if (err < 0)
		return err;
	if (last) {
		s->size = s->offset + len;
		return 0;
	}
	behind = to < SCAN_BEHIND ? to : SCAN_BEHIND;
	if (!s->binary)
		count_lines(s, data, to - behind, &s->line, &s->line_start);
	s->offset += to - behind;
	s->from = behind;
	return (long)(len - to + behind);
}

static int add_tally(struct scan *s, struct hazards *h, const char *path, enum hazard_kind kind,
		     const unsigned char *sha256)
{
	const struct scan_tally *t = &s->tallies[kind];

	return hazards_note(h, kind, path,
			    &(struct hazard_note){ .place = t->place,
						   .detail = t->detail,
						   .subject = sha256,
						   .subject_len = DIGEST_SIZE,
						   .times = t->times });
}

static int add_form(struct scan *s, struct hazards *h, const char *path,
		    const unsigned char *sha256)
{
	char hex[DIGEST_HEX], detail[160];
	enum hazard_kind kind = s->lfs ? HAZARD_LFS : s->program ? HAZARD_PROGRAM : HAZARD_BINARY;

	if (!s->lfs && !s->binary)
		return 0;
	digest_hex(sha256, DIGEST_SIZE, hex);
	snprintf(detail, sizeof(detail), "%s%s%llu bytes, sha256:%s", s->program ? s->program : "",
		 s->program ? ", " : "", (unsigned long long)s->size, hex);
	return hazards_note(h, kind, path,
			    &(struct hazard_note){ .detail = detail,
						   .subject = sha256,
						   .subject_len = DIGEST_SIZE });
}

int scan_end(struct scan *s, struct hazards *h, const char *path,
	     const unsigned char sha256[DIGEST_SIZE])
{
	int err = add_form(s, h, path, sha256);

	for (unsigned int kind = 0; err == 0 && s->tallied >> kind; kind++)
		if (s->tallied >> kind & 1)
			err = add_tally(s, h, path, (enum hazard_kind)kind, sha256);
	for (size_t i = 0; err == 0 && i < s->found_count; i++) {
		const struct scan_secret *f = &s->found[i];

		err = hazards_note(h, f->kind, path,
				   &(struct hazard_note){ .place = f->place,
							  .detail = f->detail,
							  .subject = f->subject,
							  .subject_len = sizeof(f->subject) });
	}
	return err;
}
