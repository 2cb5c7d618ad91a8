/* SPDX-License-Identifier: MIT */
/* Answers and frames of the service; contract in serve.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "writeback/json.h"
#include "writeback/reason.h"
#include "writeback/serve.h"

#define MS_PER_S 1000

int serve_answer_json(const char *json, size_t len, struct buf *ret_answer)
{
	while (len > 0 && json[len - 1] == '\n')
		len--;
	buf_addf(ret_answer, "{\"ok\":true,\"result\":");
	buf_add(ret_answer, json, len);
	return buf_addf(ret_answer, ",\"schema\":\"" SERVE_ANSWERS "\"}\n");
}

int serve_answer_text(const char *text, size_t len, struct buf *ret_answer)
{
	json_t *value = json_stringn(text ? text : "", len);
	cleanup_json json_t *root = NULL;

	if (!value)
		return -EBADMSG;
	root = json_pack("{s:b, s:o, s:s}", "ok", 1, "text", value, "schema", SERVE_ANSWERS);
	return root ? json_canonical(root, ret_answer) : -ENOMEM;
}

int serve_answer_error(const struct weir_err *e, struct buf *ret_answer)
{
	char safe[4 * sizeof(e->text)];
	const char *code = e->code[0] ? e->code : "failed";
	cleanup_json json_t *root = NULL;

	escape_text(e->text, strlen(e->text), safe, sizeof(safe));
	root = json_pack("{s:b, s:s, s:s, s:s}", "ok", 0, "code", code, "text",
			 e->code[0] ? safe : "the gate failed; its log says why", "schema",
			 SERVE_ANSWERS);
	return root ? json_canonical(root, ret_answer) : -ENOMEM;
}

int serve_answer_parse(const char *text, size_t len, struct buf *ret_result, struct weir_err *e)
{
	cleanup_json json_t *root = json_read(text, len, "the answer", e);
	const json_t *result = json_object_get(root, "result"), *plain;
	const char *code = json_string_value(json_object_get(root, "code"));
	const char *why = json_string_value(json_object_get(root, "text"));
	char safe[sizeof(e->text)];

	if (!root || !json_text_is(root, "schema", SERVE_ANSWERS))
		return err_set(e, -EBADMSG, "the service's answer is not understood");
	if (json_is_true(json_object_get(root, "ok"))) {
		plain = json_object_get(root, "text");
		if (json_is_object(result) && !plain)
			return json_canonical(result, ret_result);
		if (!why || result)
			return err_set(e, -EBADMSG, "the service's answer is not understood");
		return buf_add(ret_result, why, json_string_length(plain));
	}
	if (!code || !code[0] || !why || !why[0] ||
	    strspn(code, "abcdefghijklmnopqrstuvwxyz-") != strlen(code))
		return err_set(e, -EBADMSG, "the service's answer is not understood");
	escape_text(why, strlen(why), safe, sizeof(safe));
	err_code(e, -EPERM, code, "%s", safe);
	e->exit_code = strcmp(code, "failed") == 0 ? GATE_EXIT_FAILED : GATE_EXIT_REFUSED;
	return -EPERM;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * MS_PER_S + ts.tv_nsec / 1000000;
}

static int wait_for(int fd, short events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = deadline - now_ms();
	int n = left <= 0 ? 0 : poll(&p, 1, (int)left);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return n == 0 && now_ms() >= deadline ? -ETIMEDOUT : 0;
}

/* Streams of ssh may be pipes, on which nothing can be tried without waiting. */
static ssize_t try_some(int fd, char *data, size_t len, int64_t deadline, bool out)
{
	ssize_t n = out ? send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT)
			: recv(fd, data, len, MSG_DONTWAIT);
	int err;

	if (n >= 0 || errno != ENOTSOCK)
		return n < 0 ? -errno : n;
	err = wait_for(fd, out ? POLLOUT : POLLIN, deadline);
	if (err < 0)
		return err;
	n = out ? write(fd, data, len) : read(fd, data, len);
	return n < 0 ? -errno : n;
}

/* Reads or writes all of it. Returns: 0 or a negative errno. */
static int move(int fd, char *data, size_t len, int64_t deadline, bool out)
{
	while (len > 0) {
		ssize_t n = try_some(fd, data, len, deadline, out);

		if (n == -EAGAIN)
			n = wait_for(fd, out ? POLLOUT : POLLIN, deadline);
		else if (n == 0 && !out)
			return -EPIPE;
		if (n < 0 && n != -EINTR)
			return (int)n;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

int serve_frame_read(int fd, size_t max, unsigned int seconds, struct buf *ret_data)
{
	int64_t deadline = now_ms() + (int64_t)seconds * MS_PER_S;
	cleanup_free char *bytes = NULL;
	uint32_t head;
	size_t len;
	int err = move(fd, (char *)&head, sizeof(head), deadline, false);

	if (err < 0)
		return err;
	len = ntohl(head);
	if (len == 0 || len > max)
		return -EMSGSIZE;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	err = move(fd, bytes, len, deadline, false);
	return err < 0 ? err : buf_add(ret_data, bytes, len);
}

int serve_frame_write(int fd, const void *data, size_t len, unsigned int seconds)
{
	int64_t deadline = now_ms() + (int64_t)seconds * MS_PER_S;
	uint32_t head = htonl((uint32_t)len);
	int err;

	if (len == 0 || len > UINT32_MAX)
		return -EMSGSIZE;
	err = move(fd, (char *)&head, sizeof(head), deadline, true);
	return err < 0 ? err : move(fd, (char *)(uintptr_t)data, len, deadline, true);
}

int serve_connect(const char *path, struct weir_err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	cleanup_close int fd = -1;

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(e, -ENAMETOOLONG, "socket %.40s...: the path is too long", path);
	memcpy(at.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return err_errno(e, -errno, "the gate's service at %s", path);
	return TAKE_FD(fd);
}
