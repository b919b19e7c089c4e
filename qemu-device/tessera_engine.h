/*
 * Tessera virtual GPU: engines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_ENGINE_H
#define HW_DISPLAY_TESSERA_ENGINE_H

#include "tessera.h"

/*
 * The states of an engine's thread; the requests are flags under its lock, and
 * of several the one higher up goes first:
 *
 *                    exiting                      unplug
 *      any state ------------------> EXITED       all engines are asked, then
 *                                                 all are joined
 *                    reset_req                    CONTROL, a device or machine
 *      any state ------------------> reset_engine(), acknowledged by clearing
 *                                                 reset_req; then ASLEEP
 *                    pause_req                    the machine stops
 *      ASLEEP, BUSY ---------------> PARKED -+    acknowledged by parked
 *           ^                                |
 *           +--------------------------------+    the machine runs
 *                    preempt_req                  CONTROL
 *      ASLEEP, BUSY ---------------> preempt_engine(), which saves the job;
 *                                                 acknowledged by preempted;
 *                                                 then ASLEEP, disabled
 *
 *               doorbell, enabled, not halted, not hung
 *      ASLEEP ------------------------------------------> BUSY (no lock held)
 *           ^                                              |
 *           +----------------------------------------------+
 *               ring empty, halted, hung, or any request
 *
 * A paused engine resets and exits all the same. While it is parked nobody
 * but migration and tessera_device_forget() touches what is the thread's. A
 * request for preemption waits until the machine runs, and travels. One that
 * sticks (fault injection), and one of an engine that is halted or hung, is
 * answered by a reset only.
 *
 * attention   some request is there: BUSY is left at the next packet, or where
 *             the packet can be interrupted (tessera_leave()). No packet runs
 *             for 10 ms without one of these points.
 * stop        reset or exit: what the packet did so far is lost.
 *
 * What a packet's handler returns:
 * 0           done; head or the IB's offset move on.
 * TSR_ERR_*   failed; ends the IB, or halts the engine.
 * RETRY       not done, come again: head stays. After an interruption progress
 *             says how far it got; it is the handler's own, 0 when a packet
 *             begins, cleared when it ends, migrated, and checked by the
 *             handler against the packet, for neither migration nor memory
 *             the packet is fetched from again are to be trusted.
 * STOPPED     given up for a reset or exit.
 * RESUMED     done, and the engine is elsewhere: in the middle of a saved job.
 *
 * waiting     the packet is a WAIT whose value is not there yet; it returned
 *             RETRY and runs again when a packet of another engine stores a
 *             value, at a doorbell, or after a while.
 * hung        fault injection: nothing runs until a reset, or until it is let
 *             go. The status register shows a busy engine.
 * halted      a packet of the ring itself failed: nothing runs until a reset.
 */
void tessera_engines_init(TesseraState *s);
void tessera_engines_stop(TesseraState *s);
void tessera_engines_free(TesseraState *s);
void tessera_engine_control(TesseraEngine *e, uint32_t value);
void tessera_engine_doorbell(TesseraEngine *e, uint32_t tail);
bool tessera_engine_enabled(TesseraEngine *e);
uint32_t tessera_engine_status(TesseraEngine *e);
void tessera_engine_let_go(TesseraEngine *e);
void tessera_engine_loaded(TesseraEngine *e);
void tessera_engines_reset_begin(TesseraState *s, bool counts);
void tessera_engines_reset_wait(TesseraState *s);
void tessera_engines_pause(TesseraState *s);
void tessera_engines_resume(TesseraState *s);
void tessera_engines_forget(TesseraState *s);
void tessera_engines_clear_setup(TesseraState *s);

#endif /* HW_DISPLAY_TESSERA_ENGINE_H */
