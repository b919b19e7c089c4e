// SPDX-License-Identifier: MIT
/*
 * Foreign fences in reservations, on a device without preemption: A, a process, submits what has to
 * wait for one; B is us. Who waits is A, and nobody with it. The fences are of sw_sync, or where the
 * kernel has none, vgem's, which signals them by itself after ten seconds: if that was too soon to
 * prove anything, it is done again.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <linux/dma-buf.h>

#include "client.h"
#include "foreign.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define ROUNDS 2
#define PARTS 6

enum mode {
	WRITER, /* one job; a fence of a writer, or of a reader, at what it writes */
	MOVER, /* one job that reads what is not in a segment yet; a fence of a reader */
	MOVED, /* one job that reads what is leaving a segment for another, behind a fence of a reader */
	FORCED, /* in parts, for a test */
	PARTED, /* in parts, since they do not fit */
	EVICTER, /* one job that brings something in where something else is in the way and has a fence of a reader */
	FORCED_EVICTER, /* the same in parts, for a test */
	MOVED_WITH, /* one job that reads what has moved and shares a VM with what waits for a fence to move */
	MOVES_WITH, /* one job that moves what shares a VM with what waits for a fence to move */
	FORCED_MOVES_WITH, /* the same in parts, for a test */
	AT_ADDRESSES, /* one job in another VM that has that, too */
	BEHIND_BIND, /* one job that waits for a change of that VM */
};

static int fence; /* inherited */

static bool has_signalled(int sync_file)
{
	struct pollfd pollfd = { .fd = sync_file, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

static void fence_at(struct tsr_device *dev, const struct tsr_bo *bo, uint32_t flags)
{
	int dmabuf = tsr_export(dev, bo);

	tsr_dmabuf_put_fence(dmabuf, fence, flags);
	close(dmabuf);
}

/* ---- A ------------------------------------------------------------------------------ */

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
	fence_at(&dev, &bo, flags);
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(has_signalled(fence));
	tsr_close(&dev);
}

/* in hidden memory */
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

/* the CPU wants to see it: it moves when the fence has signalled */
static void move_out(struct tsr_device *dev, struct tsr_bo *bo)
{
	require_eq(__tsr_lock(dev->fd, &bo->handle,
			      DRM_TESSERA_LOCK_READ_ONLY | DRM_TESSERA_LOCK_DONT_WAIT),
		   -EBUSY);
	require_eq(tsr_bo_info(dev, bo).segment, tsr_seg_gart(dev)->id);
}

static struct tsr_bo moving_bo(struct tsr_device *dev, uint32_t ctx)
{
	struct tsr_bo bo = movable_bo(dev, ctx);

	fence_at(dev, &bo, DMA_BUF_SYNC_READ);
	move_out(dev, &bo);
	return bo;
}

/* an empty job at virtual addresses */
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
	require(has_signalled(fence));
	tsr_close(&dev);
}

static void submit_rotation(struct tsr_client *client, uint32_t ctx_flags)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ctx = tsr_context_new(&dev, ctx_flags);
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, PARTS, 0);
	/* of the second part, and for reading: what is to be moved waits for that, too */
	fence_at(&dev, &rot.bos[1], DMA_BUF_SYNC_READ);
	require_ok(tsr_client_submit(client, &dev, ctx, &rot.cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(has_signalled(fence));
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
	fence_at(&dev, &there, DMA_BUF_SYNC_READ);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < PARTS; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
		tsr_cmd_fill(&cmd, 0, i, 1, i + 1);
	}
	require_ok(tsr_client_submit(client, &dev, ctx, &cmd, 0, done));
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(has_signalled(fence));
	tsr_gpu_read(&dev, ctx, &bo, 0, PARTS, words);
	for (uint32_t i = 0; i < PARTS; i++)
		require_eq(words[i], i + 1);
	tsr_close(&dev);
}

#define AT 0x100000000ull

/*
 * One object waits for the fence to move and is in the first VM. Another is in both VMs and has moved since, or is to
 * come to a segment: it has no fence, but the tables of the first VM change in turn.
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
		/* so that the tables are written from now on */
		require_ok(vm_nop(&c.vms[i], 0, 0));
	}
	if (moves) {
		tsr_evict_set(UINT32_MAX);
		tsr_gpu_touch(dev, ctx, &first);
		require_eq(tsr_bo_info(dev, &c.bo).segment, 0);
	}
	fence_at(dev, &first, DMA_BUF_SYNC_READ);
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
	require(has_signalled(fence));
	tsr_close(&dev);
}

static void submit_at_addresses(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev);
	struct coupled c = couple(&dev, tsr_context_new(&dev, 0), false);

	client->state->begun = 1;
	require_ok(vm_nop(&c.vms[1], 0, done));
	client->state->returned = 1;
	require_eq(tsr_syncobj_status(&dev, done), 0);
	require(has_signalled(fence));
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
	require(has_signalled(fence));
	tsr_close(&dev);
}

static void submit(struct tsr_client *client)
{
	switch ((enum mode)client->arg) {
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

/* ---- B ------------------------------------------------------------------------------ */

struct source {
	struct tsr_foreign *vgem;
	int timeline; /* or -1 */
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

/* B's group and job are done, and A's fence has not signalled: then B has not waited for it */
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
	passes = !has_signalled(fence);
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
		require_msg(rounds++ < ROUNDS, "B waits for A's fence");
	tsr_close(&dev);
}

static void beside_a_writer(void)
{
	b_passes_a(WRITER);
}

static void beside_a_mover(void)
{
	b_passes_a(MOVER);
}

static void beside_what_is_moved(void)
{
	b_passes_a(MOVED);
}

static void beside_an_evicter(void)
{
	b_passes_a(EVICTER);
}

static void beside_a_forced_evicter(void)
{
	b_passes_a(FORCED_EVICTER);
}

static void beside_what_moved_with_it(void)
{
	b_passes_a(MOVED_WITH);
}

static void beside_what_moves_with_it(void)
{
	b_passes_a(MOVES_WITH);
}

static void beside_forced_parts_that_move_with_it(void)
{
	b_passes_a(FORCED_MOVES_WITH);
}

static void beside_addresses(void)
{
	b_passes_a(AT_ADDRESSES);
}

static void beside_a_bind(void)
{
	b_passes_a(BEHIND_BIND);
}

static void beside_forced_parts(void)
{
	b_passes_a(FORCED);
}

static void beside_parts(void)
{
	b_passes_a(PARTED);
}

/* A waits in the call, and a signal ends that; nothing of it stays behind in the engine */
static void waits_in_the_call(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_client client;
	struct tsr_small small;
	uint32_t returned;

	tsr_small_init(&dev, &small, dev.render);
	for (uint64_t mode = WRITER; mode <= BEHIND_BIND; mode++) {
		struct source source = source_open();

		tsr_client_start(&client, submit, mode);
		tsr_wait_for(client.state->begun);
		tsr_wait_for(tsr_client_asleep(&client));
		/* asked in this order, as vgem's may signal meanwhile */
		returned = client.state->returned;
		if (!has_signalled(fence))
			require(!returned);
		tsr_client_kill(&client);
		tsr_small_run(&dev, &small);
		source_signal(&source);
		source_close(&source);
	}
	tsr_close(&dev);
}

/* readers do not wait for readers: what is where it is needed can be read */
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
		fence_at(&dev, &bo, DMA_BUF_SYNC_READ);
		tsr_gpu_touch(&dev, ctx, &bo);
		early = !has_signalled(fence);
		source_signal(&source);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

/* what was exported moves behind a fence, and the client's other objects do not wait for that */
static void others_move(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo shared = movable_bo(&dev, ctx), bo = movable_bo(&dev, ctx);

		require(rounds++ < ROUNDS);
		fence_at(&dev, &shared, DMA_BUF_SYNC_READ);
		move_out(&dev, &shared);
		require_ok(__tsr_lock(dev.fd, &bo.handle, DRM_TESSERA_LOCK_READ_ONLY));
		require_eq(tsr_bo_info(&dev, &bo).segment, tsr_seg_gart(&dev)->id);
		early = !has_signalled(fence);
		source_signal(&source);
		source_close(&source);
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

/* who needs room has somebody else go than whom a fence keeps, though it is that one's turn */
static void goes_elsewhere(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	uint64_t eighth = seg->size / 8;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo late = tsr_bo_new(&dev, eighth * 5, tsr_bit(seg), 0);
		struct tsr_bo other = tsr_bo_new(&dev, eighth * 2, tsr_bit(seg), 0);
		struct tsr_bo bo = tsr_bo_new(&dev, eighth * 2, tsr_bit(seg), 0);

		require(rounds++ < ROUNDS);
		tsr_gpu_fill(&dev, ctx, &late, 1);
		tsr_gpu_fill(&dev, ctx, &other, 2);
		fence_at(&dev, &late, DMA_BUF_SYNC_READ);
		/* least recently used, it would go first */
		tsr_gpu_fill(&dev, ctx, &bo, 3);
		early = !has_signalled(fence);
		require_eq(tsr_bo_info(&dev, &late).segment, early ? seg->id : 0);
		require_eq(tsr_bo_info(&dev, &other).segment, early ? 0 : seg->id);
		source_signal(&source);
		holds(&dev, ctx, &late, 1);
		holds(&dev, ctx, &other, 2);
		holds(&dev, ctx, &bo, 3);
		tsr_bo_free(&dev, &late);
		tsr_bo_free(&dev, &other);
		tsr_bo_free(&dev, &bo);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

#define LATE 4

/* where all others would not do, as many are told to leave as it takes, however often somebody asks, and no others */
static void enough_leave(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	uint64_t eighth = seg->size / 8;
	bool early;

	tsr_job_timeout_short();
	do {
		struct source source = source_open();
		struct tsr_bo late[LATE], other = tsr_bo_new(&dev, eighth * 2, tsr_bit(seg), 0);
		struct tsr_bo bo = tsr_bo_new(&dev, eighth * 5, tsr_bit(seg), 0);
		uint32_t gone = 0;
		int rc = 0;

		require(rounds++ < ROUNDS);
		tsr_gpu_fill(&dev, ctx, &other, 2);
		for (uint32_t i = 0; i < LATE; i++) {
			late[i] = tsr_bo_new(&dev, eighth, tsr_bit(seg), 0);
			tsr_gpu_fill(&dev, ctx, &late[i], 10 + i);
			fence_at(&dev, &late[i], DMA_BUF_SYNC_READ);
		}
		for (int i = 0; i < 2 && !has_signalled(fence); i++)
			rc = __tsr_make_one(&dev, &bo);
		early = !has_signalled(fence);
		if (early) {
			require_eq(rc, -ENOMEM);
			for (uint32_t i = 0; i < LATE; i++)
				gone += !tsr_bo_info(&dev, &late[i]).segment;
			require_eq(gone, 3);
			require_eq(tsr_bo_info(&dev, &other).segment, seg->id);
		}
		source_signal(&source);
		if (early)
			require_ok(__tsr_make_one(&dev, &bo));
		require_ok(__tsr_evict_one(&dev, &bo));
		for (uint32_t i = 0; i < LATE; i++)
			holds(&dev, ctx, &late[i], 10 + i);
		holds(&dev, ctx, &other, 2);
		for (uint32_t i = 0; i < LATE; i++)
			tsr_bo_free(&dev, &late[i]);
		tsr_bo_free(&dev, &other);
		tsr_bo_free(&dev, &bo);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

/* what waits for a fence to leave keeps its place until then: who needs room takes another, and does not wait */
static void nobodys_place(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0), rounds = 0;
	uint64_t before, used;
	bool early;

	do {
		struct source source = source_open();
		struct tsr_bo late, bo = tsr_bo_new(&dev, 4096, tsr_bit(seg), 0);

		require(rounds++ < ROUNDS);
		before = tsr_query_memory(&dev, seg->id).used;
		/* its place is the lowest that was free */
		late = moving_bo(&dev, ctx);
		tsr_gpu_fill(&dev, ctx, &bo, 3);
		used = tsr_query_memory(&dev, seg->id).used;
		early = !has_signalled(fence);
		if (early)
			require_eq(used, before + 2 * 4096);
		source_signal(&source);
		tsr_wait_for(tsr_query_memory(&dev, seg->id).used == before + 4096);
		holds(&dev, ctx, &bo, 3);
		tsr_bo_free(&dev, &late);
		tsr_bo_free(&dev, &bo);
		source_close(&source);
	} while (!early);
	tsr_close(&dev);
}

/* what moves behind a fence is late until that has signalled, and so is what moves behind it, and no longer */
static void not_for_good(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct source source = source_open();
	struct tsr_stuck stuck;
	struct tsr_bo bos[3];
	uint64_t used;

	for (int i = 0; i < 3; i++) {
		bos[i] = movable_bo(&dev, ctx);
		close(tsr_export(&dev, &bos[i]));
	}
	stuck = tsr_stuck_start(&dev, ctx);
	require_ok(__tsr_submit_use(&dev, ctx, &bos[1], false));
	fence_at(&dev, &bos[0], DMA_BUF_SYNC_READ);
	used = tsr_query_memory(&dev, seg->id).used;
	for (int i = 0; i < 2; i++)
		move_out(&dev, &bos[i]);
	require(!has_signalled(fence));
	require_eq(tsr_query_memory(&dev, seg->id).used, used);
	source_signal(&source);
	tsr_wait_for(tsr_query_memory(&dev, seg->id).used == used - bos[0].size);
	/* the second has yet to leave, and the third leaves at once */
	move_out(&dev, &bos[2]);
	require_eq(tsr_query_memory(&dev, seg->id).used, used - 2 * bos[0].size);
	tsr_stuck_end(&stuck);
	tsr_wait_for(tsr_query_memory(&dev, seg->id).used == used - 3 * bos[0].size);
	source_close(&source);
	tsr_close(&dev);
}

/* ---- a fence that comes when parts have run ----------------------------------------------- */

#define MANY_PARTS 500
#define TOO_MANY_PARTS 16000 /* to have run before the fence comes, on any machine: some minutes */

static void submit_many(struct tsr_client *client)
{
	struct tsr_device dev = tsr_client_open(client);
	uint32_t done = tsr_syncobj_new(&dev), ran;
	struct tsr_rotation rot;

	tsr_rotation_init(&dev, &rot, client->arg ? TOO_MANY_PARTS : MANY_PARTS, 0);
	client->state->sync_file = tsr_export(&dev, &rot.bos[1]);
	require_ok(tsr_client_submit(client, &dev, tsr_context_new(&dev, 0), &rot.cmd, 0, done));
	/* what has run stands; the rest was not to wait for ever, nor to run before the fence */
	require_eq(tsr_syncobj_status(&dev, done), (int)client->arg);
	client->state->ready = true;
	/* reading waits for the fence, too */
	ran = tsr_rotation_ran(&dev, tsr_context_new(&dev, 0), &rot);
	tap_note("%u of %u parts ran", ran, rot.parts);
	require((ran == rot.parts) == !client->arg);
	tsr_close(&dev);
}

/* it is waited for with the engine kept from others, for one job timeout and no longer */
static void comes_late(void)
{
	struct tsr_device dev = tsr_open();
	struct source source = source_open();
	struct tsr_client client;
	struct tsr_small small;
	int dmabuf;

	tsr_job_timeout_short();
	tsr_knob("group_timeouts", "0");
	tsr_small_init(&dev, &small, dev.render);
	tsr_client_start(&client, submit_many, (uint64_t)-ETIME);
	tsr_client_wait_running(&client);
	dmabuf = tsr_client_take_fd(&client, client.state->sync_file);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	tsr_small_run(&dev, &small);
	tsr_wait_for(client.state->ready);
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/* and if it signals in time, nothing has happened */
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
	/* it is waited for, or parts are still being run */
	tsr_wait_for(tsr_client_asleep(&client));
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/*
 * Three objects take turns on both sides of one that stays bound over all cuts, two at a time. The test gets what is to
 * wait, and what is kept.
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

/* lists what has room only where the other one's is kept */
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

/* false: the fence has signalled meanwhile */
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
	if (has_signalled(fence))
		return false;
	require_eq(before.segment, tsr_seg_visible(dev)->id);
	require_msg(after.segment == before.segment &&
			    after.segment_offset == before.segment_offset,
		    "what a submission keeps over a cut has left 0x%llx for 0x%llx of segment %u",
		    (unsigned long long)before.segment_offset,
		    (unsigned long long)after.segment_offset, after.segment);
	require_msg(!returned, "a list does not wait for what is kept: %d", error);
	return true;
}

/* nobody moves what a submission keeps that waits between two parts, with nothing of it running */
static void kept_meanwhile(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t rounds = 0;
	bool proven;

	tsr_knob("group_timeouts", "0");
	tsr_knob("demand_window_ms", TSR_FOR_GOOD);
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
		/* it waits for that, and no job has anything to do with what it keeps */
		tsr_wait_for(client.state->returned || has_signalled(fence) ||
			     (tsr_client_asleep(&client) &&
			      !__tsr_bo_wait(dev.fd, kept.handle, DRM_TESSERA_BO_WAIT_WRITE, 0)));
		/* else the fence came too late */
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

/* the next one is there before the last one signals */
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

/* one after another: all of them together are waited for as long as one */
static void come_late_in_turn(void)
{
	struct tsr_device dev = tsr_open();
	struct source source = source_open();
	uint64_t until = tsr_patience();
	struct tsr_client client;
	int dmabuf;

	tsr_job_timeout_short();
	tsr_knob("group_timeouts", "0");
	tsr_client_start(&client, submit_many, (uint64_t)-ETIME);
	tsr_client_wait_running(&client);
	dmabuf = tsr_client_take_fd(&client, client.state->sync_file);
	tsr_dmabuf_put_fence(dmabuf, fence, DMA_BUF_SYNC_WRITE);
	while (!client.state->ready) {
		require_msg(tap_now_ns() < until, "a group waits for one fence after another");
		usleep(10000);
		relieve(&source, dmabuf);
	}
	source_signal(&source);
	tsr_client_join(&client);
	source_close(&source);
	close(dmabuf);
	tsr_close(&dev);
}

/* ---- Many at one object --------------------------------------------------------------- */

#define MANY 12

/* what the owner is charged for when an object with so many fences moves, which waits for each */
static uint64_t move_behind(struct tsr_device *dev, uint32_t ctx, uint32_t fences)
{
	struct tsr_foreign *foreign = tsr_foreign_need();
	struct tsr_bo bo = movable_bo(dev, ctx);
	int dmabuf = tsr_export(dev, &bo), sync_file;
	uint64_t bytes;

	for (uint32_t i = 0; i < fences; i++) {
		sync_file = tsr_foreign_fence(foreign);
		tsr_dmabuf_put_fence(dmabuf, sync_file, DMA_BUF_SYNC_READ);
		close(sync_file);
	}
	close(dmabuf);
	tsr_wait_for(tsr_query_client(dev).work_bytes == 0);
	move_out(dev, &bo);
	bytes = tsr_query_client(dev).work_bytes;
	tsr_foreign_signal(foreign, 1);
	require_eq(__tsr_lock(dev->fd, &bo.handle,
			      DRM_TESSERA_LOCK_READ_ONLY | DRM_TESSERA_LOCK_DONT_WAIT),
		   -EBUSY);
	tsr_foreign_close(foreign);
	require_ok(__tsr_lock(dev->fd, &bo.handle, DRM_TESSERA_LOCK_READ_ONLY));
	require_ok(__tsr_unlock(dev->fd, bo.handle));
	tsr_bo_free(dev, &bo);
	return bytes;
}

/* Whoever lets others put fences at an object is charged for what it takes to wait for them. */
static void many_at_one_object(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint64_t one = move_behind(&dev, ctx, 1), many = move_behind(&dev, ctx, MANY);

	tap_note("%llu bytes behind one, %llu behind %u", (unsigned long long)one,
		 (unsigned long long)many, MANY);
	require(many >= one + (MANY - 1) * 64);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SCHED-2 a job that writes what has a foreign fence", beside_a_writer, 0, 0 },
	{ "SCHED-2 a job that moves what has a foreign fence", beside_a_mover, 0, 0 },
	{ "SCHED-2 a job behind a move that has a foreign fence", beside_what_is_moved, 0, 0 },
	{ "SCHED-2 a job that evicts what has a foreign fence", beside_an_evicter, 0, 0 },
	{ "SCHED-2 forced parts that evict what has a foreign fence", beside_a_forced_evicter, 0,
	  0 },
	{ "SCHED-2 a job with what has moved in a VM behind one", beside_what_moved_with_it, 0, 0 },
	{ "SCHED-2 a job that moves what is in a VM behind one", beside_what_moves_with_it, 0, 0 },
	{ "SCHED-2 forced parts that move what is in a VM behind one",
	  beside_forced_parts_that_move_with_it, 0, 0 },
	{ "SCHED-2 a job at addresses that change behind one", beside_addresses, 0, 0 },
	{ "SCHED-2 a job that waits for a bind behind one", beside_a_bind, 0, 0 },
	{ "SCHED-2 a place that is left behind a foreign fence is nobody's", nobodys_place, 0, 0 },
	{ "SCHED-2 who needs room passes over foreign fences", goes_elsewhere, 0, 0 },
	{ "SCHED-2 moves behind a foreign fence are not late for good", not_for_good, 0, 0 },
	{ "SCHED-2 RES-2 no more than enough wait for a foreign fence to leave", enough_leave, 0,
	  0 },
	{ "SCHED-2 SPLIT-35 forced parts with a foreign fence", beside_forced_parts, 0, 0 },
	{ "SCHED-2 SPLIT-35 parts with a foreign fence", beside_parts, 0, 0 },
	{ "SCHED-2 who waits for a foreign fence can be killed", waits_in_the_call, 0, 0 },
	{ "readers do not wait for foreign readers", readers_share, 0, 0 },
	{ "a move beside one that has a foreign fence", others_move, 0, 0 },
	{ "SCHED-2 SPLIT-34 a foreign fence that comes between parts", comes_late, 0, 0 },
	{ "SCHED-2 SPLIT-34 foreign fences that come between parts, in turn", come_late_in_turn, 0,
	  0 },
	{ "SPLIT-34 a foreign fence that comes between parts and signals", comes_late_and_goes, 0,
	  0 },
	{ "SPLIT-17 what is kept beside a list", kept_meanwhile, 0, 0 },
	{ "a move behind many foreign fences", many_at_one_object, 0, 0 },
};

TSR_TEST_MAIN(tests)
