/* SPDX-License-Identifier: MIT */
/*
 * Instructions of single operations: the least of many, since interrupts only add to them.
 *
 *   micro LABEL DIR [OPERATION...]
 *
 * Prints lines "LABEL OPERATION COUNT", for all operations or those whose names begin so. Meant for the deterministic mode of tests/vm, in which
 * one tick of the time stamp counter is one instruction. Works on a file at depth 8 below DIR
 * and makes what is missing there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/* What a shell holds: a fork copies the tables of it. */
#define HELD_BYTES (4 << 20)
/* What a larger program has in libraries and buffers. */
#define MAPPINGS 100
#define MAPPING_BYTES 65536

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

/* Half of them are pages of a file, none can be merged with its neighbour. They stay. */
static void map_more(struct place *p)
{
	must(ftruncate(p->fd, MAPPING_BYTES) == 0, p->file);
	for (int i = 0; i < MAPPINGS; i++) {
		int fd = i % 2 ? open(p->file, O_RDONLY) : -1;
		char *at = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
				i % 2 ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);

		must(at != MAP_FAILED, "mmap");
		memset(at, 1, MAPPING_BYTES / 4);
		must(mprotect(at + MAPPING_BYTES - 4096, 4096, PROT_NONE) == 0, "mprotect");
		if (fd >= 0)
			close(fd);
	}
}

static const struct operation {
	const char *name;
	void (*act)(struct place *p);
	int rounds;
	void (*before)(struct place *p);
} operations[] = {
	{ "getppid", do_getppid, 501, NULL },
	{ "stat", do_stat, 501, NULL },
	{ "write", do_write, 501, NULL },
	{ "open-read", do_open_read, 1001, NULL },
	{ "open-write", do_open_write, 1001, NULL },
	{ "create-unlink", do_create_unlink, 301, NULL },
	{ "fork", do_fork, 101, NULL },
	{ "fork-mapped", do_fork, 61, map_more },
};

static uint64_t least(const struct operation *op, struct place *p)
{
	uint64_t ticks = UINT64_MAX;

	if (op->before)
		op->before(p);
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

static int is_wanted(const struct operation *op, char **names)
{
	int wanted = !*names;

	for (; *names; names++)
		wanted |= strncmp(op->name, *names, strlen(*names)) == 0;
	return wanted;
}

int main(int argc, char **argv)
{
	struct place p;
	char *held;

	if (argc < 3) {
		fprintf(stderr, "usage: micro LABEL DIR [OPERATION...]\n");
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
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (!is_wanted(&operations[i], argv + 3))
			continue;
		/* once for the caches */
		if (!operations[i].before)
			least(&operations[i], &p);
		printf("%s %s %llu\n", argv[1], operations[i].name,
		       (unsigned long long)least(&operations[i], &p));
	}
	return 0;
}
