// SPDX-License-Identifier: MIT
/*
 * A process with a random workload: jobs of several contexts, some of which
 * wait for a fence that signals later; CPU accesses meanwhile; objects that are
 * replaced.
 */
#include <pthread.h>
#include <unistd.h>

#include "foreign.h"
#include "workload/workload.h"

#define CONTEXTS 3
#define PENDING 12 /* submitted jobs, status not checked yet */
#define LATE 4 /* delayed fences that have not signalled */
#define LATE_US 20000 /* delay of each, at most */

struct job {
	uint32_t sync, number;
	int status; /* expected status of its fence */
};

/*
 * Delayed fences and the thread that signals them. It is a thread of its own,
 * because the client may itself have to wait for one of the fences.
 */
struct late {
	struct tsr_foreign *foreign; /* NULL: no vgem, and no such fences */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t count; /* unsignalled fences; protected by @lock */
	uint32_t delay_us; /* protected by @lock */
	bool stop; /* protected by @lock */
};

struct client {
	const struct wl_plan *plan;
	struct tsr_device dev;
	struct workload wl;
	uint32_t contexts[CONTEXTS];
	struct job jobs[PENDING];
	uint32_t num_jobs;
	struct late late;
	struct wl_progress sum;
};

/* ---- delayed fences -------------------------------------------------- */

static void *signal_late(void *arg)
{
	struct late *late = arg;

	pthread_mutex_lock(&late->lock);
	while (!late->stop || late->count) {
		uint32_t delay_us = late->delay_us;

		if (!late->count) {
			pthread_cond_wait(&late->changed, &late->lock);
			continue;
		}
		pthread_mutex_unlock(&late->lock);
		usleep(delay_us);
		pthread_mutex_lock(&late->lock);
		tsr_foreign_signal(late->foreign, --late->count);
	}
	pthread_mutex_unlock(&late->lock);
	return NULL;
}

static void late_begin(struct late *late)
{
	late->foreign = tsr_foreign_open();
	if (!late->foreign)
		return;
	require(!pthread_mutex_init(&late->lock, NULL));
	require(!pthread_cond_init(&late->changed, NULL));
	require(!pthread_create(&late->thread, NULL, signal_late, late));
}

static void late_end(struct late *late)
{
	if (!late->foreign)
		return;
	pthread_mutex_lock(&late->lock);
	late->stop = true;
	pthread_cond_signal(&late->changed);
	pthread_mutex_unlock(&late->lock);
	pthread_join(late->thread, NULL);
	tsr_foreign_close(late->foreign);
}

/* A syncobj with a fence that signals later, or 0. */
static uint32_t late_fence(struct client *client)
{
	struct late *late = &client->late;
	bool wanted = wl_pick(&client->wl, 4) == 0;
	uint32_t delay_us = (uint32_t)wl_pick(&client->wl, LATE_US), sync;
	int fd = -1;

	if (!late->foreign || !wanted)
		return 0;
	pthread_mutex_lock(&late->lock);
	if (late->count < LATE) {
		fd = tsr_foreign_fence(late->foreign);
		late->count++;
		late->delay_us = delay_us;
		pthread_cond_signal(&late->changed);
	}
	pthread_mutex_unlock(&late->lock);
	if (fd < 0)
		return 0;
	sync = tsr_syncobj_new(&client->dev);
	tsr_syncobj_import(&client->dev, sync, fd);
	close(fd);
	client->sum.late++;
	return sync;
}

/* ---- jobs ------------------------------------------------------------ */

static uint32_t new_context(struct client *client)
{
	static const uint32_t modes[] = { 0, DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL,
					  DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM,
					  DRM_TESSERA_CONTEXT_FORCE_SPLIT_ALL };
	struct workload *wl = &client->wl;
	struct drm_tessera_context_create args = {
		.flags = modes[wl_pick(wl, ARRAY_SIZE(modes))] & client->plan->forced,
		.engine = client->dev.render,
	};

	if (args.flags & DRM_TESSERA_CONTEXT_FORCE_SPLIT_RANDOM)
		args.split_seed = (uint32_t)wl_pick(wl, UINT32_MAX) | 1;
	require_ok(__tsr_context_create(client->dev.fd, &args));
	return args.id;
}

/* Checks the oldest jobs until at most @left are pending. */
static void reap(struct client *client, uint32_t left)
{
	while (client->num_jobs > left) {
		struct job job = client->jobs[0];
		int status;

		client->num_jobs--;
		memmove(client->jobs, client->jobs + 1, client->num_jobs * sizeof(job));
		status = tsr_syncobj_status(&client->dev, job.sync);
		require_msg(status == job.status, "seed 0x%llx: job %u ended with %d, not %d",
			    (unsigned long long)client->wl.config.seed, job.number, status,
			    job.status);
		tsr_syncobj_free(&client->dev, job.sync);
	}
}

static void submit(struct client *client)
{
	struct workload *wl = &client->wl;
	struct job *job = &client->jobs[client->num_jobs];
	uint32_t context = client->contexts[wl_pick(wl, CONTEXTS)], wait, parts;

	wait = late_fence(client);
	*job = (struct job){ .sync = tsr_syncobj_new(&client->dev), .number = wl->job };
	parts = wl_submit(wl, context, wait, job->sync, &job->status);
	client->num_jobs++;
	client->sum.jobs++;
	client->sum.parts += parts;
	client->sum.cut_short += job->status != 0;
	if (wait)
		tsr_syncobj_free(&client->dev, wait);
}

static void change_priority(struct client *client, const struct wl_object *object)
{
	struct drm_tessera_bo_priority args = {
		.handle = object->bo.handle,
		.priority = wl_pick_priority(&client->wl),
	};

	/* only the client that has made a shared object can change it */
	require_err(tsr_ioctl(client->dev.fd, DRM_IOCTL_TESSERA_BO_PRIORITY, &args),
		    client->wl.config.shared && object == client->wl.objects ? -EPERM : 0);
}

/* Random activity besides the jobs. */
static void meanwhile(struct client *client)
{
	struct workload *wl = &client->wl;
	uint32_t n;

	/* not after each job, because the accesses wait for some of them */
	for (n = wl_pick(wl, 3) ? 0 : 1 + (uint32_t)wl_pick(wl, 4); n; n--) {
		if (wl_pick(wl, 3))
			wl_peek(wl);
		else
			wl_poke(wl);
	}
	switch (wl_pick(wl, 9)) {
	case 8:
		change_priority(client, wl_pick_object(wl));
		break;
	case 0:
	case 1:
		wl_replace(wl, wl_pick_object(wl));
		break;
	case 2:
		wl_check_object(wl, wl_pick_object(wl));
		break;
	case 3:
		n = (uint32_t)wl_pick(wl, CONTEXTS);
		tsr_context_free(&client->dev, client->contexts[n]);
		client->contexts[n] = new_context(client);
		break;
	default:
		break;
	}
}

static void tell_progress(struct client *client)
{
	struct wl_progress *to = client->plan->progress;

	if (!to)
		return;
	to->jobs += client->sum.jobs;
	to->parts += client->sum.parts;
	to->cut_short += client->sum.cut_short;
	to->late += client->sum.late;
	to->checks += client->sum.checks;
	client->sum = (struct wl_progress){ 0 };
}

static void run_jobs(struct client *client)
{
	struct workload *wl = &client->wl;

	for (uint32_t i = 0; i < client->plan->jobs; i++) {
		wl_build(wl, 1 + (uint32_t)wl_pick(wl, client->plan->steps));
		submit(client);
		meanwhile(client);
		if (client->num_jobs == PENDING)
			reap(client, PENDING / 2);
		tell_progress(client);
	}
	wl_check(wl);
	client->sum.checks += wl->num_objects;
	reap(client, 0);
	tell_progress(client);
}

void wl_client(void *arg)
{
	const struct wl_plan *plan = arg;
	struct client client = { .plan = plan, .dev = tsr_open() };

	late_begin(&client.late);
	wl_init(&client.wl, &client.dev, &plan->config);
	for (uint32_t i = 0; i < CONTEXTS; i++)
		client.contexts[i] = new_context(&client);
	run_jobs(&client);
	if (plan->abandon)
		wl_abandon(&client.wl);
	else
		wl_fini(&client.wl);
	late_end(&client.late);
	tsr_close(&client.dev);
}
