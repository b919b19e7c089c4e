// SPDX-License-Identifier: MIT
/* Residency, locks, offers, replacement and checks of objects. */
#include <stdlib.h>
#include <unistd.h>

#include "workload/workload_vm.h"

#define SHARED_IN 6 /* one of this number is shared by both files */
#define TRIES 64

static struct workload *owner(struct wv *wv, const struct wv_object *object)
{
	return &wv->wls[object->owner];
}

static struct tsr_device *device(struct wv *wv, const struct wv_object *object)
{
	return &wv->devs[object->owner];
}

/* ---- objects --------------------------------------------------------- */

/*
 * On a device that does not snoop, the caches have to be maintained after CPU
 * writes and before CPU reads. Elsewhere the call does nothing.
 */
static void maintain(struct wv *wv, const struct wv_object *object)
{
	if (object->wl->cached)
		tsr_invalidate_cache(device(wv, object), &object->wl->bo);
}

static void share(struct wv *wv, struct wv_object *object)
{
	uint32_t other = !object->owner;
	int dmabuf;

	if (object->vm || wv_pick(wv, SHARED_IN))
		return;
	dmabuf = tsr_export(device(wv, object), &object->wl->bo);
	require_ok(__tsr_import(wv->devs[other].fd, dmabuf, &object->handles[other]));
	close(dmabuf);
}

/* The VM that the object was created private to. */
static struct wv_vm *vm_of(struct wv *wv, const struct wv_object *object)
{
	struct wv_vm *vm = wv->vms;

	while (vm->file != object->owner || vm->id != owner(wv, object)->config.vm)
		vm++;
	return vm;
}

/* called after wl_object_new() */
static void object_init(struct wv *wv, struct wv_object *object)
{
	free(object->marks);
	object->vm = object->wl->private ? vm_of(wv, object) : NULL;
	memset(object->handles, 0, sizeof(object->handles));
	memset(object->listed, 0, sizeof(object->listed));
	object->handles[object->owner] = object->wl->bo.handle;
	object->marks = calloc(object->wl->bo.size / WV_PAGE, sizeof(*object->marks));
	object->locks = 0;
	object->offered = false;
	require(object->marks);
	maintain(wv, object);
	if (!object->fixed)
		share(wv, object);
}

void wv_objects_open(struct wv *wv)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WV_FILES; i++)
		wv->num_objects += wv->wls[i].num_objects;
	wv->objects = calloc(wv->num_objects, sizeof(*wv->objects));
	require(wv->objects);
	for (uint32_t file = 0; file < WV_FILES; file++)
		for (uint32_t i = 0; i < wv->wls[file].num_objects; i++) {
			struct wv_object *object = &wv->objects[n++];

			object->wl = &wv->wls[file].objects[i];
			object->owner = file;
			object->fixed = !i && wv->plan->config.shared;
			object_init(wv, object);
		}
}

void wv_objects_close(struct wv *wv)
{
	for (uint32_t i = 0; i < wv->num_objects; i++)
		free(wv->objects[i].marks);
	free(wv->objects);
}

/* ---- residency ------------------------------------------------------- */

void wv_evict(struct wv *wv, struct wv_object *object, uint32_t file)
{
	if (!object->listed[file])
		return;
	require_ok(__tsr_evict(wv->devs[file].fd, &object->handles[file], 1));
	object->listed[file]--;
}

/* A locked object outside of its segments cannot become resident. */
static void unlock_all(struct wv *wv)
{
	for (uint32_t i = 0; i < wv->num_objects; i++)
		while (wv->objects[i].locks)
			wv_unlock(wv, &wv->objects[i]);
}

/* Returns false if no listed object was left that could be removed. */
static bool trim(struct wv *wv, uint32_t file, uint32_t segments, uint64_t bytes)
{
	uint32_t first = wv_pick(wv, wv->num_objects);
	uint64_t done = 0;

	for (uint32_t i = 0; i < wv->num_objects && done < bytes; i++) {
		struct wv_object *object = &wv->objects[(first + i) % wv->num_objects];
		struct drm_tessera_bo_info info;

		if (!object->listed[file])
			continue;
		require_ok(__tsr_bo_info(wv->devs[file].fd, object->handles[file], &info));
		if (!(info.supported & segments))
			continue;
		while (object->listed[file])
			wv_evict(wv, object, file);
		done += info.size;
	}
	return done;
}

static int make_resident(struct wv *wv, const uint32_t *handles, uint32_t count, uint32_t file)
{
	struct drm_tessera_make_resident out;
	int rc = 0;

	for (uint32_t i = 0; i < TRIES; i++) {
		rc = __tsr_make_resident(wv->devs[file].fd, handles, count, 0, &out);
		if (rc == -EBUSY)
			unlock_all(wv);
		else if (rc != -ENOMEM || !trim(wv, file, out.trim_segments, out.bytes_to_trim))
			break;
	}
	require_msg(!rc || rc == -ENOMEM, "seed 0x%llx: make resident: %s",
		    (unsigned long long)wv->plan->config.seed, strerror(-rc));
	return rc;
}

void wv_make_resident(struct wv *wv, struct wv_object *object, uint32_t file)
{
	if (!object->handles[file] || object->offered || object->listed[file] > 2)
		return;
	wv_settle_faults(wv);
	if (!make_resident(wv, &object->handles[file], 1, file))
		object->listed[file]++;
}

void wv_make_space(struct wv *wv, uint32_t file)
{
	(void)make_resident(wv, NULL, 0, file);
}

/* ---- locks, offers --------------------------------------------------- */

void wv_lock(struct wv *wv, struct wv_object *object)
{
	const struct wl_object *wl = object->wl;
	int rc;

	/* LOCK2 would show a swizzled object as it lies in memory */
	if (!wl->cpu || wl->layout != TSR_LAYOUT_LINEAR || object->offered)
		return;
	rc = __tsr_lock2(device(wv, object)->fd, wl->bo.handle, 0, NULL);
	require_msg(!rc || (rc == -EOPNOTSUPP && wl->cached), "LOCK2: %s", strerror(-rc));
	object->locks += !rc;
}

void wv_unlock(struct wv *wv, struct wv_object *object)
{
	if (!object->locks)
		return;
	require_ok(__tsr_unlock2(device(wv, object)->fd, object->wl->bo.handle));
	object->locks--;
}

void wv_offer(struct wv *wv, struct wv_object *object)
{
	uint32_t priority = DRM_TESSERA_OFFER_LOW + wv_pick(wv, 3);
	int rc;

	if (object->offered || object->fixed || object->handles[!object->owner])
		return;
	rc = __tsr_offer(device(wv, object)->fd, &object->wl->bo.handle, 1, priority);
	require_eq(rc, object->locks ? -EBUSY : 0);
	object->offered = !rc;
}

void wv_reclaim(struct wv *wv, struct wv_object *object)
{
	uint32_t result;

	if (!object->offered)
		return;
	wv_settle_faults(wv);
	require_ok(__tsr_reclaim(device(wv, object)->fd, &object->wl->bo.handle, &result, 1));
	object->offered = false;
	if (result == DRM_TESSERA_RECLAIM_KEPT)
		return;
	wv->sum.dropped++;
	memset(object->wl->model, 0, object->wl->bo.size);
	maintain(wv, object);
}

/* ---- replacing an object --------------------------------------------- */

static void destroy(struct wv *wv, const struct wv_object *object)
{
	static const uint32_t flags[] = { 0, DRM_TESSERA_BO_DESTROY_SYNCHRONOUS,
					  DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE,
					  DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE |
						  DRM_TESSERA_BO_DESTROY_SYNCHRONOUS };
	uint32_t other = !object->owner, how = wv_pick(wv, ARRAY_SIZE(flags));

	/*
	 * BO_DESTROY does not wait for jobs of the other file, and
	 * ASSUME_NOT_IN_USE has to be true.
	 */
	if (object->handles[other] || (flags[how] & DRM_TESSERA_BO_DESTROY_ASSUME_NOT_IN_USE))
		wv_settle(wv, object);
	if (object->handles[other])
		require_ok(__tsr_bo_close(wv->devs[other].fd, object->handles[other]));
	require_ok(__tsr_bo_destroy(device(wv, object)->fd, object->wl->bo.handle, flags[how]));
}

void wv_replace(struct wv *wv, struct wv_object *object)
{
	if (object->fixed)
		return;
	wv_forget(wv, object);
	tsr_bo_unmap(&object->wl->bo);
	destroy(wv, object);
	owner(wv, object)->config.vm =
		wv->vms[object->owner + WV_FILES * wv_pick(wv, WV_VMS / WV_FILES)].id;
	wl_renew(owner(wv, object), object->wl);
	object_init(wv, object);
}

/* ---- checking objects ------------------------------------------------ */

void wv_peek(struct wv *wv, struct wv_object *object)
{
	if (!object->wl->bo.map || object->offered)
		return;
	wv_settle(wv, object);
	maintain(wv, object);
	wl_peek_object(owner(wv, object), object->wl);
}

void wv_poke(struct wv *wv, struct wv_object *object)
{
	if (!object->wl->bo.map || object->offered)
		return;
	wv_settle(wv, object);
	maintain(wv, object);
	wl_poke_object(owner(wv, object), object->wl);
	maintain(wv, object);
}

/* Checks an object that no job with an allocation list can name. */
static void check_private(struct wv *wv, struct wv_object *object)
{
	uint32_t pages = (uint32_t)(object->wl->bo.size / WV_PAGE), count, arena;

	wv_make_resident(wv, object, object->owner);
	arena = wv_pick(wv, WV_ARENAS);
	wv_bind_whole(wv, object->vm, arena, object);
	for (uint32_t at = 0; at < pages && object->listed[object->owner]; at += count) {
		struct wv_span span;

		count = pages - at < WV_SPAN_PAGES ? pages - at : WV_SPAN_PAGES;
		wv_span_at(object->vm, arena, at, count, &span);
		wv_check_span(wv, object->vm, &span);
	}
	if (object->wl->bo.map)
		wl_compare(owner(wv, object), object->wl, "CPU", object->wl->bo.map, 0,
			   object->wl->bo.size);
}

void wv_check(struct wv *wv, struct wv_object *object)
{
	if (object->offered)
		return;
	/* a job with lists cannot make a locked object resident */
	while (object->locks)
		wv_unlock(wv, object);
	wv_settle(wv, object);
	maintain(wv, object);
	if (object->vm)
		check_private(wv, object);
	else
		wl_check_object(owner(wv, object), object->wl);
	wv->sum.checks++;
}
