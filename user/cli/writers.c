/* SPDX-License-Identifier: MIT */
#include "user/cli/writers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/tree/walk.h"

#define PAUSE_MS 10

static bool is_file(const struct stat *st, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

static bool has_open(const char *pid, const struct stat *st)
{
	cleanup_closedir DIR *dir = NULL;
	char path[320];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		cleanup_fclose FILE *f = NULL;
		unsigned int flags = 0;

		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid, entry->d_name);
		if (!is_file(st, path))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%.20s", pid, entry->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "pos: %*d flags: %o", &flags) == 1 &&
		    (flags & O_ACCMODE) != O_RDONLY)
			return true;
	}
	return false;
}

/* A shared mapping, which may be made writable if it is not: lines of maps are
 * "FROM-TO PERMISSIONS ...", and map_files has a link for each. */
static bool has_mapped(const char *pid, const struct stat *st)
{
	char path[320], line[512], range[64], perms[8];
	cleanup_fclose FILE *f = NULL;
	bool start = true;

	snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		bool first = start;

		start = strchr(line, '\n') != NULL;
		if (!first || sscanf(line, "%63s %7s", range, perms) != 2 || perms[3] != 's')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/map_files/%s", pid, range);
		if (is_file(st, path))
			return true;
	}
	return false;
}

static void tell(const char *pid, const char *how, char text[WRITERS_TEXT])
{
	char link[64], exe[4096], safe[WRITERS_TEXT - 128];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%.20s/exe", pid);
	len = readlink(link, exe, sizeof(exe));
	escape_text(exe, len > 0 ? (size_t)len : 0, safe, sizeof(safe));
	snprintf(text, WRITERS_TEXT, "process %.20s (%s) has it %s for writing", pid,
		 len > 0 ? safe : "a thread of the kernel", how);
}

int writers_name(int fd, char ret_text[WRITERS_TEXT])
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	snprintf(ret_text, WRITERS_TEXT,
		 "somebody has it open or mapped for writing, but no process that /proc shows");
	while (dir && (entry = readdir(dir))) {
		bool open;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		open = has_open(entry->d_name, &st);
		if (!open && !has_mapped(entry->d_name, &st))
			continue;
		tell(entry->d_name, open ? "open" : "mapped", ret_text);
		break;
	}
	return 0;
}

static bool is_held(const struct weir_bind *look)
{
	return look->ret_writecount > 0 || look->ret_mapcount > 0;
}

/* A task closes its files a moment after it counts as ended. left_ms: what is left of the
 * patience for the whole tree. */
static int wait_for_close(struct kern *k, int fd, unsigned int *left_ms, struct weir_bind *look)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };
	int err = 0;

	while (err == 0 && is_held(look) && *left_ms >= PAUSE_MS) {
		nanosleep(&pause, NULL);
		*left_ms -= PAUSE_MS;
		err = kern_look(k, fd, look);
	}
	return err;
}

int writers_find(struct kern *k, const struct writers_ask *ask, struct weir_err *e)
{
	cleanup_tree_walk struct tree_walk *walk = NULL;
	unsigned int left_ms = ask->patience_ms;
	int err = tree_walk_new(ask->root_fd, NULL, &walk, e), found = 0;
	struct tree_entry entry;

	while (err == 0 && (err = tree_walk_next(walk, &entry, e)) == 1) {
		cleanup_close int fd = -1;
		struct weir_bind look;

		err = 0;
		if (!S_ISREG(entry.mode))
			continue;
		fd = fsio_open_beneath(ask->root_fd, entry.path, O_PATH, 0, true);
		if (fd < 0)
			return err_errno(e, fd, "%s", entry.path);
		err = kern_look(k, fd, &look);
		if (err == 0 && ask->each)
			err = ask->each(ask->arg, entry.path, fd, &look);
		if (err == 0)
			err = wait_for_close(k, fd, &left_ms, &look);
		if (err == 0 && is_held(&look)) {
			found++;
			err = ask->held(ask->arg, entry.path, fd, &look);
		}
		if (err < 0)
			return err_errno(e, err, "%s", entry.path);
	}
	return err < 0 ? err : found;
}
