// SPDX-License-Identifier: MIT
/*
 * What the driver reports about the device: SEG-1..6, SEG-12, SEG-18..21. Each
 * test compares QUERY with the device's registers, with debugfs and fdinfo, or
 * with what the objects of the test must have changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pci.h"
#include "stall.h"
#include "tsr.h"

static void open_without_segments_impossible(void)
{
	struct tsr_device dev = tsr_open();
	char *segments = tsr_debugfs_read("segments"), line[160];

	/* the segments exist as soon as the node can be opened */
	require(dev.num_segs >= 1);
	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i];

		snprintf(line, sizeof(line),
			 "segment %u %s base 0x%llx size %llu commit %llu page %u ", seg->id,
			 seg->name, (unsigned long long)seg->gpu_base,
			 (unsigned long long)seg->size, (unsigned long long)seg->commit_limit,
			 seg->page_size);
		require_msg(strstr(segments, line), "no '%s' in debugfs segments", line);
	}
	free(segments);
	tsr_close(&dev);
}

static void descriptors_are_sane(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t base = TSR_SEG_FIRST_BASE;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *s = &dev.segs[i];

		require(s->id >= 1 && s->id <= 31);
		require_msg(!(seen & 1u << s->id), "segment id %u twice", s->id);
		seen |= 1u << s->id;
		require(s->page_size == 4096 || s->page_size == 65536);
		require(s->size && s->size % s->page_size == 0);
		/* the addresses that the device's specification gives them */
		require_eq(s->gpu_base, base);
		base = (base + s->size + TSR_SEG_BASE_ALIGN - 1) & ~(TSR_SEG_BASE_ALIGN - 1ull);
		require(s->commit_limit && s->commit_limit <= s->size);
		if (!(s->flags & DRM_TESSERA_SEGMENT_APERTURE)) {
			require_eq(s->commit_limit, s->size);
			require(!(s->flags & DRM_TESSERA_SEGMENT_CACHE_COHERENT));
			require(!(s->flags & DRM_TESSERA_SEGMENT_GPU_READ_ONLY));
		}
		require_eq(s->pad, 0);
		require(memchr(s->name, 0, sizeof(s->name)) && s->name[0]);
	}
	for (uint32_t i = 1; i < dev.num_segs; i++)
		require(dev.segs[i - 1].id < dev.segs[i].id);
	tsr_close(&dev);
}

static void segments_do_not_overlap(void)
{
	struct tsr_device dev = tsr_open();

	for (uint32_t i = 0; i < dev.num_segs; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct drm_tessera_query_segment *a = &dev.segs[i], *b = &dev.segs[j];

			require(a->gpu_base + a->size <= b->gpu_base ||
				b->gpu_base + b->size <= a->gpu_base);
		}
	tsr_close(&dev);
}

static void the_four_kinds_are_there(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *vis = tsr_seg_visible(&dev);
	const struct drm_tessera_query_segment *hid = tsr_seg_hidden(&dev);
	const struct drm_tessera_query_segment *ro = tsr_seg_ro(&dev);
	const struct drm_tessera_query_segment *gart = tsr_seg_gart(&dev);

	require(vis->id != hid->id && ro->id != gart->id);
	tap_note("%s %llu MiB, %s %llu MiB, %s %llu MiB, %s %llu MiB", vis->name,
		 (unsigned long long)(vis->size >> 20), hid->name,
		 (unsigned long long)(hid->size >> 20), ro->name,
		 (unsigned long long)(ro->size >> 20), gart->name,
		 (unsigned long long)(gart->size >> 20));
	tsr_close(&dev);
}

/*
 * The segments reported to a file equal those in the device's registers, before
 * and after device memory was filled and emptied.
 */
static void the_table_never_changes(void)
{
	struct tsr_registers regs = (tsr_pci_begin(), tsr_pci_registers());
	struct tsr_device before = tsr_pci_open(), after;
	const struct drm_tessera_query_segment *seg = tsr_seg_visible(&before);
	uint32_t ctx = tsr_context_new(&before, 0), all = 0;
	struct tsr_bo bo;

	tsr_pci_same_segments(&regs, &before);
	for (int i = 0; i < 8; i++) {
		bo = tsr_bo_new(&before, seg->size, tsr_bit(seg), 0);
		tsr_gpu_fill(&before, ctx, &bo, (uint32_t)i);
		tsr_bo_free(&before, &bo);
	}
	for (uint32_t i = 0; i < before.num_segs; i++)
		all |= tsr_bit(&before.segs[i]);
	tsr_evict_set(all);
	after = tsr_pci_open();
	tsr_pci_same_segments(&regs, &after);
	tsr_close(&after);
	tsr_close(&before);
}

/* The rules for the query array: strides, counts, and a missing array. */
static void array_rules(void)
{
	struct tsr_device dev = tsr_open();
	uint8_t buf[64 * sizeof(struct drm_tessera_query_segment)];
	struct drm_tessera_query args;
	const uint32_t ids[] = { DRM_TESSERA_QUERY_DEVICE, DRM_TESSERA_QUERY_SEGMENTS,
				 DRM_TESSERA_QUERY_ENGINES, DRM_TESSERA_QUERY_MEMORY };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		uint32_t stride, count;

		args = (struct drm_tessera_query){ .id = ids[i] };
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &args));
		stride = args.data.stride;
		count = args.data.count;
		require(stride >= 8 && count >= 1);

		/* elements longer than the kernel's: the tail is zeroed */
		memset(buf, 0x5a, sizeof(buf));
		args.data.stride = stride + 8;
		args.data.count = 1;
		args.data.array = (uintptr_t)buf;
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &args));
		require_eq(args.data.count, 1);
		for (uint32_t b = stride; b < stride + 8; b++)
			require_eq(buf[b], 0);
		require_eq(buf[stride + 8], 0x5a);

		/*
		 * shorter elements: truncated, nothing is written beyond them
		 */
		memset(buf, 0x5a, sizeof(buf));
		args.data.stride = 8;
		args.data.count = 1;
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &args));
		require_eq(buf[8], 0x5a);

		/* a larger count than there are elements */
		args.data.stride = stride;
		args.data.count = count + 16;
		require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &args));
		require_eq(args.data.count, count);
	}
	tsr_close(&dev);
}

static void bad_queries(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_query_segment seg;
	const struct {
		struct drm_tessera_query args;
		int err;
	} rows[] = {
		{ { .id = DRM_TESSERA_QUERY_CLIENT + 1 }, -EINVAL },
		{ { .id = 0xffffffff }, -EINVAL },
		{ { .id = DRM_TESSERA_QUERY_SEGMENTS, .pad = 1 }, -EINVAL },
		{ { .id = DRM_TESSERA_QUERY_SEGMENTS,
		    .data = { .stride = 0, .count = 1, .array = (uintptr_t)&seg } },
		  -EINVAL },
		{ { .id = DRM_TESSERA_QUERY_SEGMENTS,
		    .data = { .stride = sizeof(seg), .count = 1, .array = 8 } },
		  -EFAULT },
		{ { .id = DRM_TESSERA_QUERY_DEVICE,
		    .data = { .stride = 96, .count = 1, .array = ~0ull << 12 } },
		  -EFAULT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_query args = rows[i].args;
		int rc = tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, &args);

		require_msg(rc == rows[i].err, "row %zu: %d, not %d", i, rc, rows[i].err);
	}
	tsr_close(&dev);
}

static void memory_figures(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct drm_tessera_query_memory before = tsr_query_memory(&dev, seg->id);
	struct tsr_bo bo = tsr_bo_new(&dev, MiB(1), tsr_bit(seg), 0);
	struct drm_tessera_query_memory after;
	char key[64];

	require_eq(before.total, seg->commit_limit);
	require_eq(before.client_used, 0);
	tsr_gpu_fill(&dev, ctx, &bo, 1);
	after = tsr_query_memory(&dev, seg->id);
	require_eq(after.client_used, MiB(1));
	require(after.used >= MiB(1) && after.used <= after.total);
	require(after.client_share > 0 && after.client_share <= after.total);
	snprintf(key, sizeof(key), "drm-resident-%s", seg->name);
	require_eq(tsr_fdinfo(&dev, key), MiB(1));
	tsr_bo_free(&dev, &bo);
	tsr_wait_for(!tsr_query_memory(&dev, seg->id).client_used);
	tsr_close(&dev);
}

static int64_t fdinfo_segment(struct tsr_device *dev, const char *what,
			      const struct drm_tessera_query_segment *seg)
{
	char key[64];

	snprintf(key, sizeof(key), "drm-%s-%s", what, seg ? (const char *)seg->name : "system");
	return tsr_fdinfo(dev, key);
}

/*
 * drm-total of a segment counts all objects that prefer it, resident or not.
 * Objects that are not resident also count as system memory.
 */
static void totals_follow_objects(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	const struct drm_tessera_query_segment *segs[] = { tsr_seg_visible(&dev),
							   tsr_seg_hidden(&dev),
							   tsr_seg_gart(&dev) };
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bos[3][2];
	int64_t system = 0;

	for (int i = 0; i < 3; i++)
		require_eq(fdinfo_segment(&dev, "total", segs[i]), 0);
	for (int n = 0; n < 2; n++) {
		for (int i = 0; i < 3; i++) {
			int64_t before = fdinfo_segment(&dev, "total", segs[i]);
			uint64_t size = KiB(64) << i;

			bos[i][n] = tsr_bo_new(&dev, size, tsr_bit(segs[i]), 0);
			system += (int64_t)size;
			require_eq(fdinfo_segment(&dev, "total", segs[i]), before + (int64_t)size);
			require_eq(fdinfo_segment(&dev, "total", NULL), system);
		}
	}
	/* residency changes drm-resident and system memory only */
	for (int i = 0; i < 3; i++) {
		tsr_gpu_touch(&dev, ctx, &bos[i][0]);
		system -= (int64_t)bos[i][0].size;
		require_eq(fdinfo_segment(&dev, "total", segs[i]), 2 * (KiB(64) << i));
		require_eq(fdinfo_segment(&dev, "resident", segs[i]), KiB(64) << i);
		require_eq(fdinfo_segment(&dev, "total", NULL), system);
		require_eq(fdinfo_segment(&other, "total", segs[i]), 0);
	}
	for (int n = 0; n < 2; n++) {
		for (int i = 0; i < 3; i++) {
			int64_t left = (int64_t)(KiB(64) << i) * (1 - n);

			tsr_bo_free(&dev, &bos[i][n]);
			/* a worker destroys objects that were just in use */
			tsr_wait_for(fdinfo_segment(&dev, "total", segs[i]) == left);
		}
	}
	require_eq(fdinfo_segment(&dev, "total", NULL), 0);
	tsr_close(&other);
	tsr_close(&dev);
}

static void engines_and_limits(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t render = 0;

	for (uint32_t i = 0; i < dev.num_engines; i++)
		render += dev.engines[i].type == DRM_TESSERA_ENGINE_RENDER;
	require_eq(render, dev.info.num_engines);
	require(dev.num_engines > render); /* plus the paging engine */
	require(dev.info.max_slots >= 1 && dev.info.max_slots <= TSR_MAX_SLOTS);
	require(dev.info.max_allocs >= 1024 && dev.info.max_patches >= 1024);
	require(dev.info.max_cmd_bytes >= 4096 && dev.info.max_syncs >= 16);
	require_eq(dev.info.page_size, 4096);
	require(dev.info.max_contexts >= 16 && dev.info.max_fences >= 16);
	require(dev.info.job_timeout_ms > 0);
	require(dev.info.caps & DRM_TESSERA_CAP_PREEMPTION);
	/* no gate on a device that preempts; test-stall covers others */
	require_eq(dev.info.group_timeout_ms, 0);
	require(dev.info.caps & DRM_TESSERA_CAP_SPLIT);
	require(dev.info.caps & DRM_TESSERA_CAP_VM);
	require_eq(dev.info.hw_version >> 16, TSR_ID_VERSION_VALUE >> 16);
	require(dev.info.timestamp_ns > 0);
	tsr_close(&dev);
}

/*
 * Memory in no segment, which holds the microcode. No reported segment covers
 * it, no segment counts it as used, and all of each segment can still be
 * allocated.
 */
static void hidden_memory_is_in_no_list(void)
{
	struct tsr_registers regs = (tsr_pci_begin(), tsr_pci_registers());
	struct tsr_device dev = tsr_pci_open();
	uint64_t end = regs.hidden_base + regs.hidden_size;
	uint32_t ctx = tsr_context_new(&dev, 0);

	require(regs.hidden_base && regs.hidden_size >= TSR_FW_BYTES);
	tsr_gpu_blit(&dev, ctx);
	for (uint32_t i = 0; i < dev.num_segs; i++) {
		const struct drm_tessera_query_segment *seg = &dev.segs[i];

		require_msg(seg->gpu_base >= end || seg->gpu_base + seg->size <= regs.hidden_base,
			    "segment %u reaches the memory in no segment", seg->id);
		require_eq(tsr_query_memory(&dev, seg->id).used, 0);
		require_eq(tsr_query_memory(&dev, seg->id).total, seg->commit_limit);
	}
	tsr_close(&dev);
}

#define SIZE 16u /* width and height of the picture */

/*
 * Blends a triangle of half transparent green over red in each blend mode. The
 * microcode defines the modes and the layout of a vertex, so wrong microcode
 * gives wrong pixels.
 */
static void draw_exactly(struct tsr_device *dev, uint32_t ctx)
{
	static const struct {
		uint32_t mode, color, want;
	} rows[] = {
		{ TSR_BLEND_NONE, 0x8000ff00, 0x8000ff00 },
		{ TSR_BLEND_ALPHA, 0x8000ff00, 0xff7f8000 },
		{ TSR_BLEND_PREMULTIPLIED, 0x80008000, 0xff7f8000 },
	};
	const struct tsr_surface surface = {
		.format = TSR_FORMAT_ARGB8888,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.pitch = 4 * SIZE,
		.width = SIZE,
		.height = SIZE,
	};
	const int32_t corners[3][2] = { { 0, 0 }, { 2 * SIZE * 256, 0 }, { 0, SIZE / 2 * 256 } };
	const uint32_t gart = tsr_bit(tsr_seg_gart(dev));
	struct tsr_bo vertices = tsr_bo_new(dev, 4096, gart, DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_bo bo = tsr_bo_new(dev, 4096, gart, 0);
	uint32_t words[SIZE * SIZE], *p, *v = tsr_bo_map(dev, &vertices);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tsr_cmd cmd;

		memset(v, 0, 3 * TSR_VERTEX_BYTES);
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t *vertex = v + k * TSR_VERTEX_BYTES / 4;

			vertex[TSR_VERTEX_X / 4] = (uint32_t)corners[k][0];
			vertex[TSR_VERTEX_Y / 4] = (uint32_t)corners[k][1];
			vertex[TSR_VERTEX_COLOR / 4] = rows[i].color;
		}
		tsr_gpu_fill(dev, ctx, &bo, 0xffff0000);
		tsr_cmd_init(&cmd);
		tsr_cmd_bind(&cmd, 0, &bo, &surface);
		tsr_cmd_bind_buffer(&cmd, 1, &vertices, false);
		p = tsr_cmd_packet(&cmd, TSR_OP_SET_STATE, 0, 2 + TSR_STATE_COUNT + 1);
		p[1] = TSR_STATE_TARGET_SLOT | TSR_STATE_COUNT << 16;
		p[2 + TSR_STATE_SCISSOR_MAX] = SIZE | SIZE << 16;
		p[2 + TSR_STATE_BLEND] = rows[i].mode;
		p[2 + TSR_STATE_COLOR] = 0xffffffff;
		p = tsr_cmd_packet(&cmd, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS);
		p[1] = 1;
		p[3] = 3;
		tsr_submit_done(dev, ctx, &cmd);
		tsr_cmd_fini(&cmd);
		tsr_gpu_read(dev, ctx, &bo, 0, ARRAY_SIZE(words), words);
		/* the long edge runs from row 8 at the left to row 4, right */
		require_eq(words[0], rows[i].want);
		require_eq(words[3 * SIZE + SIZE - 1], rows[i].want);
		tsr_words_check(words + SIZE / 2 * SIZE, SIZE / 2 * SIZE, 0xffff0000);
	}
	tsr_bo_free(dev, &bo);
	tsr_bo_free(dev, &vertices);
}

/*
 * Every context of every client draws correctly, before and after all memory
 * was evicted: the microcode is always resident.
 */
static void microcode_is_there_for_all(void)
{
	struct tsr_device dev[2] = { tsr_open(), tsr_open() };
	uint32_t ctx[4], all = 0;

	for (uint32_t i = 0; i < dev[0].num_segs; i++)
		all |= tsr_bit(&dev[0].segs[i]);
	for (uint32_t i = 0; i < 4; i++) {
		ctx[i] = tsr_context_new(&dev[i % 2], 0);
		tsr_gpu_blit(&dev[i % 2], ctx[i]);
		draw_exactly(&dev[i % 2], ctx[i]);
	}
	tsr_evict_set(all);
	for (uint32_t i = 0; i < 4; i++) {
		tsr_gpu_blit(&dev[i % 2], ctx[i]);
		draw_exactly(&dev[i % 2], ctx[i]);
	}
	tsr_close(&dev[0]);
	tsr_close(&dev[1]);
}

static const struct tap_test tests[] = {
	{ "SEG-1 segments exist before the first allocation", open_without_segments_impossible, 0,
	  0 },
	{ "SEG-3 SEG-5 SEG-23 SEG-24 descriptors: ids, sizes, flags", descriptors_are_sane, 0, 0 },
	{ "SEG-6 segments do not overlap", segments_do_not_overlap, 0, 0 },
	{ "SEG-18 SEG-19 SEG-20 SEG-21 all four kinds are offered", the_four_kinds_are_there, 0,
	  0 },
	{ "SEG-3 SEG-4 the segment table is the device's, after stress, too",
	  the_table_never_changes, 0, 0 },
	{ "SEG-3 query: short, long and missing arrays", array_rules, 0, 0 },
	{ "query: bad arguments", bad_queries, 0, 0 },
	{ "query and fdinfo: memory figures follow an object", memory_figures, 0, 0 },
	{ "fdinfo: totals follow objects as they come and go", totals_follow_objects, 0, 0 },
	{ "query: engines and limits", engines_and_limits, 0, 0 },
	{ "SEG-12 SEG-14 memory in no segment is in no list", hidden_memory_is_in_no_list, 0, 0 },
	{ "SEG-14 microcode draws the same in every context", microcode_is_there_for_all, 0, 0 },
};

TSR_TEST_MAIN(tests)
