// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: object registry
 *
 * All buffer objects of a device by id, for debugfs and for unplug. A number is reserved before the
 * object exists, and the object is published when it is complete, so a walk never meets half of one.
 * The mutex is a leaf.
 */

#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include <drm/drm_gem.h>
#include <drm/drm_managed.h>

#include "mem/mem.h"
#include "tessera_device.h"
#include "tessera_wait.h"

struct tessera_registry {
	/* Held to remove an object, so that a walk can look at those it meets. */
	struct mutex lock;
	struct xarray objects;
	/* For an object to be removed. */
	wait_queue_head_t removed;
	u32 next_id;
};

static void registry_fini(struct drm_device *drm, void *data)
{
	struct tessera_registry *registry = data;

	xa_destroy(&registry->objects);
	mutex_destroy(&registry->lock);
}

/**
 * tessera_registry_init() - set up the registry
 * @tdev: the device
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_registry_init(struct tessera_device *tdev)
{
	struct tessera_registry *registry;

	registry = drmm_kzalloc(&tdev->drm, sizeof(*registry), GFP_KERNEL);
	if (!registry)
		return -ENOMEM;

	mutex_init(&registry->lock);
	init_waitqueue_head(&registry->removed);
	xa_init_flags(&registry->objects, XA_FLAGS_ALLOC1);
	tdev->registry = registry;

	return drmm_add_action_or_reset(&tdev->drm, registry_fini, registry);
}

/**
 * tessera_registry_reserve() - take a number for an object to be made
 * @tdev: the device
 * @id: receives it; never 0
 *
 * Return: 0 or -ENOMEM.
 */
int tessera_registry_reserve(struct tessera_device *tdev, u32 *id)
{
	struct tessera_registry *registry = tdev->registry;
	int ret;

	ret = xa_alloc_cyclic(&registry->objects, id, NULL, xa_limit_32b, &registry->next_id,
			      GFP_KERNEL_ACCOUNT);

	return ret < 0 ? ret : 0;
}

/**
 * tessera_registry_publish() - an object is complete
 * @tdev: the device
 * @id: its number, from tessera_registry_reserve()
 * @gem: the object
 */
void tessera_registry_publish(struct tessera_device *tdev, u32 id,
			      struct drm_gem_object *gem)
{
	/* Into a reserved place: allocates nothing. */
	xa_store(&tdev->registry->objects, id, gem, GFP_NOWAIT);
}

/**
 * tessera_registry_remove() - an object goes, or was not made after all
 * @tdev: the device
 * @id: its number
 */
void tessera_registry_remove(struct tessera_device *tdev, u32 id)
{
	struct tessera_registry *registry = tdev->registry;

	mutex_lock(&registry->lock);
	xa_erase(&registry->objects, id);
	mutex_unlock(&registry->lock);
	if (wq_has_sleeper(&registry->removed))
		wake_up_all(&registry->removed);
}

/**
 * tessera_registry_wait_removed() - wait until an object has gone, with all that it has
 * @tdev: the device
 * @id: its number; nobody has a reference to it any more
 *
 * A fatal signal ends the wait, too, and a suspend does not wait for it. Numbers do not come again so soon
 * that it mattered.
 */
void tessera_registry_wait_removed(struct tessera_device *tdev, u32 id)
{
	struct tessera_registry *registry = tdev->registry;

	tessera_wait_event(TESSERA_WAIT_DESTROY, registry->removed,
			   !xa_load(&registry->objects, id),
			   (TASK_KILLABLE | TASK_FREEZABLE_UNSAFE));
}

/**
 * tessera_registry_next() - walk all objects
 * @tdev: the device
 * @id: id of the object before, 0 to begin
 *
 * Objects being destroyed are left out.
 *
 * Return: the object with the next id, with a reference, or NULL.
 */
struct drm_gem_object *tessera_registry_next(struct tessera_device *tdev, u32 id)
{
	struct tessera_registry *registry = tdev->registry;
	unsigned long index = id;
	struct drm_gem_object *gem;

	cond_resched();
	mutex_lock(&registry->lock);
	do {
		gem = xa_find_after(&registry->objects, &index, ULONG_MAX, XA_PRESENT);
	} while (gem && !kref_get_unless_zero(&gem->refcount));
	mutex_unlock(&registry->lock);

	return gem;
}

/**
 * tessera_registry_next_dying() - walk all objects whose last reference is gone
 * @tdev: the device
 * @id: id of the object before, 0 to begin; receives that of the next one
 * @get: called with the registry locked, while the memory of the object is still there; takes
 *	a reference of another kind, or returns false
 * @gem: receives the object, or NULL if @get returned false
 *
 * Return: false if there are no more.
 */
bool tessera_registry_next_dying(struct tessera_device *tdev, u32 *id,
				 bool (*get)(struct drm_gem_object *gem),
				 struct drm_gem_object **gem)
{
	struct tessera_registry *registry = tdev->registry;
	unsigned long index = *id;
	bool found;

	mutex_lock(&registry->lock);
	do {
		*gem = xa_find_after(&registry->objects, &index, ULONG_MAX, XA_PRESENT);
	} while (*gem && kref_read(&(*gem)->refcount));
	found = *gem;
	*id = index;
	if (found && !get(*gem))
		*gem = NULL;
	mutex_unlock(&registry->lock);

	return found;
}
