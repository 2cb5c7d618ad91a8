/* SPDX-License-Identifier: MIT */
/* weir-gate pending and review: proposals, looked at. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/approve.h"
#include "writeback/command.h"
#include "writeback/digest.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/kind.h"
#include "writeback/proposal.h"
#include "writeback/publish.h"
#include "writeback/reason.h"
#include "writeback/review.h"

enum {
	KEY_DROP = 0x100,
	KEY_ONLY,
};

#define ONLY_MAX ((size_t)1 << 20) /* bytes of a list of nonces */

struct args {
	struct proposal_args at;
	const char *drop;
	const char *only_list;
	struct gate_texts only;
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key == KEY_DROP) {
		a->drop = arg;
		return 0;
	}
	if (key == KEY_ONLY) {
		a->only_list = arg;
		return 0;
	}
	if (key == 'j') {
		a->json = true;
		return 0;
	}
	return proposal_option(&a->at, key, arg);
}

static json_int_t pack_bytes(const struct pending *p)
{
	struct stat st;

	return p->dir < 0 || fstatat(p->dir, "q.pack", &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : (json_int_t)st.st_size;
}

static json_t *one_json(const struct gate_config *c, const struct proposal *x,
			const struct weir_err *trouble)
{
	const char *text = buf_str(&x->pending.promotion);
	cleanup_buf struct buf run = { 0 };
	cleanup_buf struct buf ref = { 0 };
	char when[SIGNED_TIME], until[SIGNED_TIME];

	digest_find(text, "run", &run);
	digest_find(text, "ref", &ref);
	signed_time_format(x->pending.proposed, when);
	signed_time_format(pending_until(c, x->pending.proposed), until);
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "kind",
			 kind_of(kind_of_text(text))->name, "expires", until, "bytes",
			 pack_bytes(&x->pending), "run", buf_str(&run), "nonce", x->pending.nonce,
			 "promotion", x->pending.digest, "ref", buf_str(&ref), "proposed", when,
			 "missing", buf_str(&x->tally.missing), "rejected",
			 buf_str(&x->tally.rejected), "trouble", trouble->text);
}

static const char *member(const json_t *json, const char *name)
{
	return json_string_value(json_object_get(json, name));
}

static void print_one(const json_t *json)
{
	const char *trouble = member(json, "trouble"), *rejected = member(json, "rejected"),
		   *missing = member(json, "missing"), *kind = member(json, "kind");

	printf("%s  %s  %.16s  ", member(json, "run"), member(json, "proposed"),
	       member(json, "promotion"));
	if (trouble[0])
		printf("%s\n", trouble);
	else if (rejected[0])
		printf("rejected by %s\n", rejected);
	else if (missing[0])
		printf("waits for %s\n", missing);
	else
		printf("complete\n");
	/* no run's directory leads to it */
	if (strcmp(kind, kind_of(KIND_RUN)->name) != 0)
		printf("    look with: weir-gate review --nonce %s\n", member(json, "nonce"));
}

/* One that can't be read is told as such; it never hides the others. */
static json_t *look(const struct gate_config *c, struct repo *repo, const char *nonce)
{
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	struct weir_err trouble = { 0 };

	proposal_load(c, repo, nonce, &x, &trouble);
	snprintf(x.pending.nonce, sizeof(x.pending.nonce), "%s", nonce);
	return one_json(c, &x, &trouble);
}

static int keep_pending(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_close int lock = -1;
	cleanup_buf struct buf text = { 0 };
	cleanup_json json_t *list = json_array();
	cleanup_json json_t *root =
		json_pack("{s:s, s:O}", "schema", "weir.pending/1", "pending", list);
	struct gate_texts nonces = { 0 };
	int err = proposal_open_repo(c, &repo, &lock, e);

	if (err == 0)
		err = pending_list(&repo, &nonces, e);
	for (size_t i = 0; err == 0 && i < nonces.count; i++) {
		json_t *one;

		if (a->only_list && !gate_texts_have(&a->only, nonces.items[i]))
			continue;
		one = look(c, &repo, nonces.items[i]);
		if (!one || json_array_append_new(list, one) < 0)
			err = err_errno(e, -ENOMEM, "listing");
		else if (!a->json)
			print_one(one);
	}
	gate_texts_done(&nonces);
	if (err == 0 && a->json && (!root || json_canonical(root, &text) < 0))
		err = err_errno(e, -ENOMEM, "listing");
	if (err == 0 && a->json)
		fputs(buf_str(&text), stdout);
	return err;
}

static int read_only(struct args *a, struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	char *at = NULL;
	int err = a->only_list ? fsio_read_file(AT_FDCWD, a->only_list, ONLY_MAX, &text, e) : 0;

	if (err < 0 || text.len == 0)
		return err;
	for (char *id = strtok_r(text.data, " \t\r\n", &at); id;
	     id = strtok_r(NULL, " \t\r\n", &at))
		if (gate_texts_add(&a->only, id) < 0)
			return err_errno(e, -ENOMEM, "%s", a->only_list);
	return 0;
}

/* Also one that can't be read any more; what people signed about it goes with it. */
static int keep_drop(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct args *a = arg;
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_close int lock = -1;
	struct gate_texts nonces = { 0 };
	int err = proposal_open_repo(c, &repo, &lock, e);

	if (err == 0)
		err = pending_list(&repo, &nonces, e);
	if (err == 0 && !gate_texts_have(&nonces, a->drop))
		err = refuse(e, REASON_PENDING, "nothing waits under nonce %.32s", a->drop);
	if (err == 0) {
		pending_drop(&repo, a->drop);
		printf("dropped %s\n", a->drop);
	}
	gate_texts_done(&nonces);
	return err;
}

static int keep_review(const struct gate_config *c, void *arg, struct weir_err *e)
{
	struct args *a = arg;
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_proposal struct proposal x = { .pending = { .dir = -1 } };
	cleanup_review struct review r = { 0 };
	cleanup_close int lock = -1;
	int err = proposal_open_repo(c, &repo, &lock, e);

	if (err == 0)
		err = proposal_load(c, &repo, a->at.nonce, &x, e);
	if (err == 0)
		err = review_load(&repo, &x.pending, &x.tally, &r, e);
	if (err < 0)
		return err;
	return a->json ? review_json(&r, stdout, e) : review_text(&r, stdout, e);
}

int command_pending(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", 'j', NULL, 0, "print JSON (schema weir.pending/1)", 0 },
		{ "drop", KEY_DROP, "NONCE", 0, "give this one up", 0 },
		{ "only-list", KEY_ONLY, "FILE", 0,
		  "only those whose nonces stand here, one a line", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options, parse, NULL, "List the proposals that wait for people, and for whom.",
		NULL,	 NULL,	NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int status;

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) < 0 || read_only(&a, &e) < 0)
		return gate_fail(&e);
	status = keeper_run(&c, a.drop ? keep_drop : keep_pending, &a, NULL, 0);
	gate_texts_done(&a.only);
	return status;
}

int command_review(int argc, char **argv)
{
	static const struct argp_option options[] = {
		PROPOSAL_OPTIONS,
		{ "json", 'j', NULL, 0, "print JSON (schema weir.review/1)", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Show all of a proposal, from its quarantined objects: who is asked, findings, "
		"what was not checked, what stays behind, and every change.",
		NULL,
		NULL,
		NULL
	};
	cleanup_config struct gate_config c = { 0 };
	struct args a = { 0 };
	struct weir_err e = { 0 };

	usage_parse(&argp, argc, argv, 0, &a);
	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	if (config_load(&c, &e) < 0 || proposal_find_nonce(&a.at, &e) < 0)
		return gate_fail(&e);
	return keeper_run(&c, keep_review, &a, NULL, 0);
}
