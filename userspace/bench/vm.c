// SPDX-License-Identifier: MIT
/*
 * Virtual addresses and explicit residency: the cost of a job without lists, of
 * changing mappings, and of moves that a client requests. The bench uses ioctls
 * instead of the library, because the library would do more than is measured.
 */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define LARGE (2 * MIB)
#define CMDS_AT (UINT64_C(1) << 40)
#define BASE (UINT64_C(1) << 32)

/*
 * A client as far as residency is concerned: a file, a VM, a context, and
 * commands that do nothing.
 */
struct space {
	struct tessera_device *dev;
	uint32_t vm, context;
	struct tessera_bo *cmds;
	struct tessera_syncobj *done;
};

static void call(const struct space *space, const char *what, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(tessera_device_fd(space->dev), request, arg);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	if (ret)
		die(what, -errno);
}

static struct drm_tessera_array array_of(const void *elements, size_t stride, uint32_t count)
{
	return (struct drm_tessera_array){ (uint32_t)stride, count, (uintptr_t)elements };
}

static struct drm_tessera_sync signal_of(const struct space *space)
{
	return (struct drm_tessera_sync){ .handle = tessera_syncobj_handle(space->done),
					  .flags = DRM_TESSERA_SYNC_SIGNAL };
}

static void wait_done(const struct space *space)
{
	must("wait", tessera_syncobj_wait(space->done, 0, TESSERA_FOREVER));
}

/* ---- Helpers ------------------------------------------------------------- */

static void bind_ops(const struct space *space, const struct drm_tessera_vm_bind_op *ops,
		     uint32_t count, bool signal)
{
	struct drm_tessera_sync sync = signal_of(space);
	struct drm_tessera_vm_bind args = {
		.vm = space->vm,
		.ops = array_of(ops, sizeof(*ops), count),
		.syncs = array_of(&sync, sizeof(sync), signal),
	};

	call(space, "bind", DRM_IOCTL_TESSERA_VM_BIND, &args);
}

static struct drm_tessera_vm_bind_op map_op(const struct tessera_bo *bo, uint64_t address,
					    uint64_t range)
{
	return (struct drm_tessera_vm_bind_op){
		.op = DRM_TESSERA_VM_BIND_MAP,
		.handle = tessera_bo_handle(bo),
		.address = address,
		.range = range,
	};
}

static void map(const struct space *space, const struct tessera_bo *bo, uint64_t address,
		uint64_t range)
{
	struct drm_tessera_vm_bind_op op = map_op(bo, address, range);

	bind_ops(space, &op, 1, true);
	wait_done(space);
}

static void unmap(const struct space *space, uint64_t address, uint64_t range)
{
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = address,
		.range = range,
	};

	bind_ops(space, &op, 1, true);
	wait_done(space);
}

static struct tessera_bo *object(const struct space *space, const char *segments, uint64_t size,
				 uint32_t flags)
{
	struct tessera_bo_desc desc = { .size = size, .flags = flags };
	struct tessera_bo *bo;

	must(segments, tessera_bo_desc_segments(space->dev, &desc, segments));
	must("object", tessera_bo_new(space->dev, &desc, &bo));
	return bo;
}

/* Make an object resident and wait. */
static void make_resident(const struct space *space, struct tessera_bo *bo)
{
	uint32_t handle = tessera_bo_handle(bo);
	struct drm_tessera_sync sync = signal_of(space);
	struct drm_tessera_make_resident args = {
		.handles = array_of(&handle, sizeof(handle), 1),
		.syncs = array_of(&sync, sizeof(sync), 1),
	};

	call(space, "make resident", DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args);
	wait_done(space);
}

static void evict(const struct space *space, struct tessera_bo *bo)
{
	uint32_t handle = tessera_bo_handle(bo);
	struct drm_tessera_evict args = { .handles = array_of(&handle, sizeof(handle), 1) };

	call(space, "evict", DRM_IOCTL_TESSERA_EVICT, &args);
}

static uint32_t nop(void)
{
	return TSR_PKT_HEADER(TSR_OP_NOP, 0, 2);
}

/* Returns false if the device has no virtual addresses. */
static bool space_open(struct space *space)
{
	struct drm_tessera_context_create context = { 0 };
	struct drm_tessera_vm_create vm = { 0 };
	uint32_t words[2] = { nop(), 0 };

	must("device", tessera_device_new_first(&space->dev));
	if (!(tessera_device_info(space->dev)->caps & DRM_TESSERA_CAP_VM)) {
		fprintf(stderr, "tessera-bench: left out: no virtual addresses\n");
		tessera_device_del(space->dev);
		return false;
	}
	must("syncobj", tessera_syncobj_new(space->dev, 0, &space->done));
	call(space, "VM", DRM_IOCTL_TESSERA_VM_CREATE, &vm);
	space->vm = context.vm = vm.id;
	call(space, "context", DRM_IOCTL_TESSERA_CONTEXT_CREATE, &context);
	space->context = context.id;
	space->cmds =
		object(space, "gart", PAGE, DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	must("commands", tessera_bo_write(space->cmds, 0, words, sizeof(words)));
	map(space, space->cmds, CMDS_AT, PAGE);
	make_resident(space, space->cmds);
	return true;
}

/* The kernel frees the rest when the file is closed. */
static void space_close(struct space *space)
{
	tessera_bo_del(space->cmds);
	tessera_syncobj_del(space->done);
	tessera_device_del(space->dev);
}

/* ---- vm_empty_job, vm_submit_scaling ------------------------------------- */

#define JOBS 1024
#define GROUP 16 /* jobs; two groups are in flight */

static void submit(const struct space *space, const struct tessera_syncobj *signal)
{
	struct drm_tessera_sync sync = { .flags = DRM_TESSERA_SYNC_SIGNAL };
	struct drm_tessera_submit_vm args = {
		.context = space->context,
		.cmds = CMDS_AT,
		.cmd_size = 8,
		.syncs = array_of(&sync, sizeof(sync), signal != NULL),
	};

	if (signal)
		sync.handle = tessera_syncobj_handle(signal);
	call(space, "submit", DRM_IOCTL_TESSERA_SUBMIT_VM, &args);
}

/* As in empty_job, only the last job of a group has a fence. */
static double job_ns(const struct space *space)
{
	struct tessera_syncobj *done[2];
	double start;

	for (int i = 0; i < 2; i++)
		must("syncobj", tessera_syncobj_new(space->dev, 0, &done[i]));
	start = now();
	for (int group = 0; group < JOBS / GROUP + 2; group++) {
		if (group >= 2)
			must("wait", tessera_syncobj_wait(done[group % 2], 0, TESSERA_FOREVER));
		if (group >= JOBS / GROUP)
			continue;
		for (int i = 0; i < GROUP - 1; i++)
			submit(space, NULL);
		submit(space, done[group % 2]);
	}
	start = now() - start;
	for (int i = 0; i < 2; i++)
		tessera_syncobj_del(done[i]);
	return start * 1e9 / JOBS;
}

void bench_vm_empty_job(void)
{
	struct row row = { "vm_empty_job", "ns", "lower", .goal = 2 };
	struct space space;

	if (!read_ping()) {
		fprintf(stderr, "tessera-bench: vm_empty_job left out: no debugfs file ping\n");
		return;
	}
	if (!space_open(&space))
		return;
	job_ns(&space);
	for (int i = 0; i < bench.runs; i++)
		sample(&row, job_ns(&space), read_ping());
	print_row(&row);
	space_close(&space);
}

/* Create @count objects, map them and make them resident. */
static struct tessera_bo **add_objects(const struct space *space, uint32_t count)
{
	struct tessera_bo **bos = calloc(count, sizeof(struct tessera_bo *));

	if (!bos)
		die("objects", -ENOMEM);
	for (uint32_t i = 0; i < count; i++) {
		bos[i] = object(space, "vram-hidden-from-cpu", PAGE, 0);
		map(space, bos[i], BASE + i * PAGE, PAGE);
		make_resident(space, bos[i]);
	}
	return bos;
}

static void drop_objects(struct tessera_bo **bos, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		tessera_bo_del(bos[i]);
	free(bos);
}

#define FEW 10
#define MANY 10000

void bench_vm_submit_scaling(void)
{
	struct row row = { "vm_submit_scaling", "ns", "lower", .goal = 1.1 };
	struct tessera_bo **few_bos, **many_bos;
	struct space few, many;

	if (!space_open(&few) || !space_open(&many))
		return;
	few_bos = add_objects(&few, FEW);
	many_bos = add_objects(&many, MANY);
	job_ns(&few);
	job_ns(&many);
	for (int i = 0; i < MAX_SAMPLES; i++) {
		double reference = job_ns(&few);

		sample(&row, job_ns(&many), reference);
	}
	print_row(&row);
	drop_objects(few_bos, FEW);
	drop_objects(many_bos, MANY);
	space_close(&few);
	space_close(&many);
}

/* ---- user_invalidate ----------------------------------------------------- */

#define USER_OBJECTS 200
/* below the limit of a process, which has other contexts, too */
#define IDLE_CONTEXTS 1020
#define CHANGES 9

/* One page of this process that backs many objects of a VM. */
struct user_page {
	struct space space;
	void *page;
};

static void user_page_open(struct user_page *user, uint32_t contexts)
{
	struct drm_tessera_context_create context = { .vm = user->space.vm };
	uint32_t first = user->space.context;

	user->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (user->page == MAP_FAILED)
		die("page", -errno);
	*(volatile char *)user->page = 1;
	for (uint32_t i = 0; i < USER_OBJECTS; i++) {
		struct drm_tessera_bo_from_user from = { .address = (uintptr_t)user->page,
							 .size = PAGE };
		struct drm_tessera_vm_bind_op op = { .op = DRM_TESSERA_VM_BIND_MAP,
						     .address = BASE + i * PAGE,
						     .range = PAGE };
		struct drm_tessera_make_resident args = { 0 };

		call(&user->space, "user memory", DRM_IOCTL_TESSERA_BO_FROM_USER, &from);
		op.handle = from.handle;
		bind_ops(&user->space, &op, 1, false);
		args.handles = array_of(&from.handle, sizeof(from.handle), 1);
		call(&user->space, "make resident", DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args);
	}
	/* Run one job in each context. */
	for (uint32_t i = 0; i < contexts; i++) {
		submit(&user->space, user->space.done);
		wait_done(&user->space);
		if (i + 1 == contexts)
			break;
		call(&user->space, "context", DRM_IOCTL_TESSERA_CONTEXT_CREATE, &context);
		user->space.context = context.id;
	}
	user->space.context = first;
}

/*
 * Seconds of one change of the page's protection. The job before each change
 * makes all objects use the page again.
 */
static double user_page_change(struct user_page *user)
{
	double start, seconds[CHANGES];

	for (int i = 0; i < CHANGES; i++) {
		submit(&user->space, user->space.done);
		wait_done(&user->space);
		start = now();
		if (mprotect(user->page, PAGE, PROT_READ))
			die("mprotect", -errno);
		seconds[i] = now() - start;
		if (mprotect(user->page, PAGE, PROT_READ | PROT_WRITE))
			die("mprotect", -errno);
	}
	return median(seconds, CHANGES);
}

void bench_user_invalidate(void)
{
	struct row row = { "user_invalidate", "s", "lower", .goal = 3 };
	struct user_page many, one;

	if (!space_open(&many.space) || !space_open(&one.space))
		return;
	user_page_open(&many, IDLE_CONTEXTS);
	user_page_open(&one, 1);
	for (int i = 0; i < bench.runs; i++) {
		double value = user_page_change(&many);

		sample(&row, value, user_page_change(&one));
	}
	print_row(&row);
	space_close(&many.space);
	space_close(&one.space);
}

/* ---- bind_4k, bind_2m ---------------------------------------------------- */

#define BINDS 1000

/*
 * One ioctl for each mapping; only the last one is waited for. The unmapping
 * between the rounds is not measured.
 */
static void bench_bind(const char *name, uint64_t range)
{
	struct row row = { name, "/s", "higher", .goal = NAN };
	uint64_t size;
	const char *segment = large_segment(&size);
	struct tessera_bo *bo;
	struct space space;

	if (!space_open(&space))
		return;
	bo = object(&space, segment, range, 0);
	make_resident(&space, bo);
	for (int i = -1; i < bench.runs; i++) {
		double start = now();

		for (uint32_t n = 0; n < BINDS; n++) {
			struct drm_tessera_vm_bind_op op = map_op(bo, BASE + n * range, range);

			bind_ops(&space, &op, 1, n == BINDS - 1);
		}
		wait_done(&space);
		if (i >= 0)
			sample(&row, BINDS / (now() - start), 0);
		unmap(&space, BASE, BINDS * range);
	}
	print_row(&row);
	tessera_bo_del(bo);
	space_close(&space);
}

void bench_bind_4k(void)
{
	bench_bind("bind_4k", PAGE);
}

void bench_bind_2m(void)
{
	bench_bind("bind_2m", LARGE);
}

/* ---- residency_cycle ----------------------------------------------------- */

#define MOVE_BYTES (128 * MIB)

/* Seconds for moving one object out and in again. */
static double raw_seconds(struct tessera_bo *bo, volatile uint32_t *map, uint32_t value)
{
	double start = now();

	touch_by_gpu(bo, value);
	if (*map != value)
		die("wrong contents", -EIO);
	return now() - start;
}

/*
 * Make two objects resident alternately, only one of which fits: each step
 * evicts one and pages the other in. The reference is the bandwidth of the
 * paging engine for large single moves in both directions, measured
 * alternately.
 */
void bench_residency_cycle(void)
{
	struct row row = { "residency_cycle", "B/s", "higher", .goal = 0.85 };
	const struct drm_tessera_query_segment *seg = tessera_device_segment(bench.dev, "vram");
	struct tessera_bo *bos[2], *single;
	volatile uint32_t *map;
	struct space space;

	if (!seg || !space_open(&space))
		return;
	single = bo_in("vram-hidden-from-cpu,gart", MOVE_BYTES,
		       DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	must("map", tessera_bo_map(single, (void **)&map));
	for (int i = 0; i < 2; i++)
		bos[i] = object(&space, "vram", seg->size / 8 * 5 / PAGE * PAGE, 0);
	trace_begin();
	/* The first round allocates and clears memory and is not counted. */
	for (int i = -1; i < bench.runs; i++) {
		double reference = 2 * MOVE_BYTES / raw_seconds(single, map, 100 + i), start;

		trace_empty();
		start = now();
		for (int n = 0; n < 4; n++) {
			make_resident(&space, bos[n % 2]);
			evict(&space, bos[n % 2]);
		}
		start = now() - start;
		if (i >= 0)
			sample(&row, traced_bytes() / start, reference);
	}
	trace_end();
	print_row(&row);
	for (int i = 0; i < 2; i++)
		tessera_bo_del(bos[i]);
	(void)tessera_bo_unmap(single);
	tessera_bo_del(single);
	space_close(&space);
}

/* ---- vm_fill ------------------------------------------------------------- */

#define FILL_OBJECTS 16384
#define FILL_LARGEST 512 /* pages */

struct fill {
	uint32_t handles[FILL_OBJECTS];
	uint64_t sizes[FILL_OBJECTS];
	uint32_t num;
	uint64_t bytes;
	uint32_t random;
};

static uint32_t fill_random(struct fill *fill, uint32_t below)
{
	fill->random = fill->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)fill->random * below >> 32);
}

/*
 * Add a resident object. Returns false, and destroys the object, if it does not
 * fit.
 */
static bool fill_add(const struct space *space, struct fill *fill, uint32_t segment)
{
	uint64_t size = PAGE * (1 + fill_random(fill, FILL_LARGEST));
	struct drm_tessera_bo_create create = {
		.size = size,
		.supported = 1u << segment,
		.flags = DRM_TESSERA_BO_VM_PRIVATE,
		.vm = space->vm,
	};
	struct drm_tessera_sync sync = signal_of(space);
	struct drm_tessera_make_resident args = {
		.handles = array_of(&create.handle, sizeof(create.handle), 1),
		.syncs = array_of(&sync, sizeof(sync), 1),
	};
	struct drm_tessera_bo_destroy destroy;

	call(space, "private object", DRM_IOCTL_TESSERA_BO_CREATE, &create);
	if (ioctl(tessera_device_fd(space->dev), DRM_IOCTL_TESSERA_MAKE_RESIDENT, &args)) {
		if (errno != ENOMEM)
			die("make resident", -errno);
		destroy = (struct drm_tessera_bo_destroy){ .handle = create.handle };
		call(space, "destroy", DRM_IOCTL_TESSERA_BO_DESTROY, &destroy);
		return false;
	}
	if (fill->num == FILL_OBJECTS)
		die("fill", -E2BIG);
	fill->handles[fill->num] = create.handle;
	fill->sizes[fill->num++] = size;
	fill->bytes += size;
	return true;
}

static void fill_drop(const struct space *space, struct fill *fill)
{
	uint32_t index = fill_random(fill, fill->num);
	struct drm_tessera_bo_destroy destroy = {
		.handle = fill->handles[index],
		.flags = DRM_TESSERA_BO_DESTROY_SYNCHRONOUS,
	};

	call(space, "destroy", DRM_IOCTL_TESSERA_BO_DESTROY, &destroy);
	fill->bytes -= fill->sizes[index];
	fill->num--;
	fill->handles[index] = fill->handles[fill->num];
	fill->sizes[index] = fill->sizes[fill->num];
}

/*
 * Make objects of random sizes, up to 2 MiB, resident until one is refused.
 * Then destroy a random third of them and fill up again. All objects are
 * listed, so none is evicted. The row is the fraction of the segment that can
 * be filled.
 */
void bench_vm_fill(void)
{
	struct row row = { "vm_fill", "B", "higher", .goal = 0.98 };
	const struct drm_tessera_query_segment *seg;
	struct fill *fill = calloc(1, sizeof(*fill));
	struct space space;
	uint64_t size;

	if (!fill)
		die("fill", -ENOMEM);
	seg = tessera_device_segment(bench.dev, large_segment(&size));
	if (!seg || !space_open(&space)) {
		free(fill);
		return;
	}
	for (int i = 0; i < bench.runs; i++) {
		while (fill_add(&space, fill, seg->id))
			;
		sample(&row, fill->bytes, seg->size);
		for (uint32_t n = fill->num / 3; n; n--)
			fill_drop(&space, fill);
	}
	print_row(&row);
	space_close(&space);
	free(fill);
}

/* ---- vm_clean_evict ------------------------------------------------------ */

/*
 * Bytes that the demo pages out. Its textures take four times the video memory.
 * Without what else saves copies, because not all of it exists in both models.
 */
static double demo_bytes_out(const char *model)
{
	char *const args[] = {
		"tessera-demo", "--model",	   (char *)model, "--oversubscribe",	  "4",
		"--output",	"/tmp/demo-bench", "--without",	  "priorities,read-sets", NULL
	};
	int status;
	pid_t pid;

	if (mkdir("/tmp/demo-bench", 0700) && errno != EEXIST)
		die("/tmp/demo-bench", -errno);
	trace_empty();
	pid = fork();
	if (pid < 0)
		die("fork", -errno);
	if (!pid) {
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(args[0], args);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("tessera-demo", -EIO);
	return traced_bytes_out();
}

/*
 * What the upload and the variants write is paged out once in both models. The
 * scene then only reads the textures.
 */
void bench_vm_clean_evict(void)
{
	struct row row = { "vm_clean_evict", "B", "lower", .goal = 1.05 };

	trace_begin();
	for (int i = 0; i < 3; i++) {
		double patched = demo_bytes_out("patched");

		sample(&row, demo_bytes_out("vm"), patched);
	}
	trace_end();
	print_row(&row);
}
