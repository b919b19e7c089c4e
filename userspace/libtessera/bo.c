// SPDX-License-Identifier: MIT
/*
 * Buffer objects: the segments for each usage, creation and CPU access; and the
 * arithmetic of surfaces.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "vm.h"

uint32_t tessera_format_bytes(uint32_t format)
{
	switch (format) {
	case TSR_FORMAT_R8:
		return 1;
	case TSR_FORMAT_RGB565:
		return 2;
	case TSR_FORMAT_XRGB8888:
	case TSR_FORMAT_ARGB8888:
	case TSR_FORMAT_R32:
		return 4;
	default:
		return 0;
	}
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) / align * align;
}

int tessera_view_init(struct tessera_view *view, uint32_t format, uint32_t layout, uint32_t width,
		      uint32_t height, uint64_t *size)
{
	uint32_t bytes = tessera_format_bytes(format);
	bool swizzled = layout != TSR_LAYOUT_LINEAR;

	if (!bytes || layout >= TSR_LAYOUT_COUNT || !width || !height || width > TSR_SURF_MAX_DIM ||
	    height > TSR_SURF_MAX_DIM)
		return -EINVAL;
	*view = (struct tessera_view){
		.format = format,
		.layout = layout,
		.access = TSR_SURF_READ | TSR_SURF_WRITE,
		.pitch = align_up((uint64_t)width * bytes, swizzled ? TSR_TILE_WIDTH_BYTES : 4),
		.width = width,
		.height = height,
	};
	*size = (uint64_t)view->pitch * (swizzled ? align_up(height, TSR_TILE_ROWS) : height);
	return 0;
}

void tessera_view_init_buffer(struct tessera_view *view)
{
	*view = (struct tessera_view){
		.format = TSR_FORMAT_R32,
		.layout = TSR_LAYOUT_LINEAR,
		.access = TSR_SURF_READ,
	};
}

/* Check whether the device accepts this view of an object of @bo_size bytes. */
int tessera_view_check(const struct tessera_view *view, uint64_t bo_size)
{
	uint32_t bytes = tessera_format_bytes(view->format);
	uint64_t limit, need;

	if (!bytes || view->layout >= TSR_LAYOUT_COUNT || !view->access ||
	    (view->access & ~(TSR_SURF_READ | TSR_SURF_WRITE)) || view->offset % TSR_PKT_ALIGN ||
	    view->offset >= bo_size ||
	    tessera_reserved_check(view->reserved, ARRAY_SIZE(view->reserved)))
		return -EINVAL;
	limit = bo_size - view->offset;
	if (!view->pitch) {
		/* A buffer: one row of the whole rest of the object. */
		return view->width || view->height || view->layout ? -EINVAL : 0;
	}
	if (!view->width || !view->height || view->width > TSR_SURF_MAX_DIM ||
	    view->height > TSR_SURF_MAX_DIM || view->pitch > TSR_SURF_MAX_PITCH ||
	    view->pitch % bytes || view->pitch < (uint64_t)view->width * bytes)
		return -EINVAL;
	if (view->layout == TSR_LAYOUT_LINEAR) {
		need = (uint64_t)(view->height - 1) * view->pitch + (uint64_t)view->width * bytes;
	} else {
		if (view->pitch % TSR_TILE_WIDTH_BYTES || view->offset % TSR_TILE_BYTES)
			return -EINVAL;
		need = align_up(view->height, TSR_TILE_ROWS) * view->pitch;
	}
	return need > limit ? -EINVAL : 0;
}

/* Add the segments of @set to the supported and preferred ones, in id order. */
static void desc_prefer(struct tessera_bo_desc *desc, uint32_t set)
{
	for (uint32_t id = 1; id < 32; id++) {
		if (!(set >> id & 1) || (desc->supported >> id & 1))
			continue;
		desc->supported |= UINT32_C(1) << id;
		if (desc->num_preferred < DRM_TESSERA_MAX_PREFERRED)
			desc->preferred[desc->num_preferred++] = id;
	}
}

int tessera_bo_desc_init(const struct tessera_device *dev, struct tessera_bo_desc *desc,
			 enum tessera_usage usage, uint64_t size, const struct tessera_view *view)
{
	const uint32_t aperture = DRM_TESSERA_SEGMENT_APERTURE;
	const uint32_t visible = DRM_TESSERA_SEGMENT_CPU_VISIBLE;
	const uint32_t read_only = DRM_TESSERA_SEGMENT_GPU_READ_ONLY;
	const uint32_t cached = DRM_TESSERA_SEGMENT_CPU_CACHED;
	const uint32_t uma = DRM_TESSERA_SEGMENT_UMA;

	*desc = (struct tessera_bo_desc){ .size = size };
	if (!size)
		return -EINVAL;
	switch (usage) {
	case TESSERA_USAGE_TEXTURE:
	case TESSERA_USAGE_RENDER_TARGET:
		desc_prefer(desc, tessera_device_segment_set(dev, 0,
							     aperture | visible | read_only | uma));
		desc_prefer(desc, tessera_device_segment_set(dev, uma, read_only));
		desc_prefer(desc, tessera_device_segment_set(dev, visible, aperture | read_only));
		if (view && view->layout != TSR_LAYOUT_LINEAR) {
			desc->layout = view->layout;
			desc->pitch = view->pitch;
		}
		break;
	case TESSERA_USAGE_STAGING:
		desc->flags = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
		desc_prefer(desc, tessera_device_segment_set(dev, aperture | cached, read_only));
		desc_prefer(desc, tessera_device_segment_set(dev, uma, read_only));
		if (desc->supported)
			break;
		desc->flags = DRM_TESSERA_BO_CPU_ACCESS;
		desc_prefer(desc, tessera_device_segment_set(dev, aperture, read_only));
		if (!desc->supported)
			desc_prefer(desc, tessera_device_segment_set(dev, visible, read_only));
		break;
	case TESSERA_USAGE_VERTEX:
		desc->flags = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_GPU_READ_ONLY;
		desc_prefer(desc, tessera_device_segment_set(dev, aperture | read_only, 0));
		desc_prefer(desc, tessera_device_segment_set(dev, aperture, 0));
		desc_prefer(desc, tessera_device_segment_set(dev, uma, 0));
		if (!desc->supported)
			desc_prefer(desc, tessera_device_segment_set(dev, visible, 0));
		break;
	default:
		return -EINVAL;
	}
	return desc->supported ? 0 : -ENODEV;
}

int tessera_bo_desc_segments(const struct tessera_device *dev, struct tessera_bo_desc *desc,
			     const char *names)
{
	struct tessera_bo_desc new = *desc;

	new.supported = 0;
	new.write_set = 0;
	new.num_preferred = 0;
	memset(new.preferred, 0, sizeof(new.preferred));
	while (*names) {
		const struct drm_tessera_query_segment *seg;
		char name[sizeof(seg->name)];
		size_t len = strcspn(names, ",");

		if (len >= sizeof(name))
			return -ENOENT;
		memcpy(name, names, len);
		name[len] = 0;
		seg = tessera_device_segment(dev, name);
		if (!seg)
			return -ENOENT;
		if (new.num_preferred == DRM_TESSERA_MAX_PREFERRED)
			return -E2BIG;
		desc_prefer(&new, UINT32_C(1) << seg->id);
		names += len + (names[len] == ',');
	}
	*desc = new;
	return 0;
}

void tessera_bo_desc_private(struct tessera_bo_desc *desc, const struct tessera_vm *vm)
{
	if (!vm || (desc->layout != TSR_LAYOUT_LINEAR && desc->flags & DRM_TESSERA_BO_CPU_ACCESS))
		return;
	desc->flags |= DRM_TESSERA_BO_VM_PRIVATE;
	desc->vm = tessera_vm_id(vm);
}

struct tessera_bo *tessera_bo_alloc(struct tessera_device *dev)
{
	struct tessera_bo *bo = tessera_alloc(dev, sizeof(*bo));

	if (!bo)
		return NULL;
	atomic_init(&bo->refs, 1);
	pthread_mutex_init(&bo->map_lock, NULL);
	SLIST_INIT(&bo->mappings);
	bo->dev = tessera_device_ref(dev);
	return bo;
}

void tessera_bo_free(struct tessera_bo *bo)
{
	struct tessera_device *dev;

	if (!bo)
		return;
	dev = bo->dev;
	pthread_mutex_destroy(&bo->map_lock);
	tessera_free(dev, bo);
	tessera_device_del(dev);
}

void tessera_bo_set(struct tessera_bo *bo, const struct drm_tessera_bo_create *create,
		    uint32_t handle)
{
	bo->handle = handle;
	bo->flags = create->flags;
	bo->supported = create->supported;
	bo->size = create->size;
	tessera_bo_enter(bo);
}

int tessera_bo_create_args(const struct tessera_device *dev, const struct tessera_bo_desc *desc,
			   struct drm_tessera_bo_create *create)
{
	uint32_t page = dev->info.page_size;

	if (!desc->size || desc->size > UINT64_MAX - page || desc->pad ||
	    tessera_reserved_check(desc->reserved, ARRAY_SIZE(desc->reserved)))
		return -EINVAL;
	*create = (struct drm_tessera_bo_create){
		.size = align_up(desc->size, page),
		.flags = desc->flags,
		.supported = desc->supported,
		.evict_to = desc->evict_to,
		.num_preferred = desc->num_preferred,
		.layout = desc->layout,
		.pitch = desc->pitch,
		.vm = desc->vm,
		.priority = desc->priority,
		.write_set = desc->write_set,
		.alignment = desc->alignment,
	};
	memcpy(create->preferred, desc->preferred, sizeof(create->preferred));
	return 0;
}

int tessera_bo_new(struct tessera_device *dev, const struct tessera_bo_desc *desc,
		   struct tessera_bo **out)
{
	struct drm_tessera_bo_create create;
	struct tessera_bo *bo;
	int ret = tessera_bo_create_args(dev, desc, &create);

	if (ret)
		return ret;
	bo = tessera_bo_alloc(dev);
	if (!bo)
		return -ENOMEM;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_BO_CREATE, &create);
	if (ret) {
		tessera_bo_free(bo);
		return ret;
	}
	tessera_bo_set(bo, &create, create.handle);
	bo->desc = *desc;
	*out = bo;
	return 0;
}

int tessera_bo_from_user(struct tessera_device *dev, void *memory, uint64_t size, uint32_t flags,
			 struct tessera_bo **out)
{
	struct drm_tessera_bo_from_user args = {
		.address = (uintptr_t)memory,
		.size = size,
		.flags = flags,
	};
	struct drm_tessera_bo_create like = {
		.size = size,
		.flags = flags,
		.supported = tessera_device_segment_set(dev, DRM_TESSERA_SEGMENT_APERTURE, 0),
	};
	struct tessera_bo *bo = tessera_bo_alloc(dev);
	int ret;

	if (!bo)
		return -ENOMEM;
	ret = tessera_ioctl(dev, DRM_IOCTL_TESSERA_BO_FROM_USER, &args);
	if (ret) {
		tessera_bo_free(bo);
		return ret;
	}
	tessera_bo_set(bo, &like, args.handle);
	*out = bo;
	return 0;
}

int tessera_bo_new_for(struct tessera_device *dev, enum tessera_usage usage, uint64_t size,
		       const struct tessera_view *view, struct tessera_bo **out)
{
	struct tessera_bo_desc desc;
	int ret = tessera_bo_desc_init(dev, &desc, usage, size, view);

	return ret ? ret : tessera_bo_new(dev, &desc, out);
}

struct tessera_bo *tessera_bo_ref(struct tessera_bo *bo)
{
	atomic_fetch_add(&bo->refs, 1);
	return bo;
}

static void bo_unmap_all(struct tessera_bo *bo)
{
	struct tessera_device *dev = bo->dev;

	if (bo->map)
		dev->os.munmap(dev->os.cookie, bo->map, bo->size);
	bo->map = NULL;
	bo->map_count = 0;
}

void tessera_bo_del(struct tessera_bo *bo)
{
	struct drm_gem_close close_arg = { 0 };

	if (!bo || !tessera_bo_close_begin(bo))
		return;
	bo_unmap_all(bo);
	tessera_vm_forget_bo(bo);
	close_arg.handle = bo->handle;
	/* This fails only if the device, and with it the handle, is gone. */
	(void)tessera_ioctl(bo->dev, DRM_IOCTL_GEM_CLOSE, &close_arg);
	tessera_bo_close_end(bo->dev);
	tessera_bo_free(bo);
}

int tessera_bo_destroy(struct tessera_bo *bo, uint32_t flags)
{
	struct drm_tessera_bo_destroy destroy = { .handle = bo->handle, .flags = flags };
	int ret;

	if (!tessera_bo_close_begin(bo))
		return 0;
	bo_unmap_all(bo);
	tessera_vm_forget_bo(bo);
	ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_DESTROY, &destroy);
	if (ret) {
		/* The caller had the last reference and keeps it. */
		atomic_store(&bo->refs, 1);
		tessera_bo_enter(bo);
	}
	tessera_bo_close_end(bo->dev);
	if (!ret)
		tessera_bo_free(bo);
	return ret;
}

void tessera_bo_retire(struct tessera_bo *bo)
{
	if (tessera_bo_destroy(bo, 0))
		tessera_bo_del(bo);
}

uint32_t tessera_bo_handle(const struct tessera_bo *bo)
{
	return bo->handle;
}

uint64_t tessera_bo_size(const struct tessera_bo *bo)
{
	return bo->size;
}

static int bo_query(struct tessera_bo *bo, struct drm_tessera_bo_info *info)
{
	*info = (struct drm_tessera_bo_info){ .handle = bo->handle };
	return tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_INFO, info);
}

int tessera_bo_info(struct tessera_bo *bo, struct drm_tessera_bo_info *info, size_t size)
{
	struct drm_tessera_bo_info all;
	int ret = bo_query(bo, &all);

	if (ret)
		return ret;
	memset(info, 0, size);
	memcpy(info, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

static int bo_map_locked(struct tessera_bo *bo, uint64_t offset)
{
	struct tessera_device *dev = bo->dev;
	void *map;

	if (bo->size > SIZE_MAX)
		return -ENOMEM;
	map = dev->os.mmap(dev->os.cookie, bo->size, PROT_READ | PROT_WRITE, dev->fd,
			   (off_t)offset);
	if (map == (void *)-1)
		return -errno;
	bo->map = map;
	return 0;
}

/*
 * Map the object, or count another use of its mapping. @offset: mmap() offset,
 * or 0 to take that of BO_INFO.
 */
static int bo_map_count(struct tessera_bo *bo, uint64_t offset, void **out)
{
	struct drm_tessera_bo_info info;
	int ret = 0;

	pthread_mutex_lock(&bo->map_lock);
	if (!bo->map && !offset) {
		ret = bo_query(bo, &info);
		offset = info.mmap_offset;
	}
	if (!bo->map && !ret)
		ret = bo_map_locked(bo, offset);
	if (!ret) {
		bo->map_count++;
		*out = bo->map;
	}
	pthread_mutex_unlock(&bo->map_lock);
	return ret;
}

int tessera_bo_map(struct tessera_bo *bo, void **out)
{
	if (!(bo->flags & DRM_TESSERA_BO_CPU_ACCESS))
		return -EPERM;
	return bo_map_count(bo, 0, out);
}

int tessera_bo_unmap(struct tessera_bo *bo)
{
	struct tessera_device *dev = bo->dev;
	int ret = 0;

	pthread_mutex_lock(&bo->map_lock);
	if (!bo->map_count) {
		ret = -EINVAL;
	} else if (!--bo->map_count) {
		dev->os.munmap(dev->os.cookie, bo->map, bo->size);
		bo->map = NULL;
	}
	pthread_mutex_unlock(&bo->map_lock);
	return ret;
}

int tessera_bo_wait(struct tessera_bo *bo, int for_write, int64_t deadline_ns)
{
	struct drm_tessera_bo_wait wait = {
		.handle = bo->handle,
		.flags = for_write ? DRM_TESSERA_BO_WAIT_WRITE : 0,
		.timeout_ns = deadline_ns,
	};

	return tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_WAIT, &wait);
}

#define MAP_ACCESS (TESSERA_MAP_READ | TESSERA_MAP_WRITE)
#define MAP_DISCARD (TESSERA_MAP_DISCARD_RANGE | TESSERA_MAP_DISCARD_WHOLE)
#define MAP_ALL                                                                                    \
	(MAP_ACCESS | MAP_DISCARD | TESSERA_MAP_UNSYNCHRONIZED | TESSERA_MAP_DONTBLOCK |           \
	 TESSERA_MAP_PERSISTENT | TESSERA_MAP_COHERENT | TESSERA_MAP_DO_NOT_EVICT |                \
	 TESSERA_MAP_REUSE)

int tessera_map_flags_check(const struct tessera_device *dev, uint32_t flags)
{
	bool sync = !(flags & TESSERA_MAP_UNSYNCHRONIZED);

	if ((flags & ~(uint32_t)MAP_ALL) || (!(flags & MAP_ACCESS) && sync))
		return -EINVAL;
	if ((flags & MAP_DISCARD) && (flags & MAP_ACCESS) != TESSERA_MAP_WRITE)
		return -EINVAL;
	if ((flags & (TESSERA_MAP_DISCARD_WHOLE | TESSERA_MAP_DO_NOT_EVICT)) && !sync)
		return -EINVAL;
	if ((flags & TESSERA_MAP_REUSE) && !(flags & TESSERA_MAP_DISCARD_WHOLE))
		return -EINVAL;
	if ((flags & TESSERA_MAP_COHERENT) && !(dev->info.caps & DRM_TESSERA_CAP_IO_COHERENT))
		return -EOPNOTSUPP;
	return 0;
}

static uint32_t lock_flags(uint32_t flags)
{
	/* Show linear bytes for every layout. */
	uint32_t lock = DRM_TESSERA_LOCK_ACQUIRE_RANGE;

	if ((flags & MAP_ACCESS) == TESSERA_MAP_READ)
		lock |= DRM_TESSERA_LOCK_READ_ONLY;
	if ((flags & MAP_ACCESS) == TESSERA_MAP_WRITE)
		lock |= DRM_TESSERA_LOCK_WRITE_ONLY;
	if (flags & TESSERA_MAP_UNSYNCHRONIZED)
		lock |= DRM_TESSERA_LOCK_IGNORE_SYNC;
	if (flags & TESSERA_MAP_DONTBLOCK)
		lock |= DRM_TESSERA_LOCK_DONT_WAIT;
	if (flags & TESSERA_MAP_DISCARD_WHOLE)
		lock |= DRM_TESSERA_LOCK_DISCARD;
	if (flags & TESSERA_MAP_DO_NOT_EVICT)
		lock |= DRM_TESSERA_LOCK_DO_NOT_EVICT;
	if (flags & TESSERA_MAP_REUSE)
		lock |= DRM_TESSERA_LOCK_REUSE;
	return lock;
}

/* With DISCARD_WHOLE @handle may be that of a renamed instance. */
static int bo_lock_ioctl(struct tessera_bo *bo, uint32_t flags, uint32_t *handle)
{
	struct drm_tessera_lock lock = { .handle = bo->handle, .flags = lock_flags(flags) };
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_LOCK, &lock);

	/*
	 * The flags were checked before, so -EINVAL means that this object
	 * cannot be renamed (for example, it was exported). Wait for its jobs
	 * instead.
	 */
	if (ret == -EINVAL && (flags & TESSERA_MAP_DISCARD_WHOLE)) {
		lock.flags &= ~(uint32_t)(DRM_TESSERA_LOCK_DISCARD | DRM_TESSERA_LOCK_REUSE);
		ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_LOCK, &lock);
	}
	*handle = lock.handle;
	return ret;
}

static int bo_unlock_ioctl(struct tessera_bo *bo)
{
	struct drm_tessera_unlock unlock = { .handle = bo->handle };

	return tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_UNLOCK, &unlock);
}

/* Map an object that has been locked with @flags. */
static int bo_lock_map(struct tessera_bo *bo, uint32_t flags, void **out)
{
	int ret = tessera_bo_map(bo, out);

	/*
	 * For PERSISTENT the lock only synchronises: a held lock could make
	 * submissions fail with -EBUSY.
	 */
	if (ret || (flags & TESSERA_MAP_PERSISTENT))
		(void)bo_unlock_ioctl(bo);
	return ret;
}

/*
 * Lock @old or the instance that the kernel returns, and take a reference to the
 * object that is locked. @new becomes that object if no other has its handle.
 */
static int bo_lock_instance(struct tessera_bo *old, uint32_t flags, struct tessera_bo *new,
			    struct tessera_bo **out)
{
	struct tessera_bo *known = NULL;
	uint32_t handle;
	int ret;

	if (flags & TESSERA_MAP_REUSE)
		tessera_table_freeze(old->dev);
	ret = bo_lock_ioctl(old, flags, &handle);
	if (!ret && (handle == old->handle || flags & TESSERA_MAP_REUSE))
		known = tessera_bo_find(old->dev, handle);
	if (flags & TESSERA_MAP_REUSE)
		tessera_table_thaw(old->dev);
	*out = known;
	if (ret || known) {
		tessera_bo_free(new);
		return ret;
	}
	new->handle = handle;
	new->flags = old->flags;
	new->supported = old->supported;
	new->size = old->size;
	tessera_bo_enter(new);
	*out = new;
	return 0;
}

/* Lock *@bo, or replace it by the instance that the kernel returns. */
static int bo_lock_discard(struct tessera_bo **bo, uint32_t flags, void **out)
{
	struct tessera_bo *old = *bo, *new = tessera_bo_alloc(old->dev);
	int ret;

	if (!new)
		return -ENOMEM;
	ret = bo_lock_instance(old, flags, new, &new);
	if (ret)
		return ret;
	ret = bo_lock_map(new, flags, out);
	if (ret) {
		tessera_bo_del(new);
		return ret;
	}
	*bo = new;
	tessera_bo_del(old);
	return 0;
}

int tessera_bo_lock(struct tessera_bo **bo, uint32_t flags, void **out)
{
	int ret = tessera_map_flags_check((*bo)->dev, flags);
	uint32_t handle;

	if (ret)
		return ret;
	if (!((*bo)->flags & DRM_TESSERA_BO_CPU_ACCESS))
		return -EPERM;
	if (flags & TESSERA_MAP_DISCARD_WHOLE)
		return bo_lock_discard(bo, flags, out);
	ret = bo_lock_ioctl(*bo, flags, &handle);
	return ret ? ret : bo_lock_map(*bo, flags, out);
}

int tessera_bo_unlock(struct tessera_bo *bo, uint32_t flags)
{
	int ret = flags & TESSERA_MAP_PERSISTENT ? 0 : bo_unlock_ioctl(bo);

	return ret ? ret : tessera_bo_unmap(bo);
}

int tessera_bo_lock2(struct tessera_bo *bo, void **out)
{
	struct drm_tessera_unlock2 unlock = { .handle = bo->handle };
	struct drm_tessera_lock2 lock = { .handle = bo->handle };
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_LOCK2, &lock);

	if (ret)
		return ret;
	ret = bo_map_count(bo, lock.mmap_offset, out);
	if (ret)
		(void)tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_UNLOCK2, &unlock);
	return ret;
}

int tessera_bo_unlock2(struct tessera_bo *bo)
{
	struct drm_tessera_unlock2 unlock = { .handle = bo->handle };
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_UNLOCK2, &unlock);

	return ret ? ret : tessera_bo_unmap(bo);
}

int tessera_bo_invalidate_cache(struct tessera_bo *bo, uint64_t offset, uint64_t size)
{
	struct drm_tessera_invalidate_cache args = {
		.handle = bo->handle,
		.offset = offset,
		.size = size,
	};

	return tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_INVALIDATE_CACHE, &args);
}

/*
 * On a device that does not snoop, the kernel maintains CPU caches for jobs
 * that list the object. It cannot do so for jobs at virtual addresses.
 */
static int bo_care_for_caches(struct tessera_bo *bo, uint64_t offset, uint64_t size)
{
	if ((bo->dev->info.caps & DRM_TESSERA_CAP_IO_COHERENT) ||
	    !(bo->flags & DRM_TESSERA_BO_CPU_CACHED) || !size || !tessera_vm_knows_bo(bo))
		return 0;
	return tessera_bo_invalidate_cache(bo, offset, size);
}

static int bo_access(struct tessera_bo *bo, uint64_t offset, size_t size, int for_write, void **out)
{
	void *map;
	int ret;

	if (offset > bo->size || size > bo->size - offset)
		return -EINVAL;
	ret = tessera_bo_map(bo, &map);
	if (ret)
		return ret;
	ret = tessera_bo_wait(bo, for_write, TESSERA_FOREVER);
	if (!ret)
		ret = bo_care_for_caches(bo, offset, size);
	if (ret) {
		tessera_bo_unmap(bo);
		return ret;
	}
	*out = (uint8_t *)map + offset;
	return 0;
}

int tessera_bo_write(struct tessera_bo *bo, uint64_t offset, const void *data, size_t size)
{
	void *p;
	int ret = bo_access(bo, offset, size, 1, &p);

	if (ret)
		return ret;
	memcpy(p, data, size);
	ret = bo_care_for_caches(bo, offset, size);
	(void)tessera_bo_unmap(bo);
	return ret;
}

int tessera_bo_read(struct tessera_bo *bo, uint64_t offset, void *data, size_t size)
{
	void *p;
	int ret = bo_access(bo, offset, size, 0, &p);

	if (ret)
		return ret;
	memcpy(data, p, size);
	return tessera_bo_unmap(bo);
}

int tessera_bo_set_label(struct tessera_bo *bo, const char *label)
{
	struct drm_tessera_bo_label args = { .handle = bo->handle };
	size_t length = strlen(label);

	if (length >= sizeof(args.label))
		return -EINVAL;
	memcpy(args.label, label, length);
	return tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_LABEL, &args);
}

int tessera_bo_set_priority(struct tessera_bo *bo, int32_t priority)
{
	struct drm_tessera_bo_priority args = { .handle = bo->handle, .priority = priority };
	int ret = tessera_ioctl(bo->dev, DRM_IOCTL_TESSERA_BO_PRIORITY, &args);

	/* A cache gives the object to users that want this priority. */
	if (!ret)
		bo->desc.priority = priority;
	return ret;
}
