/* SPDX-License-Identifier: MIT */
#include "writeback/pushcert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/sshsig.h"

#define HEX_LEN 40
#define BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define END "\n-----END SSH SIGNATURE-----\n"

void pushcert_done(struct pushcert *c)
{
	free(c->nonce);
	free(c->reason);
	free(c->ref);
	*c = (struct pushcert){ 0 };
}

/* Text that is left, without NUL. */
struct cursor {
	const char *at;
	const char *end;
};

/* The next line without its newline. Returns: its length, or -EBADMSG. */
static ssize_t next_line(struct cursor *c, const char **ret_line)
{
	const char *end = memchr(c->at, '\n', (size_t)(c->end - c->at));

	if (!end)
		return -EBADMSG;
	*ret_line = c->at;
	c->at = end + 1;
	return end - *ret_line;
}

static bool has_prefix(const char *line, ssize_t len, const char *prefix)
{
	return (size_t)len >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

static int take(char **at, const char *line, size_t skip, ssize_t len)
{
	if (*at)
		return -EBADMSG; /* stands there twice */
	*at = strndup(line + skip, (size_t)len - skip);
	return *at ? 0 : -ENOMEM;
}

static int read_head(struct cursor *at, struct pushcert *c)
{
	const char *line;
	ssize_t len = next_line(at, &line);
	int err = 0;

	if (len < 0 || !has_prefix(line, len, "certificate version 0.1") || len != 23)
		return -EBADMSG;
	while (err == 0) {
		len = next_line(at, &line);
		if (len <= 0)
			return len < 0 ? -EBADMSG : 0;
		if (has_prefix(line, len, "nonce "))
			err = take(&c->nonce, line, 6, len);
		else if (has_prefix(line, len, "push-option reason="))
			err = take(&c->reason, line, 19, len);
		else if (!has_prefix(line, len, "pusher ") && !has_prefix(line, len, "pushee ") &&
			 !has_prefix(line, len, "push-option "))
			err = -EBADMSG;
	}
	return err;
}

static int read_update(struct cursor *at, struct pushcert *c)
{
	const char *line;
	ssize_t len = next_line(at, &line);
	char hex[HEX_LEN + 1] = "";

	if (len < 2 * HEX_LEN + 3 || line[HEX_LEN] != ' ' || line[2 * HEX_LEN + 1] != ' ')
		return -EBADMSG;
	memcpy(hex, line, HEX_LEN);
	if (git_oid_fromstr(&c->old, hex) < 0)
		return -EBADMSG;
	memcpy(hex, line + HEX_LEN + 1, HEX_LEN);
	if (git_oid_fromstr(&c->new_id, hex) < 0)
		return -EBADMSG;
	return take(&c->ref, line, 2 * HEX_LEN + 2, len);
}

int pushcert_parse(const char *text, size_t len, struct pushcert *ret_cert, struct weir_err *e)
{
	struct cursor at = { text, text + len };
	struct pushcert *c = ret_cert;
	const char *end = NULL;
	int err;

	*c = (struct pushcert){ 0 };
	if (len > PUSHCERT_MAX || memchr(text, '\0', len))
		return err_set(e, -EBADMSG, "the push certificate is too long or no text");
	err = read_head(&at, c);
	if (err == 0)
		err = read_update(&at, c);
	if (err == -ENOMEM)
		return err_errno(e, err, "push certificate");
	if (err < 0)
		return err_set(e, err,
			       "the push certificate can't be read, or is not about one "
			       "ref");
	c->signed_len = (size_t)(at.at - text);
	if (has_prefix(at.at, at.end - at.at, BEGIN))
		end = memmem(at.at, (size_t)(at.end - at.at), END, strlen(END));
	if (!end)
		return err_set(e, -EBADMSG,
			       "the push certificate is about more than one ref, or not signed "
			       "with an SSH key");
	c->len = (size_t)(end - text) + strlen(END);
	if (!c->nonce || !c->nonce[0])
		return err_set(e, -EBADMSG, "the push certificate has no nonce of the server");
	if (!c->reason || !c->reason[0] || strlen(c->reason) > PUSHCERT_REASON_MAX)
		return err_set(e, -EBADMSG,
			       "the push certificate does not say why (push -o reason=TEXT)");
	return 0;
}

int pushcert_verify(const struct pushcert *c, const char *text, struct buf *ret_blob,
		    struct weir_err *e)
{
	return sshsig_verify(text + c->signed_len, c->len - c->signed_len, "git", text,
			     c->signed_len, ret_blob, e);
}
