/* SPDX-License-Identifier: MIT */
/*
 * Where the commands of a context with a VM are while jobs run them.
 */
#ifndef TESSERA_CMDMEM_H
#define TESSERA_CMDMEM_H

#include "priv.h"

struct tessera_cmdmem;
struct tessera_cmdblock;

int tessera_cmdmem_new(struct tessera_vm *vm, struct tessera_cmdmem **out);
void tessera_cmdmem_del(struct tessera_cmdmem *mem);
/*
 * Copy commands to where they stay as long as a job may read them: until what @next is set to is reached, if
 * tessera_cmdmem_submitted() is called, else until the next call.
 */
int tessera_cmdmem_place(struct tessera_cmdmem *mem, const void *cmds, size_t bytes,
			 uint64_t *address, struct tessera_sync *next);
void tessera_cmdmem_submitted(struct tessera_cmdmem *mem);

#endif /* TESSERA_CMDMEM_H */
