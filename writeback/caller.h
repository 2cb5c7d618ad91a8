/* SPDX-License-Identifier: MIT */
/* Who calls: weir-gate runs as root, mostly by sudo; people are behind it. */
#ifndef WEIR_WRITEBACK_CALLER_H
#define WEIR_WRITEBACK_CALLER_H

#include <sys/types.h>

/* The user who logged in (/proc/self/loginuid, which no process can shed), else the one that sudo
 * names, else the real one. What sudo says is believed since it can only add a producer.
 * Returns: the uid. */
uid_t caller_uid(void);

#endif
