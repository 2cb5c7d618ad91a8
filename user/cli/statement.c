/* SPDX-License-Identifier: MIT */
#include "user/cli/statement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/cli/environ.h"

#define PREFIX "weir-statement/1"

/* Reads the seed; a key that others could read is no key. */
static int read_key(unsigned char seed[ED25519_SEED], struct weir_err *e)
{
	cleanup_buf struct buf text = { .max = 256 };
	struct stat st;
	int err;

	if (stat(STATEMENT_KEY_FILE, &st) < 0)
		return err_errno(e, -errno, "the host key %s", STATEMENT_KEY_FILE);
	if (st.st_uid != 0 || (st.st_mode & 077))
		return err_set(e, -EPERM, "%s: must belong to root with mode 0600",
			       STATEMENT_KEY_FILE);
	err = fsio_read_file(AT_FDCWD, STATEMENT_KEY_FILE, 128, &text, e);
	if (err < 0)
		return err;
	if (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[text.len - 1] = '\0';
	if (text.len == 0 || digest_unhex(text.data, seed, ED25519_SEED) < 0)
		return err_set(e, -EBADMSG, "%s: not 64 hex digits", STATEMENT_KEY_FILE);
	return 0;
}

int statement_check_key(struct weir_err *e)
{
	unsigned char seed[ED25519_SEED];
	int err = read_key(seed, e);

	explicit_bzero(seed, sizeof(seed));
	return err;
}

static int file_digest(struct session *s, const char *name, char hex[DIGEST_HEX],
		       struct weir_err *e)
{
	cleanup_buf struct buf bytes = { 0 };
	unsigned char hash[DIGEST_SIZE];
	int err = fsio_read_file(s->run.fd, name, 16u << 20, &bytes, e);

	if (err == 0)
		err = digest_bytes(bytes.data, bytes.len, hash);
	if (err == 0)
		digest_hex(hash, DIGEST_SIZE, hex);
	return err;
}

static json_t *counters_json(struct session *s)
{
	const struct weir_run *run = kern_run(s->kern, s->slot.slot);

	return json_pack("{s:I, s:I, s:I, s:I}", "records", (json_int_t)s->pipe.verdict.records,
			 "last_seq", (json_int_t)run->seq, "members", (json_int_t)run->members,
			 "trouble", (json_int_t)kern_trouble(&s->slot));
}

static json_t *workspace_json(struct session *s)
{
	cleanup_buf struct buf path = { 0 };
	struct stat st = { 0 };

	fstat(s->workspace_fd, &st);
	buf_add_escaped(&path, s->workspace, strlen(s->workspace));
	return json_pack("{s:s, s:I, s:I}", "path", buf_str(&path), "dev", (json_int_t)st.st_dev,
			 "ino", (json_int_t)st.st_ino);
}

static json_t *statement(struct session *s, enum verdict_value verdict, const char *key,
			 const char *coverage)
{
	static const char *const modes[] = { "off", "trace", "observe", "enforce" };
	char root[DIGEST_HEX], before[DIGEST_HEX], after[DIGEST_HEX], boot[64], machine[64];
	unsigned char hash[DIGEST_SIZE];
	json_t *o;

	trace_writer_root(s->trace, hash);
	digest_hex(hash, DIGEST_SIZE, root);
	digest_hex(s->before.sha256, DIGEST_SIZE, before);
	digest_hex(s->after.sha256, DIGEST_SIZE, after);
	environ_read_id("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	environ_read_id("/etc/machine-id", machine, sizeof(machine));
	o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
		      "schema", "weir.statement/1", "run", s->run.id, "nonce", s->base.nonce,
		      "machine", machine, "boot", boot, "host_key", key, "coverage", coverage,
		      "manifest_before", before, "manifest_after", after, "verdict",
		      verdict_name(verdict), "repository", s->base.repository, "ref", s->base.ref,
		      "commit", s->base.commit, "mode", modes[s->mode]);
	json_object_set_new(o, "trace",
			    json_pack("{s:s, s:I}", "root", root, "bytes",
				      (json_int_t)trace_writer_size(s->trace)));
	json_object_set_new(o, "counters", counters_json(s));
	json_object_set_new(o, "workspace", workspace_json(s));
	json_object_set_new(o, "exit", finish_exit_json(s->wait_status));
	json_object_set_new(o, "policy",
			    s->policy_sha256 ? json_string(s->policy_sha256) : json_null());
	return o;
}

static int sign_and_write(struct session *s, const unsigned char seed[ED25519_SEED],
			  const char *text, struct weir_err *e)
{
	cleanup_buf struct buf bytes = { 0 };
	unsigned char signature[ED25519_SIGNATURE];
	char hex[2 * ED25519_SIGNATURE + 2] = { 0 };
	int err;

	buf_add(&bytes, PREFIX, sizeof(PREFIX));
	buf_add(&bytes, text, strlen(text));
	buf_add(&bytes, "\n", 1);
	if (bytes.failed)
		return err_errno(e, -ENOMEM, "statement");
	err = digest_sign(seed, bytes.data, bytes.len, signature);
	if (err < 0)
		return err_errno(e, err, "signing the statement");
	digest_hex(signature, sizeof(signature), hex);
	hex[2 * sizeof(signature)] = '\n';
	err = fsio_replace(s->run.fd, "statement.json", bytes.data + sizeof(PREFIX),
			   bytes.len - sizeof(PREFIX), 0600, e);
	return err < 0 ? err : fsio_replace(s->run.fd, "statement.sig", hex, strlen(hex), 0600, e);
}

int statement_write(struct session *s, enum verdict_value verdict, struct weir_err *e)
{
	unsigned char seed[ED25519_SEED], public[ED25519_PUBLIC];
	char key[2 * ED25519_PUBLIC + 1], coverage[DIGEST_HEX];
	cleanup_free char *text = NULL;
	json_t *json;
	int err = read_key(seed, e);

	if (err == 0 && digest_public(seed, public) < 0)
		err = err_set(e, -EIO, "%s: unusable", STATEMENT_KEY_FILE);
	if (err == 0)
		err = file_digest(s, "coverage.json", coverage, e);
	if (err < 0)
		return err;
	digest_hex(public, sizeof(public), key);
	json = statement(s, verdict, key, coverage);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(json);
	if (!text)
		return err_errno(e, -ENOMEM, "statement");
	err = sign_and_write(s, seed, text, e);
	explicit_bzero(seed, sizeof(seed));
	return err;
}
