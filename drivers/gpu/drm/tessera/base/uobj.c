// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: copies from and to user space
 *
 * This file makes all copies from and to user space. Arrays of structs come
 * with the stride that user space was built with. Bytes of an element beyond
 * the kernel's struct must be zero. The ioctls make the copies with no lock
 * held.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/tessera_drm.h>

#include "base/uobj.h"

/**
 * tessera_uobj_check_abort() - yield, and check for a fatal signal
 * @unused: unused context of callbacks
 *
 * Called regularly from loops over lists of user space.
 *
 * Return: 0, or -EINTR for a fatal signal.
 */
int tessera_uobj_check_abort(void *unused)
{
	cond_resched();

	return fatal_signal_pending(current) ? -EINTR : 0;
}

static int copy_elements(void *dst, const struct drm_tessera_array *in, size_t obj_size)
{
	const char __user *src = u64_to_user_ptr(in->array);
	u32 i;
	int ret;

	for (i = 0; i < in->count; i++) {
		ret = copy_struct_from_user(dst + i * obj_size, obj_size,
					    src + (size_t)i * in->stride, in->stride);
		if (ret)
			return ret == -E2BIG ? -EINVAL : ret;
		ret = i % 1024 ? 0 : tessera_uobj_check_abort(NULL);
		if (ret)
			return ret;
	}

	return 0;
}

/**
 * tessera_uobj_get() - copy an array of structs from user space
 * @in: address, stride and count of the array
 * @obj_size: size of the kernel's struct; no older version of the struct is
 * shorter
 * @max_count: most elements allowed
 * @out: receives the copy, NULL if there are no elements; free with kvfree()
 *
 * Return: 0, -E2BIG for too many elements, -EINVAL for a bad stride or non-zero
 * data that the kernel does not know, -EFAULT, -ENOMEM, or -EINTR for a fatal
 * signal.
 */
int tessera_uobj_get(const struct drm_tessera_array *in, size_t obj_size, u32 max_count,
		     void **out)
{
	size_t bytes;
	void *objs;
	int ret;

	*out = NULL;
	if (!in->count)
		return 0;
	if (in->count > max_count)
		return -E2BIG;
	if (in->stride < obj_size || in->stride > PAGE_SIZE)
		return -EINVAL;
	if (check_mul_overflow((size_t)in->count, obj_size, &bytes))
		return -E2BIG;

	objs = kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!objs)
		return -ENOMEM;

	if (in->stride == obj_size)
		ret = tessera_uobj_get_bytes(objs, in->array, bytes);
	else
		ret = copy_elements(objs, in, obj_size);
	if (ret) {
		kvfree(objs);
		return ret;
	}
	*out = objs;

	return 0;
}

/**
 * tessera_uobj_get_bytes() - copy bytes from user space
 * @dst: destination
 * @user: user address
 * @bytes: number of bytes
 *
 * Return: 0, -EFAULT, or -EINTR for a fatal signal.
 */
int tessera_uobj_get_bytes(void *dst, u64 user, size_t bytes)
{
	size_t part;
	int ret = 0;

	for (; bytes && !ret; bytes -= part, user += part, dst += part) {
		part = min_t(size_t, bytes, SZ_1M);
		if (copy_from_user(dst, u64_to_user_ptr(user), part))
			return -EFAULT;
		ret = tessera_uobj_check_abort(NULL);
	}

	return ret;
}

/**
 * tessera_uobj_put_bytes() - copy a few bytes to user space
 * @user: user address
 * @src: source
 * @bytes: number of bytes
 *
 * Return: 0 or -EFAULT.
 */
int tessera_uobj_put_bytes(u64 user, const void *src, size_t bytes)
{
	return copy_to_user(u64_to_user_ptr(user), src, bytes) ? -EFAULT : 0;
}

/**
 * tessera_uobj_put_array() - answer a query with an array of structs
 * @out: the user's array; receives stride and count
 * @obj_size: size of the kernel's struct
 * @count: number of structs
 * @objs: the structs
 *
 * Without a user address only @out is filled in. Otherwise the smaller of both
 * counts is written. Each element has the user's stride, and is filled with
 * zeros behind the kernel's struct.
 *
 * Return: 0, -EINVAL for a bad stride, or -EFAULT.
 */
int tessera_uobj_put_array(struct drm_tessera_array *out, size_t obj_size,
			   u32 count, const void *objs)
{
	char __user *dst = u64_to_user_ptr(out->array);
	size_t known;
	u32 i;

	if (!out->array) {
		out->stride = obj_size;
		out->count = count;
		return 0;
	}
	if (!out->stride || out->stride > PAGE_SIZE)
		return -EINVAL;

	known = min_t(size_t, out->stride, obj_size);
	out->count = min(out->count, count);
	for (i = 0; i < out->count; i++) {
		if (copy_to_user(dst, objs + i * obj_size, known) ||
		    clear_user(dst + known, out->stride - known))
			return -EFAULT;
		dst += out->stride;
	}

	return 0;
}
