// SPDX-License-Identifier: MIT
/*
 * A client that hangs repeatedly, each time in another context, is banned. It
 * must cost the other clients at most DRM_TESSERA_MAX_HANGS timeouts in total,
 * not one timeout for each context. As in test-hang, a long job stands in for a
 * hang, and the test ends its time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "hang.h"
#include "stall.h"
#include "vm.h"

#define CONTEXTS 12

/*
 * Objects of all contexts of the client. Each hanging job writes a word of
 * @flags first.
 */
struct hangs {
	struct tsr_bo bo, flags;
	struct tsr_cmd small;
};

static void hangs_init(struct tsr_device *dev, struct hangs *hangs)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(dev);

	hangs->bo = tsr_bo_new(dev, seg->size / 4, tsr_bit(seg), 0);
	hangs->flags = tsr_bo_new(dev, KiB(4), tsr_bit(tsr_seg_gart(dev)),
				  DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	memset(tsr_bo_map(dev, &hangs->flags), 0, KiB(4));
	tsr_cmd_init(&hangs->small);
	tsr_cmd_bind_buffer(&hangs->small, 0, &hangs->bo, true);
	tsr_cmd_fill(&hangs->small, 0, 0, 16, 1);
}

/* Submit a job that writes word @n of the flags and hangs. */
static void hangs_submit(struct tsr_device *dev, uint32_t ctx, const struct hangs *hangs,
			 uint32_t n, uint32_t sync)
{
	struct tsr_cmd cmd;

	tsr_cmd_init_pair(&cmd, &hangs->bo, &hangs->flags);
	tsr_cmd_fill(&cmd, 1, n, 1, 1);
	tsr_cmd_hang(&cmd, 0, (uint32_t)(hangs->bo.size / 4));
	tsr_submit(dev, ctx, &cmd, 0, sync);
	tsr_cmd_fini(&cmd);
}

static uint32_t hangs_begun(const struct hangs *hangs)
{
	const volatile uint32_t *flags = hangs->flags.map;
	uint32_t begun = 0;

	for (uint32_t i = 0; i < CONTEXTS; i++)
		begun += flags[i];
	return begun;
}

/* End the time of the hanging job with this number, from 0. */
static void hangs_expire(struct tsr_device *dev, const struct hangs *hangs, uint32_t n)
{
	tsr_wait_for(hangs_begun(hangs) > n);
	tsr_job_expire(dev->render);
}

static void check_client(struct tsr_device *dev, uint32_t hangs)
{
	struct drm_tessera_query_client client = tsr_query_client(dev);

	require_eq(client.hangs, hangs);
	require_eq(client.max_hangs, DRM_TESSERA_MAX_HANGS);
	require_eq(client.banned, hangs >= DRM_TESSERA_MAX_HANGS);
	require_eq(client.pad, 0);
}

/*
 * A well-behaved client: fill and check until told to stop. Its failure fails
 * the test.
 */
static void goes_on(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = tsr_bo_new(&dev, 65536, tsr_bit(tsr_seg_gart(&dev)),
				      DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	uint32_t ctx = tsr_context_new(&dev, 0);

	tsr_bo_map(&dev, &bo);
	while (!client->state->stop) {
		tsr_gpu_fill(&dev, ctx, &bo, ++client->state->rounds);
		tsr_words_check(bo.map, bo.size / 4, client->state->rounds);
	}
	check_client(&dev, 0);
	tsr_close(&dev);
}

/*
 * A banned client can submit nothing, but can still query its status, create
 * and destroy contexts, and query and close its objects.
 */
static void is_refused(struct tsr_device *dev, const struct hangs *hangs, uint32_t old,
		       const struct tsr_vm *vm)
{
	uint32_t ctx = 0;
	struct drm_tessera_context_create create = { .engine = dev->render };
	struct drm_tessera_context_status status;
	struct drm_tessera_submit args;
	struct drm_tessera_bo_info info;

	require_err(__tsr_submit(dev, old, &hangs->small, 0, 0, &args), -EIO);
	require_err(__tsr_submit_vm(dev, vm->context, vm->at, 64, 0, 0), -EIO);
	status = tsr_context_status(dev, old);
	require_eq(status.flags, DRM_TESSERA_STATUS_LOST | DRM_TESSERA_STATUS_BANNED);
	require_eq(status.reset,
		   status.hangs ? DRM_TESSERA_RESET_GUILTY : DRM_TESSERA_RESET_INNOCENT);
	if (!__tsr_context_create(dev->fd, &create)) {
		ctx = create.id;
		require_err(__tsr_submit(dev, ctx, &hangs->small, 0, 0, &args), -EIO);
		tsr_context_free(dev, ctx);
	}
	require_ok(__tsr_bo_info(dev->fd, hangs->bo.handle, &info));
	require_ok(__tsr_bo_close(dev->fd, hangs->bo.handle));
}

static void one_after_the_other(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t seen, old, ok, sync = tsr_syncobj_new(&dev);
	struct tsr_client other, late;
	struct tsr_cmd nop;
	struct hangs hangs;
	struct tsr_vm vm = tsr_vm_open(&dev);

	tsr_job_timeout_lift();
	hangs_init(&dev, &hangs);
	tsr_cmd_init(&nop);
	tsr_cmd_nop(&nop, 64);
	old = tsr_context_new(&dev, 0);
	ok = tsr_context_new(&dev, 0);
	tsr_client_start(&other, goes_on, 0);
	check_client(&dev, 0);
	for (uint32_t i = 0; i < DRM_TESSERA_MAX_HANGS; i++) {
		uint32_t ctx = tsr_context_new(&dev, 0);

		/* Below the limit, the client's other contexts still work. */
		tsr_submit_done(&dev, ok, &hangs.small);
		require_ok(tsr_vm_run(&vm, &nop));
		hangs_submit(&dev, ctx, &hangs, i, sync);
		hangs_expire(&dev, &hangs, i);
		require_eq(tsr_syncobj_status(&dev, sync), -ETIME);
		tsr_context_free(&dev, ctx);
		check_client(&dev, i + 1);
	}
	is_refused(&dev, &hangs, old, &vm);
	/* Destroying a context does not lower the hang count. */
	tsr_context_free(&dev, old);
	check_client(&dev, DRM_TESSERA_MAX_HANGS);

	seen = other.state->rounds;
	tsr_wait_for(other.state->rounds > seen + 2);
	other.state->stop = true;
	tsr_client_join(&other);
	/* A new process of the same user is not banned. */
	tsr_client_start(&late, goes_on, 0);
	tsr_wait_for(late.state->rounds > 2);
	late.state->stop = true;
	tsr_client_join(&late);
	tsr_cmd_fini(&nop);
	tsr_close(&dev);
}

/*
 * Hang in all contexts at once: exactly DRM_TESSERA_MAX_HANGS jobs time out,
 * the others are cancelled before they run.
 */
static void hang_in_all_contexts(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t hung = 0, cancelled = 0, sync[CONTEXTS];
	struct hangs hangs;

	hangs_init(&dev, &hangs);
	tsr_gpu_touch(&dev, tsr_context_new(&dev, 0), &hangs.bo);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		sync[i] = tsr_syncobj_new(&dev);
		hangs_submit(&dev, tsr_context_new(&dev, 0), &hangs, i, sync[i]);
	}
	client->state->ready = true;
	for (uint32_t i = 0; i < DRM_TESSERA_MAX_HANGS; i++)
		hangs_expire(&dev, &hangs, i);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		int status = tsr_syncobj_status(&dev, sync[i]);

		require(status == -ETIME || status == -ECANCELED);
		hung += status == -ETIME;
		cancelled += status == -ECANCELED;
	}
	tap_note("%u hung, %u were cancelled", hung, cancelled);
	require_eq(hung, DRM_TESSERA_MAX_HANGS);
	check_client(&dev, DRM_TESSERA_MAX_HANGS);
	tsr_close(&dev);
}

static void all_at_once(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_trace trace;
	struct tsr_client a;
	struct tsr_small small;

	tsr_job_timeout_lift();
	tsr_small_init(&dev, &small, dev.render);
	tsr_trace_start("engine_reset", NULL);
	tsr_client_start(&a, hang_in_all_contexts, 0);
	tsr_wait_for(a.state->ready);
	tsr_small_run(&dev, &small);
	trace = tsr_trace_stop();
	tap_note("B's job came after %zu resets", tsr_trace_count(&trace, "engine_reset"));
	require(tsr_trace_count(&trace, "engine_reset") <= DRM_TESSERA_MAX_HANGS);
	tsr_client_join(&a);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "repeated hangs end in -EIO and do not affect other clients", one_after_the_other, 0, 0 },
	{ "hangs in all contexts at the same time", all_at_once, 0, 0 },
};

TSR_TEST_MAIN(tests)
