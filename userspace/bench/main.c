// SPDX-License-Identifier: MIT
/*
 * tessera-bench: the rows of the benchmark that need the device. It is run by
 * scripts/bench.sh, which answers requests through standard input:
 *
 *   REF memcpy BYTES     -> bytes per second of one copy on the host, right now
 *   ROW {json}           a finished row: all samples and their references
 *
 * Values and references are measured alternately, so that a machine that
 * becomes slower affects both. Arguments are names of benches. scripts/bench.sh
 * knows which device each bench needs.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench bench;

static const struct {
	const char *name;
	void (*run)(void);
} benches[] = {
	{ "copy_linear", bench_copy_linear },
	{ "copy_swizzled", bench_copy_swizzled },
	{ "draw_textured", bench_draw_textured },
	{ "moves", bench_moves },
	{ "cpu_bar", bench_cpu_bar },
	{ "cpu_aperture", bench_cpu_aperture },
	{ "cpu_swizzle_range", bench_cpu_swizzle_range },
	{ "fault_rate", bench_fault_rate },
	{ "lock_unlock", bench_lock_unlock },
	{ "empty_job", bench_empty_job },
	{ "oversubscribed", bench_oversubscribed },
	{ "split_overhead", bench_split_overhead },
	{ "many_objects", bench_many_objects },
	{ "evict_many_blocks", bench_evict_many_blocks },
	{ "stall_split", bench_stall_split },
	{ "stall_split_preempt", bench_stall_split_preempt },
	{ "stall_queue", bench_stall_queue },
	{ "preempt_latency", bench_preempt_latency },
	{ "submit_many_fences", bench_submit_many_fences },
	{ "long_queue", bench_long_queue },
	{ "stalled_owner", bench_stalled_owner },
	{ "destroy_scaling", bench_destroy_scaling },
	{ "vm_empty_job", bench_vm_empty_job },
	{ "vm_submit_scaling", bench_vm_submit_scaling },
	{ "user_invalidate", bench_user_invalidate },
	{ "bind_4k", bench_bind_4k },
	{ "bind_2m", bench_bind_2m },
	{ "residency_cycle", bench_residency_cycle },
	{ "vm_fill", bench_vm_fill },
	{ "vm_clean_evict", bench_vm_clean_evict },
	{ "client_memory", bench_client_memory },
	{ "kill_submit", bench_kill_submit },
	{ "flip_rate", bench_flip_rate },
	{ "dumb_write", bench_dumb_write },
	{ "dumb_cycle", bench_dumb_cycle },
	{ "screen_update", bench_screen_update },
	{ "vblank_jitter", bench_vblank_jitter },
};

#define NUM_BENCHES (sizeof(benches) / sizeof(benches[0]))

static size_t find(const char *name)
{
	size_t i;

	for (i = 0; i < NUM_BENCHES && strcmp(benches[i].name, name); i++)
		;
	return i;
}

static int usage(const char *unknown)
{
	if (unknown)
		fprintf(stderr, "tessera-bench: there is no '%s'\n", unknown);
	fprintf(stderr, "Usage: tessera-bench NAME..., of");
	for (size_t i = 0; i < NUM_BENCHES; i++)
		fprintf(stderr, " %s", benches[i].name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *runs = getenv("TESSERA_BENCH_RUNS");

	if (argc == 1)
		return usage(NULL);
	for (int i = 1; i < argc; i++)
		if (find(argv[i]) == NUM_BENCHES)
			return usage(argv[i]);
	bench.runs = runs ? atoi(runs) : 7;
	if (bench.runs < 1 || bench.runs > MAX_SAMPLES)
		bench.runs = 7;
	bench_open();
	for (int i = 1; i < argc; i++)
		benches[find(argv[i])].run();
	bench_close();
	return 0;
}
