// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: locks
 *
 * Record which open files have locked an object for CPU access. The object has
 * an entry per file with a count for each kind of lock. The entry exists from
 * the file's first lock until the file closes its handle, which ends all its
 * locks. No lock outlives its process.
 *
 * A lock of a swizzled object is for its linear bytes or for the raw ones. The
 * object's mappings show the same bytes to all clients. Therefore all locks of
 * an object at a time are for the same bytes, and the mappings are removed when
 * that changes. An object without CPU access of its own is visible in its
 * mappings only while it is locked.
 *
 * A client that locks an object which is in no segment and supports VRAM only
 * excludes it from there for its own submissions until it unlocks it (LOCK-22).
 * A framebuffer that the client has made of the object is not scanned out
 * either. A lock binds its own file only. Other clients may move the object,
 * and the next CPU access follows it or brings it back.
 */

#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/tessera_drm.h>

#include "base/device.h"
#include "cpu/cpu.h"
#include "mem/mem.h"
#include "segments/segments.h"

/* Entries of an object. Submissions of all clients that share it search them. */
#define MAX_FILES	1024

/* Locks of one object by one open file. */
struct lock_file {
	struct list_head node;
	/* Only compared, never dereferenced. */
	struct drm_file *file;
	u64 counts[TESSERA_LOCK_KINDS];
	/*
	 * The file locked the object while it was in no segment and supported
	 * VRAM only.
	 */
	bool keeps_out;
};

static bool has_locks(const struct lock_file *entry)
{
	return entry->counts[TESSERA_LOCK_TRACKED] || entry->counts[TESSERA_LOCK_UNTRACKED];
}

static struct lock_file *locks_find(struct tessera_bo *bo, struct drm_file *file)
{
	struct lock_file *entry;

	lockdep_assert_held(&bo->locks.lock);

	list_for_each_entry(entry, &bo->locks.files, node)
		if (entry->file == file)
			return entry;

	return NULL;
}

/* Count a lock of a file that has an entry; false if it has none. */
static bool locks_count(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind)
{
	struct lock_file *entry;

	spin_lock(&bo->locks.lock);
	entry = locks_find(bo, file);
	if (entry) {
		entry->counts[kind]++;
		bo->locks.held++;
		if (kind == TESSERA_LOCK_UNTRACKED)
			bo->locks.untracked++;
	}
	spin_unlock(&bo->locks.lock);

	return entry;
}

/* Find the entry of a file that has ended all its locks. */
static struct lock_file *locks_find_unused(struct tessera_bo *bo)
{
	struct lock_file *entry;

	list_for_each_entry(entry, &bo->locks.files, node)
		if (!has_locks(entry))
			return entry;

	return NULL;
}

/*
 * Add an entry for a file. It exists until the file closes its handle. With too
 * many files, another one may get it once this one has ended its locks.
 */
static int locks_add_file(struct tessera_bo *bo, struct drm_file *file)
{
	struct lock_file *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	struct lock_file *entry;
	int ret = 0;

	if (!new)
		return -ENOMEM;
	new->file = file;
	spin_lock(&bo->locks.lock);
	if (locks_find(bo, file)) {
		/* Another thread has added it. */
	} else if (bo->locks.num_files == MAX_FILES) {
		/* If that file is about to lock, it adds an entry again. */
		entry = locks_find_unused(bo);
		if (entry) {
			entry->file = file;
			entry->keeps_out = false;
		} else {
			ret = -ENOSPC;
		}
	} else {
		list_add_tail(&new->node, &bo->locks.files);
		bo->locks.num_files++;
		new = NULL;
	}
	spin_unlock(&bo->locks.lock);
	kfree(new);

	return ret;
}

static void locks_release_locked(struct tessera_bo *bo, u64 tracked, u64 untracked)
{
	lockdep_assert_held(&bo->locks.lock);

	bo->locks.held -= tracked + untracked;
	bo->locks.untracked -= untracked;
}

/*
 * True if locks change what mappings show; they then need the reservation. The
 * mappings of an import are the exporter's.
 */
static bool locks_change_view(const struct tessera_bo *bo)
{
	if (bo->sharing.dmabuf)
		return false;

	return bo->layout != DRM_TESSERA_LAYOUT_LINEAR || !(bo->flags & DRM_TESSERA_BO_CPU_ACCESS);
}

static void locks_begin(struct tessera_bo *bo)
{
	if (locks_change_view(bo))
		dma_resv_lock(bo->tbo.base.resv, NULL);
}

static void locks_set_raw(struct tessera_bo *bo, bool raw)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	if (bo->locks.raw == raw)
		return;
	WRITE_ONCE(bo->locks.raw, raw);
	ttm_bo_unmap_virtual(&bo->tbo);
	if (!bo->window.num_ranges)
		return;
	/*
	 * A range acts as a write buffer: releasing it writes its contents
	 * back, and the next range reads them from memory. The device takes
	 * long to set up a range, so an object that alternates too often is
	 * evicted.
	 */
	tessera_swizzle_range_release(bo);
	bo->window.losses++;
}

static void locks_end(struct tessera_bo *bo)
{
	if (!locks_change_view(bo))
		return;
	if (!bo->locks.held)
		locks_set_raw(bo, false);
	if (!tessera_bo_has_view(bo))
		ttm_bo_unmap_virtual(&bo->tbo);
	dma_resv_unlock(bo->tbo.base.resv);
}

/**
 * tessera_locks_drop() - end a lock
 * @bo: the object
 * @file: the file that has locked it
 * @kind: kind of the lock
 *
 * Return: false if the file has no such lock.
 */
bool tessera_locks_drop(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind)
{
	bool untracked = kind == TESSERA_LOCK_UNTRACKED;
	struct lock_file *entry;
	bool locked;

	locks_begin(bo);
	spin_lock(&bo->locks.lock);
	entry = locks_find(bo, file);
	locked = entry && entry->counts[kind];
	if (locked) {
		entry->counts[kind]--;
		if (!has_locks(entry))
			entry->keeps_out = false;
		locks_release_locked(bo, !untracked, untracked);
	}
	spin_unlock(&bo->locks.lock);
	locks_end(bo);

	return locked;
}

/**
 * tessera_locks_close() - end all locks of a file
 * @bo: the object
 * @file: the file that closes its handle
 */
void tessera_locks_close(struct tessera_bo *bo, struct drm_file *file)
{
	struct lock_file *entry;

	/*
	 * If another thread is just adding an entry, it looks up the handle
	 * afterwards and removes the entry.
	 */
	if (list_empty(&bo->locks.files))
		return;
	locks_begin(bo);
	spin_lock(&bo->locks.lock);
	entry = locks_find(bo, file);
	if (entry) {
		list_del(&entry->node);
		bo->locks.num_files--;
		locks_release_locked(bo, entry->counts[TESSERA_LOCK_TRACKED],
				     entry->counts[TESSERA_LOCK_UNTRACKED]);
	}
	spin_unlock(&bo->locks.lock);
	locks_end(bo);
	kfree(entry);
}

/**
 * tessera_locks_open() - add an entry for a file before its first lock
 * @bo: the object
 * @file: the file that is going to lock it
 * @handle: the file's handle of the object
 *
 * The handle may have been closed meanwhile, before the entry was added. Look
 * it up again and remove the entry if it is gone. A later close removes the
 * entry itself.
 *
 * Return: 0; -ENOENT; -ENOMEM; or -ENOSPC if too many files have locked it.
 */
int tessera_locks_open(struct tessera_bo *bo, struct drm_file *file, u32 handle)
{
	int ret = locks_add_file(bo, file);
	struct tessera_bo *now;

	if (ret)
		return ret;
	now = tessera_bo_lookup(file, handle);
	if (now != bo) {
		tessera_locks_close(bo, file);
		ret = -ENOENT;
	}
	tessera_bo_put(now);

	return ret;
}

/**
 * tessera_locks_conflict() - ask whether existing locks are for other bytes
 * @bo: the object, reservation held
 * @raw: the new lock is for the bytes as they lie in memory, not in linear
 *	order
 *
 * Return: true if there are locks for the other order.
 */
bool tessera_locks_conflict(struct tessera_bo *bo, bool raw)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	return READ_ONCE(bo->locks.held) && bo->locks.raw != raw;
}

static void locks_keep_out(struct tessera_bo *bo, struct drm_file *file)
{
	struct lock_file *entry;

	if (tessera_bo_segment(bo) || tessera_bo_page_segments(bo, false))
		return;
	spin_lock(&bo->locks.lock);
	entry = locks_find(bo, file);
	/*
	 * Another thread may have closed the handle since, which removes the
	 * entry, or have ended the lock.
	 */
	if (entry && has_locks(entry))
		entry->keeps_out = true;
	spin_unlock(&bo->locks.lock);
}

/**
 * tessera_locks_add() - lock an object
 * @bo: the object, reservation held, with a CPU view; no conflict
 * @file: the file that locks it
 * @kind: kind of the lock
 * @raw: for the bytes as they lie in memory, not in linear order
 *
 * Return: 0; -EINVAL if the object is offered; or -ENXIO if the file has no
 * entry: drop the reservation, call tessera_locks_open() and try again.
 */
int tessera_locks_add(struct tessera_bo *bo, struct drm_file *file, enum tessera_lock_kind kind,
		      bool raw)
{
	dma_resv_assert_held(bo->tbo.base.resv);

	if (tessera_bo_is_offered(bo))
		return -EINVAL;
	if (!locks_count(bo, file, kind))
		return -ENXIO;
	locks_set_raw(bo, raw);
	locks_keep_out(bo, file);

	return 0;
}

/**
 * tessera_locks_exclude_memory() - ask whether a client's own locks exclude an
 * object from memory segments
 * @bo: the object; final only under its reservation
 * @file: the open file
 *
 * Locks of other files do not count (LOCK-30). They may belong to a client that
 * has exported the object to this one, or imported it from this one.
 *
 * Return: true if they do, until the client unlocks it.
 */
bool tessera_locks_exclude_memory(struct tessera_bo *bo, struct drm_file *file)
{
	struct lock_file *entry;
	bool keeps = false;

	if (!READ_ONCE(bo->locks.held))
		return false;
	spin_lock(&bo->locks.lock);
	entry = locks_find(bo, file);
	if (entry)
		keeps = entry->keeps_out || (entry->counts[TESSERA_LOCK_UNTRACKED] &&
					     tessera_bo_shows_pages_only(bo));
	spin_unlock(&bo->locks.lock);

	return keeps;
}

/**
 * tessera_locks_exclude_jobs() - ask whether a client's own locks keep its jobs
 * from using an object
 * @bo: the object; final only under its reservation
 * @file: the open file
 * @write: the job writes it
 *
 * Return: true if the locks exclude it from VRAM and no other segment serves
 * the job.
 */
bool tessera_locks_exclude_jobs(struct tessera_bo *bo, struct drm_file *file, bool write)
{
	return tessera_locks_exclude_memory(bo, file) && !tessera_bo_page_segments(bo, write);
}
