// SPDX-License-Identifier: MIT
#include "inject.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tsr.h"

static int fail_nth_fd, make_it_fail_fd;

void tsr_inject_init(void)
{
	static const char *const off[] = {
		"/sys/kernel/debug/failslab/ignore-gfp-wait",
		"/sys/kernel/debug/failslab/verbose",
		"/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait",
		"/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem",
		"/sys/kernel/debug/fail_page_alloc/verbose",
		"/sys/kernel/debug/fail_usercopy/verbose",
	};

	fail_nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fail_nth_fd < 0)
		tap_skip("the kernel has no fault injection");
	make_it_fail_fd = open("/proc/thread-self/make-it-fail", O_RDWR);
	require(make_it_fail_fd >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		tsr_write_file(off[i], "0");
	/* one page at a time, too */
	tsr_write_file("/sys/kernel/debug/fail_page_alloc/min-order", "0");
}

static bool inject_write(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(fail_nth_fd, text, (size_t)len, 0) == len;
}

void tsr_inject_set(unsigned int nth)
{
	require(inject_write(nth));
}

bool tsr_inject_done(void)
{
	char text[16] = "";
	bool done = pread(fail_nth_fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	if (!inject_write(0))
		require(inject_write(0));
	return done;
}

/* ---- From one on --------------------------------------------------------------- */

#define FAILSLAB "/sys/kernel/debug/failslab/"
#define TIMES 1000000000

static void failslab_set(const char *what, unsigned int value)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), FAILSLAB "%s", what);
	snprintf(text, sizeof(text), "%u", value);
	require_ok(tsr_write_file(path, text));
}

void tsr_inject_from(unsigned int bytes)
{
	failslab_set("task-filter", 1);
	failslab_set("probability", 100);
	failslab_set("interval", 1);
	failslab_set("times", TIMES);
	failslab_set("space", bytes);
	require_eq(pwrite(make_it_fail_fd, "1", 1, 0), 1);
}

bool tsr_inject_end(void)
{
	char *times;
	bool failed;

	require_eq(pwrite(make_it_fail_fd, "0", 1, 0), 1);
	times = tsr_read_file(FAILSLAB "times");
	require(times);
	failed = atoi(times) != TIMES;
	free(times);
	return failed;
}
