/* SPDX-License-Identifier: MIT */
/* Numbers with units on the command line. */
#ifndef WEIR_CLI_PARSE_H
#define WEIR_CLI_PARSE_H

#include <argp.h>
#include <stdint.h>

/* "0.5s", "10m", "2h", "250ms"; a number alone is seconds. Ends the program with a usage
 * message if it is none. Returns: 0. Units: nanoseconds. */
error_t parse_time(const char *text, uint64_t *ret_ns, struct argp_state *state,
		   const char *option);

/* "4096", "512K", "64M", "4G", "1T" (powers of 1024). Likewise. */
error_t parse_size(const char *text, uint64_t *ret_size, struct argp_state *state,
		   const char *option);

#endif
