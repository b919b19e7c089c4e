// SPDX-License-Identifier: MIT
/*
 * Bad input to the buffer object and context ioctls, one row for each error and
 * field. After each row the memory in use must be unchanged, and a good call
 * must still work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi.h"
#include "tsr.h"

struct state {
	uint64_t used[TSR_MAX_SEGMENTS];
	int objects;
};

static int count_lines(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static struct state take_state(struct tsr_device *dev)
{
	struct state s = { 0 };
	char *allocations = tsr_debugfs_read("allocations");

	for (uint32_t i = 0; i < dev->num_segs; i++)
		s.used[i] = tsr_query_memory(dev, dev->segs[i].id).used;
	s.objects = count_lines(allocations);
	free(allocations);
	return s;
}

static void same_state(struct tsr_device *dev, const struct state *before, const char *row)
{
	struct state now = take_state(dev);

	require_msg(now.objects == before->objects, "%s: %d lines of allocations, %d before", row,
		    now.objects, before->objects);
	for (uint32_t i = 0; i < dev->num_segs; i++)
		require_msg(now.used[i] == before->used[i], "%s: segment %u leaks", row,
			    dev->segs[i].id);
}

struct create_row {
	const char *name;
	struct drm_tessera_bo_create args;
	int err;
};

static void run_create_rows(struct tsr_device *dev, const struct create_row *rows, size_t count)
{
	struct state before = take_state(dev);

	for (size_t i = 0; i < count; i++) {
		struct drm_tessera_bo_create args = rows[i].args;
		struct tsr_bo good;
		int rc = __tsr_bo_create(dev->fd, &args);

		require_msg(rc == rows[i].err, "%s: %d (%s), not %d", rows[i].name, rc,
			    strerror(-rc), rows[i].err);
		same_state(dev, &before, rows[i].name);
		good = tsr_bo_new(dev, 4096, tsr_bit(tsr_seg_gart(dev)), 0);
		tsr_bo_free(dev, &good);
	}
}

/*
 * Sets of one segment each; @unknown is a segment that the device does not
 * have.
 */
struct sets {
	uint32_t vis, hid, ro, gart, unknown;
	uint8_t vis_id, hid_id;
};

static struct sets find_sets(struct tsr_device *dev)
{
	struct sets s = {
		.vis = tsr_bit(tsr_seg_visible(dev)),
		.hid = tsr_bit(tsr_seg_hidden(dev)),
		.ro = tsr_bit(tsr_seg_ro(dev)),
		.gart = tsr_bit(tsr_seg_gart(dev)),
		.vis_id = (uint8_t)tsr_seg_visible(dev)->id,
		.hid_id = (uint8_t)tsr_seg_hidden(dev)->id,
	};

	for (uint32_t id = 1; id < 32; id++) {
		bool known = false;

		for (uint32_t i = 0; i < dev->num_segs; i++)
			known |= dev->segs[i].id == id;
		if (!known)
			s.unknown = 1u << id;
	}
	require(s.unknown);
	return s;
}

static void bad_segments(void)
{
	struct tsr_device dev = tsr_open();
	const struct sets s = find_sets(&dev);
	const struct create_row rows[] = {
		{ "zero size", { .size = 0, .supported = s.vis }, -EINVAL },
		{ "size no multiple of a page", { .size = 4097, .supported = s.vis }, -EINVAL },
		{ "size wraps", { .size = ~0ull & ~4095ull, .supported = s.vis }, -E2BIG },
		{ "SEG-10 empty set", { .size = 4096 }, -EINVAL },
		{ "SEG-10 empty set, read only",
		  { .size = 4096, .flags = DRM_TESSERA_BO_GPU_READ_ONLY },
		  -EINVAL },
		{ "SEG-5 segment 0", { .size = 4096, .supported = 1 }, -EINVAL },
		{ "segment 0 beside a good one",
		  { .size = 4096, .supported = s.vis | 1 },
		  -EINVAL },
		{ "unknown segment", { .size = 4096, .supported = s.vis | s.unknown }, -EINVAL },
		{ "SEG-11 preference outside the set",
		  { .size = 4096,
		    .supported = s.vis,
		    .num_preferred = 1,
		    .preferred = { s.hid_id } },
		  -EINVAL },
		{ "preference given twice",
		  { .size = 4096,
		    .supported = s.vis,
		    .num_preferred = 2,
		    .preferred = { s.vis_id, s.vis_id } },
		  -EINVAL },
		{ "SEG-11 six preferences",
		  { .size = 4096,
		    .supported = s.vis,
		    .num_preferred = 6,
		    .preferred = { s.vis_id } },
		  -EINVAL },
		{ "preference 0",
		  { .size = 4096, .supported = s.vis, .num_preferred = 1 },
		  -EINVAL },
		{ "preference 32",
		  { .size = 4096, .supported = s.vis, .num_preferred = 1, .preferred = { 32 } },
		  -EINVAL },
		{ "preference 255",
		  { .size = 4096, .supported = s.vis, .num_preferred = 1, .preferred = { 255 } },
		  -EINVAL },
		{ "unused preference not zero",
		  { .size = 4096,
		    .supported = s.vis,
		    .num_preferred = 1,
		    .preferred = { s.vis_id, s.vis_id } },
		  -EINVAL },
		{ "preference in the padding",
		  { .size = 4096,
		    .supported = s.vis,
		    .num_preferred = 1,
		    .preferred = { s.vis_id, 0, 0, 0, 0, 1 } },
		  -EINVAL },
		{ "SEG-29 memory segment in the eviction set",
		  { .size = 4096, .supported = s.vis | s.gart, .evict_to = s.vis },
		  -EINVAL },
		{ "unknown segment in the eviction set",
		  { .size = 4096, .supported = s.vis | s.gart, .evict_to = s.gart | s.unknown },
		  -EINVAL },
	};

	run_create_rows(&dev, rows, ARRAY_SIZE(rows));
	tsr_close(&dev);
}

static void bad_flags(void)
{
	struct tsr_device dev = tsr_open();
	const struct sets s = find_sets(&dev);
	const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
	const struct create_row rows[] = {
		{ "flag bit 3", { .size = 4096, .supported = s.vis, .flags = 8 }, -EINVAL },
		{ "flag bit 31", { .size = 4096, .supported = s.vis, .flags = 1u << 31 }, -EINVAL },
		{ "cached without CPU access",
		  { .size = 4096, .supported = s.gart, .flags = DRM_TESSERA_BO_CPU_CACHED },
		  -EINVAL },
		{ "LOCK-18 CPU access in memory the CPU cannot see, no aperture",
		  { .size = 4096, .supported = s.hid, .flags = cpu },
		  -EINVAL },
		{ "LOCK-18 CPU access in visible and invisible memory, no aperture",
		  { .size = 4096, .supported = s.vis | s.hid, .flags = cpu },
		  -EINVAL },
		{ "SEG-20 only a read-only aperture, not GPU read-only",
		  { .size = 4096, .supported = s.ro },
		  -EINVAL },
	};

	run_create_rows(&dev, rows, ARRAY_SIZE(rows));
	tsr_close(&dev);
}

static void bad_layouts_and_sizes(void)
{
	struct tsr_device dev = tsr_open();
	const struct sets s = find_sets(&dev);
	const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
	const struct create_row rows[] = {
		{ "unknown layout",
		  { .size = 4096, .supported = s.hid, .layout = 3, .pitch = 128 },
		  -EINVAL },
		{ "swizzled without pitch",
		  { .size = 4096, .supported = s.hid, .layout = DRM_TESSERA_LAYOUT_TILE4K },
		  -EINVAL },
		{ "pitch 64",
		  { .size = 4096,
		    .supported = s.hid,
		    .layout = DRM_TESSERA_LAYOUT_TILE4K,
		    .pitch = 64 },
		  -EINVAL },
		{ "pitch 192",
		  { .size = 3 * 4096,
		    .supported = s.hid,
		    .layout = DRM_TESSERA_LAYOUT_MORTON,
		    .pitch = 192 },
		  -EINVAL },
		{ "size no multiple of 32 rows",
		  { .size = 3 * 4096,
		    .supported = s.hid,
		    .layout = DRM_TESSERA_LAYOUT_MORTON,
		    .pitch = 256 },
		  -EINVAL },
		{ "linear with a pitch",
		  { .size = 4096, .supported = s.hid, .pitch = 128 },
		  -EINVAL },
		{ "SWZ-17 swizzled, CPU access, aperture in the set",
		  { .size = 4096,
		    .supported = s.vis | s.gart,
		    .flags = cpu,
		    .layout = DRM_TESSERA_LAYOUT_TILE4K,
		    .pitch = 128 },
		  -EINVAL },
		{ "VM of a public one", { .size = 4096, .supported = s.vis, .vm = 1 }, -EINVAL },
		{ "larger than the segment",
		  { .size = tsr_seg_visible(&dev)->size + 4096, .supported = s.vis },
		  -E2BIG },
		{ "larger than each of two segments",
		  { .size = 1ull << 40, .supported = s.vis | s.hid },
		  -E2BIG },
	};

	run_create_rows(&dev, rows, ARRAY_SIZE(rows));
	tsr_close(&dev);
}

static void good_create(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t vis = tsr_bit(tsr_seg_visible(&dev));
	uint32_t hid = tsr_bit(tsr_seg_hidden(&dev));
	uint32_t ro = tsr_bit(tsr_seg_ro(&dev));
	uint32_t gart = tsr_bit(tsr_seg_gart(&dev));
	const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
	const struct create_row rows[] = {
		{ "one page", { .size = 4096, .supported = vis }, 0 },
		{ "the whole segment",
		  { .size = tsr_seg_visible(&dev)->size, .supported = vis },
		  0 },
		{ "invisible memory with an aperture, CPU access",
		  { .size = 4096, .supported = hid | gart, .flags = cpu },
		  0 },
		{ "read-only aperture, GPU read-only",
		  { .size = 4096, .supported = ro, .flags = DRM_TESSERA_BO_GPU_READ_ONLY },
		  0 },
		{ "evict to an aperture",
		  { .size = 4096, .supported = vis | gart, .evict_to = gart },
		  0 },
		{ "swizzled",
		  { .size = 8192,
		    .supported = vis,
		    .flags = cpu,
		    .layout = DRM_TESSERA_LAYOUT_MORTON,
		    .pitch = 256 },
		  0 },
	};
	struct state before = take_state(&dev);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_bo_create args = rows[i].args;
		struct drm_tessera_bo_info info;
		int rc = __tsr_bo_create(dev.fd, &args);

		require_msg(!rc && args.handle, "%s: %s", rows[i].name, strerror(-rc));
		require_ok(__tsr_bo_info(dev.fd, args.handle, &info));
		require_eq(info.size, rows[i].args.size);
		require_eq(info.flags, rows[i].args.flags);
		require_eq(info.supported, rows[i].args.supported);
		require_eq(info.layout, rows[i].args.layout);
		require_eq(info.pitch, rows[i].args.pitch);
		require_eq(info.segment, 0);
		require_eq(!!info.mmap_offset, !!(info.flags & cpu));
		require_ok(__tsr_bo_close(dev.fd, args.handle));
	}
	same_state(&dev, &before, "good rows");
	tsr_close(&dev);
}

static void bad_info_and_wait(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_gart(&dev)), 0);
	struct drm_tessera_bo_info info = { .handle = bo.handle, .pad = 1 };
	uint32_t stale;

	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_INFO, &info), -EINVAL);
	require_err(__tsr_bo_info(dev.fd, 0, &info), -ENOENT);
	require_err(__tsr_bo_info(dev.fd, 0x7fffffff, &info), -ENOENT);

	require_err(__tsr_bo_wait(dev.fd, bo.handle, 2, 0), -EINVAL);
	require_err(__tsr_bo_wait(dev.fd, bo.handle, 1u << 31, 0), -EINVAL);
	require_err(__tsr_bo_wait(dev.fd, 0, 0, 0), -ENOENT);
	require_err(__tsr_bo_wait(dev.fd, 0x7fffffff, 0, 0), -ENOENT);
	require_ok(__tsr_bo_wait(dev.fd, bo.handle, 0, 0));

	stale = bo.handle;
	tsr_bo_free(&dev, &bo);
	require_err(__tsr_bo_info(dev.fd, stale, &info), -ENOENT);
	require_err(__tsr_bo_wait(dev.fd, stale, 0, 0), -ENOENT);
	require_err(__tsr_bo_close(dev.fd, stale), -EINVAL);
	tsr_close(&dev);
}

static void bad_context(void)
{
	struct tsr_device dev = tsr_open();
	const uint32_t all = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL;
	const uint32_t rnd = DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM;
	uint32_t paging = 0;

	for (uint32_t i = 0; i < dev.num_engines; i++)
		if (dev.engines[i].type == DRM_TESSERA_ENGINE_PAGING)
			paging = dev.engines[i].id;

	const struct {
		const char *name;
		struct drm_tessera_context_create args;
	} rows[] = {
		{ "flag bit 3", { .flags = 8, .engine = dev.render } },
		{ "flag bit 31", { .flags = 1u << 31, .engine = dev.render } },
		{ "both force flags", { .flags = all | rnd, .engine = dev.render } },
		{ "seed without random split", { .split_seed = 1, .engine = dev.render } },
		{ "seed with split all", { .flags = all, .split_seed = 1, .engine = dev.render } },
		{ "unknown engine", { .engine = dev.num_engines + 8 } },
		{ "engine -1", { .engine = 0xffffffff } },
	};
	struct drm_tessera_context_destroy destroy = { .pad = 1 };
	uint32_t id;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct drm_tessera_context_create args = rows[i].args;
		int rc = __tsr_context_create(dev.fd, &args);

		require_msg(rc == -EINVAL, "%s: %d", rows[i].name, rc);
		tsr_context_free(&dev, tsr_context_new(&dev, 0));
	}
	if (paging != dev.render) {
		struct drm_tessera_context_create args = { .engine = paging };

		require_err(__tsr_context_create(dev.fd, &args), -EINVAL);
	}
	id = tsr_context_new(&dev, 0);
	destroy.id = id;
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_DESTROY, &destroy), -EINVAL);
	require_err(__tsr_context_destroy(dev.fd, 0), -ENOENT);
	require_err(__tsr_context_destroy(dev.fd, id + 1000), -ENOENT);
	tsr_context_free(&dev, id);
	require_err(__tsr_context_destroy(dev.fd, id), -ENOENT);
	tsr_close(&dev);
}

/*
 * Output fields may hold anything on input, so that a caller can reuse a
 * struct.
 */
static void out_fields_are_ignored(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_bo_create create = {
		.size = 4096,
		.supported = tsr_bit(tsr_seg_gart(&dev)),
		.handle = 0xdeadbeef,
	};
	struct drm_tessera_context_create context = { .engine = dev.render, .id = 0xdeadbeef };
	struct drm_tessera_bo_info info, again;
	uint32_t first;

	require_ok(__tsr_bo_create(dev.fd, &create));
	first = create.handle;
	require_ok(__tsr_bo_create(dev.fd, &create));
	require(create.handle && create.handle != first);
	require_ok(__tsr_context_create(dev.fd, &context));
	first = context.id;
	require_ok(__tsr_context_create(dev.fd, &context));
	require(context.id && context.id != first);

	require_ok(__tsr_bo_info(dev.fd, create.handle, &info));
	memset(&again, 0xff, sizeof(again));
	again.handle = create.handle;
	again.pad = 0;
	require_ok(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_INFO, &again));
	require(!memcmp(&info, &again, sizeof(info)));
	tsr_close(&dev);
}

static const uint32_t force_flags[] = { DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL,
					DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM };

/* Forced cuts slow down other clients, so they need privilege. */
static void forced_splits_need_privilege(void)
{
	struct tsr_device dev = tsr_open();
	struct drm_tessera_context_create args;

	for (size_t i = 0; i < ARRAY_SIZE(force_flags); i++) {
		args = (struct drm_tessera_context_create){ .engine = dev.render,
							    .flags = force_flags[i] };
		require_ok(__tsr_context_create(dev.fd, &args));
	}
	require(!setuid(65534));
	for (size_t i = 0; i < ARRAY_SIZE(force_flags); i++) {
		args = (struct drm_tessera_context_create){ .engine = dev.render,
							    .flags = force_flags[i] };
		require_err(__tsr_context_create(dev.fd, &args), -EPERM);
	}
	args = (struct drm_tessera_context_create){ .engine = dev.render };
	require_ok(__tsr_context_create(dev.fd, &args));
	tsr_close(&dev);
}

/* The number of contexts is bounded: the call fails with -ENOSPC. */
static void too_many_contexts(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t count = 0;
	int rc = 0;

	while (count < 100000) {
		struct drm_tessera_context_create args = { .engine = dev.render };

		rc = __tsr_context_create(dev.fd, &args);
		if (rc)
			break;
		count++;
	}
	require_eq(rc, -ENOSPC);
	require(count >= 16);
	tap_note("%u contexts", count);
	tsr_close(&dev);

	dev = tsr_open();
	tsr_context_free(&dev, tsr_context_new(&dev, 0));
	tsr_close(&dev);
}

/* Unassigned ioctl numbers return -EINVAL, bad user pointers -EFAULT. */
static void bad_ioctls(void)
{
	struct tsr_device dev = tsr_open();
	uint8_t arg[256] = { 0 };
	bool known[0x60] = { 0 };

#define KNOWN(name, number) known[DRM_TESSERA_##name] = true;
	TSR_ABI_NUMBERS(KNOWN)
#undef KNOWN
	for (unsigned int nr = 0; nr < ARRAY_SIZE(known); nr++)
		if (!known[nr])
			require_err(tsr_ioctl(dev.fd, DRM_IOWR(DRM_COMMAND_BASE + nr, uint8_t[64]),
					      arg),
				    -EINVAL);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_QUERY, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_CREATE, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_INFO, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_WAIT, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_CREATE, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_CONTEXT_DESTROY, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_SUBMIT, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_LOCK, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_UNLOCK, (void *)8), -EFAULT);
	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_TESSERA_BO_CREATE_TWINS, (void *)8), -EFAULT);
	tsr_close(&dev);
}

/*
 * SEG-16: mmap() accepts only the offsets of the client's own buffer objects.
 */
static void bad_mmap(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_bo bo =
		tsr_bo_new(&dev, 8192, tsr_bit(tsr_seg_visible(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	struct tsr_device other = tsr_open();
	off_t offset = (off_t)tsr_bo_info(&dev, &bo).mmap_offset;
	const int prot = PROT_READ | PROT_WRITE;
	struct tsr_bo hidden = tsr_bo_new(&dev, 8192, tsr_bit(tsr_seg_hidden(&dev)), 0);

	require(mmap(NULL, 4096, prot, MAP_SHARED, dev.fd, 0) == MAP_FAILED);
	require(mmap(NULL, 4096, prot, MAP_SHARED, dev.fd, 0x80000000) == MAP_FAILED);
	require(mmap(NULL, 16384, prot, MAP_SHARED, dev.fd, offset) == MAP_FAILED);
	require(mmap(NULL, 8192, prot, MAP_SHARED, dev.fd, offset + 4096) == MAP_FAILED);
	/*
	 * A private writable mapping would not follow the object when it moves.
	 */
	require(mmap(NULL, 8192, prot, MAP_PRIVATE, dev.fd, offset) == MAP_FAILED);
	/*
	 * An object without CPU access has an mmap offset, too. Guessing it
	 * must not help.
	 */
	require_eq(tsr_bo_info(&dev, &hidden).mmap_offset, 0);
	for (off_t guess = offset - MiB(1); guess < offset + (off_t)MiB(1); guess += 4096)
		require(guess == offset ||
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, dev.fd, guess) == MAP_FAILED);
	/* Another client does not own the object. */
	require(mmap(NULL, 8192, prot, MAP_SHARED, other.fd, offset) == MAP_FAILED);
	require(tsr_bo_map(&dev, &bo));
	tsr_close(&other);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SEG-5 SEG-10 SEG-11 SEG-29 ERR-39 BO_CREATE refuses bad sets", bad_segments, 0, 0 },
	{ "SEG-20 LOCK-18 ERR-35 ERR-36 BO_CREATE refuses bad flags", bad_flags, 0, 0 },
	{ "SWZ-17 ERR-40 BO_CREATE refuses bad layouts and sizes", bad_layouts_and_sizes, 0, 0 },
	{ "BO_CREATE takes each good kind, BO_INFO repeats it", good_create, 0, 0 },
	{ "BO_INFO and BO_WAIT refuse bad input", bad_info_and_wait, 0, 0 },
	{ "CONTEXT_CREATE and CONTEXT_DESTROY refuse bad input", bad_context, 0, 0 },
	{ "[out] fields are ignored on input", out_fields_are_ignored, 0, 0 },
	{ "CONTEXT_CREATE forces cuts for the administrator only", forced_splits_need_privilege, 0,
	  0 },
	{ "CONTEXT_CREATE is bounded", too_many_contexts, 0, 0 },
	{ "unknown ioctls and bad pointers", bad_ioctls, 0, 0 },
	{ "SEG-16 ERR-43 mmap reaches the client's own objects only", bad_mmap, 0, 0 },
};

TSR_TEST_MAIN(tests)
