// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: events of the display
 *
 * Which events of a CRTC raise interrupts.
 */

#include "kms/kms.h"

/**
 * tessera_events_unmask() - have events raise interrupts
 * @tc: the CRTC; held with drm_dev_enter()
 * @events: TSR_CRTC_INT_*
 */
void tessera_events_unmask(struct tessera_crtc *tc, u32 events)
{
	unsigned long flags;

	spin_lock_irqsave(&tc->lock, flags);
	/* Those of the past are nobody's. */
	tessera_crtc_write(tc, TSR_CRTC_INT_STATUS, events & ~tc->int_mask);
	tc->int_mask |= events;
	tessera_crtc_write(tc, TSR_CRTC_INT_MASK, tc->int_mask);
	spin_unlock_irqrestore(&tc->lock, flags);
}

/**
 * tessera_events_mask() - have events raise none any more
 * @tc: the CRTC; held with drm_dev_enter()
 * @events: TSR_CRTC_INT_*
 */
void tessera_events_mask(struct tessera_crtc *tc, u32 events)
{
	unsigned long flags;

	spin_lock_irqsave(&tc->lock, flags);
	tc->int_mask &= ~events;
	tessera_crtc_write(tc, TSR_CRTC_INT_MASK, tc->int_mask);
	spin_unlock_irqrestore(&tc->lock, flags);
}
