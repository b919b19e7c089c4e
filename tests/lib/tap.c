// SPDX-License-Identifier: MIT
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAP_DEFAULT_TIMEOUT 120
#define TAP_EXIT_FAIL 1
#define TAP_EXIT_SKIP 77

static void print_line(const char *prefix, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* one write: children of a test print too */
	dprintf(STDOUT_FILENO, "%s%s\n", prefix, text);
}

void tap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("# ", fmt, ap);
	va_end(ap);
}

/* the process a test runs in, but for children of its own */
static pid_t test_pid;

/* with the test's atexit() handlers, which undo what it changed in the kernel */
static _Noreturn void leave(int code)
{
	fflush(NULL);
	if (getpid() == test_pid)
		exit(code);
	_exit(code);
}

void tap_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char prefix[128];
	va_list ap;

	snprintf(prefix, sizeof(prefix), "#   %s:%d: ", base ? base + 1 : file, line);
	va_start(ap, fmt);
	print_line(prefix, fmt, ap);
	va_end(ap);
	leave(TAP_EXIT_FAIL);
}

void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("#   skipped: ", fmt, ap);
	va_end(ap);
	leave(TAP_EXIT_SKIP);
}

pid_t tap_fork(void (*fn)(void *arg), void *arg)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	require_msg(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		fn(arg);
		_exit(0);
	}
	return pid;
}

void tap_join(pid_t pid)
{
	int status;

	require(waitpid(pid, &status, 0) == pid);
	require_msg(!WIFSIGNALED(status), "child killed by signal %d", WTERMSIG(status));
	require_msg(!WEXITSTATUS(status), "child failed");
}

uint64_t tap_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

uint64_t tap_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

uint64_t tap_env(const char *name, uint64_t otherwise)
{
	char var[64];
	const char *text;

	snprintf(var, sizeof(var), "TESSERA_%s", name);
	text = getenv(var);
	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

uint64_t tap_seed(uint64_t seed)
{
	seed = tap_env("SEED", seed);
	tap_note("seed 0x%llx", (unsigned long long)seed);
	return seed;
}

bool tap_slow(void)
{
	const char *kernel = getenv("TESSERA_KERNEL");

	return kernel && !strcmp(kernel, "debug");
}

static int run_one(const struct tap_test *test)
{
	unsigned int timeout = test->timeout ? test->timeout : TAP_DEFAULT_TIMEOUT;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return TAP_EXIT_FAIL;
	if (!pid) {
		/* a process group, so that the children of a test end with it */
		setpgid(0, 0);
		test_pid = getpid();
		alarm(timeout * (unsigned int)tap_env("TIMEOUT_FACTOR", tap_slow() ? 5 : 1));
		test->fn();
		leave(0);
	}
	setpgid(pid, pid);
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status)) {
		tap_note("  killed by signal %d%s", WTERMSIG(status),
			 WTERMSIG(status) == SIGALRM ? " (too slow, or hung)" : "");
		return TAP_EXIT_FAIL;
	}
	return WEXITSTATUS(status);
}

static bool selected(int argc, char **argv, const char *name)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return false;
}

int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count,
	    const struct tap_hooks *hooks)
{
	size_t planned = 0, failed = 0, done = 0;

	for (size_t i = 0; i < count; i++)
		planned += selected(argc, argv, tests[i].name);
	dprintf(STDOUT_FILENO, "1..%zu\n", planned);

	for (size_t i = 0; i < count; i++) {
		const char *wrong = NULL;
		uint64_t start;
		int rc;

		if (!selected(argc, argv, tests[i].name))
			continue;
		if (hooks && hooks->before)
			hooks->before(&tests[i]);
		start = tap_now_ns();
		rc = run_one(&tests[i]);
		if (hooks && hooks->after)
			wrong = hooks->after(&tests[i]);
		if (wrong && rc == 0) {
			tap_note("  %s", wrong);
			rc = TAP_EXIT_FAIL;
		}
		done++;
		failed += rc != 0 && rc != TAP_EXIT_SKIP;
		dprintf(STDOUT_FILENO, "%sok %zu - %s%s (%llu ms)\n",
			rc == 0 || rc == TAP_EXIT_SKIP ? "" : "not ", done, tests[i].name,
			rc == TAP_EXIT_SKIP ? " # SKIP" : "",
			(unsigned long long)((tap_now_ns() - start) / 1000000));
	}
	return failed ? 1 : 0;
}
