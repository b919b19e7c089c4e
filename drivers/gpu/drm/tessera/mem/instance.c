// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: instances
 *
 * A CPU that gives up what an object holds need not wait for the jobs that use it: it gets
 * another object of the same kind, the next instance, and the two belong to one
 * family (WDDM: renaming). Once a newer instance is listed in a submission, older ones are
 * not to be listed any more (LOCK-26): they would bring back what was given up.
 *
 * A mutex per device, taken only by what concerns replaced objects, protects all numbers, and which
 * family an object belongs to; it is a leaf.
 */

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "mem/mem.h"
#include "tessera_device.h"

struct tessera_family {
	struct kref ref;
	/* Numbers given so far, the newest that was used, and the newest of the list at hand. */
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
 * tessera_instance_replace() - make an object the next instance of another
 * @tdev: the device
 * @old: the other object's
 * @new: that of the object, which nobody else knows yet
 *
 * Return: 0; -EINVAL if @old must not be used any more; or -ENOMEM.
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
 * tessera_instance_is_old() - ask whether an object is not to be used any more
 * @tdev: the device
 * @instance: the object's
 *
 * Return: true if a newer instance was.
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
 * tessera_instance_put() - an object goes
 * @instance: the object's
 */
void tessera_instance_put(struct tessera_instance *instance)
{
	if (instance->family)
		kref_put(&instance->family->ref, family_free);
}

/**
 * tessera_instance_lock() - keep numbers from changing
 * @tdev: the device
 */
void tessera_instance_lock(struct tessera_device *tdev)
{
	mutex_lock(&tdev->instance_lock);
}

/**
 * tessera_instance_unlock() - let them change again
 * @tdev: the device
 */
void tessera_instance_unlock(struct tessera_device *tdev)
{
	mutex_unlock(&tdev->instance_lock);
}

/**
 * tessera_instance_look_locked() - a list will be checked that names an object
 * @instance: the object's
 */
void tessera_instance_look_locked(struct tessera_instance *instance)
{
	if (instance->family)
		instance->family->listed = instance->family->used;
}

/**
 * tessera_instance_list_locked() - check the next element of a list
 * @instance: of its object; tessera_instance_look_locked() was called for all of the list
 *
 * Return: false if a newer instance was used, or stands before it in the list.
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
 * tessera_instance_use_locked() - a submission with the object was accepted
 * @instance: the object's
 */
void tessera_instance_use_locked(struct tessera_instance *instance)
{
	if (instance->family)
		instance->family->used = max(instance->family->used, instance->number);
}
