/* SPDX-License-Identifier: MIT */
#include "user/policy/events.h"

#include <errno.h>
#include <string.h>

static struct policy_pos pos_of(yaml_mark_t mark)
{
	return (struct policy_pos){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

struct policy_pos policy_loader_pos(const struct policy_loader *l)
{
	return pos_of(l->event.start_mark);
}

/* Turns the parser's complaint into one that says what to do. */
static int syntax_error(struct policy_loader *l)
{
	yaml_mark_t mark = l->parser.problem_mark;
	const char *problem = l->parser.problem ? l->parser.problem : "unreadable";
	const char *at = l->bytes + (mark.index < l->len ? mark.index : l->len);
	const char *start = at, *hint = "check indentation, quotes and brackets before this place";

	if (l->parser.error == YAML_MEMORY_ERROR)
		return err_errno(l->e, -ENOMEM, "%s", l->file);
	while (start > l->bytes && start[-1] != '\n')
		start--;
	if (at < l->bytes + l->len && *at == '\t') {
		problem = "a tab where only blanks may stand";
		hint = "indent with blanks";
	} else if (memmem(start, (size_t)(l->bytes + l->len - start), "${", 2) == at - 1) {
		hint = "inside [ ] and { } put a value with ${...} into double quotes";
	}
	return policy_error(l->file, pos_of(mark), l->e, "this is no valid YAML (%s); %s", problem,
			    hint);
}

int policy_loader_oom(struct policy_loader *l)
{
	return err_errno(l->e, -ENOMEM, "%s", l->file);
}

static int refuse_extras(struct policy_loader *l)
{
	const unsigned char *anchor = NULL, *tag = NULL;

	switch ((int)l->event.type) {
	case YAML_ALIAS_EVENT:
		return policy_error(l->file, policy_loader_pos(l), l->e,
				    "aliases (*%s) are not allowed; write the value out",
				    policy_quote((char *)l->event.data.alias.anchor).text);
	case YAML_SCALAR_EVENT:
		anchor = l->event.data.scalar.anchor;
		tag = l->event.data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = l->event.data.sequence_start.anchor;
		tag = l->event.data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = l->event.data.mapping_start.anchor;
		tag = l->event.data.mapping_start.tag;
		break;
	}
	if (anchor)
		return policy_error(l->file, policy_loader_pos(l), l->e,
				    "anchors (&%s) are not allowed; remove it",
				    policy_quote((const char *)anchor).text);
	if (tag)
		return policy_error(l->file, policy_loader_pos(l), l->e,
				    "tags (%s) are not allowed; remove it",
				    policy_quote((const char *)tag).text);
	return 0;
}

/* Moves on to the next event. */
int policy_loader_next(struct policy_loader *l)
{
	yaml_event_delete(&l->event);
	if (!yaml_parser_parse(&l->parser, &l->event)) {
		memset(&l->event, 0, sizeof(l->event));
		return syntax_error(l);
	}
	return refuse_extras(l);
}

static const char *event_name(const struct policy_loader *l)
{
	switch ((int)l->event.type) {
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	case YAML_MAPPING_START_EVENT:
		return "a map";
	}
	return "a single value";
}

int policy_loader_wrong_type(struct policy_loader *l, const char *key, const char *want)
{
	return policy_error(l->file, policy_loader_pos(l), l->e, "%s: %s is not %s", key,
			    event_name(l), want);
}

/* The current scalar, borrowed until the next event. */
int policy_loader_scalar(struct policy_loader *l, const char *key, const char *want,
			 struct policy_scalar *ret)
{
	if (l->event.type != YAML_SCALAR_EVENT)
		return policy_loader_wrong_type(l, key, want);
	*ret = (struct policy_scalar){
		.text = (const char *)l->event.data.scalar.value,
		.len = l->event.data.scalar.length,
		.plain = l->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
		.pos = policy_loader_pos(l),
	};
	if (memchr(ret->text, '\0', ret->len))
		return policy_error(l->file, ret->pos, l->e, "%s: holds a NUL character; remove it",
				    key);
	return 0;
}
