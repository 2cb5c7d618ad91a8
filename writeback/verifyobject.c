/* SPDX-License-Identifier: MIT */
#include "writeback/verifyobject.h"

#include <errno.h>
#include <string.h>

#define OBJECT_MAX ((size_t)1 << 20)
#define SIGNATURE "-----BEGIN SSH SIGNATURE-----\n"

/* "object ID", "type commit", "tag NAME", each once and in this order. */
static int read_tag(struct verify *v, struct weir_err *e)
{
	const char *at = buf_str(&v->raw);
	char hex[OID_HEX];
	git_oid target;
	int err;

	if (strncmp(at, "object ", 7) != 0 || v->raw.len < 7 + OID_HEX)
		return verify_fail(VERIFY_OBJECT, e, "the tag names no object");
	memcpy(hex, at + 7, OID_HEX - 1);
	hex[OID_HEX - 1] = '\0';
	at += 7 + OID_HEX - 1;
	if (git_oid_fromstr(&target, hex) < 0 || strncmp(at, "\ntype commit\ntag ", 17) != 0)
		return verify_fail(VERIFY_OBJECT, e, "the tag names no commit");
	at += 17;
	if (buf_add(&v->tag_name, at, strcspn(at, "\n")) < 0)
		return err_errno(e, -ENOMEM, "reading the tag");
	err = repo_read_commit(v->repo, &target, &v->head, e);
	v->head.parent = target;
	v->head.parents = 1;
	return err;
}

int verifyobject_read(struct verify *v, struct weir_err *e)
{
	git_object_t type = v->is_tag ? GIT_OBJECT_TAG : GIT_OBJECT_COMMIT;
	git_oid again;
	int err = repo_read_object(v->repo, &v->commit, type, OBJECT_MAX, &v->raw, e);

	if (err < 0)
		return err;
	if (repo_hash(type, v->raw.data, v->raw.len, &again) < 0 ||
	    !git_oid_equal(&again, &v->commit))
		return verify_fail(VERIFY_OBJECT, e, "the object has another id");
	if (strlen(buf_str(&v->raw)) != v->raw.len)
		return verify_fail(VERIFY_OBJECT, e, "the object holds a NUL");
	return v->is_tag ? read_tag(v, e) : repo_read_commit(v->repo, &v->commit, &v->head, e);
}

static int split_tag(struct verify *v, struct buf *ret_armor)
{
	const char *raw = buf_str(&v->raw), *at = strstr(raw, "\n" SIGNATURE);

	if (!at || strstr(at + 1 + strlen(SIGNATURE), SIGNATURE))
		return -EBADMSG;
	buf_add(&v->plain, raw, (size_t)(at + 1 - raw));
	return buf_add(ret_armor, at + 1, strlen(at + 1));
}

static int split_commit(struct verify *v, struct buf *ret_armor)
{
	const char *at = buf_str(&v->raw);
	const char *body = strstr(at, "\n\n");
	unsigned int count = 0;
	bool inside = false;

	if (!body)
		return -EBADMSG;
	while (at <= body) {
		size_t len = strcspn(at, "\n") + 1;

		if (strncmp(at, "gpgsig ", 7) == 0) {
			count++;
			inside = true;
			buf_add(ret_armor, at + 7, len - 7);
		} else if (inside && at[0] == ' ') {
			buf_add(ret_armor, at + 1, len - 1);
		} else {
			inside = false;
			buf_add(&v->plain, at, len);
		}
		at += len;
	}
	buf_add(&v->plain, body + 1, strlen(body + 1));
	return count == 1 ? 0 : -EBADMSG;
}

int verifyobject_split(struct verify *v, struct buf *ret_armor)
{
	return v->is_tag ? split_tag(v, ret_armor) : split_commit(v, ret_armor);
}
