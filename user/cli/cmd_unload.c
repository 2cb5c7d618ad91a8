/* SPDX-License-Identifier: MIT */
/* weir unload: the kernel as it was before the first run. */
#include <argp.h>
#include <stdio.h>

#include "user/base/usage.h"
#include "user/cli/cmd.h"
#include "user/cli/say.h"
#include "user/kern/kern.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	usage_error(state, "takes no arguments");
}

int cmd_unload(int argc, char **argv)
{
	static const struct argp argp = {
		NULL,
		parse_option,
		NULL,
		"Takes weir's programs and maps out of the kernel. The next run loads them again.",
		NULL,
		NULL,
		NULL
	};
	struct weir_err e = { 0 };

	usage_parse(&argp, argc, argv, 0, NULL);
	if (kern_unload(&e) < 0)
		return say_error(&e);
	printf("nothing of weir is left in the kernel\n");
	return CLI_OK;
}
