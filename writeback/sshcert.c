/* SPDX-License-Identifier: MIT */
#include "writeback/sshcert.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/sshpub.h"

#define USER_CERTIFICATE 1

/* Fields of the plain blob: how many strings follow its type. */
static const struct {
	const char *cert;
	const char *plain;
	unsigned int fields;
} types[] = {
	{ "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", 1 },
	{ "ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp256", 2 },
	{ "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp384", 2 },
	{ "ecdsa-sha2-nistp521-cert-v01@openssh.com", "ecdsa-sha2-nistp521", 2 },
	{ "ssh-rsa-cert-v01@openssh.com", "ssh-rsa", 2 },
	{ "sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", 2 },
	{ "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", 3 },
};

void sshcert_done(struct sshcert *c)
{
	buf_done(&c->plain);
}

/* Takes the type. Returns: its row, -1 if there is none. */
static int find_type(struct sshwire *w)
{
	struct sshwire name;

	if (sshwire_string(w, &name) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (sshwire_is(&name, types[i].cert))
			return (int)i;
	return -1;
}

bool sshcert_is(const struct sshwire *blob)
{
	struct sshwire w = *blob;

	return find_type(&w) >= 0;
}

static int read_key(struct sshwire *w, int type, struct buf *ret_plain)
{
	struct sshwire nonce, field;

	if (sshwire_string(w, &nonce) < 0)
		return -EBADMSG;
	sshwire_put_text(ret_plain, types[type].plain);
	for (unsigned int i = 0; i < types[type].fields; i++) {
		if (sshwire_string(w, &field) < 0)
			return -EBADMSG;
		sshwire_put(ret_plain, field.at, field.left);
	}
	return ret_plain->failed ? -ENOMEM : 0;
}

int sshcert_read(const struct sshwire *blob, struct sshcert *ret_cert)
{
	struct sshwire w = *blob, options, extensions, reserved, signature;
	struct sshcert *c = ret_cert;
	const unsigned char *end;
	uint32_t kind;
	int type = find_type(&w), err;

	if (type < 0)
		return -ENOTSUP;
	err = read_key(&w, type, &c->plain);
	if (err < 0)
		return err;
	if (sshwire_u64(&w, &c->serial) < 0 || sshwire_u32(&w, &kind) < 0 ||
	    sshwire_string(&w, &c->key_id) < 0 || sshwire_string(&w, &c->principals) < 0 ||
	    sshwire_u64(&w, &c->after) < 0 || sshwire_u64(&w, &c->before) < 0 ||
	    sshwire_string(&w, &options) < 0 || sshwire_string(&w, &extensions) < 0 ||
	    sshwire_string(&w, &reserved) < 0 || sshwire_string(&w, &c->authority) < 0)
		return -EBADMSG;
	end = w.at;
	if (sshwire_string(&w, &signature) < 0 || w.left != 0)
		return -EBADMSG;
	if (kind != USER_CERTIFICATE || options.left != 0 || sshcert_is(&c->authority))
		return -ENOTSUP;
	return sshpub_verify(&c->authority, &signature, blob->at, (size_t)(end - blob->at));
}
