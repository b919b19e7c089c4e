// SPDX-License-Identifier: MIT
/*
 * memcpy-ref BYTES: speed of memcpy() of BYTES on this machine, in bytes per
 * second: the median of nine copies between the same two buffers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS 9

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	double seconds[RUNS];
	char *from, *to;
	size_t size;

	size = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;
	if (!size || size > (size_t)1 << 32) {
		fprintf(stderr, "Usage: memcpy-ref BYTES\n");
		return 2;
	}
	from = malloc(size);
	to = malloc(size);
	if (!from || !to) {
		fprintf(stderr, "memcpy-ref: no memory\n");
		return 1;
	}
	memset(from, 1, size);
	memset(to, 2, size);
	for (int i = 0; i < RUNS; i++) {
		double start = now();

		memcpy(to, from, size);
		/* Keep the compiler from removing the copy. */
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
		seconds[i] = now() - start;
	}
	qsort(seconds, RUNS, sizeof(seconds[0]), compare);
	printf("%.0f\n", size / seconds[RUNS / 2]);
	return 0;
}
