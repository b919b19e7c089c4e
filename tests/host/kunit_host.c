// SPDX-License-Identifier: MIT
/*
 * Runs the KUnit suites of pure code on the host. Prints TAP to standard
 * output, one line per case.
 */
#include <kunit/test.h>

#define MAX_SUITES 32

static struct kunit_suite *suites[MAX_SUITES];
static unsigned int n_suites;

void kunit_host_register(struct kunit_suite *suite)
{
	if (n_suites == MAX_SUITES)
		abort();
	suites[n_suites++] = suite;
}

void *kunit_host_alloc(struct kunit *test, size_t size)
{
	if (test->n_mem == MAX_HOST_ALLOCS)
		return NULL;
	return test->mem[test->n_mem++] = calloc(1, size);
}

void kunit_kfree(struct kunit *test, const void *p)
{
	unsigned int i;

	for (i = 0; i < test->n_mem; i++) {
		if (test->mem[i] != p)
			continue;
		free(test->mem[i]);
		test->mem[i] = test->mem[--test->n_mem];
		return;
	}
}

static bool run_case(struct kunit_suite *suite, struct kunit_case *c)
{
	struct kunit *test = calloc(1, sizeof(*test));
	bool ok;

	if (!setjmp(test->out)) {
		if (suite->init && suite->init(test))
			test->failed = true;
		else
			c->run(test);
	}
	while (test->n_mem)
		free(test->mem[--test->n_mem]);
	ok = !test->failed;
	free(test);
	return ok;
}

int main(void)
{
	unsigned int n = 0, bad = 0, i;
	struct kunit_case *c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	for (i = 0; i < n_suites; i++)
		for (c = suites[i]->test_cases; c->run; c++) {
			bool ok = run_case(suites[i], c);

			bad += !ok;
			printf("%sok %u - %s %s\n", ok ? "" : "not ", ++n, suites[i]->name,
			       c->name);
		}
	printf("1..%u\n", n);
	return bad != 0;
}
