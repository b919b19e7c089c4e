/* SPDX-License-Identifier: MIT */
/*
 * The driver's tracepoints, read through a tracefs instance of our own. Fields are
 * looked up by name in the printed text ("key=value").
 */
#ifndef TSR_TRACE_H
#define TSR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tsr_event {
	char name[32]; /* without "tessera_" */
	char text[480]; /* what is printed after the name */
	double time;
};

struct tsr_trace {
	struct tsr_event *events;
	size_t count;
	bool lost; /* the buffer wrapped */
};

/* Before the tests, after each and after all: who runs them. */
void tsr_traces_begin(void);
void tsr_traces_end(void);
void tsr_traces_leave(void);
/* Start recording; names as in events/tessera/, without "tessera_", NULL-terminated; none: all. */
void tsr_trace_start(const char *first, ...) __attribute__((sentinel));
/* Likewise "destroy", and an event of the kernel's, "kmem/kmalloc", where it is this thread's. */
void tsr_trace_start_own(const char *event);
/*
 * Likewise waits of the core: for fences and for contended locks, of this thread and those that it starts. A
 * thread waits if its last event is the beginning of a wait.
 */
void tsr_trace_start_waits(void);
bool tsr_trace_waits_for_fence(pid_t tid);
bool tsr_trace_waits_for_lock(pid_t tid);
/* How many events of that name there are so far; of one object unless @bo is 0. */
size_t tsr_trace_so_far(const char *name, uint64_t bo);
/* Stop, and read what was recorded. */
struct tsr_trace tsr_trace_stop(void);
void tsr_trace_free(struct tsr_trace *trace);

/* next event of that name at or after @from, or NULL */
const struct tsr_event *tsr_trace_next(const struct tsr_trace *trace, const char *name,
				       const struct tsr_event *from);
size_t tsr_trace_count(const struct tsr_trace *trace, const char *name);
bool tsr_event_has(const struct tsr_event *ev, const char *key);
/* value of a field; fails the test if there is no such field */
uint64_t tsr_event_u64(const struct tsr_event *ev, const char *key);
bool tsr_event_is(const struct tsr_event *ev, const char *key, const char *value);
/* bytes of the paging operations of one kind on one object; 0 for @bo: on any */
uint64_t tsr_trace_paged(const struct tsr_trace *trace, const char *kind, uint64_t bo);
/* was there a CPU fault with that backing? */
bool tsr_trace_faulted(const struct tsr_trace *trace, const char *backing);
void tsr_trace_dump(const struct tsr_trace *trace);

#define tsr_trace_for_each(trace, ev_name, ev)                                                     \
	for (const struct tsr_event *ev = tsr_trace_next(trace, ev_name, NULL); ev;                \
	     ev = tsr_trace_next(trace, ev_name, ev + 1))

#endif /* TSR_TRACE_H */
