/*
 * Tessera virtual GPU: rings and indirect buffers
 *
 * Fetches each packet once, runs it, counts errors, and ends buffers or halts
 * the engine. The engine's thread is in this unit while it is busy. It holds no
 * lock, except that it takes the engine's lock to sleep in a WAIT.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "tessera_fetch.h"
#include "tessera_cmd.h"
#include "tessera_irq.h"
#include "tessera_strict.h"
#include "tessera_view.h"
#include "trace.h"

#define MAX_TIMEOUT_SHIFT 16    /* x-wait-poll-ms is the real limit */

/* ---- Fetching ------------------------------------------------------------ */

static uint32_t stream_left(TesseraEngine *e, uint32_t off)
{
    if (e->ib.active) {
        return e->ib.end - off;
    }
    return (qatomic_read(&e->tail) - off) & (e->ring_size - 1);
}

/* Read the DMA address of the IB page that contains offset @off. */
static uint32_t ib_page(TesseraEngine *e, uint32_t off, uint64_t *page)
{
    uint64_t entry = tessera_list_entry(e->ib.list, off >> TSR_PAGE_SHIFT);
    uint32_t err = tessera_dma_rw(&e->m, entry, page, sizeof(*page), false,
                                  true);

    *page = le64_to_cpu(*page);
    if (!err && (*page & (TSR_PAGE_SIZE - 1))) {
        return tessera_fault(&e->m, TSR_ERR_DMA, TESSERA_NO_SLOT, *page);
    }
    return err;
}

static uint32_t read_stream(TesseraEngine *e, uint32_t off, void *buf,
                            uint32_t bytes)
{
    uint32_t in_page = off & (TSR_PAGE_SIZE - 1), err;
    uint64_t page = e->ring + (off - in_page);

    if (e->ib.active && e->ib.vm) {
        TesseraView *v = e->scratch;

        tessera_view_vm(&e->m, v, e->ib.list + off, bytes, false,
                        TESSERA_NO_SLOT);
        return tessera_view_rw(v, 0, buf, bytes, false);
    }
    if (e->ib.active) {
        err = ib_page(e, off, &page);
        if (err) {
            return err;
        }
    }
    return tessera_dma_rw(&e->m, page + in_page, buf, bytes, false,
                          e->ib.active);
}

/* Read ahead from @off. At most @avail bytes may be read. */
static uint32_t refill(TesseraEngine *e, uint32_t off, uint32_t avail)
{
    TesseraWindow *w = &e->window;
    uint32_t at = off, err;

    if (e->ib.active && e->ib.vm) {
        at += e->ib.list;
    }
    w->start = off;
    w->bytes = MIN(avail, TSR_PAGE_SIZE - (at & (TSR_PAGE_SIZE - 1)));
    err = read_stream(e, off, w->data, w->bytes);
    if (err) {
        w->bytes = 0;
    }
    return err;
}

/*
 * Copy @bytes bytes from @off to @dst. The caller has checked that @avail is at
 * least @bytes, so it does not matter if the guest moves the tail meanwhile.
 */
static uint32_t fetch(TesseraEngine *e, uint32_t off, uint32_t bytes,
                      uint32_t avail, uint8_t *dst)
{
    TesseraWindow *w = &e->window;

    while (bytes) {
        uint32_t n, err;

        if (!w->bytes || off < w->start || off - w->start >= w->bytes) {
            err = refill(e, off, avail);
            if (err) {
                return err;
            }
        }
        n = MIN(bytes, w->bytes - (off - w->start));
        memcpy(dst, w->data + (off - w->start), n);
        dst += n;
        bytes -= n;
        avail -= n;
        off += n;
        if (!e->ib.active) {
            off &= e->ring_size - 1;
        }
    }
    return TSR_ERR_NONE;
}

/* Copy the packet at @off into e->packet. */
static uint32_t fetch_packet(TesseraEngine *e, uint32_t off, uint32_t *bytes)
{
    uint32_t left = stream_left(e, off), err;
    uint8_t *dst = (uint8_t *)e->packet;

    e->m.packet = e->packet[0] = 0;
    if (left < 8) {
        return TSR_ERR_RING;    /* the guest has just moved the tail back */
    }
    err = fetch(e, off, 8, left, dst);
    if (err) {
        return err;
    }
    le32_to_cpus(&e->packet[0]);
    e->m.packet = e->packet[0];
    *bytes = ((e->packet[0] & TSR_PKT_LENGTH_MASK) >> TSR_PKT_LENGTH_SHIFT) * 4;
    if (!tessera_cmd_length_ok(e->packet[0]) || *bytes > left) {
        return TSR_ERR_PACKET;
    }
    err = fetch(e, off, *bytes, left, dst);
    for (uint32_t i = 0; i < *bytes / 4; i++) {
        le32_to_cpus(&e->packet[i]);
    }
    return err;
}

/* ---- Running ------------------------------------------------------------- */

static void advance_ring(TesseraEngine *e, uint32_t bytes)
{
    qatomic_set(&e->head, (e->head + bytes) & (e->ring_size - 1));
}

static void end_ib(TesseraEngine *e)
{
    trace_tessera_ib_end(e->index, e->m.context, e->ib.cur, e->job_status);
    e->ib.active = false;
    e->window.bytes = 0;
    qatomic_set(&e->ib_offset, 0);
    advance_ring(e, TSR_IB_CALL_DWORDS * 4);
}

/* An error ends the current IB. In the ring itself it halts the engine. */
static void packet_failed(TesseraEngine *e, uint32_t err)
{
    tessera_guest_error(&e->m, err, e->m.fault_addr);
    e->transfer_open = false;
    if (!e->job_status) {
        e->job_status = err;
        e->job_status_offset = e->m.packet_offset;
    }
    if (e->ib.active) {
        end_ib(e);
        return;
    }
    trace_tessera_engine_halt(e->index, e->head, err);
    qatomic_set(&e->halted, true);
    tessera_irq_event(e->s, TSR_INT_ENGINE_HALT);
}

static void packet_done(TesseraEngine *e, uint32_t bytes, bool was_in_ib)
{
    if (was_in_ib) {
        e->ib.cur += bytes;
        qatomic_set(&e->ib_offset, e->ib.cur);
    } else if (e->ib.active) {
        e->window.bytes = 0;    /* IB_CALL: the head stays on this packet */
        qatomic_set(&e->ib_offset, e->ib.cur);
    } else {
        advance_ring(e, bytes);
    }
}

/*
 * Run one packet. Returns 0, also if the packet failed, or a TESSERA_* code
 * that is no error.
 */
static uint32_t run_packet(TesseraEngine *e)
{
    bool in_ib = e->ib.active;
    uint32_t bytes = 0, err;

    e->m.packet_offset = in_ib ? e->ib.cur : e->head;
    e->m.fault_slot = TESSERA_NO_SLOT;
    e->m.fault_addr = 0;
    e->m.fault_access = 0;
    err = fetch_packet(e, e->m.packet_offset, &bytes);
    if (!err) {
        err = tessera_cmd_execute(e, e->packet, in_ib, in_ib && e->ib.user);
    }
    tessera_access_flush(&e->m);
    if (err == TESSERA_RETRY || err == TESSERA_STOPPED ||
        err == TESSERA_RESUMED) {
        return err;
    }
    e->progress[0] = e->progress[1] = 0;
    e->wait_timeouts = 0;
    qatomic_set(&e->waiting, false);
    if (err) {
        packet_failed(e, err);
    } else {
        packet_done(e, bytes, in_ib);
    }
    return TSR_ERR_NONE;
}

/*
 * Sleep until a WAIT or FENCE_WAIT reads its value again. FENCE, SIGNAL,
 * FENCE_SIGNAL and TIMESTAMP packets, and doorbells of this engine, increment
 * TesseraState.signals and wake this engine. Stores of a CPU or of another
 * device do not, so the packet also reads again after 1, 2, 4... ms, up to
 * wait_poll_ms (0: only when woken).
 */
static void sleep_in_wait(TesseraEngine *e)
{
    uint32_t limit = qatomic_read(&e->s->wait_poll_ms);

    qemu_mutex_lock(&e->lock);
    smp_mb(); /* waiting before signals: pairs with wake_waits() */
    if (!e->m.attention && qatomic_read(&e->s->signals) == e->wait_seen) {
        if (!limit) {
            qemu_cond_wait(&e->cond, &e->lock);
        } else if (!qemu_cond_timedwait(&e->cond, &e->lock,
                                        MIN(1u << e->wait_timeouts, limit)) &&
                   e->wait_timeouts < MAX_TIMEOUT_SHIFT) {
            e->wait_timeouts++;
        }
    }
    qemu_mutex_unlock(&e->lock);
}

/* Run packets until the engine is idle or has a request. */
void tessera_fetch_run(TesseraEngine *e)
{
    while (!qatomic_read(&e->m.attention) && !e->halted && !e->hung) {
        if (e->ib.active && e->ib.cur == e->ib.end) {
            end_ib(e);
        } else if (!e->ib.active && e->head == qatomic_read(&e->tail)) {
            break;
        } else if (run_packet(e) == TESSERA_RETRY && e->waiting) {
            sleep_in_wait(e);
        }
    }
}
