/* SPDX-License-Identifier: MIT */
#include "qemu/osdep.h"
