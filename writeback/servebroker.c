/* SPDX-License-Identifier: MIT */
/*
 * The broker of one connection: opens for the judge what only root can, and runs the command that
 * the judge allows. It reads nothing from the client; what it takes from the judge it checks again
 * by the tables of serve.h. Contract there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/digest.h"
#include "user/base/fsio.h"
#include "user/tree/rundir.h"
#include "writeback/keeper.h"
#include "writeback/priv.h"
#include "writeback/proto.h"
#include "writeback/reason.h"
#include "writeback/serve.h"

#define ARGS_MAX 32
#define ERRORS_MAX ((size_t)16 << 10) /* bytes of a command's standard error */
#define MS_PER_S 1000

struct broker {
	struct serve_seats *seats;
	unsigned int own;
	int client;
	int judge; /* socket */
	uid_t peer;
};

struct command {
	enum serve_op op;
	uint32_t for_user;
	char *values[SERVE_MEMBER_COUNT];
	int files[SERVE_MEMBER_COUNT];
	char *args[ARGS_MAX];
	unsigned int count;
	struct buf out;
	struct buf errors;
};

static void command_done(struct command *m)
{
	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++) {
		free(m->values[i]);
		if (m->files[i] >= 0)
			close(m->files[i]);
	}
	for (unsigned int i = 0; i < m->count; i++)
		free(m->args[i]);
	buf_done(&m->out);
	buf_done(&m->errors);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * MS_PER_S + ts.tv_nsec / 1000000;
}

struct judging {
	int client;
	int socket;
	uid_t peer;
};

static int judge_main(const struct gate_config *c, void *arg, struct weir_err *e)
{
	const struct judging *j = arg;

	(void)c; /* it reads its own, later */
	return serve_judge(j->client, j->socket, j->peer, e);
}

/* The statement of a run, by the run's complete id and nothing else. */
static int give_run(const struct broker *b, const struct buf *id)
{
	cleanup_rundir struct rundir run = { .fd = -1 };
	cleanup_close int fd = -1;
	struct weir_err none = { 0 };
	int32_t err = -ENOENT;

	if (rundir_id_is_valid(buf_str(id)))
		err = rundir_open(RUNDIR_STATE_DEFAULT, buf_str(id), &run, &none);
	if (err == 0) {
		fd = openat(run.fd, "statement.json",
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		err = fd < 0 ? -errno : 0;
	}
	return proto_send(b->judge, SERVE_GIVE_RUN, &err, sizeof(err), &fd, err == 0);
}

static int give_owner(const struct broker *b, const struct buf *path)
{
	struct serve_owner owner = { 0 };
	struct stat st;

	if (buf_str(path)[0] != '/' || lstat(buf_str(path), &st) < 0)
		owner.err = -ENOENT;
	else
		owner = (struct serve_owner){ 0, st.st_uid, st.st_dev, st.st_ino };
	return proto_send(b->judge, SERVE_GIVE_OWNER, &owner, sizeof(owner), NULL, 0);
}

/* Its own place is taken before it counts: of two at once neither overlooks the other. */
static int give_seat(const struct broker *b, const struct buf *principal)
{
	unsigned char hash[DIGEST_SIZE];
	uint64_t key = 0, *all = b->seats->principals;
	unsigned int count = 0;
	int32_t err = digest_bytes(buf_str(principal), principal->len, hash);

	memcpy(&key, hash, sizeof(key));
	key |= 1; /* 0 is nobody */
	if (err == 0)
		__atomic_store_n(&all[b->own], key, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < SERVE_CONNECTIONS; i++)
		count += __atomic_load_n(&all[i], __ATOMIC_SEQ_CST) == key;
	if (err == 0 && count > SERVE_PER_PRINCIPAL)
		err = -EBUSY;
	return proto_send(b->judge, SERVE_GIVE_SEAT, &err, sizeof(err), NULL, 0);
}

static int take_value(struct command *m, struct proto_message *message)
{
	const void *head = proto_take(message, sizeof(uint32_t));
	enum serve_class class;
	const char *bytes;
	uint32_t which;
	size_t len;

	if (!head)
		return -EBADMSG;
	memcpy(&which, head, sizeof(which));
	if (which >= SERVE_MEMBER_COUNT || m->values[which])
		return -EBADMSG;
	bytes = proto_take_bytes(message, &len);
	class = serve_member((enum serve_member)which)->class;
	if (!bytes || memchr(bytes, '\0', len))
		return -EBADMSG;
	m->values[which] = strndup(bytes, len);
	if (!m->values[which])
		return -ENOMEM;
	if (class == SERVE_FILE || class == SERVE_LIST) {
		m->files[which] = proto_take_fd(message);
		return m->files[which] < 0 || len > 0 ? -EBADMSG : 0;
	}
	return serve_value_fits((enum serve_member)which, m->values[which]) ? 0 : -EBADMSG;
}

static int take_command(struct command *m, struct proto_message *message)
{
	uint32_t head[2], have = 0;
	const void *bytes = proto_take(message, sizeof(head));
	const struct serve_row *row;

	if (!bytes)
		return -EBADMSG;
	memcpy(head, bytes, sizeof(head));
	if (head[0] >= SERVE_OP_COUNT)
		return -EBADMSG;
	m->op = (enum serve_op)head[0];
	m->for_user = head[1];
	row = serve_op(m->op);
	while (message->at < message->data.len) {
		int err = take_value(m, message);

		if (err < 0)
			return err;
	}
	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++)
		have |= m->values[i] ? 1u << i : 0;
	if ((have & row->needed) != row->needed ||
	    (have & ~(row->needed | row->allowed | SERVE_BIT(ONLY))) ||
	    !(row->command ? row->command : m->values[SERVE_M_DECISION])[0])
		return -EBADMSG;
	return 0;
}

static void add(struct command *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct command *m, const char *fmt, ...)
{
	va_list args;

	if (m->count >= ARGS_MAX - 1)
		return;
	va_start(args, fmt);
	if (vasprintf(&m->args[m->count], fmt, args) < 0)
		m->args[m->count] = NULL;
	va_end(args);
	m->count += m->args[m->count] != NULL;
}

static void add_value(struct command *m, enum serve_member member)
{
	const struct serve_value *v = serve_member(member);
	const char *option = v->option, *value = m->values[member];

	if (!value || !option || !option[0])
		return;
	if (m->op == SERVE_OP_DROP && member == SERVE_M_NONCE)
		option = "--drop";
	if (v->class == SERVE_BOOL)
		add(m, "%s", option);
	else if (v->class == SERVE_RUN_ID)
		add(m, "%s=%s/runs/%s", option, RUNDIR_STATE_DEFAULT, value);
	else if (v->class == SERVE_FILE || v->class == SERVE_LIST)
		add(m, "%s=/proc/self/fd/%d", option, m->files[member]);
	else
		add(m, "%s=%s", option, value);
}

/* Every value stands in one argument with its option, or behind "--": none can become another. */
static void make_arguments(const struct gate_config *c, struct command *m)
{
	const struct serve_row *row = serve_op(m->op);

	add(m, "weir-gate");
	add(m, "%s", row->command ? row->command : m->values[SERVE_M_DECISION]);
	if (row->form == SERVE_JSON || (row->form == SERVE_EITHER && !m->values[SERVE_M_TEXT]))
		add(m, "--json");
	if (m->op == SERVE_OP_STATEMENT)
		add(m, "--print");
	if (m->op == SERVE_OP_VERIFY) {
		add(m, "--repo=%s", c->repository);
		add(m, "--signers=%s", c->signers);
	}
	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++)
		add_value(m, (enum serve_member)i);
	if (m->values[SERVE_M_COMMIT]) {
		add(m, "--");
		add(m, "%s", m->values[SERVE_M_COMMIT]);
	}
}

/* Whoever proposes is a producer (writeback/caller.h): here that is who asks, and neither root nor
 * who once started the service. Where no login is set yet, setting one needs no privilege. */
static bool log_in(uint32_t uid)
{
	cleanup_close int fd = open("/proc/self/loginuid", O_RDWR | O_CLOEXEC);
	char want[16], is[16] = "";

	/* a kernel without audit */
	if (fd < 0)
		return errno == ENOENT;
	snprintf(want, sizeof(want), "%u", uid);
	if (write(fd, want, strlen(want)) < 0 && errno != EPERM)
		return false;
	return pread(fd, is, sizeof(is) - 1, 0) > 0 && strncmp(is, want, sizeof(is)) == 0;
}

static void execute(const struct command *m, int out, int errors)
{
	static const char no_login[] =
		"weir-gate: serve was started by somebody who had logged in: start it by systemd\n";
	char user[32];
	char *environment[] = { user, NULL };
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	snprintf(user, sizeof(user), "SUDO_UID=%u", m->for_user);
	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++)
		if (m->files[i] >= 0)
			fcntl(m->files[i], F_SETFD, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || dup2(nothing, 0) != 0 || dup2(out, 1) != 1 ||
	    dup2(errors, 2) != 2)
		_exit(GATE_EXIT_FAILED);
	if (log_in(m->for_user))
		execve("/proc/self/exe", m->args, environment);
	else
		fsio_write_all(2, no_login, sizeof(no_login) - 1);
	_exit(GATE_EXIT_FAILED);
}

/* Reads what there is. Returns: bytes, 0 at the end, -EAGAIN, -EFBIG past the limit. */
static ssize_t read_more(int fd, size_t max, struct buf *b)
{
	char piece[65536];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (b->len + (size_t)n > max)
		return -EFBIG;
	return n > 0 && buf_add(b, piece, (size_t)n) < 0 ? -ENOMEM : n;
}

/* Both streams to their ends. Returns: 0, -ETIMEDOUT, -EFBIG, another errno. */
static int hear(struct command *m, int out, int errors)
{
	const struct serve_row *row = serve_op(m->op);
	struct pollfd fds[2] = { { out, POLLIN, 0 }, { errors, POLLIN, 0 } };
	int64_t deadline = now_ms() + (int64_t)row->seconds * MS_PER_S;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		int64_t left = deadline - now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return -errno;
		for (unsigned int i = 0; i < 2; i++) {
			ssize_t n = 1;

			if (fds[i].fd >= 0 && fds[i].revents)
				n = read_more(fds[i].fd, i ? ERRORS_MAX : row->result_kib << 10,
					      i ? &m->errors : &m->out);
			if (n < 0 && n != -EAGAIN)
				return (int)n;
			if (n == 0)
				fds[i].fd = -1;
		}
	}
	return 0;
}

/* Runs it. Returns: its exit status, -ETIMEDOUT, -EFBIG, another errno. */
static int run(struct command *m)
{
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 }, status = 0, err = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		execute(m, out[1], errors[1]);
	close(out[1]);
	close(errors[1]);
	err = pid < 0 ? -errno : hear(m, out[0], errors[0]);
	if (pid > 0 && err < 0)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(out[0]);
	close(errors[0]);
	if (err < 0)
		return err;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* "weir-gate: refused: CODE: why" or "weir-gate: why", the last line that the command said. */
static void take_error(const struct command *m, int status, struct weir_err *e)
{
	static const char refused[] = "weir-gate: refused: ";
	cleanup_free char *text = strndup(buf_str(&m->errors), m->errors.len);
	char *line = text, *end, *colon;

	if (!text)
		return;
	for (char *next; (next = strchr(line, '\n')) && next[1];)
		line = next + 1;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	colon = strstr(line, ": ");
	if (status == GATE_EXIT_REFUSED && strncmp(line, refused, sizeof(refused) - 1) == 0) {
		line += sizeof(refused) - 1;
		colon = strstr(line, ": ");
		if (colon) {
			*colon = '\0';
			err_code(e, -EPERM, line, "%s", colon + 2);
		}
	} else if (status == GATE_EXIT_USAGE && colon) {
		err_code(e, -EINVAL, reason_code(REASON_REQUEST), "%s", colon + 2);
	}
}

static void outcome(const struct broker *b, const struct command *m, int status,
		    struct buf *ret_answer)
{
	const struct serve_row *row = serve_op(m->op);
	bool json =
		row->form == SERVE_JSON || (row->form == SERVE_EITHER && !m->values[SERVE_M_TEXT]);
	struct weir_err e = { 0 };
	int err = status;

	if (status == 0)
		err = json ? serve_answer_json(m->out.data, m->out.len, ret_answer)
			   : serve_answer_text(m->out.data, m->out.len, ret_answer);
	else if (status == -ETIMEDOUT)
		refuse(&e, REASON_DEADLINE, "%s took more than %u seconds", row->name,
		       row->seconds);
	else if (status == -EFBIG)
		refuse(&e, REASON_LIMIT, "%s gives more than %zu KiB", row->name, row->result_kib);
	else
		take_error(m, status, &e);
	if (err == 0)
		return;
	fprintf(stderr, "weir-gate: serve: uid %u: %s: %s%s%s", b->peer, row->name,
		e.code[0] ? e.code : "failed: ", e.code[0] ? "" : buf_str(&m->errors),
		e.code[0] || m->errors.len == 0 ? "\n" : "");
	buf_done(ret_answer);
	serve_answer_error(&e, ret_answer);
}

static void go(const struct broker *b, struct proto_message *message, struct buf *ret_answer)
{
	__attribute__((__cleanup__(command_done))) struct command m = { 0 };
	cleanup_config struct gate_config now = { 0 };
	struct weir_err e = { 0 }, why = { 0 };
	int err;

	for (unsigned int i = 0; i < SERVE_MEMBER_COUNT; i++)
		m.files[i] = -1;
	err = take_command(&m, message);
	if (err < 0) {
		fprintf(stderr, "weir-gate: serve: the judge's word is not understood\n");
		serve_answer_error(&e, ret_answer);
		return;
	}
	if (config_load(&now, &why) < 0) {
		fprintf(stderr, "weir-gate: serve: %s\n", why.text);
		serve_answer_error(&e, ret_answer);
		return;
	}
	make_arguments(&now, &m);
	outcome(b, &m, run(&m), ret_answer);
}

/* One message of the judge. Returns: 1 when there is an answer, 0 to go on, or an errno. */
static int hear_judge(const struct broker *b, struct buf *ret_answer)
{
	cleanup_proto struct proto_message m = { 0 };
	int err = proto_recv(b->judge, &m);

	if (err < 0)
		return err;
	switch (m.type) {
	case SERVE_ASK_RUN:
		return give_run(b, &m.data);
	case SERVE_ASK_OWNER:
		return give_owner(b, &m.data);
	case SERVE_ASK_SEAT:
		return give_seat(b, &m.data);
	case SERVE_ANSWER:
		err = buf_add(ret_answer, m.data.data, m.data.len);
		return err < 0 ? err : 1;
	case SERVE_GO:
		go(b, &m, ret_answer);
		return 1;
	default:
		return -EBADMSG;
	}
}

static void limit(int what, rlim_t value)
{
	const struct rlimit r = { value, value };

	setrlimit((__rlimit_resource_t)what, &r);
}

static int work(const struct broker *b, struct buf *ret_answer)
{
	int64_t deadline = now_ms() + (int64_t)(SERVE_READ_S + SERVE_QUEUE_S) * MS_PER_S;
	struct weir_err e = { 0 };
	int err = 0;

	while (err == 0) {
		struct pollfd p = { b->judge, POLLIN, 0 };
		int64_t left = deadline - now_ms();

		if (left <= 0) {
			refuse(&e, REASON_DEADLINE, "the queue took more than %d seconds",
			       SERVE_QUEUE_S);
			return serve_answer_error(&e, ret_answer);
		}
		if (poll(&p, 1, (int)left) > 0)
			err = hear_judge(b, ret_answer);
	}
	return err < 0 ? serve_answer_error(&e, ret_answer) : 0;
}

/* What the client said beyond its request would reset the connection, with the answer in it. */
static void drain(int client)
{
	char piece[16384];
	unsigned int left = 2 * SERVE_FRAME_MAX / sizeof(piece);

	shutdown(client, SHUT_WR);
	while (left-- > 0 && recv(client, piece, sizeof(piece), MSG_DONTWAIT) > 0)
		;
}

int serve_broker(const struct gate_config *c, int client, uid_t peer, struct serve_seats *seats,
		 unsigned int own)
{
	cleanup_buf struct buf answer = { 0 };
	struct broker b = {
		.seats = seats, .own = own, .client = client, .judge = -1, .peer = peer
	};
	struct judging j = { .client = client, .socket = -1, .peer = peer };
	struct weir_err e = { 0 };
	int pair[2], keep[2], err;
	pid_t pid = -1;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NOFILE, 256);
	limit(RLIMIT_AS, SERVE_MEMORY);
	/* no judge can write there */
	if (madvise(seats, sizeof(*seats), MADV_DONTFORK) < 0 || proto_pair(pair) < 0)
		return GATE_EXIT_FAILED;
	b.judge = pair[0];
	j.socket = pair[1];
	keep[0] = client;
	keep[1] = pair[1];
	err = keeper_start(c, judge_main, &j, keep, 2, &pid, &e);
	close(pair[1]);
	if (err == 0)
		err = work(&b, &answer);
	/* a judge that still waits ends with this process */
	if (err == 0)
		err = serve_frame_write(client, buf_str(&answer), answer.len, SERVE_WRITE_S);
	drain(client);
	close(client);
	if (e.text[0])
		return gate_fail(&e);
	return err < 0 ? GATE_EXIT_FAILED : 0;
}
