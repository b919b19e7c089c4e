// SPDX-License-Identifier: MIT
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stall.h"
#include "tap.h"

/* the fifth of the ports with which scripts/guest talks to the guest */
#define MONITOR "/dev/vport0p5"

/* the guest's kernel lets nobody else have the port meanwhile */
static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	do {
		require(n + 1 < size);
		require(read(fd, line + n, 1) == 1);
	} while (line[n++] != '\n');
	line[n] = 0;
}

/* what answers the command @id; lines that answer nothing, or something else, are passed over */
static void execute(int fd, const char *id, const char *command, char *line, size_t size)
{
	char wanted[64];

	require(dprintf(fd, "%s\n", command) > 0);
	snprintf(wanted, sizeof(wanted), "\"id\": \"%s\"", id);
	do
		read_line(fd, line, size);
	while (!strstr(line, wanted));
}

/* one of the device's properties: reads it, or writes it if there is a @value */
static void property(const char *name, const char *value, char *line, size_t size)
{
	const char *number = getenv("TESSERA_NUMBER");
	char command[256];
	int fd;

	/* another process may have it */
	tsr_wait_for((fd = open(MONITOR, O_RDWR | O_CLOEXEC)) >= 0 || errno != EBUSY);
	if (fd < 0 && errno == ENOENT)
		tap_skip("no monitor of the host");
	require_msg(fd >= 0, "%s: %s", MONITOR, strerror(errno));
	/* refused if somebody has done so before */
	execute(fd, "begin", "{\"execute\": \"qmp_capabilities\", \"id\": \"begin\"}", line, size);
	snprintf(command, sizeof(command),
		 "{\"execute\": \"qom-%s\", \"id\": \"it\", \"arguments\": {\"path\": "
		 "\"/machine/peripheral/tessera%s\", \"property\": \"%s\"%s%s}}",
		 value ? "set" : "get", number ? number : "0", name, value ? ", \"value\": " : "",
		 value ? value : "");
	execute(fd, "it", command, line, size);
	close(fd);
	require_msg(strstr(line, "\"return\""), "%s: %s", name, line);
}

static void set_property(const char *name, const char *value)
{
	char line[4096];

	property(name, value, line, sizeof(line));
}

void tsr_host_set_bool(const char *name, bool value)
{
	set_property(name, value ? "true" : "false");
}

void tsr_host_set(const char *name, const char *number)
{
	set_property(name, number);
}

bool tsr_engine_hangs(void)
{
	char line[4096];

	property("x-hang-engine", NULL, line, sizeof(line));
	return strstr(line, "\"return\": -1");
}

/* something hangs, or will; the test's parent lets it go, however the test ends */
static bool *held;

void tsr_engine_let_go(void)
{
	set_property("x-hang-engine", "-1");
	*held = false;
}

static void let_go_of_held(void)
{
	if (*held)
		tsr_engine_let_go();
}

static void let_go_for_parent(void *arg)
{
	tsr_engine_let_go();
}

void tsr_hangs_begin(void)
{
	if (!held)
		held = tsr_shared(sizeof(*held));
	*held = false;
}

void tsr_hangs_end(void)
{
	if (!*held)
		return;
	/* the device may be gone, which ends only the process that asks for it */
	waitpid(tap_fork(let_go_for_parent, NULL), NULL, 0);
	*held = false;
}

void tsr_engine_hang_next(uint32_t engine)
{
	static bool first = true;
	char text[16];

	if (first)
		atexit(let_go_of_held); /* should the test fail: what waits for it can end */
	first = false;
	*held = true;
	snprintf(text, sizeof(text), "%u", engine);
	set_property("x-hang-engine", text);
}

static void hold_next(uint32_t engine)
{
	tsr_job_timeout("300000");
	tsr_engine_hang_next(engine);
}

void tsr_engine_hold(uint32_t engine)
{
	hold_next(engine);
	tsr_wait_for(tsr_engine_hangs());
}

struct tsr_stuck tsr_stuck_start_on(struct tsr_device *dev, uint32_t ctx, uint32_t engine)
{
	struct tsr_stuck stuck = { .dev = dev, .sync = tsr_syncobj_new(dev) };
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	hold_next(engine);
	tsr_submit(dev, ctx, &cmd, 0, stuck.sync);
	/* not another's job instead */
	tsr_wait_for(tsr_engine_hangs());
	tsr_cmd_fini(&cmd);
	return stuck;
}

struct tsr_stuck tsr_stuck_start(struct tsr_device *dev, uint32_t ctx)
{
	return tsr_stuck_start_on(dev, ctx, dev->render);
}

void tsr_stuck_end(struct tsr_stuck *stuck)
{
	tsr_engine_let_go();
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
	/* page tables are written for the first one */
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
	tsr_vm_close(&stuck->vm);
}

struct during {
	void (*fn)(void *arg);
	void *arg;
	volatile pid_t tid;
	volatile bool returned;
};

static void *during_thread(void *arg)
{
	struct during *during = arg;

	during->tid = gettid();
	during->fn(during->arg);
	during->returned = true;
	return NULL;
}

static volatile bool last_call;

void tsr_stuck_last_call(void)
{
	last_call = true;
}

bool tsr_stuck_during(void (*fn)(void *arg), void *arg)
{
	struct during during = { .fn = fn, .arg = arg };
	pthread_t thread;
	bool returned;

	last_call = false;
	require(!pthread_create(&thread, NULL, during_thread, &during));
	tsr_wait_for(during.returned || (last_call && tsr_waits(during.tid)));
	returned = during.returned;
	tsr_engine_let_go();
	require(!pthread_join(thread, NULL));
	return returned;
}
