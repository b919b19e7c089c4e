/*
 * Tessera virtual GPU: microcode
 *
 * The image in hidden VRAM contains a table with the steps of BLIT and DRAW:
 * how blend modes combine colours, where the attributes of a vertex are, and
 * how positions are transformed. Each packet reads the table in place, so it
 * notices if the table was overwritten. An engine caches the decoded table, and
 * decodes it again only after a change. Decoding checks all values. A malformed
 * table fails the packet.
 *
 * Called from render engine threads by BLIT and DRAW, and under the BQL for the
 * registers and migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <zlib.h>
#include "qemu/atomic.h"
#include "qemu/cutils.h"
#include "tessera_microcode.h"
#include "tessera_strict.h"

QEMU_BUILD_BUG_ON(TSR_FW_BIAS + 2 * 4 > TSR_FW_TABLE_BYTES);
QEMU_BUILD_BUG_ON(TSR_FW_FETCH + TESSERA_FETCHES * 4 > TSR_FW_SCALE);

/* ---- The table ----------------------------------------------------------- */

/* Recognize the factors that have an optimized loop. */
static uint32_t blend_kind(uint32_t factors)
{
    switch (factors) {
    case TSR_FW_FACTORS(TSR_FACTOR_ONE, TSR_FACTOR_ZERO,
                        TSR_FACTOR_ONE, TSR_FACTOR_ZERO):
        return TSR_BLEND_NONE;
    case TSR_FW_FACTORS(TSR_FACTOR_SRC_ALPHA, TSR_FACTOR_INV_SRC_ALPHA,
                        TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA):
        return TSR_BLEND_ALPHA;
    case TSR_FW_FACTORS(TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA,
                        TSR_FACTOR_ONE, TSR_FACTOR_INV_SRC_ALPHA):
        return TSR_BLEND_PREMULTIPLIED;
    default:
        return TESSERA_BLEND_OTHER;
    }
}

static bool decode_blend(TesseraBlend *b, uint32_t factors)
{
    b->kind = blend_kind(factors);
    for (unsigned int i = 0; i < ARRAY_SIZE(b->factor); i++) {
        b->factor[i] = factors >> (8 * i);
        if (b->factor[i] >= TSR_FACTOR_COUNT) {
            return false;
        }
    }
    return true;
}

/*
 * Decode the table. Scale and bias may have any value: tessera_raster.c refuses
 * vertices that they move out of range.
 */
static bool decode(TesseraMicrocode *mc)
{
    for (unsigned int i = 0; i < TSR_BLEND_COUNT; i++) {
        if (!decode_blend(&mc->blend[i], ldl_le_p(mc->raw + TSR_FW_BLEND(i)))) {
            return false;
        }
    }
    for (unsigned int i = 0; i < TESSERA_FETCHES; i++) {
        mc->fetch[i] = ldl_le_p(mc->raw + TSR_FW_FETCH + i * 4);
        if (mc->fetch[i] % 4 || mc->fetch[i] > TSR_VERTEX_BYTES - 4) {
            return false;
        }
    }
    for (unsigned int i = 0; i < 2; i++) {
        mc->scale[i] = ldl_le_p(mc->raw + TSR_FW_SCALE + i * 4);
        mc->bias[i] = ldl_le_p(mc->raw + TSR_FW_BIAS + i * 4);
    }
    return buffer_is_zero(mc->raw + TSR_FW_BLEND(TSR_BLEND_COUNT),
                          TSR_FW_FETCH - TSR_FW_BLEND(TSR_BLEND_COUNT)) &&
           buffer_is_zero(mc->raw + TSR_FW_BIAS + 2 * 4,
                          TSR_FW_TABLE_BYTES - (TSR_FW_BIAS + 2 * 4));
}

/* ---- Packets ------------------------------------------------------------- */

static bool place_ok(const TesseraState *s, uint64_t addr)
{
    uint64_t off = addr - s->hidden.base;

    return addr % 256 == 0 && addr >= s->hidden.base &&
           off <= s->hidden.size && TSR_FW_BYTES <= s->hidden.size - off;
}

/*
 * Get the present steps. Another engine may be writing to the table meanwhile.
 */
uint32_t tessera_microcode_get(TesseraEngine *e, const TesseraMicrocode **out)
{
    TesseraMicrocode *mc = e->microcode;
    TesseraState *s = e->s;
    TesseraRun run;
    uint64_t base;
    uint32_t err;

    /* Both may change while engines run, so check the value that is used. */
    base = qatomic_read__nocheck(&s->fw_base);
    if (!qatomic_read(&s->fw_running) || !place_ok(s, base)) {
        return TSR_ERR_FIRMWARE;
    }
    err = tessera_vram_begin(&e->m, s->hidden.vram_offset +
                             (base - s->hidden.base) + TSR_FW_HEADER_BYTES,
                             TSR_FW_TABLE_BYTES, false, TESSERA_NO_SLOT, &run);
    if (err) {
        return err;
    }
    if (!mc->read || memcmp(mc->raw, run.ptr, sizeof(mc->raw))) {
        memcpy(mc->raw, run.ptr, sizeof(mc->raw));
        mc->read = true;
        mc->ok = decode(mc);
    }
    tessera_run_end(&e->m, &run, TSR_FW_TABLE_BYTES);
    *out = mc;
    return mc->ok ? TSR_ERR_NONE
                  : tessera_fault(&e->m, TSR_ERR_FIRMWARE, TESSERA_NO_SLOT,
                                  base);
}

/* Undefined state blends like TSR_BLEND_NONE. */
const TesseraBlend *tessera_microcode_blend(const TesseraMicrocode *mc,
                                            uint32_t mode)
{
    return &mc->blend[mode < TSR_BLEND_COUNT ? mode : TSR_BLEND_NONE];
}

/* ---- Registers ----------------------------------------------------------- */

/*
 * Check the image that the registers name. If it is valid, use it from now on.
 */
bool tessera_microcode_start(TesseraState *s)
{
    g_autofree TesseraMicrocode *mc = g_new0(TesseraMicrocode, 1);
    g_autofree uint8_t *image = NULL;
    TesseraRun run;

    if (s->fw_size != TSR_FW_BYTES || !place_ok(s, s->fw_addr) ||
        tessera_vram_begin(&s->cpu, s->hidden.vram_offset +
                           (s->fw_addr - s->hidden.base), TSR_FW_BYTES, false,
                           TESSERA_NO_SLOT, &run)) {
        return false;
    }
    /* An engine may be writing to the image, so check a copy. */
    image = g_memdup2(run.ptr, TSR_FW_BYTES);
    tessera_run_end(&s->cpu, &run, TSR_FW_BYTES);
    memcpy(mc->raw, image + TSR_FW_HEADER_BYTES, TSR_FW_TABLE_BYTES);
    if (ldl_le_p(image) != TSR_FW_MAGIC ||
        ldl_le_p(image + 4) != TSR_FW_VERSION ||
        ldl_le_p(image + 8) != TSR_FW_TABLE_BYTES ||
        ldl_le_p(image + 12) != crc32(0, mc->raw, TSR_FW_TABLE_BYTES) ||
        !decode(mc)) {
        return false;
    }
    qatomic_set__nocheck(&s->fw_base, s->fw_addr);
    return true;
}

/* Whether a loaded state names a place that can hold an image. */
bool tessera_microcode_valid(const TesseraState *s)
{
    return !s->fw_running || place_ok(s, s->fw_base);
}
