// SPDX-License-Identifier: MIT
/* The jobs of the workload at virtual addresses, and their order. */
#include <stdlib.h>
#include <unistd.h>

#include "workload/workload_vm.h"

#define SLOTS 8
#define VERTEX_SLOT SLOTS
#define REGIONS 16 /* of the command object; more than the number of pending jobs */
#define VERTICES_AT KiB(12)
#define RECT_VERTICES 6
#define TEXEL_MAX 16383 /* largest vertex coordinate */

/* Commands that are being recorded, and the address that they will have. */
struct recorder {
	struct tsr_cmd cmd;
	uint64_t address;
	int32_t vertices[WV_OPS * RECT_VERTICES * TSR_VERTEX_BYTES / 4];
	uint32_t num_vertices;
	uint8_t *uses;
	uint32_t dst_slot, src_slot;
};

/* ---- order ----------------------------------------------------------- */

void wv_reap(struct wv *wv, uint32_t left)
{
	while (wv->num_jobs > left) {
		struct wv_job job = wv->jobs[0];
		struct tsr_device *dev = &wv->devs[job.file];
		int status;

		wv->num_jobs--;
		memmove(wv->jobs, wv->jobs + 1, wv->num_jobs * sizeof(job));
		status = tsr_syncobj_status(dev, job.sync);
		require_msg(status == job.status, "seed 0x%llx: job %u ended with %d, not %d%s",
			    (unsigned long long)wv->plan->config.seed, job.number, status,
			    job.status,
			    status == -EFAULT && !job.status
				    ? ": page tables lack entries of a mapped and listed object"
				    : "");
		tsr_syncobj_free(dev, job.sync);
		free(job.uses);
	}
}

void wv_settle(struct wv *wv, const struct wv_object *object)
{
	for (uint32_t i = 0; i < wv->num_jobs; i++) {
		const struct wv_job *job = &wv->jobs[i];

		if (job->uses[object - wv->objects])
			require_ok(__tsr_syncobj_wait(wv->devs[job->file].fd, job->sync, 0,
						      INT64_MAX));
	}
}

void wv_settle_faults(struct wv *wv)
{
	for (uint32_t i = 0; i < wv->num_jobs; i++) {
		const struct wv_job *job = &wv->jobs[i];

		if (job->status)
			require_ok(__tsr_syncobj_wait(wv->devs[job->file].fd, job->sync, 0,
						      INT64_MAX));
	}
}

static bool conflict(const struct wv *wv, const uint8_t *a, const uint8_t *b)
{
	for (uint32_t i = 0; i < wv->num_objects; i++)
		if ((a[i] && (b[i] & WV_WRITE)) || ((a[i] & WV_WRITE) && b[i]))
			return true;
	return false;
}

/* Makes the fence of a job available to another file. */
static uint32_t import_sync(struct wv *wv, const struct wv_job *job, uint32_t file)
{
	int fd = tsr_syncobj_export(&wv->devs[job->file], job->sync);
	uint32_t sync = tsr_syncobj_new(&wv->devs[file]);

	tsr_syncobj_import(&wv->devs[file], sync, fd);
	close(fd);
	return sync;
}

/*
 * Adds waits for all jobs that conflict with @job. Jobs of one context run in
 * order and need none, but now and then one is added all the same.
 */
static uint32_t add_waits(struct wv *wv, const struct wv_job *job, struct drm_tessera_sync *syncs)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < wv->num_jobs; i++) {
		const struct wv_job *other = &wv->jobs[i];

		if (other->status)
			continue;
		if ((other->context == job->context && other->file == job->file) ||
		    !conflict(wv, other->uses, job->uses)) {
			if (wv_pick(wv, 16))
				continue;
		}
		syncs[count++].handle = import_sync(wv, other, job->file);
	}
	return count;
}

static int submit(struct wv *wv, struct wv_job *job, uint64_t cmds, uint32_t bytes)
{
	struct drm_tessera_sync syncs[WV_PENDING + 1] = { 0 };
	struct tsr_device *dev = &wv->devs[job->file];
	uint32_t waits = add_waits(wv, job, syncs);
	struct drm_tessera_submit_vm args = {
		.context = job->context,
		.cmds = cmds,
		.cmd_size = bytes,
		.syncs = { sizeof(*syncs), waits + 1, (uintptr_t)syncs },
	};
	int rc;

	syncs[waits].handle = job->sync;
	syncs[waits].flags = DRM_TESSERA_SYNC_SIGNAL;
	rc = __tsr_submit_vm_ioctl(dev->fd, &args);
	for (uint32_t i = 0; i < waits; i++)
		tsr_syncobj_free(dev, syncs[i].handle);
	return rc;
}

/* ---- packets --------------------------------------------------------- */

static void bind_buffer(struct recorder *rec, uint32_t slot, uint64_t address, uint64_t bytes,
			bool write)
{
	tsr_cmd_bind_address(&rec->cmd, slot, address, bytes, write);
}

static void bind_view(struct recorder *rec, uint32_t slot, const struct wv_span *span,
		      const struct wl_view *view)
{
	const struct tsr_surface *surface = &view->surface;
	uint64_t base = span->address + surface->offset;
	uint64_t limit = span->bytes.bo.size - surface->offset;
	uint32_t *p = tsr_cmd_packet(&rec->cmd, TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS);

	p[1] = slot;
	p[2] = (uint32_t)base;
	p[3] = (uint32_t)(base >> 32);
	p[4] = (uint32_t)limit;
	p[5] = (uint32_t)(limit >> 32);
	p[6] = surface->format << TSR_SURF_FORMAT_SHIFT | surface->layout << TSR_SURF_LAYOUT_SHIFT |
	       surface->access;
	p[7] = surface->pitch;
	if (surface->pitch)
		p[8] = surface->width | surface->height << 16;
}

static void emit_fill(struct recorder *rec, const struct wl_op *op)
{
	uint32_t *p = tsr_cmd_packet(&rec->cmd, TSR_OP_FILL, 0, TSR_FILL_DWORDS);

	p[1] = rec->dst_slot;
	p[2] = op->dst_x;
	p[3] = op->dst_y;
	p[4] = op->width;
	p[5] = op->height;
	p[6] = op->value;
}

static void emit_copy(struct recorder *rec, const struct wl_op *op)
{
	uint32_t *p = tsr_cmd_packet(&rec->cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);

	p[1] = rec->dst_slot;
	p[2] = rec->src_slot;
	p[3] = op->dst_x;
	p[4] = op->dst_y;
	p[5] = op->src_x;
	p[6] = op->src_y;
	p[7] = op->width;
	p[8] = op->height;
}

/* An unscaled blit, which equals a copy. */
static void emit_blit(struct recorder *rec, const struct wl_op *op)
{
	uint32_t *p = tsr_cmd_packet(&rec->cmd, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS);

	p[1] = rec->dst_slot;
	p[2] = rec->src_slot;
	p[3] = op->dst_x | op->dst_y << 16;
	p[4] = op->width | op->height << 16;
	p[5] = op->src_x | op->src_y << 16;
	p[6] = op->width | op->height << 16;
	p[7] = TSR_BLEND_NONE << 8;
	p[8] = 0xffffffff;
}

static void add_vertices(struct recorder *rec, const struct wl_op *op)
{
	static const uint8_t corners[RECT_VERTICES][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 },
							   { 1, 1 }, { 1, 0 }, { 0, 1 } };

	for (uint32_t i = 0; i < RECT_VERTICES; i++) {
		int32_t *v = rec->vertices + rec->num_vertices++ * TSR_VERTEX_BYTES / 4;
		uint32_t right = corners[i][0] ? op->width : 0;
		uint32_t down = corners[i][1] ? op->height : 0;

		v[TSR_VERTEX_X / 4] = (int32_t)(op->dst_x + right) << 8;
		v[TSR_VERTEX_Y / 4] = (int32_t)(op->dst_y + down) << 8;
		v[TSR_VERTEX_U / 4] = (int32_t)(op->src_x + right) << 16;
		v[TSR_VERTEX_V / 4] = (int32_t)(op->src_y + down) << 16;
		v[TSR_VERTEX_COLOR / 4] = (int32_t)(op->copy ? 0xffffffff : op->value);
		v[TSR_VERTEX_PAD / 4] = 0;
	}
}

/* Draws a rectangle of one colour, or of a texture with one texel per pixel. */
static void emit_draw(struct recorder *rec, const struct wl_op *op)
{
	uint32_t *p = tsr_cmd_packet(&rec->cmd, TSR_OP_SET_STATE, 0, 2 + TSR_STATE_COUNT + 1);

	p[1] = TSR_STATE_TARGET_SLOT | TSR_STATE_COUNT << 16;
	p[2 + TSR_STATE_TARGET_SLOT] = rec->dst_slot;
	p[2 + TSR_STATE_SCISSOR_MAX] = TEXEL_MAX | TEXEL_MAX << 16;
	p[2 + TSR_STATE_TEXTURE_SLOT] = rec->src_slot;
	p[2 + TSR_STATE_BLEND] = TSR_BLEND_NONE;
	p[2 + TSR_STATE_COLOR] = 0xffffffff;
	bind_buffer(rec, VERTEX_SLOT, rec->address + VERTICES_AT, sizeof(rec->vertices), false);
	p = tsr_cmd_packet(&rec->cmd, TSR_OP_DRAW, op->copy ? TSR_DRAW_TEXTURED : 0,
			   TSR_DRAW_DWORDS);
	p[1] = VERTEX_SLOT;
	p[2] = rec->num_vertices * TSR_VERTEX_BYTES;
	p[3] = RECT_VERTICES;
	add_vertices(rec, op);
}

/* ---- drawing a job --------------------------------------------------- */

static void note_uses(struct wv *wv, uint8_t *uses, const struct wv_span *span, uint8_t how)
{
	for (uint32_t i = 0; i < span->count; i++)
		if (span->pages[i].object)
			uses[span->pages[i].object - wv->objects] |= how;
}

static void pick_view(struct wv *wv, struct wv_span *span, struct wl_view *view, uint32_t access)
{
	wl_pick_view(wv->dice, &span->bytes, view);
	view->surface.access = access;
}

static void pick_target(struct wv *wv, struct wv_op *op)
{
	struct wl_op *o = &op->op;

	pick_view(wv, &op->dst, &o->dst, TSR_SURF_READ | TSR_SURF_WRITE);
	o->value = (uint32_t)tap_random(&wv->dice->rng);
}

/* Picks a source of the same texel size: formats are not converted. */
static bool pick_source(struct wv *wv, struct wv_vm *vm, struct wv_op *op)
{
	struct wl_op *o = &op->op;

	if (wv_pick(wv, 4) == 0 || !wv_span_pick(wv, vm, false, &op->src))
		return false;
	for (uint32_t i = 0; i < 8; i++) {
		pick_view(wv, &op->src, &o->src, TSR_SURF_READ);
		if (o->src.texel == o->dst.texel)
			return true;
	}
	wv_span_free(&op->src);
	o->src = (struct wl_view){ 0 };
	return false;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void pick_rects(struct wv *wv, struct wl_op *op)
{
	uint32_t width = op->dst.surface.width, height = op->dst.surface.height;

	if (op->copy) {
		width = least(width, op->src.surface.width);
		height = least(height, op->src.surface.height);
	}
	wl_pick_rect(wv->dice, op, width, height, &op->dst_x, &op->dst_y, &op->width, &op->height);
	if (!op->copy)
		return;
	op->src_x = wl_pick_at(wv->dice, op->src.surface.width, op->width);
	op->src_y = wl_pick_at(wv->dice, op->src.surface.height, op->height);
}

static bool is_image(const struct wl_view *view)
{
	return view->surface.pitch && view->texel == 4;
}

/* Blits and draws need 32-bit texels and a pitch; else fills and copies. */
static void emit_op(struct wv *wv, struct recorder *rec, struct wv_op *op)
{
	struct wl_op *o = &op->op;
	bool image = is_image(&o->dst) && (!o->copy || is_image(&o->src)) && wv_pick(wv, 4);
	bool draw = image && o->dst_x + o->width <= TEXEL_MAX && o->dst_y + o->height <= TEXEL_MAX;

	if (image)
		o->dst.surface.format = o->src.surface.format = TSR_FORMAT_ARGB8888;
	rec->dst_slot = wv_pick(wv, SLOTS);
	rec->src_slot = (rec->dst_slot + 1 + wv_pick(wv, SLOTS - 1)) % SLOTS;
	bind_view(rec, rec->dst_slot, &op->dst, &o->dst);
	if (o->copy)
		bind_view(rec, rec->src_slot, &op->src, &o->src);
	if (image && o->copy && wv_pick(wv, 2))
		emit_blit(rec, o);
	else if (draw)
		emit_draw(rec, o);
	else if (o->copy)
		emit_copy(rec, o);
	else
		emit_fill(rec, o);
}

static void draw_op(struct wv *wv, struct wv_vm *vm, struct recorder *rec)
{
	struct wv_op *op = &wv->ops[wv->num_ops];

	*op = (struct wv_op){ 0 };
	wv->mark++;
	if (!wv_span_pick(wv, vm, true, &op->dst))
		return;
	pick_target(wv, op);
	op->op.copy = pick_source(wv, vm, op);
	pick_rects(wv, &op->op);
	emit_op(wv, rec, op);
	note_uses(wv, rec->uses, &op->dst, WV_WRITE);
	if (op->op.copy)
		note_uses(wv, rec->uses, &op->src, WV_READ);
	wv->num_ops++;
}

static void forget_ops(struct wv *wv)
{
	while (wv->num_ops) {
		struct wv_op *op = &wv->ops[--wv->num_ops];

		wv_span_free(&op->dst);
		wv_span_free(&op->src);
	}
}

static void apply_ops(struct wv *wv)
{
	for (uint32_t i = 0; i < wv->num_ops; i++) {
		struct wv_op *op = &wv->ops[i];

		wv_span_gather(&op->dst);
		if (op->op.copy)
			wv_span_gather(&op->src);
		wl_apply_op(&op->op);
		wv_span_scatter(&op->dst);
	}
}

/* ---- jobs ------------------------------------------------------------ */

static void record_begin(struct wv *wv, struct wv_vm *vm, struct recorder *rec)
{
	memset(rec, 0, sizeof(*rec));
	tsr_cmd_init(&rec->cmd);
	rec->address = TSR_VM_CMDS + vm->jobs++ % REGIONS * (vm->cmds.size / REGIONS);
	rec->uses = calloc(wv->num_objects, 1);
	require(rec->uses);
	tsr_cmd_nop(&rec->cmd, 8);
}

/* Copies the recorded commands to the object that the device reads. */
static void record_end(struct wv *wv, struct wv_vm *vm, const struct recorder *rec)
{
	uint64_t offset = rec->address - TSR_VM_CMDS;
	uint8_t *to = (uint8_t *)vm->cmds.map + offset;

	require(tsr_cmd_bytes(&rec->cmd) <= VERTICES_AT);
	require(VERTICES_AT + sizeof(rec->vertices) <= vm->cmds.size / REGIONS);
	memcpy(to, rec->cmd.dw, tsr_cmd_bytes(&rec->cmd));
	memcpy(to + VERTICES_AT, rec->vertices, sizeof(rec->vertices));
	if (vm->cmds_cached)
		tsr_invalidate_cache(&wv->devs[vm->file], &vm->cmds);
}

/*
 * Submits the job, and takes @rec. Returns false if the listed objects do not
 * fit into memory; then nothing has run.
 */
static bool run(struct wv *wv, struct wv_vm *vm, struct recorder *rec, int status)
{
	struct wv_job *job;
	int rc;

	if (wv->num_jobs == WV_PENDING)
		wv_reap(wv, WV_PENDING / 2);
	job = &wv->jobs[wv->num_jobs];
	*job = (struct wv_job){
		.sync = tsr_syncobj_new(&wv->devs[vm->file]),
		.file = vm->file,
		.context = vm->contexts[wv_pick(wv, WV_CONTEXTS)],
		.number = wv->number++,
		.status = status,
		.uses = rec->uses,
	};
	record_end(wv, vm, rec);
	rc = submit(wv, job, rec->address, tsr_cmd_bytes(&rec->cmd));
	tsr_cmd_fini(&rec->cmd);
	require_msg(!rc || rc == -ENOMEM || rc == -EBUSY, "seed 0x%llx, job %u: %s",
		    (unsigned long long)wv->plan->config.seed, job->number, strerror(-rc));
	if (!rc) {
		wv->num_jobs++;
		return true;
	}
	tsr_syncobj_free(&wv->devs[vm->file], job->sync);
	free(job->uses);
	wv->sum.refused++;
	return false;
}

void wv_job(struct wv *wv)
{
	uint32_t steps = 1 + wv_pick(wv, WV_OPS);
	struct wv_vm *vm = wv_pick_vm(wv);
	struct recorder rec;

	record_begin(wv, vm, &rec);
	while (steps--)
		draw_op(wv, vm, &rec);
	if (run(wv, vm, &rec, 0)) {
		apply_ops(wv);
		wv->sum.jobs++;
	} else {
		wv_make_space(wv, vm->file);
	}
	forget_ops(wv);
}

void wv_fault(struct wv *wv)
{
	struct wv_vm *vm = wv_pick_vm(wv);
	struct recorder rec;
	uint64_t address;
	uint32_t lost;

	if (!wv_bad_pick(wv, vm, &address))
		return;
	record_begin(wv, vm, &rec);
	bind_buffer(&rec, 0, address, WV_PAGE, true);
	tsr_cmd_fill(&rec.cmd, 0, 0, WV_PAGE / 4, 0xbadbad);
	if (!run(wv, vm, &rec, -EFAULT)) {
		wv_make_space(wv, vm->file);
		return;
	}
	lost = wv->jobs[wv->num_jobs - 1].context;
	for (uint32_t i = 0; i < WV_CONTEXTS; i++)
		if (vm->contexts[i] == lost)
			wv_context_renew(wv, vm, i);
	wv->sum.faults++;
}

void wv_check_span(struct wv *wv, struct wv_vm *vm, struct wv_span *from)
{
	struct recorder rec;
	uint32_t words;

	record_begin(wv, vm, &rec);
	note_uses(wv, rec.uses, from, WV_READ);
	words = (uint32_t)(from->bytes.bo.size / 4);
	bind_buffer(&rec, 0, WV_STAGING, vm->staging.size, true);
	bind_buffer(&rec, 1, from->address, from->bytes.bo.size, false);
	tsr_cmd_copy(&rec.cmd, 0, 0, 1, 0, words);
	if (run(wv, vm, &rec, 0)) {
		wv_reap(wv, 0);
		tsr_invalidate_cache(&wv->devs[vm->file], &vm->staging);
		wv_span_gather(from);
		wl_compare(wv->dice, &from->bytes, "job at addresses", vm->staging.map, 0,
			   from->bytes.bo.size);
		wv->sum.checks++;
	} else {
		wv_make_space(wv, vm->file);
	}
	wv_span_free(from);
}

void wv_check_some(struct wv *wv)
{
	struct wv_vm *vm = wv_pick_vm(wv);
	struct wv_span from;

	wv->mark++;
	if (wv_span_pick(wv, vm, false, &from))
		wv_check_span(wv, vm, &from);
}
