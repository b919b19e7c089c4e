/* SPDX-License-Identifier: MIT */
/* Helpers that files get through linux/slab.h in the kernel. */
#ifndef TESSERA_HOST_SLAB_H
#define TESSERA_HOST_SLAB_H

#include <stdio.h>

#define scnprintf(to, size, ...) tessera_scnprintf(to, size, __VA_ARGS__)
#define strscpy(to, from, size) snprintf(to, size, "%s", from)

static inline __attribute__((__format__(__printf__, 3, 4))) int tessera_scnprintf(char *to,
										  size_t size,
										  const char *fmt,
										  ...)
{
	__builtin_va_list args;
	int n;

	__builtin_va_start(args, fmt);
	n = vsnprintf(to, size, fmt, args);
	__builtin_va_end(args);
	return n < (int)size ? n : (int)size - 1;
}

#endif
