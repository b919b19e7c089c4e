/*
 * Tessera virtual GPU: addresses behind an IOMMU
 *
 * Finds the RAM at bus addresses. Without an IOMMU, or if the IOMMU passes the
 * address through, this is a lookup in an RCU-protected map, on any thread. The
 * translate() callback of an IOMMU needs the BQL: it may change hash tables
 * (amd-iommu), take locks that the BQL's holder has (virtio-iommu), switch
 * address spaces, log a fault or raise an interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "ram-map.h"
#include "tessera_iommu.h"
#include "trace.h"

/*
 * An engine thread never takes the BQL, because the BQL's holder may be waiting
 * for that engine. The engine posts a request and sleeps. One thread of the
 * process, the translator, takes the BQL and serves the requests of all
 * devices. A thread that holds the BQL and waits for an engine serves that
 * engine's requests itself (tessera_iommu_serve_waited()).
 *
 * Two alternatives do not work. A bottom half would not run, because the engine
 * sleeps inside an RCU critical section, and drain_call_rcu() waits in the main
 * loop for such sections. The engine cannot take the BQL itself, because pause,
 * reset and unplug wait for the engine with the BQL held.
 *
 * Nothing is cached beyond tessera_access_leave(), because not every IOMMU
 * reports invalidations: amd-iommu (QEMU 10.0) reports none. intel-iommu
 * reports an invalidation of all mappings only to listeners that shadow the
 * page tables. One request translates up to RAM_MAP_RUNS pages of the requested
 * bytes, so a piece of work mostly needs one request.
 */
static QemuEvent asked;                 /* some engine has posted a request */
static QLIST_HEAD(, TesseraPCIState) devices;      /* BQL */

/* ---- Requests ------------------------------------------------------------ */

/*
 * Serve the request of an engine, if it has one. The engine has been in an RCU
 * critical section since before this, so the runs stay valid until it uses
 * them.
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
        ram_runs_find(e->m.map->as, l->addr, l->len, l->write, &found);
    }
    trace_tessera_iommu_find(e->index, l->addr, l->len, l->write, found.num);

    qemu_mutex_lock(&e->lock);
    /* A nested tessera_iommu_serve_waited() may have answered it meanwhile. */
    if (l->state == TESSERA_LOOKUP_SERVED) {
        e->m.map->found = found;
        l->state = TESSERA_LOOKUP_IDLE;
        qemu_cond_broadcast(&e->ack_cond);
    }
    qemu_mutex_unlock(&e->lock);
}

/*
 * Serve the engine's request from a thread that holds the BQL and waits for the
 * engine. e->lock is held on entry and exit. If a request is being served right
 * now, this same thread serves it further up the stack: the translation itself
 * has led here, for example by logging a fault to a register. Answer that
 * request with no RAM, so that the engine makes progress.
 *
 * Without @translate, answer every request so. A reset by the machine must not
 * affect other devices or guest memory in its enter phase, and the IOMMU would
 * write its report of a fault to an address that the guest has chosen.
 */
void tessera_iommu_serve_waited(TesseraEngine *e, bool translate)
{
    if (e->lookup.state == TESSERA_LOOKUP_SERVED ||
        (e->lookup.state == TESSERA_LOOKUP_ASKED && !translate)) {
        e->m.map->found.num = 0;
        e->lookup.state = TESSERA_LOOKUP_IDLE;
        qemu_cond_broadcast(&e->ack_cond);
    } else if (e->lookup.state == TESSERA_LOOKUP_ASKED) {
        qemu_mutex_unlock(&e->lock);
        serve(e);
        qemu_mutex_lock(&e->lock);
    }
}

/*
 * A fault may unplug the device whose request is served. Then the device is no
 * longer in the list, and the next pass serves the devices behind it.
 */
static void serve_all(void)
{
    TesseraPCIState *d;

    QLIST_FOREACH(d, &devices, next) {
        TesseraState *s = &d->state;

        for (uint32_t i = 0; i < s->num_engines; i++) {
            serve(&s->engines[i]);
        }
        if (s->gone) {
            qemu_event_set(&asked);
            return;
        }
    }
}

static void *translator_thread(void *opaque)
{
    rcu_register_thread();
    for (;;) {
        qemu_event_wait(&asked);
        qemu_event_reset(&asked);
        bql_lock();
        serve_all();
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
 * Look up the RAM at @addr in m->map, and at the addresses behind it up to @len
 * bytes. Called inside an RCU critical section.
 */
void tessera_iommu_find(TesseraMaster *m, uint64_t addr, uint64_t len,
                        bool write)
{
    ram_map_restart(m->map, write);
    if (bql_locked() || !ram_map_needs_iommu(m->map, addr)) {
        ram_map_find(m->map, addr);
    } else {
        ask(m, addr, len, write);
    }
}

/* ---- Life cycle ---------------------------------------------------------- */

/* Called before the engines start. */
void tessera_iommu_init(TesseraState *s)
{
    QLIST_INSERT_HEAD(&devices, tessera_pci(s), next);
}

/* Called after the engines have ended. */
void tessera_iommu_fini(TesseraState *s)
{
    QLIST_REMOVE(tessera_pci(s), next);
}
