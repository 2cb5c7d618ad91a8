/* SPDX-License-Identifier: MIT */
/*
 * The allowed_signers file of stock git and ssh-keygen -Y (ssh-keygen(1)), one line for each
 * key: principal[,principal] [options] type base64 [comment]. Options, separated by commas:
 * namespaces="a,b", valid-after="T", valid-before="T" (YYYYMMDD[HHMM[SS]], local time, with a
 * Z UTC), cert-authority. Anything else is an error, so that no restriction is overlooked.
 *
 * Where stock tools are content with one fitting line, more is asked for here: a pattern in
 * principals never matches, and a key that fitting lines give to different names, or
 * to several names at once, has no name at all.
 */
#ifndef WEIR_WRITEBACK_SIGNERS_H
#define WEIR_WRITEBACK_SIGNERS_H

#include <stdbool.h>
#include <time.h>

#include "user/base/buf.h"
#include "user/base/err.h"
#include "writeback/sshwire.h"

#define SIGNERS_MAX ((size_t)4 << 20) /* bytes of a file */
#define SIGNERS_LINES_MAX 100000

struct signer {
	char *principals; /* as written */
	char *namespaces; /* as written, NULL: all */
	struct buf blob;
	time_t after;
	time_t before; /* 0: no end */
	bool authority;
	unsigned int line; /* from 1 */
};

struct signers {
	struct signer *items;
	size_t count;
};

void signers_done(struct signers *s);
#define cleanup_signers __attribute__((__cleanup__(signers_done)))

/* Reads a file's text; name is for messages. Returns: 0, -EINVAL for a line that can't be
 * read (e has its number), -ENOMEM. Borrows: all. Gives: ret_signers. */
int signers_parse(const char *name, const char *text, size_t len, struct signers *ret_signers,
		  struct weir_err *e);

/* What signers_find answers; all but FOUND mean no. X(ID, text) */
#define SIGNERS_ANSWERS(X) \
	X(FOUND, "listed") \
	X(UNKNOWN, "no line lists the key") \
	X(NAMESPACE, "the key is listed, but not for this role") \
	X(TIME, "the key is listed, but not valid at this time") \
	X(PATTERN, "the key is listed for a pattern, not for a person") \
	X(SHARED, "the key is listed for several people") \
	X(CERTIFICATE, "the certificate is damaged, expired, or not for a listed person") \
	X(REVOKED, "the key is revoked")

enum signers_answer {
#define WEIR_X(id, text) SIGNERS_##id,
	SIGNERS_ANSWERS(WEIR_X)
#undef WEIR_X
};

/* Returns: the text of an answer, static. */
const char *signers_text(enum signers_answer answer);

/* Looks for the one person whose key or certificate a blob is, in a namespace at a time, not
 * revoked by krl (empty: nothing is). Gives: the principal, appended, when it is found; where several reasons
 * speak against it, the answer is the one that came nearest. Returns: the answer, or
 * -EBADMSG for a krl that can't be read, -ENOMEM. Borrows: all. */
int signers_find(const struct signers *s, const struct sshwire *krl, const struct sshwire *blob,
		 const char *name_space, time_t when, struct buf *ret_principal);

/* As stock tools do: the first line of a text that fits, without revocation, also one with
 * several names. Returns: 0, -ENOENT for any answer but found,
 * -EINVAL for a line that can't be read (e has line and reason), -ENOMEM. Borrows: all. */
int signers_find_in(const char *text, const struct buf *blob, const char *name_space, time_t when,
		    struct buf *ret_principal, struct weir_err *e);

/* Whether a list "a,b" has a name. Returns: truth. Borrows: all. */
bool signers_list_has(const char *list, const char *name, size_t len);

#endif
