/* SPDX-License-Identifier: MIT */
#include "writeback/gittuf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/json.h"
#include "writeback/sshpub.h"

#define PAYLOAD_TYPE "application/vnd.in-toto+json"

int gittuf_statement(const struct approval *a, struct buf *ret_text)
{
	cleanup_json json_t *root = json_pack(
		"{s:s, s:[{s:{s:s}}], s:s, s:{s:s, s:s, s:s}}", "_type",
		"https://in-toto.io/Statement/v1", "subject", "digest", "gitTree", a->tree,
		"predicateType", "https://gittuf.dev/reference-authorization/v0.2", "predicate",
		"targetRef", a->ref, "fromID", a->base, "targetID", a->tree);

	return root ? json_canonical(root, ret_text) : -ENOMEM;
}

static int make_envelope(const struct buf *payload, const struct buf *armor, const char *keyid,
			 struct buf *ret_text)
{
	cleanup_buf struct buf body = { 0 };
	cleanup_buf struct buf sig = { 0 };
	cleanup_json json_t *root = NULL;

	base64_write(payload->data, payload->len, 0, &body);
	base64_write(armor->data, armor->len, 0, &sig);
	root = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payload", buf_str(&body), "payloadType",
			 PAYLOAD_TYPE, "signatures", "keyid", keyid, "sig", buf_str(&sig));
	return root ? json_canonical(root, ret_text) : -ENOMEM;
}

int gittuf_write(const struct signing *s, const struct approval *a, const char *path,
		 struct weir_err *e)
{
	cleanup_buf struct buf payload = { 0 };
	cleanup_buf struct buf pae = { 0 };
	cleanup_buf struct buf armor = { 0 };
	cleanup_buf struct buf blob = { 0 };
	cleanup_buf struct buf text = { 0 };
	cleanup_close int fd = -1;
	struct signing other = { s->key, s->agent, "git", &pae };
	char keyid[SSHPUB_FINGERPRINT];
	struct sshwire w;
	int status = gittuf_statement(a, &payload);

	buf_addf(&pae, "DSSEv1 %zu %s %zu ", strlen(PAYLOAD_TYPE), PAYLOAD_TYPE, payload.len);
	buf_add(&pae, payload.data, payload.len);
	if (status < 0 || pae.failed)
		return err_errno(e, -ENOMEM, "gittuf");
	status = signer_sign(&other, &armor, e);
	if (status == 0)
		status = signer_public(&other, &blob, e);
	if (status != 0)
		return status;
	w = sshwire_of(&blob);
	if (sshpub_fingerprint(&w, keyid) < 0 || make_envelope(&payload, &armor, keyid, &text) < 0)
		return err_errno(e, -ENOMEM, "gittuf");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(e, -errno, "%s", path);
	status = fsio_write_all(fd, text.data, text.len);
	return status < 0 ? err_errno(e, status, "%s", path) : 0;
}
