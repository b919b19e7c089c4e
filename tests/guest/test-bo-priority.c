// SPDX-License-Identifier: MIT
/*
 * Priorities of objects (SEG-37). They decide which object a client loses, and
 * take nothing from other clients. Each order is checked for a submission that
 * fits as it is, and for one that is planned (debugfs force_split).
 */
#include <stdlib.h>
#include <unistd.h>

#include "foreign.h"
#include "host.h"
#include "stall.h"
#include "trace.h"
#include "tsr.h"

#define OBJECTS 8 /* together as large as visible memory */

static int __set_priority(int fd, uint32_t handle, int32_t priority)
{
	struct drm_tessera_bo_priority args = { .handle = handle, .priority = priority };

	return tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_PRIORITY, &args);
}

static void set_priority(struct tsr_device *dev, const struct tsr_bo *bo, int32_t priority)
{
	require_ok(__set_priority(dev->fd, bo->handle, priority));
	require_eq(tsr_bo_info(dev, bo).priority, priority);
}

static struct tsr_bo new_bo(struct tsr_device *dev, uint64_t size, uint32_t supported,
			    int32_t priority)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = supported,
		.priority = priority,
	};
	struct tsr_bo bo = { .size = size };

	require_ok(__tsr_bo_create(dev->fd, &args));
	bo.handle = args.handle;
	require_eq(tsr_bo_info(dev, &bo).priority, priority);
	return bo;
}

/* Objects @order[0 .. @gone - 1] have left the segment, all others are there. */
static void require_gone(struct tsr_device *dev, const struct tsr_bo *bos, const uint32_t *order,
			 uint32_t gone)
{
	for (uint32_t i = 0; i < OBJECTS; i++) {
		bool here = tsr_bo_info(dev, &bos[order[i]]).segment;

		require_msg(here == (i >= gone),
			    "object %u, number %u in the order, is %s after %u evictions", order[i],
			    i, here ? "resident" : "evicted", gone);
	}
}

/* Takes the place of one object after the other. */
static void evict_in_order(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bos,
			   const uint32_t *order)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(dev);
	struct tsr_bo others[OBJECTS];
	struct tsr_trace trace;

	tsr_trace_start("evict", NULL);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		others[i] =
			new_bo(dev, seg->size / OBJECTS, tsr_bit(seg), DRM_TESSERA_BO_PRIORITY_MAX);
		require_gone(dev, bos, order, i);
		tsr_gpu_touch(dev, ctx, &others[i]);
	}
	require_gone(dev, bos, order, OBJECTS);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), OBJECTS);
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < OBJECTS; i++)
		tsr_bo_free(dev, &others[i]);
}

/*
 * Each object is used once, in the order of creation. The lowest priority goes
 * first, and among equals the least recently used object.
 */
static void lower_goes_first(void)
{
	static const int32_t priorities[OBJECTS] = { 2, 0, -1, 1, -2, 0, 1, -2 };
	static const uint32_t order[OBJECTS] = { 4, 7, 2, 1, 5, 3, 6, 0 };
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[OBJECTS];
	char *allocations;

	for (uint32_t planned = 0; planned < 2; planned++) {
		tsr_evict_set(tsr_bit(seg));
		tsr_knob("force_split", "0");
		for (uint32_t i = 0; i < OBJECTS; i++) {
			bos[i] = new_bo(&dev, seg->size / OBJECTS, tsr_bit(seg), priorities[i]);
			tsr_gpu_touch(&dev, ctx, &bos[i]);
		}
		allocations = tsr_debugfs_read("allocations");
		require_msg(strstr(allocations, " priority -2 "), "no priority in allocations");
		free(allocations);
		tsr_knob("force_split", planned ? "1" : "0");
		evict_in_order(&dev, ctx, bos, order);
		for (uint32_t i = 0; i < OBJECTS; i++)
			tsr_bo_free(&dev, &bos[i]);
	}
	tsr_close(&dev);
}

/* A change applies to an object that is resident already. */
static void changed_later(void)
{
	static const uint32_t order[OBJECTS] = { 6, 5, 0, 1, 2, 4, 7, 3 };
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[OBJECTS];

	for (uint32_t planned = 0; planned < 2; planned++) {
		tsr_evict_set(tsr_bit(seg));
		tsr_knob("force_split", "0");
		for (uint32_t i = 0; i < OBJECTS; i++) {
			bos[i] = tsr_bo_new(&dev, seg->size / OBJECTS, tsr_bit(seg), 0);
			require_eq(tsr_bo_info(&dev, &bos[i]).priority, 0);
			tsr_gpu_touch(&dev, ctx, &bos[i]);
		}
		set_priority(&dev, &bos[3], DRM_TESSERA_BO_PRIORITY_MAX);
		set_priority(&dev, &bos[5], -1);
		set_priority(&dev, &bos[6], 1);
		set_priority(&dev, &bos[6], DRM_TESSERA_BO_PRIORITY_MIN);
		tsr_knob("force_split", planned ? "1" : "0");
		evict_in_order(&dev, ctx, bos, order);
		for (uint32_t i = 0; i < OBJECTS; i++)
			tsr_bo_free(&dev, &bos[i]);
	}
	tsr_close(&dev);
}

/* A renamed instance begins with the priority of the old one. */
static void renamed(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_visible(&dev)),
				      DRM_TESSERA_BO_CPU_ACCESS);
	uint32_t old = bo.handle;
	struct tsr_stuck stuck;

	set_priority(&dev, &bo, -1);
	stuck = tsr_stuck_start(&dev, ctx);
	require_ok(__tsr_submit_use(&dev, ctx, &bo, true));
	tsr_lock(&dev, &bo, DRM_TESSERA_LOCK_WRITE_ONLY | DRM_TESSERA_LOCK_DISCARD);
	require(bo.handle != old);
	require_eq(tsr_bo_info(&dev, &bo).priority, -1);
	tsr_unlock(&dev, &bo);
	tsr_stuck_end(&stuck);
	tsr_close(&dev);
}

struct guest {
	int dmabuf;
};

/* Another process can use the object, and not change its priority. */
static void import_and_change(void *arg)
{
	const struct guest *guest = arg;
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = { .size = KiB(64) };

	require_ok(__tsr_import(dev.fd, guest->dmabuf, &bo.handle));
	require_err(__set_priority(dev.fd, bo.handle, 1), -EPERM);
	require_eq(tsr_bo_info(&dev, &bo).priority, -1);
	tsr_close(&dev);
}

static void refused(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_bo_create args = {
		.size = KiB(64),
		.supported = tsr_bit(tsr_seg_visible(&dev)),
		.priority = DRM_TESSERA_BO_PRIORITY_MIN - 1,
	};
	struct tsr_bo bo = new_bo(&dev, KiB(64), args.supported, -1);
	struct guest guest;

	require_err(__tsr_bo_create(dev.fd, &args), -EINVAL);
	args.priority = DRM_TESSERA_BO_PRIORITY_MAX + 1;
	require_err(__tsr_bo_create(dev.fd, &args), -EINVAL);
	require_err(__set_priority(dev.fd, bo.handle, DRM_TESSERA_BO_PRIORITY_MIN - 1), -EINVAL);
	require_err(__set_priority(dev.fd, bo.handle, DRM_TESSERA_BO_PRIORITY_MAX + 1), -EINVAL);
	require_err(__set_priority(dev.fd, bo.handle + 100, 0), -ENOENT);
	guest.dmabuf = tsr_export(&dev, &bo);
	tap_join(tap_fork(import_and_change, &guest));
	close(guest.dmabuf);
	tsr_close(&dev);
}

/* ---- two clients and a third one that takes memory from both ---------- */

/* What a client does with priorities for its own advantage. */
enum trick {
	NO_TRICK,
	ALL_HIGH,
	LOW_BAIT, /* a low priority for an object that it uses all the time */
	TRICKS
};

struct client {
	volatile enum trick trick;
	volatile uint32_t step, done; /* step that it is to do, and has done */
	volatile uint64_t used;
};

#define CLIENT_OBJECTS 8 /* the objects of two clients fill the segment */
#define TAKEN 5 /* how many the third one takes: less than its share */

static void client_step(struct tsr_device *dev, uint32_t ctx, struct client *c,
			const struct tsr_bo bos[CLIENT_OBJECTS])
{
	if (c->step == 1)
		for (uint32_t i = 0; i < CLIENT_OBJECTS; i++)
			tsr_gpu_touch(dev, ctx, &bos[i]);
	else if (c->step == 2)
		tsr_gpu_touch(dev, ctx, &bos[CLIENT_OBJECTS - 1]);
}

/* Step 1 uses all objects, step 2 the last one again. Later ones do nothing. */
static void run_client(void *arg)
{
	struct client *c = arg;
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[CLIENT_OBJECTS];

	for (uint32_t i = 0; i < CLIENT_OBJECTS; i++) {
		bool bait = c->trick == LOW_BAIT && i == CLIENT_OBJECTS - 1;

		bos[i] = new_bo(&dev, seg->size / CLIENT_OBJECTS / 2, tsr_bit(seg),
				bait		       ? DRM_TESSERA_BO_PRIORITY_MIN
				: c->trick == ALL_HIGH ? DRM_TESSERA_BO_PRIORITY_MAX
						       : 0);
	}
	while (c->step != UINT32_MAX) {
		if (c->done == c->step) {
			usleep(100);
			continue;
		}
		client_step(&dev, ctx, c, bos);
		c->used = tsr_query_memory(&dev, seg->id).client_used;
		c->done = c->step;
	}
	/* the bait goes first, whenever the client loses something */
	if (c->trick == LOW_BAIT)
		require_eq(tsr_bo_info(&dev, &bos[CLIENT_OBJECTS - 1]).segment, 0);
	tsr_close(&dev);
}

static uint64_t do_step(struct client *c, uint32_t step)
{
	c->step = step;
	tsr_wait_for(c->done == step);
	return c->used;
}

/* Notes what both clients have after each object that the third one takes. */
static void take(enum trick trick, uint64_t used[2][TAKEN])
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct client *clients = tsr_shared(sizeof(*clients) * 2);
	pid_t pids[2];

	tsr_evict_set(tsr_bit(seg));
	clients[0].trick = trick;
	for (uint32_t i = 0; i < 2; i++) {
		pids[i] = tap_fork(run_client, &clients[i]);
		do_step(&clients[i], 1);
	}
	require_eq(do_step(&clients[0], 2), seg->size / 2);
	for (uint32_t i = 0; i < TAKEN; i++) {
		struct tsr_bo bo =
			tsr_bo_new(&dev, seg->size / CLIENT_OBJECTS / 2, tsr_bit(seg), 0);

		tsr_gpu_touch(&dev, ctx, &bo);
		for (uint32_t j = 0; j < 2; j++)
			used[j][i] = do_step(&clients[j], 3 + i);
	}
	for (uint32_t i = 0; i < 2; i++) {
		clients[i].step = UINT32_MAX;
		tap_join(pids[i]);
	}
	tsr_close(&dev);
}

/* A client loses the same memory, whatever priorities it and others declare. */
static void nothing_from_others(void)
{
	uint64_t plain[2][TAKEN], used[2][TAKEN];

	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	for (uint32_t planned = 0; planned < 2; planned++) {
		tsr_knob("force_split", planned ? "1" : "0");
		for (enum trick trick = NO_TRICK; trick < TRICKS; trick++) {
			take(trick, trick == NO_TRICK ? plain : used);
			if (trick == NO_TRICK)
				continue;
			for (uint32_t i = 0; i < TAKEN; i++)
				for (uint32_t j = 0; j < 2; j++)
					require_msg(used[j][i] == plain[j][i],
						    "client %u has %llu instead of %llu bytes with "
						    "trick %u after %u evictions",
						    j, (unsigned long long)used[j][i],
						    (unsigned long long)plain[j][i], trick, i + 1);
		}
		/* Both have lost something, so both orders were tried. */
		require(plain[0][TAKEN - 1] < plain[0][0]);
		require(plain[1][TAKEN - 1] < plain[1][0]);
	}
}

static const struct tap_test tests[] = {
	{ "SEG-37 lower priorities are evicted first", lower_goes_first, 0, 0 },
	{ "SEG-37 a priority can be changed later", changed_later, 0, 0 },
	{ "SEG-37 a renamed instance keeps the priority", renamed, 0, 0 },
	{ "SEG-37 priorities take nothing from other clients", nothing_from_others, 0, 0 },
	{ "SEG-37 bad priorities and those of other clients are refused", refused, 0, 0 },
};

TSR_TEST_MAIN(tests)
