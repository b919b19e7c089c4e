// SPDX-License-Identifier: MIT
/*
 * The test harness reports the device's errors (tests/lib/referee.c) and cleans
 * up after tests. Each test runs the harness on inner tests that do something
 * wrong on purpose, and reads its output.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"
#include "tsr.h"

/* A fill that begins inside the object and ends beyond it. */
static void beyond_the_object(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_bo bo = tsr_bo_new(&dev, 4096, tsr_bit(tsr_seg_visible(&dev)), 0);
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 3, &bo, true);
	tsr_cmd_fill(&cmd, 3, 1000, 25, 1);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	require_eq(tsr_submit_status(&dev, ctx, &cmd, NULL), -EFAULT);
	tsr_close(&dev);
}

static void and_crash(void)
{
	beyond_the_object();
	raise(SIGSEGV);
}

static void nothing_wrong(void)
{
	struct tsr_device dev = tsr_open();

	tsr_close(&dev);
}

/* The harness's output for one test. The caller frees it. */
static char *told(void (*fn)(void), uint64_t flags, int *code)
{
	const struct tap_test tests[] = { { "inner", fn, flags, 0 } };
	char *text = calloc(1, 8192), *argv[] = { "inner", NULL };
	size_t used = 0;
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	require(text && !pipe(fds));
	fflush(NULL);
	pid = fork();
	require(pid >= 0);
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		_exit(tsr_tests_run(1, argv, tests, 1));
	}
	close(fds[1]);
	while ((n = read(fds[0], text + used, 8191 - used)) > 0)
		used += (size_t)n;
	close(fds[0]);
	require(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	*code = WEXITSTATUS(status);
	return text;
}

static void says(const char *text, const char *what)
{
	require_msg(strstr(text, what), "no '%s' in: %s", what, text);
}

static void says_the_error(const char *text)
{
	says(text, "device error SLOT_BOUNDS (6) x2");
	says(text, "slot=3");
	says(text, "packet=0x");
	says(text, "addr=0x");
	says(text, "object=");
	require_msg(!strstr(text, "object=0"), "no object in: %s", text);
}

static void unexpected_error_fails(void)
{
	int code;
	char *text = told(beyond_the_object, 0, &code);

	says_the_error(text);
	says(text, "the device counted 2 guest errors");
	says(text, "not ok 1 - inner");
	require_eq(code, 1);
	free(text);
}

static void other_type_than_expected_fails(void)
{
	int code;
	char *text = told(beyond_the_object, TSR_EXPECT(SLOT_UNBOUND), &code);

	says_the_error(text);
	says(text, "not ok 1 - inner");
	require_eq(code, 1);
	free(text);
}

static void expected_error_is_told_too(void)
{
	int code;
	char *text = told(beyond_the_object, TSR_EXPECT(SLOT_BOUNDS), &code);

	says_the_error(text);
	says(text, "expected");
	require_eq(code, 0);
	free(text);
}

static void crash_is_told_with_its_errors(void)
{
	int code;
	char *text = told(and_crash, TSR_EXPECT(SLOT_BOUNDS), &code);

	says_the_error(text);
	says(text, "killed by signal 11");
	says(text, "not ok 1 - inner");
	require_eq(code, 1);
	free(text);
}

static void next_test_is_not_to_blame(void)
{
	int code;

	free(told(beyond_the_object, TSR_EXPECT(SLOT_BOUNDS), &code));
	require_eq(code, 0);
	free(told(nothing_wrong, 0, &code));
	require_eq(code, 0);
}

static void killed_with_a_stuck_job(void)
{
	struct tsr_device dev = tsr_open();

	tsr_stuck_start(&dev, tsr_context_new(&dev, 0));
	raise(SIGKILL);
}

static void killed_with_a_hang_to_come(void)
{
	struct tsr_device dev = tsr_open();

	tsr_engine_hang_next(dev.render);
	raise(SIGKILL);
}

/* The runner releases an engine for a test that was killed before it could. */
static void nothing_hangs_afterwards(void)
{
	void (*const inner[])(void) = { killed_with_a_stuck_job, killed_with_a_hang_to_come };
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_cmd cmd;

	tsr_engine_hangs(); /* skips the test if there is no monitor of the host */
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	for (uint32_t i = 0; i < ARRAY_SIZE(inner); i++) {
		int code;
		char *text = told(inner[i], 0, &code);

		says(text, "killed by signal 9");
		require_eq(code, 1);
		free(text);
		tsr_submit_done(&dev, ctx, &cmd);
	}
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static void garble_knobs(void)
{
	int fd = open(TSR_KNOBS, O_WRONLY | O_CLOEXEC);
	char bytes[64];

	require(fd >= 0);
	memset(bytes, 0xff, sizeof(bytes));
	require(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	close(fd);
}

/* A knob file with invalid contents must not make the runner restore any. */
static void garbled_knobs_are_left(void)
{
	int code;
	char *text = told(garble_knobs, 0, &code);

	require_msg(!code, "%s", text);
	free(text);
}

static const struct tap_test tests[] = {
	{ "an unexpected error of the device fails a test", unexpected_error_fails, 0, 0 },
	{ "an error of another type than expected fails", other_type_than_expected_fails, 0, 0 },
	{ "an expected error is reported, too", expected_error_is_told_too, 0, 0 },
	{ "errors of a test that crashes are reported", crash_is_told_with_its_errors, 0, 0 },
	{ "an error is attributed to its own test", next_test_is_not_to_blame, 0, 0 },
	{ "an engine hangs no longer than its test", nothing_hangs_afterwards, 0, 0 },
	{ "invalid knob files are ignored", garbled_knobs_are_left, 0, 0 },
};

TSR_TEST_MAIN(tests)
