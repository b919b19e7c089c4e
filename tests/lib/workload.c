// SPDX-License-Identifier: MIT
#include "workload.h"

#include <stdlib.h>

#define STAGING_BYTES MiB(1)

static uint64_t pick(struct workload *wl, uint64_t below)
{
	return tap_random(&wl->rng) % below;
}

static void new_object(struct workload *wl, struct wl_object *object, uint64_t size)
{
	object->bo = tsr_bo_new(wl->dev, size, wl->config.supported, wl->config.flags);
	object->model = calloc(1, size);
	require(object->model);
}

static uint64_t random_size(struct workload *wl)
{
	uint64_t span = wl->config.max_bytes - wl->config.min_bytes;

	return (wl->config.min_bytes + (span ? pick(wl, span + 1) : 0)) & ~4095ull;
}

void wl_init(struct workload *wl, struct tsr_device *dev, const struct wl_config *config)
{
	uint64_t total = 0;
	uint32_t max = 0;

	memset(wl, 0, sizeof(*wl));
	wl->dev = dev;
	wl->config = *config;
	wl->rng = config->seed;
	wl->context = tsr_context_new(dev, 0);
	wl->staging = tsr_bo_new(dev, STAGING_BYTES, tsr_bit(tsr_seg_gart(dev)),
				 DRM_TESSERA_BO_CPU_ACCESS | DRM_TESSERA_BO_CPU_CACHED);
	tsr_bo_map(dev, &wl->staging);
	tsr_cmd_init(&wl->cmd);
	while (total < config->total_bytes) {
		uint64_t size = random_size(wl);

		if (wl->num_objects == max) {
			max = max ? max * 2 : 16;
			wl->objects = realloc(wl->objects, max * sizeof(*wl->objects));
			require(wl->objects);
		}
		new_object(wl, &wl->objects[wl->num_objects++], size);
		total += size;
	}
	for (int i = 0; i < WL_SLOTS; i++)
		wl->bound[i] = -1;
}

void wl_fini(struct workload *wl)
{
	for (uint32_t i = 0; i < wl->num_objects; i++) {
		tsr_bo_free(wl->dev, &wl->objects[i].bo);
		free(wl->objects[i].model);
	}
	free(wl->objects);
	tsr_bo_free(wl->dev, &wl->staging);
	tsr_cmd_fini(&wl->cmd);
	tsr_context_free(wl->dev, wl->context);
}

void wl_replace(struct workload *wl, uint32_t index)
{
	struct wl_object *object = &wl->objects[index];
	uint64_t size = object->bo.size;

	tsr_bo_free(wl->dev, &object->bo);
	free(object->model);
	new_object(wl, object, size);
}

static uint64_t live_bytes(const struct workload *wl)
{
	uint64_t bytes = 0;

	for (int i = 0; i < WL_SLOTS; i++) {
		bool again = false;

		for (int j = 0; j < i; j++)
			again |= wl->bound[j] == wl->bound[i];
		if (wl->bound[i] >= 0 && !again)
			bytes += wl->objects[wl->bound[i]].bo.size;
	}
	return bytes;
}

/* change some slots; drop others until what is live fits */
static void change_slots(struct workload *wl, bool changed[WL_SLOTS])
{
	uint32_t changes = 1 + (uint32_t)pick(wl, 2);

	for (uint32_t i = 0; i < changes; i++) {
		uint32_t slot = (uint32_t)pick(wl, WL_SLOTS);

		wl->bound[slot] = (int)pick(wl, wl->num_objects);
		changed[slot] = true;
		while (live_bytes(wl) > wl->config.live_bytes) {
			uint32_t victim = (uint32_t)pick(wl, WL_SLOTS);

			if (victim == slot || wl->bound[victim] < 0)
				continue;
			wl->bound[victim] = -1;
			changed[victim] = true;
		}
	}
}

static void bind_all(struct workload *wl, const bool changed[WL_SLOTS])
{
	struct tsr_cmd *cmd = &wl->cmd;

	tsr_cmd_group_begin(cmd);
	for (uint32_t s = 0; s < WL_SLOTS; s++)
		if (wl->bound[s] < 0 && changed[s])
			tsr_cmd_unbind(cmd, s);
	for (uint32_t s = 0; s < WL_SLOTS; s++)
		if (wl->bound[s] >= 0)
			tsr_cmd_bind_buffer(cmd, s, &wl->objects[wl->bound[s]].bo, true);
	tsr_cmd_group_end(cmd);
}

static bool pick_bound(struct workload *wl, uint32_t *slot)
{
	uint32_t first = (uint32_t)pick(wl, WL_SLOTS);

	for (uint32_t i = 0; i < WL_SLOTS; i++) {
		*slot = (first + i) % WL_SLOTS;
		if (wl->bound[*slot] >= 0)
			return true;
	}
	return false;
}

static void one_fill(struct workload *wl, uint32_t slot)
{
	struct wl_object *object = &wl->objects[wl->bound[slot]];
	uint64_t words = object->bo.size / 4;
	uint32_t at = (uint32_t)pick(wl, words);
	uint32_t count = 1 + (uint32_t)pick(wl, words - at);
	uint32_t value = (uint32_t)tap_random(&wl->rng);

	tsr_cmd_fill(&wl->cmd, slot, at, count, value);
	for (uint32_t i = 0; i < count; i++)
		object->model[at + i] = value;
}

static void one_copy(struct workload *wl, uint32_t dst_slot, uint32_t src_slot)
{
	struct wl_object *dst = &wl->objects[wl->bound[dst_slot]];
	struct wl_object *src = &wl->objects[wl->bound[src_slot]];
	uint64_t words = dst->bo.size < src->bo.size ? dst->bo.size / 4 : src->bo.size / 4;
	uint32_t count = 1 + (uint32_t)pick(wl, words);
	uint32_t to = (uint32_t)pick(wl, dst->bo.size / 4 - count + 1);
	uint32_t from = (uint32_t)pick(wl, src->bo.size / 4 - count + 1);

	tsr_cmd_copy(&wl->cmd, dst_slot, to, src_slot, from, count);
	memmove(dst->model + to, src->model + from, (size_t)count * 4);
}

void wl_build(struct workload *wl, uint32_t steps)
{
	tsr_cmd_reset(&wl->cmd);
	for (int i = 0; i < WL_SLOTS; i++)
		wl->bound[i] = -1;
	for (uint32_t step = 0; step < steps; step++) {
		bool changed[WL_SLOTS] = { false };
		uint32_t ops = 1 + (uint32_t)pick(wl, 3);

		change_slots(wl, changed);
		bind_all(wl, changed);
		while (ops--) {
			uint32_t a, b;

			if (!pick_bound(wl, &a) || !pick_bound(wl, &b))
				break;
			if (pick(wl, 2))
				one_fill(wl, a);
			else
				one_copy(wl, a, b);
		}
	}
}

void wl_check_object(struct workload *wl, uint32_t index)
{
	struct wl_object *object = &wl->objects[index];
	uint64_t words = object->bo.size / 4, chunk = STAGING_BYTES / 4;
	const uint32_t *got = wl->staging.map;

	for (uint64_t at = 0; at < words; at += chunk) {
		uint32_t count = (uint32_t)(words - at < chunk ? words - at : chunk);
		struct tsr_cmd cmd;

		tsr_cmd_init(&cmd);
		tsr_cmd_group_begin(&cmd);
		tsr_cmd_bind_buffer(&cmd, 0, &wl->staging, true);
		tsr_cmd_bind_buffer(&cmd, 1, &object->bo, false);
		tsr_cmd_group_end(&cmd);
		tsr_cmd_copy(&cmd, 0, 0, 1, (uint32_t)at, count);
		tsr_submit_done(wl->dev, wl->context, &cmd);
		tsr_cmd_fini(&cmd);
		for (uint32_t i = 0; i < count; i++)
			if (got[i] != object->model[at + i])
				tap_fail(__FILE__, __LINE__,
					 "seed 0x%llx: object %u, word 0x%llx: 0x%08x, not 0x%08x",
					 (unsigned long long)wl->config.seed, index,
					 (unsigned long long)(at + i), got[i],
					 object->model[at + i]);
	}
}

void wl_check(struct workload *wl)
{
	for (uint32_t i = 0; i < wl->num_objects; i++)
		wl_check_object(wl, i);
}

uint64_t wl_hash(const struct workload *wl)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < wl->num_objects; i++)
		for (uint64_t w = 0; w < wl->objects[i].bo.size / 4; w++)
			hash = (hash ^ wl->objects[i].model[w]) * 0x100000001b3ull;
	return hash;
}
