/* SPDX-License-Identifier: MIT */
#include "user/cli/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/base/fsio.h"
#include "user/cli/links.h"
#include "user/tree/walk.h"

#define PAUSE_NS 10000000
#define PAUSES 50

/* Does a process have the file open for writing? */
static bool holds(const char *pid, uint64_t dev, uint64_t ino)
{
	cleanup_closedir DIR *dir = NULL;
	char path[300], info[400];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		cleanup_fclose FILE *f = NULL;
		unsigned int flags = 0;
		struct stat st;

		if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || st.st_dev != dev ||
		    st.st_ino != ino)
			continue;
		snprintf(info, sizeof(info), "/proc/%.20s/fdinfo/%.20s", pid, entry->d_name);
		f = fopen(info, "re");
		if (f && fscanf(f, "pos: %*d flags: %o", &flags) == 1 &&
		    (flags & O_ACCMODE) != O_RDONLY)
			return true;
	}
	return false;
}

/* Names who holds the file, as far as open descriptors tell. */
static void find_holder(const struct stat *st, char *out, size_t size)
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct dirent *entry;

	snprintf(out, size, "somebody has it mapped for writing");
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (holds(entry->d_name, st->st_dev, st->st_ino)) {
			snprintf(out, size, "process %.20s has it open for writing", entry->d_name);
			return;
		}
	}
}

static int report(struct session *s, const char *path, int fd, const struct weir_bind *look)
{
	char full[4 * 8192 + 1], raw[8192], text[128];
	struct note note = {
		.kind = WEIR_KIND_GATE_RACE,
		.op = WEIR_OP_WRITE,
		.outcome = WEIR_OUTCOME_PASSED,
		.severity = s->policy ? SEVERITY_ERROR : SEVERITY_NOTICE,
		.dev = look->ret_object.dev,
		.ino = look->ret_object.ino,
		.count = 1,
		.path = full,
		.text = text,
	};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	find_holder(&st, text, sizeof(text));
	snprintf(raw, sizeof(raw), "%s/%s", s->workspace, path);
	escape_bytes(raw, strlen(raw), full, sizeof(full));
	return pipe_note(&s->pipe, &note);
}

static bool is_held(const struct weir_bind *look)
{
	return look->ret_writecount > 0 || look->ret_mapcount > 0;
}

/* A task closes its files a moment after it counts as ended. pauses: what is left of the
 * patience for the whole sweep. */
static int wait_for_close(struct session *s, int fd, int *pauses, struct weir_bind *ret_look)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int err = 0;

	while (err == 0 && is_held(ret_look) && *pauses > 0) {
		nanosleep(&pause, NULL);
		--*pauses;
		err = kern_look(s->kern, fd, ret_look);
	}
	return err;
}

int sweep_writers(struct session *s, struct links *links, struct weir_err *e)
{
	cleanup_tree_walk struct tree_walk *walk = NULL;
	int err = tree_walk_new(s->workspace_fd, NULL, &walk, e), found = 0, pauses = PAUSES;
	struct tree_entry entry;

	while (err == 0 && (err = tree_walk_next(walk, &entry, e)) == 1) {
		cleanup_close int fd = -1;
		struct weir_bind look;

		err = 0;
		if (!S_ISREG(entry.mode))
			continue;
		fd = fsio_open_beneath(s->workspace_fd, entry.path, O_PATH, 0, true);
		if (fd < 0)
			return err_errno(e, fd, "%s", entry.path);
		err = kern_look(s->kern, fd, &look);
		if (err == 0 && links)
			err = links_add(links, s, entry.path, &look);
		if (err == 0)
			err = wait_for_close(s, fd, &pauses, &look);
		if (err < 0)
			return err_errno(e, err, "%s", entry.path);
		if (!is_held(&look))
			continue;
		found++;
		err = report(s, entry.path, fd, &look);
	}
	return err < 0 ? err : found;
}
