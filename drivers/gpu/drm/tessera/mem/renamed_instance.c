// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: renamed instances
 *
 * Instances are objects that replace each other (WDDM: renaming). A CPU that
 * discards the contents of an object need not wait for the jobs that use the
 * object. The client gets another object of the same kind, the next instance.
 * All instances belong to one renamed set. Once a submission has listed a newer
 * instance, older ones must not be listed any more (LOCK-26), because that
 * would bring back discarded contents.
 *
 * A set has a limited number of instances. A client may keep the handles of old
 * instances and ask for one that no job uses any more. It gets that instance
 * under its handle and with a new number (LOCK-29). The contents of instances
 * that such a client can get are undefined. An eviction therefore drops them as
 * if they were offered, and the client need not offer them (RES-12).
 *
 * One mutex per device protects all numbers, and the renamed set of each
 * object. Only calls that concern replaced objects take it. It is a leaf.
 */

#include <linux/dma-resv.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "base/device.h"
#include "mem/mem.h"

/* Instances of a set at a time, those that only jobs use included. */
#define MAX_INSTANCES	64

struct tessera_renamed_set {
	/* Instances, in the order of their numbers. */
	struct list_head instances;
	u32 num;
	/*
	 * The highest number given, the highest number that a submission used,
	 * and the highest number seen so far in the list being checked.
	 */
	u32 newest;
	u32 used;
	u32 listed;
	/* A client has asked for an idle instance. */
	bool reuses;
};

static void set_add_locked(struct tessera_renamed_set *set,
			   struct tessera_renamed_instance *instance)
{
	WRITE_ONCE(instance->set, set);
	list_add_tail(&instance->node, &set->instances);
	set->num++;
}

/* @spare: for an object that was never replaced */
static int replace_locked(struct tessera_renamed_instance *old,
			  struct tessera_renamed_instance *new,
			  struct tessera_renamed_set *spare)
{
	if (!old->set) {
		INIT_LIST_HEAD(&spare->instances);
		set_add_locked(spare, old);
	}
	if (old->number < old->set->used || old->set->newest == U32_MAX)
		return -EINVAL;
	if (old->set->num == MAX_INSTANCES)
		return -EBUSY;
	new->number = ++old->set->newest;
	set_add_locked(old->set, new);

	return 0;
}

/**
 * tessera_renamed_replace() - make an object the next instance of another one
 * @tdev: the device
 * @old: instance of the replaced object
 * @new: instance of the new object, which is not published yet
 *
 * Return: 0; -EINVAL if a newer instance than @old was used, or all numbers are
 * used up; -EBUSY if the set has as many instances as it may have; or -ENOMEM.
 */
int tessera_renamed_replace(struct tessera_device *tdev, struct tessera_renamed_instance *old,
			    struct tessera_renamed_instance *new)
{
	struct tessera_renamed_set *spare = NULL;
	int ret;

	if (!READ_ONCE(old->set)) {
		spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
		if (!spare)
			return -ENOMEM;
	}
	tessera_renamed_lock(tdev);
	ret = replace_locked(old, new, spare);
	if (old->set == spare)
		spare = NULL;
	tessera_renamed_unlock(tdev);
	kfree(spare);

	return ret;
}

/**
 * tessera_renamed_name() - record under which handle a discard may return an
 * object
 * @tdev: the device
 * @instance: instance of the object, in a renamed set
 * @file: the open file
 * @handle: its handle of the object
 */
void tessera_renamed_name(struct tessera_device *tdev, struct tessera_renamed_instance *instance,
			  struct drm_file *file, u32 handle)
{
	tessera_renamed_lock(tdev);
	instance->file = file;
	instance->handle = handle;
	tessera_renamed_unlock(tdev);
}

/* Nothing depends on the bytes of the object, except its client. */
static bool is_idle(struct tessera_bo *bo)
{
	return !READ_ONCE(bo->locks.held) && !tessera_bo_is_shared(bo) &&
	       !tessera_bo_is_offered(bo) && !atomic_read(&bo->lost) &&
	       !tessera_bo_is_immovable(bo) && !tessera_bo_is_in_vm(bo) &&
	       dma_resv_test_signaled(bo->tbo.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}

static struct tessera_bo *reuse_locked(struct tessera_renamed_set *set, struct drm_file *file)
{
	struct tessera_renamed_instance *instance;

	list_for_each_entry(instance, &set->instances, node) {
		struct tessera_bo *bo = container_of(instance, struct tessera_bo, instance);

		if (instance->file != file || !is_idle(bo) ||
		    !kref_get_unless_zero(&bo->tbo.base.refcount))
			continue;
		instance->file = NULL;
		instance->number = ++set->newest;
		list_move_tail(&instance->node, &set->instances);

		return bo;
	}

	return NULL;
}

/**
 * tessera_renamed_reuse() - make an idle instance the newest
 * @tdev: the device
 * @old: instance of the object that is replaced
 * @file: the open file that has a handle of the idle one
 * @handle: receives the handle, which may have been closed
 *
 * The client synchronises its own threads: a job that another thread submits
 * meanwhile may use the instance.
 *
 * Return: the object with a reference, or NULL if there is none.
 */
struct tessera_bo *tessera_renamed_reuse(struct tessera_device *tdev,
					 struct tessera_renamed_instance *old,
					 struct drm_file *file, u32 *handle)
{
	struct tessera_renamed_set *set;
	struct tessera_bo *bo = NULL;

	tessera_renamed_lock(tdev);
	set = old->set;
	if (set)
		set->reuses = true;
	if (set && old->number >= set->used && set->newest < U32_MAX)
		bo = reuse_locked(set, file);
	if (bo)
		*handle = bo->instance.handle;
	tessera_renamed_unlock(tdev);

	return bo;
}

/**
 * tessera_renamed_is_spare() - check whether the contents of an object are
 * undefined, because a discard may return it
 * @bo: the object, reservation held
 *
 * No later submission lists it before that. Earlier ones have returned, or
 * would have been refused.
 *
 * Return: true if the contents may be dropped behind its jobs.
 */
bool tessera_renamed_is_spare(struct tessera_bo *bo)
{
	struct tessera_device *tdev = tessera_bo_device(bo);
	struct tessera_renamed_instance *instance = &bo->instance;
	bool spare;

	if (!READ_ONCE(instance->set) || READ_ONCE(bo->locks.held) ||
	    READ_ONCE(bo->sharing.exported) || tessera_bo_is_in_vm(bo))
		return false;
	tessera_renamed_lock(tdev);
	spare = instance->set->reuses && instance->file && instance->number < instance->set->used;
	tessera_renamed_unlock(tdev);

	return spare;
}

/**
 * tessera_renamed_is_old() - check whether an object must not be used any more
 * @tdev: the device
 * @instance: instance of the object
 *
 * Return: true if a newer instance was used.
 */
bool tessera_renamed_is_old(struct tessera_device *tdev, struct tessera_renamed_instance *instance)
{
	bool old;

	if (!READ_ONCE(instance->set))
		return false;
	tessera_renamed_lock(tdev);
	old = instance->number < instance->set->used;
	tessera_renamed_unlock(tdev);

	return old;
}

/**
 * tessera_renamed_put() - take an object out of its renamed set
 * @tdev: the device
 * @instance: instance of the object, which is being destroyed
 */
void tessera_renamed_put(struct tessera_device *tdev, struct tessera_renamed_instance *instance)
{
	struct tessera_renamed_set *set = instance->set;

	if (!set)
		return;
	tessera_renamed_lock(tdev);
	list_del(&instance->node);
	if (--set->num)
		set = NULL;
	tessera_renamed_unlock(tdev);
	kfree(set);
}

/**
 * tessera_renamed_lock() - lock the instance numbers
 * @tdev: the device
 */
void tessera_renamed_lock(struct tessera_device *tdev)
{
	mutex_lock(&tdev->renamed_instance_lock);
}

/**
 * tessera_renamed_unlock() - unlock the instance numbers
 * @tdev: the device
 */
void tessera_renamed_unlock(struct tessera_device *tdev)
{
	mutex_unlock(&tdev->renamed_instance_lock);
}

/**
 * tessera_renamed_look_locked() - prepare the check of a list that names an
 * object
 * @instance: instance of the object
 */
void tessera_renamed_look_locked(struct tessera_renamed_instance *instance)
{
	if (instance->set)
		instance->set->listed = instance->set->used;
}

/**
 * tessera_renamed_list_locked() - check the next element of a list
 * @instance: instance of its object; the caller has called
 * tessera_renamed_look_locked() for all elements of the list
 *
 * Return: false if a newer instance was used, or precedes this one in the list.
 */
bool tessera_renamed_list_locked(struct tessera_renamed_instance *instance)
{
	struct tessera_renamed_set *set = instance->set;

	if (!set)
		return true;
	if (instance->number < set->listed)
		return false;
	set->listed = instance->number;

	return true;
}

/**
 * tessera_renamed_use_locked() - record that a submission lists an object
 * @instance: instance of the object
 */
void tessera_renamed_use_locked(struct tessera_renamed_instance *instance)
{
	if (instance->set)
		instance->set->used = max(instance->set->used, instance->number);
}
