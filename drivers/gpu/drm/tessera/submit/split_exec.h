/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_SPLIT_EXEC_H__
#define __TESSERA_SPLIT_EXEC_H__

#include <linux/types.h>

struct tessera_request;		/* submit/request.h */

int tessera_split_exec(struct tessera_request *req, u32 *num_parts);

#endif /* __TESSERA_SPLIT_EXEC_H__ */
