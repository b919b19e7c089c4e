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
 * One mutex per device protects all numbers, and the renamed set of each
 * object. Only calls that concern replaced objects take it. It is a leaf.
 */

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "mem/mem.h"
#include "tessera_device.h"

struct tessera_renamed_set {
	struct kref ref;
	/*
	 * The highest number given, the highest number that a submission used,
	 * and the highest number seen so far in the list being checked.
	 */
	u32 newest;
	u32 used;
	u32 listed;
};

static void renamed_set_free(struct kref *ref)
{
	kfree(container_of(ref, struct tessera_renamed_set, ref));
}

static struct tessera_renamed_set *renamed_set_create(void)
{
	struct tessera_renamed_set *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (set)
		kref_init(&set->ref);

	return set;
}

static int replace_locked(struct tessera_renamed_instance *old,
			  struct tessera_renamed_instance *new)
{
	struct tessera_renamed_set *set = old->set;

	if (!set) {
		set = renamed_set_create();
		if (!set)
			return -ENOMEM;
		WRITE_ONCE(old->set, set);
	}
	if (old->number < set->used || set->newest == U32_MAX)
		return -EINVAL;
	kref_get(&set->ref);
	new->number = ++set->newest;
	WRITE_ONCE(new->set, set);

	return 0;
}

/**
 * tessera_renamed_replace() - make an object the next instance of another one
 * @tdev: the device
 * @old: instance of the replaced object
 * @new: instance of the new object, which is not published yet
 *
 * Return: 0; -EINVAL if a newer instance than @old was used, or all numbers are
 * used up; or -ENOMEM.
 */
int tessera_renamed_replace(struct tessera_device *tdev, struct tessera_renamed_instance *old,
			    struct tessera_renamed_instance *new)
{
	int ret;

	tessera_renamed_lock(tdev);
	ret = replace_locked(old, new);
	tessera_renamed_unlock(tdev);

	return ret;
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
 * tessera_renamed_put() - drop the reference of an object to its renamed set
 * @instance: instance of the object, which is being destroyed
 */
void tessera_renamed_put(struct tessera_renamed_instance *instance)
{
	if (instance->set)
		kref_put(&instance->set->ref, renamed_set_free);
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
