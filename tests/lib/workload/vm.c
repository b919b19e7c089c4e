// SPDX-License-Identifier: MIT
/*
 * A process with a random workload at virtual addresses, with two files and
 * several VMs of each.
 */
#include <stdlib.h>

#include "workload/workload_vm.h"

static void change_lists(struct wv *wv, struct wv_object *object)
{
	uint32_t file = wv_pick(wv, WV_FILES);

	if (wv_pick(wv, 3))
		wv_make_resident(wv, object, file);
	else
		wv_evict(wv, object, file);
}

static void use_cpu(struct wv *wv, struct wv_object *object)
{
	switch (wv_pick(wv, 6)) {
	case 0:
		wv_lock(wv, object);
		break;
	case 1:
		wv_unlock(wv, object);
		break;
	case 2:
	case 3:
		wv_peek(wv, object);
		break;
	default:
		wv_poke(wv, object);
	}
}

static void offer_or_reclaim(struct wv *wv, struct wv_object *object)
{
	if (object->offered || wv_pick(wv, 2))
		wv_reclaim(wv, object);
	else
		wv_offer(wv, object);
}

static void move_out(struct wv *wv)
{
	uint32_t segments = 0;

	if (!wv->plan->evictions)
		return;
	for (uint32_t i = 0; i < wv->devs[0].num_segs; i++)
		if (wv_pick(wv, 2))
			segments |= tsr_bit(&wv->devs[0].segs[i]);
	if (!segments)
		return;
	tsr_evict_set(segments);
	wv->sum.evictions++;
}

/* Replaces a context or a VM. Queued jobs still run. */
static void renew(struct wv *wv)
{
	struct wv_vm *vm = wv_pick_vm(wv);

	if (wv_pick(wv, 8))
		wv_context_renew(wv, vm, wv_pick(wv, WV_CONTEXTS));
	else
		wv_vm_renew(wv, vm);
}

/* One random action besides jobs. */
static void meanwhile(struct wv *wv)
{
	struct wv_object *object = wv_pick_object(wv);
	uint32_t dice = wv_pick(wv, 32);

	if (dice < 12)
		wv_bind(wv, wv_pick_vm(wv));
	else if (dice < 18)
		change_lists(wv, object);
	else if (dice < 23)
		use_cpu(wv, object);
	else if (dice < 25)
		offer_or_reclaim(wv, object);
	else if (dice < 26)
		wv_check(wv, object);
	else if (dice < 28)
		wv_check_some(wv);
	else if (dice < 29)
		wv_replace(wv, object);
	else if (dice < 30)
		move_out(wv);
	else if (dice < 31)
		renew(wv);
	else if (wv->plan->faults)
		wv_fault(wv);
}

static void tell_progress(struct wv *wv)
{
	struct wv_progress *to = wv->plan->progress;

	if (!to)
		return;
	to->jobs += wv->sum.jobs;
	to->refused += wv->sum.refused;
	to->binds += wv->sum.binds;
	to->evictions += wv->sum.evictions;
	to->dropped += wv->sum.dropped;
	to->checks += wv->sum.checks;
	to->faults += wv->sum.faults;
	wv->sum = (struct wv_progress){ 0 };
}

static void run_jobs(struct wv *wv)
{
	for (uint32_t i = 0; i < wv->plan->jobs; i++) {
		wv_job(wv);
		for (uint32_t n = wv_pick(wv, 4); n; n--)
			meanwhile(wv);
		tell_progress(wv);
	}
	for (uint32_t i = 0; i < wv->num_objects; i++) {
		wv_reclaim(wv, &wv->objects[i]);
		wv_check(wv, &wv->objects[i]);
	}
	wv_reap(wv, 0);
	tell_progress(wv);
}

static void open_all(struct wv *wv)
{
	wv->vms = calloc(WV_VMS, sizeof(*wv->vms));
	require(wv->vms);
	for (uint32_t i = 0; i < WV_FILES; i++) {
		struct wl_config config = wv->plan->config;

		wv->devs[i] = tsr_open();
		config.seed += i;
		for (uint32_t n = i; n < WV_VMS; n += WV_FILES)
			wv->vms[n].id = tsr_vm_new(&wv->devs[i]);
		config.vm = wv->vms[i].id;
		config.explicit_sync = !(wv->devs[i].info.caps & DRM_TESSERA_CAP_IO_COHERENT);
		wl_init(&wv->wls[i], &wv->devs[i], &config);
	}
	wv->dice = &wv->wls[0];
	for (uint32_t i = 0; i < WV_VMS; i++)
		wv->vms[i].file = i % WV_FILES;
	wv_objects_open(wv);
	for (uint32_t i = 0; i < WV_VMS; i++) {
		wv_vm_open(wv, &wv->vms[i]);
		for (uint32_t n = 0; n < 4; n++)
			wv_bind(wv, &wv->vms[i]);
	}
}

static void close_all(struct wv *wv)
{
	for (uint32_t i = 0; i < WV_VMS && !wv->plan->abandon; i++)
		wv_vm_close(wv, &wv->vms[i]);
	wv_objects_close(wv);
	free(wv->vms);
	for (uint32_t i = 0; i < WV_FILES; i++) {
		if (wv->plan->abandon)
			wl_abandon(&wv->wls[i]);
		else
			wl_fini(&wv->wls[i]);
		tsr_close(&wv->devs[i]);
	}
}

void wv_client(void *arg)
{
	struct wv wv = { .plan = arg };

	open_all(&wv);
	run_jobs(&wv);
	close_all(&wv);
}
