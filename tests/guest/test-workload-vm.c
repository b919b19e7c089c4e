// SPDX-License-Identifier: MIT
/*
 * The random workload at virtual addresses (tests/lib/workload/workload_vm.h):
 * mappings of any kind, residency lists, offers, locks, destruction, objects
 * shared by two files, and evictions of everything. It runs alone, and beside
 * clients of both models. Every byte must be as the model says. TESSERA_SEED
 * repeats a run.
 */
#include "stall.h"
#include "workload/workload_vm.h"

static void tell(const struct wv_progress *sum)
{
	tap_note("%llu jobs, %llu refused, %llu binds, %llu times all moved out, %llu offers "
		 "dropped, %llu checks, %llu faults",
		 (unsigned long long)sum->jobs, (unsigned long long)sum->refused,
		 (unsigned long long)sum->binds, (unsigned long long)sum->evictions,
		 (unsigned long long)sum->dropped, (unsigned long long)sum->checks,
		 (unsigned long long)sum->faults);
}

static struct wv_plan heavy(struct tsr_device *dev, uint64_t seed)
{
	uint64_t size = tsr_seg_visible(dev)->size;

	return (struct wv_plan){
		.config = {
			.seed = seed,
			.kinds = WL_ALL,
			.live_64ths = 48,
			.total_bytes = 5 * size / 2,
			.max_bytes = size / 4,
		},
		.jobs = wl_few(400),
		.evictions = true,
		.progress = tsr_shared(sizeof(struct wv_progress)),
	};
}

/* A client below its share of every segment. */
static struct wv_plan light(struct tsr_device *dev, uint64_t seed)
{
	uint64_t size = tsr_seg_visible(dev)->size;
	struct wv_plan plan = heavy(dev, seed);

	plan.config.total_bytes = size / 16;
	plan.config.max_bytes = size / 32;
	return plan;
}

static void run_one(struct wv_plan *plan)
{
	tap_join(tap_fork(wv_client, plan));
	tell(plan->progress);
	require(plan->progress->jobs > plan->jobs / 2);
	require(plan->progress->binds && plan->progress->checks);
}

/* an arbitrary seed, and any seeds that have failed before */
static const uint64_t seeds[] = { 0x50 };

static void one_process(void)
{
	struct tsr_device dev = tsr_open();

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++) {
		struct wv_plan plan = heavy(&dev, tap_seed(seeds[i]));

		run_one(&plan);
		if (plan.config.seed != seeds[i])
			break; /* the seed is from TESSERA_SEED */
	}
	tsr_close(&dev);
}

static void with_faults(void)
{
	struct tsr_device dev = tsr_open();
	struct wv_plan plan = heavy(&dev, tap_seed(0x60));

	plan.faults = true;
	run_one(&plan);
	require(plan.progress->faults);
	tsr_close(&dev);
}

/* Two clients that want too much, one that wants little, a shared object. */
static void several_processes(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t seed = tap_seed(0x70);
	struct wv_plan plans[3];
	pid_t pids[3];
	int shared;

	/* the large clients may wait for each other's space for a long time */
	if (tap_slow() && !tap_long())
		tap_skip("three at once, only in a long run");
	shared = wl_shared_new(&dev);
	for (uint32_t i = 0; i < 3; i++) {
		plans[i] = i < 2 ? heavy(&dev, seed + 8 * i) : light(&dev, seed + 8 * i);
		plans[i].config.shared = shared;
		plans[i].jobs = wl_few(200);
		plans[i].abandon = i & 1;
		pids[i] = tap_fork(wv_client, &plans[i]);
	}
	for (uint32_t i = 0; i < 3; i++) {
		tap_join(pids[i]);
		tell(plans[i].progress);
		require(plans[i].progress->jobs > plans[i].jobs / 2);
	}
	close(shared);
	tsr_close(&dev);
}

/* A client of each model, and an object that both read. */
static void both_models(void)
{
	struct tsr_device dev = tsr_open();
	uint64_t seed = tap_seed(0x80), size = tsr_seg_visible(&dev)->size;
	int shared = wl_shared_new(&dev);
	struct wv_plan vm = heavy(&dev, seed);
	struct wl_plan patched = {
		.config = {
			.seed = seed,
			.kinds = WL_ALL,
			.live_64ths = 32,
			.total_bytes = 5 * size / 2,
			.max_bytes = size / 4,
			.shared = shared,
		},
		.jobs = wl_few(40),
		.steps = 30,
		.progress = tsr_shared(sizeof(struct wl_progress)),
	};
	pid_t pids[2];

	vm.config.shared = shared;
	vm.jobs = wl_few(200);
	pids[0] = tap_fork(wv_client, &vm);
	pids[1] = tap_fork(wl_client, &patched);
	tap_join(pids[0]);
	tap_join(pids[1]);
	tell(vm.progress);
	require(vm.progress->jobs > vm.jobs / 2);
	require_eq(patched.progress->jobs, patched.jobs);
	close(shared);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-1 RES-2 RES-5 RES-6 RES-8 DESTROY-8 random workload at addresses, alone",
	  one_process, 0, 240 },
	{ "RES-6 random workload at addresses, some of them bad", with_faults,
	  TSR_EXPECT(MMU) | TSR_EXPECT(READ_ONLY), 240 },
	{ "RES-2 RES-5 random workload at addresses, three processes", several_processes, 0, 240 },
	{ "RES-2 SEG-8 random workload of both models", both_models, 0, 240 },
};

TSR_TEST_MAIN(tests)
