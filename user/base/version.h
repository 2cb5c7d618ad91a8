/* SPDX-License-Identifier: MIT */
/* The version of both programs, in one place. */
#ifndef WEIR_BASE_VERSION_H
#define WEIR_BASE_VERSION_H

#define WEIR_VERSION "0.1"

#endif
