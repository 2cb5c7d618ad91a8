/* SPDX-License-Identifier: MIT */
/* The ledger and its key, made by weir-gate init; contract in init.h. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/gateledger.h"
#include "writeback/init.h"
#include "writeback/keeper.h"
#include "writeback/keys.h"
#include "writeback/sshkey.h"

static const struct init_file vkey_file = { GATE_LEDGER_PUBLIC, 0644, 0, 0 };

static int make_key(const struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	const struct init_file file = { GATE_LEDGER_KEY, 0600, c->uid, c->gid };
	unsigned char seed[ED25519_SEED], public_key[ED25519_PUBLIC];
	cleanup_buf struct buf text = { 0 };
	cleanup_buf struct buf vkey = { 0 };
	char name[NOTE_NAME_MAX];
	struct note_key key;
	int err = digest_random(seed, sizeof(seed));

	if (err == 0)
		err = digest_public(seed, public_key);
	if (err == 0)
		err = gateledger_origin(c, name);
	if (err == 0)
		err = sshkey_format(seed, name, &text);
	OPENSSL_cleanse(seed, sizeof(seed));
	if (err == 0)
		err = note_key_set(&key, name, public_key);
	if (err == 0)
		err = note_key_format(&key, &vkey);
	if (err < 0)
		err_errno(e, err, "making the ledger's key");
	else
		err = init_file(made, &file, &text, e);
	if (text.data)
		OPENSSL_cleanse(text.data, text.cap);
	return err < 0 ? err : init_file(made, &vkey_file, &vkey, e);
}

/* As the gate's user, who will write to it. */
static int create(const struct gate_config *c, void *arg, struct weir_err *e)
{
	cleanup_sshkey struct sshkey key = { 0 };
	struct note_key k;
	int err = gateledger_key(c, false, &key, &k, e);

	(void)arg;
	return err < 0 ? err : ledger_create(c->ledger, &k, key.seed, e);
}

static int note_made(struct init_files *made, const char *path)
{
	if (made->count >= ARRAY_SIZE(made->paths))
		return -E2BIG;
	made->paths[made->count] = strdup(path);
	if (!made->paths[made->count])
		return -ENOMEM;
	made->count++;
	return 0;
}

int init_ledger(struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	int err = make_key(c, made, e);

	if (err < 0)
		return err;
	if (chmod(GATE_STATE, 0711) < 0 || mkdir(GATE_LEDGER, 0755) < 0)
		return err_errno(e, -errno, "%s", GATE_LEDGER);
	err = note_made(made, GATE_LEDGER);
	if (err == 0 && chown(GATE_LEDGER, c->uid, c->gid) < 0)
		err = -errno;
	if (err < 0)
		return err_errno(e, err, "%s", GATE_LEDGER);
	if (!c->ledger)
		c->ledger = strdup(GATE_LEDGER);
	if (!c->ledger_key)
		c->ledger_key = strdup(GATE_LEDGER_KEY);
	if (!c->ledger || !c->ledger_key)
		return err_errno(e, -ENOMEM, "%s", GATE_LEDGER);
	if (keeper_run(c, create, NULL, NULL, 0) != 0)
		return err_set(e, -EIO, "making the ledger %s failed", GATE_LEDGER);
	err = note_made(made, GATE_LEDGER "/" LEDGER_CHECKPOINT);
	return err < 0 ? err_errno(e, err, "%s", GATE_LEDGER) : 0;
}

int init_add_ledger(struct gate_config *c, struct init_files *made, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct stat st;
	int err = 0;

	if (lstat(GATE_CONFIG, &st) < 0)
		return err_errno(e, -errno, "%s", GATE_CONFIG);
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return err_set(e, -EPERM, "%s must be a file of root that nobody else can write",
			       GATE_CONFIG);
	err = fsio_read_file(AT_FDCWD, GATE_CONFIG, GATE_CONFIG_MAX, &text, e);
	if (err < 0)
		return err;
	if (text.len > 0 && text.data[text.len - 1] != '\n')
		buf_add(&text, "\n", 1);
	buf_addf(&text, "ledger: %s\nledger_key: %s\n", GATE_LEDGER, GATE_LEDGER_KEY);
	err = config_parse(GATE_CONFIG, buf_str(&text), text.len, c, e);
	if (err == 0)
		err = init_user(c, e);
	if (err == 0)
		err = init_ledger(c, made, e);
	return err < 0 ? err : fsio_replace(AT_FDCWD, GATE_CONFIG, text.data, text.len, 0644, e);
}
