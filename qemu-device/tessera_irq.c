/*
 * Tessera virtual GPU: interrupts
 *
 * Owns the MSI-X vectors and the interrupt block. Engine threads only set
 * pending bits. A bottom half in the main loop raises the vectors, so that no
 * engine thread needs the BQL. Called by every unit above.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "hw/pci/msix.h"
#include "tessera_irq.h"
#include "trace.h"

static void irq_bh(void *opaque)
{
    TesseraState *s = opaque;
    PCIDevice *pdev = PCI_DEVICE(tessera_pci(s));
    unsigned int vector;
    uint32_t pending;

    if (!s->vm_running) {
        return; /* tessera_irq_resume() schedules it again */
    }
    pending = qatomic_xchg(&s->irq_pending, 0);
    for (vector = 0; vector < TSR_NUM_VECTORS; vector++) {
        if ((pending & (1u << vector)) && msix_enabled(pdev)) {
            trace_tessera_irq_raise(vector);
            msix_notify(pdev, vector);
        }
    }
}

/*
 * The machine runs again, or runs here after migration: raise pending
 * interrupts.
 */
void tessera_irq_resume(TesseraState *s)
{
    if (qatomic_read(&s->irq_pending)) {
        qemu_bh_schedule(tessera_pci(s)->irq_bh);
    }
}

/*
 * There is no BH any more if a register write under the BQL has asked an IOMMU
 * for an address, and its fault has unplugged the device.
 */
static void irq_raise(TesseraState *s, unsigned int vector)
{
    QEMUBH *bh = tessera_pci(s)->irq_bh;

    qatomic_or(&s->irq_pending, 1u << vector);
    if (bh) {
        qemu_bh_schedule(bh);
    }
}

void tessera_irq_init(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    d->irq_bh = qemu_bh_new_guarded(irq_bh, s,
                                    &DEVICE(d)->mem_reentrancy_guard);
}

void tessera_irq_fini(TesseraState *s)
{
    TesseraPCIState *d = tessera_pci(s);

    if (d->irq_bh) {
        qemu_bh_delete(d->irq_bh);
        d->irq_bh = NULL;
    }
}

/*
 * Raise vector 0, unless the event is masked, or the guest has not acknowledged
 * the same event yet.
 */
void tessera_irq_event(TesseraState *s, uint32_t bit)
{
    uint32_t old = qatomic_fetch_or(&s->int_status, bit);

    trace_tessera_irq_event(bit, old | bit, qatomic_read(&s->int_mask));
    smp_mb__after_rmw(); /* status before mask: tessera_irq_mask_changed() */
    if (!(old & bit) && (qatomic_read(&s->int_mask) & bit)) {
        irq_raise(s, TSR_VECTOR_ERROR);
    }
}

void tessera_irq_mask_changed(TesseraState *s)
{
    smp_mb(); /* mask before status: one of the two sees the other's write */
    if (qatomic_read(&s->int_status) & qatomic_read(&s->int_mask)) {
        irq_raise(s, TSR_VECTOR_ERROR);
    }
}

static bool take_injected_drop(TesseraState *s)
{
    uint32_t left = qatomic_read(&s->drop_irq);

    while (left) {
        uint32_t seen = qatomic_cmpxchg(&s->drop_irq, left, left - 1);

        if (seen == left) {
            return true;
        }
        left = seen;
    }
    return false;
}

void tessera_irq_engine(TesseraEngine *e)
{
    if (qatomic_read(&e->halt_job) == 1 || take_injected_drop(e->s)) {
        trace_tessera_irq_dropped(TSR_VECTOR_ENGINE(e->index));
        return;
    }
    irq_raise(e->s, TSR_VECTOR_ENGINE(e->index));
}

/* The same for a head. All its events happen under the BQL. */
void tessera_irq_head(TesseraHead *h, uint32_t bit)
{
    bool fresh = !(h->int_status & bit);

    h->int_status |= bit;
    if (fresh && (h->int_mask & bit)) {
        irq_raise(h->s, TSR_VECTOR_DISPLAY);
    }
}

void tessera_irq_head_mask_changed(TesseraHead *h)
{
    if (h->int_status & h->int_mask) {
        irq_raise(h->s, TSR_VECTOR_DISPLAY);
    }
}

void tessera_irq_reset(TesseraState *s)
{
    qatomic_set(&s->irq_pending, 0);
    qatomic_set(&s->int_mask, 0);
    qatomic_set(&s->int_status, 0);
}
