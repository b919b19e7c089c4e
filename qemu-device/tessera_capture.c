/*
 * Tessera virtual GPU: CRCs and writeback
 *
 * Both describe the frame that a vblank begins, and are made in one pass over
 * its rows. Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <zlib.h>
#include "qemu/bswap.h"
#include "tessera_capture.h"
#include "tessera_budget.h"
#include "tessera_frame.h"
#include "tessera_irq.h"
#include "tessera_range_view.h"
#include "tessera_strict.h"
#include "tessera_view.h"
#include "trace.h"

#define PIXEL_BYTES 4

/* ---- CRCs ---------------------------------------------------------------- */

void tessera_crc_enable(TesseraHead *h, bool on)
{
    if (on && !h->crc_enabled) {
        h->num_crcs = 0;
    }
    h->crc_enabled = on;
}

/* A full queue drops its oldest CRC. */
static void crc_push(TesseraHead *h, uint32_t frame, uint32_t value)
{
    if (h->num_crcs == TSR_CRC_QUEUE) {
        tessera_crc_pop(h);
    }
    h->crcs[h->num_crcs++] = (TesseraCrc) { frame, value };
}

uint32_t tessera_crc_pop(TesseraHead *h)
{
    uint32_t value = h->crcs[0].value;

    if (!h->num_crcs) {
        return 0;
    }
    h->num_crcs--;
    memmove(h->crcs, h->crcs + 1, h->num_crcs * sizeof(*h->crcs));
    return value;
}

/* ---- Writeback ----------------------------------------------------------- */

static uint64_t writeback_bytes(const TesseraHead *h, uint32_t pitch)
{
    return (uint64_t)(tessera_head_height(h) - 1) * pitch +
           tessera_head_width(h) * PIXEL_BYTES;
}

/* Check that the registers name memory that a frame fits into. */
uint32_t tessera_writeback_check(TesseraHead *h)
{
    const uint32_t slot = TSR_NUM_PLANES;
    const TesseraSegment *seg;

    if (!h->wb_capture || !h->enabled) {
        return TSR_ERR_NONE;
    }
    if (h->wb.status == TSR_WB_PENDING || h->wb_pitch % PIXEL_BYTES ||
        h->wb_addr % PIXEL_BYTES || h->wb_pitch > TSR_SURF_MAX_PITCH ||
        h->wb_pitch < tessera_head_width(h) * PIXEL_BYTES) {
        return tessera_fault(&h->m, TSR_ERR_SURFACE, slot, h->wb_addr);
    }
    seg = tessera_view_segment(h->s, h->wb_addr,
                               writeback_bytes(h, h->wb_pitch));
    if (!seg) {
        return tessera_fault(&h->m, TSR_ERR_ADDRESS, slot, h->wb_addr);
    }
    if (seg->ptes || !seg->id) {
        return tessera_fault(&h->m, TSR_ERR_SEGMENT, slot, h->wb_addr);
    }
    return TSR_ERR_NONE;
}

static void writeback_end(TesseraHead *h, uint32_t status)
{
    h->wb.status = status;
    tessera_irq_head(h, TSR_CRTC_INT_WRITEBACK);
}

/* The writeback waits for the commit that the caller has just counted. */
void tessera_writeback_begin(TesseraHead *h)
{
    if (!h->wb_capture) {
        return;
    }
    h->wb_capture = false;
    h->wb = (TesseraWriteback) {
        .addr = h->wb_addr, .pitch = h->wb_pitch, .commit = h->committed,
        .status = TSR_WB_PENDING,
    };
    if (!h->enabled) {
        writeback_end(h, TSR_WB_FAILED);
    }
}

/* Called when no frame will follow. */
void tessera_writeback_cancel(TesseraHead *h)
{
    if (h->wb.status == TSR_WB_PENDING) {
        writeback_end(h, TSR_WB_FAILED);
    }
}

/* Whether the new frame shows the commit that the writeback waits for. */
static bool writeback_due(const TesseraHead *h)
{
    return h->wb.status == TSR_WB_PENDING &&
           (int32_t)(h->latched - h->wb.commit) >= 0;
}

static uint32_t writeback_open(TesseraHead *h, TesseraRun *run)
{
    uint64_t offset;

    if (!tessera_vram_find(h->s, h->wb.addr,
                           writeback_bytes(h, h->wb.pitch), &offset)) {
        return tessera_fault(&h->m, TSR_ERR_ADDRESS, TSR_NUM_PLANES,
                             h->wb.addr);
    }
    return tessera_vram_rows_begin(&h->m, offset,
                                   tessera_head_width(h) * PIXEL_BYTES,
                                   h->wb.pitch, tessera_head_height(h), true,
                                   TSR_NUM_PLANES, run);
}

static void writeback_close(TesseraHead *h, TesseraRun *run, uint32_t err)
{
    if (!err) {
        err = tessera_run_end(&h->m, run, run->len);
        tessera_access_flush(&h->m);
    }
    trace_tessera_writeback(h->index, h->wb.addr, h->wb.pitch, err);
    if (err) {
        tessera_guest_error(&h->m, err, h->m.fault_addr);
    }
    writeback_end(h, err ? TSR_WB_FAILED : TSR_WB_DONE);
}

/* ---- Frames -------------------------------------------------------------- */

bool tessera_capture_wanted(const TesseraHead *h)
{
    return h->crc_enabled || h->wb.status == TSR_WB_PENDING;
}

/* Whether the next vblank needs no picture, or the time budget allows one. */
bool tessera_capture_now(const TesseraHead *h)
{
    return !tessera_capture_wanted(h) || tessera_budget_allows(h->s);
}

/*
 * Pass over all rows once. Return their CRC, and copy them to @to if not NULL.
 */
static uint32_t take_rows(TesseraHead *h, uint8_t *to)
{
    uint32_t width = tessera_head_width(h), crc = crc32(0, NULL, 0);
    TesseraFrame f;

    tessera_frame_begin(h, &f);
    for (uint32_t y = 0; y < tessera_head_height(h); y++) {
        uint32_t *row = (uint32_t *)tessera_frame_row(&f, y);

        for (uint32_t x = 0; HOST_BIG_ENDIAN && x < width; x++) {
            row[x] = cpu_to_le32(row[x]);
        }
        crc = crc32(crc, (uint8_t *)row, width * PIXEL_BYTES);
        if (to) {
            memcpy(to + (uint64_t)y * h->wb.pitch, row, width * PIXEL_BYTES);
        }
    }
    tessera_frame_end(&f);
    return crc;
}

static void capture(TesseraHead *h, uint64_t frames, bool write)
{
    TesseraRun run = { .ptr = NULL };
    uint64_t begin = tessera_clock_ns();
    uint32_t err = write ? writeback_open(h, &run) : TSR_ERR_NONE, crc;

    tessera_range_views_write_back(h->s);
    crc = take_rows(h, run.ptr);
    if (write) {
        writeback_close(h, &run, err);
    }
    if (h->crc_enabled) {
        for (uint32_t n = MIN(frames, TSR_CRC_QUEUE); n; n--) {
            crc_push(h, h->vblank_count - n + 1, crc);
        }
        trace_tessera_crc(h->index, h->vblank_count, crc);
        tessera_irq_head(h, TSR_CRTC_INT_CRC);
    }
    tessera_budget_spend(h->s, begin);
}

/*
 * The last @frames vblanks have begun a frame each. Frames that came too late
 * to be composed one by one share one picture. They have none if writes of
 * registers, which do not wait, have overdrawn the budget.
 */
void tessera_capture_frame(TesseraHead *h, uint64_t frames)
{
    bool write = writeback_due(h);

    if (!h->crc_enabled && !write) {
        return;
    }
    if (tessera_budget_overdraws(h->s)) {
        capture(h, frames, write);
        return;
    }
    trace_tessera_no_picture(h->index, h->vblank_count, frames);
    if (write) {
        writeback_end(h, TSR_WB_FAILED);
    }
}
