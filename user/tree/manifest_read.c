/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/tree/manifest.h"
#include "user/tree/rules.h"

#define READ_BYTES 65536

struct manifest_reader {
	int fd; /* borrowed; -1: all bytes are there */
	char *name;
	char *data; /* owned if fd >= 0 */
	size_t cap;
	size_t len; /* bytes in data */
	size_t at;  /* first byte not taken */
	bool eof;
	bool ended;
	uint64_t line;	   /* number of the current one */
	const char *start; /* the current line */
	const char *pos;   /* what is not parsed of it */
	const char *stop;
	struct digest *digest;
	struct manifest_place place;
	struct buf path;  /* of the entry, as bytes */
	struct buf again; /* the same, escaped */
	int64_t taken_ns;
	int64_t tick_ns;
	struct manifest_summary summary;
};

static int bad(struct manifest_reader *r, const char *what, struct weir_err *e)
{
	return err_code(e, -EBADMSG, "manifest-bad", "%s:%" PRIu64 ":%zu: %s", r->name, r->line,
			(size_t)(r->pos - r->start) + 1, what);
}

static int read_more(struct manifest_reader *r, struct weir_err *e)
{
	ssize_t n;

	memmove(r->data, r->data + r->at, r->len - r->at);
	r->len -= r->at;
	r->at = 0;
	if (r->cap - r->len < READ_BYTES) {
		char *more = realloc(r->data, r->cap + READ_BYTES);

		if (!more)
			return err_errno(e, -ENOMEM, "%s", r->name);
		r->data = more;
		r->cap += READ_BYTES;
	}
	do {
		n = read(r->fd, r->data + r->len, READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(e, -errno, "reading %s", r->name);
	r->eof = n == 0;
	r->len += (size_t)n;
	return 0;
}

/* Takes the next line, without its newline, and adds it to the hash. */
static int next_line(struct manifest_reader *r, struct weir_err *e)
{
	size_t seen = 0;

	r->line++;
	for (;;) {
		char *from = r->data + r->at + seen;
		char *end =
			r->len > r->at + seen ? memchr(from, '\n', r->len - r->at - seen) : NULL;
		int err;

		if (end) {
			size_t len = (size_t)(end - (r->data + r->at)) + 1;

			r->start = r->pos = r->data + r->at;
			r->stop = end;
			if (len > MANIFEST_LINE_MAX)
				return bad(r, "the line is too long", e);
			r->at += len;
			r->summary.bytes += len;
			if (digest_add(r->digest, r->start, len) < 0)
				return err_set(e, -EIO, "can't hash %s", r->name);
			return 0;
		}
		seen = r->len - r->at;
		r->start = r->pos = r->data + r->at;
		if (r->eof)
			return bad(r,
				   seen ? "the last line has no end: the file is cut"
					: "the file ends without its end line: it is cut",
				   e);
		if (seen > MANIFEST_LINE_MAX)
			return bad(r, "the line is too long", e);
		err = read_more(r, e);
		if (err < 0)
			return err;
	}
}

static bool take_text(struct manifest_reader *r, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(r->stop - r->pos) < len || memcmp(r->pos, text, len) != 0)
		return false;
	r->pos += len;
	return true;
}

static bool take_u64(struct manifest_reader *r, uint64_t *ret_value)
{
	const char *p = r->pos;
	uint64_t value = 0;

	if (p == r->stop || *p < '0' || *p > '9')
		return false;
	for (; p < r->stop && *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10 || (p > r->pos && *r->pos == '0'))
			return false;
		value = value * 10 + digit;
	}
	r->pos = p;
	*ret_value = value;
	return true;
}

static bool take_i64(struct manifest_reader *r, int64_t *ret_value)
{
	const char *start = r->pos;
	bool negative = take_text(r, "-");
	uint64_t value;

	if (!take_u64(r, &value) || value > INT64_MAX || (negative && value == 0)) {
		r->pos = start;
		return false;
	}
	*ret_value = negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static bool take_mode(struct manifest_reader *r, uint32_t *ret_mode)
{
	uint32_t mode = 0;

	if (r->stop - r->pos < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		if (r->pos[i] < '0' || r->pos[i] > '7')
			return false;
		mode = mode << 3 | (uint32_t)(r->pos[i] - '0');
	}
	r->pos += 4;
	*ret_mode = mode;
	return true;
}

static bool take_hash(struct manifest_reader *r, struct tree_entry *entry)
{
	char hex[DIGEST_HEX];

	if (take_text(r, "-"))
		return true;
	if (r->stop - r->pos < DIGEST_HEX - 1)
		return false;
	memcpy(hex, r->pos, DIGEST_HEX - 1);
	hex[DIGEST_HEX - 1] = '\0';
	if (digest_unhex(hex, entry->sha256, DIGEST_SIZE) < 0)
		return false;
	r->pos += DIGEST_HEX - 1;
	entry->hashed = true;
	return true;
}

/* Printable ASCII without a backslash stands as itself in the one form. */
static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '\\')
			return false;
	return true;
}

/* The rest of the line as a path: escaped in its one form. */
static const char *take_path(struct manifest_reader *r, struct tree_entry *entry)
{
	size_t len = (size_t)(r->stop - r->pos);
	long raw;

	r->path.len = r->again.len = 0;
	if (memchr(r->pos, '\0', len))
		return "a NUL in the path";
	if (len == 1 && *r->pos == '.')
		len = 0;
	else if (len == 0)
		return "the path is missing";
	if (buf_add(&r->path, r->pos, len) < 0)
		return "out of memory";
	if (is_plain(r->pos, len)) {
		entry->path = r->path.data;
		entry->path_len = len;
		return NULL;
	}
	raw = escape_undo(r->path.data);
	if (raw < 0)
		return "a broken escape in the path";
	r->path.len = (size_t)raw;
	if (buf_add_escaped(&r->again, r->path.data, r->path.len) < 0)
		return "out of memory";
	if (r->again.len != len || (len && memcmp(r->again.data, r->pos, len) != 0))
		return "the path is not escaped in its one form";
	entry->path = r->path.data;
	entry->path_len = r->path.len;
	return NULL;
}

static int parse_entry(struct manifest_reader *r, struct tree_entry *entry, struct weir_err *e)
{
	const char *wrong;
	uint32_t type;

	*entry = (struct tree_entry){ 0 };
	type = r->pos < r->stop ? manifest_type_mode(*r->pos) : 0;
	if (!type)
		return bad(r, "neither an entry nor the end line", e);
	r->pos++;
	if (!take_text(r, " ") || !take_mode(r, &entry->mode))
		return bad(r, "here four octal digits of a mode must stand", e);
	entry->mode |= type;
	if (!take_text(r, " ") || !take_u64(r, &entry->size))
		return bad(r, "here a size must stand", e);
	if (!take_text(r, " ") || !take_hash(r, entry))
		return bad(r, "here a SHA-256 or - must stand", e);
	if (!take_text(r, " ") || !take_u64(r, &entry->ino))
		return bad(r, "here an inode number must stand", e);
	if (!take_text(r, " ") || !take_i64(r, &entry->ctime_ns))
		return bad(r, "here a time of change must stand", e);
	if (!take_text(r, " ") || !take_i64(r, &entry->mtime_ns))
		return bad(r, "here a time of modification must stand", e);
	if (!take_text(r, " "))
		return bad(r, "here a path must stand", e);
	wrong = take_path(r, entry);
	if (!wrong)
		wrong = manifest_check_entry(&r->place, entry);
	return wrong ? bad(r, wrong, e) : 1;
}

static int parse_head(struct manifest_reader *r, struct weir_err *e)
{
	int err = next_line(r, e);

	if (err < 0)
		return err;
	if (!take_text(r, "weir.manifest/1") || r->pos != r->stop)
		return bad(r, "this is no manifest of version 1", e);
	err = next_line(r, e);
	if (err < 0)
		return err;
	if (!take_text(r, "taken ") || !take_i64(r, &r->taken_ns) || !take_text(r, " ") ||
	    !take_i64(r, &r->tick_ns) || r->tick_ns < 0 || r->pos != r->stop)
		return bad(r, "here `taken TIME TICK` must stand", e);
	return 0;
}

static int parse_end(struct manifest_reader *r, struct weir_err *e)
{
	uint64_t count;

	if (!take_text(r, "end ") || !take_u64(r, &count) || r->pos != r->stop)
		return bad(r, "here `end COUNT` must stand", e);
	if (count != r->place.entries || count == 0)
		return bad(r, "the count of the end line is not that of the entries", e);
	while (r->at == r->len && !r->eof) {
		int err = read_more(r, e);

		if (err < 0)
			return err;
	}
	if (r->at < r->len) {
		r->line++;
		r->start = r->pos = r->data + r->at;
		return bad(r, "there is more after the end line", e);
	}
	r->ended = true;
	r->summary.entries = count;
	if (digest_end(r->digest, r->summary.sha256) < 0)
		return err_set(e, -EIO, "can't hash %s", r->name);
	return 0;
}

static int reader_new(int fd, const char *name, struct manifest_reader **ret_reader,
		      struct manifest_reader *from, struct weir_err *e)
{
	cleanup_manifest_reader struct manifest_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		if (fd >= 0)
			free(from->data);
		return err_errno(e, -ENOMEM, "%s", name);
	}
	*r = *from;
	r->fd = fd;
	r->digest = digest_new();
	r->name = strdup(name);
	if (!r->digest || !r->name)
		return err_errno(e, -ENOMEM, "%s", name);
	err = parse_head(r, e);
	if (err < 0)
		return err;
	*ret_reader = TAKE_PTR(r);
	return 0;
}

int manifest_reader_new(int fd, const char *name, struct manifest_reader **ret_reader,
			struct weir_err *e)
{
	struct manifest_reader empty = { .cap = READ_BYTES, .data = malloc(READ_BYTES) };

	if (!empty.data)
		return err_errno(e, -ENOMEM, "%s", name);
	return reader_new(fd, name, ret_reader, &empty, e);
}

int manifest_reader_new_bytes(const void *bytes, size_t len, const char *name,
			      struct manifest_reader **ret_reader, struct weir_err *e)
{
	struct manifest_reader all = { .data = (char *)(len ? bytes : ""),
				       .len = len,
				       .eof = true };

	return reader_new(-1, name, ret_reader, &all, e);
}

int manifest_reader_next(struct manifest_reader *r, struct tree_entry *ret_entry,
			 struct weir_err *e)
{
	int err;

	if (r->ended)
		return 0;
	err = next_line(r, e);
	if (err < 0)
		return err;
	if (r->stop - r->pos >= 3 && memcmp(r->pos, "end", 3) == 0)
		return parse_end(r, e);
	return parse_entry(r, ret_entry, e);
}

int64_t manifest_reader_taken_ns(const struct manifest_reader *r)
{
	return r->taken_ns;
}

int64_t manifest_reader_tick_ns(const struct manifest_reader *r)
{
	return r->tick_ns;
}

void manifest_reader_summary(const struct manifest_reader *r, struct manifest_summary *ret_summary)
{
	*ret_summary = r->summary;
}

void manifest_reader_free(struct manifest_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		free(r->data);
	buf_done(&r->path);
	buf_done(&r->again);
	buf_done(&r->place.last);
	digest_free(r->digest);
	free(r->name);
	free(r);
}
