/* SPDX-License-Identifier: MIT */
#include "writeback/verifysource.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/base/fsio.h"
#include "writeback/priv.h"
#include "writeback/reason.h"
#include "writeback/signers.h"

void verifysource_done(struct verifysource *s)
{
	repo_close(&s->repo);
	buf_done(&s->signers);
	keyhist_done(&s->keys);
	ledger_close(&s->ledger);
}

error_t verifysource_option(struct verifysource *s, int key, char *arg)
{
	switch (key) {
	case VERIFYSOURCE_SIGNERS:
		s->signers_file = arg;
		return 0;
	case VERIFYSOURCE_KEY:
		s->ledger_file = arg;
		return 0;
	case VERIFYSOURCE_LEDGER:
		s->ledger_dir = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int check_repository(const char *path, struct stat *st, struct weir_err *e)
{
	if (stat(path, st) < 0)
		return err_errno(e, -errno, "repository %s", path);
	return S_ISDIR(st->st_mode) ? 0 : err_set(e, -ENOTDIR, "repository %s: no directory", path);
}

int verifysource_open_repo(const char *path, struct repo *ret_repo, struct weir_err *e)
{
	struct stat st;
	int err = check_repository(path, &st, e);

	if (err < 0)
		return err;
	if (geteuid() == 0)
		err = priv_become(st.st_uid, st.st_gid, e);
	if (err == 0)
		err = repo_start(e);
	/* reading objects runs nothing, whoever owns them */
	if (err == 0 && git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0)
		err = repo_error(e, "setting libgit2 up");
	return err < 0 ? err : repo_open(path, false, ret_repo, e);
}

static int read_key(struct verifysource *s, struct weir_err *e)
{
	const char *path = s->ledger_file ? s->ledger_file : GATE_LEDGER_PUBLIC;
	cleanup_buf struct buf text = { 0 };
	int err = fsio_read_file(AT_FDCWD, path, NOTE_MAX, &text, e);

	if (err < 0)
		return s->ledger_file ? err : err_wrap(e, "--ledger-key FILE is missing");
	return note_key_parse(buf_str(&text), &s->key) < 0
		       ? err_set(e, -EINVAL, "%s is no public key of a ledger (NAME+ID+BASE64)",
				 path)
		       : 0;
}

/* The ledger that was named; this host's own goes with this host's own key. */
static int open_ledger(struct verifysource *s, struct weir_err *e)
{
	const char *path = s->ledger_dir ? s->ledger_dir : s->ledger_file ? NULL : GATE_LEDGER;
	struct stat st;
	int err;

	if (!path || (!s->ledger_dir && stat(path, &st) < 0 && errno == ENOENT))
		return 0;
	err = ledger_open(path, &s->key, &s->ledger, e);
	s->has_ledger = err == 0;
	/* a damaged entry is said by the link that needs it */
	if (err == 0)
		keyhist_load(&s->ledger, &s->keys, &s->keys_why);
	return err;
}

int verifysource_open(struct verifysource *s, struct weir_err *e)
{
	struct stat st;
	int err = fsio_read_file(AT_FDCWD, s->signers_file ? s->signers_file : GATE_SIGNERS,
				 SIGNERS_MAX, &s->signers, e);

	if (err == 0)
		err = check_repository(s->repository, &st, e);
	if (err == 0)
		err = read_key(s, e);
	if (err < 0) {
		e->exit_code = GATE_EXIT_USAGE;
		return err;
	}
	err = verifysource_open_repo(s->repository, &s->repo, e);
	return err < 0 ? err : open_ledger(s, e);
}
