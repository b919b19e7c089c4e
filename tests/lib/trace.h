/* SPDX-License-Identifier: MIT */
/*
 * The driver's tracepoints, read through a tracefs instance of the test. Fields
 * are looked up by name in the printed text ("key=value").
 */
#ifndef TSR_TRACE_H
#define TSR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tsr_event {
	char name[32]; /* without "tessera_" */
	char text[480]; /* text printed after the name */
	double time;
};

struct tsr_trace {
	struct tsr_event *events;
	size_t count;
	bool lost; /* the buffer overflowed */
};

/* Called by the runner: before the first test, after each, after the last. */
void tsr_traces_begin(void);
void tsr_traces_end(void);
void tsr_traces_leave(void);
/*
 * Start recording. The arguments are names in events/tessera/ without
 * "tessera_", ended by NULL. A leading NULL records all of them.
 */
void tsr_trace_start(const char *first, ...) __attribute__((sentinel));
/*
 * Start recording "destroy", and one event of the kernel, such as
 * "kmem/kmalloc", for the calling thread.
 */
void tsr_trace_start_own(const char *event);
/*
 * Start recording one event of the kernel, such as "kmem/kmalloc". @filter is
 * an expression for its tracefs file "filter".
 */
void tsr_trace_start_kernel(const char *event, const char *filter);
/*
 * Start recording the waits of this thread, and of threads that it starts from
 * now on, for dma-fences and contended mutexes. A thread waits if its last
 * event is the beginning of a wait, and if it sleeps.
 */
void tsr_trace_start_waits(void);
bool tsr_trace_waits_for_fence(pid_t tid);
bool tsr_trace_waits_for_lock(pid_t tid);
/* Number of events of that name so far; with @bo set, only of this object. */
size_t tsr_trace_so_far(const char *name, uint64_t bo);
/* The same for events that have @value as @key; NULL: all. */
size_t tsr_trace_so_far_with(const char *name, const char *key, uint64_t value);
/* Stop, and read the recorded events. */
struct tsr_trace tsr_trace_stop(void);
void tsr_trace_free(struct tsr_trace *trace);

/* Next event of that name at or after @from, or NULL. */
const struct tsr_event *tsr_trace_next(const struct tsr_trace *trace, const char *name,
				       const struct tsr_event *from);
size_t tsr_trace_count(const struct tsr_trace *trace, const char *name);
/* TSR_APTE_* flags of the "map" among the "paging_op" events; requires that there is one. */
uint32_t tsr_trace_map_flags(const struct tsr_trace *trace);
/* Value of a field. Fails the test if the event has no such field. */
uint64_t tsr_event_u64(const struct tsr_event *ev, const char *key);
bool tsr_event_is(const struct tsr_event *ev, const char *key, const char *value);
/* Bytes of all paging operations of one kind on @bo, or on any if it is 0. */
uint64_t tsr_trace_paged(const struct tsr_trace *trace, const char *kind, uint64_t bo);
/* True if a CPU fault was resolved with this backing. */
bool tsr_trace_faulted(const struct tsr_trace *trace, const char *backing);

#define tsr_trace_for_each(trace, ev_name, ev)                                                     \
	for (const struct tsr_event *ev = tsr_trace_next(trace, ev_name, NULL); ev;                \
	     ev = tsr_trace_next(trace, ev_name, ev + 1))

#endif /* TSR_TRACE_H */
