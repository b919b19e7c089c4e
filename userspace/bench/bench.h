/* SPDX-License-Identifier: MIT */
/*
 * What the files of the benchmark share: the device, rows and their samples, the host's
 * answers, and the table of benches.
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
	int runs; /* samples of a row, unless it needs another number */
};

extern struct bench bench;

struct row {
	const char *name, *unit, *better;
	double goal; /* for the ratio; NAN: reported only */
	double values[MAX_SAMPLES], references[MAX_SAMPLES];
	int count;
};

/* ---- common.c ---- */

void die(const char *what, int error) __attribute__((noreturn));
void must(const char *what, int ret);
double now(void); /* seconds */
double ask_memcpy(uint64_t bytes); /* of the host, bytes a second */
void sort(double *values, int count); /* the smallest first */
double median(double *values, int count); /* sorts them */
void sample(struct row *row, double value, double reference);
void print_row(const struct row *row);
/* submits what is in bench.cb, waits, and empties it */
void run_cb(const char *what);
struct tessera_bo *bo_in(const char *segments, uint64_t size, uint32_t flags);
struct tessera_view buffer_view(void);
const char *large_segment(uint64_t *size); /* the largest that is memory */
bool set_knob(const char *name, const char *value); /* of debugfs; false: there is none */

/* ---- clients.c: other processes ---- */

void sleep_for(double seconds);

struct client {
	int pid;
	struct client_state {
		volatile bool ready; /* what is measured is going on, or may begin */
		volatile bool go; /* begin */
		volatile uint32_t rounds; /* submissions that are over */
		volatile double ends[MAX_ROUNDS]; /* and when, where that is of interest */
	} * state; /* shared with it */
};

void bench_open(void);
void bench_close(void);
/* The child has the parent's device. */
void client_fork(struct client *client, void (*run)(struct client_state *state));
/* The child opens the device anew: bench.dev and so on are its own. */
void client_start(struct client *client, void (*run)(struct client_state *state));
void client_wait_ready(const struct client *client);
void client_kill(struct client *client); /* and no client has ended before */

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
void touch_by_gpu(struct tessera_bo *bo, uint32_t value); /* one word; waited for */
/* transfers of the paging engine are traced */
void trace_begin(void);
void trace_empty(void);
void trace_end(void);
uint64_t traced_bytes(void); /* since it was emptied */
void bench_moves(void);
void bench_oversubscribed(void);
void bench_many_objects(void);
void bench_evict_many_blocks(void);
/* submit.c */
/*
 * The driver's debugfs file `ping`: nanoseconds from a register write that raises an interrupt to
 * its handler having run and woken a waiter; the median of several. 0: there is none
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
