/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_COHERENCE_H__
#define __TESSERA_COHERENCE_H__

#include <linux/types.h>

struct drm_printer;
struct tessera_bo;		/* mem/bo.h */

bool tessera_coherence_tracks(const struct tessera_bo *bo);
void tessera_coherence_for_device(struct tessera_bo *bo, bool write);
void tessera_coherence_for_job(struct tessera_bo *bo, bool write);
void tessera_coherence_for_cpu_pages(struct tessera_bo *bo, u32 first, u32 pages, bool write);
void tessera_coherence_for_cpu(struct tessera_bo *bo, bool write);
void tessera_coherence_for_swap(struct tessera_bo *bo);
void tessera_coherence_flush(struct tessera_bo *bo, u64 offset, u64 bytes);
void tessera_coherence_device_resets(struct tessera_bo *bo);
void tessera_coherence_print(struct tessera_bo *bo, struct drm_printer *p);

#endif /* __TESSERA_COHERENCE_H__ */
