/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The only place that may know how kernels differ. The driver is written for the newest
 * 6.12; this makes older ones of that series look like it.
 */
#ifndef __TESSERA_COMPAT_H__
#define __TESSERA_COMPAT_H__

#include <drm/gpu_scheduler.h>

/* The stable series took the scheduler's parameters in a structure from 6.15. */
#ifndef TESSERA_HAVE_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	atomic_t *score;
	const char *name;
	struct device *dev;
};

static inline int tessera_compat_sched_init(struct drm_gpu_scheduler *sched,
					    const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs,
			      args->credit_limit, args->hang_limit, args->timeout,
			      args->timeout_wq, args->score, args->name, args->dev);
}

#define drm_sched_init(sched, args) tessera_compat_sched_init(sched, args)
#endif

#endif /* __TESSERA_COMPAT_H__ */
