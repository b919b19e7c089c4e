// SPDX-License-Identifier: MIT
/* The mappings in the VMs of the workload, and the bytes behind them. */
#include <stdlib.h>

#include "stall.h"
#include "workload/workload_vm.h"

#define BINDS 6 /* most changes in one list */

#define CMD_BYTES KiB(256)

/*
 * Aligned and unaligned to large pages, across a boundary of the root table,
 * and at the last page.
 */
static const uint64_t arenas[WV_ARENAS] = {
	KiB(64),
	1ull << 32,
	(1ull << 39) - MiB(2) - KiB(20),
	(1ull << 48) - WV_ARENA_PAGES *WV_PAGE,
};

/* ---- VMs ------------------------------------------------------------- */

static void map_own(struct wv *wv, struct wv_vm *vm)
{
	struct tsr_device *dev = &wv->devs[vm->file];

	for (uint32_t i = 0; i < WV_CONTEXTS; i++)
		vm->contexts[i] = tsr_vm_context_new(dev, vm->id);
	tsr_vm_map(dev, vm->id, &vm->cmds, 0, TSR_VM_CMDS, vm->cmds.size, 0);
	tsr_vm_map(dev, vm->id, &vm->staging, 0, WV_STAGING, vm->staging.size, 0);
	memset(vm->pages, 0, sizeof(vm->pages));
}

void wv_vm_open(struct wv *wv, struct wv_vm *vm)
{
	const uint32_t cached = DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED;
	struct tsr_device *dev = &wv->devs[vm->file];
	uint32_t gart = tsr_bit(tsr_seg_gart(dev));
	uint64_t until = tsr_patience();
	uint32_t handles[2];
	int rc;

	/* the CPU writes commands to cached pages, or through BAR 2 */
	vm->cmds_cached = wv_pick(wv, 2);
	if (vm->cmds_cached)
		vm->cmds = tsr_bo_new(dev, CMD_BYTES, gart, cached);
	else
		vm->cmds = tsr_bo_new(dev, CMD_BYTES, tsr_bit(tsr_seg_visible(dev)) | gart,
				      DRM_TESSERA_BO_CPU_ACCESS);
	vm->staging = tsr_bo_new(dev, WV_SPAN_PAGES * WV_PAGE, gart, cached);
	tsr_bo_map(dev, &vm->cmds);
	tsr_bo_map(dev, &vm->staging);
	handles[0] = vm->cmds.handle;
	handles[1] = vm->staging.handle;
	/*
	 * Other clients may use all of the aperture now, but not for long,
	 * because this client is below its share.
	 */
	do {
		rc = __tsr_make_resident(dev->fd, handles, 2, 0, NULL);
		require_msg(tap_now_ns() < until, "no space for a VM's commands");
	} while (rc == -ENOMEM);
	require_ok(rc);
	map_own(wv, vm);
}

static void close_vm(struct wv *wv, struct wv_vm *vm)
{
	struct tsr_device *dev = &wv->devs[vm->file];

	for (uint32_t i = 0; i < WV_CONTEXTS; i++)
		tsr_context_free(dev, vm->contexts[i]);
	tsr_vm_free(dev, vm->id);
}

void wv_vm_close(struct wv *wv, struct wv_vm *vm)
{
	close_vm(wv, vm);
	tsr_bo_free(&wv->devs[vm->file], &vm->cmds);
	tsr_bo_free(&wv->devs[vm->file], &vm->staging);
}

/* Queued jobs still run. */
void wv_vm_renew(struct wv *wv, struct wv_vm *vm)
{
	close_vm(wv, vm);
	vm->id = tsr_vm_new(&wv->devs[vm->file]);
	map_own(wv, vm);
	/* objects private to the old VM cannot be mapped in the new one */
	for (uint32_t i = 0; i < wv->num_objects; i++)
		if (wv->objects[i].vm == vm)
			wv_replace(wv, &wv->objects[i]);
}

void wv_context_renew(struct wv *wv, struct wv_vm *vm, uint32_t n)
{
	tsr_context_free(&wv->devs[vm->file], vm->contexts[n]);
	vm->contexts[n] = tsr_vm_context_new(&wv->devs[vm->file], vm->id);
}

/* ---- changes --------------------------------------------------------- */

/* A range of pages: often all of it, and often from an aligned address. */
static uint32_t pick_range(struct wv *wv, uint32_t most, uint32_t *first)
{
	static const uint32_t units[] = { 1, 16, 512 };
	uint32_t unit = units[wv_pick(wv, 3)];

	*first = wv_pick(wv, WV_ARENA_PAGES) / unit * unit;
	if (most > WV_ARENA_PAGES - *first)
		most = WV_ARENA_PAGES - *first;
	return wv_pick(wv, 2) ? most : 1 + wv_pick(wv, most);
}

static struct wv_object *pick_mapped(struct wv *wv, const struct wv_vm *vm)
{
	for (uint32_t i = 0; i < 16; i++) {
		struct wv_object *object = wv_pick_object(wv);

		if (object->handles[vm->file] && !object->offered &&
		    (!object->vm || object->vm == vm))
			return object;
	}
	return NULL;
}

static void one_change(struct wv *wv, struct wv_vm *vm, struct drm_tessera_vm_bind_op *op)
{
	uint32_t dice = wv_pick(wv, 8), arena = wv_pick(wv, WV_ARENAS), first, count, from = 0;
	struct wv_object *object = dice < 6 ? pick_mapped(wv, vm) : NULL;
	uint32_t most = object ? (uint32_t)(object->wl->bo.size / WV_PAGE) : WV_ARENA_PAGES / 4;

	count = pick_range(wv, most, &first);
	*op = (struct drm_tessera_vm_bind_op){
		.op = dice == 7 ? DRM_TESSERA_VM_BIND_MAP_NULL : DRM_TESSERA_VM_BIND_UNMAP,
		.address = arenas[arena] + first * WV_PAGE,
		.range = count * WV_PAGE,
	};
	if (object) {
		from = wv_pick(wv, most - count + 1);
		op->op = DRM_TESSERA_VM_BIND_MAP;
		op->flags = wv_pick(wv, 5) ? 0 : DRM_TESSERA_VM_BIND_READ_ONLY;
		op->handle = object->handles[vm->file];
		op->offset = from * WV_PAGE;
	}
	for (uint32_t i = 0; i < count; i++)
		vm->pages[arena][first + i] = (struct wv_page){
			.object = object,
			.page = from + i,
			.null = op->op == DRM_TESSERA_VM_BIND_MAP_NULL,
			.read_only = op->flags & DRM_TESSERA_VM_BIND_READ_ONLY,
		};
	/* most mapped objects are made resident, so that jobs can use them */
	if (object && wv_pick(wv, 3))
		wv_make_resident(wv, object, vm->file);
}

void wv_bind(struct wv *wv, struct wv_vm *vm)
{
	struct drm_tessera_vm_bind_op ops[BINDS];
	uint32_t count = 1 + wv_pick(wv, BINDS), done = 0;
	struct tsr_device *dev = &wv->devs[vm->file];

	for (uint32_t i = 0; i < count; i++)
		one_change(wv, vm, &ops[i]);
	wv_settle_faults(wv);
	if (wv_pick(wv, 4) == 0)
		done = tsr_syncobj_new(dev);
	require_ok(__tsr_vm_bind(dev->fd, vm->id, ops, count, 0, done));
	wv->sum.binds++;
	if (!done)
		return;
	require_eq(tsr_syncobj_status(dev, done), 0);
	tsr_syncobj_free(dev, done);
}

void wv_bind_whole(struct wv *wv, struct wv_vm *vm, uint32_t arena, struct wv_object *object)
{
	const struct tsr_bo bo = { .handle = object->handles[vm->file] };
	uint64_t size = object->wl->bo.size;

	wv_settle_faults(wv);
	tsr_vm_map(&wv->devs[vm->file], vm->id, &bo, 0, arenas[arena], size, 0);
	for (uint32_t i = 0; i < size / WV_PAGE; i++)
		vm->pages[arena][i] = (struct wv_page){ .object = object, .page = i };
}

void wv_forget(struct wv *wv, const struct wv_object *object)
{
	for (uint32_t i = 0; i < WV_VMS; i++) {
		struct wv_page *pages = wv->vms[i].pages[0];

		for (uint32_t p = 0; p < WV_ARENAS * WV_ARENA_PAGES; p++)
			if (pages[p].object == object)
				pages[p] = (struct wv_page){ .unsure = true };
	}
}

/* ---- spans ------------------------------------------------------------ */

bool wv_reaches(const struct wv_vm *vm, const struct wv_page *page, bool write)
{
	const struct wv_object *object = page->object;

	if (!object)
		return page->null;
	if (!object->listed[vm->file] || object->offered)
		return false;
	return !write || !(page->read_only || object->wl->read_only);
}

/*
 * Number of leading pages that this operation has not used for writing. Marks
 * them if they are to be written.
 */
static uint32_t mark_pages(struct wv *wv, const struct wv_page *pages, uint32_t count, bool write)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *mark = pages[i].object ? &pages[i].object->marks[pages[i].page] : NULL;

		if (mark && *mark == wv->mark)
			return i;
		if (mark && write)
			*mark = wv->mark;
	}
	return count;
}

void wv_span_at(struct wv_vm *vm, uint32_t arena, uint32_t at, uint32_t count, struct wv_span *span)
{
	*span = (struct wv_span){
		.pages = &vm->pages[arena][at],
		.count = count,
		.address = arenas[arena] + at * WV_PAGE,
		.bytes.bo.size = count * WV_PAGE,
	};
	span->bytes.model = calloc(count, WV_PAGE);
	require(span->bytes.model);
}

bool wv_span_pick(struct wv *wv, struct wv_vm *vm, bool write, struct wv_span *span)
{
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t arena = wv_pick(wv, WV_ARENAS), at = wv_pick(wv, WV_ARENA_PAGES);
		uint32_t most = 1 + wv_pick(wv, wv_pick(wv, 4) ? 24 : WV_SPAN_PAGES), count = 0;
		const struct wv_page *pages = vm->pages[arena];

		while (at < WV_ARENA_PAGES && !wv_reaches(vm, &pages[at], write))
			at++;
		while (count < most && at + count < WV_ARENA_PAGES &&
		       wv_reaches(vm, &pages[at + count], write))
			count++;
		count = mark_pages(wv, pages + at, count, write);
		if (!count)
			continue;
		wv_span_at(vm, arena, at, count, span);
		span->bytes.writes = write;
		return true;
	}
	return false;
}

void wv_span_free(struct wv_span *span)
{
	free(span->bytes.model);
	span->bytes.model = NULL;
}

bool wv_bad_pick(struct wv *wv, struct wv_vm *vm, uint64_t *address)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t arena = wv_pick(wv, WV_ARENAS), at = wv_pick(wv, WV_ARENA_PAGES);

		*address = arenas[arena] + at * WV_PAGE;
		if (!wv_reaches(vm, &vm->pages[arena][at], true) && !vm->pages[arena][at].unsure &&
		    !(vm->pages[arena][at].object && vm->pages[arena][at].object->fixed))
			return true;
	}
	return false;
}

/*
 * Copies one page between the object's model and @bytes. In memory, a swizzled
 * object has its words in another order than the model.
 */
static void move_page(const struct wv_page *page, uint8_t *bytes, bool gather)
{
	const struct wl_object *object = page->object->wl;
	uint64_t raw = page->page * WV_PAGE;

	for (uint32_t i = 0; i < WV_PAGE;) {
		uint32_t piece = object->layout == TSR_LAYOUT_LINEAR ? WV_PAGE : 4;
		uint8_t *model = object->model + wl_cpu_offset(object, raw + i);

		if (gather)
			memcpy(bytes + i, model, piece);
		else
			memcpy(model, bytes + i, piece);
		i += piece;
	}
}

void wv_span_gather(struct wv_span *span)
{
	for (uint32_t i = 0; i < span->count; i++) {
		uint8_t *bytes = span->bytes.model + i * WV_PAGE;

		if (span->pages[i].object)
			move_page(&span->pages[i], bytes, true);
		else
			memset(bytes, 0, WV_PAGE);
	}
}

void wv_span_scatter(const struct wv_span *span)
{
	for (uint32_t i = 0; i < span->count; i++)
		if (span->pages[i].object)
			move_page(&span->pages[i], span->bytes.model + i * WV_PAGE, false);
}
