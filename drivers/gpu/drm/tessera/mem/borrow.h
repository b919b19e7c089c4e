/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_BORROW_H__
#define __TESSERA_BORROW_H__

#include <linux/types.h>

struct ttm_buffer_object;

/**
 * struct tessera_borrow - what an object has of another device, see mem/borrow.c
 */
struct tessera_borrow {
	/** @maps: mappings by a dynamic attachment, of which the object's may be one; under resv */
	struct list_head maps;
};

int tessera_borrow_map(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);
void tessera_borrow_moved(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);
void tessera_borrow_end(struct ttm_buffer_object *tbo, struct tessera_borrow *borrow);

#endif /* __TESSERA_BORROW_H__ */
