// SPDX-License-Identifier: MIT
/*
 * Scattered placement: objects that are private to a VM take any free pages,
 * their bytes stay in order wherever they go, and objects that allocation lists
 * may name find a contiguous place beside them. Memory is small: 8 MiB visible
 * to the CPU and 8 MiB hidden from it, 2048 pages each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "resident.h"
#include "trace.h"
#include "vm.h"

static const uint32_t cpu = DRM_TESSERA_BO_CPU_ACCESS;
static const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;

#define AT 0x100000000ull
#define PAGE KiB(4)

/* A VM with a context, and an object through which the CPU sees bytes. */
struct stage {
	struct tsr_device dev;
	struct tsr_vm vm;
	struct tsr_bo show;
	struct drm_tessera_query_segment seg; /* the segment under test */
	uint32_t set;
};

static void stage_init(struct stage *s)
{
	s->dev = tsr_open();
	s->vm = tsr_vm_open(&s->dev);
	s->seg = *tsr_seg_hidden(&s->dev);
	s->set = tsr_bit(&s->seg);
	s->show = tsr_vm_stage_new(&s->vm, MiB(1));
}

static void stage_fini(struct stage *s)
{
	tsr_bo_free(&s->dev, &s->show);
	tsr_vm_close(&s->vm);
	tsr_close(&s->dev);
}

static struct tsr_bo new_flags(struct stage *s, uint64_t size, uint32_t set, uint32_t flags)
{
	struct drm_tessera_bo_create args = {
		.size = size,
		.supported = set,
		.flags = DRM_TESSERA_BO_VM_PRIVATE | flags,
		.vm = s->vm.id,
		.num_preferred = set & s->set ? 1 : 0,
		.preferred = { (uint8_t)s->seg.id },
	};

	require_ok(__tsr_bo_create(s->dev.fd, &args));
	return (struct tsr_bo){ .handle = args.handle, .size = size };
}

static struct tsr_bo new_bo(struct stage *s, uint64_t size)
{
	return new_flags(s, size, s->set, 0);
}

static void map_at(struct stage *s, const struct tsr_bo *bo, uint64_t address)
{
	tsr_vm_map(&s->dev, s->vm.id, bo, 0, address, bo->size, 0);
}

/*
 * Number of extents of the object of this size. The test must give its objects
 * a size that no other object has.
 */
static uint32_t extents_of(uint64_t size)
{
	char *text = tsr_debugfs_read("allocations"), key[64], *line;
	uint32_t runs = 0;

	snprintf(key, sizeof(key), " size %llu segment ", (unsigned long long)size);
	line = strstr(text, key);
	require(line);
	line = strstr(line, " runs ");
	require(line && sscanf(line, " runs %u", &runs) == 1);
	free(text);
	return runs;
}

/* Each word identifies its object and its index. */
static void write_key(struct stage *s, uint64_t address, uint64_t bytes, uint32_t key)
{
	for (uint64_t done = 0; done < bytes; done += s->show.size) {
		uint64_t part = bytes - done < s->show.size ? bytes - done : s->show.size;
		uint32_t *words = s->show.map;

		for (uint64_t i = 0; i < part / 4; i++)
			words[i] = tsr_pattern(key, done / 4 + i);
		tsr_vm_copy(&s->vm, address + done, TSR_VM_STAGE, part);
	}
}

static void check_key(struct stage *s, uint64_t address, uint64_t bytes, uint32_t key)
{
	for (uint64_t done = 0; done < bytes; done += s->show.size) {
		uint64_t part = bytes - done < s->show.size ? bytes - done : s->show.size;
		const uint32_t *words = s->show.map;

		memset(s->show.map, 0, part);
		tsr_vm_copy(&s->vm, TSR_VM_STAGE, address + done, part);
		for (uint64_t i = 0; i < part / 4; i++)
			tsr_pattern_require(words[i], key, done / 4 + i);
	}
}

static uint64_t used(struct stage *s)
{
	return tsr_query_memory(&s->dev, s->seg.id).used;
}

/*
 * Fills the segment with resident objects of @unit bytes, then destroys every
 * second one. Returns the remaining ones and their number. The caller frees the
 * array.
 */
static struct tsr_bo *make_holes(struct stage *s, uint64_t unit, uint32_t *num)
{
	uint32_t count = (uint32_t)(s->seg.size / unit);
	struct tsr_bo *bos = calloc(count, sizeof(*bos));

	require(bos);
	for (uint32_t i = 0; i < count; i++)
		bos[i] = new_bo(s, unit);
	tsr_make_resident(&s->dev, bos, count);
	require_eq(used(s), count * unit);
	*num = 0;
	for (uint32_t i = 0; i < count; i++) {
		bool keep = tsr_bo_info(&s->dev, &bos[i]).segment_offset / unit % 2;

		if (keep)
			bos[(*num)++] = bos[i];
		else
			require_ok(__tsr_bo_destroy(s->dev.fd, bos[i].handle,
						    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	}
	require_eq(*num, count / 2);
	require_eq(used(s), *num * unit);
	return bos;
}

/* Size of a hole. Small holes need many objects: slow on the debug kernel. */
static uint64_t hole(void)
{
	return tap_slow() ? 4 * PAGE : PAGE;
}

static void free_all(struct stage *s, struct tsr_bo *bos, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		tsr_bo_free(&s->dev, &bos[i]);
	free(bos);
}

/* ---- Places ---------------------------------------------------------- */

/*
 * Half of the segment is free in holes of hole() bytes. An object of half the
 * segment must fit into them, with its bytes in order.
 */
static void holes_of_a_page(void)
{
	struct tsr_bo *small, bo;
	struct stage s;
	uint32_t num;

	stage_init(&s);
	small = make_holes(&s, hole(), &num);
	for (uint32_t i = 0; i < 4; i++) {
		map_at(&s, &small[i * num / 4], AT + MiB(64 + i));
		write_key(&s, AT + MiB(64 + i), PAGE, 100 + i);
	}
	bo = new_bo(&s, s.seg.size / 2);
	map_at(&s, &bo, AT);
	tsr_make_resident(&s.dev, &bo, 1);
	require_eq(used(&s), s.seg.size);
	require_eq(extents_of(bo.size), bo.size / hole());
	write_key(&s, AT, bo.size, 1);
	check_key(&s, AT, bo.size, 1);
	for (uint32_t i = 0; i < 4; i++)
		check_key(&s, AT + MiB(64 + i), PAGE, 100 + i);

	/*
	 * evict it, and bring it back after the small objects are gone: then it
	 * is contiguous
	 */
	free_all(&s, small, num);
	tsr_evict_set(s.set);
	require_eq(used(&s), 0);
	require_ok(__tsr_bring_back(&s.dev, NULL));
	require_eq(extents_of(bo.size), 1);
	check_key(&s, AT, bo.size, 1);
	tsr_bo_free(&s.dev, &bo);
	stage_fini(&s);
}

/* Several moves between scattered places, in each kind of segment. */
static void moves_in_pieces(void)
{
	struct tsr_bo *small, bo;
	struct stage s;
	uint32_t num;

	stage_init(&s);
	for (uint32_t kind = 0; kind < 2; kind++) {
		if (kind) {
			s.seg = *tsr_seg_visible(&s.dev);
			s.set = tsr_bit(&s.seg);
		}
		small = make_holes(&s, KiB(20), &num);
		bo = new_bo(&s, MiB(3) + PAGE);
		map_at(&s, &bo, AT + MiB(1) - KiB(64) * kind);
		tsr_make_resident(&s.dev, &bo, 1);
		require(extents_of(bo.size) > 100);
		write_key(&s, AT + MiB(1) - KiB(64) * kind, bo.size, 2);
		for (uint32_t round = 0; round < 2; round++) {
			tsr_evict_set(s.set);
			require(!tsr_bo_info(&s.dev, &bo).segment);
			require_ok(__tsr_bring_back(&s.dev, NULL));
			check_key(&s, AT + MiB(1) - KiB(64) * kind, bo.size, 2);
		}
		/* map only a part, which starts inside an extent */
		tsr_vm_unmap(&s.dev, s.vm.id, AT + MiB(1) - KiB(64) * kind, bo.size);
		tsr_vm_map(&s.dev, s.vm.id, &bo, KiB(28), AT, MiB(1), 0);
		tsr_vm_copy(&s.vm, TSR_VM_STAGE, AT, MiB(1));
		for (uint64_t i = 0; i < MiB(1) / 4; i += 1021)
			tsr_pattern_require(((uint32_t *)s.show.map)[i], 2, KiB(7) + i);
		tsr_vm_unmap(&s.dev, s.vm.id, AT, MiB(1));
		tsr_bo_free(&s.dev, &bo);
		free_all(&s, small, num);
	}
	stage_fini(&s);
}

/* The same in an aperture. */
static void aperture_in_pieces(void)
{
	struct tsr_bo *small, bo;
	struct stage s;
	uint32_t num;

	s.dev = tsr_open();
	s.vm = tsr_vm_open(&s.dev);
	s.seg = *tsr_seg_gart(&s.dev);
	s.set = tsr_bit(&s.seg);
	tsr_make_resident(&s.dev, &s.vm.cmds, 1);
	/* leave some space for the commands */
	s.seg.size -= MiB(1);
	num = (uint32_t)(s.seg.size / KiB(64));
	small = calloc(num, sizeof(*small));
	require(small);
	for (uint32_t i = 0; i < num; i++)
		small[i] = new_bo(&s, KiB(64));
	tsr_make_resident(&s.dev, small, num);
	for (uint32_t i = 0; i < num; i += 2)
		require_ok(__tsr_bo_destroy(s.dev.fd, small[i].handle,
					    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	bo = new_flags(&s, MiB(8), s.set, cached);
	tsr_bo_map(&s.dev, &bo);
	tsr_pattern_write(&bo, 7);
	map_at(&s, &bo, AT);
	tsr_make_resident(&s.dev, &bo, 1);
	require(extents_of(bo.size) > 100);
	tsr_vm_copy(&s.vm, AT + MiB(4), AT, MiB(4));
	for (uint64_t i = 0; i < MiB(4) / 4; i += 511)
		tsr_pattern_require(((uint32_t *)bo.map)[MiB(1) + i], 7, i);
	tsr_bo_free(&s.dev, &bo);
	for (uint32_t i = 1; i < num; i += 2)
		tsr_bo_free(&s.dev, &small[i]);
	free(small);
	tsr_vm_close(&s.vm);
	tsr_close(&s.dev);
}

/*
 * The allocator tries blocks of 2 MiB and 64 KiB first, and skips free space
 * that is too small.
 */
static void large_blocks_first(void)
{
	struct tsr_bo pin, bo;
	struct stage s;

	stage_init(&s);
	pin = new_bo(&s, PAGE);
	tsr_make_resident(&s.dev, &pin, 1);
	require_eq(tsr_bo_info(&s.dev, &pin).segment_offset, 0);
	bo = new_bo(&s, MiB(4) + KiB(64));
	map_at(&s, &bo, AT);
	tsr_make_resident(&s.dev, &bo, 1);
	require_eq(tsr_bo_info(&s.dev, &bo).segment_offset, MiB(2));
	require_eq(extents_of(bo.size), 2);
	write_key(&s, AT, bo.size, 3);
	check_key(&s, AT, bo.size, 3);
	tsr_bo_free(&s.dev, &bo);
	tsr_bo_free(&s.dev, &pin);
	stage_fini(&s);
}

/*
 * RES-3: objects of random sizes. Each that is not larger than the free space
 * must find a place, and no larger one may.
 */
static void fills_to_the_last_page(void)
{
	uint64_t seed = tap_seed(20), left;
	struct drm_tessera_make_resident out;
	struct tsr_bo bos[256];
	uint32_t num = 0;
	struct stage s;

	stage_init(&s);
	for (uint32_t round = 0; round < (tap_slow() ? 200u : 600u); round++) {
		uint64_t size = PAGE * (1 + tap_random(&seed) % 200);
		uint32_t victim;
		int rc;

		left = s.seg.size - used(&s);
		if (num == ARRAY_SIZE(bos) || (num && !(tap_random(&seed) % 3))) {
			victim = (uint32_t)(tap_random(&seed) % num);
			require_ok(__tsr_bo_destroy(s.dev.fd, bos[victim].handle,
						    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
			bos[victim] = bos[--num];
			continue;
		}
		bos[num] = new_bo(&s, size);
		rc = __tsr_make_resident(s.dev.fd, &bos[num].handle, 1, 0, &out);
		require_eq(rc, size > left ? -ENOMEM : 0);
		if (!rc) {
			num++;
			continue;
		}
		require_eq(out.bytes_to_trim, size - left);
		tsr_bo_free(&s.dev, &bos[num]);
	}
	left = s.seg.size - used(&s);
	if (left) {
		bos[0] = new_bo(&s, left);
		require_ok(__tsr_make_one(&s.dev, &bos[0]));
	}
	require_eq(used(&s), s.seg.size);
	stage_fini(&s);
}

/* ---- CPU access ------------------------------------------------------ */

static void check_cpu(struct stage *s, const struct tsr_bo *bo, uint32_t key)
{
	uint32_t word;

	/* the GPU has just read the right bytes */
	for (uint64_t i = 0; i < bo->size / 4; i += 257)
		require_msg(((volatile uint32_t *)bo->map)[i] == tsr_pattern(key, i),
			    "expected page %llu of the scattered object, the CPU sees another page",
			    (unsigned long long)i / 1024);
	/* also through /proc/self/mem, across a page boundary */
	for (uint64_t at = PAGE - 2; at + 4 < bo->size; at += 13 * PAGE) {
		uint32_t want[2] = { tsr_pattern(key, at / 4), tsr_pattern(key, at / 4 + 1) };

		require_ok(tsr_proc_mem_read((char *)bo->map + at, &word, sizeof(word)));
		require(!memcmp(&word, (char *)want + 2, sizeof(word)));
	}
	require(s->set & 1u << tsr_bo_info(&s->dev, bo).segment);
}

/* Through BAR 2 and through the host aperture, page by page. */
static void cpu_sees_pieces(void)
{
	uint32_t set, num;
	struct tsr_bo *small, bo;
	struct stage s;

	stage_init(&s);
	for (uint32_t kind = 0; kind < 2; kind++) {
		if (kind) {
			s.seg = *tsr_seg_visible(&s.dev);
			s.set = tsr_bit(&s.seg);
		}
		small = make_holes(&s, kind ? hole() : 3 * hole(), &num);
		set = kind ? s.set : s.set | tsr_bit(tsr_seg_gart(&s.dev));
		bo = new_flags(&s, MiB(2) + KiB(8), set, cpu);
		tsr_bo_map(&s.dev, &bo);
		map_at(&s, &bo, AT);
		tsr_make_resident(&s.dev, &bo, 1);
		require(extents_of(bo.size) > (tap_slow() ? 40 : 100));
		write_key(&s, AT, bo.size, 4);
		check_key(&s, AT, bo.size, 4);
		check_cpu(&s, &bo, 4);
		/* the GPU sees what the CPU writes */
		tsr_pattern_write(&bo, 5);
		check_key(&s, AT, bo.size, 5);
		tsr_evict_set(s.set);
		for (uint64_t i = 0; i < bo.size / 4; i += 257)
			tsr_pattern_require(((volatile uint32_t *)bo.map)[i], 5, i);
		require_ok(__tsr_bring_back(&s.dev, NULL));
		check_key(&s, AT, bo.size, 5);
		check_cpu(&s, &bo, 5);
		tsr_bo_unmap(&bo);
		tsr_vm_unmap(&s.dev, s.vm.id, AT, bo.size);
		tsr_bo_free(&s.dev, &bo);
		free_all(&s, small, num);
	}
	stage_fini(&s);
}

/* ---- Beside contiguous objects --------------------------------------- */

/* Number of "place" events, one for each move of an object of this size. */
static uint32_t moves_of(const struct tsr_trace *trace, uint64_t size)
{
	uint32_t count = 0;

	require(!trace->lost);
	tsr_trace_for_each(trace, "place", ev)
		count += tsr_event_u64(ev, "size") == size;
	return count;
}

/* Number of objects of this size that compaction evicted. */
static uint32_t cleared_of(const struct tsr_trace *trace, uint64_t size)
{
	uint32_t count = 0;

	tsr_trace_for_each(trace, "evict", ev) {
		if (tsr_event_u64(ev, "size") == size && tsr_event_is(ev, "reason", "compact"))
			count++;
	}
	return count;
}

/*
 * RES-3: a contiguous object needs a gap where only holes are free. A scattered
 * object for which there is no space to move is evicted once, and comes back
 * with its bytes. Small objects are moved.
 */
static void pieces_are_pushed(void)
{
	struct tsr_bo *small, bo, whole;
	struct tsr_trace trace;
	struct stage s;
	uint32_t num;

	stage_init(&s);
	small = make_holes(&s, hole(), &num);
	bo = new_bo(&s, MiB(3));
	map_at(&s, &bo, AT);
	tsr_make_resident(&s.dev, &bo, 1);
	require(extents_of(bo.size) > 100);
	write_key(&s, AT, bo.size, 6);
	for (uint32_t i = 0; i < num; i += num / 8) {
		map_at(&s, &small[i], AT + MiB(64) + hole() * i);
		write_key(&s, AT + MiB(64) + hole() * i, PAGE, i);
	}

	whole = tsr_bo_new(&s.dev, KiB(900), s.set, 0);
	tsr_trace_start("place", "evict", NULL);
	require_ok(__tsr_make_one(&s.dev, &whole));
	trace = tsr_trace_stop();
	require_eq(cleared_of(&trace, bo.size), 1);
	require_eq(moves_of(&trace, bo.size), 0);
	require_eq(cleared_of(&trace, hole()), 0);
	/* small objects that are not in the way stay */
	require(moves_of(&trace, hole()) <= whole.size / hole() / 2 + 1);
	tsr_trace_free(&trace);
	require_eq(extents_of(whole.size), 1);
	tsr_gpu_fill(&s.dev, s.vm.patched, &whole, 0x99999999);
	check_key(&s, AT, bo.size, 6);
	for (uint32_t i = 0; i < num; i += num / 8)
		check_key(&s, AT + MiB(64) + hole() * i, PAGE, i);
	tsr_vm_map(&s.dev, s.vm.id, &whole, 0, AT + MiB(128), whole.size, 0);
	tsr_vm_copy(&s.vm, TSR_VM_STAGE, AT + MiB(128), whole.size);
	tsr_words_check(s.show.map, whole.size / 4, 0x99999999);
	tsr_bo_free(&s.dev, &whole);
	tsr_bo_free(&s.dev, &bo);
	free_all(&s, small, num);
	stage_fini(&s);
}

/*
 * RES-3: one call names a scattered and a contiguous object. Both are resident
 * when it returns.
 */
static void gap_beside_pieces(void)
{
	struct tsr_bo *small, both[2];
	struct tsr_trace trace;
	struct stage s;
	uint32_t num;

	stage_init(&s);
	small = make_holes(&s, hole(), &num);
	both[0] = new_bo(&s, MiB(3));
	both[1] = tsr_bo_new(&s.dev, KiB(900), s.set, 0);
	map_at(&s, &both[0], AT);
	tsr_trace_start("place", "evict", NULL);
	tsr_make_resident(&s.dev, both, 2);
	trace = tsr_trace_stop();
	require_eq(cleared_of(&trace, both[0].size), 1);
	require_eq(moves_of(&trace, both[0].size), 2);
	tsr_trace_free(&trace);
	require_eq(used(&s), s.seg.size / 2 + both[0].size + both[1].size);
	require_eq(extents_of(both[1].size), 1);
	write_key(&s, AT, both[0].size, 7);
	check_key(&s, AT, both[0].size, 7);
	tsr_bo_free(&s.dev, &both[1]);
	tsr_bo_free(&s.dev, &both[0]);
	free_all(&s, small, num);
	stage_fini(&s);
}

/*
 * RES-2, RES-3: objects of two clients are in the way of a contiguous one, and
 * one client is within its share. Which of the large objects can be moved
 * depends on where they lie. The others are evicted once, and are back with
 * their bytes before the next job.
 */
static void others_pieces_are_moved(void)
{
	struct tsr_bo *small, bo, filler, whole;
	struct tsr_trace trace;
	struct stage s, other;
	uint32_t num, kept = 0;
	uint64_t gone;

	stage_init(&s);
	stage_init(&other);
	small = make_holes(&s, hole(), &num);
	for (uint32_t i = 0; i < num; i++) {
		if (i % 4)
			require_ok(__tsr_bo_destroy(s.dev.fd, small[i].handle,
						    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
		else
			small[kept++] = small[i];
	}
	bo = new_bo(&s, MiB(2) + KiB(512));
	map_at(&s, &bo, AT);
	tsr_make_resident(&s.dev, &bo, 1);
	require(extents_of(bo.size) > (tap_slow() ? 20 : 50));
	write_key(&s, AT, bo.size, 50);
	for (uint32_t i = 0; i < 8; i++) {
		map_at(&s, &small[i], AT + MiB(64) + hole() * i);
		write_key(&s, AT + MiB(64) + hole() * i, PAGE, 60 + i);
	}

	whole = tsr_bo_new(&other.dev, KiB(900), s.set, 0);
	filler = new_bo(&other, s.seg.size - used(&s) - whole.size);
	tsr_make_resident(&other.dev, &filler, 1);
	require_eq(used(&s), s.seg.size - whole.size);
	tsr_trace_start("place", "evict", NULL);
	require_ok(__tsr_make_one(&other.dev, &whole));
	trace = tsr_trace_stop();
	gone = cleared_of(&trace, bo.size) * bo.size +
	       cleared_of(&trace, filler.size) * filler.size;
	require(gone);
	require_eq(used(&s), s.seg.size - gone);
	require_eq(extents_of(whole.size), 1);
	require_eq(cleared_of(&trace, hole()), 0);
	require(moves_of(&trace, hole()) <= whole.size / hole() / 8 + 1);
	tsr_trace_free(&trace);
	require_ok(__tsr_bring_back(&other.dev, NULL));
	tsr_gpu_fill(&other.dev, other.vm.patched, &whole, 0x77777777);
	tsr_vm_fill(&s.vm, AT + MiB(1), PAGE, 0x55);
	require_eq(used(&s), s.seg.size);
	check_key(&s, AT, MiB(1), 50);
	for (uint32_t i = 0; i < 8; i++)
		check_key(&s, AT + MiB(64) + hole() * i, PAGE, 60 + i);
	tsr_bo_free(&other.dev, &whole);
	tsr_bo_free(&other.dev, &filler);
	tsr_bo_free(&s.dev, &bo);
	free_all(&s, small, kept);
	stage_fini(&other);
	stage_fini(&s);
}

/*
 * RES-3: enough bytes are free in holes, so no client may lose an object,
 * whether it is above its share or not. Objects are moved instead.
 */
static void pushed_rather_than_evicted(void)
{
	struct tsr_bo one[32], whole;
	struct stage s, other;
	struct tsr_trace trace;

	stage_init(&s);
	stage_init(&other);
	for (uint32_t i = 0; i < ARRAY_SIZE(one); i++) {
		one[i] = tsr_bo_new(&other.dev, KiB(256), s.set, 0);
		tsr_gpu_fill(&other.dev, other.vm.patched, &one[i], i);
	}
	require_eq(used(&s), s.seg.size);
	/* 22 of 32 objects stay, more than half of the segment */
	for (uint32_t i = 2; i < ARRAY_SIZE(one); i += 3)
		require_ok(__tsr_bo_destroy(other.dev.fd, one[i].handle,
					    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	require_eq(used(&s), s.seg.size - 10 * KiB(256));

	whole = tsr_bo_new(&s.dev, MiB(2), s.set, 0);
	tsr_trace_start("place", "evict", NULL);
	require_ok(__tsr_make_one(&s.dev, &whole));
	trace = tsr_trace_stop();
	require_eq(tsr_trace_count(&trace, "evict"), 0);
	require(moves_of(&trace, KiB(256)));
	tsr_trace_free(&trace);
	require_eq(extents_of(whole.size), 1);
	tsr_bo_free(&s.dev, &whole);
	for (uint32_t i = 0; i < ARRAY_SIZE(one); i++)
		if (i % 3 != 2)
			tsr_bo_free(&other.dev, &one[i]);
	stage_fini(&other);
	stage_fini(&s);
}

/*
 * RES-3: compaction moves contiguous objects down and scattered ones up, past
 * each other. All keep their bytes.
 */
static void both_are_pushed(void)
{
	struct tsr_bo one[32], pieces[3], whole;
	uint64_t free;
	struct stage s;

	stage_init(&s);
	for (uint32_t i = 0; i < ARRAY_SIZE(one); i++) {
		one[i] = tsr_bo_new(&s.dev, KiB(256), s.set, 0);
		require_ok(__tsr_make_one(&s.dev, &one[i]));
		tsr_vm_map(&s.dev, s.vm.id, &one[i], 0, AT + MiB(i), one[i].size, 0);
		write_key(&s, AT + MiB(i), one[i].size, i);
	}
	require_eq(used(&s), s.seg.size);
	for (uint32_t i = 0; i < ARRAY_SIZE(one); i++) {
		if (i % 3 == 2)
			continue;
		tsr_vm_unmap(&s.dev, s.vm.id, AT + MiB(i), one[i].size);
		require_ok(__tsr_bo_destroy(s.dev.fd, one[i].handle,
					    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		pieces[i] = new_bo(&s, MiB(1) + KiB(100) + PAGE * i);
		map_at(&s, &pieces[i], AT + MiB(64 + 2 * i));
		tsr_make_resident(&s.dev, &pieces[i], 1);
		write_key(&s, AT + MiB(64 + 2 * i), pieces[i].size, 100 + i);
	}
	/* first all free space, then also that of the first scattered object */
	for (uint32_t round = 0; round < 2; round++) {
		free = s.seg.size - used(&s);
		whole = tsr_bo_new(&s.dev, free, s.set, 0);
		require_ok(__tsr_make_one(&s.dev, &whole));
		tsr_gpu_fill(&s.dev, s.vm.patched, &whole, 0x33333333);
		for (uint32_t i = 2; i < ARRAY_SIZE(one); i += 3)
			check_key(&s, AT + MiB(i), one[i].size, i);
		for (uint32_t i = round; i < ARRAY_SIZE(pieces); i++)
			check_key(&s, AT + MiB(64 + 2 * i), pieces[i].size, 100 + i);
		require_eq(used(&s), s.seg.size);
		tsr_bo_free(&s.dev, &whole);
		if (!round)
			require_ok(__tsr_bo_destroy(s.dev.fd, pieces[0].handle,
						    DRM_TESSERA_BO_DESTROY_SYNCHRONOUS));
	}
	for (uint32_t i = 2; i < ARRAY_SIZE(one); i += 3)
		tsr_bo_free(&s.dev, &one[i]);
	for (uint32_t i = 1; i < ARRAY_SIZE(pieces); i++)
		tsr_bo_free(&s.dev, &pieces[i]);
	stage_fini(&s);
}

/*
 * SPLIT-17: a submission that must be split evicts scattered objects as a
 * whole, and they come back.
 */
static void lists_beside_pieces(void)
{
	struct tsr_bo *small, mine[3], big[3];
	struct tsr_cmd cmd;
	struct stage s;
	uint32_t num;

	stage_init(&s);
	small = make_holes(&s, KiB(8), &num);
	for (uint32_t i = 0; i < 3; i++) {
		mine[i] = new_bo(&s, MiB(1) + KiB(8) * i);
		map_at(&s, &mine[i], AT + MiB(2 * i));
		tsr_make_resident(&s.dev, &mine[i], 1);
		write_key(&s, AT + MiB(2 * i), mine[i].size, 10 + i);
	}
	tsr_evict(&s.dev, small, num);
	free_all(&s, small, num);
	tsr_evict(&s.dev, mine, 3);
	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		big[i] = tsr_bo_new(&s.dev, MiB(5), s.set, 0);
		tsr_cmd_bind_buffer(&cmd, 0, &big[i], true);
		tsr_cmd_fill(&cmd, 0, 0, MiB(5) / 4, 0x100 + i);
	}
	for (uint32_t round = 0; round < 3; round++) {
		require(tsr_submit(&s.dev, s.vm.patched, &cmd, 0, 0) >= 3);
		tsr_make_resident(&s.dev, mine, 3);
		for (uint32_t i = 0; i < 3; i++)
			check_key(&s, AT + MiB(2 * i), mine[i].size, 10 + i);
		tsr_evict(&s.dev, mine, 3);
	}
	tsr_cmd_fini(&cmd);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t word;

		tsr_gpu_read(&s.dev, s.vm.patched, &big[i], 1 + MiB(1), 1, &word);
		require_eq(word, 0x100 + i);
		tsr_bo_free(&s.dev, &big[i]);
		tsr_bo_free(&s.dev, &mine[i]);
	}
	stage_fini(&s);
}

/*
 * Making space for a scattered object evicts only as many objects as needed,
 * each as a whole.
 */
static void evicts_by_bytes(void)
{
	struct tsr_bo bos[8], bo;
	struct stage s;
	uint32_t gone = 0;

	stage_init(&s);
	for (uint32_t i = 0; i < 8; i++) {
		bos[i] = new_bo(&s, MiB(1));
		map_at(&s, &bos[i], AT + MiB(i));
		tsr_make_resident(&s.dev, &bos[i], 1);
		write_key(&s, AT + MiB(i), MiB(1), 20 + i);
	}
	/* the evictable objects are not adjacent; the last one is youngest */
	for (uint32_t i = 0; i < 8; i += 2)
		tsr_evict(&s.dev, &bos[i], 1);
	bo = new_bo(&s, MiB(2) + PAGE);
	map_at(&s, &bo, AT + MiB(16));
	tsr_make_resident(&s.dev, &bo, 1);
	require(extents_of(bo.size) > 1);
	write_key(&s, AT + MiB(16), bo.size, 30);
	for (uint32_t i = 0; i < 8; i++) {
		bool there = tsr_bo_info(&s.dev, &bos[i]).segment;

		require(there || i % 2 == 0);
		gone += !there;
	}
	require_eq(gone, 3);
	for (uint32_t i = 1; i < 8; i += 2)
		check_key(&s, AT + MiB(i), MiB(1), 20 + i);
	tsr_evict(&s.dev, &bo, 1);
	for (uint32_t i = 0; i < 8; i += 2)
		tsr_make_resident(&s.dev, &bos[i], 1);
	for (uint32_t i = 0; i < 8; i++) {
		check_key(&s, AT + MiB(i), MiB(1), 20 + i);
		tsr_bo_free(&s.dev, &bos[i]);
	}
	tsr_bo_free(&s.dev, &bo);
	stage_fini(&s);
}

/*
 * A gap of exactly the needed size is made by moving one object. All others
 * stay where they are.
 */
static void just_large_enough(void)
{
	struct tsr_device dev = tsr_open();
	const struct drm_tessera_query_segment *seg = tsr_seg_hidden(&dev);
	const uint64_t one = seg->size / 16;
	struct tsr_bo bos[16], bo = tsr_bo_new(&dev, 2 * one, tsr_bit(seg), 0);
	struct tsr_trace trace;

	for (uint32_t i = 0; i < 16; i++) {
		bos[i] = tsr_bo_new(&dev, one, tsr_bit(seg), 0);
		tsr_make_resident(&dev, &bos[i], 1);
	}
	tsr_bo_free(&dev, &bos[0]);
	tsr_bo_free(&dev, &bos[2]);
	tsr_trace_start("place", NULL);
	require_ok(__tsr_make_one(&dev, &bo));
	trace = tsr_trace_stop();
	require_eq(tsr_bo_info(&dev, &bo).segment_offset, one);
	require_eq(tsr_bo_info(&dev, &bos[1]).segment_offset, 0);
	require_eq(tsr_trace_count(&trace, "place"), 2);
	tsr_trace_free(&trace);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-3 MODEL-6 an object fits into holes of a page", holes_of_a_page, 0, 90 },
	{ "RES-5 a scattered object moves", moves_in_pieces, 0, 90 },
	{ "RES-5 a scattered object moves in an aperture", aperture_in_pieces, 0, 90 },
	{ "large blocks first", large_blocks_first, 0, 0 },
	{ "RES-3 fills to the last page", fills_to_the_last_page, 0, 120 },
	{ "CHA-2 the CPU sees a scattered object", cpu_sees_pieces, 0, 120 },
	{ "RES-3 scattered objects give way to a contiguous one", pieces_are_pushed, 0, 150 },
	{ "RES-3 one call places a scattered and a contiguous object", gap_beside_pieces, 0, 150 },
	{ "RES-2 RES-3 scattered objects of other clients are moved", others_pieces_are_moved, 0,
	  150 },
	{ "RES-3 objects are moved rather than evicted", pushed_rather_than_evicted, 0, 0 },
	{ "RES-3 compaction moves contiguous and scattered objects", both_are_pushed, 0, 150 },
	{ "SPLIT-17 a split submission evicts scattered objects as a whole", lists_beside_pieces, 0,
	  120 },
	{ "RES-3 a gap that is just large enough", just_large_enough, 0, 0 },
	{ "RES-3 a scattered object evicts only as many bytes as it needs", evicts_by_bytes, 0,
	  60 },
};

TSR_TEST_MAIN(tests)
