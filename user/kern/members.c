/* SPDX-License-Identifier: MIT */
/* Roles of tasks, and the end of all members. */
#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/kern/kern.h"

#define KILL_PAUSE_NS 5000000

int kern_adopt(struct kern_slot *s, pid_t pid, enum weir_role role, struct weir_err *e)
{
	struct weir_adopt adopt = { .pid = (uint32_t)pid, .slot = s->slot, .role = role };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &adopt, .ctx_size_in = sizeof(adopt));

	if (bpf_prog_test_run_opts(s->kern->adopt_fd, &opts) < 0)
		return err_errno(e, -errno, "making a process a member of the run");
	if (adopt.ret_err < 0)
		return err_errno(e, adopt.ret_err, "making a process a member of the run");
	return 0;
}

int kern_each_member(struct kern_slot *s, int (*fn)(const struct weir_task *, void *), void *arg)
{
	uint64_t key, next;
	const uint64_t *at = NULL;

	while (bpf_map_get_next_key(s->kern->tasks_fd, at, &next) == 0) {
		struct weir_task task;

		key = next;
		at = &key;
		if (bpf_map_lookup_elem(s->kern->tasks_fd, &key, &task) < 0)
			continue;
		if (task.slot == s->slot && task.role != WEIR_ROLE_COLLECTOR && !task.exited &&
		    task.tgid) {
			int ret = fn(&task, arg);

			if (ret)
				return ret;
		}
	}
	return 0;
}

/* The pid may be another's by now; a member that exited is gone from the map or marked. */
static int signal_one(const struct weir_task *task, void *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)task->tgid, 0);

	if (fd < 0)
		return 0;
	syscall(SYS_pidfd_send_signal, fd, *(const int *)arg, NULL, 0);
	close(fd);
	return 0;
}

uint64_t kern_kill_members(struct kern_slot *s, unsigned int timeout_ms)
{
	struct weir_run *run = kern_run(s->kern, s->slot);
	const struct timespec pause = { .tv_nsec = KILL_PAUSE_NS };
	struct timespec start, now;
	int stop = SIGSTOP, end = SIGKILL;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (__atomic_load_n(&run->live, __ATOMIC_SEQ_CST) > 0) {
		/* a shell must not go on because the command that it waited for was killed first */
		kern_each_member(s, signal_one, &stop);
		kern_each_member(s, signal_one, &end);
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >
		    (long)timeout_ms)
			break;
	}
	return __atomic_load_n(&run->live, __ATOMIC_SEQ_CST);
}
