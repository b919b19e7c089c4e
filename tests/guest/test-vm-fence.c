// SPDX-License-Identifier: MIT
/*
 * Fences of residency calls as in-fences of jobs, on a device with slow paging.
 * SUBMIT_VM must not wait for them itself.
 */
#include <string.h>

#include "resident.h"
#include "vm.h"

#define OBJECTS 8
/* attempts, in case a slow machine finishes the paging too early */
#define ROUNDS 4

/*
 * Submits a job that waits for objects which are still being paged in. Returns
 * whether the submission returned before the paging had ended.
 */
static bool submits_early(struct tsr_device *dev, struct tsr_vm *vm, uint32_t bytes)
{
	uint32_t paged = tsr_syncobj_new(dev), done = tsr_syncobj_new(dev);
	struct tsr_bo bos[OBJECTS];
	uint32_t handles[OBJECTS];
	bool early;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		bos[i] = tsr_bo_new(dev, KiB(64), tsr_bit(tsr_seg_hidden(dev)), 0);
		handles[i] = bos[i].handle;
	}
	require_ok(__tsr_make_resident(dev->fd, handles, OBJECTS, paged, NULL));
	require_ok(__tsr_submit_vm(dev, vm->context, vm->at, bytes, paged, done));
	early = __tsr_syncobj_wait(dev->fd, paged, 0, 0) == -ETIME;
	/* the job may not run before them, either */
	if (early)
		require_ok(__tsr_syncobj_wait(dev->fd, done, 0, INT64_MAX));
	require_ok(__tsr_syncobj_wait(dev->fd, paged, 0, early ? 0 : INT64_MAX));
	require_eq(tsr_syncobj_status(dev, done), 0);
	tsr_evict(dev, bos, OBJECTS);
	for (uint32_t i = 0; i < OBJECTS; i++)
		tsr_bo_free(dev, &bos[i]);
	return early;
}

/*
 * The fence of several objects belongs to jobs of this device, so a job can
 * wait for it and the call need not.
 */
static void behind_make_resident(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t rounds = 0;
	struct tsr_cmd cmd;

	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	tsr_vm_place(&vm, &vm.cmds);
	tsr_make_resident(&dev, &vm.cmds, 1);
	while (!submits_early(&dev, &vm, tsr_cmd_bytes(&cmd)))
		require_msg(++rounds < ROUNDS,
			    "expected SUBMIT_VM not to wait for its in-fence in the call");
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-4 a job behind the fence of several objects", behind_make_resident, 0, 0 },
};

TSR_TEST_MAIN(tests)
