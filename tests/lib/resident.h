/* SPDX-License-Identifier: MIT */
/* Residency lists. */
#ifndef TSR_RESIDENT_H
#define TSR_RESIDENT_H

#include "tsr.h"

/* @sync: a binary syncobj that is signalled, or 0. @out may be NULL. */
int __tsr_make_resident(int fd, const uint32_t *handles, uint32_t count, uint32_t sync,
			struct drm_tessera_make_resident *out);
int __tsr_evict(int fd, const uint32_t *handles, uint32_t count);

/*
 * Add objects to the residency list and wait, or remove them; then the same for
 * one object.
 */
void tsr_make_resident(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count);
void tsr_evict(struct tsr_device *dev, const struct tsr_bo *bos, uint32_t count);
int __tsr_make_one(struct tsr_device *dev, const struct tsr_bo *bo);
int __tsr_evict_one(struct tsr_device *dev, const struct tsr_bo *bo);
/* with DRM_TESSERA_EVICT_NOT_WRITTEN */
int __tsr_evict_unwritten(struct tsr_device *dev, const struct tsr_bo *bo);

int __tsr_budget(struct tsr_device *dev, struct drm_tessera_budget *args);
struct drm_tessera_budget tsr_budget(struct tsr_device *dev, uint32_t segments);
/* @eventfd: signalled when the budget changes or the client should trim; -1: none */
int __tsr_budget_notify(struct tsr_device *dev, uint32_t segments, int eventfd);
/* Waits until the eventfd is signalled, and resets it. False after the timeout. */
bool tsr_budget_told(int eventfd, int timeout_ms);

/* Brings back listed objects that were evicted, and waits. @out may be NULL. */
int __tsr_bring_back(struct tsr_device *dev, struct drm_tessera_make_resident *out);

/*
 * Sum of the residency counts of all objects of this size, over all clients.
 * The test must give its objects a size that no other object has.
 */
uint64_t tsr_listed(uint64_t size);

#endif /* TSR_RESIDENT_H */
