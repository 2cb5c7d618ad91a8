/* SPDX-License-Identifier: MIT */
/* Proposals that have waited too long; contract in pending.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "user/base/cleanup.h"
#include "writeback/approval.h"
#include "writeback/digest.h"
#include "writeback/gateclock.h"
#include "writeback/gateledger.h"
#include "writeback/pending.h"
#include "writeback/publish.h"
#include "writeback/reason.h"

int64_t pending_until(const struct gate_config *c, int64_t proposed)
{
	return proposed + signed_span_parse(c->expire ? c->expire : GATE_EXPIRE);
}

/* When it was proposed; 0 where there is no telling, which is no reason to remove it. */
static int64_t proposed_at(const struct repo *r, const char *nonce)
{
	char path[sizeof("weir/pending//promotion") + NONCE_HEX];
	struct stat st;

	snprintf(path, sizeof(path), "weir/pending/%s/promotion", nonce);
	return fstatat(r->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mtim.tv_sec;
}

static int expire_one(const struct repo *r, struct gateledger *g, const char *nonce,
		      struct weir_err *e)
{
	cleanup_pending struct pending p = { .dir = -1 };
	cleanup_buf struct buf run = { 0 };
	cleanup_buf struct buf ref = { 0 };
	struct weir_err none = { 0 };
	char id[NONCE_HEX];
	struct ledger_entry n = { .kind = LEDGER_ABORTED,
				  .intent = -1,
				  .nonce = id,
				  .reason = (char *)(uintptr_t)reason_code(REASON_EXPIRED),
				  .why = (char *)(uintptr_t) "it waited for people for too long" };
	cleanup_nonce struct nonce of = { 0 };
	int err;

	snprintf(id, sizeof(id), "%s", nonce);
	/* it was promoted, and a crash left it behind */
	if (nonce_load(nonce, &of, &none) == 0 && of.used) {
		pending_drop(r, nonce);
		return 0;
	}
	/* one that can't be read any more goes as well */
	if (pending_open(r, nonce, &p, &none) == 0) {
		digest_find(buf_str(&p.promotion), "run", &run);
		digest_find(buf_str(&p.promotion), "ref", &ref);
		n.promotion = p.digest;
		n.run = (char *)(uintptr_t)buf_str(&run);
		n.ref = (char *)(uintptr_t)buf_str(&ref);
	}
	err = gateledger_add(g, &n, NULL, e);
	if (err == 0)
		pending_drop(r, nonce);
	return err;
}

int pending_expire(const struct gate_config *c, const struct repo *r, struct weir_err *e)
{
	cleanup_gateledger struct gateledger ledger = { .log.dir = -1 };
	struct gate_texts nonces = { 0 };
	int64_t now = time(NULL);
	int err = gateclock_check(r, now, e);
	bool open = false;

	if (err == 0)
		err = pending_list(r, &nonces, e);

	for (size_t i = 0; err == 0 && i < nonces.count; i++) {
		int64_t proposed = proposed_at(r, nonces.items[i]);

		if (proposed == 0 || now <= pending_until(c, proposed))
			continue;
		if (!open) {
			err = gateledger_open(c, r, &ledger, e);
			/* a promotion that crashed has its entry first */
			if (err == 0)
				err = publish_recover(r, c, &ledger, e);
			open = true;
		}
		if (err == 0)
			err = expire_one(r, &ledger, nonces.items[i], e);
	}
	gate_texts_done(&nonces);
	return err;
}
