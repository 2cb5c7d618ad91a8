/* SPDX-License-Identifier: MIT */
#include "user/cli/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "user/base/fsio.h"

void terminal_start(struct terminal *t, int master)
{
	struct termios raw;

	*t = (struct terminal){ .master = master };
	if (master < 0 || tcgetattr(0, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	t->raw = tcsetattr(0, TCSANOW, &raw) == 0;
}

void terminal_input(struct terminal *t)
{
	char chunk[4096];
	ssize_t n = read(0, chunk, sizeof(chunk));

	if (n > 0)
		fsio_write_all(t->master, chunk, (size_t)n);
}

void terminal_output(struct terminal *t)
{
	char chunk[4096];
	ssize_t n = read(t->master, chunk, sizeof(chunk));

	/* EIO: nobody has the other end open any more */
	if (n < 0 && errno == EIO)
		t->master = -1;
	if (n > 0)
		fsio_write_all(1, chunk, (size_t)n);
}

void terminal_resize(struct terminal *t)
{
	struct winsize size;

	if (t->master >= 0 && ioctl(0, TIOCGWINSZ, &size) == 0)
		ioctl(t->master, TIOCSWINSZ, &size);
}

void terminal_stop(struct terminal *t)
{
	if (t->raw)
		tcsetattr(0, TCSADRAIN, &t->before);
	t->raw = false;
}
