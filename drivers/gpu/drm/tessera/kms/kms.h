/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __TESSERA_KMS_H__
#define __TESSERA_KMS_H__

#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_connector.h>
#include <drm/drm_crtc.h>
#include <drm/drm_encoder.h>
#include <drm/drm_writeback.h>

#include <tessera/tessera_hw.h>

#include "base/compat.h"
#include "base/device.h"
#include "hw/hw.h"

struct drm_file;
struct drm_format_info;
struct drm_framebuffer;
struct drm_mode_fb_cmd2;
struct drm_pending_vblank_event;
struct drm_plane_state;
struct drm_scanout_buffer;

/**
 * struct tessera_kms_clock - known difference of the device clock and
 * CLOCK_MONOTONIC
 */
struct tessera_kms_clock {
	/** @lock: leaf lock, taken in interrupts */
	spinlock_t lock;
	/** @least: CLOCK_MONOTONIC is ahead by at least this, in ns */
	s64 least;
	/** @most: CLOCK_MONOTONIC is ahead by at most this, in ns */
	s64 most;
	/** @at: CLOCK_MONOTONIC when that was measured; 0: never */
	s64 at;
};

s64 tessera_kms_clock_learn(struct tessera_kms_clock *clock, s64 before, s64 device, s64 after);
ktime_t tessera_kms_clock_convert(struct tessera_device *tdev, struct tessera_kms_clock *clock,
				  u64 device_ns, int *max_error);

/* Number of words in a CRTC's registers up to the last of its planes. */
#define TESSERA_NUM_LATCHED	(TSR_PLANE(TSR_NUM_PLANES) / sizeof(u32))

/**
 * struct tessera_crtc - a CRTC and the output it feeds
 *
 * Commits of a CRTC are serialised, except those of its cursor alone. Therefore
 * latched registers are written and committed with @commit_lock held. @lock is
 * a leaf and is taken in interrupts.
 */
struct tessera_crtc {
	/** @base: the CRTC */
	struct drm_crtc base;
	/** @encoder: connects @base to @connector */
	struct drm_encoder encoder;
	/** @connector: the output */
	struct drm_connector connector;
	/** @writeback: writeback connector */
	struct drm_writeback_connector writeback;
	/** @writing: the device has accepted a writeback that has not ended */
	bool writing;
	/** @hotplug: tells clients that the monitor has changed */
	struct work_struct hotplug;
	/** @regs: offset of the CRTC's registers */
	u32 regs;
	/**
	 * @lock: protects @int_mask, and registers that latch others when read
	 */
	spinlock_t lock;
	/**
	 * @commit_lock: protects @latched and @known; held from the first write
	 * to latched registers to their commit
	 */
	struct mutex commit_lock;
	/** @latched: last values of latched registers, by offset */
	u32 latched[TESSERA_NUM_LATCHED];
	/** @known: words of @latched that are valid */
	DECLARE_BITMAP(known, TESSERA_NUM_LATCHED);
	/** @int_mask: contents of the interrupt mask register */
	u32 int_mask;
	/** @crc: CRCs of its frames are requested */
	bool crc;
	/** @committed: number of the last commit; under @commit_lock */
	u32 committed;
	/**
	 * @awaited: number of the commit that @event belongs to; under
	 * &drm_device.event_lock
	 */
	u32 awaited;
	/**
	 * @event: event to be sent when commit @awaited is latched; under
	 * &drm_device.event_lock. There is at most one, as commits are
	 * serialised, and it has a reference to vblanks.
	 */
	struct drm_pending_vblank_event *event;
};

/**
 * struct tessera_kms - the display
 */
struct tessera_kms {
	/** @max_width: maximum width of a mode */
	u32 max_width;
	/** @max_height: maximum height of a mode */
	u32 max_height;
	/**
	 * @stopped: no CRTC may be switched on, as the device is being reset
	 */
	bool stopped;
	/** @writebacks: number of writeback jobs with a pinned target */
	atomic_t writebacks;
	/** @vram: CPU mapping of BAR 2 for the panic screen; or NULL */
	void __iomem *vram;
	/** @clock: difference of the device clock and CLOCK_MONOTONIC */
	struct tessera_kms_clock clock;
};

static inline struct tessera_crtc *to_tessera_crtc(struct drm_crtc *crtc)
{
	return container_of(crtc, struct tessera_crtc, base);
}

static inline struct tessera_device *tessera_crtc_device(const struct tessera_crtc *tc)
{
	return to_tessera_device(tc->base.dev);
}

static inline u32 tessera_crtc_read(struct tessera_crtc *tc, u32 reg)
{
	return tessera_read32(tessera_crtc_device(tc), tc->regs + reg);
}

static inline void tessera_crtc_write(struct tessera_crtc *tc, u32 reg, u32 value)
{
	tessera_write32(tessera_crtc_device(tc), tc->regs + reg, value);
}

/*
 * Write a latched register if its value changes. A frame is described by dozens
 * of registers, and most commits change one or two. A register write exits the
 * guest and costs more than the rest of a flip. Called inside drm_dev_enter().
 */
static inline void tessera_latched_write(struct tessera_crtc *tc, u32 reg, u32 value)
{
	u32 index = reg / sizeof(u32);

	lockdep_assert_held(&tc->commit_lock);
	if (test_bit(index, tc->known) && tc->latched[index] == value)
		return;
	tessera_crtc_write(tc, reg, value);
	tc->latched[index] = value;
	__set_bit(index, tc->known);
}

/* Latched registers may have been written behind the driver's back. */
static inline void tessera_latched_forget(struct tessera_crtc *tc)
{
	bitmap_zero(tc->known, TESSERA_NUM_LATCHED);
}

/* fb.c */
extern const u32 tessera_fb_formats[];
extern const unsigned int tessera_fb_num_formats;
extern const u64 tessera_fb_modifiers[];
u32 tessera_fb_format(u32 fourcc);
u32 tessera_fb_layout(const struct drm_framebuffer *fb);
u64 tessera_fb_addr(const struct drm_framebuffer *fb);
bool tessera_fb_is_idle(const struct drm_framebuffer *fb);
bool tessera_fb_is_ready(const struct drm_framebuffer *fb);
int tessera_fb_pin(struct drm_framebuffer *fb);
void tessera_fb_unpin(struct drm_framebuffer *fb);
struct drm_framebuffer *tessera_fb_create(struct drm_device *drm, struct drm_file *file,
					  const struct drm_format_info *info,
					  const struct drm_mode_fb_cmd2 *cmd);

/* plane.c */
void tessera_plane_encode(const struct drm_plane_state *state, u32 layout, u64 addr,
			  u32 regs[TSR_PLANE_REGS]);
void tessera_plane_write(struct tessera_crtc *tc, struct drm_plane *plane,
			 const struct drm_plane_state *state);
struct drm_plane *tessera_plane_create(struct tessera_device *tdev, u32 crtc, u32 index);

/* crc.c */
void tessera_events_set(struct tessera_crtc *tc, u32 events, bool on);
const char *const *tessera_crc_get_sources(struct drm_crtc *crtc, size_t *count);
int tessera_crc_verify_source(struct drm_crtc *crtc, const char *source, size_t *values_cnt);
int tessera_crc_set_source(struct drm_crtc *crtc, const char *source);
void tessera_crc_interrupt(struct tessera_crtc *tc);

/* vblank.c */
int tessera_vblank_enable(struct drm_crtc *crtc);
void tessera_vblank_disable(struct drm_crtc *crtc);
u32 tessera_vblank_count(struct drm_crtc *crtc);
bool tessera_vblank_timestamp(struct drm_crtc *crtc, int *max_error, ktime_t *vblank_time,
			      bool in_vblank_irq);
bool tessera_vblank_commit(struct tessera_crtc *tc, u32 how, bool arm_event);
void tessera_vblank_commit_cursor(struct tessera_crtc *tc);
void tessera_vblank_end(struct tessera_crtc *tc, bool new_too);
void tessera_vblank_interrupt(struct tessera_crtc *tc);

/* crtc.c */
struct tessera_crtc *tessera_crtc_create(struct tessera_device *tdev, u32 index);

/* output.c */
int tessera_output_init(struct tessera_crtc *tc);
u32 tessera_output_max_frame_ms(const struct drm_connector *connector);

/* writeback.c */
int tessera_writeback_init(struct tessera_crtc *tc);
void tessera_writeback_wait(struct drm_atomic_commit *state);
bool tessera_writeback_begin(struct tessera_crtc *tc, struct drm_atomic_commit *state);
void tessera_writeback_drop(struct tessera_crtc *tc, struct drm_atomic_commit *state);
void tessera_writeback_flush(struct tessera_device *tdev);
void tessera_writeback_committed(struct tessera_crtc *tc, bool accepted);
void tessera_writeback_end(struct tessera_crtc *tc, int status);
void tessera_writeback_poll(struct tessera_crtc *tc);

/* panic.c */
void tessera_panic_init(struct tessera_device *tdev);
int tessera_panic_get_buffer(struct drm_plane *plane, struct drm_scanout_buffer *buffer);

/* kms.c */
int tessera_kms_init(struct tessera_device *tdev);
int tessera_kms_suspend(struct tessera_device *tdev);
void tessera_kms_resume(struct tessera_device *tdev);
void tessera_kms_reset_prepare(struct tessera_device *tdev);
void tessera_kms_reset_done(struct tessera_device *tdev);
void tessera_kms_forget(struct tessera_device *tdev);
void tessera_kms_console(struct tessera_device *tdev);
void tessera_kms_unplug(struct tessera_device *tdev);

#endif /* __TESSERA_KMS_H__ */
