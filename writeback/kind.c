/* SPDX-License-Identifier: MIT */
#include "writeback/kind.h"

#include <string.h>

#include "user/base/cleanup.h"
#include "writeback/digest.h"
#include "writeback/promotion.h"

#define ATTEST_ALL ((1u << ATTEST_KIND_COUNT) - 1)
#define ATTEST_ORDERED (ATTEST_ALL & ~(1u << ATTEST_TRACE))
#define HASH "sha256:"

static const struct kind kinds[KIND_COUNT] = {
	[KIND_RUN] = { .name = "run",
		       .again = "weir commit RUN",
		       .has_run = true,
		       .attests = ATTEST_ALL,
		       .trailers = { { "Weir-Run", "run", "" },
				     { "Weir-Verdict", "verdict", "" },
				     { "Weir-Manifest", "after", HASH },
				     { "Weir-Trace", "trace", HASH },
				     { "Weir-Policy", "policy", HASH } },
		       .nonce = run_nonce,
		       .open = run_open,
		       .crosscheck = run_crosscheck,
		       .inspect = run_inspect,
		       .quarantine = run_quarantine },
	[KIND_REVERT] = { .name = "revert",
			  .again = "weir revert COMMIT",
			  .attests = ATTEST_ORDERED,
			  .trailers = { { "Weir-Revert", "object", "" },
					{ "Weir-Order", "statement", HASH },
					{ "Weir-Policy", "policy", HASH } },
			  .nonce = order_nonce,
			  .open = order_open,
			  .crosscheck = revert_crosscheck,
			  .inspect = revert_inspect,
			  .quarantine = revert_quarantine },
	[KIND_TAG] = { .name = "tag",
		       .again = "weir tag NAME",
		       .is_tag = true,
		       .attests = ATTEST_ORDERED,
		       .trailers = { { "Weir-Tag", "object", "" },
				     { "Weir-Order", "statement", HASH },
				     { "Weir-Policy", "policy", HASH } },
		       .nonce = order_nonce,
		       .open = order_open,
		       .crosscheck = tag_crosscheck,
		       .inspect = tag_inspect,
		       .quarantine = tag_quarantine },
	[KIND_DIR] = { .name = "dir",
		       .again = "weir commit RUN --to dir:NAME",
		       .has_run = true,
		       .is_dir = true,
		       .attests = ATTEST_ALL & ~(1u << ATTEST_VSA),
		       .trailers = { { "Weir-Directory", "directory", "" },
				     { "Weir-Run", "run", "" },
				     { "Weir-Verdict", "verdict", "" },
				     { "Weir-Manifest", "after", HASH },
				     { "Weir-Trace", "trace", HASH },
				     { "Weir-Policy", "policy", HASH } },
		       .nonce = run_nonce,
		       .open = run_open,
		       .crosscheck = run_crosscheck,
		       .inspect = dir_inspect,
		       .quarantine = run_quarantine },
};

/* Steps of the gate's table that are done as the kind of the promotion says. */
#define WEIR_X(step) \
	int step_##step(struct promotion *p, enum gate_answer *ret_answer, struct weir_err *e) \
	{ \
		return kinds[p->kind].step(p, ret_answer, e); \
	}
KIND_STEPS(WEIR_X)
#undef WEIR_X

const struct kind *kind_of(enum promotion_kind kind)
{
	return &kinds[kind < KIND_COUNT ? kind : KIND_RUN];
}

enum promotion_kind kind_find(const char *name)
{
	unsigned int i = 0;

	while (i < KIND_COUNT && strcmp(kinds[i].name, name) != 0)
		i++;
	return (enum promotion_kind)i;
}

enum promotion_kind kind_of_text(const char *text)
{
	cleanup_buf struct buf name = { 0 };

	if (digest_find(text, "kind", &name) < 0)
		return name.failed ? KIND_COUNT : KIND_RUN;
	return kind_find(buf_str(&name));
}

bool kind_attests(enum promotion_kind kind, enum attest_kind attest)
{
	return kind_of(kind)->attests & 1u << attest;
}
