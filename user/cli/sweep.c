/* SPDX-License-Identifier: MIT */
#include "user/cli/sweep.h"

#include <stdio.h>
#include <string.h>

#include "user/base/escape.h"
#include "user/cli/links.h"
#include "user/cli/writers.h"

#define PATIENCE_MS 500

struct sweep {
	struct session *s;
	struct links *links;
};

static int report(void *arg, const char *path, int fd, const struct weir_bind *look)
{
	struct session *s = ((struct sweep *)arg)->s;
	char full[4 * 8192 + 1], raw[8192], text[WRITERS_TEXT];
	struct note note = {
		.kind = WEIR_KIND_GATE_RACE,
		.op = WEIR_OP_WRITE,
		.outcome = WEIR_OUTCOME_PASSED,
		.severity = s->policy ? SEVERITY_ERROR : SEVERITY_NOTICE,
		.dev = look->ret_object.dev,
		.ino = look->ret_object.ino,
		.count = 1,
		.path = full,
		.text = text,
	};
	int err = writers_name(fd, text);

	if (err < 0)
		return err;
	snprintf(raw, sizeof(raw), "%s/%s", s->workspace, path);
	escape_bytes(raw, strlen(raw), full, sizeof(full));
	return pipe_note(&s->pipe, &note);
}

static int note_names(void *arg, const char *path, int fd, const struct weir_bind *look)
{
	struct sweep *w = arg;

	(void)fd;
	return links_add(w->links, w->s, path, look);
}

int sweep_writers(struct session *s, struct links *links, struct weir_err *e)
{
	struct sweep w = { .s = s, .links = links };
	struct writers_ask ask = {
		.root_fd = s->workspace_fd,
		.patience_ms = PATIENCE_MS,
		.each = links ? note_names : NULL,
		.held = report,
		.arg = &w,
	};

	return writers_find(s->kern, &ask, e);
}
