/* SPDX-License-Identifier: MIT */
#include "writeback/message.h"

#include <ctype.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/reason.h"

#define TRAILER "weir-"

/* "Weir-Anything:" with blanks before, inside or behind, and git's other separators. */
static bool imitates_trailer(const char *line)
{
	const char *at = line + strspn(line, " \t>*-");

	if (strncasecmp(at, TRAILER, strlen(TRAILER)) != 0)
		return false;
	at += strlen(TRAILER);
	while (isalnum((unsigned char)*at) || *at == '-' || *at == '_')
		at++;
	at += strspn(at, " \t");
	return *at == ':' || *at == '=' || *at == '#';
}

/* Anything that a terminal or an editor would not show as it is. */
static bool has_hidden(const char *text)
{
	cleanup_buf struct buf plain = { 0 };
	cleanup_buf struct buf escaped = { 0 };

	for (const char *at = text; *at; at++)
		if (*at != '\n' && *at != '\t' && *at != '\\')
			buf_add(&plain, at, 1);
	buf_add_escaped(&escaped, buf_str(&plain), plain.len);
	return plain.failed || escaped.failed || strcmp(buf_str(&plain), buf_str(&escaped)) != 0;
}

int message_check(const char *message, struct weir_err *e)
{
	if (message[strspn(message, " \t\n")] == '\0')
		return refuse(e, REASON_MESSAGE, "the message is empty");
	if (strlen(message) > MESSAGE_MAX)
		return refuse(e, REASON_MESSAGE, "the message is longer than %d bytes",
			      MESSAGE_MAX);
	if (has_hidden(message))
		return refuse(e, REASON_MESSAGE,
			      "the message has control, hidden or undecodable characters");
	for (const char *line = message; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (imitates_trailer(line))
			return refuse(e, REASON_MESSAGE,
				      "the line \"%.*s\" imitates a trailer of the gate",
				      (int)strcspn(line, "\n"), line);
	}
	return 0;
}

int message_check_author(const char *author, struct weir_err *e)
{
	const char *open = strchr(author, '<');
	const char *close = open ? strchr(open, '>') : NULL;

	if (!open || !close || close[1] != '\0' || open == author || open[-1] != ' ' ||
	    strchr(open + 1, '<') || close == open + 1 || author[0] == ' ' ||
	    strpbrk(author, "\n\t") || has_hidden(author) || strlen(author) > 512)
		return refuse(e, REASON_MESSAGE, "the author is not of the form `Name <email>`");
	return 0;
}

int message_add(struct buf *b, const char *message)
{
	size_t len;

	message += strspn(message, "\n");
	len = strlen(message);
	while (len > 0 && isspace((unsigned char)message[len - 1]))
		len--;
	buf_add(b, message, len);
	return buf_add(b, "\n", 1);
}
