// SPDX-License-Identifier: MIT
/*
 * Userptr objects in jobs with allocation lists. Jobs read and write the
 * memory, the kernel gets the pages back whenever it wants them, and no job
 * accesses pages that the process has given up (DESTROY-7, PAGE-9).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held.h"
#include "pci.h"
#include "stall.h"
#include "tsr.h"
#include "user.h"

#define SIZE MiB(1)
#define WORDS (SIZE / 4)
#define JOB 0x11111111u
#define CPU 0x22222222u

static void set_words(uint32_t *words, uint64_t count, uint32_t value)
{
	for (uint64_t i = 0; i < count; i++)
		words[i] = value;
}

/* Submits a job that writes all of the object. Returns the result of SUBMIT. */
static int __fill(struct tsr_device *dev, uint32_t ctx, const struct tsr_bo *bo, uint32_t value)
{
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	int ret;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, bo, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo->size / 4), value);
	ret = __tsr_submit(dev, ctx, &cmd, 0, 0, &args);
	tsr_cmd_fini(&cmd);
	if (!ret)
		tsr_bo_wait(dev, bo);
	return ret;
}

/* Jobs reach every byte and none beside, wherever the object is placed. */
static void jobs(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), gart = tsr_seg_gart(&dev)->id, word;
	uint32_t *all = tsr_pages_new(SIZE + KiB(8)), *mine = all + 1024;
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	struct tsr_cmd cmd;

	set_words(all, WORDS + 2048, CPU);
	require_eq(tsr_bo_info(&dev, &bo).size, SIZE);
	require_eq(tsr_bo_info(&dev, &bo).mmap_offset, 0);
	for (uint32_t round = 1; round < 4; round++) {
		tsr_gpu_read(&dev, ctx, &bo, WORDS - 1, 1, &word);
		require_eq(word, round == 1 ? CPU : round + 99);
		tsr_gpu_fill(&dev, ctx, &bo, round);
		require_eq(tsr_bo_info(&dev, &bo).segment, gart);
		tsr_words_check(mine, WORDS, round);
		tsr_words_check(all, 1024, CPU);
		tsr_words_check(mine + WORDS, 1024, CPU);
		mine[WORDS - 1] = round + 100;
		tsr_evict_set(1u << gart);
		require_eq(tsr_bo_info(&dev, &bo).segment, 0);
	}
	/* a part of the object */
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, true);
	tsr_cmd_fill(&cmd, 0, 1000, 3000, JOB);
	tsr_submit_done(&dev, ctx, &cmd);
	tsr_cmd_fini(&cmd);
	tsr_words_check(mine, 1000, 3);
	tsr_words_check(mine + 1000, 3000, JOB);
	tsr_words_check(mine + 4000, WORDS - 4001, 3);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
	tsr_words_check(mine + 1000, 3000, JOB);
}

/*
 * fdinfo counts user memory. Where it is resident, it does not hide system
 * memory of other objects.
 */
static void counted(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	int64_t outside = tsr_fdinfo(&dev, "drm-total-system");
	struct tsr_bo bo = tsr_bo_from_user(&dev, tsr_pages_new(SIZE), SIZE, 0), other;

	require_eq(tsr_fdinfo(&dev, "drm-total-system"), outside + (int64_t)SIZE);
	tsr_gpu_touch(&dev, ctx, &bo);
	require_eq(tsr_fdinfo(&dev, "drm-total-system"), outside);
	other = tsr_bo_new(&dev, SIZE, tsr_bit(tsr_seg_gart(&dev)), DRM_TESSERA_BO_CPU_ACCESS);
	*(uint32_t *)tsr_bo_map(&dev, &other) = 1;
	require_eq(tsr_fdinfo(&dev, "drm-total-system"), outside + (int64_t)SIZE);
	tsr_bo_free(&dev, &other);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/* ---- Changes while a job is queued ----------------------------------- */

static void change_munmap(uint32_t *memory, uint64_t size)
{
	require_ok(munmap(memory, size));
	/* a late write of the job would be seen here */
	tsr_pages_at(memory, size);
	set_words(memory, size / 4, CPU);
}

static void change_dontneed(uint32_t *memory, uint64_t size)
{
	require_ok(madvise(memory, size, MADV_DONTNEED));
	set_words(memory, size / 4, CPU);
}

static void change_part(uint32_t *memory, uint64_t size)
{
	require_ok(munmap((char *)memory + size / 2, KiB(4)));
}

static void change_mprotect(uint32_t *memory, uint64_t size)
{
	require_ok(mprotect(memory, size, PROT_READ));
	/* the job has ended */
	tsr_words_check(memory, size / 4, JOB);
}

static uint32_t *moved_to;

static void change_mremap(uint32_t *memory, uint64_t size)
{
	moved_to = mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			  (char *)tsr_pages_new(size));
	require(moved_to != MAP_FAILED);
	tsr_words_check(moved_to, size / 4, JOB);
}

static void change_fork(uint32_t *memory, uint64_t size)
{
	pid_t pid = fork();

	require(pid >= 0);
	if (!pid) {
		for (uint64_t i = 0; i < size / 4; i++)
			if (memory[i] != JOB)
				_exit(1);
		_exit(0);
	}
	int status;

	require_eq(waitpid(pid, &status, 0), pid);
	require_eq(status, 0);
}

static void change_exit(uint32_t *memory, uint64_t size)
{
	(void)memory, (void)size;
	_exit(0);
}

static void check_cpu(uint32_t *memory, uint64_t size)
{
	tsr_words_check(memory, size / 4, CPU);
}

static void check_job(uint32_t *memory, uint64_t size)
{
	tsr_words_check(memory, size / 4, JOB);
}

static const struct {
	const char *name;
	void (*change)(uint32_t *memory, uint64_t size);
	void (*check)(uint32_t *memory, uint64_t size);
	int then; /* result of the next job that uses the object */
} changes[] = {
	{ "munmap", change_munmap, check_cpu, 0 },
	{ "MADV_DONTNEED", change_dontneed, check_cpu, 0 },
	{ "munmap of a page", change_part, NULL, -EFAULT },
	{ "mprotect", change_mprotect, check_job, -EFAULT },
	{ "mremap", change_mremap, NULL, -EFAULT },
	{ "fork", change_fork, check_job, 0 },
	{ "exit", change_exit, NULL, -EFAULT },
};

/*
 * The process that changes the memory waits for the jobs that use it, also if
 * the object is closed meanwhile.
 */
static void changes_wait(bool close)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct tsr_held held = tsr_held_open(&dev);

	for (uint32_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct tsr_owner owner = {
			.dev = &dev,
			.size = SIZE,
			.change = changes[i].change,
			.check = changes[i].check,
		};
		struct tsr_bo bo = tsr_owner_start(&owner);

		tap_note("%s", changes[i].name);
		tsr_held_fill(&held, &bo, WORDS, JOB);
		if (close)
			require_ok(__tsr_bo_close(dev.fd, bo.handle));
		tsr_owner_change(&owner);
		require_msg(!owner.state->done, "expected munmap to wait for the job, the memory "
						"was unmapped while the job used it");
		require_eq(waitpid(owner.pid, NULL, WNOHANG), 0);
		require(tsr_held_waits(&held));
		tsr_held_go(&held);
		if (changes[i].change != change_exit)
			tsr_wait_for(owner.state->done);
		/* the owner has exited, so its memory is gone */
		if (changes[i].change == change_exit)
			tsr_owner_join(&owner);
		if (!close) {
			require_err(__fill(&dev, ctx, &bo, CPU), changes[i].then);
			if (changes[i].check == check_job && !changes[i].then)
				require_ok(__fill(&dev, ctx, &bo, JOB));
			require_ok(__tsr_bo_close(dev.fd, bo.handle));
		}
		if (changes[i].change != change_exit)
			tsr_owner_join(&owner);
		tsr_held_again(&held);
	}
	tsr_held_close(&held);
	tsr_close(&dev);
}

static void open_changes_wait(void)
{
	changes_wait(false);
}

static void closed_changes_wait(void)
{
	changes_wait(true);
}

/* ---- Changes between jobs -------------------------------------------- */

/*
 * A job uses the pages that are mapped when it is submitted, or is refused. A
 * refusal does not affect its context.
 */
static void changes_show(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	uint32_t *mine = tsr_pages_new(SIZE), *other = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);

	require_ok(__fill(&dev, ctx, &bo, 1));
	/* other pages at the same addresses */
	tsr_pages_at(mine, SIZE);
	tsr_gpu_read(&dev, ctx, &bo, 5, 1, &word);
	require_msg(!word,
		    "expected the job to use the new pages, it read 0x%08x from the old ones",
		    word);
	require_ok(__fill(&dev, ctx, &bo, 2));
	tsr_words_check(mine, WORDS, 2);
	require_ok(madvise((char *)mine + SIZE / 2, SIZE / 2, MADV_DONTNEED));
	tsr_gpu_read(&dev, ctx, &bo, WORDS / 2 - 1, 1, &word);
	require_eq(word, 2);
	tsr_gpu_read(&dev, ctx, &bo, WORDS / 2, 1, &word);
	require_eq(word, 0);

	/* the object refers to the addresses, not to the pages */
	require_ok(__fill(&dev, ctx, &bo, 3));
	require(mremap(mine, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
	for (int i = 0; i < 3; i++)
		require_err(__fill(&dev, ctx, &bo, 4), -EFAULT);
	tsr_words_check(other, WORDS, 3);
	tsr_pages_at(mine, SIZE);
	require_ok(__fill(&dev, ctx, &bo, 5));
	tsr_words_check(mine, WORDS, 5);
	tsr_words_check(other, WORDS, 3);

	/* the GPU may not access memory in ways that the process may not */
	require_ok(mprotect(mine, SIZE, PROT_READ));
	require_err(__fill(&dev, ctx, &bo, 6), -EFAULT);
	require_ok(mprotect(mine, SIZE, PROT_NONE));
	require_err(__fill(&dev, ctx, &bo, 6), -EFAULT);
	require_ok(mprotect(mine, SIZE, PROT_READ | PROT_WRITE));
	tsr_words_check(mine, WORDS, 5);
	require_ok(__fill(&dev, ctx, &bo, 6));
	tsr_words_check(mine, WORDS, 6);

	/* shared memory in its place */
	require(mmap(mine, KiB(4), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0) == mine);
	require_msg(__fill(&dev, ctx, &bo, 7) == -EFAULT,
		    "expected -EFAULT for shared memory, the job got access");
	require_eq(mine[0], 0);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/*
 * The kernel may drop pages after MADV_FREE unless they are dirty. GPU writes
 * do not set the CPU's dirty bit, so the driver has to mark the pages, or bytes
 * would be lost. Reclaim itself waits for nothing that could wait for reclaim.
 */
static void reclaim(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word;
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);

	for (uint32_t round = 1; round < 4; round++) {
		set_words(mine, WORDS, CPU);
		require_ok(__fill(&dev, ctx, &bo, 100));
		require_ok(madvise(mine, SIZE, MADV_FREE));
		require_ok(__fill(&dev, ctx, &bo, round));
		require_ok(madvise(mine, SIZE, MADV_PAGEOUT));
		for (uint32_t i = 0; i < WORDS; i++)
			require_msg(mine[i] == round,
				    "word 0x%x: a job's write was lost when the memory was "
				    "reclaimed, the page was not marked dirty",
				    i);
		require_ok(__fill(&dev, ctx, &bo, round + 10));
		tsr_words_check(mine, WORDS, round + 10);

		/* dropped pages read as zero, by the GPU as by the CPU */
		require_ok(madvise(mine, SIZE, MADV_FREE));
		require_ok(madvise(mine, SIZE, MADV_PAGEOUT));
		word = mine[0];
		tsr_gpu_read(&dev, ctx, &bo, 0, 1, &word);
		require_eq(word, mine[0]);
	}
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/*
 * After a fork parent and child have separate pages. The object refers to those
 * of the parent, whichever process uses it.
 */
static void forks(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	volatile uint32_t *step = tsr_shared(sizeof(*step));
	int status;
	pid_t pid;

	require_ok(__fill(&dev, ctx, &bo, 1));
	pid = fork();
	require(pid >= 0);
	if (!pid) {
		tsr_wait_for(*step == 1);
		tsr_words_check(mine, WORDS, 1);
		require_ok(__fill(&dev, ctx, &bo, 3));
		tsr_words_check(mine, WORDS, 1);
		set_words(mine, WORDS, CPU);
		_exit(0);
	}
	require_ok(__fill(&dev, ctx, &bo, 2));
	tsr_words_check(mine, WORDS, 2);
	*step = 1;
	require_eq(waitpid(pid, &status, 0), pid);
	require_eq(status, 0);
	tsr_words_check(mine, WORDS, 3);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/* The GPU reads the CPU's current bytes, and cannot write them. */
static void read_only(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0), word, handle;
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, DRM_TESSERA_BO_GPU_READ_ONLY);

	/* untouched at first, then written */
	tsr_gpu_read(&dev, ctx, &bo, 7, 1, &word);
	require_eq(word, 0);
	set_words(mine, WORDS, CPU);
	tsr_gpu_read(&dev, ctx, &bo, 7, 1, &word);
	require_eq(word, CPU);
	require_err(__fill(&dev, ctx, &bo, 1), -EINVAL);

	/* read-only for the process, too */
	require_ok(mprotect(mine, SIZE, PROT_READ));
	tsr_gpu_read(&dev, ctx, &bo, WORDS - 1, 1, &word);
	require_eq(word, CPU);
	require_err(__tsr_bo_from_user(dev.fd, mine, SIZE, 0, &handle), -EPERM);
	tsr_words_check(mine, WORDS, CPU);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/* A job that binds the memory for reading, and writes to it, fails. */
static void writes_read_only(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, DRM_TESSERA_BO_GPU_READ_ONLY);
	struct tsr_cmd cmd;

	set_words(mine, WORDS, CPU);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &bo, false);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, 1);
	tsr_submit_status(&dev, ctx, &cmd, NULL);
	tsr_cmd_fini(&cmd);
	tsr_words_check(mine, WORDS, CPU);
	tsr_bo_free(&dev, &bo);
	tsr_close(&dev);
}

/* ---- Many objects ---------------------------------------------------- */

#define MAX_MANY 16
#define LARGE MiB(4)
#define LARGE_WORDS (LARGE / 4)

/* More objects than fit into the aperture. */
struct many {
	uint32_t num, *mine[MAX_MANY];
	struct tsr_bo bos[MAX_MANY];
};

static struct many many_new(struct tsr_device *dev)
{
	struct many many = { .num = (uint32_t)(tsr_seg_gart(dev)->size / LARGE) + 2 };

	require(many.num <= MAX_MANY);
	for (uint32_t i = 0; i < many.num; i++) {
		many.mine[i] = tsr_pages_new(LARGE);
		many.bos[i] = tsr_bo_from_user(dev, many.mine[i], LARGE, 0);
	}
	return many;
}

/* A job writes the first object, copies it to the next one, and so on. */
static void chain(struct tsr_device *dev, uint32_t ctx, struct many *many, uint32_t value)
{
	uint32_t parts;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &many->bos[0], true);
	tsr_cmd_fill(&cmd, 0, 0, LARGE_WORDS, value);
	for (uint32_t i = 1; i < many->num; i++) {
		tsr_cmd_bind_buffer(&cmd, i % 2, &many->bos[i], true);
		tsr_cmd_copy(&cmd, i % 2, 0, 1 - i % 2, 0, LARGE_WORDS);
		tsr_cmd_fill(&cmd, i % 2, i, 1, value + i);
	}
	require_ok(tsr_submit_status(dev, ctx, &cmd, &parts));
	require(parts > 1);
	tsr_cmd_fini(&cmd);
	for (uint32_t i = 0; i < many->num; i++) {
		for (uint32_t j = 0; j < many->num; j++)
			require_eq(many->mine[i][j], j <= i ? value + j : value);
		tsr_words_check(many->mine[i] + many->num, LARGE_WORDS - many->num, value);
	}
}

struct churn {
	volatile bool stop;
	volatile uint32_t rounds;
};

/* A fork makes all pages read-only, and compaction moves them. */
static void churn_here(struct churn *churn)
{
	pid_t pid = fork();

	require(pid >= 0);
	if (!pid)
		_exit(0);
	require_eq(waitpid(pid, NULL, 0), pid);
	if (!access("/proc/sys/vm/compact_memory", W_OK))
		tsr_write_file("/proc/sys/vm/compact_memory", "1");
	churn->rounds++;
}

static void compact_until(void *arg)
{
	struct churn *churn = arg;

	while (!churn->stop) {
		if (tsr_write_file("/proc/sys/vm/compact_memory", "1"))
			usleep(1000);
		churn->rounds++;
	}
}

/* Parts evict and rebind objects while the kernel moves their pages. */
static void split(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct churn *churn = tsr_shared(sizeof(*churn));
	struct many many = many_new(&dev);
	pid_t pid;

	/* pages of later parts must be found within the job timeout */
	tsr_job_timeout("60000");
	chain(&dev, ctx, &many, 100);
	pid = tap_fork(compact_until, churn);
	for (uint32_t round = 2; round < (tap_slow() ? 3 : 10); round++) {
		chain(&dev, ctx, &many, 100 * round);
		churn_here(churn);
	}
	churn->stop = true;
	tap_join(pid);
	tap_note("%u rounds of changes", churn->rounds);
	for (uint32_t i = 0; i < many.num; i++)
		tsr_bo_free(&dev, &many.bos[i]);
	tsr_close(&dev);
}

/*
 * One of many objects has lost a page, so nothing of the submission runs. After
 * the page is mapped again all of it runs.
 */
static void split_refused(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	struct many many = many_new(&dev);
	uint32_t *last = many.mine[many.num - 1];
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	for (uint32_t i = 0; i < many.num; i++) {
		tsr_cmd_bind_buffer(&cmd, 0, &many.bos[i], true);
		tsr_cmd_fill(&cmd, 0, 0, LARGE_WORDS, 7);
	}
	require_ok(munmap(last, KiB(4)));
	require_err(__tsr_submit(&dev, ctx, &cmd, 0, 0, &args), -EFAULT);
	tsr_words_check(many.mine[0], LARGE_WORDS, 0);
	tsr_pages_at(last, KiB(4));
	tsr_submit_done(&dev, ctx, &cmd);
	for (uint32_t i = 0; i < many.num; i++)
		tsr_words_check(many.mine[i], LARGE_WORDS, 7);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

/* ---- Changes under load ---------------------------------------------- */

static void client(void *arg)
{
	uint32_t key = (uint32_t)(uintptr_t)arg;
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	uint64_t seed = tap_seed(key);

	for (uint32_t round = 0; round < (tap_slow() ? 20 : 100); round++) {
		uint32_t value = key << 16 | round;

		/* keep the bytes of the previous job, or map new pages */
		switch (tap_random(&seed) % 4) {
		case 0:
			tsr_pages_at(mine, SIZE);
			break;
		case 1:
			require_ok(madvise(mine, SIZE / 2, MADV_DONTNEED));
			break;
		case 2: {
			pid_t pid = fork();

			require(pid >= 0);
			if (!pid)
				_exit(0);
			require_eq(waitpid(pid, NULL, 0), pid);
			break;
		}
		default:
			break;
		}
		require_ok(__fill(&dev, ctx, &bo, value));
		tsr_words_check(mine, WORDS, value);
	}
	tsr_close(&dev);
}

/* Several processes use memory at the same addresses. */
static void processes(void)
{
	pid_t pids[3];

	for (uintptr_t i = 0; i < 3; i++)
		pids[i] = tap_fork(client, (void *)(i + 1));
	for (uint32_t i = 0; i < 3; i++)
		tap_join(pids[i]);
}

struct race {
	struct tsr_device *dev;
	uint32_t ctx;
	struct tsr_bo bo;
	struct churn *churn;
};

static void submit_until(void *arg)
{
	struct race *race = arg;
	struct drm_tessera_submit args;
	struct tsr_cmd cmd;
	int ret;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_buffer(&cmd, 0, &race->bo, true);
	tsr_cmd_fill(&cmd, 0, 0, WORDS, JOB);
	while (!race->churn->stop) {
		ret = __tsr_submit(race->dev, race->ctx, &cmd, 0, 0, &args);
		require_msg(!ret || ret == -EFAULT || ret == -EBUSY, "submit: %d", ret);
		race->churn->rounds += !ret;
		tsr_bo_wait(race->dev, &race->bo);
	}
	tsr_cmd_fini(&cmd);
}

/*
 * Two contexts use one object while forks give it new pages, so that one
 * context has to find pages while the other one's job runs.
 */
static void two_contexts(void)
{
	struct tsr_device dev = tsr_open();
	struct churn *churn = tsr_shared(sizeof(*churn));
	struct race races[2];
	uint32_t *mine = tsr_pages_new(SIZE);
	pid_t pids[2], pid;

	races[0].bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	for (uint32_t i = 0; i < 2; i++) {
		races[i] = (struct race){
			.dev = &dev,
			.ctx = tsr_context_new(&dev, 0),
			.bo = races[0].bo,
			.churn = churn,
		};
		pids[i] = tap_fork(submit_until, &races[i]);
	}
	for (uint32_t i = 0; i < (tap_slow() ? 30 : 200); i++) {
		pid = fork();
		require(pid >= 0);
		if (!pid)
			_exit(0);
		mine[i] = CPU;
		require_eq(waitpid(pid, NULL, 0), pid);
	}
	tsr_wait_for(churn->rounds > 4);
	churn->stop = true;
	tap_join(pids[0]);
	tap_join(pids[1]);
	tsr_close(&dev);
}

/*
 * Jobs are submitted while the memory is unmapped and mapped. No old job may
 * write to new pages.
 */
static void race(void)
{
	struct tsr_device dev = tsr_open();
	struct race race = {
		.dev = &dev,
		.ctx = tsr_context_new(&dev, 0),
		.churn = tsr_shared(sizeof(*race.churn)),
	};
	uint32_t *mine = tsr_pages_new(SIZE);
	pid_t pid;

	race.bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	pid = tap_fork(submit_until, &race);
	tsr_pages_race(mine, SIZE, &race.churn->rounds);
	race.churn->stop = true;
	tap_join(pid);
	tsr_close(&dev);
}

/* ---- Limits ---------------------------------------------------------- */

static void bad_input(void)
{
	struct tsr_device dev = tsr_open();
	char *shared =
		mmap(NULL, KiB(8), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t gart = tsr_seg_gart(&dev)->size, ro = tsr_seg_ro(&dev)->size;
	uint64_t large = (gart > ro ? gart : ro) + MiB(1);
	char *huge = mmap(NULL, large, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *file = mmap(NULL, KiB(4), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	/* mapped last, so that no other mapping fills the gaps beside them */
	char *mine = (char *)tsr_pages_new(MiB(1)), *two = (char *)tsr_pages_new(KiB(8));
	const struct {
		char *address;
		uint64_t size;
		uint32_t flags;
		int error;
	} rows[] = {
		{ mine, KiB(4), DRM_TESSERA_BO_CPU_ACCESS, -EINVAL },
		{ mine, KiB(4), 1u << 31, -EINVAL },
		{ mine, 0, 0, -EINVAL },
		{ mine, KiB(4) - 1, 0, -EINVAL },
		{ mine + 1, KiB(4), 0, -EINVAL },
		{ mine, 0 - KiB(4), 0, -EINVAL },
		{ mine, MiB(1) + KiB(4), 0, -EFAULT },
		{ mine - KiB(4), KiB(8), 0, -EFAULT },
		{ NULL, KiB(4), 0, -EFAULT },
		{ (char *)(1ull << 47), KiB(4), 0, -EFAULT },
		{ (char *)(uintptr_t)0xffffffff80000000ull, KiB(4), 0, -EFAULT },
		{ shared, KiB(8), 0, -EPERM },
		{ file, KiB(4), 0, -EPERM },
		{ file, KiB(4), DRM_TESSERA_BO_GPU_READ_ONLY, -EPERM },
		{ two, KiB(8), 0, -EPERM },
		{ huge, large, 0, -E2BIG },
	};
	uint32_t handle;

	require(shared != MAP_FAILED && huge != MAP_FAILED && file != MAP_FAILED);
	require_ok(mprotect(two + KiB(4), KiB(4), PROT_READ));
	if (!(dev.info.caps & DRM_TESSERA_CAP_USER_MEMORY))
		tap_skip("the device cannot use memory of processes");
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int ret = __tsr_bo_from_user(dev.fd, rows[i].address, rows[i].size, rows[i].flags,
					     &handle);

		require_msg(ret == rows[i].error, "row %u: %d", i, ret);
	}
	require_ok(mprotect(two, KiB(8), PROT_WRITE));
	require_err(__tsr_bo_from_user(dev.fd, two, KiB(4), 0, &handle), -EPERM);
	close(fd);
	tsr_close(&dev);
}

/*
 * A userptr object cannot be mapped again, exported or offered: it has an
 * address already, and the kernel may not drop its contents.
 */
static void not_for_others(void)
{
	struct tsr_device dev = tsr_open(), other;
	struct tsr_bo bo = tsr_bo_from_user(&dev, tsr_pages_new(SIZE), SIZE, 0);
	struct drm_prime_handle prime = { .handle = bo.handle, .flags = O_CLOEXEC };
	struct drm_gem_flink flink = { .handle = bo.handle };
	uint32_t handle = bo.handle, result;
	struct drm_gem_open open = { 0 };
	uint64_t offset;

	require_err(tsr_ioctl(dev.fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), -EINVAL);
	require_err(__tsr_lock(dev.fd, &handle, 0), -EPERM);
	require_err(__tsr_lock2(dev.fd, handle, 0, &offset), -EPERM);
	require_err(__tsr_offer(dev.fd, &handle, 1, DRM_TESSERA_OFFER_LOW), -EINVAL);
	require_err(__tsr_reclaim(dev.fd, &handle, &result, 1), -EINVAL);
	require_err(__tsr_invalidate_cache(dev.fd, handle, 0, SIZE), -EINVAL);
	require(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, dev.fd, 0) == MAP_FAILED);
	/* flink needs a primary node */
	other.fd = __tsr_open_primary();
	if (other.fd >= 0) {
		int primary = __tsr_open_primary();
		uint32_t *mine = tsr_pages_new(SIZE);

		require_ok(__tsr_bo_from_user(primary, mine, SIZE, 0, &flink.handle));
		if (!tsr_ioctl(primary, DRM_IOCTL_GEM_FLINK, &flink)) {
			open.name = flink.name;
			require_err(tsr_ioctl(other.fd, DRM_IOCTL_GEM_OPEN, &open), -EINVAL);
		}
		close(primary);
		close(other.fd);
	}
	tsr_close(&dev);
}

/* Many objects, also of the same pages. */
static void many_objects(void)
{
	struct tsr_device dev = tsr_open();
	uint32_t ctx = tsr_context_new(&dev, 0);
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_bo bos[256];

	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = tsr_bo_from_user(&dev, mine + (i % 64) * 1024, KiB(8), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i += 5) {
		require_ok(__fill(&dev, ctx, &bos[i], i));
		tsr_words_check(mine + (i % 64) * 1024, 2048, i);
	}
	require_ok(munmap(mine, SIZE));
	for (uint32_t i = 0; i < ARRAY_SIZE(bos); i += 5)
		require_err(__fill(&dev, ctx, &bos[i], i), -EFAULT);
	tsr_close(&dev);
}

/* ---- The device ------------------------------------------------------ */

/*
 * After an unplug, changes of the memory do not wait any longer, and the
 * process keeps its memory.
 */
static void unplug(void)
{
	struct tsr_owner owner = { .size = SIZE, .change = change_munmap, .check = check_cpu };
	uint32_t *mine = tsr_pages_new(SIZE);
	struct tsr_device dev;
	struct tsr_held held;
	struct tsr_bo bo, its;
	uint32_t handle;

	tsr_pci_begin();
	dev = tsr_pci_open();
	held = tsr_held_open(&dev);
	owner.dev = &dev;
	bo = tsr_bo_from_user(&dev, mine, SIZE, 0);
	its = tsr_owner_start(&owner);
	require_ok(__fill(&dev, tsr_context_new(&dev, 0), &bo, JOB));
	tsr_held_fill(&held, &its, WORDS, JOB);
	tsr_owner_change(&owner);
	require(!owner.state->done);
	tsr_pci_unbind();
	tsr_wait_for(owner.state->done);
	tsr_owner_join(&owner);
	tsr_words_check(mine, WORDS, JOB);
	require_err(__tsr_bo_from_user(dev.fd, mine, SIZE, 0, &handle), -ENODEV);
	require_ok(munmap(mine, SIZE));
	tsr_held_close(&held);
	tsr_pci_bind();
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "PAGE-9 jobs use user memory", jobs, 0, 0 },
	{ "fdinfo counts user memory", counted, 0, 0 },
	{ "DESTROY-7 changes of user memory wait for jobs", open_changes_wait, 0, 100 },
	{ "DESTROY-7 changes of user memory wait for jobs of closed objects", closed_changes_wait,
	  0, 100 },
	{ "PAGE-9 changes of user memory show", changes_show, 0, 0 },
	{ "PAGE-9 user memory and forks", forks, 0, 0 },
	{ "PAGE-9 user memory is reclaimed", reclaim, 0, 0 },
	{ "PAGE-9 read-only user memory", read_only, 0, 0 },
	{ "PAGE-9 a write to read-only user memory", writes_read_only,
	  TSR_EXPECT(READ_ONLY) | TSR_EXPECT(SLOT_ACCESS), 0 },
	{ "SPLIT-13 user memory in parts", split, 0, 200 },
	{ "SPLIT-34 user memory that is gone", split_refused, 0, 0 },
	{ "PAGE-9 user memory of several processes", processes, 0, 100 },
	{ "PAGE-9 jobs race with munmap", race, 0, 100 },
	{ "PAGE-9 two contexts find pages of one object", two_contexts, 0, 100 },
	{ "user memory: bad input", bad_input, 0, 0 },
	{ "user memory cannot be mapped, exported or offered", not_for_others, 0, 0 },
	{ "many objects of the same memory", many_objects, 0, 0 },
	{ "the device is unplugged while user memory is in use", unplug, TSR_NO_DEVICE, 60 },
};

TSR_TEST_MAIN(tests)
