/* SPDX-License-Identifier: MIT */
/*
 * The service's protocol from an enemy: what a stranger sends as a request or a hello, and what a
 * client gets as an answer. A request that is taken has what its operation allows and nothing else,
 * each value within its class and length, and survives being written and read again.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "writeback/reason.h"
#include "writeback/serve.h"

#define FRAME_MAX 4096

static void check_request(const struct serve_request *r)
{
	const struct serve_row *row = serve_op(r->op);
	struct serve_request again;
	struct buf text = { 0 };
	struct weir_err e = { 0 };

	for (unsigned int m = 0; m < SERVE_MEMBER_COUNT; m++) {
		uint32_t bit = 1u << m;

		FUZZ_REQUIRE(r->values[m] || !(row->needed & bit));
		if (!r->values[m])
			continue;
		FUZZ_REQUIRE((row->needed | row->allowed) & bit);
		FUZZ_REQUIRE(serve_value_fits((enum serve_member)m, r->values[m]));
		FUZZ_REQUIRE(strlen(r->values[m]) <= serve_member((enum serve_member)m)->max);
		FUZZ_REQUIRE(r->values[m][0] != '-' ||
			     serve_member((enum serve_member)m)->class >= SERVE_LINE);
	}
	FUZZ_REQUIRE(!r->values[SERVE_M_ONLY]);
	FUZZ_REQUIRE(serve_request_format(r, &text) == 0);
	if (serve_request_parse(text.data, text.len, &again, &e) == 0) {
		for (unsigned int m = 0; m < SERVE_MEMBER_COUNT; m++)
			FUZZ_REQUIRE(!r->values[m] == !again.values[m] &&
				     (!r->values[m] || strcmp(r->values[m], again.values[m]) == 0));
		serve_request_done(&again);
	} else {
		/* escapes can make it longer than it came */
		FUZZ_REQUIRE(strcmp(e.code, "limit") == 0);
	}
	buf_done(&text);
}

static void try_request(const char *text, size_t len)
{
	struct serve_request r;
	struct weir_err e = { 0 };

	if (serve_request_parse(text, len, &r, &e) < 0) {
		FUZZ_REQUIRE(e.exit_code == GATE_EXIT_REFUSED && e.code[0] && e.text[0]);
		for (unsigned int m = 0; m < SERVE_MEMBER_COUNT; m++)
			FUZZ_REQUIRE(!r.values[m]);
		return;
	}
	check_request(&r);
	serve_request_done(&r);
}

static void try_hello(const char *text, size_t len)
{
	char *principal = NULL;
	struct weir_err e = { 0 };
	int err = serve_hello_parse(text, len, &principal, &e);

	FUZZ_REQUIRE((err == 1) == (principal != NULL));
	FUZZ_REQUIRE(!principal ||
		     (principal[0] && principal[0] != '-' && strlen(principal) <= 256));
	FUZZ_REQUIRE(err >= 0 || e.code[0]);
	free(principal);
}

/* What a client prints: without control characters when it is a refusal. */
static void try_answer(const char *text, size_t len)
{
	struct buf result = { 0 };
	struct weir_err e = { 0 };

	if (serve_answer_parse(text, len, &result, &e) < 0) {
		FUZZ_REQUIRE(e.text[0] && result.len == 0);
		for (const char *at = e.text; *at && e.code[0]; at++)
			FUZZ_REQUIRE((unsigned char)*at >= 0x20 && *at != 0x7f);
	}
	buf_done(&result);
}

/* The same bytes as a stream: a frame is read whole or not at all. */
static void try_frame(const uint8_t *data, size_t size)
{
	struct buf frame = { 0 };
	int ends[2], err;

	if (size > FRAME_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return;
	FUZZ_REQUIRE(size == 0 || write(ends[0], data, size) == (ssize_t)size);
	close(ends[0]);
	err = serve_frame_read(ends[1], FRAME_MAX / 2, 1, &frame);
	FUZZ_REQUIRE(err < 0 ? frame.len == 0
			     : frame.len > 0 && frame.len + 4 <= size &&
				       memcmp(frame.data, data + 4, frame.len) == 0);
	close(ends[1]);
	buf_done(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	try_request(text, size);
	try_hello(text, size);
	try_answer(text, size);
	try_frame(data, size);
	return 0;
}
