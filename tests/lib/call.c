// SPDX-License-Identifier: MIT
#include "call.h"

#include <unistd.h>

#include "tap.h"
#include "tsr.h"

static void *call_thread(void *arg)
{
	struct tsr_call *call = arg;

	call->tid = gettid();
	call->fn(call->arg);
	call->returned = true;
	return NULL;
}

void tsr_call_start(struct tsr_call *call, void (*fn)(void *arg), void *arg)
{
	*call = (struct tsr_call){ .fn = fn, .arg = arg };
	require(!pthread_create(&call->thread, NULL, call_thread, call));
}

bool tsr_call_waits(const struct tsr_call *call, const char *row)
{
	return call->tid && tsr_is_waiting(call->tid, row);
}

void tsr_call_join(struct tsr_call *call)
{
	require(!pthread_join(call->thread, NULL));
}
