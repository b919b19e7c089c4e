/* SPDX-License-Identifier: MIT */
/*
 * A small TAP harness. Each test runs in a process of its own, so that whatever it
 * leaves behind (open files, objects, a crash, a hang) ends with it and the
 * next test starts clean. A failed requirement ends that process.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct tap_test {
	const char *name; /* names the requirements it proves */
	void (*fn)(void);
	uint64_t flags; /* for the hooks */
	unsigned int timeout; /* seconds; 0: the default */
};

/* Run in the parent around each test; after() returns NULL or what is wrong. */
struct tap_hooks {
	void (*before)(const struct tap_test *test);
	const char *(*after)(const struct tap_test *test);
};

/* Arguments on the command line pick the tests whose name contains one of them. */
int tap_run(int argc, char **argv, const struct tap_test *tests, size_t count,
	    const struct tap_hooks *hooks);

void tap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
void tap_skip(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* what the steps that follow are to show, told with the failure of one; NULL: nothing more */
void tap_rule(const char *rule);
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A test that fails while this says true has proved nothing, as what it relies on has ended by itself:
 * it is run once more, and fails when that has happened a few times.
 */
void tap_excuse(bool (*fn)(void));

/* A child process of a test; its failure is the test's when joined. */
pid_t tap_fork(void (*fn)(void *arg), void *arg);
void tap_join(pid_t pid);
void tap_kill(pid_t pid); /* ends it; how it went does not matter */

uint64_t tap_now_ns(void);
/* splitmix64: small, seedable, the same everywhere */
uint64_t tap_random(uint64_t *state);
/* TESSERA_SEED of the environment, else the given one; printed */
uint64_t tap_seed(uint64_t seed);
/* TESSERA_<name> of the environment as a number, else the given one */
uint64_t tap_env(const char *name, uint64_t otherwise);
/* the debug kernel: do less */
bool tap_slow(void);
/* a run that may take as long as it likes: TESSERA_LONG */
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

/* a call that returns 0 or -errno */
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
