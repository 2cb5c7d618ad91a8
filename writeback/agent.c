/* SPDX-License-Identifier: MIT */
#include "writeback/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "writeback/sshwire.h"

#define LIST_REQUEST 11
#define LIST_RESPONSE 12
#define SIGN_REQUEST 13
#define SIGN_RESPONSE 14
#define RSA_SHA512 4
#define ANSWER_MAX 65536
#define WAIT_S 60

static int agent_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = WAIT_S };
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

static int read_exact(int fd, void *data, size_t len)
{
	char *at = data;

	while (len > 0) {
		ssize_t n = read(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int ask(int fd, const struct buf *question, struct buf *ret_answer)
{
	cleanup_free char *body = NULL;
	unsigned char head[4] = { 0 };
	uint32_t len;
	int err = fsio_write_all(fd, question->data, question->len);

	if (err == 0)
		err = read_exact(fd, head, sizeof(head));
	if (err < 0)
		return err;
	len = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
	if (len == 0 || len > ANSWER_MAX)
		return -EBADMSG;
	body = malloc(len);
	if (!body)
		return -ENOMEM;
	err = read_exact(fd, body, len);
	return err < 0 ? err : buf_add(ret_answer, body, len);
}

static int make_question(const struct buf *blob, const struct buf *data, struct buf *ret_question)
{
	cleanup_buf struct buf body = { 0 };
	struct sshwire w = { (const unsigned char *)blob->data, blob->len }, type;
	unsigned char code = SIGN_REQUEST;
	bool rsa = sshwire_string(&w, &type) == 0 && sshwire_is(&type, "ssh-rsa");

	buf_add(&body, &code, 1);
	sshwire_put(&body, blob->data, blob->len);
	sshwire_put(&body, data->data, data->len);
	buf_add_u32be(&body, rsa ? RSA_SHA512 : 0);
	return body.failed ? -ENOMEM : sshwire_put(ret_question, body.data, body.len);
}

int agent_sign(const char *socket_path, const struct buf *blob, const struct buf *data,
	       struct buf *ret_signature, struct weir_err *e)
{
	cleanup_buf struct buf question = { 0 };
	cleanup_buf struct buf answer = { 0 };
	struct sshwire w, signature;
	cleanup_close int fd = agent_connect(socket_path);
	int err;

	if (fd < 0)
		return err_errno(e, fd, "ssh-agent at %s", socket_path);
	err = make_question(blob, data, &question);
	if (err == 0)
		err = ask(fd, &question, &answer);
	if (err < 0)
		return err_errno(e, err, "ssh-agent at %s", socket_path);
	w.at = (const unsigned char *)answer.data;
	w.left = answer.len;
	if (w.left == 0 || *w.at++ != SIGN_RESPONSE)
		return err_set(e, -EACCES, "ssh-agent at %s refuses to sign with this key",
			       socket_path);
	w.left--;
	if (sshwire_string(&w, &signature) < 0 || w.left != 0)
		return err_set(e, -EBADMSG, "ssh-agent at %s: damaged answer", socket_path);
	return buf_add(ret_signature, signature.at, signature.left);
}

int agent_only_key(const char *socket_path, struct buf *ret_blob, struct weir_err *e)
{
	static const unsigned char question[] = { 0, 0, 0, 1, LIST_REQUEST };
	struct buf q = { .data = (char *)(uintptr_t)question, .len = sizeof(question) };
	cleanup_buf struct buf answer = { 0 };
	cleanup_close int fd = agent_connect(socket_path);
	struct sshwire w, blob, comment;
	unsigned char type;
	uint32_t count;
	int err = fd < 0 ? fd : ask(fd, &q, &answer);

	if (err < 0)
		return err_errno(e, err, "ssh-agent at %s", socket_path);
	w.at = (const unsigned char *)answer.data;
	w.left = answer.len;
	if (sshwire_u8(&w, &type) < 0 || type != LIST_RESPONSE || sshwire_u32(&w, &count) < 0)
		return err_set(e, -EBADMSG, "ssh-agent at %s: damaged answer", socket_path);
	if (count != 1)
		return err_set(e, -EINVAL,
			       "ssh-agent at %s holds %u keys; say which one by its public key "
			       "file",
			       socket_path, count);
	if (sshwire_string(&w, &blob) < 0 || sshwire_string(&w, &comment) < 0)
		return err_set(e, -EBADMSG, "ssh-agent at %s: damaged answer", socket_path);
	return buf_add(ret_blob, blob.at, blob.left);
}
