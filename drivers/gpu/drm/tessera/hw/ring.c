// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: rings
 *
 * The ring of one engine, with its status page and its job records. A ring is
 * an array of slots of TESSERA_RING_SLOT_BYTES. Each job fills one slot with
 * JOB_BEGIN, JOB_AFTER if needed, its IB_CALLs, padding and a FENCE. It uses
 * the record of the same index. Free space is thus counted in jobs, as are the
 * scheduler's credits. A preempted job has RESUME in the place of JOB_BEGIN,
 * followed by the same packets.
 *
 * This file takes no lock: the engine calls everything but stop under its
 * spinlock, or while no other thread uses the ring.
 */

#include <linux/dma-mapping.h>

#include <drm/drm_managed.h>

#include "base/device.h"
#include "hw/abi_check.h"
#include "hw/hw.h"

#define TESSERA_RING_BYTES	(TESSERA_RING_SLOTS * TESSERA_RING_SLOT_BYTES)
#define TESSERA_RECORD_BYTES	(TESSERA_RING_SLOTS * TSR_REC_BYTES)
#define TESSERA_STOP_TIMEOUT_US	(2 * USEC_PER_SEC)

static_assert(TESSERA_RING_SLOTS * TESSERA_RING_SLOT_BYTES >= TSR_RING_MIN_BYTES);
static_assert(TESSERA_RING_SLOTS * TESSERA_RING_SLOT_BYTES <= TSR_RING_MAX_BYTES);
static_assert(sizeof(struct tessera_pkt_job_begin) + sizeof(struct tessera_pkt_job_after) +
	      sizeof(struct tessera_pkt_set_vm) + sizeof(struct tessera_pkt_ib_call) +
	      TESSERA_RING_MAX_CALLS * sizeof(struct tessera_pkt_ib_call) +
	      sizeof(struct tessera_pkt_fence) + TSR_PKT_ALIGN <= TESSERA_RING_SLOT_BYTES);

struct tessera_ring {
	struct tessera_device *tdev;
	u32 engine;
	/* Byte offset of the next slot. */
	u32 tail;
	u8 *cpu;
	dma_addr_t dma;
	struct tessera_status_page *status;
	dma_addr_t status_dma;
	struct tessera_record *records;
	dma_addr_t records_dma;
	/* Context save areas, if the device can preempt. */
	struct tessera_save *saves[TESSERA_RING_SAVES];
	dma_addr_t saves_dma[TESSERA_RING_SAVES];
};

static bool ring_create_saves(struct tessera_ring *ring)
{
	struct tessera_device *tdev = ring->tdev;
	u32 i;

	if (!(tdev->info.caps & TSR_CAP_PREEMPTION))
		return true;
	for (i = 0; i < TESSERA_RING_SAVES; i++) {
		ring->saves[i] = dmam_alloc_coherent(tdev->drm.dev,
						     TSR_SAVE_BYTES(tdev->info.num_slots),
						     &ring->saves_dma[i], GFP_KERNEL);
		if (!ring->saves[i])
			return false;
	}

	return true;
}

/**
 * tessera_ring_create() - allocate a ring
 * @tdev: the device
 * @engine: index of the engine
 *
 * The struct lives as long as the DRM device, the DMA memory as long as the
 * hardware is bound.
 *
 * Return: the ring, or an error pointer.
 */
struct tessera_ring *tessera_ring_create(struct tessera_device *tdev, u32 engine)
{
	struct device *dev = tdev->drm.dev;
	struct tessera_ring *ring;

	ring = drmm_kzalloc(&tdev->drm, sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->tdev = tdev;
	ring->engine = engine;
	ring->cpu = dmam_alloc_coherent(dev, TESSERA_RING_BYTES, &ring->dma, GFP_KERNEL);
	ring->status = dmam_alloc_coherent(dev, TSR_PAGE_SIZE, &ring->status_dma,
					   GFP_KERNEL);
	ring->records = dmam_alloc_coherent(dev, TESSERA_RECORD_BYTES,
					    &ring->records_dma, GFP_KERNEL);
	if (!ring->cpu || !ring->status || !ring->records || !ring_create_saves(ring))
		return ERR_PTR(-ENOMEM);

	return ring;
}

/**
 * tessera_ring_start() - set the ring of a stopped engine and enable the engine
 * @ring: the ring; it starts empty
 *
 * Return: 0, or -EIO if the engine refuses.
 */
int tessera_ring_start(struct tessera_ring *ring)
{
	struct tessera_device *tdev = ring->tdev;
	u32 base = TSR_ENG(ring->engine);
	u32 status;

	ring->tail = 0;
	memset(ring->status, 0, TSR_PAGE_SIZE);
	tessera_write64(tdev, base + TSR_ENG_RING_LO, ring->dma);
	tessera_write32(tdev, base + TSR_ENG_RING_SIZE, TESSERA_RING_BYTES);
	tessera_write64(tdev, base + TSR_ENG_STATUS_PAGE_LO, ring->status_dma);
	tessera_write32(tdev, base + TSR_ENG_CONTROL, TSR_ENG_ENABLE);

	status = tessera_read32(tdev, base + TSR_ENG_STATUS);
	return (status & (TSR_ENGS_HALTED | TSR_ENGS_RESETTING)) ? -EIO : 0;
}

/**
 * tessera_ring_stop() - reset the engine and wait until it has stopped
 * @ring: the ring
 *
 * After success the device no longer accesses the ring, the status page, the
 * records or any indirect buffer. May sleep.
 *
 * Return: 0, or -ETIMEDOUT if the engine does not answer.
 */
int tessera_ring_stop(struct tessera_ring *ring)
{
	u32 base = TSR_ENG(ring->engine);

	tessera_write32(ring->tdev, base + TSR_ENG_CONTROL, TSR_ENG_RESET);
	return tessera_poll32(ring->tdev, base + TSR_ENG_STATUS, TSR_ENGS_RESETTING, 0,
			      TESSERA_STOP_TIMEOUT_US);
}

static u32 tessera_ring_write_call(void *at, const struct tessera_ring_call *call, u32 flags)
{
	struct tessera_pkt_ib_call *pkt = at;

	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_IB_CALL, flags, TSR_IB_CALL_DWORDS));
	pkt->total = cpu_to_le32(call->total);
	pkt->pages_lo = cpu_to_le32(lower_32_bits(call->pages));
	pkt->pages_hi = cpu_to_le32(upper_32_bits(call->pages));
	pkt->start = cpu_to_le32(call->start);
	pkt->end = cpu_to_le32(call->end);

	return sizeof(*pkt);
}

static u32 tessera_ring_write_after(const struct tessera_ring *ring, void *at, u32 slot)
{
	dma_addr_t record = ring->records_dma + slot * TSR_REC_BYTES;
	struct tessera_pkt_job_after *pkt = at;

	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_JOB_AFTER, 0, TSR_JOB_AFTER_DWORDS));
	pkt->zero = 0;
	pkt->record_lo = cpu_to_le32(lower_32_bits(record));
	pkt->record_hi = cpu_to_le32(upper_32_bits(record));

	return sizeof(*pkt);
}

static u32 ring_write_resume(const struct tessera_ring *ring, void *at, u32 save)
{
	struct tessera_pkt_resume *pkt = at;

	pkt->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_RESUME, 0, TSR_RESUME_DWORDS));
	pkt->zero = 0;
	pkt->save_lo = cpu_to_le32(lower_32_bits(ring->saves_dma[save]));
	pkt->save_hi = cpu_to_le32(upper_32_bits(ring->saves_dma[save]));

	return sizeof(*pkt);
}

static u32 ring_write_nop(void *at, u32 dwords)
{
	*(__le32 *)at = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_NOP, 0, dwords));

	return dwords * sizeof(u32);
}

static u32 tessera_ring_write_vm(void *at, const struct tessera_ring_job *job)
{
	struct tessera_pkt_set_vm *set = at;
	const struct tessera_ring_call call = {
		.pages = job->vm_cmds, .total = job->vm_bytes, .end = job->vm_bytes,
	};

	set->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS));
	set->asid = cpu_to_le32(job->vm_asid);
	set->root_lo = cpu_to_le32(lower_32_bits(job->vm_root));
	set->root_hi = cpu_to_le32(upper_32_bits(job->vm_root));

	return sizeof(*set) + tessera_ring_write_call(at + sizeof(*set), &call,
						      TSR_IB_USER | TSR_IB_VM);
}

/* Returns the number of bytes written. */
static u32 tessera_ring_write_job(const struct tessera_ring *ring, void *at,
				  const struct tessera_ring_job *job)
{
	struct tessera_pkt_job_begin *begin = at;
	u32 bytes = sizeof(*begin);
	unsigned int i;

	if (job->empty)
		return 0;
	begin->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0,
						   TSR_JOB_BEGIN_DWORDS));
	begin->context = cpu_to_le32(job->context_id);
	begin->zero = 0;
	if (job->resume)
		ring_write_resume(ring, at, job->save);
	if (job->after)
		bytes += tessera_ring_write_after(ring, at + bytes, job->after_slot);
	else if (job->may_be_after)
		bytes += ring_write_nop(at + bytes, TSR_JOB_AFTER_DWORDS);
	if (job->vm_root)
		bytes += tessera_ring_write_vm(at + bytes, job);
	for (i = 0; i < job->num_calls; i++)
		bytes += tessera_ring_write_call(at + bytes, &job->calls[i],
						 job->calls[i].user ? TSR_IB_USER : 0);

	return bytes;
}

/**
 * tessera_ring_emit() - write a job into the next slot
 * @ring: the ring; the caller knows that a slot is free
 * @job: the job
 * @seqno: value of its fence, larger than all before
 *
 * The device sees the job after tessera_ring_kick().
 *
 * Return: index of the slot, for tessera_ring_result().
 */
u32 tessera_ring_emit(struct tessera_ring *ring, const struct tessera_ring_job *job,
		      u64 seqno)
{
	u32 slot = ring->tail / TESSERA_RING_SLOT_BYTES;
	dma_addr_t record = ring->records_dma + slot * TSR_REC_BYTES;
	u8 *at = ring->cpu + ring->tail;
	u8 *end = at + TESSERA_RING_SLOT_BYTES;
	struct tessera_pkt_fence *fence = (void *)(end - sizeof(*fence));

	if (job->empty)
		record = 0;
	at += tessera_ring_write_job(ring, at, job);
	ring_write_nop(at, ((u8 *)fence - at) / sizeof(u32));

	fence->header = cpu_to_le32(TSR_PKT_HEADER(TSR_OP_FENCE, TSR_FENCE_INTERRUPT,
						   TSR_FENCE_DWORDS));
	fence->zero = 0;
	fence->value_lo = cpu_to_le32(lower_32_bits(seqno));
	fence->value_hi = cpu_to_le32(upper_32_bits(seqno));
	fence->record_lo = cpu_to_le32(lower_32_bits(record));
	fence->record_hi = cpu_to_le32(upper_32_bits(record));

	ring->tail = (ring->tail + TESSERA_RING_SLOT_BYTES) % TESSERA_RING_BYTES;

	return slot;
}

/**
 * tessera_ring_copy() - copy the contents of a slot, for a crash record
 * @ring: the ring
 * @slot: as returned by tessera_ring_emit()
 * @to: TESSERA_RING_SLOT_BYTES bytes
 */
void tessera_ring_copy(const struct tessera_ring *ring, u32 slot, void *to)
{
	memcpy(to, ring->cpu + slot * TESSERA_RING_SLOT_BYTES, TESSERA_RING_SLOT_BYTES);
}

/**
 * tessera_ring_kick() - ring the doorbell
 * @ring: the ring, of an enabled engine
 */
void tessera_ring_kick(struct tessera_ring *ring)
{
	/* writel() orders the slots before the doorbell. */
	tessera_write32(ring->tdev, TSR_DOORBELL(ring->engine), ring->tail);
}

/**
 * tessera_ring_preempt() - ask the engine to save its job and to stop
 * @ring: the ring, of an enabled engine that has answered all earlier requests
 * @save: the save area, below TESSERA_RING_SAVES; no saved job uses it
 *
 * The engine has stopped, and forgotten the ring, when its status has
 * TSR_ENGS_PREEMPTED.
 */
void tessera_ring_preempt(struct tessera_ring *ring, u32 save)
{
	u32 base = TSR_ENG(ring->engine);

	tessera_write64(ring->tdev, base + TSR_ENG_SAVE_LO, ring->saves_dma[save]);
	tessera_write32(ring->tdev, base + TSR_ENG_CONTROL, TSR_ENG_ENABLE | TSR_ENG_PREEMPT);
}

/**
 * tessera_ring_has_saved() - ask whether a save area has a job to resume
 * @ring: the ring; the engine is stopped
 * @save: the save area
 *
 * Return: false if the engine has resumed the job, or has saved none there.
 */
bool tessera_ring_has_saved(struct tessera_ring *ring, u32 save)
{
	/* The device writes the area before its status. */
	dma_rmb();

	return le32_to_cpu(READ_ONCE(ring->saves[save]->magic)) == TSR_SAVE_JOB;
}

/**
 * tessera_ring_saved() - read what an engine has saved
 * @ring: the ring; the engine is preempted
 * @save: the save area of the request
 * @saved: filled in
 */
void tessera_ring_saved(struct tessera_ring *ring, u32 save, struct tessera_ring_saved *saved)
{
	struct tessera_save *area = ring->saves[save];
	bool begun = tessera_ring_has_saved(ring, save);
	u32 head = le32_to_cpu(READ_ONCE(area->head));

	saved->slot = head / TESSERA_RING_SLOT_BYTES;
	saved->begun = begun && head % TESSERA_RING_SLOT_BYTES;
	saved->active_ns = saved->begun ? le64_to_cpu(READ_ONCE(area->active_ns)) : 0;
}

/**
 * tessera_ring_ack() - acknowledge the interrupt and read the progress
 * @ring: the ring
 *
 * Return: value of the last fence executed.
 */
u64 tessera_ring_ack(struct tessera_ring *ring)
{
	struct tessera_status_page *status = ring->status;

	WRITE_ONCE(status->irq_ack, READ_ONCE(status->irq_sent));
	/*
	 * Pairs with the device's barrier between writing SEQNO and comparing
	 * IRQ_ACK with IRQ_SENT: either the driver sees the new SEQNO, or the
	 * device sees the acknowledgment and interrupts again.
	 */
	mb();
	return le64_to_cpu(READ_ONCE(status->seqno));
}

/**
 * tessera_ring_result() - read the record of a finished job
 * @ring: the ring
 * @slot: as returned by tessera_ring_emit()
 * @result: filled in
 *
 * The caller has seen the job's fence value with tessera_ring_ack(), and the
 * slot has not been used again.
 */
void tessera_ring_result(struct tessera_ring *ring, u32 slot,
			 struct tessera_ring_result *result)
{
	struct tessera_record *record = &ring->records[slot];

	/* The device writes the record before SEQNO. */
	dma_rmb();
	result->status = le32_to_cpu(READ_ONCE(record->status));
	result->offset = le32_to_cpu(READ_ONCE(record->offset));
	result->start_ns = le64_to_cpu(READ_ONCE(record->start_ns));
	result->end_ns = le64_to_cpu(READ_ONCE(record->end_ns));
}

/**
 * tessera_ring_status() - read the engine's status register
 * @ring: the ring
 *
 * Return: TSR_ENGS_*.
 */
u32 tessera_ring_status(struct tessera_ring *ring)
{
	return tessera_read32(ring->tdev, TSR_ENG(ring->engine) + TSR_ENG_STATUS);
}
