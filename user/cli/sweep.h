/* SPDX-License-Identifier: MIT */
/* Writers that exist when the seal falls: open descriptors and shared writable mappings. */
#ifndef WEIR_CLI_SWEEP_H
#define WEIR_CLI_SWEEP_H

#include "user/cli/session.h"

struct links;

/* Looks at each file of the workspace; a writer becomes a note of kind gate-race with the
 * file and, where it is found, its holder. links: notes names of files with several, NULL:
 * does not. Returns: writers found, or a negative errno. */
int sweep_writers(struct session *s, struct links *links, struct weir_err *e);

#endif
