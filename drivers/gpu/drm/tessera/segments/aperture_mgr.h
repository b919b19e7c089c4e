/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_APERTURE_MGR_H__
#define __TESSERA_APERTURE_MGR_H__

#include "segments/manager.h"

int tessera_aperture_mgr_init(struct tessera_device *tdev, const struct tessera_segment *seg,
			      tessera_manager_owner_t owner);

#endif /* __TESSERA_APERTURE_MGR_H__ */
