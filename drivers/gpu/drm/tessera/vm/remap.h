/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_VM_REMAP_H__
#define __TESSERA_VM_REMAP_H__

#include <linux/types.h>

struct dma_fence;
struct tessera_bo;		/* mem/bo.h */
struct tessera_mapping;		/* vm/vm.h */
struct tessera_paging_batch;	/* paging/queue.h */
struct tessera_pt_source;	/* vm/pt.h */
struct tessera_range;		/* segments/manager.h */
struct tessera_resident_set;	/* vm/listing.h */
struct tessera_segment;		/* segments/segment.h */
struct tessera_vm;		/* vm/vm.h */

struct dma_fence *tessera_remap_push(struct tessera_bo *bo, struct tessera_paging_batch *batch);
void tessera_remap_drop(struct tessera_bo *bo);
struct dma_fence *tessera_remap_users(struct tessera_bo *bo);
bool tessera_remap_source(struct tessera_bo *bo, const struct tessera_segment *seg,
			  const struct tessera_range *range,
			  const struct tessera_mapping *mapping, struct tessera_pt_source *source);
int tessera_remap_show(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
void tessera_remap_hide(struct tessera_resident_set *set, struct tessera_bo **bos, u32 num);
bool tessera_remap_may_show(struct tessera_vm *vm, struct tessera_bo *bo);
void tessera_remap_settle(struct tessera_bo *bo);

#endif /* __TESSERA_VM_REMAP_H__ */
