/*
 * Tessera virtual GPU: time for pictures
 *
 * The guest decides how much work a picture takes, and pictures are made with
 * the BQL held. One budget serves all CRCs, writebacks and consoles of a device:
 * at most half of the time. A picture that can wait waits for its turn. A write
 * of a register cannot wait, so its picture may overdraw the budget, and later
 * pictures wait longer. A reset does not refill the budget, because the guest
 * resets as often as it likes. Called under the BQL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera_budget.h"

/* A picture of the largest mode takes a tenth of that. */
#define OVERDRAFT_NS    NANOSECONDS_PER_SECOND

/* Whether a picture may be made now, or has to wait until s->picture_ns. */
bool tessera_budget_allows(const TesseraState *s)
{
    return tessera_clock_ns() >= s->picture_ns;
}

/* Whether a picture may be made that cannot wait. */
bool tessera_budget_overdraws(const TesseraState *s)
{
    return tessera_clock_ns() + OVERDRAFT_NS >= s->picture_ns;
}

/* A picture was made since @begin. Leave as much time to others. */
void tessera_budget_spend(TesseraState *s, uint64_t begin)
{
    uint64_t took = tessera_clock_ns() - begin;

    s->picture_ns = MAX(begin, s->picture_ns) + took +
                    MAX(took, s->picture_us * 1000ULL);
}
