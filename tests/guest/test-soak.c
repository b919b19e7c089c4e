// SPDX-License-Identifier: MIT
/*
 * Soak: two groups of clients run the random workload. The clients of one group
 * run to their end and check all their bytes, again and again. Those of the
 * other group are killed while they run. The number of runs is fixed, or
 * TESSERA_SOAK_SECONDS sets the time. TESSERA_SEED repeats a run's random
 * choices.
 */
#include <signal.h>
#include <sys/wait.h>

#include "stall.h"
#include "workload/workload.h"

#define LIVING 3
#define KILLED 2
#define LIVES 3 /* runs of each surviving client if no time is set */
#define KILLS 2 /* minimum of kills for each killed client */

struct soak {
	uint64_t seed, until; /* @until: end of the run, or 0 for a fixed number of lives */
	uint64_t size; /* of the contended segment */
	uint32_t index;
	int shared;
	struct soak_state {
		struct wl_progress progress;
		volatile uint32_t lives; /* finished lives */
		volatile bool done;
	} * state;
};

static bool go_on(const struct soak *soak)
{
	if (!soak->until)
		return soak->state->lives < (tap_slow() ? 1 : LIVES);
	return tap_now_ns() < soak->until;
}

static void one_life(struct soak *soak, uint64_t *rng)
{
	/* the last surviving client wants less than its share */
	bool small = soak->index == LIVING - 1;
	struct wl_plan plan = {
		.config = {
			.seed = tap_random(rng),
			.kinds = WL_ALL,
			.live_64ths = 24 + (uint32_t)(tap_random(rng) % 17),
			.total_bytes = small ? soak->size / 8
					     : soak->size + tap_random(rng) % soak->size,
			.max_bytes = small ? soak->size / 32 : soak->size / 6,
			.shared = soak->shared,
		},
		.jobs = 5 + (uint32_t)(tap_random(rng) % 20),
		.steps = 10,
		.forced = DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL |
			  DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM,
		.abandon = tap_random(rng) % 2,
		.progress = &soak->state->progress,
	};

	wl_client(&plan);
}

static void live(void *arg)
{
	struct soak *soak = arg;
	uint64_t rng = soak->seed;

	while (go_on(soak)) {
		one_life(soak, &rng);
		soak->state->lives++;
	}
	soak->state->done = true;
}

static void live_for_ever(void *arg)
{
	struct soak *soak = arg;
	uint64_t rng = soak->seed;

	for (;;)
		one_life(soak, &rng);
}

/* Lets a client make some progress, then kills it. */
static void kill_one(const struct soak *soak, uint64_t *rng)
{
	uint64_t jobs = soak->state->progress.jobs + 1 + tap_random(rng) % 12;
	struct soak victim = *soak;
	pid_t pid;
	int status;

	victim.seed = tap_random(rng);
	pid = tap_fork(live_for_ever, &victim);
	while (soak->state->progress.jobs < jobs && !waitpid(pid, &status, WNOHANG))
		usleep(1000);
	require_msg(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
		    "the client ended before it was killed");
}

/* for the killing processes: they stop when all survivors are done */
static const struct soak *the_living;

static bool all_done(void)
{
	bool done = true;

	for (uint32_t i = 0; i < LIVING; i++)
		done &= the_living[i].state->done;
	return done;
}

/* Goes on as long as surviving clients are running. */
static void kill_again_and_again(void *arg)
{
	const struct soak *soak = arg;
	uint64_t rng = soak->seed;

	while (soak->state->lives < KILLS || !all_done()) {
		kill_one(soak, &rng);
		soak->state->lives++;
	}
}

static void soak_all(void)
{
	uint64_t seconds = tap_env("SOAK_SECONDS", 0);
	uint64_t seed = tap_seed(0x50a4);
	struct tsr_device dev = tsr_open();
	struct soak soaks[LIVING + KILLED];
	struct wl_progress sum = { 0 };
	int shared = wl_shared_new(&dev);
	uint32_t killed = 0;
	pid_t pids[LIVING + KILLED];

	for (uint32_t i = 0; i < LIVING + KILLED; i++) {
		soaks[i] = (struct soak){
			.seed = seed + i,
			.until = seconds ? tap_now_ns() + seconds * 1000000000ull : 0,
			.size = tsr_seg_visible(&dev)->size,
			.index = i,
			.shared = shared,
			.state = tsr_shared(sizeof(struct soak_state)),
		};
	}
	the_living = soaks;
	for (uint32_t i = 0; i < LIVING + KILLED; i++)
		pids[i] = tap_fork(i < LIVING ? live : kill_again_and_again, &soaks[i]);
	for (uint32_t i = 0; i < LIVING + KILLED; i++)
		tap_join(pids[i]);
	for (uint32_t i = LIVING; i < LIVING + KILLED; i++)
		killed += soaks[i].state->lives;
	for (uint32_t i = 0; i < LIVING; i++) {
		const struct wl_progress *one = &soaks[i].state->progress;

		/* no client starved */
		require_msg(one->jobs && soaks[i].state->lives, "client %u made no progress", i);
		sum.jobs += one->jobs;
		sum.parts += one->parts;
		sum.checks += one->checks;
	}
	tap_note("%llu jobs, %llu parts, %llu objects checked, %u clients killed",
		 (unsigned long long)sum.jobs, (unsigned long long)sum.parts,
		 (unsigned long long)sum.checks, killed);
	require(sum.parts > sum.jobs);
	close(shared);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "SPLIT-2 SPLIT-3 SCHED-3 SCHED-5 SEG-8 soak: split jobs, checksums, clients killed",
	  soak_all, 0, 7200 },
};

TSR_TEST_MAIN(tests)
