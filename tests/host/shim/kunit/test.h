/* SPDX-License-Identifier: MIT */
/*
 * The part of KUnit that the suites of pure code need on the host. Prints TAP.
 */
#ifndef TESSERA_HOST_KUNIT_H
#define TESSERA_HOST_KUNIT_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "pure/pure.h"

#define MAX_HOST_ALLOCS 512

struct kunit {
	bool failed;
	jmp_buf out;
	void *mem[MAX_HOST_ALLOCS];
	unsigned int n_mem;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	struct kunit_case *test_cases;
};

/* Versions of clang-format disagree about this. */
/* clang-format off */
#define KUNIT_CASE(fn) { .run = fn, .name = #fn }
/* clang-format on */
#define KUNIT_CASE_SLOW(fn) KUNIT_CASE(fn)

void kunit_host_register(struct kunit_suite *suite);
void *kunit_host_alloc(struct kunit *test, size_t size);
void kunit_kfree(struct kunit *test, const void *p);

#define kunit_test_suite(suite)                                                                    \
	static void __attribute__((constructor)) suite##_register(void)                            \
	{                                                                                          \
		kunit_host_register(&(suite));                                                     \
	}

#define GFP_KERNEL 0
#define kunit_kzalloc(test, size, gfp) kunit_host_alloc(test, size)
#define kunit_kmalloc(test, size, gfp) kunit_host_alloc(test, size)
#define kunit_kcalloc(test, n, size, gfp) kunit_host_alloc(test, (n) * (size))

#define KUNIT_FAIL(test, fmt, ...)                                                                 \
	((test)->failed = true,                                                                    \
	 (void)printf("# %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__))

#define KUNIT_HOST_BINARY(test, a, op, b, fatal, fmt, ...)                                         \
	do {                                                                                       \
		__auto_type _l = (a);                                                              \
		__typeof__(_l) _r = (__typeof__(_l))(b);                                           \
		if (_l op _r)                                                                      \
			break;                                                                     \
		KUNIT_FAIL(test, "expected %s %s %s, got %lld and %lld " fmt, #a, #op, #b,         \
			   (long long)_l, (long long)_r, ##__VA_ARGS__);                           \
		if (fatal)                                                                         \
			longjmp((test)->out, 1);                                                   \
	} while (0)

#define KUNIT_EXPECT_EQ(test, a, b) KUNIT_HOST_BINARY(test, a, ==, b, 0, "")
#define KUNIT_EXPECT_NE(test, a, b) KUNIT_HOST_BINARY(test, a, !=, b, 0, "")
#define KUNIT_EXPECT_LT(test, a, b) KUNIT_HOST_BINARY(test, a, <, b, 0, "")
#define KUNIT_EXPECT_LE(test, a, b) KUNIT_HOST_BINARY(test, a, <=, b, 0, "")
#define KUNIT_EXPECT_GT(test, a, b) KUNIT_HOST_BINARY(test, a, >, b, 0, "")
#define KUNIT_EXPECT_GE(test, a, b) KUNIT_HOST_BINARY(test, a, >=, b, 0, "")
#define KUNIT_EXPECT_TRUE(test, a) KUNIT_HOST_BINARY(test, !!(a), ==, 1, 0, "")
#define KUNIT_EXPECT_FALSE(test, a) KUNIT_HOST_BINARY(test, !!(a), ==, 0, 0, "")
#define KUNIT_ASSERT_EQ(test, a, b) KUNIT_HOST_BINARY(test, a, ==, b, 1, "")
#define KUNIT_ASSERT_LT(test, a, b) KUNIT_HOST_BINARY(test, a, <, b, 1, "")
#define KUNIT_ASSERT_TRUE(test, a) KUNIT_HOST_BINARY(test, !!(a), ==, 1, 1, "")
#define KUNIT_ASSERT_LE(test, a, b) KUNIT_HOST_BINARY(test, a, <=, b, 1, "")
#define KUNIT_ASSERT_NOT_NULL(test, p) KUNIT_HOST_BINARY(test, (p) != NULL, ==, 1, 1, "")
#define KUNIT_EXPECT_EQ_MSG(test, a, b, fmt, ...)                                                  \
	KUNIT_HOST_BINARY(test, a, ==, b, 0, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_LE_MSG(test, a, b, fmt, ...)                                                  \
	KUNIT_HOST_BINARY(test, a, <=, b, 0, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE_MSG(test, a, fmt, ...)                                                   \
	KUNIT_HOST_BINARY(test, !!(a), ==, 1, 0, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_STREQ_MSG(test, a, b, fmt, ...)                                               \
	do {                                                                                       \
		if (strcmp(a, b))                                                                  \
			KUNIT_FAIL(test, "got  \"%s\"\n#   want \"%s\" " fmt, a, b,                \
				   ##__VA_ARGS__);                                                 \
	} while (0)
#define KUNIT_EXPECT_STREQ(test, a, b) KUNIT_EXPECT_STREQ_MSG(test, a, b, "")

#endif
