/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_ABI_H__
#define __TESSERA_ABI_H__

#include <linux/types.h>

/*
 * The device's memory formats as structs, with the packets that the driver fills
 * in member by member. It writes others as dwords (paging/ops.c,
 * vm/pt_write.c). The numbers come from tessera_hw.h. hw/abi_check.h asserts
 * that both agree.
 */

/* Engine status page. */
struct tessera_status_page {
	__le64 seqno;
	__le32 head;
	__le32 reserved;
	__le32 irq_sent;
	__le32 irq_ack;
};

/* Job record. */
struct tessera_record {
	__le64 seqno;
	__le32 status;
	__le32 offset;
	__le64 start_ns;
	__le64 end_ns;
};

struct tessera_pkt_job_begin {
	__le32 header;
	__le32 context;
	__le64 zero;
};

struct tessera_pkt_ib_call {
	__le32 header;
	__le32 total;
	__le32 pages_lo;
	__le32 pages_hi;
	__le32 start;
	__le32 end;
};

struct tessera_pkt_job_after {
	__le32 header;
	__le32 zero;
	__le32 record_lo;
	__le32 record_hi;
};

struct tessera_pkt_resume {
	__le32 header;
	__le32 zero;
	__le32 save_lo;
	__le32 save_hi;
};

/* Context save area, as far as the driver reads it. */
struct tessera_save {
	__le32 magic;
	__le32 head;
	__le32 offset;
	__le32 flags;
	__le64 active_ns;
};

struct tessera_pkt_set_vm {
	__le32 header;
	__le32 asid;
	__le32 root_lo;
	__le32 root_hi;
};

struct tessera_pkt_fence {
	__le32 header;
	__le32 zero;
	__le32 value_lo;
	__le32 value_hi;
	__le32 record_lo;
	__le32 record_hi;
};

struct tessera_pkt_signal {
	__le32 header;
	__le32 zero;
	__le32 addr_lo;
	__le32 addr_hi;
	__le32 value_lo;
	__le32 value_hi;
};

struct tessera_pkt_bind_slot {
	__le32 header;
	__le32 slot;
	__le32 base_lo;
	__le32 base_hi;
	__le32 limit_lo;
	__le32 limit_hi;
	__le32 surface;
	__le32 pitch;
	__le32 size;
	__le32 zero;
};

struct tessera_pkt_transfer {
	__le32 header;
	__le32 layouts;
	__le32 src_lo;
	__le32 src_hi;
	__le32 dst_lo;
	__le32 dst_hi;
	__le32 bytes_lo;
	__le32 bytes_hi;
	__le32 src_offset_lo;
	__le32 src_offset_hi;
	__le32 dst_offset_lo;
	__le32 dst_offset_hi;
	__le32 pitch;
	__le32 zero;
};

/* Microcode image. */
struct tessera_fw_header {
	__le32 magic;
	__le32 version;
	__le32 bytes;
	__le32 crc;
};

#endif /* __TESSERA_ABI_H__ */
