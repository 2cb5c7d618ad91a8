/* SPDX-License-Identifier: MIT */
/* Names of ends that are in no file system. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "user/base/buf.h"
#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/event/event.h"

static const struct {
	unsigned int op;
	struct weir_peer peer;
	const char *name;
	size_t name_len;
	const char *want;
} places[] = {
	{ WEIR_OP_CONNECT,
	  { .family = AF_INET,
	    .type = SOCK_STREAM,
	    .protocol = 6,
	    .port = 443,
	    .address = { 192, 0, 2, 1 } },
	  NULL,
	  0,
	  "tcp:192.0.2.1:443" },
	{ WEIR_OP_SEND,
	  { .family = AF_INET6,
	    .protocol = 17,
	    .port = 53,
	    .address = { 0x20, 1, 0x0d, 0xb8, [15] = 1 } },
	  NULL,
	  0,
	  "udp:[2001:db8::1]:53" },
	{ WEIR_OP_LISTEN, { .family = AF_INET, .protocol = 6 }, NULL, 0, "tcp:0.0.0.0:0" },
	{ WEIR_OP_CONNECT,
	  { .family = AF_INET,
	    .protocol = IPPROTO_MPTCP % 65536,
	    .port = 1,
	    .address = { 127, 0, 0, 1 } },
	  NULL,
	  0,
	  "mptcp:127.0.0.1:1" },
	{ WEIR_OP_SOCKET, { .family = AF_PACKET, .type = SOCK_RAW }, NULL, 0, "socket:packet" },
	{ WEIR_OP_SOCKET, { .family = 250 }, NULL, 0, "socket:250" },
	{ WEIR_OP_SOCKET,
	  { .family = AF_INET, .type = SOCK_RAW, .protocol = 1 },
	  NULL,
	  0,
	  "socket:ipv4:raw:1" },
	{ WEIR_OP_SEND, { .family = AF_NETLINK, .port = 16 }, NULL, 0, "netlink:route:16" },
	{ WEIR_OP_SEND,
	  { .family = AF_NETLINK, .protocol = 30, .port = 1 },
	  NULL,
	  0,
	  "netlink:30:1" },
	{ WEIR_OP_CONNECT, { .family = AF_UNIX }, "a\0b", 3, "unix:@a@b" },
	{ WEIR_OP_SEND, { .family = AF_UNIX }, NULL, 0, "unix:" },
	{ WEIR_OP_IPC_CREATE, { .number = 0x2a }, "msg", 3, "sysv:msg:0x2a" },
	{ WEIR_OP_IPC_USE, { 0 }, NULL, 0, "sysv:0x0" },
	{ WEIR_OP_PTRACE, { .tgid = 1 }, NULL, 0, "" },
};

static void t_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct event e = {
			.op = { .head.type = WEIR_RECORD_OP,
				.op = (uint16_t)places[i].op,
				.peer = places[i].peer },
			.name = places[i].name,
			.name_len = (uint32_t)places[i].name_len,
		};
		char out[EVENT_PLACE_SIZE];

		assert_int_equal(event_place(&e, out, sizeof(out)), strlen(places[i].want));
		assert_string_equal(out, places[i].want);
	}
}

/* The longest name that a record can hold, and less room than it needs. */
static void t_long_names(void **state)
{
	char name[WEIR_LABEL_MAX], out[EVENT_PLACE_SIZE];
	struct event e = { .op = { .head.type = WEIR_RECORD_OP,
				   .op = WEIR_OP_CONNECT,
				   .peer.family = AF_UNIX },
			   .name = name,
			   .name_len = sizeof(name) };

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(event_place(&e, out, sizeof(out)), 6 + sizeof(name));
	assert_int_equal(event_place(&e, out, 16), 15);
	assert_string_equal(out, "unix:@nnnnnnnnn");
}

/* The same from records, as older builds wrote them. */
static void t_golden(void **state)
{
	static const struct {
		const char *file, *want;
	} golden[] = {
		{ "tests/abi/v2-socket.rec", "tcp:192.0.2.1:443" },
		{ "tests/abi/v2-name.rec", "unix:@@abs/tract\x1b" },
		{ "tests/abi/v2-ptrace.rec", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		cleanup_buf struct buf b = { 0 };
		char out[EVENT_PLACE_SIZE];
		struct event event;

		assert_int_equal(fsio_read_file(AT_FDCWD, golden[i].file, 65536, &b, NULL), 0);
		assert_int_equal(event_decode(b.data, b.len, &event, NULL), 0);
		event_place(&event, out, sizeof(out));
		assert_string_equal(out, golden[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_places),
		cmocka_unit_test(t_long_names),
		cmocka_unit_test(t_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
