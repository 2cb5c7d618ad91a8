/* SPDX-License-Identifier: MIT */
/* LD_PRELOAD: the clock of the program is SKEW seconds ahead, or behind when that is negative. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long skew;
static int (*real_clock)(clockid_t clock, struct timespec *ret_time);

/* Before main, which clears the environment. */
static __attribute__((constructor)) void start(void)
{
	const char *text = getenv("SKEW");

	skew = text ? strtol(text, NULL, 10) : 0;
	*(void **)&real_clock = dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	int err = real_clock ? real_clock(clock, ret_time) : -1;

	if (err == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret_time->tv_sec += skew;
	return err;
}

time_t time(time_t *ret_time)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
	struct timespec now = { 0 };

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_time = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}
