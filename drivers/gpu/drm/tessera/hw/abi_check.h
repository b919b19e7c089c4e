/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ABI_CHECK_H__
#define __TESSERA_ABI_CHECK_H__

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <tessera/tessera_hw.h>

#include "hw/abi.h"

#define TESSERA_CHECK_OFFSET(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset))
#define TESSERA_CHECK_DWORDS(type, dwords) \
	static_assert(sizeof(struct type) == 4 * (dwords))

TESSERA_CHECK_OFFSET(tessera_status_page, seqno, TSR_SP_SEQNO);
TESSERA_CHECK_OFFSET(tessera_status_page, head, TSR_SP_HEAD);
TESSERA_CHECK_OFFSET(tessera_status_page, irq_sent, TSR_SP_IRQ_SENT);
TESSERA_CHECK_OFFSET(tessera_status_page, irq_ack, TSR_SP_IRQ_ACK);
static_assert(sizeof(struct tessera_status_page) <= TSR_PAGE_SIZE);

TESSERA_CHECK_OFFSET(tessera_record, seqno, TSR_REC_SEQNO);
TESSERA_CHECK_OFFSET(tessera_record, status, TSR_REC_STATUS);
TESSERA_CHECK_OFFSET(tessera_record, offset, TSR_REC_OFFSET);
TESSERA_CHECK_OFFSET(tessera_record, start_ns, TSR_REC_START_NS);
TESSERA_CHECK_OFFSET(tessera_record, end_ns, TSR_REC_END_NS);
static_assert(sizeof(struct tessera_record) == TSR_REC_BYTES);

TESSERA_CHECK_DWORDS(tessera_pkt_job_begin, TSR_JOB_BEGIN_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_ib_call, TSR_IB_CALL_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_job_after, TSR_JOB_AFTER_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_resume, TSR_RESUME_DWORDS);
static_assert(sizeof(struct tessera_pkt_resume) == sizeof(struct tessera_pkt_job_begin));
TESSERA_CHECK_OFFSET(tessera_save, magic, TSR_SAVE_MAGIC);
TESSERA_CHECK_OFFSET(tessera_save, head, TSR_SAVE_HEAD);
TESSERA_CHECK_OFFSET(tessera_save, active_ns, TSR_SAVE_ACTIVE_NS);
TESSERA_CHECK_DWORDS(tessera_pkt_set_vm, TSR_SET_VM_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_fence, TSR_FENCE_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_signal, TSR_SIGNAL_DWORDS);
TESSERA_CHECK_DWORDS(tessera_pkt_bind_slot, TSR_BIND_SLOT_DWORDS);
TESSERA_CHECK_OFFSET(tessera_pkt_bind_slot, base_lo, TSR_BIND_PATCH_OFFSET);
TESSERA_CHECK_OFFSET(tessera_pkt_bind_slot, surface,
		     TSR_BIND_PATCH_OFFSET + TSR_BIND_PATCH_BYTES);
TESSERA_CHECK_DWORDS(tessera_pkt_transfer, TSR_TRANSFER_DWORDS);
static_assert(sizeof(struct tessera_fw_header) == TSR_FW_HEADER_BYTES);

#endif /* __TESSERA_ABI_CHECK_H__ */
