/*
 * Tessera virtual GPU: engines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_ENGINE_H
#define HW_DISPLAY_TESSERA_ENGINE_H

#include "tessera.h"

/*
 * The states of an engine's thread. Requests are flags under its lock. If there
 * are several, the one higher up in this list is handled first:
 *
 *                     exiting                      unplug
 *       any state ------------------> EXITED       all engines are asked, then
 *                                                  all are joined
 *                     reset_req                    CONTROL, a device or machine
 *       any state ------------------> reset_engine(), acknowledged by clearing
 *                                                  reset_req; then ASLEEP
 *                     pause_req                    the machine stops
 *       ASLEEP, BUSY ---------------> PARKED -+    acknowledged by parked
 *            ^                                |
 *            +--------------------------------+    the machine runs
 *                     preempt_req                  CONTROL
 *       ASLEEP, BUSY ---------------> preempt_engine(), which saves the job;
 *                                                  acknowledged by preempted;
 *                                                  then ASLEEP, disabled
 *
 *                doorbell, enabled, not halted, not hung
 *       ASLEEP ------------------------------------------> BUSY (no lock held)
 *            ^                                              |
 *            +----------------------------------------------+
 *                ring empty, halted, hung, or any request
 *
 * A paused engine still handles resets and exits. While it is parked, only
 * migration and tessera_device_forget() access the fields of the thread. A
 * request for preemption waits until the machine runs, and migrates. A halted
 * engine does not answer it, nor does any engine if fault injection makes the
 * request stick: then only a reset ends it. A hung engine does not answer it
 * before it is reset or released.
 *
 * attention   a request is pending: leave BUSY at the next packet, or where the
 *             packet can be interrupted (tessera_leave()). These points are at
 *             most 10 ms apart.
 * stop        reset or exit: the progress of the packet is lost.
 *
 * Results of a packet's handler:
 * 0           done; the head or the IB's offset advances.
 * TSR_ERR_*   failed; ends the IB, or halts the engine.
 * RETRY       not done, call it again: the head stays. After an interruption,
 *             progress[] tells how far the packet got. Its meaning is private
 *             to the handler. It is 0 when a packet begins, is cleared when it
 *             ends, and migrates. The packet is fetched again from memory that
 *             may have changed, and a loaded state is not trustworthy either.
 *             So the handler checks progress[] against the packet.
 * STOPPED     given up for a reset or exit.
 * RESUMED     done, and the engine continues inside a saved job.
 *
 * waiting     the packet is a WAIT or FENCE_WAIT that has not reached its value.
 *             It returned RETRY, and runs again after a FENCE, SIGNAL,
 *             FENCE_SIGNAL or TIMESTAMP of another engine, at a doorbell, or
 *             after a timeout.
 * hung        fault injection: nothing runs until a reset or a release. The
 *             status register shows a busy engine.
 * halted      a packet of the ring itself, or the save of a preempted job,
 *             failed: nothing runs until a reset.
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
