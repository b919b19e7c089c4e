// SPDX-License-Identifier: MIT
/*
 * CPU access through a mapping while each allocation of the fault handler fails
 * in turn (SWZ-14). The fault is retried and succeeds: no SIGBUS, and no byte
 * is lost. Needs a kernel with fault injection.
 */
#include <setjmp.h>
#include <signal.h>

#include "inject.h"
#include "tsr.h"

static sigjmp_buf back;

static void on_sigbus(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

struct fail {
	struct tsr_device dev;
	uint32_t ctx;
	struct drm_tessera_bo_create create;
	struct tsr_bo bo;
	uint32_t value; /* in all words of the object */
};

static void prepare(struct fail *f,
		    const struct drm_tessera_query_segment *(*seg)(struct tsr_device *),
		    uint64_t bytes)
{
	*f = (struct fail){ 0 };
	tsr_inject_init();
	require(signal(SIGBUS, on_sigbus) != SIG_ERR);
	f->dev = tsr_open();
	f->ctx = tsr_context_new(&f->dev, 0);
	f->create = (struct drm_tessera_bo_create){
		.size = bytes,
		.supported = tsr_bit(seg(&f->dev)),
		.flags = DRM_TESSERA_BO_CPU_ACCESS,
		.num_preferred = 1,
		.preferred = { (uint8_t)seg(&f->dev)->id },
	};
}

static void new_object(struct fail *f)
{
	struct drm_tessera_bo_create args = f->create;

	if (f->bo.handle) {
		tsr_bo_unmap(&f->bo);
		tsr_bo_free(&f->dev, &f->bo);
	}
	require_ok(__tsr_bo_create(f->dev.fd, &args));
	f->bo = (struct tsr_bo){ .handle = args.handle, .size = args.size };
	tsr_bo_map(&f->dev, &f->bo);
	f->value = 0;
}

/* Evict and page in again, which removes the CPU mapping. */
static void resident(struct fail *f)
{
	if (!f->bo.handle)
		new_object(f);
	tsr_evict_set(f->create.supported);
	tsr_gpu_fill(&f->dev, f->ctx, &f->bo, f->value + 1);
	f->value++;
	require_eq(tsr_bo_info(&f->dev, &f->bo).segment, f->create.preferred[0]);
}

static void evicted(struct fail *f)
{
	resident(f);
	tsr_evict_set(f->create.supported);
	require_eq(tsr_bo_info(&f->dev, &f->bo).segment, 0);
}

/*
 * Access one word with the @nth allocation failing. Returns whether it failed.
 */
static bool touch(struct fail *f, unsigned int nth, bool write)
{
	uint64_t words = f->bo.size / 4, at = nth * 1031 % words;
	volatile uint32_t *word = (uint32_t *)f->bo.map + at;
	volatile uint32_t seen = f->value;
	bool failed;

	tsr_inject_set(nth);
	if (sigsetjmp(back, 1)) {
		tsr_inject_done();
		tap_fail(__FILE__, __LINE__, "SIGBUS at allocation %u", nth);
	}
	if (write)
		*word = ~f->value;
	else
		seen = *word;
	failed = tsr_inject_done();

	require_eq(seen, f->value);
	require_eq(*word, write ? ~f->value : f->value);
	*word = f->value;
	tsr_words_check(f->bo.map, words, f->value);
	return failed;
}

static void each_failure(struct fail *f, void (*place)(struct fail *f))
{
	unsigned int failures = 0;

	for (int write = 0; write < 2; write++) {
		for (unsigned int nth = 1;; nth++, failures++) {
			place(f);
			if (!touch(f, nth, write))
				break;
		}
	}
	tap_note("%u allocations failed", failures);
	/* At least the page tables of the mapping are allocated. */
	require(failures);
	tsr_close(&f->dev);
}

static void first_touch(void)
{
	struct fail f;

	prepare(&f, tsr_seg_gart, KiB(128));
	each_failure(&f, new_object);
}

static void after_eviction(void)
{
	struct fail f;

	prepare(&f, tsr_seg_visible, KiB(128));
	each_failure(&f, evicted);
}

static void through_the_bar(void)
{
	struct fail f;

	prepare(&f, tsr_seg_visible, KiB(128));
	each_failure(&f, resident);
}

static void through_the_host_aperture(void)
{
	struct fail f;

	prepare(&f, tsr_seg_hidden, KiB(128));
	f.create.supported |= tsr_bit(tsr_seg_gart(&f.dev));
	each_failure(&f, resident);
}

static void beyond_the_host_aperture(void)
{
	struct fail f;

	prepare(&f, tsr_seg_hidden, KiB(512));
	f.create.supported |= tsr_bit(tsr_seg_gart(&f.dev));
	each_failure(&f, resident);
}

static void swizzled(void)
{
	struct fail f;

	prepare(&f, tsr_seg_visible, KiB(128));
	f.create.layout = DRM_TESSERA_LAYOUT_MORTON;
	f.create.pitch = 512;
	each_failure(&f, resident);
}

static const struct tap_test tests[] = {
	{ "SWZ-5 SWZ-14 short of memory at the first touch", first_touch, 0, 60 },
	{ "SWZ-13 SWZ-14 short of memory after an eviction", after_eviction, 0, 60 },
	{ "SWZ-4 SWZ-14 short of memory through the BAR", through_the_bar, 0, 60 },
	{ "CHA-2 SWZ-14 short of memory through the host aperture", through_the_host_aperture, 0,
	  60 },
	{ "CHA-10 SWZ-14 short of memory with an object larger than the host aperture",
	  beyond_the_host_aperture, 0, 120 },
	{ "SWZ-6 SWZ-14 short of memory in a swizzled object", swizzled, 0, 120 },
};

TSR_TEST_MAIN(tests)
