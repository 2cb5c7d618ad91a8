/* SPDX-License-Identifier: MIT */
#include "writeback/signers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/krl.h"
#include "writeback/sshcert.h"
#include "writeback/sshkey.h"
#include "writeback/sshpub.h"

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

/* A line while it is read, pointing into it. */
struct parts {
	const char *principals;
	const char *namespaces; /* NULL: all */
	const char *key;	/* "type base64 [comment]" */
};

static int parse_option(char *option, struct parts *p, struct signer *s)
{
	char *value = strchr(option, '=');
	size_t len;

	if (!value && strcasecmp(option, "cert-authority") == 0 && !s->authority) {
		s->authority = true;
		return 0;
	}
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	len = strlen(value);
	if (len < 2 || value[0] != '"' || value[len - 1] != '"')
		return -EINVAL;
	value[len - 1] = '\0';
	value++;
	if (strcasecmp(option, "namespaces") == 0 && !p->namespaces) {
		p->namespaces = value;
		return 0;
	}
	if (strcasecmp(option, "valid-after") == 0 && s->after == 0)
		return parse_time(value, &s->after);
	if (strcasecmp(option, "valid-before") == 0 && s->before == 0)
		return parse_time(value, &s->before);
	return -EINVAL;
}

static int parse_options(char *text, struct parts *p, struct signer *s)
{
	while (*text) {
		bool quoted = false;
		char *c = text;

		for (; *c && (quoted || *c != ','); c++)
			if (*c == '"')
				quoted = !quoted;
		if (*c)
			*c++ = '\0';
		if (parse_option(text, p, s) < 0)
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

static int split_line(char *line, struct parts *p, struct signer *s)
{
	char *at = line, *word;

	p->principals = next_word(&at);
	at += strspn(at, " \t");
	if (!p->principals || *at == '\0')
		return -EINVAL;
	if (!is_key_type(at)) {
		word = next_word(&at);
		if (!word || parse_options(word, p, s) < 0)
			return -EINVAL;
		at += strspn(at, " \t");
	}
	p->key = at;
	return is_key_type(at) ? 0 : -EINVAL;
}

static int parse_line(char *line, struct signer *s)
{
	struct parts p = { 0 };
	int err = split_line(line, &p, s);

	s->blob.max = SSHKEY_FILE_MAX;
	if (err == 0 && sshkey_parse_public(p.key, &s->blob) < 0)
		err = -EINVAL;
	if (err < 0)
		return err;
	s->principals = strdup(p.principals);
	s->namespaces = p.namespaces ? strdup(p.namespaces) : NULL;
	return s->principals && (s->namespaces || !p.namespaces) ? 0 : -ENOMEM;
}

bool signers_list_has(const char *list, const char *name, size_t len)
{
	for (const char *at = list; *at; at += strcspn(at, ",")) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

void signers_done(struct signers *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->items[i].principals);
		free(s->items[i].namespaces);
		buf_done(&s->items[i].blob);
	}
	free(s->items);
	*s = (struct signers){ 0 };
}

static int add_line(struct signers *s, char *line, unsigned int number)
{
	struct signer *items = reallocarray(s->items, s->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	s->items = items;
	items[s->count] = (struct signer){ .line = number };
	return parse_line(line, &items[s->count++]);
}

int signers_parse(const char *name, const char *text, size_t len, struct signers *ret_signers,
		  struct weir_err *e)
{
	cleanup_free char *copy = strndup(text, len);
	unsigned int number = 0;

	*ret_signers = (struct signers){ 0 };
	if (!copy)
		return err_errno(e, -ENOMEM, "%s", name);
	if (strlen(copy) != len)
		return err_set(e, -EINVAL, "%s: it holds a NUL", name);
	for (char *line = copy, *next; line; line = next) {
		int err;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		line += strspn(line, " \t");
		if (*line == '\0' || *line == '#')
			continue;
		err = ret_signers->count < SIGNERS_LINES_MAX ? add_line(ret_signers, line, number)
							     : -EINVAL;
		if (err == 0)
			continue;
		signers_done(ret_signers);
		if (err == -ENOMEM)
			return err_errno(e, err, "%s", name);
		return err_set(e, err,
			       "%s: line %u: not `principal [options] keytype base64` as allowed "
			       "here (namespaces, valid-after, valid-before, cert-authority)",
			       name, number);
	}
	return 0;
}

const char *signers_text(enum signers_answer answer)
{
	static const char *const texts[] = {
#define WEIR_X(id, text) text,
		SIGNERS_ANSWERS(WEIR_X)
#undef WEIR_X
	};

	return (unsigned int)answer < ARRAY_SIZE(texts) ? texts[answer] : "unknown";
}

/* Which one principal a line gives to a certificate: the one name that both have. */
static enum signers_answer name_in_both(const struct signer *s, const struct sshcert *cert,
					struct buf *ret_principal)
{
	struct sshwire w = cert->principals, name;
	unsigned int found = 0;

	while (w.left > 0) {
		if (sshwire_string(&w, &name) < 0)
			return SIGNERS_CERTIFICATE;
		if (name.left == 0 || memchr(name.at, ',', name.left) ||
		    !signers_list_has(s->principals, (const char *)name.at, name.left))
			continue;
		if (found++ == 0)
			buf_add(ret_principal, name.at, name.left);
	}
	return found == 0 ? SIGNERS_CERTIFICATE : found > 1 ? SIGNERS_SHARED : SIGNERS_FOUND;
}

/* What one line says; UNKNOWN when it is about another key. */
static enum signers_answer ask_line(const struct signer *s, const struct sshwire *blob,
				    const struct sshcert *cert, const char *name_space, time_t when,
				    struct buf *ret_principal)
{
	struct sshwire key = sshwire_of(&s->blob);

	if (s->authority != (cert != NULL) || !sshwire_equal(&key, cert ? &cert->authority : blob))
		return SIGNERS_UNKNOWN;
	if (strpbrk(s->principals, "*?!"))
		return SIGNERS_PATTERN;
	if (s->namespaces && !signers_list_has(s->namespaces, name_space, strlen(name_space)))
		return SIGNERS_NAMESPACE;
	if (when < s->after || (s->before != 0 && when > s->before))
		return SIGNERS_TIME;
	if (cert && ((uint64_t)when < cert->after || (uint64_t)when >= cert->before))
		return SIGNERS_CERTIFICATE;
	if (cert)
		return name_in_both(s, cert, ret_principal);
	buf_add(ret_principal, s->principals, strlen(s->principals));
	return strchr(s->principals, ',') ? SIGNERS_SHARED : SIGNERS_FOUND;
}

static int ask_all(const struct signers *s, const struct sshwire *blob, const struct sshcert *cert,
		   const char *name_space, time_t when, struct buf *ret_principal)
{
	enum signers_answer best = SIGNERS_UNKNOWN;

	for (size_t i = 0; i < s->count; i++) {
		cleanup_buf struct buf name = { 0 };
		enum signers_answer answer =
			ask_line(&s->items[i], blob, cert, name_space, when, &name);

		if (answer == SIGNERS_FOUND && best == SIGNERS_FOUND &&
		    strcmp(buf_str(&name), buf_str(ret_principal)) != 0)
			best = SIGNERS_SHARED;
		if (best == SIGNERS_SHARED || best == SIGNERS_FOUND || answer == SIGNERS_UNKNOWN)
			continue;
		best = answer;
		if (best == SIGNERS_FOUND && buf_add(ret_principal, name.data, name.len) < 0)
			return -ENOMEM;
	}
	return (int)best;
}

/* One key under two names anywhere in the file, for whatever role, is nobody's. */
static bool has_other_name(const struct signers *s, const struct sshwire *blob, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		struct sshwire key = sshwire_of(&s->items[i].blob);

		if (!s->items[i].authority && sshwire_equal(&key, blob) &&
		    strcmp(s->items[i].principals, name) != 0)
			return true;
	}
	return false;
}

int signers_find(const struct signers *s, const struct sshwire *krl, const struct sshwire *blob,
		 const char *name_space, time_t when, struct buf *ret_principal)
{
	cleanup_sshcert struct sshcert cert = { 0 };
	cleanup_buf struct buf name = { 0 };
	bool certified = sshcert_is(blob);
	int answer, revoked;

	if (certified && sshcert_read(blob, &cert) < 0)
		return SIGNERS_CERTIFICATE;
	answer = ask_all(s, blob, certified ? &cert : NULL, name_space, when, &name);
	revoked = answer == SIGNERS_UNKNOWN ? 0 : krl_has(krl, blob);
	if (answer < 0 || revoked < 0)
		return answer < 0 ? answer : revoked;
	if (revoked)
		return SIGNERS_REVOKED;
	if (answer == SIGNERS_FOUND && has_other_name(s, blob, buf_str(&name)))
		return SIGNERS_SHARED;
	if (answer == SIGNERS_FOUND && buf_add(ret_principal, name.data, name.len) < 0)
		return -ENOMEM;
	return answer;
}

int signers_find_in(const char *text, const struct buf *blob, const char *name_space, time_t when,
		    struct buf *ret_principal, struct weir_err *e)
{
	cleanup_sshcert struct sshcert cert = { 0 };
	cleanup_signers struct signers s = { 0 };
	struct sshwire key = sshwire_of(blob);
	bool certified = sshcert_is(&key);
	int err = signers_parse("signers", text, strlen(text), &s, e);

	if (err < 0)
		return err;
	if (certified && sshcert_read(&key, &cert) < 0)
		return -ENOENT;
	for (size_t i = 0; i < s.count; i++) {
		cleanup_buf struct buf name = { 0 };
		enum signers_answer answer = ask_line(&s.items[i], &key, certified ? &cert : NULL,
						      name_space, when, &name);

		/* a gate's key may have several names */
		if (answer == SIGNERS_FOUND || (answer == SIGNERS_SHARED && !certified))
			return buf_add(ret_principal, name.data, name.len);
	}
	return -ENOENT;
}
