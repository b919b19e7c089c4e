/*
 * Helpers shared by the qtests of the Tessera device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-common.h"

#define RAM_FIRST (16 * 1024 * 1024ULL)
#define BOUNCE_BYTES (1024 * 1024)
#define FIRMWARE_BYTES 65536
#define DEVFN QPCI_DEVFN(4, 0)

/* ---- Machine ----------------------------------------------------------- */

/* Map the BARs of the device. */
void tsr_map_device(TsrTest *t)
{
    t->bus = qpci_new_pc(t->qts, NULL);
    t->dev = qpci_device_find(t->bus, DEVFN);
    g_assert(t->dev);
    qpci_device_enable(t->dev);
    t->vram = qpci_iomap(t->dev, TSR_BAR_VRAM, NULL);
    t->regs = qpci_iomap(t->dev, TSR_BAR_MMIO, NULL);
}

void tsr_set_up_memory(TsrTest *t)
{
    uint64_t entry;
    uint32_t i;

    t->next = RAM_FIRST;
    t->record = tsr_alloc(t, 4096);
    t->ib = tsr_alloc(t, TSR_TEST_CMD_DWORDS * 4);
    t->ib_list = tsr_alloc(t, 4096);
    t->bounce = tsr_alloc(t, BOUNCE_BYTES);
    t->bounce_list = tsr_alloc(t, 4096);
    for (i = 0; i < TSR_TEST_CMD_DWORDS * 4 / 4096; i++) {
        entry = cpu_to_le64(t->ib + i * 4096);
        qtest_memwrite(t->qts, t->ib_list + i * 8, &entry, 8);
    }
    for (i = 0; i < BOUNCE_BYTES / 4096; i++) {
        entry = cpu_to_le64(t->bounce + i * 4096);
        qtest_memwrite(t->qts, t->bounce_list + i * 8, &entry, 8);
    }
}

/* Use the firmware beside the QEMU binary, if the build has put it there. */
static char *firmware_option(void)
{
    const char *binary = getenv("QTEST_QEMU_BINARY");
    g_autofree char *dir = g_path_get_dirname(binary ? binary : ".");
    g_autofree char *share = g_build_filename(dir, "share", NULL);

    return g_file_test(share, G_FILE_TEST_IS_DIR)
           ? g_strdup_printf("-L %s", share) : g_strdup("");
}

TsrTest *tsr_start_machine(const char *props, const char *machine_args)
{
    g_autofree char *firmware = firmware_option();
    TsrTest *t = g_new0(TsrTest, 1);

    t->qts = qtest_initf("%s -M pc -m 128 -nodefaults %s "
                         "-device tessera,id=gpu,addr=04.0%s%s", firmware,
                         machine_args, *props ? "," : "", props);
    return t;
}

/*
 * Arguments for a machine with vCPUs that run @firmware. The vCPUs stay
 * stopped until tsr_run_firmware(). Map all BARs before that call: a BAR that
 * is being sized appears at the top of 4 GiB, over the reset vector.
 */
char *tsr_firmware_args(const char *firmware, const char *more)
{
    return g_strdup_printf("-accel tcg,thread=multi -S -bios %s %s", firmware,
                           more);
}

/*
 * Write a firmware that starts with @program, in real mode at f000:0. Return its
 * file name, unique to this process.
 */
char *tsr_write_firmware(const uint8_t *program, size_t bytes)
{
    static const uint8_t reset[] = { 0xea, 0, 0, 0, 0xf0 }; /* ljmp f000:0 */
    g_autofree char *image = g_malloc0(FIRMWARE_BYTES);
    char *path = g_strdup_printf("%s/tessera-firmware-%d", g_get_tmp_dir(),
                                 getpid());

    memcpy(image, program, bytes);
    memcpy(image + FIRMWARE_BYTES - 16, reset, sizeof(reset));
    g_assert_true(g_file_set_contents(path, image, FIRMWARE_BYTES, NULL));
    return path;
}

void tsr_run_firmware(TsrTest *t)
{
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
}

/* Map the BARs, set up memory for the test, and start the first two engines. */
void tsr_set_up(TsrTest *t)
{
    tsr_map_device(t);
    tsr_set_up_memory(t);
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
}

TsrTest *tsr_start(const char *props)
{
    TsrTest *t = tsr_start_machine(props, "");

    tsr_set_up(t);
    return t;
}

void tsr_sleep(TsrTest *t)
{
    QPCIDevice *pm = qpci_device_find(t->bus, QPCI_DEVFN(1, 3));

    g_assert_nonnull(pm);
    qpci_config_writel(pm, 0x40, 0x600 | 1);
    qpci_config_writeb(pm, 0x80, 1);
    qtest_outw(t->qts, 0x604, 1 << 13 | 1 << 10);
    qtest_qmp_eventwait(t->qts, "SUSPEND");
    g_free(pm);
}

void tsr_stop(TsrTest *t)
{
    g_free(t->dev);
    if (t->bus) {
        qpci_free_pc(t->bus);
    }
    qtest_quit(t->qts);
    g_free(t);
}

uint32_t tsr_r32(TsrTest *t, uint32_t reg)
{
    return qpci_io_readl(t->dev, t->regs, reg);
}

uint64_t tsr_r64(TsrTest *t, uint32_t reg_lo)
{
    uint64_t lo = tsr_r32(t, reg_lo);

    return lo | (uint64_t)tsr_r32(t, reg_lo + 4) << 32;
}

void tsr_w32(TsrTest *t, uint32_t reg, uint32_t value)
{
    qpci_io_writel(t->dev, t->regs, reg, value);
}

void tsr_w64(TsrTest *t, uint32_t reg_lo, uint64_t value)
{
    tsr_w32(t, reg_lo, value);
    tsr_w32(t, reg_lo + 4, value >> 32);
}

uint64_t tsr_alloc(TsrTest *t, uint64_t bytes)
{
    uint64_t at = t->next;

    t->next += ROUND_UP(bytes, 4096);
    g_assert_cmphex(t->next, <, 120 * 1024 * 1024ULL);
    return at;
}

uint64_t tsr_list(TsrTest *t, const uint64_t *entries, uint32_t count)
{
    uint64_t at = tsr_alloc(t, count * 8);
    uint32_t i;

    for (i = 0; i < count; i++) {
        uint64_t le = cpu_to_le64(entries[i]);

        qtest_memwrite(t->qts, at + i * 8, &le, 8);
    }
    return at;
}

uint64_t tsr_seg_base(TsrTest *t, uint32_t id)
{
    uint32_t i, count = tsr_r32(t, TSR_ID_NUM_SEGMENTS);

    for (i = 0; i < count; i++) {
        if (tsr_r32(t, TSR_SEG(i) + TSR_SEG_ID) == id) {
            return tsr_r64(t, TSR_SEG(i) + TSR_SEG_BASE_LO);
        }
    }
    g_assert_not_reached();
}

uint64_t tsr_hidden_base(TsrTest *t)
{
    return tsr_r64(t, TSR_ID_HIDDEN_BASE_LO);
}

/* ---- Engines ----------------------------------------------------------- */

void tsr_engine_start(TsrTest *t, uint32_t e, uint32_t ring_bytes)
{
    TsrTestEngine *eng = &t->eng[e];

    if (!eng->ring || eng->size < ring_bytes) {
        eng->ring = tsr_alloc(t, ring_bytes);
        eng->status_page = tsr_alloc(t, 4096);
    }
    qtest_memset(t->qts, eng->status_page, 0, 4096);
    eng->size = ring_bytes;
    eng->tail = 0;
    eng->seqno = 0;
    tsr_w64(t, TSR_ENG(e) + TSR_ENG_RING_LO, eng->ring);
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_RING_SIZE, ring_bytes);
    tsr_w64(t, TSR_ENG(e) + TSR_ENG_STATUS_PAGE_LO, eng->status_page);
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL, TSR_ENG_ENABLE);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_CONTROL), ==,
                    TSR_ENG_ENABLE);
}

void tsr_wait_reg(TsrTest *t, uint32_t reg, uint32_t mask, uint32_t value)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while ((tsr_r32(t, reg) & mask) != value) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(100);
    }
}

/* Reset an engine and start it again. */
void tsr_engine_reset(TsrTest *t, uint32_t e)
{
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL, TSR_ENG_RESET);
    tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS, TSR_ENGS_RESETTING, 0);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_CONTROL), ==, 0);
    tsr_engine_start(t, e, t->eng[e].size);
}

/* Make a running engine save its job to @area and drop its ring. */
void tsr_preempt(TsrTest *t, uint32_t e, uint64_t area)
{
    tsr_w64(t, TSR_ENG(e) + TSR_ENG_SAVE_LO, area);
    tsr_w32(t, TSR_ENG(e) + TSR_ENG_CONTROL, TSR_ENG_ENABLE | TSR_ENG_PREEMPT);
    tsr_wait_reg(t, TSR_ENG(e) + TSR_ENG_STATUS,
                 TSR_ENGS_PREEMPTING | TSR_ENGS_PREEMPTED, TSR_ENGS_PREEMPTED);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_CONTROL), ==, 0);
}

void tsr_device_reset(TsrTest *t)
{
    tsr_w32(t, TSR_CTRL_RESET, TSR_RESET_MAGIC);
    tsr_wait_reg(t, TSR_CTRL_STATUS, TSR_STATUS_RESETTING, 0);
}

void tsr_emit(TsrTest *t, uint32_t e, const uint32_t *d, uint32_t dwords)
{
    TsrTestEngine *eng = &t->eng[e];
    uint32_t i;

    for (i = 0; i < dwords; i++) {
        uint32_t le = cpu_to_le32(d[i]);

        qtest_memwrite(t->qts, eng->ring + eng->tail, &le, 4);
        eng->tail = (eng->tail + 4) & (eng->size - 1);
    }
}

void tsr_kick(TsrTest *t, uint32_t e)
{
    tsr_w32(t, TSR_DOORBELL(e), t->eng[e].tail);
}

uint64_t tsr_emit_fence(TsrTest *t, uint32_t e, uint32_t flags,
                        uint64_t record)
{
    uint64_t seqno = ++t->eng[e].seqno;
    uint32_t p[TSR_FENCE_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_FENCE, flags, TSR_FENCE_DWORDS), 0,
        seqno, seqno >> 32, record, record >> 32,
    };

    tsr_emit(t, e, p, TSR_FENCE_DWORDS);
    return seqno;
}

uint64_t tsr_seqno(TsrTest *t, uint32_t e)
{
    return qtest_readq(t->qts, t->eng[e].status_page + TSR_SP_SEQNO);
}

void tsr_wait(TsrTest *t, uint32_t e, uint64_t seqno)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (tsr_seqno(t, e) < seqno) {
        if (g_get_monotonic_time() > deadline) {
            g_error("engine %u: seqno 0x%" PRIx64 " not reached: status 0x%x "
                    "head 0x%x tail 0x%x, first error %u packet 0x%08x at 0x%x",
                    e, seqno, tsr_r32(t, TSR_ENG(e) + TSR_ENG_STATUS),
                    tsr_r32(t, TSR_ENG(e) + TSR_ENG_HEAD),
                    tsr_r32(t, TSR_ENG(e) + TSR_ENG_TAIL),
                    tsr_r32(t, TSR_ERR_REC_TYPE),
                    tsr_r32(t, TSR_ERR_REC_PACKET),
                    tsr_r32(t, TSR_ERR_REC_OFFSET));
        }
        g_usleep(50);
    }
}

uint32_t tsr_run(TsrTest *t, uint32_t e, bool user, const TsrCmd *cmd,
                 uint32_t *offset)
{
    uint32_t begin[TSR_JOB_BEGIN_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 0x77, 0, 0,
    };
    uint32_t call[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, user ? TSR_IB_USER : 0,
                       TSR_IB_CALL_DWORDS),
        cmd->n * 4, t->ib_list, t->ib_list >> 32, 0, cmd->n * 4,
    };
    uint64_t seqno;

    qtest_bufwrite(t->qts, t->ib, cmd->d, cmd->n * 4);
    tsr_emit(t, e, begin, TSR_JOB_BEGIN_DWORDS);
    tsr_emit(t, e, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, e, 0, t->record);
    tsr_kick(t, e);
    tsr_wait(t, e, seqno);
    g_assert_cmpuint(qtest_readq(t->qts, t->record + TSR_REC_SEQNO), ==,
                     seqno);
    if (offset) {
        *offset = qtest_readl(t->qts, t->record + TSR_REC_OFFSET);
    }
    return qtest_readl(t->qts, t->record + TSR_REC_STATUS);
}

void tsr_run_ok(TsrTest *t, uint32_t e, const TsrCmd *cmd)
{
    uint32_t offset, status = tsr_run(t, e, false, cmd, &offset);

    if (status) {
        g_error("job failed: error %u at offset 0x%x, packet 0x%08x, slot "
                "0x%x, address 0x%" PRIx64, status, offset,
                cmd->d[offset / 4], tsr_r32(t, TSR_ERR_REC_SLOT),
                tsr_r64(t, TSR_ERR_REC_ADDR_LO));
    }
}

/* Run a job that must fail with @err; no other error may be counted. */
void tsr_run_err(TsrTest *t, uint32_t e, const TsrCmd *cmd, uint32_t err)
{
    uint32_t status;

    tsr_err_clear(t);
    status = tsr_run(t, e, false, cmd, NULL);
    tsr_rule(status == err, "the job ends with %s, not %s",
             status ? tsr_error_name(status) : "no error", tsr_error_name(err));
    tsr_expect_errors(t, err, 1);
}

/* ---- Packets ----------------------------------------------------------- */

void tsr_cmd(TsrCmd *c, const uint32_t *d, uint32_t dwords)
{
    g_assert_cmpuint(c->n + dwords, <=, TSR_TEST_CMD_DWORDS);
    memcpy(c->d + c->n, d, dwords * 4);
    c->n += dwords;
}

/*
 * Append a packet of @dwords words. The arguments are the words after the
 * header.
 */
void tsr_put(TsrCmd *c, uint32_t op, uint32_t flags, uint32_t dwords, ...)
{
    va_list ap;
    uint32_t i;

    g_assert_cmpuint(c->n + dwords, <=, TSR_TEST_CMD_DWORDS);
    c->d[c->n++] = TSR_PKT_HEADER(op, flags, dwords);
    va_start(ap, dwords);
    for (i = 1; i < dwords; i++) {
        c->d[c->n++] = va_arg(ap, uint32_t);
    }
    va_end(ap);
}

#define LO(v) ((uint32_t)(v))
#define HI(v) ((uint32_t)((uint64_t)(v) >> 32))

void tsr_bind(TsrCmd *c, uint32_t slot, const TsrSurf *s)
{
    tsr_put(c, TSR_OP_BIND_SLOT, 0, TSR_BIND_SLOT_DWORDS, slot, LO(s->base),
            HI(s->base), LO(s->limit), HI(s->limit),
            s->format | s->layout << TSR_SURF_LAYOUT_SHIFT | s->access,
            s->pitch, s->width | s->height << 16, 0);
}

void tsr_bind_buffer(TsrCmd *c, uint32_t slot, uint64_t base, uint64_t limit,
                     uint32_t format, uint32_t access)
{
    TsrSurf s = {
        .base = base, .limit = limit, .format = format, .access = access,
    };

    tsr_bind(c, slot, &s);
}

void tsr_fill(TsrCmd *c, uint32_t slot, uint32_t x, uint32_t y, uint32_t w,
              uint32_t h, uint32_t value)
{
    tsr_put(c, TSR_OP_FILL, 0, TSR_FILL_DWORDS, slot, x, y, w, h, value, 0);
}

void tsr_copy(TsrCmd *c, uint32_t dst, uint32_t src, uint32_t dx, uint32_t dy,
              uint32_t sx, uint32_t sy, uint32_t w, uint32_t h)
{
    tsr_put(c, TSR_OP_COPY, 0, TSR_COPY_DWORDS, dst, src, dx, dy, sx, sy, w, h,
            0);
}

void tsr_transfer(TsrCmd *c, uint32_t flags, uint32_t layouts, uint64_t src,
                  uint64_t dst, uint64_t bytes, uint64_t src_off,
                  uint64_t dst_off, uint32_t pitch)
{
    tsr_put(c, TSR_OP_TRANSFER, flags, TSR_TRANSFER_DWORDS, layouts, LO(src),
            HI(src), LO(dst), HI(dst), LO(bytes), HI(bytes), LO(src_off),
            HI(src_off), LO(dst_off), HI(dst_off), pitch, 0);
}

void tsr_page_fill(TsrCmd *c, uint32_t value, uint64_t gpa, uint64_t bytes)
{
    tsr_put(c, TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS, value, LO(gpa),
            HI(gpa), LO(bytes), HI(bytes));
}

void tsr_map(TsrCmd *c, uint32_t seg, uint32_t first, uint32_t pages,
             uint64_t list)
{
    tsr_put(c, TSR_OP_MAP_APERTURE, 0, TSR_MAP_APERTURE_DWORDS, seg, first,
            pages, LO(list), HI(list));
}

void tsr_unmap(TsrCmd *c, uint32_t seg, uint32_t first, uint32_t pages)
{
    tsr_put(c, TSR_OP_UNMAP_APERTURE, 0, TSR_UNMAP_APERTURE_DWORDS, seg, first,
            pages);
}

void tsr_mark(TsrCmd *c, uint32_t mark, uint64_t gpa, uint64_t bytes)
{
    tsr_put(c, TSR_OP_MARK, 0, TSR_MARK_DWORDS, mark, LO(gpa), HI(gpa),
            LO(bytes), HI(bytes));
}

void tsr_mark_register(TsrTest *t, uint32_t mark, uint64_t gpa, uint64_t bytes)
{
    tsr_w64(t, TSR_MARK_ADDR_LO, gpa);
    tsr_w64(t, TSR_MARK_SIZE_LO, bytes);
    tsr_w32(t, TSR_MARK_COMMAND, mark);
}

void tsr_set_state(TsrCmd *c, uint32_t first, uint32_t count, ...)
{
    uint32_t p[2 + TSR_STATE_COUNT + 1] = { 0 };
    uint32_t dwords = ROUND_UP(2 + count, 2), i;
    va_list ap;

    p[0] = TSR_PKT_HEADER(TSR_OP_SET_STATE, 0, dwords);
    p[1] = first | count << 16;
    va_start(ap, count);
    for (i = 0; i < count; i++) {
        p[2 + i] = va_arg(ap, uint32_t);
    }
    va_end(ap);
    tsr_cmd(c, p, dwords);
}

void tsr_gpu_write(TsrTest *t, uint64_t gpa, const void *buf, uint32_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    g_assert_cmpuint(bytes, <=, BOUNCE_BYTES);
    qtest_bufwrite(t->qts, t->bounce, buf, bytes);
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, t->bounce_list, gpa, bytes, 0,
                 0, 0);
    tsr_run_ok(t, PAGING, c);
}

void tsr_gpu_read(TsrTest *t, uint64_t gpa, void *buf, uint32_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    g_assert_cmpuint(bytes, <=, BOUNCE_BYTES);
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, gpa, t->bounce_list, bytes, 0,
                 0, 0);
    tsr_run_ok(t, PAGING, c);
    qtest_bufread(t->qts, t->bounce, buf, bytes);
}

/* IEEE CRC-32, reflected, one bit at a time. */
uint32_t tsr_crc32(const uint8_t *p, size_t bytes)
{
    uint32_t crc = 0xffffffff;

    while (bytes--) {
        crc ^= *p++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

void tsr_firmware_table(uint32_t *table)
{
    const uint32_t one = TSR_FACTOR_ONE, rest = TSR_FACTOR_INV_SRC_ALPHA;

    memset(table, 0, TSR_FW_TABLE_BYTES);
    table[TSR_FW_BLEND(TSR_BLEND_NONE) / 4] = TSR_FW_FACTORS(one, 0, one, 0);
    table[TSR_FW_BLEND(TSR_BLEND_ALPHA) / 4] =
        TSR_FW_FACTORS(TSR_FACTOR_SRC_ALPHA, rest, one, rest);
    table[TSR_FW_BLEND(TSR_BLEND_PREMULTIPLIED) / 4] =
        TSR_FW_FACTORS(one, rest, one, rest);
    table[TSR_FW_FETCH / 4] = TSR_VERTEX_X;
    table[TSR_FW_FETCH / 4 + 1] = TSR_VERTEX_Y;
    table[TSR_FW_FETCH / 4 + 2] = TSR_VERTEX_U;
    table[TSR_FW_FETCH / 4 + 3] = TSR_VERTEX_V;
    table[TSR_FW_FETCH / 4 + 4] = TSR_VERTEX_COLOR;
    table[TSR_FW_SCALE / 4] = table[TSR_FW_SCALE / 4 + 1] = 65536;
}

void tsr_start_firmware(TsrTest *t, const uint32_t *table)
{
    uint64_t base = tsr_hidden_base(t);
    uint8_t image[TSR_FW_BYTES], *p = image + TSR_FW_HEADER_BYTES;

    stl_le_p(image, TSR_FW_MAGIC);
    stl_le_p(image + 4, TSR_FW_VERSION);
    stl_le_p(image + 8, TSR_FW_TABLE_BYTES);
    for (unsigned int i = 0; i < TSR_FW_TABLE_BYTES / 4; i++) {
        stl_le_p(p + i * 4, table[i]);
    }
    stl_le_p(image + 12, tsr_crc32(p, TSR_FW_TABLE_BYTES));
    tsr_gpu_write(t, base, image, sizeof(image));
    tsr_w64(t, TSR_FW_ADDR_LO, base);
    tsr_w32(t, TSR_FW_SIZE, sizeof(image));
    tsr_w32(t, TSR_FW_START, 1);
}

void tsr_load_firmware(TsrTest *t)
{
    uint32_t table[TSR_FW_TABLE_BYTES / 4];

    tsr_firmware_table(table);
    tsr_start_firmware(t, table);
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_STATUS), ==, TSR_STATUS_FW_RUNNING);
}

/* ---- Errors ------------------------------------------------------------ */

uint32_t tsr_err_count(TsrTest *t, uint32_t type)
{
    return tsr_r32(t, TSR_ERR_COUNT(type));
}

uint32_t tsr_err_total(TsrTest *t)
{
    return tsr_r32(t, TSR_ERR_TOTAL);
}

void tsr_err_clear(TsrTest *t)
{
    tsr_w32(t, TSR_ERR_CLEAR, 1);
    g_assert_cmpuint(tsr_err_total(t), ==, 0);
}

void tsr_expect_errors(TsrTest *t, uint32_t type, uint32_t count)
{
    uint32_t total = tsr_err_total(t);

    if (total != count || tsr_err_count(t, type) != count) {
        g_error("expected %u of %s, have %u of it and %u in all, the first "
                "%s, packet 0x%08x at 0x%x", count, tsr_error_name(type),
                tsr_err_count(t, type), total,
                tsr_error_name(tsr_r32(t, TSR_ERR_REC_TYPE)),
                tsr_r32(t, TSR_ERR_REC_PACKET),
                tsr_r32(t, TSR_ERR_REC_OFFSET));
    }
    tsr_err_clear(t);
}

void tsr_expect_no_errors(TsrTest *t)
{
    tsr_expect_errors(t, TSR_ERR_NONE, 0);
}

void tsr_qom_set(TsrTest *t, const char *property, int64_t value)
{
    qtest_qmp_assert_success(t->qts, "{'execute': 'qom-set', 'arguments': {"
                             "'path': '/machine/peripheral/gpu', "
                             "'property': %s, 'value': %" PRId64 "}}",
                             property, value);
}

int64_t tsr_qom_get(TsrTest *t, const char *property)
{
    QDict *rsp = qtest_qmp(t->qts, "{'execute': 'qom-get', 'arguments': {"
                           "'path': '/machine/peripheral/gpu', "
                           "'property': %s}}", property);
    int64_t value;

    g_assert(qdict_haskey(rsp, "return"));
    value = qdict_get_int(rsp, "return");
    qobject_unref(rsp);
    return value;
}

/* ---- MSI-X ------------------------------------------------------------- */

uint64_t tsr_msix_enable(TsrTest *t)
{
    uint64_t words = tsr_alloc(t, 4096);
    uint32_t i;

    qpci_msix_enable(t->dev);
    qtest_memset(t->qts, words, 0, 4096);
    for (i = 0; i < TSR_NUM_VECTORS; i++) {
        uint64_t entry = t->dev->msix_table_off + i * 16;
        QPCIBar bar = t->dev->msix_table_bar;

        qpci_io_writel(t->dev, bar, entry, words + i * 4);
        qpci_io_writel(t->dev, bar, entry + 4, 0);
        qpci_io_writel(t->dev, bar, entry + 8, i + 1);
        qpci_io_writel(t->dev, bar, entry + 12, 0);
    }
    return words;
}

/* Return whether @vector was raised since the last call for it. */
bool tsr_msix_seen(TsrTest *t, uint64_t msix, uint32_t vector)
{
    uint32_t word = qtest_readl(t->qts, msix + vector * 4);

    if (!word) {
        return false;
    }
    g_assert_cmpuint(word, ==, vector + 1);
    qtest_writel(t->qts, msix + vector * 4, 0);
    return true;
}

void tsr_msix_wait(TsrTest *t, uint64_t msix, uint32_t vector)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (!tsr_msix_seen(t, msix, vector)) {
        tsr_rule(g_get_monotonic_time() < deadline,
                 "interrupt %u does not come", vector);
        g_usleep(100);
    }
}
