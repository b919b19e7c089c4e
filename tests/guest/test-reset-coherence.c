// SPDX-License-Identifier: MIT
/*
 * A function reset on a device that does not snoop (test-reset-coherence.args):
 * the driver has to maintain caches by itself. The CPU must see all bytes that
 * the GPU wrote, also if it reads them during the reset.
 */
#include <pthread.h>
#include <unistd.h>

#include "pci.h"

static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define BYTES KiB(16)
#define OBJECTS 256

static struct tsr_bo bos[OBJECTS];
static volatile bool is_over;
static uint32_t looked_at; /* before the reset was over */
static uint32_t stale;

/* One access that faults on each object, spread over the time of the reset. */
static void *look(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		looked_at += !is_over;
		stale += *(volatile uint32_t *)bos[i].map != 100 + i;
		usleep(1000);
	}
	return NULL;
}

/*
 * The device takes no commands during a reset, so cache maintenance cannot rely
 * on it. No word may be stale.
 */
static void bytes_are_seen(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev)), ctx = tsr_context_new(&dev, 0);
	pthread_t thread;

	require(!(dev.info.caps & DRM_TESSERA_CAP_IO_COHERENT));
	for (uint32_t i = 0; i < OBJECTS; i++) {
		bos[i] = tsr_bo_new(&dev, BYTES, gart, cached);
		tsr_bo_map(&dev, &bos[i]);
		tsr_pattern_write(&bos[i], i);
		tsr_gpu_fill(&dev, ctx, &bos[i], 100 + i);
		/* evict the first half, so that only system pages hold it */
		if (i == OBJECTS / 2)
			tsr_evict_set(gart);
	}
	require(!pthread_create(&thread, NULL, look, NULL));
	tsr_pci_reset();
	is_over = true;
	require(!pthread_join(thread, NULL));
	require(looked_at > 0);
	require_eq(stale, 0);
	for (uint32_t i = 0; i < OBJECTS; i++)
		tsr_words_check(bos[i].map, BYTES / 4, 100 + i);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "COH-4 COH-7 the CPU sees the GPU's writes after a function reset", bytes_are_seen, 0,
	  60 },
};

TSR_TEST_MAIN(tests)
