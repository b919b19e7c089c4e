/*
 * Tessera virtual GPU: addresses behind an IOMMU
 *
 * Finds the RAM at bus addresses. Without an IOMMU on the way, or with one that
 * lets the address pass, that is a lookup in an RCU-protected map, on any
 * thread. An IOMMU's translate() needs the BQL: it may change hash tables
 * (amd-iommu), take locks that the BQL's holder has (virtio-iommu), switch
 * address spaces, log a fault or raise an interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "tessera_iommu.h"
#include "trace.h"

/*
 * An engine thread never takes the BQL, because the BQL's holder may be waiting
 * for that engine. The engine posts a request and sleeps. One thread of the
 * process, the translator, takes the BQL and serves the requests of all
 * devices. A thread that holds the BQL and waits for an engine serves that
 * engine's requests itself (tessera_iommu_serve_waited()). Neither a bottom half
 * nor a BQL taken in the engine would do: the engine sleeps inside an RCU
 * critical section, for which drain_call_rcu() waits in the main loop, and
 * pause, reset and unplug wait for the engine with the BQL held.
 *
 * Nothing is cached beyond tessera_access_leave(). amd-iommu (QEMU 10.0) tells
 * nobody of invalidations, and intel-iommu tells of those that concern all
 * mappings only listeners that shadow the page tables. One request translates
 * up to RAM_MAP_RUNS pages of the bytes asked for, so a piece of work mostly
 * needs one.
 */
static QemuEvent asked;                 /* some engine has posted a request */
static QLIST_HEAD(, TesseraState) devices;      /* BQL */

/* ---- Requests ------------------------------------------------------------ */

/*
 * Serve an engine's request, if it has one. The engine is in an RCU critical
 * section that began before this, so what is found stays until it uses it.
 */
static void serve(TesseraEngine *e)
{
    TesseraLookup *l = &e->lookup;
    RamRuns found;

    qemu_mutex_lock(&e->lock);
    if (l->state != TESSERA_LOOKUP_ASKED) {
        qemu_mutex_unlock(&e->lock);
        return;
    }
    l->state = TESSERA_LOOKUP_SERVED;
    qemu_mutex_unlock(&e->lock);

    WITH_RCU_READ_LOCK_GUARD() {
        ram_runs_find(e->m.ram.as, l->addr, l->len, l->write, &found);
    }
    trace_tessera_iommu_find(e->index, l->addr, l->len, l->write, found.num);

    qemu_mutex_lock(&e->lock);
    /* Answered meanwhile by tessera_iommu_serve_waited(), further in? */
    if (l->state == TESSERA_LOOKUP_SERVED) {
        e->m.ram.found = found;
        l->state = TESSERA_LOOKUP_IDLE;
        qemu_cond_broadcast(&e->ack_cond);
    }
    qemu_mutex_unlock(&e->lock);
}

/*
 * For a thread that holds the BQL and waits for the engine, and for e->lock,
 * which is held on entry and exit. A request that is being served now is served
 * by this same thread, further out: the translation itself (a fault that is
 * logged to a register, say) has led here. It finds nothing, so that the engine
 * gets on.
 */
void tessera_iommu_serve_waited(TesseraEngine *e)
{
    if (e->lookup.state == TESSERA_LOOKUP_SERVED) {
        e->m.ram.found.num = 0;
        e->lookup.state = TESSERA_LOOKUP_IDLE;
        qemu_cond_broadcast(&e->ack_cond);
    } else if (e->lookup.state == TESSERA_LOOKUP_ASKED) {
        qemu_mutex_unlock(&e->lock);
        serve(e);
        qemu_mutex_lock(&e->lock);
    }
}

static void *translator_thread(void *opaque)
{
    rcu_register_thread();
    for (;;) {
        TesseraState *s;

        qemu_event_wait(&asked);
        qemu_event_reset(&asked);
        bql_lock();
        QLIST_FOREACH(s, &devices, next) {
            for (uint32_t i = 0; i < s->num_engines; i++) {
                serve(&s->engines[i]);
            }
        }
        bql_unlock();
    }
    return NULL;
}

static void *start_translator(void *opaque)
{
    QemuThread thread;

    qemu_event_init(&asked, false);
    qemu_thread_create(&thread, "tessera-iommu", translator_thread, NULL,
                       QEMU_THREAD_DETACHED);
    return NULL;
}

static void ask(TesseraMaster *m, uint64_t addr, uint64_t len, bool write)
{
    static GOnce once = G_ONCE_INIT;
    TesseraEngine *e = &m->s->engines[m->id];
    TesseraLookup *l = &e->lookup;

    g_once(&once, start_translator, NULL);
    qemu_mutex_lock(&e->lock);
    l->addr = addr;
    l->len = len;
    l->write = write;
    l->state = TESSERA_LOOKUP_ASKED;
    qemu_cond_broadcast(&e->ack_cond);
    qemu_event_set(&asked);
    while (l->state != TESSERA_LOOKUP_IDLE) {
        qemu_cond_wait(&e->ack_cond, &e->lock);
    }
    qemu_mutex_unlock(&e->lock);
}

/*
 * Look up the RAM at @addr, and at addresses behind it as far as @len bytes
 * go: m->ram. Called inside an RCU critical section.
 */
void tessera_iommu_find(TesseraMaster *m, uint64_t addr, uint64_t len,
                        bool write)
{
    ram_map_restart(&m->ram, write);
    if (bql_locked() || !ram_map_needs_iommu(&m->ram, addr)) {
        ram_map_find(&m->ram, addr);
    } else {
        ask(m, addr, len, write);
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

/* Before the engines start. */
void tessera_iommu_init(TesseraState *s)
{
    QLIST_INSERT_HEAD(&devices, s, next);
}

/* When they have ended. */
void tessera_iommu_fini(TesseraState *s)
{
    QLIST_REMOVE(s, next);
}
