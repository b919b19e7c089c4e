/*
 * Tessera virtual GPU: detection of writes to pages of a mapping
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_DISPLAY_TESSERA_WRITTEN_H
#define HW_DISPLAY_TESSERA_WRITTEN_H

/* A mapping of this process. The host's kernel tracks writes to it. */
typedef struct TesseraWritten {
    uint8_t *ptr;
    int uffd;
    int pagemap_fd;
} TesseraWritten;

/* Bytes [@from, @end) of the mapping, whole pages of the host. */
typedef void TesseraWrittenFn(void *opaque, uint64_t from, uint64_t end);

bool tessera_written_init(TesseraWritten *w, void *ptr, uint64_t bytes);
void tessera_written_fini(TesseraWritten *w);
bool tessera_written_find(TesseraWritten *w, uint64_t from, uint64_t end,
                          TesseraWrittenFn *fn, void *opaque);
bool tessera_written_forget(TesseraWritten *w, uint64_t from, uint64_t end);

#endif /* HW_DISPLAY_TESSERA_WRITTEN_H */
