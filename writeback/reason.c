/* SPDX-License-Identifier: MIT */
#include "writeback/reason.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "user/base/cleanup.h"

static const struct {
	const char *code;
	const char *todo;
} reasons[] = {
#define WEIR_X(id, code, todo) { code, todo },
	GATE_REASONS(WEIR_X)
#undef WEIR_X
};

const char *reason_code(enum gate_reason reason)
{
	return (unsigned int)reason < ARRAY_SIZE(reasons) ? reasons[reason].code : "order";
}

int refuse(struct weir_err *e, enum gate_reason reason, const char *fmt, ...)
{
	char why[768];
	va_list args;

	if ((unsigned int)reason >= ARRAY_SIZE(reasons))
		reason = REASON_ORDER;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	err_code(e, -EPERM, reasons[reason].code, "%s; %s", why, reasons[reason].todo);
	if (e)
		e->exit_code = GATE_EXIT_REFUSED;
	return -EPERM;
}
