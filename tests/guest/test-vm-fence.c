// SPDX-License-Identifier: MIT
/*
 * Fences of residency calls as in-fences of jobs, while the paging engine is
 * stuck. SUBMIT_VM must return before the fences signal, and its job must run
 * after them.
 */
#include <unistd.h>

#include "host.h"
#include "resident.h"
#include "vm.h"

#define OBJECTS 8

/*
 * The fence of several objects belongs to jobs of this device, so a job can
 * wait for it and the call need not. The objects are on the list of another
 * file, because a job waits for those on its own list without a fence, too.
 */
static void behind_make_resident(void)
{
	struct tsr_device dev = tsr_open(), other = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	uint32_t paged = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	uint32_t theirs = tsr_syncobj_new(&other), handles[OBJECTS];
	struct tsr_stuck stuck;
	struct tsr_cmd cmd;
	int sync_file;

	for (uint32_t i = 0; i < OBJECTS; i++)
		handles[i] = tsr_bo_new(&other, KiB(64), tsr_bit(tsr_seg_hidden(&other)), 0).handle;
	tsr_cmd_init(&cmd);
	tsr_cmd_nop(&cmd, 64);
	/* has the page tables written */
	require_ok(tsr_vm_run(&vm, &cmd));
	stuck = tsr_stuck_next(&dev, dev.paging);
	require_ok(__tsr_make_resident(other.fd, handles, OBJECTS, theirs, NULL));
	tsr_stuck_begun(&stuck);
	sync_file = tsr_syncobj_export(&other, theirs);
	tsr_syncobj_import(&dev, paged, sync_file);
	close(sync_file);
	/* if the call waited, it would never return */
	require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), paged, done));
	/* a job that does not wait goes before this one */
	tsr_submit_done(&dev, vm.patched, &cmd);
	require_err(__tsr_syncobj_wait(dev.fd, paged, 0, 0), -ETIME);
	require_msg(__tsr_syncobj_wait(dev.fd, done, 0, 0) == -ETIME,
		    "expected the job to wait for its in-fence, it has run");
	tsr_stuck_release(&stuck);
	require_ok(__tsr_syncobj_wait(dev.fd, done, 0, INT64_MAX));
	require_ok(__tsr_syncobj_wait(dev.fd, paged, 0, 0));
	require_ok(tsr_syncobj_status(&dev, done));
	tsr_cmd_fini(&cmd);
	tsr_close(&other);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-4 a job behind the fence of several objects", behind_make_resident, 0, 0 },
};

TSR_TEST_MAIN(tests)
