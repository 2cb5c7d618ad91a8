/* SPDX-License-Identifier: MIT */
#include "writeback/changestext.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/digest.h"

/* Takes one line apart in place. */
static int parse_line(char *text, struct changes_line *ret_line)
{
	char *fields[8];
	long len;

	for (int i = 0; i < 7; i++) {
		fields[i] = text;
		text = strchr(text, ' ');
		if (!text)
			return -EBADMSG;
		*text++ = '\0';
	}
	len = escape_undo(text);
	if (len <= 0)
		return -EBADMSG;
	*ret_line = (struct changes_line){ fields[1], fields[2], fields[4],  fields[5],
					   fields[6], text,	 (size_t)len };
	return 0;
}

int changestext_each(const char *text, changes_line_fn *fn, void *arg, struct weir_err *e)
{
	cleanup_free char *copy = strdup(text);
	char *at = NULL, *line;
	bool head = true;

	if (!copy)
		return err_errno(e, -ENOMEM, "reading the changes");
	for (line = strtok_r(copy, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
		struct changes_line l;
		int err;

		if (head) {
			head = false;
			if (strcmp(line, CHANGES_HEAD) != 0)
				return err_set(e, -EBADMSG, "the list has another version");
			continue;
		}
		if (parse_line(line, &l) < 0)
			return err_set(e, -EBADMSG, "the list of changes is damaged");
		err = fn(&l, arg, e);
		if (err < 0)
			return err;
	}
	return 0;
}
