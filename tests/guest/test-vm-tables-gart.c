// SPDX-License-Identifier: MIT
/*
 * Page tables of a device with hardly any memory: the tables are in system
 * pages, which the paging engine writes and the GPU reads.
 */
#include "resident.h"
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

static const struct tap_test tests[] = {
	{ "SEG-33 page tables in an aperture", in_an_aperture, 0, 0 },
};

TSR_TEST_MAIN(tests)
