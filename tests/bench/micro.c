/* SPDX-License-Identifier: MIT */
/*
 * Instructions of single operations: the least of many, since interrupts only add to them.
 *
 *   micro LABEL DIR
 *
 * Prints lines "LABEL OPERATION COUNT". Meant for the deterministic mode of tests/vm, in which
 * one tick of the time stamp counter is one instruction. Works on a file at depth 8 below DIR
 * and makes what is missing there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/* What a shell holds: a fork copies the tables of it. */
#define HELD_BYTES (4 << 20)

struct place {
	char file[512]; /* at depth 8 */
	char name[512]; /* beside it, does not exist */
	int fd;		/* the file, open for writing */
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "micro: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_close(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	must(fd >= 0, path);
	close(fd);
}

static void do_getppid(struct place *p)
{
	(void)p;
	syscall(SYS_getppid);
}

static void do_stat(struct place *p)
{
	struct stat st;

	must(stat(p->file, &st) == 0, p->file);
}

static void do_write(struct place *p)
{
	must(pwrite(p->fd, "x", 1, 0) == 1, "write");
}

static void do_open_read(struct place *p)
{
	open_close(p->file, O_RDONLY);
}

static void do_open_write(struct place *p)
{
	open_close(p->file, O_WRONLY);
}

static void do_create_unlink(struct place *p)
{
	open_close(p->name, O_WRONLY | O_CREAT | O_EXCL);
	must(unlink(p->name) == 0, p->name);
}

static void do_fork(struct place *p)
{
	pid_t pid = fork();

	(void)p;
	must(pid >= 0, "fork");
	if (pid == 0)
		_exit(0);
	must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

static const struct operation {
	const char *name;
	void (*act)(struct place *p);
	int rounds;
} operations[] = {
	{ "getppid", do_getppid, 501 },
	{ "stat", do_stat, 501 },
	{ "write", do_write, 501 },
	{ "open-read", do_open_read, 1001 },
	{ "open-write", do_open_write, 1001 },
	{ "create-unlink", do_create_unlink, 301 },
	{ "fork", do_fork, 301 },
};

static uint64_t least(const struct operation *op, struct place *p)
{
	uint64_t ticks = UINT64_MAX;

	for (int i = 0; i < op->rounds; i++) {
		uint64_t began = __rdtsc(), took;

		op->act(p);
		took = __rdtsc() - began;
		if (took < ticks)
			ticks = took;
	}
	return ticks;
}

static void make_place(struct place *p, const char *dir)
{
	size_t used = (size_t)snprintf(p->file, sizeof(p->file) - 32, "%s", dir);

	for (int i = 1; i < 8; i++) {
		used += (size_t)sprintf(p->file + used, "/%d", i);
		must(mkdir(p->file, 0700) == 0 || errno == EEXIST, p->file);
	}
	memcpy(p->name, p->file, used + 1);
	strcpy(p->file + used, "/file");
	strcpy(p->name + used, "/new");
	p->fd = open(p->file, O_WRONLY | O_CREAT, 0600);
	must(p->fd >= 0, p->file);
}

int main(int argc, char **argv)
{
	struct place p;
	char *held;

	if (argc != 3) {
		fprintf(stderr, "usage: micro LABEL DIR\n");
		return 2;
	}
	/* a fork costs as much as there are pages, and addresses by chance make more or fewer */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
		must(0, "starting again");
	}
	held = malloc(HELD_BYTES);
	must(held != NULL, "memory");
	memset(held, 1, HELD_BYTES);
	make_place(&p, argv[2]);
	/* once for the caches */
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		least(&operations[i], &p);
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		printf("%s %s %llu\n", argv[1], operations[i].name,
		       (unsigned long long)least(&operations[i], &p));
	return 0;
}
