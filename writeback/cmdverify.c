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
#include "writeback/json.h"
#include "writeback/keeper.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/revision.h"
#include "writeback/signers.h"
#include "writeback/verify.h"

struct args {
	const char *commit;
	const char *repo;
	const char *signers;
	const char *ledger;
	const char *ledger_key;
	bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'r':
		a->repo = arg;
		return 0;
	case 's':
		a->signers = arg;
		return 0;
	case 'l':
		a->ledger = arg;
		return 0;
	case 'k':
		a->ledger_key = arg;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->commit)
			usage_error(state, "one commit at a time");
		a->commit = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->commit || !a->repo || !a->signers)
			usage_error(state, "%s is missing",
				    !a->commit ? "COMMIT"
				    : !a->repo ? "--repo DIR"
					       : "--signers FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print_json(const struct verify *v, int err, const struct weir_err *e)
{
	cleanup_buf struct buf text = { 0 };
	json_t *list = json_array();
	cleanup_json json_t *root = NULL;
	char hex[OID_HEX];

	for (unsigned int i = 0; i < VERIFY_COUNT && i <= v->checked; i++)
		json_array_append_new(list, json_pack("{s:s, s:b}", "link",
						      verify_name((enum verify_link)i), "ok",
						      i < v->checked));
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	root = json_pack("{s:s, s:s, s:b, s:o, s:s, s:s}", "schema", "weir.verify/1", "commit", hex,
			 "ok", err == 0, "links", list, "signer", buf_str(&v->principal), "why",
			 e->text);
	if (!root || json_canonical(root, &text) < 0)
		return -ENOMEM;
	fputs(buf_str(&text), stdout);
	return 0;
}

static void print_text(const struct verify *v, int err)
{
	char hex[OID_HEX];

	for (unsigned int i = 0; i < v->checked; i++)
		printf("ok    %-10s %s\n", verify_name((enum verify_link)i),
		       verify_what((enum verify_link)i));
	if (err < 0 && v->checked < VERIFY_COUNT) {
		printf("FAIL  %-10s %s\n", verify_name((enum verify_link)v->checked),
		       verify_what((enum verify_link)v->checked));
		return;
	}
	git_oid_tostr(hex, sizeof(hex), &v->commit);
	printf("good  %s, signed by %s\n", hex, buf_str(&v->principal));
}

static int check_repository(const char *path, struct weir_err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(e, -errno, "repository %s", path);
	return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "repository %s: no directory", path);
}

static int drop(const char *path, struct weir_err *e)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	if (stat(path, &st) < 0)
		return err_errno(e, -errno, "repository %s", path);
	return priv_become(st.st_uid, st.st_gid, e);
}

static int read_key(const struct args *a, struct note_key *ret_key, struct weir_err *e)
{
	const char *path = a->ledger_key ? a->ledger_key : GATE_LEDGER_PUBLIC;
	cleanup_buf struct buf text = { 0 };
	int err = fsio_read_file(AT_FDCWD, path, NOTE_MAX, &text, e);

	if (err < 0)
		return a->ledger_key ? err : err_wrap(e, "--ledger-key FILE is missing");
	return note_key_parse(buf_str(&text), ret_key) < 0
		       ? err_set(e, -EINVAL, "%s is no public key of a ledger (NAME+ID+BASE64)",
				 path)
		       : 0;
}

/* The ledger that was named; this host's own goes with this host's own key. */
static int open_ledger(const struct args *a, const struct note_key *k, struct ledger *ret_ledger,
		       struct weir_err *e)
{
	const char *path = a->ledger ? a->ledger : a->ledger_key ? NULL : GATE_LEDGER;
	struct stat st;

	if (!path || (!a->ledger && stat(path, &st) < 0 && errno == ENOENT))
		return 0;
	return ledger_open(path, k, ret_ledger, e);
}

static int verify(const struct args *a, struct weir_err *e)
{
	cleanup_repo struct repo repo = { .fd = -1 };
	cleanup_ledger struct ledger ledger = { .dir = -1 };
	cleanup_verify struct verify v = { .repo = &repo };
	struct note_key key;
	cleanup_buf struct buf signers = { 0 };
	int err = fsio_read_file(AT_FDCWD, a->signers, SIGNERS_MAX, &signers, e);

	if (err == 0)
		err = check_repository(a->repo, e);
	if (err == 0)
		err = read_key(a, &key, e);
	if (err < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err;
	}
	err = drop(a->repo, e);
	if (err == 0)
		err = open_ledger(a, &key, &ledger, e);
	if (err == 0)
		err = repo_start(e);
	/* reading objects runs nothing, whoever owns them */
	if (err == 0 && git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0)
		err = repo_error(e, "setting libgit2 up");
	if (err == 0)
		err = repo_open(a->repo, false, &repo, e);
	if (err == 0)
		err = revision_find(&repo, a->commit, &v.commit, e);
	if (err < 0)
		return err;
	v.signers = buf_str(&signers);
	v.ledger_key = &key;
	v.ledger = ledger.dir >= 0 ? &ledger : NULL;
	err = verify_run(&v, e);
	if (a->json)
		print_json(&v, err, e);
	else
		print_text(&v, err);
	return err;
}

int command_verify(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "repo", 'r', "DIR", 0, "repository with the commit and refs/weir/attestations",
		  0 },
		{ "signers", 's', "FILE", 0, "allowed_signers file", 0 },
		{ "ledger-key", 'k', "FILE", 0,
		  "public key of the ledger (default " GATE_LEDGER_PUBLIC ")", 0 },
		{ "ledger", 'l', "DIR", 0,
		  "ledger to look at too (default: this host's, with its key)", 0 },
		{ "json", 'j', NULL, 0, "print the result as JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		"COMMIT",
		"Check a promoted commit, offline, with public keys only; "
		"names the link that fails.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { 0 };
	struct weir_err e = { 0 };
	int err;

	usage_parse(&argp, argc, argv, 0, &a);
	err = verify(&a, &e);
	if (fflush(stdout) != 0 && err == 0)
		err = err_errno(&e, -errno, "writing the output");
	return err < 0 ? gate_fail(&e) : 0;
}
