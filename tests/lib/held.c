// SPDX-License-Identifier: MIT
#include "held.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stall.h"

/*
 * The stuck job needs a file of its own, because BO_DESTROY waits for all jobs
 * of its file.
 */
static struct tsr_device *open_again(struct tsr_device *dev)
{
	struct tsr_device *other = malloc(sizeof(*other));
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dev->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	require_msg(fd >= 0, "%s: %s", path, strerror(errno));
	require(other);
	*other = tsr_open_fd(fd);
	return other;
}

static void close_gate(struct tsr_held *held)
{
	int fence;

	held->stuck = tsr_stuck_start_on(held->other, held->stuck_ctx, held->stuck.engine);
	fence = tsr_syncobj_export(held->other, held->stuck.sync);
	tsr_syncobj_import(held->dev, held->gate, fence);
	close(fence);
}

void tsr_held_again(struct tsr_held *held)
{
	tsr_syncobj_free(held->other, held->stuck.sync);
	close_gate(held);
}

struct tsr_held tsr_held_open_on(struct tsr_device *dev, uint32_t engine)
{
	struct tsr_held held = { .dev = dev, .other = open_again(dev), .stuck.engine = engine };

	held.stuck_ctx = tsr_context_on(held.other, engine);
	held.ctx = tsr_context_new(dev, 0);
	held.gate = tsr_syncobj_new(dev);
	held.done = tsr_syncobj_new(dev);
	close_gate(&held);
	return held;
}

struct tsr_held tsr_held_open(struct tsr_device *dev)
{
	return tsr_held_open_on(dev, tsr_second_engine(dev));
}

void tsr_held_fill(struct tsr_held *held, const struct tsr_bo *bo, uint32_t words, uint32_t value)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, words, value);
	tsr_submit(held->dev, held->ctx, &cmd, held->gate, held->done);
	tsr_cmd_fini(&cmd);
}

void tsr_held_copy(struct tsr_held *held, const struct tsr_bo *dst, const struct tsr_bo *src)
{
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, dst, true);
	tsr_cmd_bind_buffer(&cmd, 1, src, false);
	tsr_cmd_copy(&cmd, 0, 0, 1, 0, src->size / 4);
	tsr_submit(held->dev, held->ctx, &cmd, held->gate, held->done);
	tsr_cmd_fini(&cmd);
}

bool tsr_held_waits(struct tsr_held *held)
{
	return __tsr_syncobj_wait(held->dev->fd, held->done, 0, 0) == -ETIME;
}

void tsr_held_release(struct tsr_held *held)
{
	tsr_stuck_release(&held->stuck);
}

void tsr_held_go(struct tsr_held *held)
{
	tsr_held_release(held);
	require_ok(__tsr_syncobj_wait(held->dev->fd, held->done, 0, INT64_MAX));
}

void tsr_held_close(struct tsr_held *held)
{
	tsr_held_release(held);
	/*
	 * Wait, because the next stuck job may be on this engine. The wait
	 * fails on a device without a driver, which is fine.
	 */
	__tsr_syncobj_wait(held->other->fd, held->stuck.sync, 0, INT64_MAX);
	tsr_close(held->other);
	free(held->other);
}
