// SPDX-License-Identifier: MIT
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TAP_DEFAULT_TIMEOUT 120
#define TAP_EXIT_FAIL 1
#define TAP_EXIT_SKIP 77
#define TAP_EXIT_EXCUSED 78
#define TAP_EXCUSES 3
/* ms for a killed test to exit; after that the kernel must be holding it */
#define TAP_KILL_MS 20000
#define TAP_STUCK -1
/* limits for the report on a hung test */
#define TELL_TASKS 12
#define TELL_LINES 24

/* written by the test's process, read by the runner */
static char *skip_reason;
#define SKIP_REASON_BYTES 256

static void print_line(const char *prefix, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* a single write, because children of a test print as well */
	dprintf(STDOUT_FILENO, "%s%s\n", prefix, text);
}

void tap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line("# ", fmt, ap);
	va_end(ap);
}

/* process of the running test; its children inherit the value */
static pid_t test_pid;

/* In the test's own process atexit() handlers undo changes to the kernel. */
static _Noreturn void leave(int code)
{
	fflush(NULL);
	if (getpid() == test_pid)
		exit(code);
	_exit(code);
}

static bool (*excuse)(void);

void tap_excuse(bool (*fn)(void))
{
	excuse = fn;
}

static const char *rule;

void tap_rule(const char *text)
{
	rule = text;
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
	if (rule)
		tap_note("  the rule there: %s", rule);
	leave(excuse && excuse() ? TAP_EXIT_EXCUSED : TAP_EXIT_FAIL);
}

void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(skip_reason, SKIP_REASON_BYTES, fmt, ap);
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
	if (WEXITSTATUS(status) == TAP_EXIT_EXCUSED)
		leave(TAP_EXIT_EXCUSED);
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

bool tap_long(void)
{
	return tap_env("LONG", 0);
}

/* Marks a test in the kernel log, to tell which messages belong to it. */
static void mark(const char *what, const char *name, const char *more)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char text[256];

	if (fd < 0)
		return;
	/* not dprintf(), which needs to seek; each write makes one record */
	snprintf(text, sizeof(text), "tessera-test: %s %s: %s%s\n", what,
		 program_invocation_short_name, name, more);
	if (write(fd, text, strlen(text)) < 0)
		tap_note("  cannot write to the kernel log: %s", strerror(errno));
	close(fd);
}

static unsigned int time_limit(const struct tap_test *test)
{
	unsigned int timeout = test->timeout ? test->timeout : TAP_DEFAULT_TIMEOUT;

	return timeout * (tap_slow() ? 5 : 1) * (unsigned int)tap_env("TIMEOUT_FACTOR", 1);
}

static bool wait_for_exit(pid_t pid, uint64_t ms)
{
	struct pollfd poll_fd = { .events = POLLIN };
	uint64_t until = tap_now_ns() + ms * 1000000;
	int rc;

	poll_fd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll_fd.fd < 0)
		return true; /* waitpid() reports the error */
	do {
		uint64_t now = tap_now_ns();

		rc = poll(&poll_fd, 1, now < until ? (int)((until - now) / 1000000) + 1 : 0);
	} while (rc < 0 && errno == EINTR);
	close(poll_fd.fd);
	return rc > 0;
}

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void note_file(const char *folder, const char *name)
{
	char path[PATH_MAX], text[4096], *line, *save = NULL;
	int lines = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	read_text(path, text, sizeof(text));
	for (line = strtok_r(text, "\n", &save); line && lines < TELL_LINES;
	     line = strtok_r(NULL, "\n", &save)) {
		char *end = strrchr(line, ' ');

		/* skip rows of `waits` that no thread is in */
		if (end && !strcmp(end, " pids"))
			continue;
		tap_note("    %s: %s", name, line);
		lines++;
	}
}

static bool in_group(const char *task, pid_t group)
{
	char path[PATH_MAX], text[512], *end;
	int found = 0;

	snprintf(path, sizeof(path), "%s/stat", task);
	end = read_text(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return end && sscanf(end, ") %*c %*d %d", &found) == 1 && found == group;
}

/* Prints the stacks of the test's processes, and the driver's waits. */
static void tell_tasks(pid_t group)
{
	glob_t found;
	int told = 0;

	if (!glob("/proc/[0-9]*/task/[0-9]*", GLOB_NOSORT, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc && told < TELL_TASKS; i++) {
			if (!in_group(found.gl_pathv[i], group))
				continue;
			tap_note("  %s", found.gl_pathv[i]);
			note_file(found.gl_pathv[i], "comm");
			note_file(found.gl_pathv[i], "wchan");
			note_file(found.gl_pathv[i], "stack");
			told++;
		}
		globfree(&found);
	}
	/* every device's file shows the same rows */
	if (!glob("/sys/kernel/debug/dri/*/waits", 0, NULL, &found)) {
		*strrchr(found.gl_pathv[0], '/') = 0;
		note_file(found.gl_pathv[0], "waits");
		globfree(&found);
	}
}

/* Prints tasks twice: a single look cannot tell a loop from a wait. */
static void tell_hung(pid_t pid)
{
	for (int i = 0; i < 2; i++) {
		if (i && wait_for_exit(pid, 1000))
			return;
		tap_note("  it runs into its time limit; look %d:", i + 1);
		tell_tasks(pid);
	}
}

/* Reports a test that not even SIGKILL ends, and lists all blocked tasks. */
static void tell_stuck(pid_t pid)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	tap_note("  stuck in the kernel; the kernel log lists the blocked tasks");
	tell_tasks(pid);
	if (fd < 0)
		return;
	if (write(fd, "w", 1) != 1)
		tap_note("  no list of tasks: %s", strerror(errno));
	close(fd);
}

static int run_one(const struct tap_test *test)
{
	unsigned int timeout = time_limit(test);
	int status;
	pid_t pid;

	fflush(NULL);
	skip_reason[0] = 0;
	pid = fork();
	if (pid < 0)
		return TAP_EXIT_FAIL;
	if (!pid) {
		/* a group of its own, so that its children can be killed */
		setpgid(0, 0);
		test_pid = getpid();
		/* in case the runner dies */
		alarm(timeout + TAP_KILL_MS / 1000);
		test->fn();
		leave(0);
	}
	setpgid(pid, pid);
	if (!wait_for_exit(pid, timeout * 1000ull)) {
		tell_hung(pid);
		kill(pid, SIGALRM);
		if (!wait_for_exit(pid, TAP_KILL_MS))
			kill(-pid, SIGKILL);
		if (!wait_for_exit(pid, TAP_KILL_MS)) {
			tell_stuck(pid);
			return TAP_STUCK;
		}
	}
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

/* Runs a test. The result also depends on the after() hook. */
static int run_checked(const struct tap_test *test, const struct tap_hooks *hooks)
{
	const char *wrong = NULL;
	char limit[32];
	int rc;

	/*
	 * The time limit goes to the kernel log, so that an observer outside
	 * the guest can detect a hang that freezes this process, too.
	 */
	snprintf(limit, sizeof(limit), " (limit %u s)", time_limit(test));
	mark("begin", test->name, limit);
	if (hooks && hooks->before)
		hooks->before(test);
	rc = run_one(test);
	if (hooks && hooks->after && rc != TAP_STUCK)
		wrong = hooks->after(test);
	if (wrong)
		tap_note("  %s", wrong);
	if (wrong && (rc == 0 || rc == TAP_EXIT_SKIP || rc == TAP_EXIT_EXCUSED))
		rc = TAP_EXIT_FAIL;
	return rc;
}

static int run_again(const struct tap_test *test, const struct tap_hooks *hooks)
{
	int rc = run_checked(test, hooks);

	for (int i = 0; i < TAP_EXCUSES && rc == TAP_EXIT_EXCUSED; i++) {
		tap_note("  that was too slow to prove anything: once more");
		rc = run_checked(test, hooks);
	}
	return rc;
}

/* A selector that matches no test is a mistake of the caller. */
static bool selectors_match(int argc, char **argv, const struct tap_test *tests, size_t count)
{
	bool all = true;

	for (int i = 1; i < argc; i++) {
		char *one[] = { argv[0], argv[i] };
		bool found = false;

		for (size_t j = 0; j < count; j++)
			found |= selected(2, one, tests[j].name);
		if (!found)
			dprintf(STDOUT_FILENO, "Bail out! no test's name contains '%s'\n", argv[i]);
		all &= found;
	}
	return all;
}

static void print_result(size_t number, const struct tap_test *test, int rc, uint64_t ns)
{
	/* the name is the same in every run, so the time comes after it */
	if (rc == TAP_EXIT_SKIP)
		dprintf(STDOUT_FILENO, "ok %zu - %s # SKIP %s\n", number, test->name, skip_reason);
	else
		dprintf(STDOUT_FILENO, "%sok %zu - %s # %llu ms\n", rc ? "not " : "", number,
			test->name, (unsigned long long)(ns / 1000000));
}

int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count,
	    const struct tap_hooks *hooks)
{
	size_t planned = 0, failed = 0, done = 0;

	skip_reason = mmap(NULL, SKIP_REASON_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (skip_reason == MAP_FAILED || !selectors_match(argc, argv, tests, count))
		return 2;
	for (size_t i = 0; i < count; i++)
		planned += selected(argc, argv, tests[i].name);
	dprintf(STDOUT_FILENO, "1..%zu\n", planned);

	for (size_t i = 0; i < count; i++) {
		uint64_t start;
		int rc;

		if (!selected(argc, argv, tests[i].name))
			continue;
		start = tap_now_ns();
		rc = run_again(&tests[i], hooks);
		done++;
		failed += rc != 0 && rc != TAP_EXIT_SKIP;
		print_result(done, &tests[i], rc, tap_now_ns() - start);
		mark("end", tests[i].name, "");
		if (rc == TAP_STUCK) {
			dprintf(STDOUT_FILENO, "Bail out! the kernel holds a test\n");
			break;
		}
	}
	return failed ? 1 : 0;
}
