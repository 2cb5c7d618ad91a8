/* SPDX-License-Identifier: MIT */
/* The reading end of a slot's ring. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "user/kern/kern.h"

struct kern_ring {
	struct ring_buffer *buffer;
	kern_record_fn *fn;
	void *arg;
	int left; /* records that this drain may still take */
};

/* Records that one drain takes: a flood must not keep the caller from its clock. */
#define DRAIN_MAX 20000

static int on_sample(void *arg, void *data, size_t len)
{
	struct kern_ring *r = arg;

	r->fn(r->arg, data, len);
	/* the record counts as read; the next drain goes on behind it */
	return --r->left > 0 ? 0 : -EAGAIN;
}

int kern_ring_open(const struct kern_slot *s, kern_record_fn *fn, void *arg,
		   struct kern_ring **ret_ring, struct weir_err *e)
{
	struct kern_ring *r = calloc(1, sizeof(*r));

	if (!r)
		return err_errno(e, -ENOMEM, "reading the ring");
	r->fn = fn;
	r->arg = arg;
	r->buffer = ring_buffer__new(s->ring_fd, on_sample, r, NULL);
	if (!r->buffer) {
		free(r);
		return err_errno(e, -errno, "reading the ring");
	}
	*ret_ring = r;
	return 0;
}

void kern_ring_close(struct kern_ring *r)
{
	if (!r)
		return;
	ring_buffer__free(r->buffer);
	free(r);
}

int kern_ring_fd(const struct kern_ring *r)
{
	return ring_buffer__epoll_fd(r->buffer);
}

int kern_ring_drain(struct kern_ring *r, int wait_ms)
{
	int ret;

	r->left = DRAIN_MAX;
	ret = wait_ms ? ring_buffer__poll(r->buffer, wait_ms) : ring_buffer__consume(r->buffer);
	return ret == -EAGAIN && r->left == 0 ? DRAIN_MAX : ret;
}
