/* SPDX-License-Identifier: MIT */
/* Residency lists. */
#ifndef TSR_RESIDENT_H
#define TSR_RESIDENT_H

#include "tsr.h"

/* @sync: a binary syncobj, 0 for none; @out may be NULL */
int __tsr_make_resident(int fd, const uint32_t *handles, uint32_t count, uint32_t sync,
			struct drm_tessera_make_resident *out);
int __tsr_evict(int fd, const uint32_t *handles, uint32_t count);

/* of some objects, and waited for; of one */
void tsr_make_resident(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count);
void tsr_evict(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count);
int __tsr_make_one(struct tsr_device *dev, const struct tsr_bo *bo);
int __tsr_evict_one(struct tsr_device *dev, const struct tsr_bo *bo);

/* bring back what was moved out, and wait; @out may be NULL */
int __tsr_bring_back(struct tsr_device *dev, struct drm_tessera_make_resident *out);

/* sum of the counts of the objects of a size, of all clients: give objects sizes of their own */
uint64_t tsr_listed(uint64_t size);

#endif /* TSR_RESIDENT_H */
