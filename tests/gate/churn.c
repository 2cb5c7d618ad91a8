/* SPDX-License-Identifier: MIT */
/*
 * churn DIR SEED NAME...: keeps changing these files of DIR until it is killed: bytes in place,
 * length, another inode, a link, nothing there; and puts the first content back now and then, with
 * the first times, so that whoever looks at the right moment finds all well.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIZE_MAX_BYTES ((size_t)1 << 20)
#define NAMES_MAX 16

struct file {
	const char *name;
	char *bytes;
	size_t len;
	struct stat st;
};

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int load(struct file *f)
{
	int fd = open(f->name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	f->bytes = malloc(SIZE_MAX_BYTES);
	if (fd < 0 || !f->bytes || fstat(fd, &f->st) < 0)
		return -1;
	n = read(fd, f->bytes, SIZE_MAX_BYTES);
	close(fd);
	f->len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -1 : 0;
}

static void write_as(const char *name, int flags, const char *bytes, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0644);

	if (fd < 0)
		return;
	if (write(fd, bytes, len) < 0)
		perror(name);
	close(fd);
}

static void put_back(const struct file *f)
{
	struct timespec times[2] = { f->st.st_atim, f->st.st_mtim };

	write_as(".churn", O_TRUNC, f->bytes, f->len);
	if (chmod(".churn", f->st.st_mode & 07777) == 0 && rename(".churn", f->name) == 0)
		utimensat(AT_FDCWD, f->name, times, AT_SYMLINK_NOFOLLOW);
}

static void change(const struct file *f, uint64_t what)
{
	switch (what % 10) {
	case 0:
		write_as(f->name, O_APPEND, "EVIL\n", 5);
		break;
	case 1: /* another inode */
		write_as(".churn", O_TRUNC, "EVIL", 4);
		rename(".churn", f->name);
		break;
	case 2:
		unlink(".churn");
		if (symlink("/etc/shadow", ".churn") == 0)
			rename(".churn", f->name);
		break;
	case 3:
		unlink(f->name);
		break;
	case 4:
		write_as("EVIL", O_TRUNC, "EVIL", 4);
		unlink("EVIL");
		break;
	default: /* in place, same length: only a hash tells */
		write_as(f->name, 0, "EVIL", 4);
		break;
	}
}

int main(int argc, char **argv)
{
	static struct file files[NAMES_MAX];
	uint64_t state;
	int count = argc - 3;

	if (count < 1 || count > NAMES_MAX || chdir(argv[1]) < 0)
		return 2;
	state = strtoull(argv[2], NULL, 10) * 2654435761u + 88172645463325252u;
	for (int i = 0; i < count; i++) {
		files[i].name = argv[i + 3];
		if (load(&files[i]) < 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	usleep((useconds_t)(draw(&state) % 30000));
	for (;;) {
		const struct file *f = &files[draw(&state) % (unsigned int)count];

		change(f, draw(&state));
		usleep((useconds_t)(draw(&state) % 2000));
		put_back(f);
		if (draw(&state) % 4 == 0)
			usleep((useconds_t)(draw(&state) % 20000));
	}
}
