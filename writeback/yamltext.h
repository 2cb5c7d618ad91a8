/* SPDX-License-Identifier: MIT */
/* What the gate's readers of YAML (gate.yaml, roles) share: loading, places in messages, scalars. */
#ifndef WEIR_WRITEBACK_YAMLTEXT_H
#define WEIR_WRITEBACK_YAMLTEXT_H

#include <stddef.h>
#include <yaml.h>

#include "user/base/err.h"

/* Loads the one document of text; file names it in messages. encoding: YAML_ANY_ENCODING looks
 * for a mark. Gives: *ret_doc for yaml_document_delete, also if empty. Returns: 0, -EINVAL with
 * FILE:LINE:COLUMN and what, or -ENOMEM. Borrows: all. */
int yamltext_load(const char *file, const char *text, size_t len, yaml_encoding_t encoding,
		  yaml_document_t *ret_doc, struct weir_err *e);

/* Sets e to FILE:LINE:COLUMN of a node and what. Returns: -EINVAL. Borrows: all. */
int yamltext_fail(const char *file, const yaml_node_t *node, const char *what, struct weir_err *e);

/* Returns: the text of a scalar, valid as long as its document; NULL for anything else (node may
 * be NULL), empty, or with a NUL or control. */
const char *yamltext_scalar(const yaml_node_t *node);

#endif
