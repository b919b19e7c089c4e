// SPDX-License-Identifier: MIT
/*
 * Memory for the commands of a context with a VM. The device reads commands
 * when it executes them, so they must stay unchanged until the job is over.
 * Blocks are filled one after the other. A block is reused when all its jobs
 * are over. Jobs of a context end in order, and each one advances a timeline by
 * one, which tells how far they are. When the total size reaches a limit, the
 * oldest job is waited for.
 */
#include <errno.h>
#include <string.h>

#include "cmdmem.h"
#include "vm.h"

#define BLOCK_BYTES 65536
#define MAX_BYTES (4u << 20) /* or one larger block */

struct tessera_cmdblock {
	TAILQ_ENTRY(tessera_cmdblock) list;
	struct tessera_bo *bo; /* reference; resident for the life of the block */
	uint8_t *map;
	uint64_t address;
	size_t size, used;
	uint64_t point; /* timeline point of its last job */
};

struct tessera_cmdmem {
	struct tessera_vm *vm; /* reference */
	struct tessera_syncobj *timeline;
	uint64_t point; /* timeline point of the last job */
	size_t bytes; /* size of all blocks together */
	TAILQ_HEAD(tessera_cmdblocks, tessera_cmdblock)
	blocks; /* oldest first; the last one is being filled */
	size_t pending; /* bytes placed in the last block, not submitted yet */
};

int tessera_cmdmem_new(struct tessera_vm *vm, struct tessera_cmdmem **out)
{
	struct tessera_cmdmem *mem = tessera_alloc(vm->dev, sizeof(*mem));
	int ret;

	if (!mem)
		return -ENOMEM;
	ret = tessera_syncobj_new(vm->dev, 0, &mem->timeline);
	if (ret) {
		tessera_free(vm->dev, mem);
		return ret;
	}
	TAILQ_INIT(&mem->blocks);
	mem->vm = tessera_vm_ref(vm);
	*out = mem;
	return 0;
}

static void block_del(struct tessera_cmdmem *mem, struct tessera_cmdblock *block)
{
	TAILQ_REMOVE(&mem->blocks, block, list);
	mem->bytes -= block->size;
	/* The kernel orders the unmapping after the jobs submitted before. */
	tessera_bo_del(block->bo);
	tessera_free(mem->vm->dev, block);
}

void tessera_cmdmem_del(struct tessera_cmdmem *mem)
{
	struct tessera_device *dev;

	if (!mem)
		return;
	while (!TAILQ_EMPTY(&mem->blocks))
		block_del(mem, TAILQ_FIRST(&mem->blocks));
	dev = tessera_device_ref(mem->vm->dev);
	tessera_syncobj_del(mem->timeline);
	tessera_vm_del(mem->vm);
	tessera_free(dev, mem);
	tessera_device_del(dev);
}

/* The CPU mapping is not cached, so nothing has to be flushed. */
static int block_init(struct tessera_cmdmem *mem, struct tessera_cmdblock *block, size_t size)
{
	struct tessera_device *dev = mem->vm->dev;
	struct tessera_bo_desc desc;
	int ret = tessera_bo_desc_init(dev, &desc, TESSERA_USAGE_VERTEX, size, NULL);

	if (ret)
		return ret;
	tessera_bo_desc_private(&desc, mem->vm);
	ret = tessera_bo_new(dev, &desc, &block->bo);
	if (ret)
		return ret;
	ret = tessera_bo_map(block->bo, (void **)&block->map);
	if (!ret)
		ret = tessera_vm_bind(mem->vm, block->bo, &block->address);
	if (!ret)
		ret = tessera_vm_make_resident(mem->vm, &block->bo, 1);
	if (ret)
		tessera_bo_del(block->bo);
	block->size = size;
	return ret;
}

static int block_new(struct tessera_cmdmem *mem, size_t bytes)
{
	struct tessera_cmdblock *block = tessera_alloc(mem->vm->dev, sizeof(*block));
	size_t size = BLOCK_BYTES;
	int ret;

	if (!block)
		return -ENOMEM;
	while (size < bytes)
		size *= 2;
	ret = block_init(mem, block, size);
	if (ret) {
		tessera_free(mem->vm->dev, block);
		return ret;
	}
	mem->bytes += size;
	TAILQ_INSERT_TAIL(&mem->blocks, block, list);
	return 0;
}

static void block_restart(struct tessera_cmdmem *mem, struct tessera_cmdblock *block)
{
	TAILQ_REMOVE(&mem->blocks, block, list);
	TAILQ_INSERT_TAIL(&mem->blocks, block, list);
	block->used = 0;
}

/*
 * Make the last block an empty one of sufficient size. Blocks are in the order
 * of their jobs.
 */
static int next_block(struct tessera_cmdmem *mem, size_t bytes)
{
	struct tessera_cmdblock *block, *next;
	uint64_t reached;
	int ret = tessera_syncobj_query(mem->timeline, &reached);

	if (ret)
		return ret;
	for (block = TAILQ_FIRST(&mem->blocks); block; block = next) {
		next = TAILQ_NEXT(block, list);
		if (block->point > reached && mem->bytes + bytes <= MAX_BYTES)
			break;
		if (block->point > reached) {
			ret = tessera_syncobj_wait(mem->timeline, block->point, TESSERA_FOREVER);
			if (ret)
				return ret;
			reached = block->point;
		}
		if (block->size >= bytes) {
			block_restart(mem, block);
			return 0;
		}
		block_del(mem, block);
	}
	return block_new(mem, bytes);
}

int tessera_cmdmem_place(struct tessera_cmdmem *mem, const void *cmds, size_t bytes,
			 uint64_t *address, struct tessera_sync *next)
{
	struct tessera_cmdblock *block = TAILQ_LAST(&mem->blocks, tessera_cmdblocks);
	int ret;

	if (!block || bytes > block->size - block->used) {
		ret = next_block(mem, bytes);
		if (ret)
			return ret;
		block = TAILQ_LAST(&mem->blocks, tessera_cmdblocks);
	}
	memcpy(block->map + block->used, cmds, bytes);
	*address = block->address + block->used;
	*next = (struct tessera_sync){ .obj = mem->timeline, .point = mem->point + 1 };
	mem->pending = bytes;
	return 0;
}

void tessera_cmdmem_submitted(struct tessera_cmdmem *mem)
{
	struct tessera_cmdblock *block = TAILQ_LAST(&mem->blocks, tessera_cmdblocks);

	block->used += mem->pending;
	block->point = ++mem->point;
}
