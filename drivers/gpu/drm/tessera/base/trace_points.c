// SPDX-License-Identifier: GPL-2.0 OR MIT
/**
 * DOC: tracepoints
 *
 * Definitions of the events declared in base/trace.h.
 */

#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "base/trace.h"
#endif
