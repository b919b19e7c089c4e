// SPDX-License-Identifier: MIT
#include "inject.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tsr.h"

static int fail_nth_fd;

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
	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		tsr_write_file(off[i], "0");
	/* allocations of single pages fail, too */
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
