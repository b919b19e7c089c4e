// SPDX-License-Identifier: MIT
/*
 * SEG-36: a memory segment in guest RAM. The pages of an object become its
 * memory, so nothing is copied when it becomes resident, is evicted or comes
 * back. Run twice: with and without an IOMMU.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "foreign.h"
#include "memory.h"
#include "pci.h"
#include "resident.h"
#include "stall.h"
#include "trace.h"
#include "vm.h"

#define BYTES KiB(256)

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;

struct scene {
	struct tsr_device dev;
	struct drm_tessera_query_segment uma;
	uint32_t ctx;
};

static struct scene scene_open(void)
{
	struct scene s = { .dev = tsr_open() };

	s.uma = *tsr_seg_uma(&s.dev);
	s.ctx = tsr_context_new(&s.dev, 0);
	return s;
}

static struct tsr_bo mapped(struct scene *s, uint32_t key)
{
	struct tsr_bo bo = tsr_bo_new(&s->dev, BYTES, tsr_bit(&s->uma), cpu);

	tsr_bo_map(&s->dev, &bo);
	tsr_pattern_write(&bo, key);
	return bo;
}

static void require_resident(struct scene *s, const struct tsr_bo *bo)
{
	require_eq(tsr_bo_info(&s->dev, bo).segment, s->uma.id);
}

/* Id of the first object that was created while the trace was recorded. */
static uint64_t first_created(const struct tsr_trace *trace)
{
	const struct tsr_event *ev = tsr_trace_next(trace, "bo_create", NULL);

	require(ev);
	return tsr_event_u64(ev, "bo");
}

/* No object of the trace was copied or cleared by the paging engine. */
static void require_no_copy(const struct tsr_trace *trace)
{
	require(!trace->lost);
	require_eq(tsr_trace_paged(trace, "transfer", 0), 0);
	require_eq(tsr_trace_paged(trace, "fill", 0), 0);
}

/* The segment counts as memory, and objects ask for it as for memory. */
static void is_memory(void)
{
	struct scene s = scene_open();
	struct drm_tessera_bo_create evict = { .size = BYTES,
					       .supported = tsr_bit(tsr_seg_visible(&s.dev)),
					       .evict_to = tsr_bit(&s.uma) };
	struct drm_tessera_bo_create swizzled = { .size = MiB(1),
						  .supported = tsr_bit(&s.uma),
						  .layout = TSR_LAYOUT_TILE4K,
						  .pitch = 1024 };
	struct tsr_bo all;

	require(!(s.uma.flags & DRM_TESSERA_SEGMENT_APERTURE));
	require(s.uma.flags & DRM_TESSERA_SEGMENT_CACHE_COHERENT);
	require_eq(s.uma.commit_limit, s.uma.size);
	require(__tsr_bo_create(s.dev.fd, &evict) == -EINVAL);
	require_ok(__tsr_bo_create(s.dev.fd, &swizzled));
	swizzled.flags = cpu;
	require(__tsr_bo_create(s.dev.fd, &swizzled) == -EINVAL);

	all = tsr_bo_new(&s.dev, s.uma.size, tsr_bit(&s.uma), cpu);
	tsr_gpu_fill(&s.dev, s.ctx, &all, 0x36);
	require_resident(&s, &all);
	require_eq(tsr_query_memory(&s.dev, s.uma.id).client_used, s.uma.size);
	tsr_close(&s.dev);
}

/* Addresses beyond the machine's memory count for nothing. */
static void larger_than_ram(void)
{
	struct scene s = scene_open();
	const struct drm_tessera_query_segment *seg = &s.dev.segs[s.dev.num_segs - 1];
	struct drm_tessera_bo_create large = { .size = seg->size, .supported = tsr_bit(seg) };
	struct sysinfo info;
	struct tsr_bo bo;

	require_ok(sysinfo(&info));
	require(seg->flags & DRM_TESSERA_SEGMENT_UMA);
	require_eq(seg->size, 16ull << 30);
	require_eq(seg->commit_limit, info.totalram * info.mem_unit / 4 / KiB(4) * KiB(4));
	require_eq(tsr_query_memory(&s.dev, seg->id).total, seg->commit_limit);
	require_err(__tsr_bo_create(s.dev.fd, &large), -E2BIG);
	bo = tsr_bo_new(&s.dev, BYTES, tsr_bit(seg), cpu);
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x16);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, seg->id);
	tsr_close(&s.dev);
}

/*
 * A segment that is larger than its limit is full when the limit is reached.
 * An object in one piece that must come in then takes the place of another.
 */
static void full_with_holes(void)
{
	struct scene s = scene_open();
	const struct drm_tessera_query_segment *seg = &s.dev.segs[s.dev.num_segs - 1];
	uint64_t size = seg->commit_limit / 4 / KiB(4) * KiB(4);
	struct tsr_bo bos[5], rest;

	for (uint32_t i = 0; i < 4; i++) {
		bos[i] = tsr_bo_new(&s.dev, size, tsr_bit(seg), 0);
		tsr_gpu_touch(&s.dev, s.ctx, &bos[i]);
	}
	rest = tsr_bo_new(&s.dev, KiB(16), tsr_bit(seg), 0);
	require_ok(__tsr_make_one(&s.dev, &rest));
	bos[4] = tsr_bo_new(&s.dev, size, tsr_bit(seg), 0);
	require_ok(__tsr_make_one(&s.dev, &bos[4]));
	for (uint32_t i = 0; i < 5; i++)
		require_eq(tsr_bo_info(&s.dev, &bos[i]).segment, i < 2 ? 0 : seg->id);
	require_eq(tsr_bo_info(&s.dev, &rest).segment, seg->id);
	tsr_close(&s.dev);
}

#define LARGE 16

static void create_large(struct tsr_client *client)
{
	const struct drm_tessera_query_segment *seg;
	struct tsr_device dev;

	tsr_cgroup_enter();
	dev = tsr_client_open(client);
	seg = &dev.segs[dev.num_segs - 1];
	client->state->ready = true;
	tsr_wait_for(client->state->stop);
	for (uint32_t i = 0; i < LARGE; i++)
		tsr_bo_new(&dev, seg->commit_limit, tsr_bit(seg), 0);
	client->state->rounds = 1;
	pause();
}

/*
 * Each object has an array of addresses, with 16 bytes for each page, before it
 * has pages. Its owner is charged.
 */
static void arrays_are_charged(void)
{
	struct scene s = scene_open();
	uint64_t limit = s.dev.segs[s.dev.num_segs - 1].commit_limit, before;
	struct tsr_client client;

	tsr_cgroup_new("tessera-arrays", MiB(256));
	tsr_client_start(&client, create_large, 0);
	tsr_wait_for((tsr_client_check(&client), client.state->ready));
	before = tsr_cgroup_stat("memory.stat", "kernel");
	client.state->stop = true;
	tsr_wait_for((tsr_client_check(&client), client.state->rounds));
	tsr_wait_for(tsr_cgroup_stat("memory.stat", "kernel") >=
		     before + LARGE * (limit / KiB(4)) * 16);
	tsr_client_kill(&client);
	tsr_close(&s.dev);
}

/* A page-in, an eviction and a page-in again, with contents of CPU and GPU. */
static void handed_over(void)
{
	struct scene s = scene_open();
	struct tsr_trace trace;
	struct tsr_bo bo, fresh;
	uint32_t word;
	uint64_t id;

	tsr_trace_start("bo_create", "paging_op", "cpu_fault", NULL);
	bo = mapped(&s, 1);
	fresh = tsr_bo_new(&s.dev, BYTES, tsr_bit(&s.uma), cpu);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 7, 1, &word);
	tsr_pattern_require(word, 1, 7);
	require_resident(&s, &bo);
	tsr_pattern_check(&bo, 1);

	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x600d);
	tsr_words_check(bo.map, BYTES / 4, 0x600d);
	tsr_evict_set(tsr_bit(&s.uma));
	require_eq(tsr_bo_info(&s.dev, &bo).segment, 0);
	tsr_words_check(bo.map, BYTES / 4, 0x600d);
	tsr_pattern_write(&bo, 2);
	tsr_gpu_read(&s.dev, s.ctx, &bo, BYTES / 4 - 1, 1, &word);
	tsr_pattern_require(word, 2, BYTES / 4 - 1);
	require_resident(&s, &bo);

	/* New memory reads as zero, although nothing was filled. */
	tsr_gpu_read(&s.dev, s.ctx, &fresh, 4711, 1, &word);
	require_eq(word, 0);
	require_resident(&s, &fresh);

	trace = tsr_trace_stop();
	id = first_created(&trace);
	require_no_copy(&trace);
	require_eq(tsr_trace_paged(&trace, "map", id), 2 * BYTES);
	require_eq(tsr_trace_paged(&trace, "unmap", id), BYTES);
	require(tsr_trace_faulted(&trace, "system"));
	tsr_trace_free(&trace);
	tsr_close(&s.dev);
}

/* The pages are cached, and snooped, whether or not the object asks for it. */
static void cached(void)
{
	struct scene s = scene_open();
	const uint64_t want = TSR_APTE_VALID | TSR_APTE_WRITE | TSR_APTE_CACHED | TSR_APTE_COHERENT;
	struct tsr_trace trace;
	struct tsr_bo bo;
	uint32_t maps = 0;

	tsr_trace_start("bo_create", "paging_op", NULL);
	bo = mapped(&s, 3);
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	trace = tsr_trace_stop();
	tsr_trace_for_each(&trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "map") ||
		    tsr_event_u64(ev, "bo") != first_created(&trace))
			continue;
		require_eq(tsr_event_u64(ev, "flags"), want);
		maps++;
	}
	require_eq(maps, 1);
	tsr_trace_free(&trace);
	tsr_close(&s.dev);
}

/* Three times the segment: objects give way to each other and lose nothing. */
static void pressure(void)
{
	struct scene s = scene_open();
	uint32_t num = (uint32_t)(3 * s.uma.size / BYTES), word;
	struct tsr_bo *bos = calloc(num, sizeof(*bos));
	struct tsr_trace trace;

	require(bos);
	tsr_trace_start("paging_op", "evict", NULL);
	for (uint32_t i = 0; i < num; i++) {
		bos[i] = mapped(&s, i % 200);
		tsr_gpu_touch(&s.dev, s.ctx, &bos[i]);
		require_resident(&s, &bos[i]);
	}
	for (uint32_t i = 0; i < num; i++) {
		tsr_gpu_read(&s.dev, s.ctx, &bos[i], 99, 1, &word);
		tsr_pattern_require(word, i % 200, 99);
		tsr_pattern_check(&bos[i], i % 200);
	}
	trace = tsr_trace_stop();
	require_no_copy(&trace);
	require(tsr_trace_count(&trace, "evict") >= num);
	tsr_trace_free(&trace);
	for (uint32_t i = 0; i < num; i++)
		tsr_bo_unmap(&bos[i]);
	free(bos);
	tsr_close(&s.dev);
}

/* Contents that are in VRAM are copied to the pages, and only these. */
static void from_vram(void)
{
	struct scene s = scene_open();
	const struct drm_tessera_query_segment *vram = tsr_seg_visible(&s.dev);
	struct tsr_trace trace;
	struct tsr_bo bo, full;
	struct tsr_cmd cmd;
	uint32_t word;

	tsr_trace_start("bo_create", "paging_op", NULL);
	bo = tsr_bo_prefers(&s.dev, BYTES, vram, tsr_bit(&s.uma), cpu);
	full = tsr_bo_new(&s.dev, vram->size, tsr_bit(vram), 0);
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x77);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, vram->id);
	/* Both are needed at once, so one of them goes to its other segment. */
	tsr_cmd_init_pair(&cmd, &full, &bo);
	tsr_cmd_fill(&cmd, 0, 0, 1, 0x88);
	tsr_submit_done(&s.dev, s.ctx, &cmd);
	tsr_cmd_fini(&cmd);
	require_resident(&s, &bo);
	trace = tsr_trace_stop();
	require_eq(tsr_trace_paged(&trace, "transfer", first_created(&trace)), BYTES);
	require_eq(tsr_trace_paged(&trace, "map", first_created(&trace)), BYTES);
	tsr_trace_free(&trace);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 11, 1, &word);
	require_eq(word, 0x77);
	tsr_bo_map(&s.dev, &bo);
	tsr_words_check(bo.map, BYTES / 4, 0x77);
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

/* The pages are not the device's, so they survive what the device forgets. */
static void survives(void (*power_off)(void))
{
	struct scene s = scene_open();
	struct tsr_trace trace;
	struct tsr_bo bo;
	uint32_t word;

	tsr_trace_start("bo_create", "paging_op", NULL);
	bo = mapped(&s, 5);
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	require_resident(&s, &bo);
	power_off();
	trace = tsr_trace_stop();
	require_eq(tsr_trace_paged(&trace, "transfer", first_created(&trace)), 0);
	require_eq(tsr_trace_paged(&trace, "unmap", first_created(&trace)), BYTES);
	tsr_trace_free(&trace);
	require_eq(tsr_bo_info(&s.dev, &bo).segment, 0);
	tsr_pattern_check(&bo, 5);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 3, 1, &word);
	tsr_pattern_require(word, 5, 3);
	require_resident(&s, &bo);
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

static void survives_suspend(void)
{
	survives(tsr_suspend_devices);
}

static void survives_hibernation(void)
{
	survives(tsr_hibernate_devices);
}

/* The reset clears the segment's page table. */
static void survives_function_reset(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, 6), drawn = mapped(&s, 6);
	uint32_t word;

	tsr_pci_can_reset();
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	tsr_gpu_fill(&s.dev, s.ctx, &drawn, 0xd1a);
	require_resident(&s, &bo);
	require_resident(&s, &drawn);
	tsr_pci_reset();
	s.ctx = tsr_context_new(&s.dev, 0);
	tsr_words_check(drawn.map, BYTES / 4, 0xd1a);
	tsr_gpu_read(&s.dev, s.ctx, &drawn, 8, 1, &word);
	require_eq(word, 0xd1a);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 9, 1, &word);
	tsr_pattern_require(word, 6, 9);
	require_resident(&s, &bo);
	require_resident(&s, &drawn);
	tsr_bo_unmap(&bo);
	tsr_bo_unmap(&drawn);
	tsr_close(&s.dev);
}

/* The kernel takes the pages of an object that was evicted, and of no other. */
static void swapped_out(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, 0);
	uint32_t word;

	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_fill(&s.dev, s.ctx, &bo, round);
		tsr_bo_wait(&s.dev, &bo);
		tsr_swap_out_objects();
		require_resident(&s, &bo);
		tsr_evict_set(tsr_bit(&s.uma));
		tsr_bo_wait(&s.dev, &bo);
		require(tsr_swap_out_objects() >= (long)(BYTES / KiB(4)));
		if (round % 2)
			tsr_words_check(bo.map, BYTES / 4, round);
		tsr_gpu_read(&s.dev, s.ctx, &bo, 10, 1, &word);
		require_eq(word, round);
		require_resident(&s, &bo);
	}
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

/*
 * The kernel may free the pages of an offered object at any time, so the device
 * must not reach them.
 */
static void offered(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, 14);
	uint32_t result = DRM_TESSERA_RECLAIM_DISCARDED, word;

	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	require_resident(&s, &bo);
	require_ok(__tsr_offer(s.dev.fd, &bo.handle, 1, DRM_TESSERA_OFFER_HIGH));
	require_eq(tsr_bo_info(&s.dev, &bo).segment, 0);
	require_ok(__tsr_reclaim(s.dev.fd, &bo.handle, &result, 1));
	require_eq(result, DRM_TESSERA_RECLAIM_KEPT);
	tsr_gpu_read(&s.dev, s.ctx, &bo, 12, 1, &word);
	tsr_pattern_require(word, 14, 12);
	require_resident(&s, &bo);
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

/* Another device uses the pages. The object stays in UMA memory. */
static void lent(void)
{
	struct scene s = scene_open();
	struct tsr_bo bo = mapped(&s, 11);
	int vgem = tsr_vgem_need(), dmabuf = tsr_export(&s.dev, &bo);
	const uint32_t *seen = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, dmabuf, 0);
	uint32_t theirs;

	require(seen != MAP_FAILED);
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	require_ok(__tsr_import(vgem, dmabuf, &theirs));
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x1e47);
	require_resident(&s, &bo);
	tsr_words_check(seen, BYTES / 4, 0x1e47);
	tsr_evict_set(tsr_bit(&s.uma));
	require_eq(tsr_bo_info(&s.dev, &bo).segment, 0);
	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x1e48);
	require_resident(&s, &bo);
	tsr_words_check(seen, BYTES / 4, 0x1e48);
	require_ok(__tsr_bo_close(vgem, theirs));
	munmap((void *)seen, BYTES);
	close(dmabuf);
	close(vgem);
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

/* LOCK2 finds the pages in sight of the CPU, and jobs go on there. */
static void locked(void)
{
	struct scene s = scene_open();
	const uint32_t flags[] = { 0, cpu, cpu | DRM_TESSERA_BO_CPU_CACHED };

	for (uint32_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct tsr_bo bo = tsr_bo_new(&s.dev, BYTES, tsr_bit(&s.uma), flags[i]);
		uint64_t offset;

		tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x10c);
		require_ok(__tsr_lock2(s.dev.fd, bo.handle, 0, &offset));
		require_resident(&s, &bo);
		bo.map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s.dev.fd,
			      (off_t)offset);
		require(bo.map != MAP_FAILED);
		tsr_words_check(bo.map, BYTES / 4, 0x10c);
		tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x10d);
		require_resident(&s, &bo);
		tsr_bo_wait(&s.dev, &bo);
		tsr_words_check(bo.map, BYTES / 4, 0x10d);
		require_ok(__tsr_unlock2(s.dev.fd, bo.handle));
		tsr_bo_free(&s.dev, &bo);
	}
	tsr_close(&s.dev);
}

#define ADDRESS 0x300000000ull

/* Jobs of a VM do not list their objects. Their addresses lead to the pages. */
static void virtual_address(void)
{
	struct scene s = scene_open();
	struct tsr_vm vm = tsr_vm_open(&s.dev);
	struct tsr_bo stage = tsr_vm_stage_new(&vm, BYTES), bo = mapped(&s, 12);

	tsr_vm_map(&s.dev, vm.id, &bo, 0, ADDRESS, BYTES, 0);
	tsr_vm_place(&vm, &bo);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_pattern_write(&bo, round);
		tsr_vm_copy(&vm, TSR_VM_STAGE, ADDRESS, BYTES);
		tsr_pattern_check(&stage, round);
		tsr_vm_fill(&vm, ADDRESS, BYTES, round);
		tsr_words_check(bo.map, BYTES / 4, round);
		require_resident(&s, &bo);
	}
	tsr_bo_unmap(&bo);
	tsr_bo_unmap(&stage);
	tsr_vm_close(&vm);
	tsr_close(&s.dev);
}

/* The device goes while an object is resident and mapped by the CPU. */
static void unplugged(void)
{
	struct scene s = (tsr_pci_begin(), scene_open());
	struct tsr_bo bo = mapped(&s, 8);

	tsr_gpu_fill(&s.dev, s.ctx, &bo, 0x99);
	tsr_pci_unbind();
	for (uint64_t i = 0; i < BYTES / 4; i += 1024)
		((volatile uint32_t *)bo.map)[i]++;
	tsr_bo_unmap(&bo);
	close(s.dev.fd);
	require_eq(tsr_pci_mapped(), 0);
	tsr_pci_bind();
	s = scene_open();
	bo = mapped(&s, 9);
	tsr_gpu_touch(&s.dev, s.ctx, &bo);
	tsr_pattern_check(&bo, 9);
	tsr_bo_unmap(&bo);
	tsr_close(&s.dev);
}

static const struct tap_test tests[] = {
	{ "SEG-36 UMA counts as memory", is_memory, 0, 0 },
	{ "SEG-36 a segment has at most a quarter of the machine's memory", larger_than_ram, 0, 0 },
	{ "SEG-36 a full segment with holes makes room", full_with_holes, 0, 0 },
	{ "the owner is charged for the addresses of pages", arrays_are_charged, 0, 0 },
	{ "SEG-36 pages are handed over without a copy", handed_over, 0, 0 },
	{ "SEG-36 the CPU maps the pages cached", cached, 0, 0 },
	{ "SEG-36 pressure evicts without a copy", pressure, 0, 0 },
	{ "SEG-36 only contents in VRAM are copied", from_vram, 0, 0 },
	{ "SEG-36 contents survive suspend in their pages", survives_suspend, 0, 0 },
	{ "SEG-36 contents survive hibernation in their pages", survives_hibernation, 0, 0 },
	{ "SEG-36 contents survive a function reset in their pages", survives_function_reset, 0,
	  0 },
	{ "SEG-36 pages are swapped out after an eviction", swapped_out, 0, 0 },
	{ "SEG-36 an offered object leaves UMA memory", offered, 0, 0 },
	{ "SEG-36 pages are lent to another device", lent, 0, 0 },
	{ "SEG-36 LOCK2 does not move an object", locked, 0, 0 },
	{ "SEG-36 jobs of a VM reach the pages", virtual_address, 0, 0 },
	{ "SEG-36 unplug with UMA memory in use", unplugged, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
