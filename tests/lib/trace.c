// SPDX-License-Identifier: MIT
#include "trace.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stall.h"
#include "tsr.h"

static char instance[128];

/*
 * Creating an instance takes a second on the debug kernel, so one is kept for
 * all tests of a program. A second process that records at the same time
 * creates its own.
 */
static struct kept {
	pid_t runner, user;
} * kept;
static bool using_kept;

static void put(const char *file, const char *text)
{
	char path[320];
	int rc;

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	rc = tsr_write_file(path, text);
	require_msg(!rc, "write '%s' to %s: %s", text, path, strerror(-rc));
}

static void name_instance(pid_t pid)
{
	snprintf(instance, sizeof(instance), "/sys/kernel/tracing/instances/tessera-%d", (int)pid);
}

void tsr_traces_begin(void)
{
	kept = tsr_shared(sizeof(*kept));
	kept->runner = getpid();
}

/* Removes instances that processes of the test created and did not remove. */
static void remove_others(void)
{
	char kept_path[128];
	glob_t found;

	name_instance(kept->runner);
	strcpy(kept_path, instance);
	if (glob("/sys/kernel/tracing/instances/tessera-[0-9]*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (strcmp(found.gl_pathv[i], kept_path))
			rmdir(found.gl_pathv[i]);
	globfree(&found);
}

void tsr_traces_end(void)
{
	char path[320];

	remove_others();
	if (!kept->user)
		return;
	/*
	 * The test failed while it was recording. The next user of the instance
	 * empties it.
	 */
	name_instance(kept->runner);
	snprintf(path, sizeof(path), "%s/tracing_on", instance);
	tsr_write_file(path, "0");
	kept->user = 0;
}

void tsr_traces_leave(void)
{
	name_instance(kept->runner);
	rmdir(instance);
}

static bool take_kept(void)
{
	pid_t nobody = 0;

	return __atomic_compare_exchange_n(&kept->user, &nobody, getpid(), false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST) ||
	       nobody == getpid();
}

static void forget(void)
{
	char path[320];
	int fd;

	put("tracing_on", "0");
	put("events/tessera/enable", "0");
	snprintf(path, sizeof(path), "%s/trace", instance);
	/* opening with O_TRUNC empties the buffer, writing would not */
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	require_msg(fd >= 0, "%s: %s", path, strerror(errno));
	close(fd);
}

/* Makes an instance that is empty and ready to record. */
static void make_instance(bool the_kept)
{
	if (access("/sys/kernel/tracing/trace", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (access("/sys/kernel/tracing/events/tessera", F_OK))
		tap_skip("no tracepoints of the driver");
	using_kept = the_kept;
	name_instance(the_kept ? kept->runner : getpid());
	if (!mkdir(instance, 0700)) {
		put("tracing_on", "0");
		put("trace_clock", "global");
		/*
		 * pages are slow on the debug kernel; overflow fails the test
		 */
		put("buffer_size_kb", tap_slow() ? "1024" : "4096");
		return;
	}
	require_msg(errno == EEXIST, "mkdir %s: %s", instance, strerror(errno));
	forget();
}

void tsr_trace_start(const char *first, ...)
{
	va_list ap;

	make_instance(take_kept());
	if (!first)
		put("events/tessera/enable", "1");
	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *)) {
		char file[96];

		snprintf(file, sizeof(file), "events/tessera/tessera_%s/enable", name);
		put(file, "1");
	}
	va_end(ap);
	put("tracing_on", "1");
}

/* Uses its own instance, so that no other trace has these events. */
void tsr_trace_start_own(const char *event)
{
	char text[96];

	make_instance(false);
	put("events/tessera/tessera_destroy/enable", "1");
	snprintf(text, sizeof(text), "%d", (int)gettid());
	put("set_event_pid", text);
	snprintf(text, sizeof(text), "events/%s/enable", event);
	put(text, "1");
	put("tracing_on", "1");
}

/* Uses its own instance, too. */
void tsr_trace_start_kernel(const char *event, const char *filter)
{
	char file[96];

	make_instance(false);
	snprintf(file, sizeof(file), "events/%s/filter", event);
	put(file, filter);
	snprintf(file, sizeof(file), "events/%s/enable", event);
	put(file, "1");
	put("tracing_on", "1");
}

/* Parses "  task-12  [001] d..1.  12.345678: name: key=value …". */
static bool parse_line(const char *line, struct tsr_event *ev)
{
	const char *bracket = strstr(line, " [");
	const char *colon, *name, *end;
	size_t len;

	if (line[0] == '#' || !bracket)
		return false;
	colon = strstr(bracket, ": ");
	if (!colon)
		return false;
	name = colon + 2;
	while (*name == ' ')
		name++;
	if (!strncmp(name, "tessera_", 8))
		name += 8;
	end = strchr(name, ':');
	if (!end)
		return false;
	for (colon--; colon > bracket && *colon != ' '; colon--)
		;
	ev->time = strtod(colon, NULL);
	len = (size_t)(end - name);
	if (len >= sizeof(ev->name))
		return false;
	memcpy(ev->name, name, len);
	ev->name[len] = 0;
	snprintf(ev->text, sizeof(ev->text), "%s", end + 1);
	return true;
}

/* flag of contention_begin: the thread sleeps for a mutex */
#define LCB_F_MUTEX 32

void tsr_trace_start_waits(void)
{
	char text[32];

	make_instance(false);
	put("options/event-fork", "1");
	snprintf(text, sizeof(text), "%d", (int)gettid());
	put("set_event_pid", text);
	/*
	 * With lockdep, the kernel reports every mutex_lock() as spinning
	 * contention. Those of this thread, which reads the trace, would soon
	 * overwrite all other events.
	 */
	snprintf(text, sizeof(text), "common_pid != %d", (int)gettid());
	put("events/lock/contention_end/filter", text);
	snprintf(text, sizeof(text), "flags == %d", LCB_F_MUTEX);
	put("events/lock/contention_begin/filter", text);
	put("events/dma_fence/dma_fence_wait_start/enable", "1");
	put("events/dma_fence/dma_fence_wait_end/enable", "1");
	put("events/lock/contention_begin/enable", "1");
	put("events/lock/contention_end/enable", "1");
	put("tracing_on", "1");
}

/* Matches "task-12  [001]". The task name may contain a dash, too. */
static bool is_line_of(const char *line, pid_t tid)
{
	const char *at = strstr(line, " [");

	while (at && at > line && at[-1] == ' ')
		at--;
	while (at && at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at && strtol(at, NULL, 10) == tid;
}

static bool is_between(pid_t tid, const char *begin, const char *end)
{
	char path[320], *text, *line, *save = NULL;
	bool inside = false;
	struct tsr_event ev;

	snprintf(path, sizeof(path), "%s/trace", instance);
	text = tsr_read_file(path);
	require(text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!is_line_of(line, tid) || !parse_line(line, &ev))
			continue;
		if (!strcmp(ev.name, begin))
			inside = true;
		else if (!strcmp(ev.name, end))
			inside = false;
	}
	free(text);
	return inside && tsr_waits(tid);
}

bool tsr_trace_waits_for_fence(pid_t tid)
{
	return is_between(tid, "dma_fence_wait_start", "dma_fence_wait_end");
}

bool tsr_trace_waits_for_lock(pid_t tid)
{
	return is_between(tid, "contention_begin", "contention_end");
}

size_t tsr_trace_so_far(const char *name, uint64_t bo)
{
	return tsr_trace_so_far_with(name, bo ? "bo" : NULL, bo);
}

size_t tsr_trace_so_far_with(const char *name, const char *key, uint64_t value)
{
	char path[320], *text, *line, *save = NULL;
	struct tsr_event ev;
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/trace", instance);
	text = tsr_read_file(path);
	require(text);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		count += parse_line(line, &ev) && !strcmp(ev.name, name) &&
			 (!key || tsr_event_u64(&ev, key) == value);
	free(text);
	return count;
}

struct tsr_trace tsr_trace_stop(void)
{
	struct tsr_trace trace = { 0 };
	char path[320], *text, *line, *save = NULL;
	size_t max = 0;

	put("tracing_on", "0");
	snprintf(path, sizeof(path), "%s/trace", instance);
	text = tsr_read_file(path);
	require(text);
	trace.lost = strstr(text, "LOST") != NULL;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (trace.count == max) {
			max = max ? max * 2 : 256;
			trace.events = realloc(trace.events, max * sizeof(*trace.events));
			require(trace.events);
		}
		if (parse_line(line, &trace.events[trace.count]))
			trace.count++;
	}
	free(text);
	put("events/tessera/enable", "0");
	if (using_kept)
		kept->user = 0;
	else
		rmdir(instance);
	require_msg(!trace.lost, "the trace buffer was too small");
	return trace;
}

void tsr_trace_free(struct tsr_trace *trace)
{
	free(trace->events);
	memset(trace, 0, sizeof(*trace));
}

const struct tsr_event *tsr_trace_next(const struct tsr_trace *trace, const char *name,
				       const struct tsr_event *from)
{
	const struct tsr_event *end = trace->events + trace->count;

	for (const struct tsr_event *ev = from ? from : trace->events; ev < end; ev++)
		if (!strcmp(ev->name, name))
			return ev;
	return NULL;
}

size_t tsr_trace_count(const struct tsr_trace *trace, const char *name)
{
	size_t count = 0;

	tsr_trace_for_each(trace, name, ev)
		count++;
	return count;
}

uint32_t tsr_trace_map_flags(const struct tsr_trace *trace)
{
	uint32_t maps = 0, flags = 0;

	tsr_trace_for_each(trace, "paging_op", ev) {
		if (!tsr_event_is(ev, "kind", "map"))
			continue;
		flags = (uint32_t)tsr_event_u64(ev, "flags");
		maps++;
	}
	require_eq(maps, 1);
	return flags;
}

static const char *find_value(const struct tsr_event *ev, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = ev->text; (p = strstr(p, key)); p += len)
		if ((p == ev->text || isspace((unsigned char)p[-1])) && p[len] == '=')
			return p + len + 1;
	return NULL;
}

uint64_t tsr_event_u64(const struct tsr_event *ev, const char *key)
{
	const char *value = find_value(ev, key);

	require_msg(value, "event %s has no field %s: %s", ev->name, key, ev->text);
	return value[0] == '-' ? (uint64_t)strtoll(value, NULL, 0) : strtoull(value, NULL, 0);
}

bool tsr_event_is(const struct tsr_event *ev, const char *key, const char *value)
{
	const char *text = find_value(ev, key);
	size_t len = strlen(value);

	require_msg(text, "event %s has no field %s: %s", ev->name, key, ev->text);
	return !strncmp(text, value, len) &&
	       (!text[len] || isspace((unsigned char)text[len]) || text[len] == ',');
}

uint64_t tsr_trace_paged(const struct tsr_trace *trace, const char *kind, uint64_t bo)
{
	uint64_t bytes = 0;

	tsr_trace_for_each(trace, "paging_op", ev) {
		if (tsr_event_is(ev, "kind", kind) && (!bo || tsr_event_u64(ev, "bo") == bo))
			bytes += tsr_event_u64(ev, "size");
	}
	return bytes;
}

bool tsr_trace_faulted(const struct tsr_trace *trace, const char *backing)
{
	tsr_trace_for_each(trace, "cpu_fault", ev) {
		if (tsr_event_is(ev, "backing", backing))
			return true;
	}
	return false;
}
