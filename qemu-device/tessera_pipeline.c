/*
 * Tessera virtual GPU: what an engine draws and copies with
 *
 * Owns the slots and the buffers of an engine, apart from the thread that runs
 * its packets (tessera_engine.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_pipeline.h"
#include "tessera_microcode.h"
#include "tessera_mmu.h"

/* The caller has set s, index and type. */
void tessera_pipeline_init(TesseraEngine *e)
{
    tessera_master_init(&e->m, e->s, e->index);
    tessera_mmu_init(&e->m);
    e->scratch = g_malloc0(TESSERA_SCRATCH_BYTES);
    e->frags = g_new0(uint32_t, TSR_SURF_MAX_DIM);
    e->microcode = g_new0(TesseraMicrocode, 1);
    e->texpage = g_new0(uint64_t, TESSERA_TEXPAGES);
    e->texdata = g_malloc(TESSERA_TEXPAGES * TSR_PAGE_SIZE);
    e->num_slots = e->s->cfg.num_slots;
    e->slots = g_new0(TesseraSlot, e->num_slots);
    qemu_mutex_init(&e->slot_lock);
}

void tessera_pipeline_fini(TesseraEngine *e)
{
    qemu_mutex_destroy(&e->slot_lock);
    tessera_mmu_fini(&e->m);
    tessera_master_fini(&e->m);
    g_free(e->scratch);
    g_free(e->band);
    g_free(e->frags);
    g_free(e->microcode);
    g_free(e->texpage);
    g_free(e->texdata);
    g_free(e->slots);
}
