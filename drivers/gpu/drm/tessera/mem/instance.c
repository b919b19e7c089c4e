// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: instances
 *
 * Instances are objects that replace each other (WDDM: renaming). A CPU that
 * discards the contents of an object need not wait for the jobs that use the
 * object. The client gets another object of the same kind, the next instance.
 * All instances belong to one family. Once a submission has listed a newer
 * instance, older ones must not be listed any more (LOCK-26), because that
 * would bring back discarded contents.
 *
 * One mutex per device protects all numbers, and the family of each object.
 * Only calls that concern replaced objects take it. It is a leaf.
 */

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "mem/mem.h"
#include "tessera_device.h"

struct tessera_family {
	struct kref ref;
	/*
	 * The highest number given, the highest number that a submission used,
	 * and the highest number seen so far in the list being checked.
	 */
	u32 newest;
	u32 used;
	u32 listed;
};

static void family_free(struct kref *ref)
{
	kfree(container_of(ref, struct tessera_family, ref));
}

static struct tessera_family *family_create(void)
{
	struct tessera_family *family = kzalloc(sizeof(*family), GFP_KERNEL_ACCOUNT);

	if (family)
		kref_init(&family->ref);

	return family;
}

static int replace_locked(struct tessera_instance *old, struct tessera_instance *new)
{
	struct tessera_family *family = old->family;

	if (!family) {
		family = family_create();
		if (!family)
			return -ENOMEM;
		WRITE_ONCE(old->family, family);
	}
	if (old->number < family->used || family->newest == U32_MAX)
		return -EINVAL;
	kref_get(&family->ref);
	new->number = ++family->newest;
	WRITE_ONCE(new->family, family);

	return 0;
}

/**
 * tessera_instance_replace() - make an object the next instance of another one
 * @tdev: the device
 * @old: instance of the replaced object
 * @new: instance of the new object, which is not published yet
 *
 * Return: 0; -EINVAL if a newer instance than @old was used, or all numbers are
 * used up; or -ENOMEM.
 */
int tessera_instance_replace(struct tessera_device *tdev, struct tessera_instance *old,
			     struct tessera_instance *new)
{
	int ret;

	tessera_instance_lock(tdev);
	ret = replace_locked(old, new);
	tessera_instance_unlock(tdev);

	return ret;
}

/**
 * tessera_instance_is_old() - check whether an object must not be used any more
 * @tdev: the device
 * @instance: instance of the object
 *
 * Return: true if a newer instance was used.
 */
bool tessera_instance_is_old(struct tessera_device *tdev, struct tessera_instance *instance)
{
	bool old;

	if (!READ_ONCE(instance->family))
		return false;
	tessera_instance_lock(tdev);
	old = instance->number < instance->family->used;
	tessera_instance_unlock(tdev);

	return old;
}

/**
 * tessera_instance_put() - drop the reference of an object to its family
 * @instance: instance of the object, which is being destroyed
 */
void tessera_instance_put(struct tessera_instance *instance)
{
	if (instance->family)
		kref_put(&instance->family->ref, family_free);
}

/**
 * tessera_instance_lock() - lock the instance numbers
 * @tdev: the device
 */
void tessera_instance_lock(struct tessera_device *tdev)
{
	mutex_lock(&tdev->instance_lock);
}

/**
 * tessera_instance_unlock() - unlock the instance numbers
 * @tdev: the device
 */
void tessera_instance_unlock(struct tessera_device *tdev)
{
	mutex_unlock(&tdev->instance_lock);
}

/**
 * tessera_instance_look_locked() - prepare the check of a list that names an
 * object
 * @instance: instance of the object
 */
void tessera_instance_look_locked(struct tessera_instance *instance)
{
	if (instance->family)
		instance->family->listed = instance->family->used;
}

/**
 * tessera_instance_list_locked() - check the next element of a list
 * @instance: instance of its object; the caller has called
 * tessera_instance_look_locked() for all elements of the list
 *
 * Return: false if a newer instance was used, or precedes this one in the list.
 */
bool tessera_instance_list_locked(struct tessera_instance *instance)
{
	struct tessera_family *family = instance->family;

	if (!family)
		return true;
	if (instance->number < family->listed)
		return false;
	family->listed = instance->number;

	return true;
}

/**
 * tessera_instance_use_locked() - record that a submission lists an object
 * @instance: instance of the object
 */
void tessera_instance_use_locked(struct tessera_instance *instance)
{
	if (instance->family)
		instance->family->used = max(instance->family->used, instance->number);
}
