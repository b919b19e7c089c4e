// SPDX-License-Identifier: MIT
/* The address allocator, compared with a map of all granules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock.h"
#include "va.h"

#define GRANULE UINT64_C(65536)
#define START (UINT64_C(1) << 40)
#define GRANULES 512
#define STEPS 20000

static struct tessera_device *dev_of(void **state)
{
	return ((struct mock_device *)*state)->dev;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Index of the first hole of at least @count granules. */
static uint32_t model_find(const uint8_t *taken, uint32_t count)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < GRANULES; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return GRANULES;
}

/*
 * RES-5: random allocations. Fails if an address is allocated twice, if a range
 * is not the lowest possible one, or if freed ranges are not merged.
 */
static void test_random(void **state)
{
	struct tessera_va_range *ranges[GRANULES] = { NULL };
	uint8_t taken[GRANULES] = { 0 };
	uint32_t seed = 7, full = 0;
	struct tessera_va va;

	assert_int_equal(tessera_va_init(&va, dev_of(state), START, GRANULES * GRANULE, GRANULE),
			 0);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t count = 1 + next_random(&seed) % 24, at = next_random(&seed) % GRANULES;
		/* Sometimes a page less than whole granules. */
		uint64_t size = count * GRANULE - next_random(&seed) % 2 * 4096;

		if (ranges[at]) {
			memset(taken + at, 0, ranges[at]->size / GRANULE);
			tessera_va_give(&va, ranges[at]);
			ranges[at] = NULL;
		}
		at = model_find(taken, count);
		if (at == GRANULES) {
			full++;
			assert_null(tessera_va_take(&va, size));
			continue;
		}
		ranges[at] = tessera_va_take(&va, size);
		assert_non_null(ranges[at]);
		assert_int_equal(ranges[at]->start, START + at * GRANULE);
		assert_int_equal(ranges[at]->size, count * GRANULE);
		memset(taken + at, 1, count);
	}
	assert_true(full);
	for (uint32_t i = 0; i < GRANULES; i++) {
		if (ranges[i])
			tessera_va_give(&va, ranges[i]);
	}
	ranges[0] = tessera_va_take(&va, GRANULES * GRANULE);
	assert_non_null(ranges[0]);
	assert_null(tessera_va_take(&va, 1));
	tessera_va_give(&va, ranges[0]);
	tessera_va_fini(&va);
}

/* Allocating may fail for lack of memory, freeing never. */
static void test_no_memory(void **state)
{
	struct mock *mock = &((struct mock_device *)*state)->mock;
	struct tessera_va_range *a, *b;
	struct tessera_va va;

	mock->fail_alloc = mock->allocs;
	assert_int_equal(tessera_va_init(&va, dev_of(state), START, 4 * GRANULE, GRANULE), -ENOMEM);
	assert_int_equal(tessera_va_init(&va, dev_of(state), START, 4 * GRANULE, GRANULE), 0);
	a = tessera_va_take(&va, GRANULE);
	b = tessera_va_take(&va, GRANULE);
	mock->fail_alloc = mock->allocs;
	mock->fail_alloc_all_after = true;
	assert_null(tessera_va_take(&va, GRANULE));
	tessera_va_give(&va, a);
	/* A range of the size of the hole needs no memory. */
	a = tessera_va_take(&va, GRANULE);
	assert_non_null(a);
	tessera_va_give(&va, a);
	tessera_va_give(&va, b);
	mock->fail_alloc = -1;
	a = tessera_va_take(&va, 4 * GRANULE);
	assert_non_null(a);
	tessera_va_give(&va, a);
	tessera_va_fini(&va);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, mock_setup, mock_teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, mock_setup, mock_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
