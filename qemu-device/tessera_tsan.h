/*
 * Tessera virtual GPU: exemptions from ThreadSanitizer
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_TSAN_H
#define HW_DISPLAY_TESSERA_TSAN_H

#ifdef QEMU_SANITIZE_THREAD
void tessera_tsan_exempt(void *mem, size_t bytes);
#else
static inline void tessera_tsan_exempt(void *mem, size_t bytes)
{
}
#endif

#endif /* HW_DISPLAY_TESSERA_TSAN_H */
