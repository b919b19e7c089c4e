/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/include/i386/host/stream-store.h"
