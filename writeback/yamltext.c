/* SPDX-License-Identifier: MIT */
#include "writeback/yamltext.h"

#include <errno.h>

int yamltext_load(const char *file, const char *text, size_t len, yaml_encoding_t encoding,
		  yaml_document_t *ret_doc, struct weir_err *e)
{
	yaml_parser_t parser;
	int err = 0;

	if (!yaml_parser_initialize(&parser))
		return err_errno(e, -ENOMEM, "%s", file);
	yaml_parser_set_encoding(&parser, encoding);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, ret_doc))
		err = err_set(e, -EINVAL, "%s:%zu:%zu: %s", file, parser.problem_mark.line + 1,
			      parser.problem_mark.column + 1,
			      parser.problem ? parser.problem : "no YAML");
	yaml_parser_delete(&parser);
	return err;
}

int yamltext_fail(const char *file, const yaml_node_t *node, const char *what, struct weir_err *e)
{
	return err_set(e, -EINVAL, "%s:%zu:%zu: %s", file, node->start_mark.line + 1,
		       node->start_mark.column + 1, what);
}

const char *yamltext_scalar(const yaml_node_t *node)
{
	const char *text;

	if (!node || node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0)
		return NULL;
	text = (const char *)node->data.scalar.value;
	for (size_t i = 0; i < node->data.scalar.length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return NULL;
	return text;
}
