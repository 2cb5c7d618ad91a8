/* SPDX-License-Identifier: MIT */
/* weir-gate audit: every commit of a branch since the gate began, and the ledger. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/usage.h"
#include "writeback/audit.h"
#include "writeback/command.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/reason.h"
#include "writeback/revision.h"

struct args {
	struct verifysource source;
	const char *ref;
	const char *since;
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'b':
		a->ref = arg;
		return 0;
	case 'c':
		a->since = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return usage_take_one(state, "repository", arg, &a->source.repository);
	case ARGP_KEY_END:
		if (!a->source.repository || !a->source.signers_file)
			usage_error(state, "%s is missing",
				    a->source.repository ? "--signers FILE" : "REPO");
		return 0;
	default:
		return verifysource_option(&a->source, key, arg);
	}
}

static int print_json(const struct audit *a, const struct verifysource *s)
{
	cleanup_buf struct buf text = { 0 };
	json_t *list = json_array(), *counts = json_object();
	cleanup_json json_t *root = NULL;

	for (size_t i = 0; i < a->count; i++) {
		const struct audit_commit *c = &a->commits[i];
		char hex[OID_HEX];
		json_t *item;

		git_oid_tostr(hex, sizeof(hex), &c->id);
		item = json_pack("{s:s, s:s}", "commit", hex, "state", audit_name(c->state));
		if (c->why)
			json_object_set_new(item, "why", json_string(c->why));
		json_array_append_new(list, item);
	}
	for (enum audit_state i = 0; i < AUDIT_STATE_COUNT; i++)
		json_object_set_new(counts, audit_name(i), json_integer((json_int_t)a->counts[i]));
	root = json_pack("{s:s, s:s, s:b, s:o, s:o, s:{s:b, s:I, s:I, s:s}}", "schema",
			 "weir.audit/1", "ref", a->ref, "ok", audit_good(a), "counts", counts,
			 "commits", list, "ledger", "seen", s->has_ledger, "done",
			 (json_int_t)a->done, "aborted", (json_int_t)a->aborted, "why",
			 buf_str(&a->ledger_why));
	if (!root || json_canonical(root, &text) < 0)
		return -ENOMEM;
	fputs(buf_str(&text), stdout);
	return 0;
}

/* What is wrong, one line each; the rest is counted. */
static void print_text(const struct audit *a, const struct verifysource *s)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct audit_commit *c = &a->commits[i];
		char hex[OID_HEX];

		git_oid_tostr(hex, sizeof(hex), &c->id);
		if (c->state == AUDIT_BROKEN)
			printf("broken      %s %s\n", hex, c->why);
		else if (c->state == AUDIT_GLASS)
			printf("break-glass %s %s\n", hex, c->why);
		else if (c->state == AUDIT_UNATTESTED)
			printf("unattested  %s\n", hex);
	}
	if (a->ledger_why.len > 0)
		printf("ledger: %s", buf_str(&a->ledger_why));
	printf("%s: %zu attested, %zu unattested, %zu broken, %zu from before the gate", a->ref,
	       a->counts[AUDIT_ATTESTED], a->counts[AUDIT_UNATTESTED], a->counts[AUDIT_BROKEN],
	       a->counts[AUDIT_BEFORE]);
	if (a->counts[AUDIT_GLASS] > 0)
		printf(", %zu break-glass", a->counts[AUDIT_GLASS]);
	printf("\n");
	if (s->has_ledger)
		printf("ledger: %llu entries, %llu done and %llu aborted for this branch\n",
		       (unsigned long long)s->ledger.checkpoint.size, (unsigned long long)a->done,
		       (unsigned long long)a->aborted);
	else
		printf("ledger: not looked at (--ledger DIR)\n");
}

static int audit(struct args *args, struct weir_err *e)
{
	struct verifysource *source = &args->source;
	cleanup_audit struct audit a = { .ref = args->ref ? args->ref : "refs/heads/main" };
	int err = verifysource_open(source, e);

	if (err == 0 && args->since)
		err = revision_find(&source->repo, args->since, &a.since, e);
	if (err == 0)
		err = audit_run(&a, source, e);
	if (err < 0)
		return err;
	if (args->json)
		err = print_json(&a, source) < 0 ? err_errno(e, -ENOMEM, "audit") : 0;
	else
		print_text(&a, source);
	if (err == 0 && !audit_good(&a))
		err = refuse(e, REASON_AUDIT, "%s has %zu unattested and %zu broken commits%s",
			     a.ref, a.counts[AUDIT_UNATTESTED], a.counts[AUDIT_BROKEN],
			     a.ledger_why.len ? ", and the ledger contradicts it" : "");
	return err;
}

int command_audit(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "ref", 'b', "REF", 0, "branch (default refs/heads/main)", 0 },
		{ "since", 'c', "COMMIT", 0, "all after this one must be attested", 0 },
		VERIFYSOURCE_OPTIONS,
		{ "json", 'j', NULL, 0, "print every commit, as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options, parse,
		"REPO",	 "Check every commit of a branch, and all of the ledger against it.",
		NULL,	 NULL,
		NULL
	};
	struct args a = { .source = VERIFYSOURCE_CLOSED };
	struct weir_err e = { 0 };
	int err;

	usage_parse(&argp, argc, argv, 0, &a);
	err = audit(&a, &e);
	verifysource_done(&a.source);
	if (fflush(stdout) != 0 && err == 0)
		err = err_errno(&e, -errno, "writing the output");
	return err < 0 ? gate_fail(&e) : 0;
}
