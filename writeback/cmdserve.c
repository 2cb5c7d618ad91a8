/* SPDX-License-Identifier: MIT */
/*
 * weir-gate serve: the listener, and with --principal the relay. The listener parses nothing: it
 * takes connections, counts them, and forks a broker for each (writeback/serve.h).
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"
#include "user/base/usage.h"
#include "writeback/command.h"
#include "writeback/keeper.h"
#include "writeback/proposal.h"
#include "writeback/reason.h"
#include "writeback/serve.h"

#define BACKLOG 128
#define RELAY_MS 700000 /* a request and its answer, at most */

struct args {
	const char *socket;
	const char *principal;
	const char *group;
};

struct server {
	struct gate_config config;
	int listener;
	int signals;
	sigset_t before; /* signal mask of children */
	struct serve_seats *seats;
	struct {
		pid_t pid; /* 0: free */
		uid_t uid;
	} children[SERVE_CONNECTIONS];
};

/* Somebody's live socket stays; one that nobody serves any more makes room. */
static int make_room(const char *path, struct weir_err *e)
{
	struct weir_err none = { 0 };
	struct stat st;
	int fd;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(e, -errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, -EEXIST, "%s exists and is no socket", path);
	fd = serve_connect(path, &none);
	if (fd >= 0) {
		close(fd);
		return err_set(e, -EADDRINUSE, "%s is served already", path);
	}
	return unlink(path) < 0 ? err_errno(e, -errno, "%s", path) : 0;
}

static int find_group(const struct server *s, const char *name, gid_t *ret_gid, struct weir_err *e)
{
	char buffer[16384];
	struct group gr, *found = NULL;

	*ret_gid = s->config.gid;
	if (!name)
		return 0;
	if (getgrnam_r(name, &gr, buffer, sizeof(buffer), &found) != 0 || !found)
		return err_set(e, -ENOENT, "there is no group %s", name);
	*ret_gid = found->gr_gid;
	return 0;
}

/* In a directory where nobody else could put another in its place. */
static int check_place(const char *path, struct weir_err *e)
{
	cleanup_free char *dir = strdup(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	struct stat st;

	if (path[0] != '/' || !slash)
		return err_set(e, -EINVAL, "--socket is no absolute path");
	*slash = '\0';
	if (stat(dir[0] ? dir : "/", &st) < 0)
		return err_errno(e, -errno, "%s", dir);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return err_set(e, -EPERM, "%s is not root's alone: no place for the socket", dir);
	return 0;
}

static int start_listening(struct server *s, const struct args *a, struct weir_err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	mode_t old;
	gid_t gid;
	int err = find_group(s, a->group, &gid, e);

	if (err == 0)
		err = check_place(a->socket, e);
	if (err == 0 && strlen(a->socket) >= sizeof(at.sun_path))
		err = err_set(e, -ENAMETOOLONG, "--socket is too long a path");
	if (err == 0)
		err = make_room(a->socket, e);
	if (err < 0)
		return err;
	memcpy(at.sun_path, a->socket, strlen(a->socket));
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return err_errno(e, -errno, "%s", a->socket);
	/* born with its group: giving it away later would take CAP_CHOWN */
	old = umask(0117);
	if (setegid(gid) < 0 || bind(s->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    setegid(getgid()) < 0 || listen(s->listener, BACKLOG) < 0)
		err = err_errno(e, -errno, "%s", a->socket);
	umask(old);
	return err;
}

static int catch_signals(struct server *s, struct weir_err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, &s->before) < 0)
		return err_errno(e, -errno, "signals");
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signals < 0 ? err_errno(e, -errno, "signals") : 0;
}

static int make_seats(struct server *s, struct weir_err *e)
{
	s->seats = mmap(NULL, sizeof(*s->seats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	return s->seats == MAP_FAILED ? err_errno(e, -errno, "starting the service") : 0;
}

static void reap(struct server *s)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (unsigned int i = 0; i < SERVE_CONNECTIONS; i++)
			if (s->children[i].pid == pid) {
				s->children[i].pid = 0;
				__atomic_store_n(&s->seats->principals[i], 0, __ATOMIC_SEQ_CST);
			}
}

/* Returns: a free place, or -1 when all are taken, or too many of them by this user. */
static int find_place(const struct server *s, uid_t uid)
{
	unsigned int of_user = 0;
	int place = -1;

	for (unsigned int i = 0; i < SERVE_CONNECTIONS; i++) {
		if (s->children[i].pid == 0)
			place = (int)i;
		else
			of_user += s->children[i].uid == uid;
	}
	return uid != 0 && of_user >= SERVE_PER_USER ? -1 : place;
}

/* Fits into any socket's buffer, so that it never blocks. */
static void say_busy(int client)
{
	cleanup_buf struct buf answer = { 0 };
	struct weir_err e = { 0 };

	refuse(&e, REASON_BUSY, "too many requests at once");
	if (serve_answer_error(&e, &answer) == 0)
		serve_frame_write(client, answer.data, answer.len, 0);
}

static void broker_main(const struct server *s, int client, uid_t uid, unsigned int place)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || sigprocmask(SIG_SETMASK, &s->before, NULL) < 0)
		_exit(GATE_EXIT_FAILED);
	close(s->listener);
	close(s->signals);
	_exit(serve_broker(&s->config, client, uid, s->seats, place));
}

static void take_one(struct server *s)
{
	cleanup_close int client = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	pid_t pid;
	int place;

	if (client < 0 || getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return;
	place = find_place(s, peer.uid);
	if (place < 0) {
		say_busy(client);
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		broker_main(s, client, peer.uid, (unsigned int)place);
	if (pid < 0) {
		say_busy(client);
		return;
	}
	s->children[place].pid = pid;
	s->children[place].uid = peer.uid;
}

/* Returns: whether the server is to end. */
static bool hear_signals(struct server *s)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		end |= info.ssi_signo != SIGCHLD;
	reap(s);
	return end;
}

/* What is under way ends with the server, in the old state or the new one (publish.h). */
static int listen_on(struct server *s)
{
	for (;;) {
		struct pollfd fds[2] = { { s->listener, POLLIN, 0 }, { s->signals, POLLIN, 0 } };

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return GATE_EXIT_FAILED;
		if ((fds[1].revents & POLLIN) && hear_signals(s))
			return 0;
		if (fds[0].revents & POLLIN)
			take_one(s);
	}
}

static int serve(const struct args *a)
{
	struct server s = { .listener = -1, .signals = -1 };
	struct weir_err e = { 0 };
	int status, err;

	if (gate_need_root() != 0)
		return GATE_EXIT_USAGE;
	err = config_load(&s.config, &e);
	if (err == 0)
		err = make_seats(&s, &e);
	if (err == 0)
		err = catch_signals(&s, &e);
	if (err == 0)
		err = start_listening(&s, a, &e);
	if (err < 0 && e.exit_code == 0)
		e.exit_code = GATE_EXIT_USAGE;
	if (err == 0)
		printf("weir-gate: serving %s at %s\n", s.config.repository, a->socket);
	if (err == 0 && fflush(stdout) != 0)
		err = err_errno(&e, -errno, "writing the output");
	status = err < 0 ? gate_fail(&e) : listen_on(&s);
	if (err == 0)
		unlink(a->socket);
	config_done(&s.config);
	return status;
}

/* Copies both ways until the service has answered. Returns: 0 or a negative errno. */
static int relay_bytes(int service)
{
	struct pollfd fds[2] = { { 0, POLLIN, 0 }, { service, POLLIN, 0 } };
	size_t left[2] = { SERVE_FRAME_MAX + sizeof(uint32_t),
			   SERVE_ANSWER_MAX + sizeof(uint32_t) };
	char piece[16384];

	while (poll(fds, 2, RELAY_MS) > 0) {
		for (unsigned int i = 0; i < 2; i++) {
			ssize_t n;

			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			n = read(fds[i].fd, piece, sizeof(piece));
			if (n <= 0 && i == 1)
				return n < 0 ? -errno : 0;
			if (n <= 0 || (size_t)n > left[i]) {
				shutdown(service, SHUT_WR);
				fds[i].fd = -1;
				continue;
			}
			left[i] -= (size_t)n;
			/* a service that has answered already may have hung up */
			if (fsio_write_all(i ? 1 : service, piece, (size_t)n) < 0) {
				if (i == 1)
					return -EPIPE;
				fds[i].fd = -1;
			}
		}
	}
	return -ETIMEDOUT;
}

static int relay(const struct args *a)
{
	cleanup_buf struct buf hello = { 0 };
	cleanup_close int service = -1;
	struct weir_err e = { 0 };
	int err = 0;

	service = serve_connect(a->socket, &e);
	if (service < 0)
		return gate_fail(&e);
	if (serve_hello_format(a->principal, &hello) < 0)
		err = -ENOMEM;
	if (err == 0)
		err = serve_frame_write(service, hello.data, hello.len, SERVE_READ_S);
	if (err == 0)
		err = relay_bytes(service);
	if (err < 0) {
		err_errno(&e, err, "relaying to %s", a->socket);
		return gate_fail(&e);
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 's':
		a->socket = arg;
		return 0;
	case 'p':
		a->principal = arg;
		return 0;
	case 'g':
		a->group = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_serve(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "socket", 's', "PATH", 0, "unix socket (default " SERVE_SOCKET ")", 0 },
		{ "group", 'g', "GROUP", 0,
		  "whose members may connect (default: the gate's user's)", 0 },
		{ "principal", 'p', "NAME", 0,
		  "relay one request from standard input, as this person: an ssh forced command",
		  0 },
		{ 0 },
	};
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Serve the gate to people who are not root. Who connects to the socket is known "
		"by their uid; what each may do, .weir/roles.yaml says for each object.",
		NULL,
		NULL,
		NULL
	};
	struct args a = { .socket = SERVE_SOCKET };

	usage_parse(&argp, argc, argv, 0, &a);
	return a.principal ? relay(&a) : serve(&a);
}
