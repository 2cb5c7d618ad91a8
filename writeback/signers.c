/* SPDX-License-Identifier: MIT */
/* The allowed_signers file; contract in sshkey.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/sshkey.h"

struct signer {
	char *principals;
	char *namespaces; /* NULL: all */
	char *key;	  /* "type base64 [comment]" */
	time_t after;
	time_t before; /* 0: no end */
};

/* YYYYMMDD[HHMM[SS]], local time as in ssh-keygen(1); a trailing Z means UTC. */
static int parse_time(const char *text, time_t *ret_time)
{
	struct tm tm = { .tm_isdst = -1 };
	size_t len = strlen(text);
	bool utc = len > 0 && text[len - 1] == 'Z';
	int field[6] = { 0 };
	static const size_t width[6] = { 4, 2, 2, 2, 2, 2 };

	len -= utc;
	if (len != 8 && len != 12 && len != 14)
		return -EINVAL;
	for (size_t i = 0, at = 0; at < len; i++) {
		for (size_t k = 0; k < width[i]; k++, at++) {
			if (text[at] < '0' || text[at] > '9')
				return -EINVAL;
			field[i] = field[i] * 10 + (text[at] - '0');
		}
	}
	tm.tm_year = field[0] - 1900;
	tm.tm_mon = field[1] - 1;
	tm.tm_mday = field[2];
	tm.tm_hour = field[3];
	tm.tm_min = field[4];
	tm.tm_sec = field[5];
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31)
		return -EINVAL;
	*ret_time = utc ? timegm(&tm) : mktime(&tm);
	return *ret_time == -1 ? -EINVAL : 0;
}

/* Cuts one word at blanks outside quotes. Returns: NULL at the end. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");
	bool quoted = false;
	char *c;

	if (*word == '\0')
		return NULL;
	for (c = word; *c && (quoted || (*c != ' ' && *c != '\t')); c++)
		if (*c == '"')
			quoted = !quoted;
	*at = *c ? c + 1 : c;
	*c = '\0';
	return word;
}

static int parse_option(char *option, struct signer *s)
{
	char *value = strchr(option, '=');
	size_t len;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	len = strlen(value);
	if (len < 2 || value[0] != '"' || value[len - 1] != '"')
		return -EINVAL;
	value[len - 1] = '\0';
	value++;
	if (strcasecmp(option, "namespaces") == 0) {
		s->namespaces = value;
		return 0;
	}
	if (strcasecmp(option, "valid-after") == 0)
		return parse_time(value, &s->after);
	if (strcasecmp(option, "valid-before") == 0)
		return parse_time(value, &s->before);
	return -EINVAL;
}

static int parse_options(char *text, struct signer *s)
{
	while (*text) {
		bool quoted = false;
		char *c = text;

		for (; *c && (quoted || *c != ','); c++)
			if (*c == '"')
				quoted = !quoted;
		if (*c)
			*c++ = '\0';
		if (parse_option(text, s) < 0)
			return -EINVAL;
		text = c;
	}
	return 0;
}

static bool is_key_type(const char *word)
{
	return strncmp(word, "ssh-", 4) == 0 || strncmp(word, "ecdsa-", 6) == 0 ||
	       strncmp(word, "sk-", 3) == 0;
}

static int parse_line(char *line, struct signer *s)
{
	char *at = line, *word;

	s->principals = next_word(&at);
	at += strspn(at, " \t");
	if (!s->principals || *at == '\0')
		return -EINVAL;
	if (!is_key_type(at)) {
		word = next_word(&at);
		if (!word || parse_options(word, s) < 0)
			return -EINVAL;
		at += strspn(at, " \t");
	}
	s->key = at;
	return is_key_type(at) ? 0 : -EINVAL;
}

static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; *at; at += strcspn(at, ",")) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

static int match(const struct signer *s, const struct buf *blob, const char *name_space,
		 time_t when)
{
	cleanup_buf struct buf key = { .max = SSHKEY_FILE_MAX };

	if (sshkey_parse_public(s->key, &key) < 0)
		return -EINVAL;
	if (key.len != blob->len || memcmp(key.data, blob->data, key.len) != 0)
		return -ENOENT;
	if (strpbrk(s->principals, "*?!") ||
	    (s->namespaces && !list_has(s->namespaces, name_space)))
		return -ENOENT;
	if (when < s->after || (s->before != 0 && when > s->before))
		return -ENOENT;
	return 0;
}

int sshkey_find_signer(const char *text, const struct buf *blob, const char *name_space,
		       time_t when, struct buf *ret_principal, struct weir_err *e)
{
	cleanup_free char *copy = strdup(text);
	unsigned int number = 0;
	bool found = false;

	if (!copy)
		return err_errno(e, -ENOMEM, "reading the signers");
	for (char *line = copy, *next; line; line = next) {
		struct signer s = { 0 };
		int err;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		line += strspn(line, " \t");
		if (*line == '\0' || *line == '#')
			continue;
		err = parse_line(line, &s);
		if (err == 0)
			err = match(&s, blob, name_space, when);
		if (err == -EINVAL)
			return err_set(e, err,
				       "line %u: not `principal [options] keytype base64` as "
				       "allowed here (namespaces, valid-after, valid-before)",
				       number);
		if (err == 0 && !found) {
			found = true;
			buf_add(ret_principal, s.principals, strlen(s.principals));
		}
	}
	return found ? 0 : -ENOENT;
}
