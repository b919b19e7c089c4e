// SPDX-License-Identifier: MIT
/*
 * The BAR of VRAM has a second, larger size, and the driver resizes it when it
 * binds to the device. The CPU must then reach hidden memory through the BAR,
 * or through the host aperture if the BAR could not be resized. In both cases
 * it must read and write the same bytes as the GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pci.h"
#include "trace.h"
#include "tsr.h"

#define HIDDEN 2 /* id of the second VRAM segment */

struct bar {
	uint64_t bytes;
	bool shows_all; /* of VRAM to the CPU */
};

/* The BAR that each device of test-rebar.args has to get. */
static struct bar expected_bar(void)
{
	if (!tsr_device_has("resizable-bar=on") || tsr_device_has("resizable-bar-size=512G"))
		return (struct bar){ MiB(32), false };
	if (tsr_device_has("resizable-bar-size=64M"))
		return (struct bar){ MiB(64), false };
	return (struct bar){ MiB(128), true };
}

static uint64_t bar_bytes(void)
{
	unsigned long long first, last;
	char *text = tsr_read_file(tsr_pci_path("resource")), *line;

	require(text);
	line = text;
	for (int i = 0; i < TSR_BAR_VRAM; i++)
		line = strchr(line, '\n') + 1;
	require(sscanf(line, "%llx %llx", &first, &last) == 2);
	free(text);
	return last - first + 1;
}

/*
 * An object that fills hidden memory. The CPU reads the last word that the GPU
 * wrote, writes it through the expected mapping, and the GPU reads it back. No
 * paging operation may be needed.
 */
static void check_hidden(struct tsr_device *dev)
{
	const struct drm_tessera_query_segment *seg = tsr_seg_by_id(dev, HIDDEN);
	uint32_t ctx = tsr_context_new(dev, 0), last = (uint32_t)(seg->size / 4) - 1, word;
	struct tsr_bo bo = tsr_bo_prefers(dev, seg->size, seg, tsr_bit(tsr_seg_gart(dev)),
					  DRM_TESSERA_BO_CPU_ACCESS);
	const struct bar bar = expected_bar();
	struct tsr_trace trace;

	tsr_bo_map(dev, &bo);
	tsr_gpu_fill(dev, ctx, &bo, 0x5a5a0001);
	require_eq(tsr_bo_info(dev, &bo).segment, HIDDEN);
	tsr_trace_start("cpu_fault", "paging_op", NULL);
	require_eq(((uint32_t *)bo.map)[last], 0x5a5a0001);
	((uint32_t *)bo.map)[last] = 0x5a5a0002;
	trace = tsr_trace_stop();
	require_eq(tsr_trace_faulted(&trace, "bar"), bar.shows_all);
	require_eq(tsr_trace_faulted(&trace, "host-aperture"), !bar.shows_all);
	require(!tsr_trace_faulted(&trace, "system"));
	require_eq(tsr_trace_count(&trace, "paging_op"), 0);
	tsr_trace_free(&trace);
	tsr_gpu_read(dev, ctx, &bo, last, 1, &word);
	require_eq(word, 0x5a5a0002);
	tsr_bo_free(dev, &bo);
	tsr_context_free(dev, ctx);
}

static void resized(void)
{
	const struct bar bar = expected_bar();
	struct tsr_device dev = tsr_open();

	require_eq(bar_bytes(), bar.bytes);
	require_eq(!!(tsr_seg_by_id(&dev, HIDDEN)->flags & DRM_TESSERA_SEGMENT_CPU_VISIBLE),
		   bar.shows_all);
	check_hidden(&dev);
	tsr_close(&dev);
}

/* The BAR keeps its size while no driver is bound. */
static void bound_again(void)
{
	const struct bar bar = expected_bar();
	struct tsr_device dev;

	tsr_pci_begin();
	tsr_pci_unbind();
	require_eq(bar_bytes(), bar.bytes);
	tsr_pci_bind();
	require_eq(bar_bytes(), bar.bytes);
	dev = tsr_open();
	check_hidden(&dev);
	tsr_close(&dev);
}

/* A function reset loses the BAR's size, and the kernel restores it. */
static void reset(void)
{
	const struct bar bar = expected_bar();
	struct tsr_device dev;

	tsr_pci_can_reset();
	tsr_pci_reset();
	require_eq(bar_bytes(), bar.bytes);
	dev = tsr_open();
	check_hidden(&dev);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "CHA-1 CHA-11 the CPU sees hidden memory", resized, 0, 0 },
	{ "CHA-11 the size of the BAR when another driver takes over", bound_again, TSR_NO_DEVICE,
	  0 },
	{ "CHA-11 the size of the BAR after a reset", reset, 0, 0 },
};

TSR_TEST_MAIN(tests)
