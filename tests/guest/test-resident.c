// SPDX-License-Identifier: MIT
/*
 * Residency lists: counts, all or nothing, bytes to trim, and which client must
 * give way to which. Memory is small: 8 MiB visible to the CPU and 8 MiB hidden
 * from it. Jobs that name their objects create the memory pressure.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.h"
#include "client.h"
#include "foreign.h"
#include "held.h"
#include "host.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

struct stage {
	struct tsr_device dev;
	uint32_t ctx;
	struct drm_tessera_query_segment seg; /* the segment under test */
	uint32_t set;
};

static struct stage stage_open(void)
{
	struct stage s = { .dev = tsr_open() };

	s.ctx = tsr_context_new(&s.dev, 0);
	s.seg = *tsr_seg_hidden(&s.dev);
	s.set = tsr_bit(&s.seg);
	return s;
}

static void stage_close(struct stage *s)
{
	tsr_context_free(&s->dev, s->ctx);
	tsr_close(&s->dev);
}

static struct tsr_bo new_bo(struct stage *s, uint64_t size)
{
	return tsr_bo_new(&s->dev, size, s->set, 0);
}

static void new_bos(struct stage *s, struct tsr_bo *bos, uint32_t count, uint64_t size)
{
	for (uint32_t i = 0; i < count; i++)
		bos[i] = new_bo(s, size);
}

static bool is_in(struct stage *s, const struct tsr_bo *bo)
{
	return tsr_bo_info(&s->dev, bo).segment == s->seg.id;
}

/* Uses as many other objects as fill the segment, one after the other. */
static void press(struct stage *s)
{
	struct tsr_bo bos[16];

	new_bos(s, bos, ARRAY_SIZE(bos), KiB(512));
	for (size_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_gpu_touch(&s->dev, s->ctx, &bos[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bos); i++)
		tsr_bo_free(&s->dev, &bos[i]);
}

static void fill_key(struct stage *s, struct tsr_bo *bo, uint32_t key)
{
	tsr_gpu_fill(&s->dev, s->ctx, bo, key);
}

static void check_key(struct stage *s, struct tsr_bo *bo, uint32_t key)
{
	const uint64_t words = bo->size / 4, at[] = { 0, words / 2 + 3, words - 1 };
	uint32_t value;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		tsr_gpu_read(&s->dev, s->ctx, bo, at[i], 1, &value);
		require_eq(value, key);
	}
}

/* ---- Counts ---------------------------------------------------------- */

/* RES-1: listing is counted, and no job evicts a listed object. */
static void counts(void)
{
	struct stage s = stage_open();
	struct tsr_bo bo = new_bo(&s, KiB(516)), other = new_bo(&s, KiB(520));
	const uint32_t twice[] = { bo.handle, bo.handle };

	require_eq(tsr_listed(bo.size), 0);
	require_err(__tsr_evict_one(&s.dev, &bo), -EINVAL);
	require_ok(__tsr_make_one(&s.dev, &bo));
	require_ok(__tsr_make_one(&s.dev, &bo));
	require_eq(tsr_listed(bo.size), 2);
	require_ok(__tsr_make_resident(s.dev.fd, twice, 2, 0, NULL));
	require_eq(tsr_listed(bo.size), 4);
	require_ok(__tsr_evict(s.dev.fd, twice, 2));
	require_ok(__tsr_evict_one(&s.dev, &bo));
	require_eq(tsr_listed(bo.size), 1);
	press(&s);
	require(is_in(&s, &bo));
	/* EVICT fails as a whole if it would lower one count below zero */
	require_ok(__tsr_make_one(&s.dev, &other));
	require_err(__tsr_evict(s.dev.fd, (uint32_t[]){ other.handle, bo.handle, bo.handle }, 3),
		    -EINVAL);
	require_eq(tsr_listed(bo.size), 1);
	require_eq(tsr_listed(other.size), 1);

	require_ok(__tsr_evict_one(&s.dev, &bo));
	require_eq(tsr_listed(bo.size), 0);
	require(is_in(&s, &bo));
	press(&s);
	require(!is_in(&s, &bo));
	require(is_in(&s, &other));
	require_err(__tsr_evict_one(&s.dev, &bo), -EINVAL);
	stage_close(&s);
}

/* An unlisted object gives way before one that another file has listed. */
static void listed_goes_last(void)
{
	struct stage s = stage_open(), other = stage_open();
	struct tsr_bo listed = new_bo(&s, MiB(2)), used = new_bo(&s, MiB(4));
	struct tsr_bo more = new_bo(&other, MiB(3));

	require_ok(__tsr_make_one(&s.dev, &listed));
	tsr_gpu_touch(&s.dev, s.ctx, &used);
	require_ok(__tsr_make_one(&other.dev, &more));
	require(is_in(&other, &more));
	require(is_in(&s, &listed));
	require(!is_in(&s, &used));
	stage_close(&other);
	stage_close(&s);
}

/* An object counts as used when it leaves the list, so older ones go first. */
static void unlisted_is_young(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[17];

	new_bos(&s, bos, ARRAY_SIZE(bos), KiB(512));
	require_ok(__tsr_make_one(&s.dev, &bos[0]));
	for (uint32_t i = 1; i < 16; i++)
		tsr_gpu_touch(&s.dev, s.ctx, &bos[i]);
	require_ok(__tsr_evict_one(&s.dev, &bos[0]));
	tsr_gpu_touch(&s.dev, s.ctx, &bos[16]);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		require_eq(is_in(&s, &bos[i]), i != 1);
	stage_close(&s);
}

/* RES-1: each file has its own list; closing a handle or file ends entries. */
static void counts_end(void)
{
	struct stage s = stage_open();
	struct tsr_device other = tsr_open();
	struct tsr_bo bo = new_bo(&s, KiB(516)), theirs = bo;
	int dmabuf;

	for (int close_file = 0; close_file < 2; close_file++) {
		dmabuf = tsr_export(&s.dev, &bo);
		require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
		close(dmabuf);
		require_ok(__tsr_make_one(&s.dev, &bo));
		require_err(__tsr_evict_one(&other, &theirs), -EINVAL);
		require_ok(__tsr_make_one(&other, &theirs));
		require_ok(__tsr_make_one(&other, &theirs));
		require_eq(tsr_listed(bo.size), 3);
		if (close_file)
			tsr_close(&other);
		else
			require_ok(__tsr_bo_close(other.fd, theirs.handle));
		require_eq(tsr_listed(bo.size), 1);
		require_ok(__tsr_evict_one(&s.dev, &bo));
		require_eq(tsr_listed(bo.size), 0);
	}
	require_ok(__tsr_make_one(&s.dev, &bo));
	tsr_bo_free(&s.dev, &bo);
	require_eq(tsr_listed(KiB(516)), 0);
	stage_close(&s);
}

/* ---- All or nothing -------------------------------------------------- */

/* RES-3: a failed call counts nothing; trimming the reported bytes suffices. */
static void all_or_nothing(void)
{
	struct stage s = stage_open();
	struct drm_tessera_make_resident out;
	struct tsr_bo small[8], two[2];
	uint32_t handles[2];

	new_bos(&s, small, 8, KiB(768)); /* 6 of 8 MiB */
	new_bos(&s, two, 2, KiB(1280));
	for (uint32_t i = 0; i < 2; i++)
		handles[i] = two[i].handle;
	for (uint32_t i = 0; i < 8; i++)
		fill_key(&s, &small[i], 100 + i);
	tsr_make_resident(&s.dev, small, 8);
	for (int round = 0; round < 2; round++) {
		require_err(__tsr_make_resident(s.dev.fd, handles, 2, 0, &out), -ENOMEM);
		require_eq(out.bytes_to_trim, KiB(512));
		require_eq(out.trim_segments, s.set);
		require_eq(tsr_listed(KiB(1280)), 0);
		require_eq(tsr_listed(KiB(768)), 8);
	}
	/* 768 KiB between listed objects: 1280 KiB need a move */
	tsr_evict(&s.dev, &small[3], 1);
	require_ok(__tsr_make_resident(s.dev.fd, handles, 2, 0, &out));
	for (uint32_t i = 0; i < 2; i++)
		require(is_in(&s, &two[i]));
	for (uint32_t i = 0; i < 8; i++)
		require_eq(is_in(&s, &small[i]), i != 3);
	require_eq(tsr_listed(KiB(1280)), 2);
	for (uint32_t i = 0; i < 8; i++)
		check_key(&s, &small[i], 100 + i);
	stage_close(&s);
}

/*
 * The last variant of the worked example (requirements, section 3), scaled to
 * eighths of the segment. It fails, because residency has no splitting.
 */
static void no_split(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[] = { new_bo(&s, MiB(4)), new_bo(&s, MiB(3)), new_bo(&s, MiB(2)) };
	const uint32_t handles[] = { bos[0].handle, bos[1].handle, bos[2].handle };
	struct drm_tessera_make_resident out;

	require_err(__tsr_make_resident(s.dev.fd, handles, 3, 0, &out), -ENOMEM);
	require_eq(out.bytes_to_trim, MiB(1));
	for (uint32_t i = 0; i < 3; i++)
		require_eq(tsr_listed(bos[i].size), 0);
	require_ok(__tsr_make_resident(s.dev.fd, handles, 2, 0, NULL));
	stage_close(&s);
}

/* RES-3, random sizes: trimming the reported bytes anywhere is enough. */
static void trim_is_enough(void)
{
	struct stage s = stage_open();
	uint64_t rng = tap_seed(11);
	struct tsr_bo bos[48];
	bool listed[48] = { false };

	for (uint32_t i = 0; i < 48; i++) {
		bos[i] = new_bo(&s, KiB(4) * (1 + tap_random(&rng) % 200));
		fill_key(&s, &bos[i], 1000 + i);
	}
	for (int round = 0; round < (tap_slow() ? 30 : 200); round++) {
		uint32_t i = (uint32_t)(tap_random(&rng) % 48);
		struct drm_tessera_make_resident out;
		uint64_t trimmed = 0;
		int rc;

		if (listed[i])
			continue;
		rc = __tsr_make_resident(s.dev.fd, &bos[i].handle, 1, 0, &out);
		require(!rc || rc == -ENOMEM);
		if (rc)
			require(out.bytes_to_trim && out.bytes_to_trim <= bos[i].size);
		while (rc && trimmed < out.bytes_to_trim) {
			uint32_t j = (uint32_t)(tap_random(&rng) % 48);

			if (!listed[j])
				continue;
			require_ok(__tsr_evict_one(&s.dev, &bos[j]));
			listed[j] = false;
			trimmed += bos[j].size;
		}
		if (rc)
			require_ok(__tsr_make_one(&s.dev, &bos[i]));
		listed[i] = true;
		for (uint32_t j = 0; j < 48; j++)
			require(!listed[j] || is_in(&s, &bos[j]));
	}
	for (uint32_t i = 0; i < 48; i++)
		check_key(&s, &bos[i], 1000 + i);
	stage_close(&s);
}

struct making {
	struct stage s;
	struct tsr_bo bo;
	const uint32_t *handles;
	uint32_t count;
	volatile pid_t tid;
	volatile bool done;
	int rc;
};

static void make_one_call(void *arg)
{
	struct making *making = arg;

	making->rc = __tsr_make_one(&making->s.dev, &making->bo);
}

/* RES-3: the call waits for space of a dying object, and asks for no trim. */
static void space_of_the_destroyed(void)
{
	struct making making = { .s = stage_open() };
	struct stage *s = &making.s;
	struct tsr_held held = tsr_held_open(&s->dev);
	struct tsr_bo old = new_bo(s, MiB(6));
	struct tsr_call call;

	making.bo = new_bo(s, MiB(6));
	tsr_held_fill(&held, &old, 16, 1);
	tsr_bo_free(&s->dev, &old);
	tsr_call_start(&call, make_one_call, &making);
	tsr_wait_for(call.returned || tsr_call_waits(&call, "space"));
	require(!call.returned);
	tsr_held_release(&held);
	tsr_wait_for(call.returned);
	tsr_call_join(&call);
	require_ok(making.rc);
	tsr_held_close(&held);
	stage_close(s);
}

/* RES-3: the call reports the failed handle and changes no earlier one. */
static void which_failed(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[3];
	uint32_t handles[4];
	struct drm_tessera_make_resident out;

	new_bos(&s, bos, 3, KiB(516));
	for (uint32_t i = 0; i < 4; i++)
		handles[i] = bos[i % 3].handle;
	handles[2] = 4711;
	require_err(__tsr_make_resident(s.dev.fd, handles, 4, 0, &out), -ENOENT);
	require_eq(out.failed, 2);
	handles[2] = bos[2].handle;
	require_ok(__tsr_offer(s.dev.fd, &handles[1], 1, DRM_TESSERA_OFFER_LOW));
	require_err(__tsr_make_resident(s.dev.fd, handles, 4, 0, &out), -EINVAL);
	require_eq(out.failed, 1);
	/* bos[0] is listed twice: first and last */
	require_err(__tsr_make_resident(s.dev.fd, handles + 1, 3, 0, &out), -EINVAL);
	require_eq(out.failed, 0);
	require_eq(tsr_listed(KiB(516)), 0);
	stage_close(&s);
}

/* ---- Paging ---------------------------------------------------------- */

/* RES-4: the call returns before the eviction; its fence signals afterwards. */
static void paging_fence(void)
{
	struct stage s = stage_open();
	struct tsr_held held = tsr_held_open(&s.dev);
	uint32_t done = tsr_syncobj_new(&s.dev);
	struct tsr_bo busy = new_bo(&s, MiB(6)), bo = new_bo(&s, MiB(6));
	struct drm_tessera_make_resident out;

	tsr_held_fill(&held, &busy, 16, 1);

	require_ok(__tsr_make_resident(s.dev.fd, &bo.handle, 1, done, &out));
	require_eq(out.pending, 1);
	require(is_in(&s, &bo));
	require_eq(__tsr_syncobj_wait(s.dev.fd, done, 0, 0), -ETIME);
	tsr_held_release(&held);
	require_eq(tsr_syncobj_status(&s.dev, done), 0);
	require_ok(__tsr_make_resident(s.dev.fd, &bo.handle, 1, done, &out));
	require_eq(out.pending, 0);
	require_eq(tsr_syncobj_status(&s.dev, done), 0);
	tsr_held_close(&held);
	stage_close(&s);
}

/* RES-2: listed objects that were evicted come back with their bytes. */
static void brought_back(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[6];

	new_bos(&s, bos, 6, MiB(1));
	for (uint32_t i = 0; i < 6; i++)
		fill_key(&s, &bos[i], i + 1);
	tsr_make_resident(&s.dev, bos, 6);
	for (int round = 0; round < 3; round++) {
		tsr_evict_set(s.set);
		for (uint32_t i = 0; i < 6; i++)
			require(!is_in(&s, &bos[i]));
		/* a call for other entries brings them back, too */
		if (round == 1)
			tsr_make_resident(&s.dev, &bos[0], 1);
		else
			require_ok(__tsr_bring_back(&s.dev, NULL));
		for (uint32_t i = 0; i < 6; i++)
			require(is_in(&s, &bos[i]));
	}
	require_eq(tsr_listed(MiB(1)), 7);
	for (uint32_t i = 0; i < 6; i++)
		check_key(&s, &bos[i], i + 1);
	/* unlisted objects stay evicted */
	tsr_evict(&s.dev, &bos[1], 2);
	tsr_evict_set(s.set);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	for (uint32_t i = 0; i < 6; i++)
		require_eq(is_in(&s, &bos[i]), i != 1 && i != 2);
	stage_close(&s);
}

/* LOCK-22: an object locked outside of its segments cannot become resident. */
static void locked_out(void)
{
	struct stage s = stage_open();
	struct tsr_bo bo = tsr_bo_new(&s.dev, KiB(516), tsr_bit(tsr_seg_visible(&s.dev)),
				      DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo both =
		tsr_bo_new(&s.dev, KiB(516),
			   tsr_bit(tsr_seg_visible(&s.dev)) | tsr_bit(tsr_seg_gart(&s.dev)),
			   DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo third = tsr_bo_new(&s.dev, KiB(520), tsr_bit(tsr_seg_visible(&s.dev)),
					 DRM_TESSERA_BO_CPU_ACCESS);
	const uint32_t handles[] = { both.handle, bo.handle };
	const uint32_t others[] = { both.handle, third.handle };
	struct drm_tessera_make_resident out;

	tsr_lock(&s.dev, &both, 0);
	tsr_lock(&s.dev, &bo, 0);
	require_err(__tsr_make_resident(s.dev.fd, handles, 2, 0, &out), -EBUSY);
	require_eq(out.failed, 1);
	require_eq(tsr_listed(KiB(516)), 0);
	require_ok(__tsr_make_one(&s.dev, &both));
	tsr_unlock(&s.dev, &bo);
	require_ok(__tsr_make_one(&s.dev, &bo));
	/* the same for a listed object that was evicted since */
	tsr_evict_set(tsr_bit(tsr_seg_visible(&s.dev)));
	tsr_lock(&s.dev, &bo, 0);
	require_err(__tsr_bring_back(&s.dev, NULL), -EBUSY);
	/* @failed is the count: the object is none of the requested ones */
	require_err(__tsr_make_resident(s.dev.fd, &both.handle, 1, 0, &out), -EBUSY);
	require_eq(out.failed, 1);
	require_eq(tsr_listed(KiB(516)), 2);
	tsr_unlock(&s.dev, &bo);
	/* a requested object that is locked, while others come back */
	tsr_lock(&s.dev, &third, 0);
	require_err(__tsr_make_resident(s.dev.fd, others, 2, 0, &out), -EBUSY);
	require_eq(out.failed, 1);
	tsr_unlock(&s.dev, &third);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	stage_close(&s);
}

/* LOCK-22: a lock only keeps its own client from making an object resident. */
static void locked_by_another(void)
{
	struct tsr_device other = tsr_open();
	struct stage s = stage_open();
	struct tsr_vm vm = tsr_vm_open(&s.dev);
	struct tsr_bo bo = tsr_bo_new(&s.dev, KiB(516), tsr_bit(tsr_seg_visible(&s.dev)),
				      DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo theirs = { .size = bo.size };
	int dmabuf = tsr_export(&s.dev, &bo);

	require_ok(__tsr_import(other.fd, dmabuf, &theirs.handle));
	close(dmabuf);
	tsr_vm_map(&s.dev, vm.id, &bo, 0, 1 << 30, bo.size, 0);
	for (uint32_t i = 0; i < 2; i++) {
		require_ok(__tsr_lock(other.fd, &theirs.handle, 0));
		require_err(__tsr_make_one(&other, &theirs), -EBUSY);
		require_msg(i || __tsr_make_one(&s.dev, &bo) == 0,
			    "expected the object to become resident, another client's lock "
			    "prevents that");
		tsr_vm_fill(&vm, 1 << 30, bo.size, 3 + i);
		require_ok(__tsr_unlock(other.fd, theirs.handle));
		/* in the second round the object is listed and was evicted */
		tsr_evict_set(tsr_bit(tsr_seg_visible(&s.dev)));
	}
	tsr_close(&other);
	tsr_vm_close(&vm);
	stage_close(&s);
}

/* ---- Other clients --------------------------------------------------- */

struct shared {
	volatile bool stop;
	volatile uint32_t turns; /* jobs of the other process */
};

static struct shared *shared;

static void share_memory(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	require(shared != MAP_FAILED);
	memset(shared, 0, sizeof(*shared));
}

/* Jobs on more objects than fit into the segment, in a circle. */
static void patched_client(void *arg)
{
	struct stage s = stage_open();
	struct tsr_bo bos[20];

	new_bos(&s, bos, 20, KiB(512));
	while (!shared->stop) {
		tsr_gpu_touch(&s.dev, s.ctx, &bos[shared->turns % 20]);
		shared->turns++;
	}
	stage_close(&s);
}

static void wait_for_turns(uint32_t more)
{
	uint32_t before = shared->turns;

	while (shared->turns - before < more)
		usleep(1000);
}

/* SEG-8, RES-2: a listing client keeps its share beside one that needs more. */
static void share_is_kept(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[7];
	pid_t pid;

	new_bos(&s, bos, 7, KiB(512)); /* 3.5 of 8 MiB */
	tsr_make_resident(&s.dev, bos, 7);
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	share_memory();
	pid = tap_fork(patched_client, NULL);
	for (int round = 0; round < 40; round++) {
		wait_for_turns(2);
		for (uint32_t i = 0; i < 7; i++)
			require(is_in(&s, &bos[i]));
		require_ok(__tsr_bring_back(&s.dev, NULL));
	}
	shared->stop = true;
	tap_join(pid);
	stage_close(&s);
}

static uint64_t bytes_in(struct stage *s, const struct tsr_bo *bos, uint32_t count)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		if (is_in(s, &bos[i]))
			bytes += bos[i].size;
	return bytes;
}

/* SEG-8, RES-2, RES-3: memory above the share is lost and has to be trimmed. */
static void share_shrinks(void)
{
	struct stage s = stage_open();
	struct drm_tessera_make_resident out;
	struct tsr_bo bos[16];
	uint32_t left = 16;
	pid_t pid;
	int rc;

	new_bos(&s, bos, 16, KiB(512)); /* the whole segment */
	for (uint32_t i = 0; i < 16; i++)
		fill_key(&s, &bos[i], i + 1);
	tsr_make_resident(&s.dev, bos, 16);
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	share_memory();
	pid = tap_fork(patched_client, NULL);
	do {
		rc = __tsr_bring_back(&s.dev, &out);
		require(!rc || rc == -ENOMEM);
		wait_for_turns(1);
	} while (!rc);
	/* objects above the share are lost one by one */
	while (rc) {
		uint32_t trim = (uint32_t)(out.bytes_to_trim / KiB(512));

		require_eq(out.bytes_to_trim % KiB(512), 0);
		require(trim && trim < left);
		left -= trim;
		tsr_evict(&s.dev, &bos[left], trim);
		wait_for_turns(20);
		rc = __tsr_bring_back(&s.dev, &out);
		require(!rc || rc == -ENOMEM);
	}
	require(left >= 8); /* half of the segment */
	for (int round = 0; round < 20; round++) {
		/* objects above the share may be evicted again */
		require(bytes_in(&s, bos, left) >= MiB(4));
		wait_for_turns(2);
		rc = __tsr_bring_back(&s.dev, &out);
		if (rc == -ENOMEM && left > 8) {
			/* one more object above the share */
			tsr_evict(&s.dev, &bos[--left], 1);
			rc = __tsr_bring_back(&s.dev, &out);
		}
		require_ok(rc);
	}
	shared->stop = true;
	tap_join(pid);
	/* the other client is gone */
	tsr_make_resident(&s.dev, &bos[left], 16 - left);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	require_eq(bytes_in(&s, bos, 16), MiB(8));
	for (uint32_t i = 0; i < 16; i++)
		check_key(&s, &bos[i], i + 1);
	stage_close(&s);
}

/* Brings the list back. If told to trim, trims that much and returns false. */
static bool keep_up(struct stage *s, const struct tsr_bo *bos, uint32_t *left)
{
	struct drm_tessera_make_resident out;
	int rc = __tsr_bring_back(&s->dev, &out);
	uint32_t trim;

	require(!rc || rc == -ENOMEM);
	if (!rc)
		return true;
	trim = (uint32_t)((out.bytes_to_trim + KiB(512) - 1) / KiB(512));
	require(trim && trim <= *left);
	*left -= trim;
	tsr_evict(&s->dev, &bos[*left], trim);
	return false;
}

static int lent; /* dma-buf of an object that is charged to another process */

/* An object on the caller's list stays, whichever process is charged. */
static void list_of_a_borrower(void *arg)
{
	struct stage s = stage_open();
	struct tsr_bo theirs = { .size = MiB(6) }, bo = new_bo(&s, MiB(3));
	struct drm_tessera_make_resident out;

	require_ok(__tsr_import(s.dev.fd, lent, &theirs.handle));
	require_ok(__tsr_make_one(&s.dev, &theirs));
	require_err(__tsr_make_resident(s.dev.fd, &bo.handle, 1, 0, &out), -ENOMEM);
	require_eq(out.bytes_to_trim, MiB(1));
	require(is_in(&s, &theirs));
	require_ok(__tsr_evict_one(&s.dev, &theirs));
	require_ok(__tsr_make_one(&s.dev, &bo));
	require(!is_in(&s, &theirs));
	stage_close(&s);
}

/* RES-1, RES-3 */
static void borrowed(void)
{
	struct stage s = stage_open();
	struct tsr_bo bo = new_bo(&s, MiB(6));

	lent = tsr_export(&s.dev, &bo);
	tap_join(tap_fork(list_of_a_borrower, NULL));
	close(lent);
	stage_close(&s);
}

/* A client with a residency list that needs more than its share. */
static void listing_client(void *arg)
{
	struct stage s = stage_open();
	struct tsr_bo bos[12];
	uint32_t left = 0;

	new_bos(&s, bos, 12, KiB(512));
	for (uint32_t i = 0; i < 12; i++)
		fill_key(&s, &bos[i], i + 1);
	while (left < 12 && !__tsr_make_one(&s.dev, &bos[left]))
		left++;
	require(left);
	while (!shared->stop)
		if (keep_up(&s, bos, &left))
			shared->turns++;
	require(left);
	for (uint32_t i = 0; i < 12; i++)
		check_key(&s, &bos[i], i + 1);
	stage_close(&s);
}

/* RES-2: two clients that list too much settle, and both make progress. */
static void two_lists(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[12];
	uint32_t left = 12;
	int turns = 0;
	pid_t pid;

	share_memory();
	new_bos(&s, bos, 12, KiB(512));
	for (uint32_t i = 0; i < 12; i++)
		fill_key(&s, &bos[i], i + 1);
	tsr_make_resident(&s.dev, bos, 12); /* 6 of 8 MiB; the other client wants as much */
	pid = tap_fork(listing_client, NULL);
	/* each failure shortens the list, so there are at most twelve */
	while (turns < 50 || shared->turns < 50)
		turns += keep_up(&s, bos, &left);
	require(left);
	shared->stop = true;
	tap_join(pid);
	for (uint32_t i = 0; i < 12; i++)
		check_key(&s, &bos[i], i + 1);
	stage_close(&s);
}

/* RES-2: memory of an unused list is lent, and comes back on the next use. */
static void idle_list(void)
{
	struct stage s = stage_open();
	struct tsr_bo bos[7];
	pid_t pid;

	new_bos(&s, bos, 7, KiB(512));
	for (uint32_t i = 0; i < 7; i++)
		fill_key(&s, &bos[i], i + 1);
	tsr_make_resident(&s.dev, bos, 7);
	share_memory();
	pid = tap_fork(patched_client, NULL);
	tsr_knob("demand_period_ms", "200");
	tsr_wait_for(!bytes_in(&s, bos, 7));
	/* keep it from becoming idle again before the checks */
	tsr_knob("demand_period_ms", TSR_FOR_GOOD);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	require_eq(bytes_in(&s, bos, 7), 7 * KiB(512));
	shared->stop = true;
	tap_join(pid);
	for (uint32_t i = 0; i < 7; i++)
		check_key(&s, &bos[i], i + 1);
	stage_close(&s);
}

/* ---- Bystanders ------------------------------------------------------ */

/* Uses one object, placed behind the existing ones, all the time. */
static void bystander(void *arg)
{
	struct stage s = stage_open();
	struct tsr_bo bo = new_bo(&s, MiB(1));

	for (; !shared->stop; shared->turns++)
		tsr_gpu_touch(&s.dev, s.ctx, &bo);
	stage_close(&s);
}

static void *make_thread(void *arg)
{
	struct making *making = arg;

	making->tid = gettid();
	making->rc = __tsr_make_resident(making->s.dev.fd, making->handles, making->count, 0, NULL);
	making->done = true;
	return NULL;
}

/* RES-3: no bystander is moved behind a job of the caller that may last. */
static void bystander_goes_on(void)
{
	struct making making = { .s = stage_open() };
	struct stage *s = &making.s;
	struct tsr_held held = tsr_held_open(&s->dev);
	struct tsr_bo busy = new_bo(s, MiB(2));
	pthread_t thread;
	pid_t pid;

	tsr_gpu_touch(&s->dev, s->ctx, &busy); /* at 0 to 2 MiB */
	share_memory();
	pid = tap_fork(bystander, NULL); /* its object is at 2 to 3 MiB */
	wait_for_turns(1);
	tsr_held_fill(&held, &busy, 16, 1);

	/* 6 MiB: without @busy 7 are free, but the largest gap is 5 */
	making.bo = new_bo(s, MiB(6));
	making.handles = &making.bo.handle;
	making.count = 1;
	require(!pthread_create(&thread, NULL, make_thread, &making));
	while (!making.done && !(making.tid && tsr_sleeps(making.tid)))
		usleep(1000);
	wait_for_turns(5);
	require(tsr_held_waits(&held));
	tsr_held_release(&held);
	shared->stop = true;
	tap_join(pid);
	require(!pthread_join(thread, NULL));
	require_eq(making.rc, 0);
	require(is_in(s, &making.bo));
	tsr_held_close(&held);
	stage_close(s);
}

#define LONG_LIST 640 /* two rounds of MAKE_RESIDENT in the driver */
#define ROUND_BYTES (512 * KiB(10)) /* work that one round is charged */

static void make_long_list(void *arg)
{
	struct making *list = arg;

	tsr_stuck_last_call();
	make_thread(list);
}

/*
 * A stuck job uses the whole segment, and queued jobs leave space in the work
 * limit for one round of MAKE_RESIDENT. The paging of the first round is
 * charged as well, so the second round has to wait until some of it is done.
 */
static void long_list_keeps_the_limit(void)
{
	uint32_t handles[LONG_LIST];
	struct making list = { .s = stage_open(), .handles = handles, .count = LONG_LIST };
	struct stage *s = &list.s;
	const uint64_t limit = tsr_query_client(&s->dev).work_limit;
	/* new work waits above 15/16 of the limit */
	const uint64_t most = limit - limit / 16 - ROUND_BYTES - KiB(512);
	struct tsr_bo busy = new_bo(s, s->seg.size);
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;

	for (uint32_t i = 0; i < LONG_LIST; i++)
		handles[i] = new_bo(s, KiB(4)).handle;
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &busy, true);
	/* so large that the limit of jobs is not reached first */
	tsr_cmd_nop(&cmd, KiB(320));
	stuck = tsr_stuck_start(&s->dev, s->ctx);
	while (tsr_query_client(&s->dev).work_bytes < most)
		tsr_submit(&s->dev, s->ctx, &cmd, 0, 0);
	require_msg(!tsr_stuck_during(make_long_list, &list),
		    "expected MAKE_RESIDENT to wait for the client's jobs");
	tsr_stuck_end(&stuck);
	require_eq(list.rc, 0);
	require_eq(tsr_listed(KiB(4)), LONG_LIST);
	tsr_cmd_fini(&cmd);
	stage_close(s);
}

static void bad_input(void)
{
	struct stage s = stage_open();
	struct tsr_bo bo = new_bo(&s, KiB(516));
	struct drm_tessera_fence_create monitored = { 0 };
	uint32_t sync = tsr_syncobj_new(&s.dev);
	const uint32_t good[] = { bo.handle }, unknown[] = { bo.handle, 12345 }, null[] = { 0 };
	struct drm_tessera_sync syncs[6] = {
		{ .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL },
		{ .handle = sync, .flags = 0 },
		{ .handle = 12345, .flags = DRM_TESSERA_SYNC_SIGNAL },
		{ .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL | 4 },
		{ .handle = sync, .flags = DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE },
	};
#define HANDLES(h, n)                                                                              \
	{                                                                                          \
		.stride = 4, .count = (n), .array = (uintptr_t)(h)                                 \
	}
#define SYNC(i)                                                                                    \
	{                                                                                          \
		.stride = sizeof(syncs[0]), .count = 1, .array = (uintptr_t)&syncs[i]              \
	}
	const struct {
		const char *name;
		struct drm_tessera_make_resident args;
		int err;
		bool both; /* EVICT must fail in the same way */
	} rows[] = {
		{ "flags", { .flags = 4, .handles = HANDLES(good, 1) }, -EINVAL, true },
		{ "padding", { .pad = 1, .handles = HANDLES(good, 1) }, -EINVAL, true },
		{ "stride 0", { .handles = { 0, 1, (uintptr_t)good } }, -EINVAL, true },
		{ "stride 8", { .handles = { 8, 1, (uintptr_t)good } }, -EINVAL, true },
		{ "unknown handle", { .handles = HANDLES(unknown, 2) }, -ENOENT, true },
		{ "handle 0", { .handles = HANDLES(null, 1) }, -ENOENT, true },
		{ "too many",
		  { .handles = HANDLES(good, s.dev.info.max_allocs + 1) },
		  -E2BIG,
		  true },
		{ "no memory", { .handles = HANDLES(16, 1) }, -EFAULT, true },
		{ "a wait", { .handles = HANDLES(good, 1), .syncs = SYNC(1) }, -EINVAL, false },
		{ "unknown sync",
		  { .handles = HANDLES(good, 1), .syncs = SYNC(2) },
		  -ENOENT,
		  false },
		{ "sync flag", { .handles = HANDLES(good, 1), .syncs = SYNC(3) }, -EINVAL, false },
		{ "no point", { .handles = HANDLES(good, 1), .syncs = SYNC(4) }, -EINVAL, false },
		{ "monitored", { .handles = HANDLES(good, 1), .syncs = SYNC(5) }, -EINVAL, false },
	};

	/* only jobs write the value of a monitored fence */
	require_ok(tsr_ioctl(s.dev.fd, DRM_IOCTL_TESSERA_FENCE_CREATE, &monitored));
	syncs[5] = (struct drm_tessera_sync){
		.handle = monitored.syncobj,
		.flags = DRM_TESSERA_SYNC_SIGNAL | DRM_TESSERA_SYNC_TIMELINE,
		.point = 1,
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_make_resident make = rows[i].args;
		struct drm_tessera_evict evict = { make.flags, make.pad, make.handles };
		int rc = tsr_ioctl(s.dev.fd, DRM_IOCTL_TESSERA_MAKE_RESIDENT, &make);

		require_msg(rc == rows[i].err, "%s: %d, not %d", rows[i].name, rc, rows[i].err);
		require_eq(tsr_listed(bo.size), 0);
		if (!rows[i].both)
			continue;
		require_ok(__tsr_make_one(&s.dev, &bo));
		rc = tsr_ioctl(s.dev.fd, DRM_IOCTL_TESSERA_EVICT, &evict);
		require_msg(rc == rows[i].err, "evict, %s: %d, not %d", rows[i].name, rc,
			    rows[i].err);
		require_eq(tsr_listed(bo.size), 1);
		require_ok(__tsr_evict_one(&s.dev, &bo));
	}
	require_ok(__tsr_make_resident(s.dev.fd, NULL, 0, sync, NULL));
	require_ok(__tsr_evict(s.dev.fd, NULL, 0));
	stage_close(&s);
}

/* ---- Races ----------------------------------------------------------- */

#define RACE_BOS 8

struct race {
	struct stage s;
	volatile uint32_t handles[RACE_BOS];
	volatile bool stop;
};

static void *race_lists(void *arg)
{
	struct race *race = arg;
	uint64_t rng = 5;

	while (!race->stop) {
		uint32_t handles[2] = { race->handles[tap_random(&rng) % RACE_BOS],
					race->handles[tap_random(&rng) % RACE_BOS] };
		int rc = __tsr_make_resident(race->s.dev.fd, handles, 2, 0, NULL);

		require(!rc || rc == -ENOENT || rc == -ENOMEM);
		rc = __tsr_evict(race->s.dev.fd, handles, 1);
		require(!rc || rc == -ENOENT || rc == -EINVAL);
	}
	return NULL;
}

/* RES-1: closing a handle while it is being listed leaves no entry behind. */
static void closed_meanwhile(void)
{
	struct race race = { .s = stage_open() };
	uint64_t rng = 7;
	pthread_t thread;

	for (uint32_t i = 0; i < RACE_BOS; i++)
		race.handles[i] = new_bo(&race.s, KiB(516)).handle;
	require(!pthread_create(&thread, NULL, race_lists, &race));
	for (int round = 0; round < (tap_slow() ? 300 : 1500); round++) {
		uint32_t i = (uint32_t)(tap_random(&rng) % RACE_BOS);

		require_ok(__tsr_bo_close(race.s.dev.fd, race.handles[i]));
		race.handles[i] = new_bo(&race.s, KiB(516)).handle;
		if (round % 64 == 0)
			tsr_evict_set(race.s.set);
	}
	race.stop = true;
	require(!pthread_join(thread, NULL));
	for (uint32_t i = 0; i < RACE_BOS; i++)
		require_ok(__tsr_bo_close(race.s.dev.fd, race.handles[i]));
	require_eq(tsr_listed(KiB(516)), 0);
	stage_close(&race.s);
}

static const struct tap_test tests[] = {
	{ "RES-1 counts", counts, 0, 0 },
	{ "RES-1 SEG-7 leaving the list counts as use", unlisted_is_young, 0, 0 },
	{ "RES-1 SEG-7 unlisted objects are evicted before listed ones", listed_goes_last, 0, 0 },
	{ "RES-1 counts end with handle and file", counts_end, 0, 0 },
	{ "RES-3 ERR-38 all or nothing", all_or_nothing, 0, 0 },
	{ "RES-3 MODEL-4 no split", no_split, 0, 0 },
	{ "RES-3 trimming is enough", trim_is_enough, 0, 0 },
	{ "RES-3 the failed handle is reported", which_failed, 0, 0 },
	{ "RES-3 the call waits for space of objects being destroyed", space_of_the_destroyed, 0,
	  0 },
	{ "RES-4 paging fence", paging_fence, 0, 0 },
	{ "RES-2 evicted listed objects are paged in", brought_back, 0, 0 },
	{ "LOCK-22 ERR-37 locked out", locked_out, 0, 0 },
	{ "LOCK-22 LOCK-30 locked by another", locked_by_another, 0, 0 },
	{ "SEG-8 RES-2 a share is kept", share_is_kept, 0, 0 },
	{ "SEG-8 RES-2 RES-3 a share shrinks", share_shrinks, 0, 0 },
	{ "RES-2 two lists", two_lists, 0, 0 },
	{ "RES-1 RES-3 borrowed", borrowed, 0, 0 },
	{ "RES-2 an idle list", idle_list, 0, 0 },
	{ "RES-3 a bystander's objects do not move behind a long job", bystander_goes_on, 0, 0 },
	{ "RES-3 a long list keeps the work limit", long_list_keeps_the_limit, 0, 0 },
	{ "bad input", bad_input, 0, 0 },
	{ "RES-1 a handle closed during the call leaves no entry", closed_meanwhile, 0, 0 },
};

TSR_TEST_MAIN(tests)
