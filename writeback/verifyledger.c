/* SPDX-License-Identifier: MIT */
#include "writeback/verifyledger.h"

#include <errno.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/ledgerentry.h"

struct verifyledger_view verifyledger_of(const struct verify *v)
{
	const struct record *r = &v->record;

	if (v->pushed && r->done.len == 0)
		return (struct verifyledger_view){ &r->intent, &r->intent_proof,
						   &r->intent_consistency, true };
	return (struct verifyledger_view){ &r->done, &r->proof, &r->consistency, false };
}

int verifyledger_checkpoint(struct verify *v, struct weir_err *e)
{
	const struct verifyledger_view r = verifyledger_of(v);
	struct weir_err cause = { 0 };

	if (r.entry->len == 0 || r.proof->len == 0)
		return verify_fail(VERIFY_CHECKPOINT, e,
				   "the record has no entry of the ledger: the promotion was not "
				   "completed");
	if (tlog_proof_parse(v->ledger_key, r.proof->data, r.proof->len, &v->proof, &cause) < 0)
		return verify_fail(VERIFY_CHECKPOINT, e, cause.text);
	return 0;
}

int verifyledger_inclusion(struct verify *v, struct weir_err *e)
{
	const struct tlog_proof *p = &v->proof;
	struct merkle_hash leaf;
	const struct buf *entry = verifyledger_of(v).entry;
	int err = merkle_leaf(entry->data, entry->len, &leaf);

	if (err == 0)
		err = merkle_check_inclusion(&leaf, p->index, p->checkpoint.size, &p->path,
					     &p->checkpoint.root);
	return err < 0 ? verify_fail(VERIFY_INCLUSION, e, "the entry is not in the ledger") : 0;
}

int verifyledger_entry(struct verify *v, struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	cleanup_buf struct buf promotion = { 0 };
	cleanup_buf struct buf ref = { 0 };
	struct weir_err cause = { 0 };
	const struct verifyledger_view r = verifyledger_of(v);
	char hex[OID_HEX], bundle[DIGEST_HEX];

	if (ledger_entry_parse(r.entry->data, r.entry->len, &n, &cause) < 0)
		return verify_fail(VERIFY_LEDGER, e, cause.text);
	if (n.kind != (r.intent ? LEDGER_INTENT : LEDGER_DONE))
		return verify_fail(VERIFY_LEDGER, e, "the ledger does not say done");
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	if (strcmp(n.commit, hex) != 0)
		return verify_fail(VERIFY_LEDGER, e, "the entry is about another commit");
	if (verify_trailer(v, "Weir-Promotion", &promotion) < 0 || promotion.len < 7 ||
	    strcmp(n.promotion, promotion.data + 7) != 0)
		return verify_fail(VERIFY_LEDGER, e, "the entry is about another promotion");
	buf_add_escaped(&ref, n.ref, strlen(n.ref));
	if (!verify_promotion_says(v, "ref", buf_str(&ref)))
		return verify_fail(VERIFY_LEDGER, e, "the entry is about another branch");
	if (attest_bundle_hash(&v->attestations, bundle) < 0 || strcmp(n.attestations, bundle) != 0)
		return verify_fail(VERIFY_LEDGER, e, "the entry is about other attestations");
	v->intent = r.intent ? v->proof.index : (uint64_t)n.intent;
	if (!r.intent && v->intent + 1 != v->proof.index)
		return verify_fail(VERIFY_LEDGER, e, "the entry does not follow its intent");
	return 0;
}

/* "N sha256:HEX" */
static int read_trailer(const struct verify *v, struct tlog_checkpoint *ret_old)
{
	cleanup_buf struct buf text = { 0 };
	const char *at;

	if (verify_trailer(v, "Weir-Ledger", &text) < 0)
		return -ENOENT;
	at = strstr(buf_str(&text), " sha256:");
	if (!at)
		return -EBADMSG;
	if (digest_unhex(at + 8, ret_old->root.bytes, DIGEST_SIZE) < 0)
		return -EBADMSG;
	text.data[at - text.data] = '\n';
	at = text.data;
	return tlog_number(&at, text.data + text.len, &ret_old->size);
}

/* The whole ledger, where there is one: it still holds all of this, and the intent. */
static int check_whole(const struct verify *v, struct weir_err *e)
{
	cleanup_ledger_entry struct ledger_entry n = { 0 };
	cleanup_buf struct buf text = { 0 };
	struct weir_err cause = { 0 };
	char hex[OID_HEX];

	if (ledger_check_prefix(v->ledger, &v->proof.checkpoint, &cause) < 0 ||
	    ledger_read(v->ledger, v->intent, &text, &cause) < 0 ||
	    ledger_entry_parse(buf_str(&text), text.len, &n, &cause) < 0)
		return verify_fail(VERIFY_HISTORY, e, cause.text);
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	if (n.kind != LEDGER_INTENT || strcmp(n.commit, hex) != 0)
		return verify_fail(VERIFY_HISTORY, e, "the ledger has no intent for this commit");
	return 0;
}

int verifyledger_history(struct verify *v, struct weir_err *e)
{
	const struct buf *text = verifyledger_of(v).consistency;
	const struct tlog_checkpoint *now = &v->proof.checkpoint;
	struct tlog_checkpoint old;
	struct merkle_path path;
	uint64_t from;

	if (read_trailer(v, &old) < 0)
		return verify_fail(VERIFY_HISTORY, e, "the trailer Weir-Ledger can't be read");
	if (tlog_consistency_parse(buf_str(text), text->len, &from, &path) < 0 || from != old.size)
		return verify_fail(VERIFY_HISTORY, e, "the proof of consistency can't be read");
	if (merkle_check_consistency(old.size, &old.root, now->size, &now->root, &path) < 0)
		return verify_fail(VERIFY_HISTORY, e,
				   "the ledger does not go on from the one that the commit names");
	if (v->intent != old.size)
		return verify_fail(VERIFY_HISTORY, e, "the intent is not the entry that follows");
	return v->ledger ? check_whole(v, e) : 0;
}
