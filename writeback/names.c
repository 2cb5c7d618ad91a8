/* SPDX-License-Identifier: MIT */
#include "writeback/names.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"

bool name_is_like(const char *name, size_t len, const char *want)
{
	char folded[NAME_FOLD_MAX];
	const char *colon = len > 0 ? memchr(name, ':', len) : NULL;

	/* NTFS: "name::$INDEX_ALLOCATION" is "name" */
	if (colon)
		len = (size_t)(colon - name);
	if (len > 255)
		return false;
	return name_fold(name, len, folded) == strlen(want) && strcmp(folded, want) == 0;
}

bool name_is_dotgit(const char *name, size_t len)
{
	char folded[NAME_FOLD_MAX];

	if (name_is_like(name, len, ".git"))
		return true;
	if (len > 255 || name_fold(name, len, folded) != 5)
		return false;
	return memcmp(folded, "git~", 4) == 0 && folded[4] >= '1' && folded[4] <= '9';
}

static bool is_hidden(const unsigned char *in, size_t len)
{
	uint32_t c;

	if (len == 2)
		return in[0] == 0xc2 ? in[1] < 0xa0 || in[1] == 0xad : /* C1, soft hyphen */
			       in[0] == 0xd8 && in[1] == 0x9c;	       /* U+061C */
	if (len == 4)
		return in[0] == 0xf3 && in[1] == 0xa0; /* tags, variation selectors */
	if (len != 3)
		return false;
	c = (uint32_t)(in[0] & 0x0f) << 12 | (uint32_t)(in[1] & 0x3f) << 6 | (in[2] & 0x3f);
	return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x180e ||
	       (c >= 0xfff9 && c <= 0xfffb);
}

static uint64_t inspect_bytes(const char *name, size_t len)
{
	const unsigned char *in = (const unsigned char *)name;
	uint64_t found = 0;

	for (size_t i = 0; i < len;) {
		size_t n = escape_utf8_len(in + i, len - i);

		if (n == 0)
			found |= 1ull << HAZARD_UTF8;
		else if (n == 1 && (in[i] < 0x20 || in[i] == 0x7f))
			found |= 1ull << HAZARD_CONTROL;
		else if (n == 1 && in[i] == '\\')
			found |= 1ull << HAZARD_BACKSLASH;
		else if (n > 1 && is_hidden(in + i, n))
			found |= 1ull << HAZARD_HIDDEN;
		i += n ? n : 1;
	}
	return found;
}

/* Reads as .git and is none: people are meant to take it for it. */
static bool looks_dotgit(const char *name, size_t len)
{
	char look[NAME_FOLD_MAX];

	return !name_is_ascii(name, len) && name_look(name, len, look) == 4 &&
	       memcmp(look, ".git", 4) == 0;
}

/* "file:stream" after NTFS rules; a colon alone (time stamps in names) is ordinary. */
static bool is_stream(const char *name, size_t len)
{
	cleanup_free char *copy = strndup(name, len);

	return copy && (strcasestr(copy, ":$") != NULL || strstr(copy, "::") != NULL);
}

int names_inspect_path(struct hazards *h, const char *path)
{
	uint64_t found = 0;
	unsigned int depth = 0;

	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");

		found |= inspect_bytes(at, len);
		if (name_is_dotgit(at, len))
			found |= 1ull << HAZARD_DOTGIT;
		else if (looks_dotgit(at, len))
			found |= 1ull << HAZARD_LOOKALIKE;
		if (is_stream(at, len))
			found |= 1ull << HAZARD_STREAM;
		if (depth == 0 && name_is_like(at, len, ".weir"))
			found |= 1ull << HAZARD_WEIR;
		depth++;
		at += len;
		at += *at == '/';
	}
	if (depth > NAMES_DEPTH_MAX || strlen(path) > NAMES_PATH_MAX)
		found |= 1ull << HAZARD_DEPTH;
	for (unsigned int kind = 0; kind < HAZARD_COUNT; kind++)
		if ((found & 1ull << kind) && hazards_add(h, (enum hazard_kind)kind, path) < 0)
			return -ENOMEM;
	return 0;
}

static bool leads_outside(const char *path, const char *target)
{
	long depth = 0;

	if (target[0] == '/')
		return true;
	for (const char *at = path; (at = strchr(at, '/')); at++)
		depth++;
	for (const char *at = target; *at;) {
		size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.')
			depth--;
		else if (len > 0 && !(len == 1 && at[0] == '.'))
			depth++;
		if (depth < 0)
			return true;
		at += len;
		at += *at == '/';
	}
	return false;
}

/* A target is shown to people as a name is. */
static int inspect_target(struct hazards *h, const char *path, const char *target)
{
	const struct hazard_note note = { .detail = "in the link's target",
					  .subject = target,
					  .subject_len = strlen(target) };
	uint64_t found = inspect_bytes(target, strlen(target));

	if ((found & 1ull << HAZARD_CONTROL) && hazards_note(h, HAZARD_CONTROL, path, &note) < 0)
		return -ENOMEM;
	if ((found & 1ull << HAZARD_HIDDEN) && hazards_note(h, HAZARD_HIDDEN, path, &note) < 0)
		return -ENOMEM;
	return 0;
}

int names_inspect_link(struct hazards *h, const char *path, size_t root, const char *target)
{
	static const char *const metadata[] = { ".gitmodules", ".gitattributes", ".gitignore",
						".mailmap" };
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	bool git = false;

	for (const char *at = target; *at;) {
		size_t len = strcspn(at, "/");

		git |= name_is_dotgit(at, len);
		at += len;
		at += *at == '/';
	}
	if (git && hazards_add(h, HAZARD_GITLINK, path) < 0)
		return -ENOMEM;
	if (inspect_target(h, path, target) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++)
		if (name_is_like(name, strlen(name), metadata[i]) &&
		    hazards_add(h, HAZARD_METALINK, path) < 0)
			return -ENOMEM;
	if (leads_outside(path + root, target) &&
	    hazards_note(h, HAZARD_OUTWARD, path,
			 &(struct hazard_note){ .detail = target,
						.subject = target,
						.subject_len = strlen(target) }) < 0)
		return -ENOMEM;
	return 0;
}
