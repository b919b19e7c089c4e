/* SPDX-License-Identifier: MIT */
/* A client of the library, its jobs, and the list of tests, for the guest. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "tessera.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

#define require(cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail(__LINE__, #cond, 0);                                                  \
	} while (0)
#define require_ok(call)                                                                           \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		if (ret_ < 0)                                                                      \
			fail(__LINE__, #call, ret_);                                               \
	} while (0)

void fail(int line, const char *what, int ret);

/* A client with one addressing model. */
struct client {
	struct tessera_device *dev;
	struct tessera_vm *vm; /* VM of the context; NULL: patched addressing */
	struct tessera_context *ctx;
	struct tessera_cmdbuf *cb;
	struct tessera_syncobj *timeline;
	uint64_t point; /* point of the last submission */
	uint64_t errors; /* errors that the device had counted before */
};

/* On the first render engine, or on the last one. */
struct client client_open(bool vm);
struct client client_open_last(bool vm);
void client_close(struct client *c);
/* Check and submit the recorded commands, then reset the buffer. */
void submit(struct client *c);
/* Wait for the last submission. */
void finish(struct client *c);
/* Bind a buffer of words to a slot. */
void bind_words(struct client *c, uint32_t slot, struct tessera_bo *bo, uint64_t offset,
		bool write);
/* Rectangle of words in a buffer. */
struct tessera_rect words(uint32_t first, uint32_t count);
struct tessera_bo *new_staging(struct client *c, uint64_t size);

struct test {
	const char *name;
	void (*run)(bool vm);
};

/* Run each test with both addressing models (TAP). Returns the exit code. */
int run_tests(const struct test *tests, uint32_t count);

#endif /* CLIENT_H */
