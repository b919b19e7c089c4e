/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tessera

#if !defined(__TESSERA_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __TESSERA_TRACE_H__

#include <linux/tracepoint.h>
#include <linux/types.h>

#include <tessera/tessera_hw.h>

/*
 * Events for the decisions of the driver, read by tests and by the timeline
 * exporter. Fields are ids, sizes and offsets, never pointers. A job is
 * identified by its context and its number in the context. Segment 0 is system
 * memory.
 */

#define TESSERA_PAGING_TRANSFER	0
#define TESSERA_PAGING_FILL	1
#define TESSERA_PAGING_MAP	2
#define TESSERA_PAGING_UNMAP	3
#define TESSERA_PAGING_MARK	4
#define TESSERA_PAGING_DISCARD	5

#define tessera_show_paging(kind) \
	__print_symbolic(kind, \
			 { TESSERA_PAGING_TRANSFER, "transfer" }, \
			 { TESSERA_PAGING_FILL, "fill" }, \
			 { TESSERA_PAGING_MAP, "map" }, \
			 { TESSERA_PAGING_UNMAP, "unmap" }, \
			 { TESSERA_PAGING_MARK, "mark" }, \
			 { TESSERA_PAGING_DISCARD, "discard" })

#define TESSERA_EVICT_LRU	0
#define TESSERA_EVICT_PLAN	1
#define TESSERA_EVICT_CPU	2
#define TESSERA_EVICT_SHARE	3
#define TESSERA_EVICT_OTHER	4
#define TESSERA_EVICT_COMPACT	5

#define tessera_show_evict(reason) \
	__print_symbolic(reason, \
			 { TESSERA_EVICT_LRU, "lru" }, \
			 { TESSERA_EVICT_PLAN, "plan" }, \
			 { TESSERA_EVICT_CPU, "cpu" }, \
			 { TESSERA_EVICT_SHARE, "share" }, \
			 { TESSERA_EVICT_OTHER, "other" }, \
			 { TESSERA_EVICT_COMPACT, "compact" })

#define TESSERA_BACKING_DUMMY	0
#define TESSERA_BACKING_SYSTEM	1
#define TESSERA_BACKING_BAR	2
#define TESSERA_BACKING_HOST_APERTURE	3
#define TESSERA_BACKING_SWIZZLE_RANGE	4

#define tessera_show_backing(backing) \
	__print_symbolic(backing, \
			 { TESSERA_BACKING_DUMMY, "dummy" }, \
			 { TESSERA_BACKING_SYSTEM, "system" }, \
			 { TESSERA_BACKING_BAR, "bar" }, \
			 { TESSERA_BACKING_HOST_APERTURE, "host-aperture" }, \
			 { TESSERA_BACKING_SWIZZLE_RANGE, "swizzle-range" })

/*
 * An element of the patch list was applied; @live: number of bound slots
 * afterwards.
 */
TRACE_EVENT(tessera_split_entry,
	    TP_PROTO(u32 ctx, u64 job, u32 index, u32 slot, u32 bo, u32 split_offset,
		     u32 live),
	    TP_ARGS(ctx, job, index, slot, bo, split_offset, live),
	    TP_STRUCT__entry(__field(u32, ctx)
			     __field(u64, job)
			     __field(u32, index)
			     __field(u32, slot)
			     __field(u32, bo)
			     __field(u32, split_offset)
			     __field(u32, live)),
	    TP_fast_assign(__entry->ctx = ctx;
			   __entry->job = job;
			   __entry->index = index;
			   __entry->slot = slot;
			   __entry->bo = bo;
			   __entry->split_offset = split_offset;
			   __entry->live = live;),
	    TP_printk("ctx=%u job=%llu index=%u slot=%u bo=%u split_offset=0x%x live=%u",
		      __entry->ctx, __entry->job, __entry->index, __entry->slot,
		      __entry->bo, __entry->split_offset, __entry->live)
);

/*
 * A part was pushed: bytes [start, end), elements [first_patch, first_patch +
 * patches).
 */
TRACE_EVENT(tessera_split_part,
	    TP_PROTO(u32 ctx, u64 job, u32 part, u32 start, u32 end, u32 first_patch,
		     u32 patches),
	    TP_ARGS(ctx, job, part, start, end, first_patch, patches),
	    TP_STRUCT__entry(__field(u32, ctx)
			     __field(u64, job)
			     __field(u32, part)
			     __field(u32, start)
			     __field(u32, end)
			     __field(u32, first_patch)
			     __field(u32, patches)),
	    TP_fast_assign(__entry->ctx = ctx;
			   __entry->job = job;
			   __entry->part = part;
			   __entry->start = start;
			   __entry->end = end;
			   __entry->first_patch = first_patch;
			   __entry->patches = patches;),
	    TP_printk("ctx=%u job=%llu part=%u start=0x%x end=0x%x first_patch=%u patches=%u",
		      __entry->ctx, __entry->job, __entry->part, __entry->start,
		      __entry->end, __entry->first_patch, __entry->patches)
);

/* The planner pins an object over the cut before @part. */
TRACE_EVENT(tessera_split_pin,
	    TP_PROTO(u32 ctx, u64 job, u32 part, u32 bo, u32 segment, u64 offset),
	    TP_ARGS(ctx, job, part, bo, segment, offset),
	    TP_STRUCT__entry(__field(u32, ctx)
			     __field(u64, job)
			     __field(u32, part)
			     __field(u32, bo)
			     __field(u32, segment)
			     __field(u64, offset)),
	    TP_fast_assign(__entry->ctx = ctx;
			   __entry->job = job;
			   __entry->part = part;
			   __entry->bo = bo;
			   __entry->segment = segment;
			   __entry->offset = offset;),
	    TP_printk("ctx=%u job=%llu part=%u bo=%u segment=%u offset=0x%llx",
		      __entry->ctx, __entry->job, __entry->part, __entry->bo,
		      __entry->segment, __entry->offset)
);

/*
 * One operation of a paging job. Meaning of @flags: for a transfer, the flags
 * of the packet, then the layouts; for a map, the flags of the entries; for a
 * mark, the declared state.
 */
TRACE_EVENT(tessera_paging_op,
	    TP_PROTO(u32 kind, u32 bo, u32 src_segment, u64 src_offset, u32 dst_segment,
		     u64 dst_offset, u64 size, u32 flags, u64 seqno),
	    TP_ARGS(kind, bo, src_segment, src_offset, dst_segment, dst_offset, size,
		    flags, seqno),
	    TP_STRUCT__entry(__field(u32, kind)
			     __field(u32, bo)
			     __field(u32, src_segment)
			     __field(u64, src_offset)
			     __field(u32, dst_segment)
			     __field(u64, dst_offset)
			     __field(u64, size)
			     __field(u32, flags)
			     __field(u64, seqno)),
	    TP_fast_assign(__entry->kind = kind;
			   __entry->bo = bo;
			   __entry->src_segment = src_segment;
			   __entry->src_offset = src_offset;
			   __entry->dst_segment = dst_segment;
			   __entry->dst_offset = dst_offset;
			   __entry->size = size;
			   __entry->flags = flags;
			   __entry->seqno = seqno;),
	    TP_printk("kind=%s bo=%u src=%u:0x%llx dst=%u:0x%llx size=%llu flags=0x%x seqno=%llu",
		      tessera_show_paging(__entry->kind), __entry->bo,
		      __entry->src_segment, __entry->src_offset,
		      __entry->dst_segment, __entry->dst_offset,
		      __entry->size, __entry->flags, __entry->seqno)
);

/* An object is about to leave its place. */
TRACE_EVENT(tessera_evict,
	    TP_PROTO(u32 bo, u32 segment, u64 offset, u64 size, u32 client, u32 reason),
	    TP_ARGS(bo, segment, offset, size, client, reason),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, segment)
			     __field(u64, offset)
			     __field(u64, size)
			     __field(u32, client)
			     __field(u32, reason)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->segment = segment;
			   __entry->offset = offset;
			   __entry->size = size;
			   __entry->client = client;
			   __entry->reason = reason;),
	    TP_printk("bo=%u segment=%u offset=0x%llx size=%llu client=%u reason=%s",
		      __entry->bo, __entry->segment, __entry->offset, __entry->size,
		      __entry->client, tessera_show_evict(__entry->reason))
);

/* An object got a place. */
TRACE_EVENT(tessera_place,
	    TP_PROTO(u32 bo, u32 segment, u64 offset, u64 size),
	    TP_ARGS(bo, segment, offset, size),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, segment)
			     __field(u64, offset)
			     __field(u64, size)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->segment = segment;
			   __entry->offset = offset;
			   __entry->size = size;),
	    TP_printk("bo=%u segment=%u offset=0x%llx size=%llu", __entry->bo,
		      __entry->segment, __entry->offset, __entry->size)
);

TRACE_EVENT(tessera_bo_create,
	    TP_PROTO(u32 bo, u32 client, u64 size, u32 supported, u32 flags, u32 layout),
	    TP_ARGS(bo, client, size, supported, flags, layout),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, client)
			     __field(u64, size)
			     __field(u32, supported)
			     __field(u32, flags)
			     __field(u32, layout)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->client = client;
			   __entry->size = size;
			   __entry->supported = supported;
			   __entry->flags = flags;
			   __entry->layout = layout;),
	    TP_printk("bo=%u client=%u size=%llu supported=0x%x flags=0x%x layout=%u",
		      __entry->bo, __entry->client, __entry->size, __entry->supported,
		      __entry->flags, __entry->layout)
);

/* An object was named; an empty label removes the name. */
TRACE_EVENT(tessera_bo_label,
	    TP_PROTO(u32 bo, const char *label),
	    TP_ARGS(bo, label),
	    TP_STRUCT__entry(__field(u32, bo)
			     __string(label, label)),
	    TP_fast_assign(__entry->bo = bo;
			   __assign_str(label);),
	    TP_printk("bo=%u label=\"%s\"", __entry->bo, __get_str(label))
);

DECLARE_EVENT_CLASS(tessera_bo,
		    TP_PROTO(u32 bo),
		    TP_ARGS(bo),
		    TP_STRUCT__entry(__field(u32, bo)),
		    TP_fast_assign(__entry->bo = bo;),
		    TP_printk("bo=%u", __entry->bo)
);

DEFINE_EVENT(tessera_bo, tessera_bo_destroy,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

/* An object is destroyed: its memory is released now. */
DEFINE_EVENT(tessera_bo, tessera_destroy,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

/* A client offered an object: its contents may be dropped. */
TRACE_EVENT(tessera_offer,
	    TP_PROTO(u32 bo, u32 priority),
	    TP_ARGS(bo, priority),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, priority)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->priority = priority;),
	    TP_printk("bo=%u priority=%u", __entry->bo, __entry->priority)
);

/* The shrinker or a decommit dropped the pages of an offered object. */
DEFINE_EVENT(tessera_bo, tessera_offer_drop,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

/* A client reclaimed an object; @lost: its contents were dropped. */
TRACE_EVENT(tessera_reclaim,
	    TP_PROTO(u32 bo, bool lost),
	    TP_ARGS(bo, lost),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(bool, lost)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->lost = lost;),
	    TP_printk("bo=%u lost=%u", __entry->bo, __entry->lost)
);

DECLARE_EVENT_CLASS(tessera_gate,
		    TP_PROTO(u32 engine, u32 client, bool group),
		    TP_ARGS(engine, client, group),
		    TP_STRUCT__entry(__field(u32, engine)
				     __field(u32, client)
				     __field(bool, group)),
		    TP_fast_assign(__entry->engine = engine;
				   __entry->client = client;
				   __entry->group = group;),
		    TP_printk("engine=%u client=%u group=%u", __entry->engine, __entry->client,
			      __entry->group)
);

/* A submission waits at a gate; @group: it has several parts. */
DEFINE_EVENT(tessera_gate, tessera_gate_wait,
	     TP_PROTO(u32 engine, u32 client, bool group), TP_ARGS(engine, client, group)
);

/* A submission passed a gate, with or without a wait. */
DEFINE_EVENT(tessera_gate, tessera_gate_pass,
	     TP_PROTO(u32 engine, u32 client, bool group), TP_ARGS(engine, client, group)
);

/* The watchdog voided all passes; @client: owner of a group, or 0. */
DEFINE_EVENT(tessera_gate, tessera_gate_void,
	     TP_PROTO(u32 engine, u32 client, bool group), TP_ARGS(engine, client, group)
);

DECLARE_EVENT_CLASS(tessera_job,
		    TP_PROTO(u32 engine, u32 ctx, u64 seqno),
		    TP_ARGS(engine, ctx, seqno),
		    TP_STRUCT__entry(__field(u32, engine)
				     __field(u32, ctx)
				     __field(u64, seqno)),
		    TP_fast_assign(__entry->engine = engine;
				   __entry->ctx = ctx;
				   __entry->seqno = seqno;),
		    TP_printk("engine=%u ctx=%u seqno=%llu", __entry->engine, __entry->ctx,
			      __entry->seqno)
);

/* A job was written to the ring. */
DEFINE_EVENT(tessera_job, tessera_job_run,
	     TP_PROTO(u32 engine, u32 ctx, u64 seqno), TP_ARGS(engine, ctx, seqno)
);

/* A job ended; times are of the device clock. */
TRACE_EVENT(tessera_job_done,
	    TP_PROTO(u32 engine, u32 ctx, u64 seqno, u64 start_ns, u64 end_ns, int error),
	    TP_ARGS(engine, ctx, seqno, start_ns, end_ns, error),
	    TP_STRUCT__entry(__field(u32, engine)
			     __field(u32, ctx)
			     __field(u64, seqno)
			     __field(u64, start_ns)
			     __field(u64, end_ns)
			     __field(int, error)),
	    TP_fast_assign(__entry->engine = engine;
			   __entry->ctx = ctx;
			   __entry->seqno = seqno;
			   __entry->start_ns = start_ns;
			   __entry->end_ns = end_ns;
			   __entry->error = error;),
	    TP_printk("engine=%u ctx=%u seqno=%llu start_ns=%llu end_ns=%llu error=%d",
		      __entry->engine, __entry->ctx, __entry->seqno,
		      __entry->start_ns, __entry->end_ns, __entry->error)
);

/* An engine was reset because of this job; seqno=0: no job is to blame. */
DEFINE_EVENT(tessera_job, tessera_engine_reset,
	     TP_PROTO(u32 engine, u32 ctx, u64 seqno), TP_ARGS(engine, ctx, seqno)
);

/* A job was preempted; @begun: it had begun, and was saved. */
TRACE_EVENT(tessera_preempt,
	    TP_PROTO(u32 engine, u32 ctx, u64 seqno, bool begun),
	    TP_ARGS(engine, ctx, seqno, begun),
	    TP_STRUCT__entry(__field(u32, engine)
			     __field(u32, ctx)
			     __field(u64, seqno)
			     __field(bool, begun)),
	    TP_fast_assign(__entry->engine = engine;
			   __entry->ctx = ctx;
			   __entry->seqno = seqno;
			   __entry->begun = begun;),
	    TP_printk("engine=%u ctx=%u seqno=%llu begun=%d", __entry->engine, __entry->ctx,
		      __entry->seqno, __entry->begun)
);

/* A CPU access faulted on page @page of the object. */
TRACE_EVENT(tessera_cpu_fault,
	    TP_PROTO(u32 bo, u64 page, u32 backing),
	    TP_ARGS(bo, page, backing),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u64, page)
			     __field(u32, backing)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->page = page;
			   __entry->backing = backing;),
	    TP_printk("bo=%u page=%llu backing=%s", __entry->bo, __entry->page,
		      tessera_show_backing(__entry->backing))
);

/* A client locked an object for CPU access; @flags: DRM_TESSERA_LOCK_*. */
TRACE_EVENT(tessera_lock,
	    TP_PROTO(u32 bo, u32 flags, u32 instance),
	    TP_ARGS(bo, flags, instance),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, flags)
			     __field(u32, instance)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->flags = flags;
			   __entry->instance = instance;),
	    TP_printk("bo=%u flags=0x%x instance=%u", __entry->bo, __entry->flags,
		      __entry->instance)
);

DEFINE_EVENT(tessera_bo, tessera_unlock,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

/* A client locked an object for CPU access without synchronisation. */
DEFINE_EVENT(tessera_bo, tessera_lock2,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

DEFINE_EVENT(tessera_bo, tessera_unlock2,
	     TP_PROTO(u32 bo), TP_ARGS(bo)
);

/* The caches were maintained for an object; @command: TSR_COH_*. */
TRACE_EVENT(tessera_cache_maintenance,
	    TP_PROTO(u32 bo, u32 command, u64 offset, u64 bytes),
	    TP_ARGS(bo, command, offset, bytes),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, command)
			     __field(u64, offset)
			     __field(u64, bytes)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->command = command;
			   __entry->offset = offset;
			   __entry->bytes = bytes;),
	    TP_printk("bo=%u command=%s offset=0x%llx bytes=%llu", __entry->bo,
		      __print_symbolic(__entry->command,
				       { 1, "clean" }, { 2, "invalidate" }, { 3, "flush" },
				       { 4, "write-back" }),
		      __entry->offset, __entry->bytes)
);

/* An object uses @pages pages of the host aperture; @free: pages left. */
DECLARE_EVENT_CLASS(tessera_host_aperture,
		    TP_PROTO(u32 bo, u32 pages, u32 free),
		    TP_ARGS(bo, pages, free),
		    TP_STRUCT__entry(__field(u32, bo)
				     __field(u32, pages)
				     __field(u32, free)),
		    TP_fast_assign(__entry->bo = bo;
				   __entry->pages = pages;
				   __entry->free = free;),
		    TP_printk("bo=%u pages=%u free=%u", __entry->bo, __entry->pages,
			      __entry->free)
);

DEFINE_EVENT(tessera_host_aperture, tessera_host_aperture_map,
	     TP_PROTO(u32 bo, u32 pages, u32 free), TP_ARGS(bo, pages, free)
);

/* An object gave up its pages of the host aperture. */
DEFINE_EVENT(tessera_host_aperture, tessera_host_aperture_unmap,
	     TP_PROTO(u32 bo, u32 pages, u32 free), TP_ARGS(bo, pages, free)
);

/*
 * A swizzling range shows @rows rows of an object, from @offset of its segment
 * on.
 */
TRACE_EVENT(tessera_swizzle_acquire,
	    TP_PROTO(u32 bo, u32 range, u64 offset, u32 layout, u32 pitch, u32 rows),
	    TP_ARGS(bo, range, offset, layout, pitch, rows),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, range)
			     __field(u64, offset)
			     __field(u32, layout)
			     __field(u32, pitch)
			     __field(u32, rows)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->range = range;
			   __entry->offset = offset;
			   __entry->layout = layout;
			   __entry->pitch = pitch;
			   __entry->rows = rows;),
	    TP_printk("bo=%u range=%u offset=0x%llx layout=%u pitch=%u rows=%u", __entry->bo,
		      __entry->range, __entry->offset, __entry->layout, __entry->pitch,
		      __entry->rows)
);

/* A swizzling range was released. */
TRACE_EVENT(tessera_swizzle_release,
	    TP_PROTO(u32 bo, u32 range),
	    TP_ARGS(bo, range),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, range)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->range = range;),
	    TP_printk("bo=%u range=%u", __entry->bo, __entry->range)
);

#define tessera_show_refusal(status) \
	__print_symbolic(status, \
			 { TSR_SWR_UNAVAILABLE, "unavailable" }, \
			 { TSR_SWR_UNSUPPORTED, "unsupported" })

/* The device refused to set up a swizzling range. */
TRACE_EVENT(tessera_swizzle_refuse,
	    TP_PROTO(u32 bo, u32 range, u32 status),
	    TP_ARGS(bo, range, status),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(u32, range)
			     __field(u32, status)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->range = range;
			   __entry->status = status;),
	    TP_printk("bo=%u range=%u status=%s", __entry->bo, __entry->range,
		      tessera_show_refusal(__entry->status))
);

/* The device counted @count more errors of a type. */
TRACE_EVENT(tessera_device_error,
	    TP_PROTO(u32 type, u32 count, u32 packet, u32 offset, int engine, u32 context,
		     int slot, u64 addr, u32 object),
	    TP_ARGS(type, count, packet, offset, engine, context, slot, addr, object),
	    TP_STRUCT__entry(__field(u32, type)
			     __field(u32, count)
			     __field(u32, packet)
			     __field(u32, offset)
			     __field(int, engine)
			     __field(u32, context)
			     __field(int, slot)
			     __field(u64, addr)
			     __field(u32, object)),
	    TP_fast_assign(__entry->type = type;
			   __entry->count = count;
			   __entry->packet = packet;
			   __entry->offset = offset;
			   __entry->engine = engine;
			   __entry->context = context;
			   __entry->slot = slot;
			   __entry->addr = addr;
			   __entry->object = object;),
	    TP_printk("type=%u count=%u first: packet=0x%08x at=0x%x engine=%d context=%u slot=%d addr=0x%llx object=%u",
		      __entry->type, __entry->count, __entry->packet, __entry->offset,
		      __entry->engine, __entry->context, __entry->slot, __entry->addr,
		      __entry->object)
);

/* Pages of user memory were looked up (@there), or have been invalidated. */
TRACE_EVENT(tessera_user_pages,
	    TP_PROTO(u32 bo, bool there),
	    TP_ARGS(bo, there),
	    TP_STRUCT__entry(__field(u32, bo)
			     __field(bool, there)),
	    TP_fast_assign(__entry->bo = bo;
			   __entry->there = there;),
	    TP_printk("bo=%u there=%d", __entry->bo, __entry->there)
);

TRACE_EVENT(tessera_segment_usage,
	    TP_PROTO(u32 segment, u64 used),
	    TP_ARGS(segment, used),
	    TP_STRUCT__entry(__field(u32, segment)
			     __field(u64, used)),
	    TP_fast_assign(__entry->segment = segment;
			   __entry->used = used;),
	    TP_printk("segment=%u used=%llu", __entry->segment, __entry->used)
);

#endif /* __TESSERA_TRACE_H__ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH base
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
