/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_UOBJ_H__
#define __TESSERA_UOBJ_H__

#include <linux/types.h>

struct drm_tessera_array;

int tessera_uobj_get(const struct drm_tessera_array *in, size_t obj_size, u32 max_count,
		     void **out);
int tessera_uobj_get_bytes(void *dst, u64 user, size_t bytes);
int tessera_uobj_put_bytes(u64 user, const void *src, size_t bytes);
int tessera_uobj_check_abort(void *unused);
int tessera_uobj_put_array(struct drm_tessera_array *out, size_t obj_size,
			   u32 count, const void *objs);

/* tessera_uobj_get() for the type that *@out points to. */
#define tessera_uobj_get_array(in, out, max_count) \
	tessera_uobj_get(in, sizeof(**(out)), max_count, (void **)(out))

#endif /* __TESSERA_UOBJ_H__ */
