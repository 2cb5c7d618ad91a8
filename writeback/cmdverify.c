/* SPDX-License-Identifier: MIT */
/* weir-gate verify: anybody may run it; as root it drops to the repository's owner first. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/glass.h"
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/revision.h"
#include "writeback/signers.h"
#include "writeback/verify.h"
#include "writeback/verifydir.h"
#include "writeback/verifysource.h"

struct args {
	const char *commit; /* or a directory */
	int dir;	    /* -1: it is none */
	const char *name;   /* that the directory must have, NULL: any */
	bool dir_good;
	struct verifysource source;
	bool deep;
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'r':
		a->source.repository = arg;
		return 0;
	case 'd':
		a->deep = true;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case 'n':
		a->name = arg;
		return 0;
	case ARGP_KEY_ARG:
		return usage_take_one(state, "commit or directory", arg, &a->commit);
	case ARGP_KEY_END:
		if (!a->commit || !a->source.repository || !a->source.signers_file)
			usage_error(state, "%s is missing",
				    !a->commit		    ? "COMMIT"
				    : !a->source.repository ? "--repo DIR"
							    : "--signers FILE");
		if (a->name && !verifydir_is_path(a->commit))
			usage_error(state, "--name is for a directory");
		return 0;
	default:
		return verifysource_option(&a->source, key, arg);
	}
}

/* What the promotion says about its history. */
static int find_glass(const struct verify *v, struct gate_texts *ret_commits, struct weir_err *e)
{
	int err = glass_listed(buf_str(&v->record.promotion), ret_commits);

	if (err == 0)
		err = glass_collect(v->repo, &v->head.parent, ret_commits, e);
	else
		err_errno(e, err, "verify");
	return err;
}

/* A commit that people pushed past the gate has no links to check, but it is no stranger. */
static int check_glass(const struct verify *v, struct weir_err *e)
{
	cleanup_glass struct glass g = { 0 };
	struct weir_err cause = { 0 };
	cleanup_buf struct buf by = { 0 };

	if (glass_check(v->repo, &v->commit, v->ledger_key, &g, &cause) < 0)
		return 0;
	buf_add_escaped(&by, g.entry.by, strlen(g.entry.by));
	return refuse(e, REASON_VERIFY,
		      "break-glass: %s let it in without the gate, ledger entry %llu", buf_str(&by),
		      (unsigned long long)g.proof.index);
}

static int print_json(const struct args *a, const struct verify *v, const struct gate_texts *glass,
		      int err, const struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	json_t *list = json_array(), *past = json_array();
	cleanup_json json_t *root = NULL;
	cleanup_buf struct buf name = { 0 };
	char hex[OID_HEX];

	for (unsigned int i = 0; i < verify_count(v) && i <= v->checked; i++)
		json_array_append_new(list, json_pack("{s:s, s:b}", "link",
						      verify_name((enum verify_link)i), "ok",
						      i < v->checked));
	if (a->dir >= 0 && v->checked == verify_count(v))
		json_array_append_new(
			list, json_pack("{s:s, s:b}", "link", VERIFYDIR_LINK, "ok", a->dir_good));
	for (size_t i = 0; i < glass->count; i++)
		json_array_append_new(past, json_string(glass->items[i]));
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	root = json_pack("{s:s, s:s, s:b, s:o, s:o, s:s, s:s}", "schema", "weir.verify/1", "commit",
			 hex, "ok", err == 0, "links", list, "break_glass", past, "signer",
			 buf_str(&v->principal), "why", e->text);
	if (a->dir >= 0 && a->dir_good && verifydir_name(v, &name) == 0)
		json_object_set_new(root, "directory", json_string(buf_str(&name)));
	if (!root || json_canonical(root, &text) < 0)
		return -ENOMEM;
	fputs(buf_str(&text), stdout);
	return 0;
}

static void print_text(const struct args *a, const struct verify *v, const struct gate_texts *glass,
		       int err)
{
	cleanup_buf struct buf name = { 0 };
	char hex[OID_HEX];

	for (unsigned int i = 0; i < v->checked; i++)
		printf("ok    %-10s %s\n", verify_name((enum verify_link)i),
		       verify_what((enum verify_link)i));
	if (err < 0 && v->checked < verify_count(v)) {
		printf("FAIL  %-10s %s\n", verify_name((enum verify_link)v->checked),
		       verify_what((enum verify_link)v->checked));
		return;
	}
	if (a->dir >= 0)
		printf("%s  %-10s %s\n", a->dir_good ? "ok  " : "FAIL", VERIFYDIR_LINK,
		       VERIFYDIR_WHAT);
	if (a->dir >= 0 && !a->dir_good)
		return;
	for (size_t i = 0; i < glass->count; i++)
		printf("note  break-glass commit %s is in its history\n", glass->items[i]);
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	if (a->dir >= 0 && verifydir_name(v, &name) == 0)
		printf("good  dir:%s, promoted as %s, signed by %s\n", buf_str(&name), hex,
		       buf_str(&v->principal));
	else
		printf("good  %s, signed by %s\n", hex, buf_str(&v->principal));
}

/* A tag that the gate made is checked itself, and its commit with it; of another only the commit. */
static int find(const struct args *a, struct verify *v, struct weir_err *e)
{
	cleanup_buf struct buf promotion = { 0 };
	struct weir_err none = { 0 };
	int err;

	if (a->dir >= 0)
		return verifydir_find(v->repo, a->dir, a->name, &v->commit, e);
	err = revision_find_tag(v->repo, a->commit, &v->commit, e);

	if (err < 0)
		return err;
	v->is_tag = err == 1;
	if (v->is_tag && record_read_file(v->repo, &v->commit, "promotion", &promotion, &none) == 0)
		return 0;
	if (v->is_tag)
		fprintf(stderr, "weir-gate: this tag was not made by the gate; only its commit is "
				"checked\n");
	v->is_tag = false;
	return revision_find(v->repo, a->commit, &v->commit, e);
}

static int open_dir(struct args *a, struct weir_err *e)
{
	if (!verifydir_is_path(a->commit))
		return 0;
	a->dir = open(a->commit, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dir >= 0)
		return 0;
	e->exit_code = GATE_EXIT_USAGE;
	return err_errno(e, -errno, "directory %s", a->commit);
}

static int verify(struct args *a, struct weir_err *e)
{
	struct verifysource *source = &a->source;
	cleanup_verify struct verify v = { .repo = &source->repo, .deep = a->deep };
	struct gate_texts glass = { 0 };
	int err = open_dir(a, e);

	if (err == 0)
		err = verifysource_open(source, e);
	if (err == 0)
		err = find(a, &v, e);
	if (err < 0)
		return err;
	v.signers = buf_str(&source->signers);
	v.ledger_key = &source->key;
	v.ledger = source->has_ledger ? &source->ledger : NULL;
	v.keys = source->has_ledger ? &source->keys : NULL;
	v.keys_why = source->keys_why.text;
	err = verify_run(&v, e);
	if (err == 0 && a->dir >= 0) {
		err = verifydir_files(&v, a->dir, e);
		a->dir_good = err == 0;
	}
	if (err == 0)
		err = find_glass(&v, &glass, e);
	else
		err = check_glass(&v, e) < 0 ? -EPERM : err;
	if (a->json)
		print_json(a, &v, &glass, err, e);
	else
		print_text(a, &v, &glass, err);
	gate_texts_done(&glass);
	return err;
}

int command_verify(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "repo", 'r', "DIR", 0, "repository with the commit and refs/weir/attestations",
		  0 },
		VERIFYSOURCE_OPTIONS,
		{ "deep", 'd', NULL, 0, "also every object of its tree, and all of the ledger", 0 },
		{ "name", 'n', "NAME", 0, "the directory must be dir:NAME, not one like it", 0 },
		{ "json", 'j', NULL, 0, "print the result as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"COMMIT|TAG|DIR",
		"Check a promoted commit, tag or directory, offline, with public keys only; "
		"names the link that fails. A directory is named with a slash at one end, or with "
		"a dot at its start.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { .dir = -1, .source = VERIFYSOURCE_CLOSED };
	struct weir_err e = { 0 };
	int err;

	usage_parse(&argp, argc, argv, 0, &a);
	err = verify(&a, &e);
	verifysource_done(&a.source);
	if (fflush(stdout) != 0 && err == 0)
		err = err_errno(&e, -errno, "writing the output");
	return err < 0 ? gate_fail(&e) : 0;
}
