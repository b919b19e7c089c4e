// SPDX-License-Identifier: MIT
/*
 * Comparing objects with the model: through the GPU, and through CPU mappings.
 */
#include <stdio.h>

#include "workload.h"

#define PIECE_BYTES KiB(32)

static _Noreturn void mismatch(const struct workload *wl, const struct wl_object *object,
			       const char *who, uint64_t at, uint32_t got, uint32_t want)
{
	char text[160];

	wl_object_describe(object, text, sizeof(text));
	tap_fail(__FILE__, __LINE__,
		 "seed 0x%llx, after job %u: %s, as the %s sees it: 0x%08x at 0x%llx, not 0x%08x",
		 (unsigned long long)wl->config.seed, wl->job, text, who, got,
		 (unsigned long long)at, want);
}

void wl_compare(const struct workload *wl, const struct wl_object *object, const char *who,
		const void *got, uint64_t at, uint64_t bytes)
{
	const uint32_t *words = got, *want = (const uint32_t *)(object->model + at);

	/* read each word once, because the CPU's view may change meanwhile */
	for (uint64_t i = 0; i < bytes / 4; i++) {
		uint32_t word = ((const volatile uint32_t *)words)[i];

		if (word != want[i])
			mismatch(wl, object, who, at + i * 4, word, want[i]);
	}
}

/* Copies a piece to the staging object, in the order that the CPU sees. */
static void read_back(struct workload *wl, struct wl_object *object, uint64_t at, uint64_t bytes)
{
	struct tsr_surface from = { .format = TSR_FORMAT_R32,
				    .access = TSR_SURF_READ,
				    .offset = at };
	struct tsr_surface to = { .format = TSR_FORMAT_R32, .access = TSR_SURF_WRITE };
	struct tsr_cmd cmd;
	uint32_t *p;

	if (object->layout != TSR_LAYOUT_LINEAR) {
		from.layout = object->layout;
		from.pitch = to.pitch = object->pitch;
		from.width = to.width = object->pitch / 4;
		from.height = to.height = (uint32_t)(bytes / object->pitch);
	}
	tsr_cmd_init(&cmd);
	tsr_cmd_group_begin(&cmd);
	tsr_cmd_bind(&cmd, 0, &wl->staging, &to);
	tsr_cmd_bind(&cmd, 1, &object->bo, &from);
	tsr_cmd_group_end(&cmd);
	p = tsr_cmd_packet(&cmd, TSR_OP_COPY, 0, TSR_COPY_DWORDS);
	p[2] = 1;
	p[7] = from.pitch ? from.width : (uint32_t)(bytes / 4);
	p[8] = from.pitch ? from.height : 1;
	tsr_submit_done(wl->dev, wl->context, &cmd);
	tsr_cmd_fini(&cmd);
}

void wl_check_object(struct workload *wl, struct wl_object *object)
{
	uint64_t size = object->bo.size, piece = wl->staging.size;

	if (object->layout != TSR_LAYOUT_LINEAR)
		piece -= piece % ((uint64_t)object->pitch * TSR_TILE_ROWS);
	for (uint64_t at = 0; at < size; at += piece) {
		uint64_t bytes = size - at < piece ? size - at : piece;

		read_back(wl, object, at, bytes);
		wl_compare(wl, object, "GPU", wl->staging.map, at, bytes);
	}
	if (!object->bo.map)
		return;
	tsr_bo_wait(wl->dev, &object->bo);
	wl_compare(wl, object, "CPU", object->bo.map, 0, size);
}

void wl_check(struct workload *wl)
{
	for (uint32_t i = 0; i < wl->num_objects; i++)
		wl_check_object(wl, &wl->objects[i]);
}

/* A random piece of an object, often the first or the last bytes. */
static uint64_t pick_piece(struct workload *wl, const struct wl_object *object, uint64_t *bytes)
{
	uint64_t size = object->bo.size, max = size < PIECE_BYTES ? size : PIECE_BYTES;

	*bytes = 8 + wl_pick(wl, max / 8) * 8;
	switch (wl_pick(wl, 4)) {
	case 0:
		return 0;
	case 1:
		return size - *bytes;
	default:
		return wl_pick(wl, (size - *bytes) / 8 + 1) * 8;
	}
}

/* A mapped object, preferably one that the last job uses. */
static struct wl_object *pick_mapped(struct workload *wl)
{
	for (uint32_t i = 0; i < 16; i++) {
		const struct wl_slot *slot = &wl->slots[wl_pick(wl, WL_SLOTS)];
		struct wl_object *object = slot->view.object;

		if (i >= 8 || !object)
			object = wl_pick_object(wl);
		if (object->bo.map)
			return object;
	}
	return NULL;
}

void wl_peek_object(struct workload *wl, struct wl_object *object)
{
	uint64_t bytes, at = pick_piece(wl, object, &bytes);

	/* wait for writers only: readers, and moves, may go on */
	require_ok(__tsr_bo_wait(wl->dev->fd, object->bo.handle, 0, INT64_MAX));
	wl_compare(wl, object, "CPU", (uint8_t *)object->bo.map + at, at, bytes);
}

void wl_poke_object(struct workload *wl, struct wl_object *object)
{
	uint64_t *words, bytes, at = pick_piece(wl, object, &bytes);

	words = (uint64_t *)(object->model + at);
	tsr_bo_wait(wl->dev, &object->bo);
	wl_compare(wl, object, "CPU", (uint8_t *)object->bo.map + at, at, bytes);
	for (uint64_t i = 0; i < bytes / 8; i++)
		words[i] = tap_random(&wl->rng);
	memcpy((uint8_t *)object->bo.map + at, words, bytes);
}

void wl_peek(struct workload *wl)
{
	struct wl_object *object = pick_mapped(wl);

	if (object)
		wl_peek_object(wl, object);
}

void wl_poke(struct workload *wl)
{
	struct wl_object *object = pick_mapped(wl);

	if (object)
		wl_poke_object(wl, object);
}
