/* SPDX-License-Identifier: MIT */
/*
 * Shared parts of the benchmark: the device, rows and their samples, the
 * reference from the host, and the table of benches.
 */
#ifndef TESSERA_BENCH_H
#define TESSERA_BENCH_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tessera.h"

#define MIB (UINT64_C(1) << 20)
#define MAX_SAMPLES 32
#define MAX_ROUNDS 8192

struct bench {
	struct tessera_device *dev;
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	int runs; /* samples of a row, unless the bench needs another number */
};

extern struct bench bench;

struct row {
	const char *name, *unit, *better;
	double goal; /* goal for the ratio; NAN: the value is only reported */
	double values[MAX_SAMPLES], references[MAX_SAMPLES];
	int count;
};

/* ---- common.c ---- */

void die(const char *what, int error) __attribute__((noreturn));
void must(const char *what, int ret);
double now(void); /* seconds */
double ask_memcpy(uint64_t bytes); /* speed on the host, in bytes per second */
void sort(double *values, int count); /* in ascending order */
double median(double *values, int count); /* sorts them */
void sample(struct row *row, double value, double reference);
void print_row(const struct row *row);
/* Submit the contents of bench.cb, wait, and empty it. */
void run_cb(const char *what);
struct tessera_bo *bo_in(const char *segments, uint64_t size, uint32_t flags);
struct tessera_view buffer_view(void);
const char *large_segment(uint64_t *size); /* name of the largest memory segment */
bool set_knob(const char *name, const char *value); /* debugfs knob; false: it does not exist */

/* ---- clients.c: other processes ---- */

void sleep_for(double seconds);

struct client {
	int pid;
	struct client_state {
		volatile bool ready; /* set by the client: the measurement may begin */
		volatile bool go; /* set by the bench: begin */
		volatile uint32_t rounds; /* submissions that are over */
		volatile double ends[MAX_ROUNDS]; /* their end times, in some benches */
	} * state; /* shared with the client process */
};

void bench_open(void);
void bench_close(void);
/* The child uses the parent's device. */
void client_fork(struct client *client, void (*run)(struct client_state *state));
/* The child opens the device itself, so it has its own bench.dev and so on. */
void client_start(struct client *client, void (*run)(struct client_state *state));
void client_wait_ready(const struct client *client);
void client_kill(struct client *client); /* fails if the client has ended by itself */

/* ---- the benches ---- */

/* copy.c */
void bench_copy_linear(void);
void bench_copy_swizzled(void);
void bench_draw_textured(void);
/* cpu.c */
void bench_cpu_bar(void);
void bench_cpu_aperture(void);
void bench_cpu_swizzle_range(void);
void bench_fault_rate(void);
void bench_lock_unlock(void);
/* paging.c */
void touch_by_gpu(struct tessera_bo *bo, uint32_t value); /* writes one word with a job and waits */
/* Trace the transfers of the paging engine. */
void trace_begin(void);
void trace_empty(void);
void trace_end(void);
uint64_t traced_bytes(void); /* since trace_empty() */
uint64_t traced_bytes_out(void); /* only to system memory */
void bench_moves(void);
void bench_oversubscribed(void);
void bench_many_objects(void);
void bench_evict_many_blocks(void);
/* submit.c */
/*
 * Median time in ns from a register write that raises an interrupt to the
 * wake-up of a waiter by its handler, from the driver's debugfs file `ping`. 0:
 * the file does not exist.
 */
double read_ping(void);
void bench_empty_job(void);
void bench_split_overhead(void);
/* stall.c */
void bench_stall_split(void);
void bench_stall_split_preempt(void);
void bench_stall_queue(void);
void bench_preempt_latency(void);
/* queue.c */
void bench_submit_many_fences(void);
void bench_long_queue(void);
void bench_stalled_owner(void);
/* destroy.c */
void bench_destroy_scaling(void);
/* vm.c */
void bench_vm_empty_job(void);
void bench_vm_submit_scaling(void);
void bench_user_invalidate(void);
void bench_bind_4k(void);
void bench_bind_2m(void);
void bench_residency_cycle(void);
void bench_vm_fill(void);
void bench_vm_clean_evict(void);
/* limits.c */
void bench_client_memory(void);
/* kill.c */
void bench_kill_submit(void);
/* display.c */
void bench_flip_rate(void);
void bench_dumb_write(void);
void bench_dumb_cycle(void);
void bench_screen_update(void);
void bench_vblank_jitter(void);

#endif /* TESSERA_BENCH_H */
