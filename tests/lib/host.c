// SPDX-License-Identifier: MIT
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "pci.h"
#include "stall.h"
#include "tap.h"

/* the fifth port between scripts/guest and the guest */
#define MONITOR "/dev/vport0p5"

/* Only one process at a time can have the port open. */
static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	do {
		require(n + 1 < size);
		require(read(fd, line + n, 1) == 1);
	} while (line[n++] != '\n');
	line[n] = 0;
}

/* Reads the reply to the command @id. Skips events and other replies. */
static void execute(int fd, const char *id, const char *command, char *line, size_t size)
{
	char wanted[64];

	require(dprintf(fd, "%s\n", command) > 0);
	snprintf(wanted, sizeof(wanted), "\"id\": \"%s\"", id);
	do
		read_line(fd, line, size);
	while (!strstr(line, wanted));
}

/* Reads a property of device @number, or sets it if @value is not NULL. */
static void property(uint32_t number, const char *name, const char *value, char *line, size_t size)
{
	char command[256];
	int fd;

	/* another process may have the port open */
	tsr_wait_for((fd = open(MONITOR, O_RDWR | O_CLOEXEC)) >= 0 || errno != EBUSY);
	if (fd < 0 && errno == ENOENT)
		tap_skip("no monitor of the host");
	require_msg(fd >= 0, "%s: %s", MONITOR, strerror(errno));
	/* fails if the monitor is in command mode already, which is fine */
	execute(fd, "begin", "{\"execute\": \"qmp_capabilities\", \"id\": \"begin\"}", line, size);
	snprintf(command, sizeof(command),
		 "{\"execute\": \"qom-%s\", \"id\": \"it\", \"arguments\": {\"path\": "
		 "\"/machine/peripheral/tessera%u\", \"property\": \"%s\"%s%s}}",
		 value ? "set" : "get", number, name, value ? ", \"value\": " : "",
		 value ? value : "");
	execute(fd, "it", command, line, size);
	close(fd);
	require_msg(strstr(line, "\"return\""), "%s: %s", name, line);
}

/* number of the device under test; also valid while it has no driver */
static uint32_t own_number(void)
{
	const char *number = getenv("TESSERA_NUMBER");

	return number ? (uint32_t)strtoul(number, NULL, 10) : 0;
}

static void set_property(uint32_t number, const char *name, const char *value)
{
	char line[4096];

	property(number, name, value, line, sizeof(line));
}

void tsr_host_set_bool(const char *name, bool value)
{
	set_property(own_number(), name, value ? "true" : "false");
}

void tsr_host_set(const char *name, const char *number)
{
	set_property(own_number(), name, number);
}

bool tsr_host_is(const char *name, const char *number)
{
	char line[4096], wanted[64];

	property(own_number(), name, NULL, line, sizeof(line));
	snprintf(wanted, sizeof(wanted), "\"return\": %s,", number);
	return strstr(line, wanted);
}

/* true if no hang is pending on device @number */
static bool hang_has_come(uint32_t number)
{
	char line[4096];

	property(number, "x-hang-engine", NULL, line, sizeof(line));
	return strstr(line, "\"return\": -1");
}

bool tsr_engine_hangs(void)
{
	return hang_has_come(own_number());
}

#define MOST_DEVICES 32

/*
 * Per device, a mask of engines that hang or are going to. The runner releases
 * them when the test ends.
 */
static uint32_t *hung;

static void set_hang(uint32_t number, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	set_property(number, "x-hang-engine", text);
}

void tsr_engine_release(void)
{
	for (uint32_t i = 0; i < MOST_DEVICES; i++) {
		if (!hung[i])
			continue;
		set_hang(i, -1);
		hung[i] = 0;
	}
}

static void let_go_of_one(uint32_t number, uint32_t engine)
{
	if (!(hung[number] & 1u << engine))
		return;
	set_hang(number, -2 - (int)engine);
	__atomic_and_fetch(&hung[number], ~(1u << engine), __ATOMIC_SEQ_CST);
}

static void let_go_for_parent(void *arg)
{
	tsr_engine_release();
}

void tsr_hangs_begin(void)
{
	if (!hung)
		hung = tsr_shared(MOST_DEVICES * sizeof(*hung));
	memset(hung, 0, MOST_DEVICES * sizeof(*hung));
}

void tsr_hangs_end(void)
{
	uint32_t any = 0;

	for (uint32_t i = 0; i < MOST_DEVICES; i++)
		any |= hung[i];
	if (!any)
		return;
	/*
	 * Done in a child: if the device is gone, the request fails, which ends
	 * only the calling process.
	 */
	waitpid(tap_fork(let_go_for_parent, NULL), NULL, 0);
	memset(hung, 0, MOST_DEVICES * sizeof(*hung));
}

static void hang_next(uint32_t number, uint32_t engine)
{
	static bool first = true;

	require(number < MOST_DEVICES);
	if (first)
		/*
		 * if the test fails, everything that waits for the job has to
		 * end
		 */
		atexit(tsr_engine_release);
	first = false;
	__atomic_or_fetch(&hung[number], 1u << engine, __ATOMIC_SEQ_CST);
	set_hang(number, (int)engine);
}

void tsr_engine_hang_next(uint32_t engine)
{
	hang_next(own_number(), engine);
}

void tsr_engine_hold(uint32_t engine)
{
	tsr_job_timeout_lift();
	tsr_engine_hang_next(engine);
	tsr_wait_for(tsr_engine_hangs());
}

struct tsr_stuck tsr_stuck_next(struct tsr_device *dev, uint32_t engine)
{
	struct tsr_stuck stuck = {
		.dev = dev,
		.number = tsr_pci_number(dev),
		.engine = engine,
	};

	tsr_job_timeout_lift();
	hang_next(stuck.number, engine);
	return stuck;
}

void tsr_stuck_begun(const struct tsr_stuck *stuck)
{
	tsr_wait_for(hang_has_come(stuck->number));
}

struct tsr_stuck tsr_stuck_start_on(struct tsr_device *dev, uint32_t ctx, uint32_t engine)
{
	struct tsr_stuck stuck = tsr_stuck_next(dev, engine);
	struct tsr_cmd cmd;

	stuck.sync = tsr_syncobj_new(dev);
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	tsr_submit(dev, ctx, &cmd, 0, stuck.sync);
	/* make sure that this job hangs, not another client's */
	tsr_stuck_begun(&stuck);
	tsr_cmd_fini(&cmd);
	return stuck;
}

struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx)
{
	return tsr_stuck_start_on(dev, ctx, dev->render);
}

void tsr_stuck_release(const struct tsr_stuck *stuck)
{
	let_go_of_one(stuck->number, stuck->engine);
}

void tsr_stuck_end(struct tsr_stuck *stuck)
{
	tsr_stuck_release(stuck);
	require_ok(tsr_syncobj_status(stuck->dev, stuck->sync));
	tsr_syncobj_free(stuck->dev, stuck->sync);
}

void tsr_stuck_vm_start(struct tsr_stuck_vm *stuck, struct tsr_device *dev, const struct tsr_bo *bo,
			uint32_t value)
{
	struct tsr_vm *vm = &stuck->vm;
	struct tsr_cmd cmd;

	*vm = tsr_vm_open(dev);
	tsr_vm_place(vm, bo);
	tsr_vm_map(dev, vm->id, bo, 0, TSR_STUCK_AT, bo->size, 0);
	/* the first fill has the page tables written */
	tsr_vm_fill(vm, TSR_STUCK_AT, bo->size, 0);
	stuck->stuck = tsr_stuck_start(dev, vm->patched);
	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, TSR_STUCK_AT, bo->size, true);
	tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo->size / 4), value);
	memcpy(vm->cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	require_ok(__tsr_submit_vm(dev, vm->context, vm->at, tsr_cmd_bytes(&cmd), 0,
				   stuck->stuck.sync));
	tsr_cmd_fini(&cmd);
}

bool tsr_stuck_vm_runs(struct tsr_stuck_vm *stuck)
{
	return __tsr_syncobj_wait(stuck->vm.dev->fd, stuck->stuck.sync, 0, 0) == -ETIME;
}

void tsr_stuck_vm_end(struct tsr_stuck_vm *stuck)
{
	tsr_stuck_end(&stuck->stuck);
}

void tsr_stuck_vm_close(struct tsr_stuck_vm *stuck)
{
	tsr_vm_close(&stuck->vm);
}

static volatile bool last_call;

void tsr_stuck_last_call(void)
{
	last_call = true;
}

bool tsr_stuck_during(void (*fn)(void *arg), void *arg)
{
	struct tsr_call call;
	bool returned;

	last_call = false;
	tsr_call_start(&call, fn, arg);
	tsr_wait_for(call.returned || (last_call && tsr_waits(call.tid)));
	returned = call.returned;
	tsr_engine_release();
	tsr_call_join(&call);
	return returned;
}
