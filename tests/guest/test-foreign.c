// SPDX-License-Identifier: MIT
/*
 * Foreign fences, as in-fences and in reservations, on devices without and with
 * preemption.
 *
 * Process A submits work that depends on a foreign fence and waits for the
 * fence inside SUBMIT. The test process B must not have to wait with it. No
 * armed job and no eviction waits for such a fence.
 *
 * The fences are from sw_sync or, on kernels without it, from vgem, which
 * signals them after ten seconds. If a fence signalled too early to prove
 * anything, the test runs again.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "call.h"
#include "foreign.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define ROUNDS 2
#define PARTS 6

enum mode {
	/* modes that wait for the fence */
	BEHIND, /* one job with an in-fence */
	/* one job that writes an object with a foreign writer's fence */
	WRITER,
	/*
	 * one job that reads an object to be paged in, with a foreign reader's
	 * fence
	 */
	MOVER,
	FORCED, /* forced parts */
	PARTED, /* parts because the objects do not fit */
	/* modes that do not wait */
	/*
	 * one job that reads an object with a foreign reader's fence, which has
	 * been evicted to the aperture
	 */
	MOVED,
	/* one job that evicts an object with a foreign reader's fence */
	EVICTER,
	FORCED_EVICTER, /* the same in forced parts */
	/*
	 * one job that reads a moved object; it shares a VM with another moved
	 * object that has a fence
	 */
	MOVED_WITH,
	MOVES_WITH, /* one job that pages in an object that shares such a VM */
	FORCED_MOVES_WITH, /* the same in forced parts */
	/* one job in a second VM that maps the moved object, too */
	AT_ADDRESSES,
	BEHIND_BIND, /* one job that waits for a bind in the first VM */
};

static int fence; /* inherited by the child */

/* ---- process A ----------------------------------------------------------- */

static void submit_one_job(struct tsr_client *client, uint32_t flags, bool write)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_hidden(&dev)), 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, write);
	if (write)
		tsr_gpu_touch(&dev, ctx, &bo);
	tsr_fence_at(&dev, &bo, fence, flags);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(tsr_fence_signalled(fence));
	tsr_close(&dev);
}

static void submit_behind(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t in = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	tsr_syncobj_import(&dev, in, fence);
	require_ok(tsr_client_submit(client, &dev, small.ctx, &small.cmd, in, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(tsr_fence_signalled(fence));
	tsr_close(&dev);
}

/* An object that prefers hidden memory and can be evicted to the aperture. */
static struct tsr_bo movable_bo(struct tsr_device *dev, uint32_t ctx)
{
	uint32_t gart = tsr_bit(tsr_seg_gart(dev));
	struct drm_tessera_bo_create args = {
		.size = 4096,
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.supported = tsr_bit(tsr_seg_hidden(dev)) | gart,
		.num_preferred = 1,
		.preferred = { (uint8_t)tsr_seg_hidden(dev)->id },
		.evict_to = gart,
	};
	struct tsr_bo bo = { .size = args.size };

	require_ok(__tsr_bo_create(dev->fd, &args));
	bo.handle = args.handle;
	tsr_gpu_touch(dev, ctx, &bo);
	return bo;
}

/*
 * A read-only CPU lock moves the object to the aperture in spite of a foreign
 * reader's fence.
 */
static void move_out(struct tsr_device *dev, struct tsr_bo *bo)
{
	require_ok(__tsr_lock(dev->fd, &bo->handle, DRM_TESSERA_LOCK_READ_ONLY));
	require_ok(__tsr_unlock(dev->fd, bo->handle));
	require_eq(tsr_bo_info(dev, bo).segment, tsr_seg_gart(dev)->id);
}

static struct tsr_bo moving_bo(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_bo bo = movable_bo(dev, ctx);

	tsr_fence_at(dev, &bo, fence, DMA_BUF_SYNC_READ);
	move_out(dev, &bo);
	return bo;
}

/* An empty job in a VM. */
static int vm_nop(struct tsr_vm *vm, uint32_t wait, uint32_t signal)
{
	struct tsr_cmd cmd;
	int rc;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm->cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	rc = __tsr_submit_vm(vm->dev, vm->context, vm->at, tsr_cmd_bytes(&cmd), wait, signal);
	tsr_cmd_fini(&cmd);
	return rc;
}

static void submit_moved(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = moving_bo(&dev, ctx);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_close(&dev);
}

static void submit_rotation(struct tsr_client *client, uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, ctx_flags);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	/*
	 * The fence is at the second part's object. It is a reader's fence: a
	 * page-in waits for that, too.
	 */
	tsr_fence_at(&dev, &rot.bos[1], fence, DMA_BUF_SYNC_READ);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(tsr_fence_signalled(fence));
	tsr_rotation_check(&dev, ctx, &rot, PARTS);
	tsr_close(&dev);
}

static void submit_evicter(struct tsr_client *client, uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, ctx_flags);
	struct tsr_bo there = tsr_bo_new(&dev, seg->size / 8 * 7, tsr_bit(seg), 0);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);
	uint32_t words[PARTS];
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &there);
	tsr_fence_at(&dev, &there, fence, DMA_BUF_SYNC_READ);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < PARTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, i, 1, i + 1);
	}
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_gpu_read(&dev, ctx, &bo, 0, PARTS, words);
	for (uint32_t i = 0; i < PARTS; i++)
		require_eq(words[i], i + 1);
	tsr_close(&dev);
}

#define AT 0x100000000ull

/*
 * The first object has the fence, is mapped in the first VM and has moved. @bo
 * is mapped in both VMs and has moved since, or is to be paged in. It has no
 * fence, but its page table updates in the first VM follow those of the first
 * object.
 */
struct coupled {
	struct tsr_vm vms[2];
	struct tsr_bo bo;
};

static struct coupled couple(struct tsr_device *dev, uint32_t ctx, bool moves)
{
	struct coupled c = { .vms = { tsr_vm_open(dev), tsr_vm_open(dev) } };
	struct tsr_bo first = movable_bo(dev, ctx);

	c.bo = movable_bo(dev, ctx);
	tsr_vm_map(dev, c.vms[0].id, &first, 0, AT, first.size, 0);
	tsr_vm_place(&c.vms[0], &first);
	tsr_vm_place(&c.vms[0], &c.bo);
	for (uint32_t i = 0; i < ARRAY_SIZE(c.vms); i++) {
		tsr_vm_map(dev, c.vms[i].id, &c.bo, 0, AT + MiB(2), c.bo.size, 0);
		/* Run a job, so that page tables are updated from now on. */
		require_ok(vm_nop(&c.vms[i], 0, 0));
	}
	if (moves) {
		tsr_evict_set(UINT32_MAX);
		tsr_gpu_touch(dev, ctx, &first);
		require_eq(tsr_bo_info(dev, &c.bo).segment, 0);
	}
	tsr_fence_at(dev, &first, fence, DMA_BUF_SYNC_READ);
	move_out(dev, &first);
	if (!moves)
		move_out(dev, &c.bo);
	return c;
}

static void submit_moved_with(struct tsr_client *client, bool moves, uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, ctx_flags);
	struct coupled c = couple(&dev, tsr_context_new(&dev, 0), moves);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &c.bo, false);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_close(&dev);
}

static void submit_at_addresses(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev);
	struct coupled c = couple(&dev, tsr_context_new(&dev, 0), false);

	require_ok(vm_nop(&c.vms[1], 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_close(&dev);
}

static void submit_behind_bind(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0);
	struct coupled c = couple(&dev, ctx, false);
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = AT,
		.range = 4096,
	};
	uint32_t bound = tsr_syncobj_new(&dev);
	struct tsr_cmd cmd;

	require_ok(__tsr_vm_bind(dev.fd, c.vms[0].id, &op, 1, 0, bound));
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, bound, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	tsr_close(&dev);
}

static void submit(struct tsr_client *client)
{
	switch ((enum mode)client->arg) {
	case BEHIND:
		return submit_behind(client);
	case WRITER:
		return submit_one_job(client, DMA_BUF_SYNC_WRITE, true);
	case MOVER:
		return submit_one_job(client, DMA_BUF_SYNC_READ, false);
	case MOVED:
		return submit_moved(client);
	case FORCED:
		return submit_rotation(client, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	case PARTED:
		return submit_rotation(client, 0);
	case EVICTER:
		return submit_evicter(client, 0);
	case FORCED_EVICTER:
		return submit_evicter(client, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	case MOVED_WITH:
		return submit_moved_with(client, false, 0);
	case MOVES_WITH:
		return submit_moved_with(client, true, 0);
	case FORCED_MOVES_WITH:
		return submit_moved_with(client, true, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL);
	case AT_ADDRESSES:
		return submit_at_addresses(client);
	case BEHIND_BIND:
		return submit_behind_bind(client);
	}
}

/* ---- process B ----------------------------------------------------------- */

struct source {
	struct tsr_foreign *vgem;
	int timeline; /* or -1: use vgem */
};

static struct source source_open(void)
{
	struct source source = { .timeline = tsr_sw_sync_open(&fence) };

	if (source.timeline >= 0)
		return source;
	source.vgem = tsr_foreign_open();
	if (!source.vgem)
		tap_skip("no sw_sync, no vgem");
	fence = tsr_foreign_fence(source.vgem);
	return source;
}

static void source_signal(struct source *source)
{
	if (source->timeline >= 0)
		tsr_sw_sync_signal(source->timeline);
	else
		tsr_foreign_signal(source->vgem, 0);
}

static void source_close(struct source *source)
{
	close(fence);
	if (source->timeline >= 0)
		close(source->timeline);
	else
		tsr_foreign_close(source->vgem);
}

/*
 * True if B's split submission and job completed before A's fence signalled.
 * Then B did not wait for it.
 */
static bool b_passes(struct tsr_device *dev, enum mode mode)
{
	uint32_t ctx = tsr_context_new(dev, 0), done = tsr_syncobj_new(dev);
	struct source source = source_open();
	struct tsr_client client;
	struct tsr_rotation rot;
	struct tsr_small small;
	bool passes;

	tsr_small_init(dev, &small, dev->render);
	tsr_small_run(dev, &small);
	tsr_rotation_init(dev, &rot, PARTS, 0);
	tsr_client_start(&client, submit, mode);
	tsr_wait_for(client.state->begun);
	tsr_wait_for(tsr_client_asleep(&client));
	tsr_submit(dev, ctx, &rot.cmd, 0, done);
	tsr_small_run(dev, &small);
	require_eq(tsr_syncobj_status(dev, done), 0);
	tsr_rotation_check(dev, ctx, &rot, PARTS);
	passes = !tsr_fence_signalled(fence);
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	tsr_rotation_fini(dev, &rot);
	tsr_small_fini(dev, &small);
	tsr_syncobj_free(dev, done);
	tsr_context_free(dev, ctx);
	return passes;
}

static void b_passes_a(enum mode mode)
{
	struct tsr_device dev = tsr_open();
	uint32_t rounds = 1;

	while (!b_passes(&dev, mode))
		require_msg(rounds++ < ROUNDS, "expected B not to wait for A's foreign fence");
	tsr_close(&dev);
}

static void beside_one_behind(void)
{
	b_passes_a(BEHIND);
}

static void beside_a_writer(void)
{
	b_passes_a(WRITER);
}

static void beside_a_mover(void)
{
	b_passes_a(MOVER);
}

static void beside_forced_parts(void)
{
	b_passes_a(FORCED);
}

static void beside_parts(void)
{
	b_passes_a(PARTED);
}

/* A must complete before the fence signals. */
static void at_once(enum mode mode)
{
	uint32_t rounds = 0;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_client client;

		require_msg(rounds++ < ROUNDS, "expected the move not to wait for a foreign fence");
		tsr_client_start(&client, submit, mode);
		tsr_client_join(&client);
		early = !tsr_fence_signalled(fence);
		source_signal(&source);
		source_close(&source);
	} while (!early);
}

static void moved_at_once(void)
{
	at_once(MOVED);
}

static void evicted_at_once(void)
{
	at_once(EVICTER);
}

static void evicted_by_parts_at_once(void)
{
	at_once(FORCED_EVICTER);
}

static void moved_with_it_at_once(void)
{
	at_once(MOVED_WITH);
}

static void moves_with_it_at_once(void)
{
	at_once(MOVES_WITH);
}

static void parts_move_with_it_at_once(void)
{
	at_once(FORCED_MOVES_WITH);
}

static void addresses_at_once(void)
{
	at_once(AT_ADDRESSES);
}

static void bind_at_once(void)
{
	at_once(BEHIND_BIND);
}

/*
 * A waits inside SUBMIT and can be killed there. It must leave nothing behind
 * in the engine.
 */
static void waits_in_the_call(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct tsr_small small;
	uint32_t returned;

	tsr_small_init(&dev, &small, dev.render);
	for (uint64_t mode = BEHIND; mode <= PARTED; mode++) {
		struct source source = source_open();

		tsr_client_start(&client, submit, mode);
		tsr_wait_for(client.state->begun);
		tsr_wait_for(tsr_client_asleep(&client));
		/*
		 * Read in this order, because vgem may signal its fence
		 * meanwhile.
		 */
		returned = client.state->returned;
		if (!tsr_fence_signalled(fence))
			require(!returned);
		tsr_client_kill(&client);
		tsr_small_run(&dev, &small);
		source_signal(&source);
		source_close(&source);
	}
	tsr_close(&dev);
}

/*
 * A job that reads does not wait for a foreign reader if the object is already
 * resident.
 */
static void readers_share(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_hidden(&dev)), 0);
	bool early;

	tsr_gpu_touch(&dev, ctx, &bo);
	do {
		struct source source = source_open();

		require(rounds++ < ROUNDS);
		tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_READ);
		tsr_gpu_touch(&dev, ctx, &bo);
		early = !tsr_fence_signalled(fence);
		source_signal(&source);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

/*
 * An object with a foreign reader's fence is moved out at once, with its
 * contents.
 */
static void leaves_at_once(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo bo = movable_bo(&dev, ctx);

		require_msg(rounds++ < ROUNDS, "expected the move not to wait for a foreign fence");
		tsr_gpu_fill(&dev, ctx, &bo, 6);
		tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_READ);
		move_out(&dev, &bo);
		tsr_words_check(tsr_bo_map(&dev, &bo), bo.size / 4, 6);
		early = !tsr_fence_signalled(fence);
		source_signal(&source);
		source_close(&source);
		tsr_bo_free(&dev, &bo);
	} while (!early);
	tsr_close(&dev);
}

static void holds(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo, uint32_t value)
{
	uint32_t words[2];

	tsr_gpu_read(dev, ctx, bo, 0, 1, &words[0]);
	tsr_gpu_read(dev, ctx, bo, bo->size / 4 - 1, 1, &words[1]);
	require_eq(words[0], value);
	require_eq(words[1], value);
}

/*
 * A foreign fence does not protect an object from eviction. The least recently
 * used object is evicted although it has one, and its contents survive.
 */
static void keeps_no_place(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	uint64_t eighth = seg->size / 8;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo first = tsr_bo_new(&dev, eighth * 5, tsr_bit(seg), 0);
		struct tsr_bo other = tsr_bo_new(&dev, eighth * 2, tsr_bit(seg), 0);
		struct tsr_bo bo = tsr_bo_new(&dev, eighth * 2, tsr_bit(seg), 0);

		require_msg(rounds++ < ROUNDS,
			    "expected the eviction not to wait for a foreign fence");
		tsr_gpu_fill(&dev, ctx, &first, 1);
		tsr_gpu_fill(&dev, ctx, &other, 2);
		tsr_fence_at(&dev, &first, fence, DMA_BUF_SYNC_WRITE);
		tsr_gpu_fill(&dev, ctx, &bo, 3);
		early = !tsr_fence_signalled(fence);
		require_eq(tsr_bo_info(&dev, &first).segment, 0);
		require_eq(tsr_bo_info(&dev, &other).segment, seg->id);
		source_signal(&source);
		holds(&dev, ctx, &first, 1);
		holds(&dev, ctx, &other, 2);
		holds(&dev, ctx, &bo, 3);
		tsr_bo_free(&dev, &first);
		tsr_bo_free(&dev, &other);
		tsr_bo_free(&dev, &bo);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

/*
 * A bind that waits for a job of this device, and a VM job that depends on the
 * bind.
 */
struct late_bind {
	struct tsr_vm vm;
	struct tsr_bo bo;
	struct tsr_stuck stuck;
};

static void submit_behind_late_bind(void *arg)
{
	struct late_bind *late = arg;
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = late->bo.handle,
		.address = AT,
		.range = late->bo.size,
	};

	require_ok(__tsr_vm_bind(late->vm.dev->fd, late->vm.id, &op, 1, late->stuck.sync, 0));
	require_ok(vm_nop(&late->vm, 0, 0));
}

/* SUBMIT_VM must return without waiting for that job. */
static void behind_late_bind(void)
{
	struct tsr_device dev = tsr_open();
	struct late_bind late = {
		.vm = tsr_vm_open(&dev),
		.bo = movable_bo(&dev, tsr_context_new(&dev, 0)),
	};
	struct tsr_call call;

	tsr_vm_place(&late.vm, &late.bo);
	require_ok(vm_nop(&late.vm, 0, 0));
	late.stuck = tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	/* if the call waited for the stuck job, it would never return */
	tsr_call_start(&call, submit_behind_late_bind, &late);
	tsr_wait_for(call.returned);
	tsr_call_join(&call);
	tsr_stuck_end(&late.stuck);
	tsr_close(&dev);
}

/* ---- a fence that is added after some parts have run --------------------- */

#define MANY_PARTS 500
/* runs for minutes: more parts than can finish before the fence is added */
#define TOO_MANY_PARTS 16000

static void submit_many(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ran;
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, client->arg ? TOO_MANY_PARTS : MANY_PARTS, 0);
	client->state->sync_file = tsr_export(&dev, &rot.bos[1]);
	require_ok(tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &rot.cmd, 0, done));
	/*
	 * Parts that have run stay run. The remaining parts must neither run
	 * before the fence nor wait forever.
	 */
	require_eq(tsr_syncobj_status(&dev, done), (int)client->arg);
	client->state->ready = true;
	/* Reading waits for the fence, too. */
	ran = tsr_rotation_ran(&dev, tsr_context_new(&dev, 0), &rot);
	tap_note("%u of %u parts ran", ran, rot.parts);
	require((ran == rot.parts) == !client->arg);
	tsr_close(&dev);
}

/* Add the next fence before the previous one signals. */
static void relieve(struct source *source, int dmabuf)
{
	struct source last = *source;
	int last_fence = fence, next_fence;

	*source = source_open();
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	next_fence = fence;
	source_signal(&last);
	fence = last_fence;
	source_close(&last);
	fence = next_fence;
}

/*
 * Start a client with many parts, and add a fence when the first of them runs.
 * Return a dma-buf to add more fences to.
 */
static int start_with_a_late_fence(struct tsr_client *client, struct source *source)
{
	int dmabuf;

	tsr_client_start(client, submit_many, (uint64_t)-ETIME);
	tsr_client_wait_running(client);
	dmabuf = tsr_client_take_fd(client, client->state->sync_file);
	*source = source_open();
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	return dmabuf;
}

/*
 * Start a client with many parts and a late fence, and wait until it waits for
 * the fence. From now on the job timeout is short, and the client waits for
 * another fence. None of its parts runs meanwhile, however slow the machine is.
 * Return a dma-buf to add more fences to.
 */
static int wait_for_a_late_fence(struct tsr_client *client, struct source *source)
{
	int dmabuf;

	tsr_job_timeout_lift();
	dmabuf = start_with_a_late_fence(client, source);
	tsr_wait_for(tsr_is_waiting(client->pid, "foreign-parts"));
	tsr_job_timeout_short();
	relieve(source, dmabuf);
	return dmabuf;
}

/*
 * The submission waits for the late fence for one job timeout at most. Without
 * preemption it keeps other clients off the engine meanwhile. Then its
 * remaining parts fail with -ETIME.
 */
static void comes_late(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct source source;
	struct tsr_small small;
	int dmabuf;

	tsr_knob("group_timeouts", "0");
	tsr_small_init(&dev, &small, dev.render);
	dmabuf = wait_for_a_late_fence(&client, &source);
	tsr_wait_for(client.state->ready);
	tsr_job_timeout_lift();
	tsr_small_run(&dev, &small);
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/* If the late fence signals in time, the submission succeeds. */
static void comes_late_and_goes(void)
{
	struct tsr_device dev = tsr_open();
	struct source source = source_open();
	struct tsr_client client;
	int dmabuf;

	tsr_knob("group_timeouts", "0");
	tsr_client_start(&client, submit_many, 0);
	tsr_client_wait_running(&client);
	dmabuf = tsr_client_take_fd(&client, client.state->sync_file);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	/*
	 * The client waits for the fence, or for parts that are still running.
	 */
	tsr_wait_for(tsr_client_asleep(&client));
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/*
 * A split submission with one object bound over all cuts. Three other objects
 * alternate around it, two at a time. The test process gets the dma-bufs of one
 * alternating object and of the bound one.
 */
static void submit_kept(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	const uint64_t half = (seg->size - KiB(64)) / 2;
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, 0), word;
	struct tsr_bo hole = tsr_bo_new(&dev, half, tsr_bit(seg), 0);
	struct tsr_bo kept = tsr_bo_new(&dev, KiB(64), tsr_bit(seg), 0), bos[3];
	struct tsr_cmd cmd;

	tsr_gpu_touch(&dev, ctx, &hole);
	tsr_gpu_touch(&dev, ctx, &kept);
	tsr_bo_free(&dev, &hole);
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind_buffer(&cmd, 1, &kept, true);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_new(&dev, half, tsr_bit(seg), 0);
	for (uint32_t i = 0; i < MANY_PARTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bos[i % ARRAY_SIZE(bos)], true);
		tsr_cmd_group_end(&cmd);
		tsr_cmd_fill(&cmd, 0, i, 1, i);
		tsr_cmd_fill(&cmd, 1, i, 1, i);
	}
	client->state->sync_file = tsr_export(&dev, &bos[1]);
	client->state->rounds = (uint32_t)tsr_export(&dev, &kept);
	client->state->error = (int)tsr_fdinfo(&dev, "drm-engine-render0");
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_gpu_read(&dev, ctx, &kept, MANY_PARTS - 1, 1, &word);
	require_eq(word, MANY_PARTS - 1);
	tsr_close(&dev);
}

/* MAKE_RESIDENT an object that fits only in place of the bound object. */
static void list_one(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, seg->size / 2, tsr_bit(seg), 0);

	client->state->begun = 1;
	client->state->error = __tsr_make_one(&dev, &bo);
	client->state->returned = 1;
	pause();
}

/* Returns false if the fence has signalled meanwhile. */
static bool stays_beside_a_list(struct tsr_device *dev, const struct tsr_bo *kept)
{
	struct drm_tessera_bo_info before = tsr_bo_info(dev, kept), after;
	struct tsr_client b;
	bool returned;
	int error;

	tsr_client_start(&b, list_one, 0);
	tsr_wait_for(b.state->returned || tsr_is_waiting(b.pid, "held"));
	returned = b.state->returned;
	error = b.state->error;
	after = tsr_bo_info(dev, kept);
	tsr_client_kill(&b);
	if (tsr_fence_signalled(fence))
		return false;
	require_eq(before.segment, tsr_seg_visible(dev)->id);
	require_msg(after.segment == before.segment &&
			    after.segment_offset == before.segment_offset,
		    "expected the object held over a cut to stay at 0x%llx, it moved to 0x%llx of "
		    "segment %u",
		    (unsigned long long)before.segment_offset,
		    (unsigned long long)after.segment_offset, after.segment);
	require_msg(!returned, "expected MAKE_RESIDENT to wait for the held object, it returned %d",
		    error);
	return true;
}

/*
 * While a submission waits between two parts with no part running, the object
 * that it keeps bound must not move.
 */
static void kept_meanwhile(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t rounds = 0;
	bool proven;

	tsr_knob("group_timeouts", "0");
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	tsr_job_timeout("60000");
	do {
		struct source source = source_open();
		struct tsr_bo kept = { .size = KiB(64) };
		struct tsr_client client;
		int dmabuf, kept_dmabuf;

		require(rounds++ < ROUNDS);
		tsr_client_start(&client, submit_kept, 0);
		tsr_wait_for(client.state->begun);
		tsr_wait_for(tsr_client_engine_ns(&client, "render0") >
			     (uint64_t)client.state->error);
		dmabuf = tsr_client_take_fd(&client, client.state->sync_file);
		kept_dmabuf = tsr_client_take_fd(&client, (int)client.state->rounds);
		require_ok(__tsr_import(dev.fd, kept_dmabuf, &kept.handle));
		tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
		/* It waits for the fence, and no job uses the bound object. */
		tsr_wait_for(client.state->returned || tsr_fence_signalled(fence) ||
			     (tsr_client_asleep(&client) &&
			      !__tsr_bo_wait(dev.fd, kept.handle, DRM_TESSERA_BO_WAIT_WRITE, 0)));
		/* If the call had returned, the fence came too late. */
		proven = !client.state->returned && stays_beside_a_list(&dev, &kept);
		source_signal(&source);
		tsr_client_join(&client);
		source_close(&source);
		require_ok(__tsr_bo_close(dev.fd, kept.handle));
		close(kept_dmabuf);
		close(dmabuf);
	} while (!proven);
	tsr_close(&dev);
}

/* Let at least one part run between the previous fence and the next. */
static void relieve_later(struct source *source, int dmabuf, const struct tsr_client *client)
{
	/*
	 * Parts that were in the ring when the fence was added have long
	 * completed.
	 */
	uint64_t ran = tsr_client_engine_ns(client, "render0");

	source_signal(source);
	tsr_wait_for(client->state->ready || tsr_client_engine_ns(client, "render0") != ran);
	source_close(source);
	*source = source_open();
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
}

/*
 * Several late fences one after the other: together they may delay the group
 * for one job timeout only.
 */
static void come_late_in_turn(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t until = tsr_patience();
	struct tsr_client client;
	struct source source;
	int dmabuf;

	tsr_knob("group_timeouts", "0");
	dmabuf = wait_for_a_late_fence(&client, &source);
	while (!client.state->ready) {
		require_msg(tap_now_ns() < until, "a group waits for one fence after another");
		tsr_wait_for(client.state->ready || tsr_is_waiting(client.pid, "foreign-parts"));
		relieve(&source, dmabuf);
	}
	tsr_job_timeout_lift();
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

#define KEPT_MS 300

/*
 * The same if parts run between the fences. Each fence stays unsignalled for
 * less than a job timeout, which has its default, because jobs run under it.
 */
static void come_late_between_parts(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t until = tsr_patience();
	struct tsr_client client;
	struct source source;
	int dmabuf;

	tsr_knob("group_timeouts", "0");
	dmabuf = start_with_a_late_fence(&client, &source);
	while (!client.state->ready) {
		require_msg(tap_now_ns() < until, "a group waits for one fence after another");
		tsr_wait_for(client.state->ready || tsr_is_waiting(client.pid, "foreign-parts"));
		usleep(KEPT_MS * 1000);
		relieve_later(&source, dmabuf, &client);
	}
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/*
 * With a foreign reader's fence the object cannot be paged in to video memory.
 * It is used in the aperture instead, without waiting.
 */
static void goes_to_an_aperture(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo bo = movable_bo(&dev, ctx);

		require_msg(rounds++ < ROUNDS, "a submission waits for a fence of a reader");
		tsr_gpu_fill(&dev, ctx, &bo, 6);
		tsr_evict_set(UINT32_MAX);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
		tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_READ);
		holds(&dev, ctx, &bo, 6);
		require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
		early = !tsr_fence_signalled(fence);
		source_signal(&source);
		source_close(&source);
		tsr_bo_free(&dev, &bo);
	} while (!early);
	tsr_close(&dev);
}

static void list_it(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_hidden(&dev)), 0);

	tsr_fence_at(&dev, &bo, fence, DMA_BUF_SYNC_WRITE);
	client->state->begun = 1;
	require_ok(__tsr_make_one(&dev, &bo));
	client->state->returned = 1;
	require(tsr_fence_signalled(fence));
	require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_hidden(&dev)->id);
	tsr_close(&dev);
}

/*
 * MAKE_RESIDENT waits inside the call for the foreign fence and can be killed
 * there. Other clients do not wait.
 */
static void list_waits(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct tsr_small small;

	tsr_small_init(&dev, &small, dev.render);
	for (int kill = 0; kill < 2; kill++) {
		struct source source = source_open();

		tsr_client_start(&client, list_it, 0);
		tsr_wait_for(client.state->begun);
		tsr_wait_for(tsr_fence_signalled(fence) || tsr_is_waiting(client.pid, "foreign"));
		tsr_small_run(&dev, &small);
		if (kill) {
			tsr_client_kill(&client);
		} else {
			source_signal(&source);
			tsr_client_join(&client);
		}
		tsr_small_run(&dev, &small);
		if (kill)
			source_signal(&source);
		source_close(&source);
	}
	tsr_small_fini(&dev, &small);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 a job with a foreign in-fence delays no other client", beside_one_behind, 0, 0 },
	{ "SCHED-2 a writer of an object with a foreign fence delays no other client",
	  beside_a_writer, 0, 0 },
	{ "SCHED-2 a page-in of an object with a foreign fence delays no other client",
	  beside_a_mover, 0, 0 },
	{ "SCHED-2 a reader of an evicted object with a foreign fence does not wait", moved_at_once,
	  0, 0 },
	{ "SCHED-2 evicting an object with a foreign fence does not wait", evicted_at_once, 0, 0 },
	{ "SCHED-2 forced parts evict an object with a foreign fence without waiting",
	  evicted_by_parts_at_once, 0, 0 },
	{ "SCHED-2 a job does not wait for the foreign fence of an object in its VM",
	  moved_with_it_at_once, 0, 0 },
	{ "SCHED-2 a page-in does not wait for the foreign fence of an object in its VM",
	  moves_with_it_at_once, 0, 0 },
	{ "SCHED-2 forced parts page in beside a VM's object with a foreign fence",
	  parts_move_with_it_at_once, 0, 0 },
	{ "SCHED-2 a VM job does not wait for a foreign fence that delays page tables",
	  addresses_at_once, 0, 0 },
	{ "SCHED-2 a job that waits for a bind does not wait for a foreign fence", bind_at_once, 0,
	  0 },
	{ "SCHED-2 SUBMIT_VM does not wait for a bind that waits for a job", behind_late_bind, 0,
	  0 },
	{ "SCHED-2 RES-2 MAKE_RESIDENT waits for a foreign fence in the call", list_waits, 0, 0 },
	{ "SCHED-5 an object with a foreign fence is used in an aperture", goes_to_an_aperture, 0,
	  0 },
	{ "SCHED-2 SEG-8 a foreign fence does not protect from eviction", keeps_no_place, 0, 0 },
	{ "SCHED-2 SPLIT-35 forced parts with a foreign fence delay no other client",
	  beside_forced_parts, 0, 0 },
	{ "SCHED-2 SPLIT-35 parts with a foreign fence delay no other client", beside_parts, 0, 0 },
	{ "SCHED-2 a client that waits for a foreign fence can be killed", waits_in_the_call, 0,
	  0 },
	{ "readers do not wait for foreign readers", readers_share, 0, 0 },
	{ "an object with a foreign fence is moved out at once", leaves_at_once, 0, 0 },
	{ "SCHED-2 SPLIT-34 a foreign fence added between parts times out", comes_late, 0, 0 },
	{ "SCHED-2 SPLIT-34 foreign fences added between parts in turn", come_late_in_turn, 0, 0 },
	{ "SCHED-2 SPLIT-34 foreign fences added between parts, with parts in between",
	  come_late_between_parts, 0, 0 },
	{ "SPLIT-34 a foreign fence added between parts that signals in time", comes_late_and_goes,
	  0, 0 },
	{ "SPLIT-17 MAKE_RESIDENT does not move an object held over a cut", kept_meanwhile, 0, 0 },
};

TSR_TEST_MAIN(tests)
