/* SPDX-License-Identifier: MIT */
#include "writeback/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/cleanup.h"
#include "user/base/fsio.h"

#define ENVIRONMENT_MAX ((size_t)4 << 20)

static int read_uid(const char *text, uid_t *ret_uid)
{
	char *end;
	unsigned long uid;

	errno = 0;
	uid = strtoul(text, &end, 10);
	if (errno || end == text || (*end != '\0' && *end != '\n') || uid >= UINT32_MAX)
		return -EINVAL;
	*ret_uid = (uid_t)uid;
	return 0;
}

uid_t caller_uid(void)
{
	static const char key[] = "SUDO_UID=";
	cleanup_buf struct buf login = { 0 };
	cleanup_buf struct buf environment = { 0 };
	uid_t uid;

	if (fsio_read_file(AT_FDCWD, "/proc/self/loginuid", 32, &login, NULL) == 0 &&
	    read_uid(buf_str(&login), &uid) == 0)
		return uid;
	/* as it was at the start: main() has emptied its own */
	if (fsio_read_file(AT_FDCWD, "/proc/self/environ", ENVIRONMENT_MAX, &environment, NULL) < 0)
		return getuid();
	for (const char *at = buf_str(&environment), *end = at + environment.len; at < end;
	     at += strlen(at) + 1)
		if (strncmp(at, key, sizeof(key) - 1) == 0 &&
		    read_uid(at + sizeof(key) - 1, &uid) == 0)
			return uid;
	return getuid();
}
