/* SPDX-License-Identifier: MIT */
#include "writeback/exception.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "writeback/approval.h"
#include "writeback/runfindings.h"
#include "writeback/signedtext.h"

static const char scope_run[] = "run ", scope_ref[] = "ref ", scope_all[] = "repository";

void exception_done(struct exception *x)
{
	free(x->repository);
	free(x->scope);
	free(x->reason);
	free(x->control);
	free(x->owner);
	free(x->revokes);
	gate_texts_done(&x->findings);
	*x = (struct exception){ 0 };
}

bool exception_is_wide(const struct exception *x)
{
	return strncmp(x->scope, scope_run, sizeof(scope_run) - 1) != 0;
}

bool exception_holds(const struct exception *x, const char *run, const char *ref)
{
	if (strcmp(x->scope, scope_all) == 0)
		return true;
	return exception_is_wide(x) ? strcmp(x->scope + sizeof(scope_ref) - 1, ref) == 0
				    : strcmp(x->scope + sizeof(scope_run) - 1, run) == 0;
}

static bool is_scope(const char *scope)
{
	return strcmp(scope, scope_all) == 0 ||
	       (strncmp(scope, scope_run, sizeof(scope_run) - 1) == 0 &&
		scope[sizeof(scope_run) - 1]) ||
	       (strncmp(scope, scope_ref, sizeof(scope_ref) - 1) == 0 &&
		scope[sizeof(scope_ref) - 1]);
}

static bool is_whole(const struct exception *x)
{
	unsigned char hash[DIGEST_SIZE];

	if (!x->repository || !x->scope || !is_scope(x->scope) || !x->reason || !x->reason[0] ||
	    !x->control || !x->control[0] || !x->owner || !x->owner[0] || x->role >= ROLE_COUNT ||
	    x->expires <= x->created || x->findings.count > EXCEPTION_FINDINGS_MAX)
		return false;
	if (x->revoke)
		return x->findings.count == 0 && x->revokes &&
		       digest_unhex(x->revokes, hash, sizeof(hash)) == 0;
	return x->findings.count > 0 && !x->revokes;
}

int exception_format(const struct exception *x, struct buf *ret_text)
{
	char created[SIGNED_TIME], expires[SIGNED_TIME];

	if (!is_whole(x))
		return -EINVAL;
	signed_time_format(x->created, created);
	signed_time_format(x->expires, expires);
	buf_addf(ret_text, "%s\n", EXCEPTION_HEAD);
	signed_add(ret_text, "decision", x->revoke ? "revoke" : "accept");
	signed_add(ret_text, "repository", x->repository);
	signed_add(ret_text, "scope", x->scope);
	signed_add(ret_text, "role", role_name(x->role));
	signed_add(ret_text, "reason", x->reason);
	signed_add(ret_text, "control", x->control);
	signed_add(ret_text, "owner", x->owner);
	signed_add(ret_text, "created", created);
	signed_add(ret_text, "expires", expires);
	for (size_t i = 0; i < x->findings.count; i++)
		signed_add(ret_text, "finding", x->findings.items[i]);
	if (x->revoke)
		signed_add(ret_text, "revokes", x->revokes);
	return ret_text->failed ? -ENOMEM : 0;
}

static int set_text(char **at, const char *value)
{
	if (*at)
		return -EBADMSG;
	*at = strdup(value);
	return *at ? 0 : -ENOMEM;
}

static int add_finding(struct exception *x, const char *id)
{
	const struct gate_texts *list = &x->findings;

	if (finding_role(id) < 0 || list->count == EXCEPTION_FINDINGS_MAX ||
	    (list->count > 0 && strcmp(list->items[list->count - 1], id) >= 0))
		return -EBADMSG;
	return gate_texts_add(&x->findings, id);
}

static int read_line(const char *key, const char *value, void *arg)
{
	struct exception *x = arg;
	const struct {
		const char *key;
		char **at;
	} texts[] = { { "repository", &x->repository }, { "scope", &x->scope },
		      { "reason", &x->reason },		{ "control", &x->control },
		      { "owner", &x->owner },		{ "revokes", &x->revokes } };

	if (!value)
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(key, texts[i].key) == 0)
			return set_text(texts[i].at, value);
	if (strcmp(key, "decision") == 0) {
		x->revoke = strcmp(value, "revoke") == 0;
		return x->revoke || strcmp(value, "accept") == 0 ? 0 : -EBADMSG;
	}
	if (strcmp(key, "role") == 0) {
		x->role = role_find(value);
		return 0;
	}
	if (strcmp(key, "created") == 0)
		return signed_time_parse(value, &x->created) < 0 ? -EBADMSG : 0;
	if (strcmp(key, "expires") == 0)
		return signed_time_parse(value, &x->expires) < 0 ? -EBADMSG : 0;
	return strcmp(key, "finding") == 0 ? add_finding(x, value) : -EBADMSG;
}

int exception_parse(const char *text, size_t len, struct exception *ret_exception)
{
	cleanup_buf struct buf again = { 0 };
	int err;

	*ret_exception = (struct exception){ .role = ROLE_COUNT };
	err = len > EXCEPTION_MAX
		      ? -EBADMSG
		      : signed_each(text, len, EXCEPTION_HEAD, read_line, ret_exception);
	if (err == 0)
		err = exception_format(ret_exception, &again);
	if (err == 0 && (again.len != len || memcmp(again.data, text, len) != 0))
		err = -EBADMSG;
	if (err < 0)
		exception_done(ret_exception);
	return err == -ENOMEM ? err : err < 0 ? -EBADMSG : 0;
}
