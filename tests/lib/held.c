// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "held.h"

void tsr_held_again(struct tsr_held *held)
{
	int fence = tsr_foreign_fence(held->foreign);

	tsr_syncobj_import(held->dev, held->gate, fence);
	close(fence);
}

struct tsr_held tsr_held_open(struct tsr_device *dev)
{
	struct tsr_held held = { .dev = dev, .foreign = tsr_foreign_need() };

	held.ctx = tsr_context_new(dev, 0);
	held.gate = tsr_syncobj_new(dev);
	held.done = tsr_syncobj_new(dev);
	tsr_held_again(&held);
	return held;
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

void tsr_held_go(struct tsr_held *held)
{
	tsr_foreign_signal(held->foreign, 0);
	require_ok(__tsr_syncobj_wait(held->dev->fd, held->done, 0, INT64_MAX));
}

void tsr_held_close(struct tsr_held *held)
{
	tsr_foreign_close(held->foreign);
}
