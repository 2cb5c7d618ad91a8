/* SPDX-License-Identifier: MIT */
#include "user/cli/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/cleanup.h"
#include "user/base/usage.h"

error_t parse_time(const char *text, uint64_t *ret_ns, struct argp_state *state, const char *option)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e9 }, { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (end != text && strcmp(end, units[i].name) == 0 && value >= 0 && value < 1e6) {
			*ret_ns = (uint64_t)(value * units[i].ns);
			return 0;
		}
	}
	usage_error(state, "%s: %s is no time: say 250ms, 0.5s, 10m or 2h", option, text);
}

error_t parse_size(const char *text, uint64_t *ret_size, struct argp_state *state,
		   const char *option)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;
	unsigned long long value;
	unsigned int shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		shift = 10 * (unsigned int)(unit - units + 1);
	if (errno || end == text || *text == '-' || (*end && (!unit || end[1])) ||
	    value > UINT64_MAX >> shift) {
		usage_error(state, "%s: %s is no size: say 4096, 512K, 64M or 4G", option, text);
	}
	*ret_size = value << shift;
	return 0;
}
