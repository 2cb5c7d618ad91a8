/* SPDX-License-Identifier: MIT */
/*
 * argp is told to be silent (ARGP_NO_ERRS), which also silences its help, so that help is an
 * option of ours. It does not say which option was wrong: it is looked for here.
 */
#include "user/base/usage.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"

#define TEXT_MAX 600

enum {
	OPT_USAGE = 0x10000
};

/* For the parsers: the command's, and the one behind it that takes what that one does not. */
struct usage {
	const struct argp *argp;
	void *input;
};

static const struct argp_option help_options[] = {
	{ "help", '?', NULL, 0, "Give this help list", -1 },
	{ "usage", OPT_USAGE, NULL, 0, "Give a short usage message", 0 },
	{ 0 },
};

void usage_error(const struct argp_state *state, const char *fmt, ...)
{
	char text[TEXT_MAX], safe[4 * TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	escape_text(text, strlen(text), safe, sizeof(safe));
	fprintf(stderr, "%s: %s\n", state->name, safe);
	exit(USAGE_EXIT);
}

error_t usage_take_one(const struct argp_state *state, const char *what, char *arg, const char **at)
{
	if (*at)
		usage_error(state, "one %s at a time", what);
	*at = arg;
	return 0;
}

/* The option of this name, or the only one that it begins; *ret_count says of how many. */
static const struct argp_option *find_long(const struct argp *argp, const char *name, size_t len,
					   unsigned int *ret_count)
{
	const struct argp_option *const lists[] = { argp->options, help_options };
	const struct argp_option *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const struct argp_option *o = lists[i]; o && (o->name || o->key); o++) {
			if (!o->name || strncmp(o->name, name, len) != 0)
				continue;
			found = o;
			if (o->name[len] == '\0') {
				*ret_count = 1;
				return found;
			}
			++*ret_count;
		}
	}
	return found;
}

static const struct argp_option *find_short(const struct argp *argp, char c)
{
	const struct argp_option *const lists[] = { argp->options, help_options };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct argp_option *o = lists[i]; o && (o->name || o->key); o++)
			if (o->key == c)
				return o;
	return NULL;
}

static void judge_long(const struct argp_state *state, const struct argp *argp, const char *word,
		       bool last)
{
	size_t len = strcspn(word + 2, "=");
	bool value = word[2 + len] == '=';
	unsigned int count;
	const struct argp_option *o = find_long(argp, word + 2, len, &count);

	if (count == 0)
		usage_error(state, "there is no option %.*s; `%s --help` lists them", (int)len + 2,
			    word, state->name);
	if (count > 1)
		usage_error(state, "%.*s is the beginning of %u options; write more of it",
			    (int)len + 2, word, count);
	if (value && !o->arg)
		usage_error(state, "option --%s takes no value", o->name);
	if (!value && o->arg && last)
		usage_error(state, "option --%s needs a value: --%s %s", o->name, o->name, o->arg);
}

static void judge_short(const struct argp_state *state, const struct argp *argp, const char *word,
			bool last)
{
	for (const char *c = word + 1; *c; c++) {
		const struct argp_option *o = find_short(argp, *c);

		if (!o)
			usage_error(state, "there is no option -%c; `%s --help` lists them", *c,
				    state->name);
		if (o->arg && c[1] == '\0' && last)
			usage_error(state, "option -%c needs a value: -%c %s", *c, *c, o->arg);
		if (o->arg)
			return;
	}
}

/* What is wrong with this word, if anything is. */
static void judge(const struct argp_state *state, const struct argp *argp, int at)
{
	const char *word = at > 0 && at < state->argc ? state->argv[at] : "";

	if (strncmp(word, "--", 2) == 0 && word[2])
		judge_long(state, argp, word, at == state->argc - 1);
	else if (word[0] == '-' && word[1] && word[1] != '-')
		judge_short(state, argp, word, at == state->argc - 1);
}

static error_t parse_rest(int key, char *arg, struct argp_state *state)
{
	const struct usage *u = state->input;

	switch (key) {
	case '?':
	case OPT_USAGE:
		state->flags &= ~(unsigned int)ARGP_NO_ERRS;
		argp_state_help(state, stdout,
				key == '?' ? ARGP_HELP_STD_HELP
					   : ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "'%s' is one argument too many", arg);
	case ARGP_KEY_ERROR:
		/* the scanner stands behind the word, or, in the middle of "-abc", on it */
		judge(state, u->argp, state->next - 1);
		judge(state, u->argp, state->next);
		usage_error(state, "wrong options; `%s --help` lists them", state->name);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_first(int key, char *arg, struct argp_state *state)
{
	struct usage *u = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = u->input;
	state->child_inputs[1] = u;
	return 0;
}

void usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	const struct argp rest = { help_options, parse_rest, NULL, NULL, NULL, NULL, NULL };
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, { &rest, 0, NULL, 0 }, { 0 } };
	const struct argp all = { NULL, parse_first, NULL, NULL, children, NULL, NULL };
	struct usage u = { argp, input };

	if (argp_parse(&all, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &u))
		exit(USAGE_EXIT);
}
