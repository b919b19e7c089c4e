/* SPDX-License-Identifier: MIT */
/*
 * A small TAP harness. Each test runs in a process of its own, so that
 * everything it leaves behind (open files, objects, a crash, a hang) ends with
 * the process, and the next test starts clean. A failed requirement ends the
 * process.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct tap_test {
	const char *name; /* names the requirements that the test proves */
	void (*fn)(void);
	uint64_t flags; /* passed to the hooks */
	unsigned int timeout; /* seconds; 0: the default */
};

/* Run in the parent around each test. after() returns NULL or an error text. */
struct tap_hooks {
	void (*before)(const struct tap_test *test);
	const char *(*after)(const struct tap_test *test);
};

/* Command line arguments select the tests whose name contains one of them. */
int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count,
	    const struct tap_hooks *hooks);

void tap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void tap_skip(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The rule that the next steps check, printed with a failure. NULL ends it. */
void tap_rule(const char *rule);
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A test that fails while @fn returns true has proved nothing: its precondition
 * expired (for example, a vgem fence timed out). The test is run again, and
 * fails if that happens several times.
 */
void tap_excuse(bool (*fn)(void));

/* A child process of a test. If the child fails, joining it fails the test. */
pid_t tap_fork(void (*fn)(void *arg), void *arg);
void tap_join(pid_t pid);

uint64_t tap_now_ns(void);
/* splitmix64: small, seedable, the same on every machine */
uint64_t tap_random(uint64_t *state);
/* TESSERA_SEED of the environment, else @seed. Printed. */
uint64_t tap_seed(uint64_t seed);
/* TESSERA_<name> of the environment as a number, else @otherwise. */
uint64_t tap_env(const char *name, uint64_t otherwise);
/* True on the debug kernel, where tests should do less. */
bool tap_slow(void);
/* True if the run may take arbitrarily long (TESSERA_LONG). */
bool tap_long(void);

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			tap_fail(__FILE__, __LINE__, "%s", #cond);                                 \
	} while (0)

#define require_msg(cond, ...)                                                                     \
	do {                                                                                       \
		if (!(cond))                                                                       \
			tap_fail(__FILE__, __LINE__, __VA_ARGS__);                                 \
	} while (0)

#define require_eq(a, b)                                                                           \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_)                                                                      \
			tap_fail(__FILE__, __LINE__,                                               \
				 "%s is %lld (0x%llx), not %s = %lld (0x%llx)", #a, a_, a_, #b,    \
				 b_, b_);                                                          \
	} while (0)

/* @call returns 0 or -errno. */
#define require_ok(call)                                                                           \
	do {                                                                                       \
		int r_ = (call);                                                                   \
		if (r_)                                                                            \
			tap_fail(__FILE__, __LINE__, "%s: %s", #call, strerror(-r_));              \
	} while (0)

#define require_err(call, err)                                                                     \
	do {                                                                                       \
		int r_ = (call);                                                                   \
		if (r_ != (err))                                                                   \
			tap_fail(__FILE__, __LINE__, "%s: %d (%s), not %s", #call, r_,             \
				 r_ ? strerror(-r_) : "success", #err);                            \
	} while (0)

#endif /* TAP_H */
