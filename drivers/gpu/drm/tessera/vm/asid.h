/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_ASID_H__
#define __TESSERA_VM_ASID_H__

#include <linux/list.h>
#include <linux/types.h>

struct tessera_account;		/* segments/account.h */
struct tessera_device;
struct tessera_vm_jobs;		/* mem/user.h */

/** TESSERA_NO_ASID: the VM has none */
#define TESSERA_NO_ASID		U32_MAX

/**
 * struct tessera_asid - the number by which the device knows a VM, while it has one
 *
 * Protected by a lock of its own, a leaf, but for what is said otherwise.
 */
struct tessera_asid {
	/** @node: in the list of those with a number, the least recently used first */
	struct list_head node;
	/** @number: the number, or TESSERA_NO_ASID; stable after tessera_asid_get() */
	u32 number;
	/** @used: between tessera_asid_get() and tessera_asid_put() */
	bool used;
	/** @fresh: the device may remember addresses of another VM under the number */
	bool fresh;
	/** @account: of the VM */
	struct tessera_account *account;
	/** @jobs: those of the VM */
	struct tessera_vm_jobs *jobs;
	/** @heir: a VM that gets the number when the jobs have ended, or NULL */
	struct tessera_asid *heir;
	/** @from: the VM whose heir this one is, or NULL */
	struct tessera_asid *from;
};

int tessera_asids_init(struct tessera_device *tdev);
void tessera_asid_init(struct tessera_asid *asid, struct tessera_account *account,
		       struct tessera_vm_jobs *jobs);
void tessera_asid_fini(struct tessera_device *tdev, struct tessera_asid *asid);
int tessera_asid_get(struct tessera_device *tdev, struct tessera_asid *asid);
int tessera_asid_wait(struct tessera_device *tdev, struct tessera_asid *asid);
void tessera_asid_put(struct tessera_device *tdev, struct tessera_asid *asid);
void tessera_asid_give_up(struct tessera_device *tdev, struct tessera_asid *asid);

#endif /* __TESSERA_VM_ASID_H__ */
