/* SPDX-License-Identifier: MIT */
#include "writeback/keynext.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"
#include "writeback/keys.h"

#define NEW_SUFFIX ".new"

int keynext_make(const char *now, const char *comment, struct sshkey *ret_key, struct weir_err *e)
{
	cleanup_free char *path = NULL;
	cleanup_buf struct buf text = { 0 };
	int err;

	if (asprintf(&path, "%s" NEW_SUFFIX, now) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "the next key");
	}
	if (access(path, F_OK) < 0) {
		err = digest_random(ret_key->seed, sizeof(ret_key->seed));
		if (err == 0)
			err = sshkey_format(ret_key->seed, comment, &text);
		if (err == 0)
			err = fsio_replace(AT_FDCWD, path, text.data, text.len, 0600, e);
		else
			err_errno(e, err, "the next key");
		if (text.data)
			OPENSSL_cleanse(text.data, text.cap);
		if (err < 0)
			return err;
	}
	return keys_load(path, ret_key, e);
}

int keynext_take(const char *now, struct weir_err *e)
{
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%s" NEW_SUFFIX, now) < 0) {
		path = NULL;
		return err_errno(e, -ENOMEM, "the next key");
	}
	return rename(path, now) < 0 ? err_errno(e, -errno, "%s", path) : 0;
}

bool keynext_is_there(const char *now)
{
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%s" NEW_SUFFIX, now) < 0) {
		path = NULL;
		return false;
	}
	return access(path, F_OK) == 0;
}
