// SPDX-License-Identifier: MIT
/*
 * VMs when the device is suspended, reset or unplugged. Mappings survive a
 * suspend, a reset loses the VM, and an unplug must end all jobs and binds.
 */

#include "pci.h"
#include "vm.h"

#define AT 0x123450000000ull

static struct tsr_bo new_mapped(struct tsr_vm *vm, uint32_t set, uint64_t address)
{
	struct tsr_bo bo = tsr_bo_new(vm->dev, MiB(3), set, 0);

	tsr_vm_map(vm->dev, vm->id, &bo, 0, address, bo.size, 0);
	tsr_vm_place(vm, &bo);
	return bo;
}

static void check_words(struct tsr_vm *vm, const struct tsr_bo *bo, uint32_t value)
{
	uint32_t words[16];

	tsr_gpu_read(vm->dev, vm->patched, bo, bo->size / 4 - 16, 16, words);
	tsr_words_check(words, 16, value);
}

/*
 * Page tables are in memory that suspend loses. All mappings must be as before.
 */
static void suspend(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev), fresh = tsr_vm_open(&dev);
	struct tsr_bo a = new_mapped(&vm, tsr_bit(tsr_seg_visible(&dev)), AT);
	struct tsr_bo b = new_mapped(&vm, tsr_bit(tsr_seg_gart(&dev)), AT + MiB(16) + KiB(4));

	tsr_vm_map_null(&dev, vm.id, AT + MiB(64), MiB(8));
	tsr_vm_map_null(&dev, fresh.id, AT, MiB(8));
	tsr_vm_fill(&vm, AT, a.size, 1);
	for (uint32_t round = 1; round < 3; round++) {
		tsr_suspend_devices();
		/* a null mapping first: only its page tables can be missing */
		require_msg(tsr_vm_try_fill(&vm, AT + MiB(64), MiB(8), 9) != -EFAULT,
			    "a job faulted on a null mapping after a suspend: not all lost page "
			    "tables were written again");
		tsr_vm_copy(&vm, AT + MiB(16) + KiB(4), AT, a.size);
		check_words(&vm, &b, round);
		tsr_vm_fill(&vm, AT, a.size, round + 1);
		tsr_vm_fill(&fresh, AT, MiB(8), 9);
	}
	tsr_bo_free(&dev, &a);
	tsr_bo_free(&dev, &b);
	tsr_vm_close(&vm);
	tsr_vm_close(&fresh);
	tsr_close(&dev);
}

/* A reset loses VMs like contexts. New ones work. */
static void reset(void)
{
	struct tsr_device dev = tsr_open();
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct drm_tessera_context_create args = { .engine = dev.render, .vm = vm.id };
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = AT,
		.range = MiB(1),
	};
	struct tsr_bo bo = new_mapped(&vm, tsr_bit(tsr_seg_visible(&dev)), AT);
	struct tsr_bo kept = tsr_bo_new(&dev, MiB(3), tsr_bit(tsr_seg_gart(&dev)), 0);
	struct tsr_vm fresh;

	tsr_pci_can_reset();
	tsr_vm_map(&dev, vm.id, &kept, 0, AT + MiB(16), kept.size, 0);
	tsr_vm_fill(&vm, AT, bo.size, 1);
	tsr_pci_reset();
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0), -EIO);
	require_err(__tsr_vm_bind(dev.fd, vm.id, &op, 1, 0, 0), -EIO);
	require_err(__tsr_context_create(dev.fd, &args), -EIO);
	tsr_bo_free(&dev, &bo);

	/* mappings of the lost VM do not delay jobs of others */
	fresh = tsr_vm_open(&dev);
	tsr_vm_map(&dev, fresh.id, &kept, 0, AT, kept.size, 0);
	/* resident already, so that no move writes page tables of either VM */
	tsr_gpu_touch(&dev, fresh.patched, &kept);
	tsr_vm_place(&fresh, &kept);
	tsr_vm_fill(&fresh, AT, kept.size, 3);
	check_words(&fresh, &kept, 3);
	/* nor do its page tables have to come back for them */
	require_eq(tsr_tables_in(0), KiB(64));
	tsr_bo_free(&dev, &kept);
	tsr_vm_close(&fresh);
	tsr_vm_close(&vm);

	vm = tsr_vm_open(&dev);
	bo = new_mapped(&vm, tsr_bit(tsr_seg_visible(&dev)), AT);
	tsr_vm_fill(&vm, AT, bo.size, 2);
	check_words(&vm, &bo, 2);
	tsr_bo_free(&dev, &bo);
	tsr_vm_close(&vm);
	tsr_close(&dev);
}

/* Queued jobs and binds end, and everything can be closed. */
static void unplug(void)
{
	struct tsr_device dev = (tsr_pci_begin(), tsr_open());
	struct tsr_vm vm = tsr_vm_open(&dev);
	struct tsr_bo bo = new_mapped(&vm, tsr_bit(tsr_seg_visible(&dev)), AT);
	uint32_t sync = tsr_syncobj_new(&dev), done = tsr_syncobj_new(&dev);
	struct drm_tessera_vm_bind_op op = {
		.op = DRM_TESSERA_VM_BIND_UNMAP,
		.address = AT,
		.range = MiB(1),
	};
	struct tsr_cmd cmd;
	int file, late;

	tsr_cmd_init(&cmd);
	tsr_cmd_bind_address(&cmd, 0, AT, bo.size, true);
	for (uint32_t i = 0; i < 2000; i++)
		tsr_cmd_fill(&cmd, 0, 0, (uint32_t)(bo.size / 4), i);
	memcpy(vm.cmds.map, cmd.dw, tsr_cmd_bytes(&cmd));
	for (uint32_t i = 0; i < 4; i++)
		require_ok(__tsr_submit_vm(&dev, vm.context, vm.at, tsr_cmd_bytes(&cmd), 0, sync));
	require_ok(__tsr_vm_bind(dev.fd, vm.id, &op, 1, 0, done));
	file = tsr_syncobj_export(&dev, sync);
	late = tsr_syncobj_export(&dev, done);

	tsr_pci_unbind();
	(void)tsr_sync_file_status(file);
	(void)tsr_sync_file_status(late);
	require_err(__tsr_submit_vm(&dev, vm.context, vm.at, 64, 0, 0), -ENODEV);
	require_err(__tsr_vm_bind(dev.fd, vm.id, &op, 1, 0, 0), -ENODEV);
	tsr_cmd_fini(&cmd);
	tsr_close(&dev);

	tsr_pci_bind();
	dev = tsr_open();
	vm = tsr_vm_open(&dev);
	bo = new_mapped(&vm, tsr_bit(tsr_seg_visible(&dev)), AT);
	tsr_vm_fill(&vm, AT, bo.size, 3);
	check_words(&vm, &bo, 3);
	tsr_close(&dev);
}

static const struct tap_test tests[] = {
	{ "RES-5 addresses survive a suspend", suspend, 0, 0 },
	{ "RES-6 a reset of the function loses VMs", reset, 0, 0 },
	{ "RES-6 an unplug with a VM in use", unplug, TSR_NO_DEVICE, 0 },
};

TSR_TEST_MAIN(tests)
