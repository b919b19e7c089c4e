/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_RESIDENT_H__
#define __TESSERA_RESIDENT_H__

#include <linux/types.h>

struct dma_fence;
struct tessera_resident_set;	/* vm/listing.h */
struct tessera_space;		/* vm/pt.h */

/**
 * struct tessera_resident_answer - what there is to know about a call that makes objects resident
 */
struct tessera_resident_answer {
	/** @fence: signals when all is where it is to be; set if the call succeeds */
	struct dma_fence *fence;
	/** @bytes_to_trim: how much has to be given up first; 0 unless that is what it fails for */
	u64 bytes_to_trim;
	/** @segments: ids of the segments where it has to be, as a set */
	u32 segments;
	/** @failed: index of the handle that it fails for; left as it is if that is none */
	u32 failed;
};

int tessera_resident_make(struct tessera_resident_set *set, const u32 *handles, u32 num,
			  struct tessera_resident_answer *answer);
int tessera_resident_evict(struct tessera_resident_set *set, const u32 *handles, u32 num);
int tessera_resident_ready(struct tessera_resident_set *set);
int tessera_resident_restore(struct tessera_space *space);

#endif /* __TESSERA_RESIDENT_H__ */
