/* SPDX-License-Identifier: MIT */
/* Memory for the commands of a context with a VM while jobs run them. */
#ifndef TESSERA_CMDMEM_H
#define TESSERA_CMDMEM_H

#include "priv.h"

struct tessera_cmdmem;
struct tessera_cmdblock;

int tessera_cmdmem_new(struct tessera_vm *vm, struct tessera_cmdmem **out);
void tessera_cmdmem_del(struct tessera_cmdmem *mem);
/*
 * Copy commands to memory that stays unchanged while a job may read it. If the
 * caller then calls tessera_cmdmem_submitted(), the memory is kept until the
 * point in @next is reached. Otherwise the next call reuses it.
 */
int tessera_cmdmem_place(struct tessera_cmdmem *mem, const void *cmds, size_t bytes,
			 uint64_t *address, struct tessera_sync *next);
void tessera_cmdmem_submitted(struct tessera_cmdmem *mem);

#endif /* TESSERA_CMDMEM_H */
