// SPDX-License-Identifier: MIT
/*
 * Page tables of a device with hardly any memory: the tables are in system
 * pages, which the paging engine writes and the GPU reads.
 */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "resident.h"
#include "stall.h"
#include "vm.h"

#define AT 0x100000000ull

/* null mappings of a page, each of which takes two page tables */
#define FAR_NULLS 64

/* the tables leave with all other objects, and each job finds what is mapped */
static void in_an_aperture(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = tsr_bo_new(&dev, KiB(64), tsr_bit(tsr_seg_gart(&dev)), 0);
	uint32_t word;

	tsr_vm_map(&dev, vm.id, &bo, 0, AT, bo.size, 0);
	tsr_vm_place(&vm, &bo);
	for (uint64_t i = 1; i < FAR_NULLS; i++)
		tsr_vm_map_null(&dev, vm.id, AT + (i << 30), KiB(4));
	for (uint32_t round = 1; round < 4; round++) {
		tsr_vm_fill(&vm, AT, bo.size, round);
		tsr_gpu_read(&dev, vm.patched, &bo, bo.size / 4 - 1, 1, &word);
		require_eq(word, round);
		for (uint64_t i = 1; i < FAR_NULLS; i++)
			tsr_vm_fill(&vm, AT + (i << 30), KiB(4), round);
		require(tsr_tables_in(tsr_seg_gart(&dev)->id) >= FAR_NULLS * KiB(4));
		tsr_evict_set(~0u);
		require_eq(tsr_tables_in(0), 0);
	}
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Whether an object of page tables has system pages. */
static bool tables_have_pages(void)
{
	char *list = tsr_debugfs_read("allocations"), *save = NULL, *line;
	bool found = false;

	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		found |= strstr(line, " tables") && !strstr(line, " page 0x0 ");
	free(list);
	return found;
}

static void drop_caches(void)
{
	require_ok(tsr_write_file("/proc/sys/vm/drop_caches", "2"));
}

static void fill_in(struct tsr_vm *vm, const struct tsr_bo *bo, uint32_t segment, uint32_t value)
{
	uint32_t word;

	tsr_vm_fill(vm, AT, bo->size, value);
	require_eq(tsr_tables_in(segment), KiB(64));
	tsr_gpu_read(vm->dev, vm->patched, bo, bo->size / 4 - 1, 1, &word);
	require_eq(word, value);
}

/* A VM with an object at AT, and memory that is full, so the tables are in the aperture. */
struct scene {
	struct tsr_device dev;
	struct tsr_bo all, bo;
	struct tsr_vm vm;
	uint32_t memory, gart;
};

static void scene_init(struct scene *s)
{
	s->dev = tsr_open();
	s->memory = tsr_seg_visible(&s->dev)->id;
	s->gart = tsr_seg_gart(&s->dev)->id;
	s->all = tsr_bo_new(&s->dev, KiB(64), tsr_bit(tsr_seg_visible(&s->dev)), 0);
	require_ok(__tsr_make_one(&s->dev, &s->all));
	s->vm = tsr_vm_open(&s->dev);
	s->bo = tsr_bo_new(&s->dev, KiB(64), tsr_bit(tsr_seg_gart(&s->dev)), 0);
	tsr_vm_map(&s->dev, s->vm.id, &s->bo, 0, AT, s->bo.size, 0);
	tsr_vm_place(&s->vm, &s->bo);
	fill_in(&s->vm, &s->bo, s->gart, 1);
	require(tables_have_pages());
}

static void scene_fini(struct scene *s)
{
	tsr_bo_free(&s->dev, &s->bo);
	tsr_vm_close(&s->vm);
	tsr_close(&s->dev);
}

/*
 * The kernel takes back the system pages of page tables that have left an
 * aperture, while the tables go to memory and leave it.
 */
static void pages_are_freed_once(void)
{
	struct scene s;

	scene_init(&s);
	tsr_bo_free(&s.dev, &s.all);
	/* into memory: the pages become spare */
	tsr_evict_set(~0u);
	fill_in(&s.vm, &s.bo, s.memory, 2);
	/* out, and swapped out if that is possible; the bytes are of no use */
	tsr_evict_set(~0u);
	tsr_swap_out_objects();
	fill_in(&s.vm, &s.bo, s.memory, 3);
	tsr_wait_for((drop_caches(), !tables_have_pages()));
	tsr_evict_set(~0u);
	drop_caches();
	fill_in(&s.vm, &s.bo, s.memory, 4);
	drop_caches();
	scene_fini(&s);
}

/* System pages of page tables in a segment are not swapped out. */
static void pages_stay_in_place(void)
{
	struct scene s;
	uint64_t bytes;

	scene_init(&s);
	bytes = tsr_tables_in(s.gart);
	require(bytes);
	tsr_swap_out_objects();
	require_eq(tsr_tables_in(s.gart), bytes);
	fill_in(&s.vm, &s.bo, s.gart, 2);
	tsr_bo_free(&s.dev, &s.all);
	scene_fini(&s);
}

/* System pages of page tables in no segment are not swapped out, but freed. */
static void pages_are_not_kept(void)
{
	struct scene s;

	scene_init(&s);
	for (uint32_t round = 2; round < 5; round++) {
		tsr_evict_set(tsr_bit(tsr_seg_gart(&s.dev)));
		require(tables_have_pages());
		tsr_wait_for((drop_caches(), !tables_have_pages()));
		fill_in(&s.vm, &s.bo, s.gart, round);
		require(tables_have_pages());
	}
	tsr_bo_free(&s.dev, &s.all);
	scene_fini(&s);
}

static const struct tap_test tests[] = {
	{ "SEG-33 page tables in an aperture", in_an_aperture, 0, 0 },
	{ "SEG-33 pages of page tables in an aperture stay", pages_stay_in_place, 0, 0 },
	{ "SEG-33 pages of page tables are freed once", pages_are_freed_once, 0, 0 },
	{ "SEG-33 pages of page tables are not kept", pages_are_not_kept, 0, 0 },
};

TSR_TEST_MAIN(tests)
