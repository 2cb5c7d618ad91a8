/* SPDX-License-Identifier: MIT */
#include "writeback/keyledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/config.h"
#include "writeback/keynext.h"
#include "writeback/keys.h"
#include "writeback/reason.h"

/* A key of the ledger on one line, without those before it. */
static int vkey_line(const struct note_key *k, struct buf *ret_line)
{
	struct note_key alone = *k;
	int err;

	alone.old_count = 0;
	err = note_key_format(&alone, ret_line);
	if (err == 0 && ret_line->len > 0)
		ret_line->data[--ret_line->len] = '\0';
	return err;
}

/* Whether root has written to the public file what signs now. */
static bool is_published(const struct note_key *now)
{
	cleanup_buf struct buf text = { 0 };
	struct weir_err none = { 0 };
	struct note_key told = { 0 };

	return fsio_read_file(AT_FDCWD, GATE_LEDGER_PUBLIC, NOTE_MAX, &text, &none) == 0 &&
	       note_key_parse(buf_str(&text), &told) == 0 &&
	       memcmp(told.public_key, now->public_key, ED25519_PUBLIC) == 0;
}

static int add_entry(struct gateledger *g, const struct keyhist *h, const char *old,
		     const char *next, const char *reason, struct weir_err *e)
{
	const struct ledger_entry n = { .kind = LEDGER_KEY,
					.intent = -1,
					.role = (char *)(uintptr_t)KEYHIST_LEDGER,
					.old_key = (char *)(uintptr_t)old,
					.new_key = (char *)(uintptr_t)next,
					.why = (char *)(uintptr_t)reason };

	if (h->count >= KEYHIST_MAX)
		return refuse(e, REASON_LIMIT, "the ledger has %u changes of keys", KEYHIST_MAX);
	return gateledger_add(g, &n, NULL, e);
}

/* The entry is signed by the old key, the last checkpoint by both, and all after it by the new one.
 * Tells root how many entries the old one may have signed, and the new one. */
int keyledger_rotate(const struct gate_config *c, struct gateledger *g, const struct keyhist *h,
		     const char *reason, struct buf *ret_line, struct weir_err *e)
{
	const struct note_key *now = &g->log.key;
	struct note_key then = { 0 };
	cleanup_sshkey struct sshkey key = { 0 };
	cleanup_buf struct buf old = { 0 };
	cleanup_buf struct buf next = { 0 };
	/* after a crash only root's part is left */
	bool taken = !keynext_is_there(c->ledger_key) && !is_published(now);
	int err = vkey_line(now, &old);

	if (err == 0 && !taken)
		err = keynext_make(c->ledger_key, now->name, &key, e);
	if (err == 0 && !taken)
		err = note_key_set(&then, now->name, key.public_key);
	if (err == 0)
		err = vkey_line(taken ? now : &then, &next);
	if (err == 0 && !taken && !keyhist_begun(h, KEYHIST_LEDGER, buf_str(&next)))
		err = add_entry(g, h, buf_str(&old), buf_str(&next), reason, e);
	if (err == 0 && !taken)
		err = gateledger_hand_over(g, key.seed, key.public_key, e);
	if (err == 0 && !taken)
		err = keynext_take(c->ledger_key, e);
	if (err < 0)
		return err;
	return buf_addf(ret_line, "%llu %s", (unsigned long long)g->log.checkpoint.size,
			buf_str(&next));
}

int keyledger_publish(const char *line, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	struct note_key told = { 0 }, next = { 0 };
	uint64_t until;
	char *at;
	int err = fsio_read_file(AT_FDCWD, GATE_LEDGER_PUBLIC, NOTE_MAX, &text, e);

	if (err < 0)
		return err;
	until = strtoull(line, &at, 10);
	if (note_key_parse(buf_str(&text), &told) < 0 || *at != ' ' ||
	    note_key_parse(at, &next) < 0 || strcmp(next.name, told.name) != 0)
		return err_set(e, -EBADMSG, "%s, or the keeper's key, can't be read",
			       GATE_LEDGER_PUBLIC);
	if (memcmp(told.public_key, next.public_key, ED25519_PUBLIC) == 0)
		return 0;
	err = note_key_change(&told, next.public_key, until);
	if (err == -E2BIG)
		return refuse(e, REASON_LIMIT, "the ledger has had %u keys before", NOTE_OLD_MAX);
	text.len = 0;
	if (err == 0)
		err = note_key_format(&told, &text);
	if (err < 0)
		return err_errno(e, err, "%s", GATE_LEDGER_PUBLIC);
	return fsio_replace(AT_FDCWD, GATE_LEDGER_PUBLIC, text.data, text.len, 0644, e);
}
