/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_REMAP_H__
#define __TESSERA_VM_REMAP_H__

#include <linux/types.h>

struct tessera_bo;		/* mem/bo.h */
struct tessera_device;
struct tessera_mapping;		/* vm/vm.h */
struct tessera_pt_source;	/* vm/pt.h */
struct tessera_segment;		/* segments/segment.h */

void tessera_remap_init(struct tessera_device *tdev);
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg, u64 offset,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source);

#endif /* __TESSERA_VM_REMAP_H__ */
