// SPDX-License-Identifier: MIT
#include "user.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stall.h"

int __tsr_bo_from_user(int fd, void *memory, uint64_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_tessera_bo_from_user args = {
		.address = (uintptr_t)memory,
		.size = size,
		.flags = flags,
	};
	int ret = tsr_ioctl(fd, DRM_IOCTL_TESSERA_BO_FROM_USER, &args);

	*handle = args.handle;
	return ret;
}

struct tsr_bo tsr_bo_from_user(struct tsr_device *dev, void *memory, uint64_t size, uint32_t flags)
{
	struct tsr_bo bo = { .size = size };

	if (!(dev->info.caps & DRM_TESSERA_CAP_USER_MEMORY))
		tap_skip("the device cannot use memory of processes");
	require_ok(__tsr_bo_from_user(dev->fd, memory, size, flags, &bo.handle));
	return bo;
}

uint32_t *tsr_pages_new(uint64_t size)
{
	char *all = mmap(NULL, size + KiB(8), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(all != MAP_FAILED);
	require_ok(munmap(all, KiB(4)));
	require_ok(munmap(all + KiB(4) + size, KiB(4)));
	require_ok(mprotect(all + KiB(4), size, PROT_READ | PROT_WRITE));
	return (uint32_t *)(all + KiB(4));
}

void tsr_pages_at(void *memory, uint64_t size)
{
	require(mmap(memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0) == memory);
}

void tsr_pages_race(uint32_t *memory, uint64_t size, const volatile uint32_t *jobs)
{
	const uint32_t cpu = 0x22222222;

	for (uint32_t i = 0; i < (tap_slow() ? 30 : 200); i++) {
		uint32_t seen = *jobs, *other;

		/*
		 * two of three times while a job uses the memory, else at any
		 * point of a submission
		 */
		if (i % 3)
			tsr_wait_for(*jobs != seen);
		/* freed pages are likely to be given out again here */
		other = tsr_pages_new(size);
		require_ok(munmap(memory, size));
		for (uint64_t word = 0; word < size / 4; word++)
			other[word] = cpu;
		tsr_words_check(other, size / 4, cpu);
		tsr_pages_at(memory, size);
		memset(memory, 0, 32);
		tsr_words_check(other, size / 4, cpu);
		require_ok(munmap(other, size));
	}
}

static void own(void *arg)
{
	struct tsr_owner *owner = arg;
	struct tsr_owner_state *state = owner->state;
	uint32_t *memory = tsr_pages_new(owner->size), handle = 0;

	memset(memory, 0, owner->size);
	state->rc = __tsr_bo_from_user(owner->dev->fd, memory, owner->size, owner->flags, &handle);
	state->handle = handle;
	state->ready = true;
	tsr_wait_for(state->step >= 1);
	owner->change(memory, owner->size);
	state->done = true;
	tsr_wait_for(state->step >= 2);
	if (owner->check)
		owner->check(memory, owner->size);
}

struct tsr_bo tsr_owner_start(struct tsr_owner *owner)
{
	if (!(owner->dev->info.caps & DRM_TESSERA_CAP_USER_MEMORY))
		tap_skip("the device cannot use memory of processes");
	owner->state = tsr_shared(sizeof(*owner->state));
	owner->pid = tap_fork(own, owner);
	tsr_wait_for(owner->state->ready);
	require_ok(owner->state->rc);
	return (struct tsr_bo){ .handle = owner->state->handle, .size = owner->size };
}

/*
 * True if the process sleeps in the kernel, other than in nanosleep(), or is
 * dead. Reads wchan, because files of /proc that show a process's memory would
 * hold a reference to that memory, and the reader would then have to free the
 * pages.
 */
static bool stopped(pid_t pid)
{
	siginfo_t info = {};
	char path[64], *text;
	bool yes;

	require_ok(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT));
	if (info.si_pid == pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	text = tsr_read_file(path);
	/* "0": the process is running */
	yes = text && strcmp(text, "0") && !strstr(text, "nanosleep");
	free(text);
	return yes;
}

void tsr_owner_change(struct tsr_owner *owner)
{
	owner->state->step = 1;
	tsr_wait_for(owner->state->done || stopped(owner->pid));
}

void tsr_owner_join(struct tsr_owner *owner)
{
	owner->state->step = 2;
	tap_join(owner->pid);
}
