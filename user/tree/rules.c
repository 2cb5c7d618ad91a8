/* SPDX-License-Identifier: MIT */
#include "user/tree/rules.h"

#include <string.h>
#include <sys/stat.h>

#include "bpf/abi/limits.h"
#include "user/base/cleanup.h"

static const struct {
	char letter;
	uint32_t mode;
} types[] = {
	{ 'f', S_IFREG },  { 'd', S_IFDIR }, { 'l', S_IFLNK }, { 'p', S_IFIFO },
	{ 's', S_IFSOCK }, { 'b', S_IFBLK }, { 'c', S_IFCHR },
};

char manifest_type_letter(uint32_t mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].mode)
			return types[i].letter;
	return 0;
}

uint32_t manifest_type_mode(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (letter == types[i].letter)
			return types[i].mode;
	return 0;
}

static const char *check_components(const char *path, size_t len)
{
	if (len > TREE_PATH_MAX)
		return "the path is too long";
	if (memchr(path, '\0', len))
		return "the path holds a NUL";
	for (size_t at = 0; at <= len;) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t n = slash ? (size_t)(slash - path) - at : len - at;

		if (n == 0 || n >= WEIR_NAME_MAX || (n == 1 && path[at] == '.') ||
		    (n == 2 && path[at] == '.' && path[at + 1] == '.'))
			return "a component of the path is empty, too long, \".\" or \"..\"";
		at += n + 1;
	}
	return NULL;
}

/* The entry before is the directory of this one, or lies in it: only then was that seen. */
static const char *check_place(const struct manifest_place *p, const struct tree_entry *entry)
{
	size_t dir = entry->path_len;
	const char *last = p->last.len ? p->last.data : "";

	if (tree_path_compare(last, p->last.len, entry->path, entry->path_len) >= 0)
		return "the paths are not in ascending order";
	while (dir > 0 && entry->path[dir - 1] != '/')
		dir--;
	if (dir > 0)
		dir--;
	if (dir == 0)
		return NULL;
	if (p->last.len < dir || memcmp(last, entry->path, dir) != 0)
		return "the directory of the path is not listed";
	if (p->last.len == dir)
		return p->last_dir ? NULL : "the path lies below what is no directory";
	return last[dir] == '/' ? NULL : "the directory of the path is not listed";
}

const char *manifest_check_entry(struct manifest_place *place, const struct tree_entry *entry)
{
	uint32_t type = entry->mode & S_IFMT;
	bool content = type == S_IFREG || type == S_IFLNK,
	     device = type == S_IFBLK || type == S_IFCHR;
	const char *wrong;

	if (!manifest_type_letter(entry->mode) || (entry->mode & ~(uint32_t)(S_IFMT | 07777)))
		return "the mode is impossible";
	if (content != entry->hashed)
		return content ? "the hash is missing" : "there is a hash of what has no content";
	if (!content && !device && entry->size)
		return "there is a size of what has none";
	if (place->entries == 0)
		wrong = entry->path_len == 0 && type == S_IFDIR ? NULL : "the root must come first";
	else if (entry->path_len == 0)
		wrong = "the root stands there twice";
	else
		wrong = check_components(entry->path, entry->path_len);
	if (!wrong && place->entries)
		wrong = check_place(place, entry);
	if (wrong)
		return wrong;
	if (place->entries >= TREE_ENTRIES_MAX)
		return "there are too many entries";
	place->entries++;
	place->last_dir = type == S_IFDIR;
	place->last.len = 0;
	if (buf_add(&place->last, entry->path, entry->path_len) < 0)
		return "out of memory";
	return NULL;
}
