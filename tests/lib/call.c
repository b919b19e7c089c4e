// SPDX-License-Identifier: MIT
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stall.h"
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

/* The debugfs file that lists the objects has one of them in a line. */
static uint32_t labelled(struct tsr_device *dev, const struct tsr_bo *bo)
{
	struct drm_tessera_bo_label args = { .handle = bo->handle, .label = "to be locked" };
	char *list, *line, *save = NULL;
	uint32_t id = 0;

	require(!ioctl(dev->fd, DRM_IOCTL_TESSERA_BO_LABEL, &args));
	list = tsr_debugfs_read("allocations");
	for (line = strtok_r(list, "\n", &save); line && !id; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, (const char *)args.label))
			require_eq(sscanf(line, "bo %u", &id), 1);
	free(list);
	require(id);
	args.label[0] = '\0';
	require(!ioctl(dev->fd, DRM_IOCTL_TESSERA_BO_LABEL, &args));
	return id;
}

static void lock_bo(void *arg)
{
	const struct tsr_bo_locked *locked = arg;
	char text[16];

	snprintf(text, sizeof(text), "%u", locked->id);
	require_ok(tsr_debugfs_write("lock_bo", text));
}

void tsr_bo_lock_begin(struct tsr_bo_locked *locked, struct tsr_device *dev,
		       const struct tsr_bo *bo)
{
	locked->id = labelled(dev, bo);
	tsr_call_start(&locked->call, lock_bo, locked);
	tsr_wait_for(locked->call.returned || tsr_call_waits(&locked->call, "suspend"));
	require(!locked->call.returned);
}

void tsr_bo_lock_end(struct tsr_bo_locked *locked)
{
	tsr_call_join(&locked->call);
}
