/* SPDX-License-Identifier: MIT */
#include "user/cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/cli/cmd.h"

int say_error(const struct weir_err *e)
{
	if (e->text[0])
		fprintf(stderr, "weir: %s\n", e->text);
	return e->exit_code ? e->exit_code : CLI_FAILED;
}

static int put(const char *text, size_t len)
{
	struct weir_err e = { 0 };
	int err = fsio_write_all(STDOUT_FILENO, text, len);

	if (err == 0)
		return CLI_OK;
	err_errno(&e, err, "standard output");
	return say_error(&e);
}

static int no_memory(void)
{
	struct weir_err e = { 0 };

	err_set(&e, -ENOMEM, "out of memory");
	return say_error(&e);
}

int say_json(const json_t *json)
{
	cleanup_free char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	int status;

	if (!text)
		return no_memory();
	status = put(text, strlen(text));
	return status == CLI_OK ? put("\n", 1) : status;
}

int say_text(struct buf *b)
{
	return b->failed ? no_memory() : put(buf_str(b), b->len);
}
