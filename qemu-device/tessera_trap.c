/*
 * Tessera virtual GPU: emulated windows
 *
 * The swizzling window and the host aperture are such windows where they cannot
 * be RAM. Called under the BQL. A vCPU may still access a window of a device
 * that is unplugged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "tessera_trap.h"
#include "tessera_core.h"

static uint64_t trap_read(void *opaque, hwaddr addr, unsigned size)
{
    TesseraTrap *trap = opaque;
    uint8_t buf[8];

    if (trap->s->gone) {
        return UINT64_MAX;
    }
    trap->access(trap->s, addr, buf, size, false);
    return ldn_le_p(buf, size);
}

static void trap_write(void *opaque, hwaddr addr, uint64_t value,
                       unsigned size)
{
    TesseraTrap *trap = opaque;
    uint8_t buf[8];

    if (!trap->s->gone) {
        stn_le_p(buf, size, value);
        trap->access(trap->s, addr, buf, size, true);
    }
}

static const MemoryRegionOps trap_ops = {
    .read = trap_read,
    .write = trap_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

void tessera_trap_init(TesseraTrap *trap, Object *owner, const char *name,
                       uint64_t bytes)
{
    memory_region_init_io(&trap->mr, owner, &trap_ops, trap, name, bytes);
}
