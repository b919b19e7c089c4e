/*
 * Helpers shared by the qtests of the Tessera device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_COMMON_H
#define TESSERA_COMMON_H

#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "libqtest.h"
#include "libqos/pci.h"
#include "libqos/pci-pc.h"
#include "tessera/tessera_hw.h"
#include "tessera/tessera_hw_names.h"

#define TSR_TEST_RING_BYTES 16384
#define TSR_TEST_DEADLINE_US (100 * 1000000LL)  /* enough with sanitizers */
#define TSR_TEST_CMD_DWORDS 65536

enum { RENDER = 0, PAGING = 1 };    /* default engine indices */

typedef struct TsrTestEngine {
    uint64_t ring;
    uint64_t status_page;
    uint32_t size;
    uint32_t tail;
    uint64_t seqno;
} TsrTestEngine;

typedef struct TsrTest {
    QTestState *qts;
    QPCIBus *bus;
    QPCIDevice *dev;
    QPCIBar regs;
    QPCIBar vram;
    uint64_t next;                  /* bump allocator in guest RAM */
    uint64_t record;                /* job record, one page */
    uint64_t ib_list;
    uint64_t ib;                    /* TSR_TEST_CMD_DWORDS * 4 bytes */
    uint64_t bounce;                /* 1 MiB of contiguous pages */
    uint64_t bounce_list;
    TsrTestEngine eng[TSR_MAX_ENGINES];
} TsrTest;

typedef struct TsrCmd {
    uint32_t n;
    uint32_t d[TSR_TEST_CMD_DWORDS];
} TsrCmd;

typedef struct TsrSurf {
    uint64_t base;
    uint64_t limit;
    uint32_t format;
    uint32_t layout;
    uint32_t access;
    uint32_t pitch;
    uint32_t width;
    uint32_t height;
} TsrSurf;

/* Start a machine with the device; @props is "name=value,..." or "". */
TsrTest *tsr_start(const char *props);
TsrTest *tsr_start_machine(const char *props, const char *machine_args);
char *tsr_firmware_args(const char *firmware, const char *more);
char *tsr_write_firmware(const uint8_t *program, size_t bytes);
void tsr_run_firmware(TsrTest *t);
void tsr_map_device(TsrTest *t);
void tsr_set_up_memory(TsrTest *t);
void tsr_set_up(TsrTest *t);
/* Enter S3 through the ACPI registers of PIIX4, which no firmware has set up. */
void tsr_sleep(TsrTest *t);
void tsr_stop(TsrTest *t);

uint32_t tsr_r32(TsrTest *t, uint32_t reg);
uint64_t tsr_r64(TsrTest *t, uint32_t reg_lo);
void tsr_w32(TsrTest *t, uint32_t reg, uint32_t value);
void tsr_w64(TsrTest *t, uint32_t reg_lo, uint64_t value);

uint64_t tsr_alloc(TsrTest *t, uint64_t bytes);
uint64_t tsr_list(TsrTest *t, const uint64_t *entries, uint32_t count);
uint64_t tsr_seg_base(TsrTest *t, uint32_t id);
uint64_t tsr_hidden_base(TsrTest *t);

void tsr_engine_start(TsrTest *t, uint32_t e, uint32_t ring_bytes);
void tsr_engine_reset(TsrTest *t, uint32_t e);
void tsr_preempt(TsrTest *t, uint32_t e, uint64_t area);
void tsr_device_reset(TsrTest *t);
void tsr_emit(TsrTest *t, uint32_t e, const uint32_t *d, uint32_t dwords);
void tsr_kick(TsrTest *t, uint32_t e);
uint64_t tsr_emit_fence(TsrTest *t, uint32_t e, uint32_t flags,
                        uint64_t record);
uint64_t tsr_seqno(TsrTest *t, uint32_t e);
void tsr_wait(TsrTest *t, uint32_t e, uint64_t seqno);
void tsr_wait_reg(TsrTest *t, uint32_t reg, uint32_t mask, uint32_t value);

/*
 * Run an IB as a job; return its status, and the offset of the packet that
 * failed in @offset.
 */
uint32_t tsr_run(TsrTest *t, uint32_t e, bool user, const TsrCmd *cmd,
                 uint32_t *offset);
void tsr_run_ok(TsrTest *t, uint32_t e, const TsrCmd *cmd);
void tsr_run_err(TsrTest *t, uint32_t e, const TsrCmd *cmd, uint32_t err);

/* Packets. */
void tsr_cmd(TsrCmd *c, const uint32_t *d, uint32_t dwords);
void tsr_put(TsrCmd *c, uint32_t op, uint32_t flags, uint32_t dwords, ...);
void tsr_bind(TsrCmd *c, uint32_t slot, const TsrSurf *s);
void tsr_bind_buffer(TsrCmd *c, uint32_t slot, uint64_t base, uint64_t limit,
                     uint32_t format, uint32_t access);
void tsr_fill(TsrCmd *c, uint32_t slot, uint32_t x, uint32_t y, uint32_t w,
              uint32_t h, uint32_t value);
void tsr_copy(TsrCmd *c, uint32_t dst, uint32_t src, uint32_t dx, uint32_t dy,
              uint32_t sx, uint32_t sy, uint32_t w, uint32_t h);
void tsr_transfer(TsrCmd *c, uint32_t flags, uint32_t layouts, uint64_t src,
                  uint64_t dst, uint64_t bytes, uint64_t src_off,
                  uint64_t dst_off, uint32_t pitch);
void tsr_page_fill(TsrCmd *c, uint32_t value, uint64_t gpa, uint64_t bytes);
void tsr_map(TsrCmd *c, uint32_t seg, uint32_t first, uint32_t pages,
             uint64_t list);
void tsr_unmap(TsrCmd *c, uint32_t seg, uint32_t first, uint32_t pages);
void tsr_mark(TsrCmd *c, uint32_t mark, uint64_t gpa, uint64_t bytes);
void tsr_mark_register(TsrTest *t, uint32_t mark, uint64_t gpa, uint64_t bytes);
void tsr_set_state(TsrCmd *c, uint32_t first, uint32_t count, ...);

/* Write and read VRAM with the paging engine, at most 1 MiB at once. */
void tsr_gpu_write(TsrTest *t, uint64_t gpa, const void *buf, uint32_t bytes);
void tsr_gpu_read(TsrTest *t, uint64_t gpa, void *buf, uint32_t bytes);

/* A table of the microcode that chapter 10 of the manual describes. */
void tsr_firmware_table(uint32_t *table);
/* Write an image of @table to the start of hidden VRAM, and start it. */
void tsr_start_firmware(TsrTest *t, const uint32_t *table);
/* Start the microcode of tsr_firmware_table(), so that BLIT and DRAW run. */
void tsr_load_firmware(TsrTest *t);

uint32_t tsr_crc32(const uint8_t *p, size_t bytes);

uint32_t tsr_err_count(TsrTest *t, uint32_t type);
uint32_t tsr_err_total(TsrTest *t);
void tsr_err_clear(TsrTest *t);
/*
 * Require exactly @count errors since the last clear, all of @type; then
 * clear.
 */
void tsr_expect_errors(TsrTest *t, uint32_t type, uint32_t count);
void tsr_expect_no_errors(TsrTest *t);

/* Fail the test with a message unless @cond, a rule of the manual, holds. */
#define tsr_rule(cond, ...)                                             \
    do {                                                                \
        if (!(cond)) {                                                  \
            g_autofree char *text_ = g_strdup_printf(__VA_ARGS__);      \
            g_assertion_message(G_LOG_DOMAIN, __FILE__, __LINE__,       \
                                G_STRFUNC, text_);                      \
        }                                                               \
    } while (0)

void tsr_qom_set(TsrTest *t, const char *property, int64_t value);
int64_t tsr_qom_get(TsrTest *t, const char *property);

/* Enable MSI-X. Vector n writes n + 1 to word n at the returned address. */
uint64_t tsr_msix_enable(TsrTest *t);
bool tsr_msix_seen(TsrTest *t, uint64_t msix, uint32_t vector);
void tsr_msix_wait(TsrTest *t, uint64_t msix, uint32_t vector);

#endif
