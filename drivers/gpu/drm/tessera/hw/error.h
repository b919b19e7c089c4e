/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ERROR_H__
#define __TESSERA_ERROR_H__

#include <linux/types.h>

#include <tessera/tessera_hw.h>

struct drm_printer;
struct tessera_device;

/**
 * struct tessera_error_record - the first error of a type
 */
struct tessera_error_record {
	/** @engine: index, or U32_MAX: no engine's doing */
	u32 engine;
	/** @context: id of the context */
	u32 context;
	/** @packet: first dword of the packet */
	u32 packet;
	/** @offset: where it is in its ring or buffer, in bytes */
	u32 offset;
	/** @slot: slot, or U32_MAX: none involved */
	u32 slot;
	/** @object: id of the object at @addr when the record was read; 0: none */
	u32 object;
	/** @addr: what address was wrong, where one was */
	u64 addr;
};

/* Finds the object that has a GPU address; 0: none. May sleep. */
typedef u32 (*tessera_error_find_t)(struct tessera_device *tdev, u64 addr);

int tessera_error_init(struct tessera_device *tdev);
void tessera_error_set_finder(struct tessera_device *tdev, tessera_error_find_t find);
void tessera_error_report_stale(struct tessera_device *tdev);
void tessera_error_unplug(struct tessera_device *tdev);
void tessera_error_collect(struct tessera_device *tdev, bool rearm);
u64 tessera_error_total(struct tessera_device *tdev);
void tessera_error_print(struct tessera_device *tdev, struct drm_printer *p);

#endif /* __TESSERA_ERROR_H__ */
