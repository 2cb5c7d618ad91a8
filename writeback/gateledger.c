/* SPDX-License-Identifier: MIT */
#include "writeback/gateledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/keys.h"
#include "writeback/reason.h"

void gateledger_close(struct gateledger *g)
{
	ledger_close(&g->log);
	sshkey_done(&g->key);
}

int gateledger_origin(const struct gate_config *c, char ret_name[NOTE_NAME_MAX])
{
	int len = snprintf(ret_name, NOTE_NAME_MAX, "weir-gate/%s", c->id);

	return len < (int)NOTE_NAME_MAX ? 0 : -EINVAL;
}

static int check_copy(struct gateledger *g, struct weir_err *e)
{
	cleanup_buf struct buf note = { 0 };
	int err = fsio_read_file(g->repo->fd, GATELEDGER_COPY, NOTE_MAX, &note, NULL);

	if (err == -ENOENT)
		return g->log.checkpoint.size == 0 ? 0 : gateledger_no_copy(g->repo, e);
	if (err < 0)
		return err_errno(e, err, "%s/%s", g->repo->path, GATELEDGER_COPY);
	return ledger_check_follows(&g->log, buf_str(&note), note.len, e);
}

int gateledger_no_copy(const struct repo *r, struct weir_err *e)
{
	return refuse(e, REASON_LEDGER,
		      "%s/%s is gone, so nobody can tell whether entries are missing; "
		      "`weir-gate ledger check --newest` takes the ledger for the newest there is",
		      r->path, GATELEDGER_COPY);
}

static int keep_copy(struct gateledger *g, struct weir_err *e)
{
	return fsio_replace(g->repo->fd, GATELEDGER_COPY, g->log.note.data, g->log.note.len, 0600,
			    e);
}

int gateledger_key(const struct gate_config *c, bool rotating, struct sshkey *ret_seed,
		   struct note_key *ret_key, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err none = { 0 };
	struct note_key told = { 0 };
	char name[NOTE_NAME_MAX];
	int err = keys_load(c->ledger_key, ret_seed, e);

	*ret_key = (struct note_key){ 0 };
	if (err == 0 && (gateledger_origin(c, name) < 0 ||
			 note_key_set(ret_key, name, ret_seed->public_key) < 0))
		err = err_set(e, -EINVAL, "the ledger's name can't be made");
	if (err < 0 || fsio_read_file(AT_FDCWD, GATE_LEDGER_PUBLIC, NOTE_MAX, &text, &none) < 0)
		return err;
	if (note_key_parse(buf_str(&text), &told) < 0)
		return err_set(e, -EINVAL, "%s is no public key of a ledger", GATE_LEDGER_PUBLIC);
	/* that of another gate, where a host receives for several repositories */
	if (strcmp(told.name, ret_key->name) != 0)
		return 0;
	if (memcmp(told.public_key, ret_key->public_key, ED25519_PUBLIC) == 0)
		*ret_key = told;
	else if (!rotating)
		return refuse(e, REASON_KEY,
			      "%s has another key than the one that signs: end the rotation with "
			      "`weir-gate key rotate --ledger`",
			      GATE_LEDGER_PUBLIC);
	return 0;
}

static int open_as(const struct gate_config *c, const struct repo *r, bool rotating,
		   struct gateledger *g, struct weir_err *e)
{
	struct note_key key;
	int err;

	*g = (struct gateledger){ .log.dir = -1, .repo = r };
	err = gateledger_key(c, rotating, &g->key, &key, e);
	if (err == 0)
		err = ledger_open(c->ledger, &key, &g->log, e);
	if (err == 0)
		err = check_copy(g, e);
	if (err < 0)
		gateledger_close(g);
	return err;
}

int gateledger_open(const struct gate_config *c, const struct repo *r,
		    struct gateledger *ret_ledger, struct weir_err *e)
{
	return open_as(c, r, false, ret_ledger, e);
}

int gateledger_open_rotating(const struct gate_config *c, const struct repo *r,
			     struct gateledger *ret_ledger, struct weir_err *e)
{
	return open_as(c, r, true, ret_ledger, e);
}

int gateledger_hand_over(struct gateledger *g, const unsigned char seed[ED25519_SEED],
			 const unsigned char public_key[ED25519_PUBLIC], struct weir_err *e)
{
	struct note_key next = { 0 };
	int err = note_key_set(&next, g->log.key.name, public_key);

	if (err == 0)
		err = ledger_cosign(&g->log, &next, seed, e);
	return err < 0 ? err_errno(e, err, "handing the ledger over") : keep_copy(g, e);
}

int gateledger_add(struct gateledger *g, const struct ledger_entry *n, uint64_t *ret_index,
		   struct weir_err *e)
{
	cleanup_buf struct buf text = { .max = TLOG_ENTRY_MAX };
	uint64_t index;
	int err = ledger_entry_format(n, &text);

	if (err < 0)
		return err_errno(e, err, "making a ledger entry");
	/* from the first entry on there is a copy */
	err = g->log.checkpoint.size == 0 ? keep_copy(g, e) : 0;
	if (err == 0)
		err = ledger_append(&g->log, g->key.seed, text.data, text.len, &index, e);
	if (err == 0 && ret_index)
		*ret_index = index;
	return err < 0 ? err : keep_copy(g, e);
}

int gateledger_read(struct gateledger *g, uint64_t index, struct ledger_entry *ret_entry,
		    struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	int err = ledger_read(&g->log, index, &text, e);

	if (err < 0)
		return err;
	if (ledger_entry_parse(buf_str(&text), text.len, ret_entry, &cause) < 0)
		return refuse(e, REASON_LEDGER, "%s: entry %llu: %s", g->log.path,
			      (unsigned long long)index, cause.text);
	return 0;
}

static int contradicts(const struct gateledger *g, uint64_t index, struct weir_err *e)
{
	return refuse(e, REASON_LEDGER, "%s: entry %llu is not what the gate wrote there",
		      g->log.path, (unsigned long long)index);
}

int gateledger_end(struct gateledger *g, uint64_t intent, const char *commit, enum ledger_kind kind,
		   const char *reason, const char *why, struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry begun = { 0 };
	cleanup_ledger_entry struct ledger_entry ended = { 0 };
	struct ledger_entry n;
	int err = gateledger_read(g, intent, &begun, e);

	if (err == -ENOENT && kind == LEDGER_ABORTED)
		return 0;
	if (err == -ENOENT || (err == 0 && begun.kind != LEDGER_INTENT))
		return contradicts(g, intent, e);
	if (err == 0 && strcmp(begun.commit, commit) != 0)
		return contradicts(g, intent, e);
	if (err == 0)
		err = gateledger_read(g, intent + 1, &ended, e);
	if (err == 0)
		return ended.kind == kind && ended.intent == (int64_t)intent
			       ? 0
			       : contradicts(g, intent + 1, e);
	if (err != -ENOENT)
		return err;
	n = begun;
	n.kind = kind;
	n.time = 0;
	n.intent = (int64_t)intent;
	n.reason = (char *)(uintptr_t)reason;
	n.why = (char *)(uintptr_t)why;
	return gateledger_add(g, &n, NULL, e);
}
