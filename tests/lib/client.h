/* SPDX-License-Identifier: MIT */
/* QUERY_CLIENT: what the driver accounts for one client. */
#ifndef TSR_CLIENT_H
#define TSR_CLIENT_H

#include "tsr.h"

static inline struct drm_tessera_query_client tsr_query_client(struct tsr_device *dev)
{
	struct drm_tessera_query_client client;
	uint32_t one = 1;

	require_ok(__tsr_query(dev->fd, DRM_TESSERA_QUERY_CLIENT, sizeof(client), &one, &client));
	require_eq(one, 1);
	return client;
}

#endif /* TSR_CLIENT_H */
