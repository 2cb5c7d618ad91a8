/* SPDX-License-Identifier: MIT */
#include "user/cli/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/escape.h"
#include "user/cli/writers.h"

#define RING_BYTES 65536
#define WRITERS_TOLD 10

/* File systems that other machines or user-space servers can change without this kernel
 * taking part. Magic numbers of linux/magic.h and the file systems. */
const char *seal_foreign_type(int fd)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} types[] = {
		{ 0x6969, "NFS" },     { 0xff534d42, "CIFS" },	{ 0xfe534d42, "SMB" },
		{ 0x01021997, "9p" },  { 0x65735546, "FUSE" },	{ 0x00c36400, "Ceph" },
		{ 0x5346414f, "AFS" }, { 0x7461636f, "OCFS2" }, { 0x01161970, "GFS2" },
	};
	struct statfs fs;

	for (size_t i = 0; fstatfs(fd, &fs) == 0 && i < ARRAY_SIZE(types); i++)
		if ((uint32_t)fs.f_type == types[i].magic)
			return types[i].name;
	return NULL;
}

int seal_begin(const char *path, enum kern_source source, struct seal *s, struct weir_err *e)
{
	int err;

	*s = SEAL_NONE;
	s->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0)
		return err_errno(e, -errno, "workspace %s", path);
	err = kern_open(source, NULL, &s->kern, e);
	if (err == 0)
		err = kern_slot_take(s->kern, RING_BYTES, &s->slot, e);
	/* if this process dies, so does the seal */
	if (err == 0)
		err = kern_adopt(&s->slot, 0, WEIR_ROLE_COLLECTOR, e);
	if (err == 0)
		err = kern_watch(&s->slot, s->fd, true, e);
	return err == -EBUSY ? err_wrap(e, "%s", path) : err;
}

struct told {
	struct seal *seal;
	const char *root;
	unsigned int count;
};

/* The tree's rule does not hold for a name that lies elsewhere: the file gets one of its own. */
static int seal_names(void *arg, const char *path, int fd, const struct weir_bind *look)
{
	struct seal *s = ((struct told *)arg)->seal;
	struct weir_rule rule = { .flags = WEIR_RULE_SEAL, .id = s->slot.slot };

	(void)path;
	if (look->ret_object.nlink <= 1)
		return 0;
	return kern_bind_fd(&s->slot, fd, WEIR_SLOT_SEAL, &rule, NULL);
}

static int tell(void *arg, const char *path, int fd, const struct weir_bind *look)
{
	struct told *t = arg;
	char text[WRITERS_TEXT], safe[4096];
	int err;

	(void)look;
	if (t->count++ >= WRITERS_TOLD)
		return 0;
	err = writers_name(fd, text);
	if (err < 0)
		return err;
	escape_text(path, strlen(path), safe, sizeof(safe));
	fprintf(stderr, "weir: %s/%s: %s\n", t->root, safe, text);
	return 0;
}

int seal_writers(struct seal *s, const char *path, unsigned int patience_ms, struct weir_err *e)
{
	char root[4096];
	struct told told = { .seal = s, .root = root };
	struct writers_ask ask = {
		.root_fd = s->fd,
		.patience_ms = patience_ms,
		.each = seal_names,
		.held = tell,
		.arg = &told,
	};
	int found;

	escape_text(path, strlen(path), root, sizeof(root));
	found = writers_find(s->kern, &ask, e);
	return found < 0 ? err_wrap(e, "%s", root) : found;
}

unsigned long long seal_denied(const struct seal *s)
{
	if (!s->kern || !s->slot.kern)
		return 0;
	return kern_run(s->kern, s->slot.slot)->latch[WEIR_KIND_GATE_RACE];
}

void seal_end(struct seal *s)
{
	if (s->kern)
		kern_slot_release(&s->slot);
	kern_close(s->kern);
	if (s->fd >= 0)
		close(s->fd);
	*s = SEAL_NONE;
}
