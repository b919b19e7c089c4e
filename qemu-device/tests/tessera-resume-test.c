/*
 * QTest: packets that are interrupted and resumed
 *
 * Each kind of long packet is stopped at every point where the engine can
 * leave it, and migrates on the way. VRAM, system memory and apertures must be
 * as after an undisturbed run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-migrate.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define MIB (1024 * 1024)
#define VRAM_BYTES (4 * MIB)
#define HALF (2 * MIB)
#define PAGES_BYTES MIB
#define PIECE 65536
#define LAYOUTS(src, dst) ((src) | (dst) << 8)
#define PROPS "vram-size=4M,vram-hidden-size=0,agp-ro-size=0,gart-size=512M," \
              "firmware-size=1M,strict=on,preemption=on"

typedef struct Case {
    const char *name;
    uint32_t engine;
    void (*build)(TsrTest *t, TsrCmd *c, uint64_t vram);
} Case;

/* ---- The packets --------------------------------------------------------- */

static void build_linear(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    /* START must count once, however often the packet is resumed. */
    tsr_transfer(c, TSR_TRANSFER_START, 0, vram, vram + HALF, HALF - 8, 0, 0,
                 0);
    tsr_transfer(c, TSR_TRANSFER_END, 0, vram, vram + HALF, 8, 0, 0, 0);
}

static void build_overlap(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, 0, 0, vram, vram + 4104, HALF, 0, 0, 0);
}

static void build_from_pages(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, 0, t->bounce_list, vram,
                 PAGES_BYTES - 4096, 24, 0, 0);
}

static void build_to_pages(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES, 0, vram, t->bounce_list,
                 PAGES_BYTES, 0, 0, 0);
}

static void build_pages_to_pages(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_DST_PAGES, 0,
                 t->bounce_list, t->bounce_list + PAGES_BYTES / 4096 / 2 * 8,
                 PAGES_BYTES / 2, 0, 0, 0);
}

static void build_swizzle(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, 0, LAYOUTS(TSR_LAYOUT_LINEAR, TSR_LAYOUT_MORTON), vram,
                 vram + HALF, HALF, 0, 0, 4096);
}

/* The surface is wide enough for several pieces of a band. */
static void build_wide_swizzle(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    /*
     * In place, so that the result depends on the order, which is fixed. START
     * must count once, also if the packet is resumed in the first band.
     */
    tsr_transfer(c, TSR_TRANSFER_START,
                 LAYOUTS(TSR_LAYOUT_TILE4K, TSR_LAYOUT_LINEAR), vram, vram,
                 98304 * 32, 0, 0, 98304);
    tsr_transfer(c, TSR_TRANSFER_END, 0, vram, vram + HALF, 8, 0, 0, 0);
}

static void build_unswizzle(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_transfer(c, TSR_TRANSFER_DST_PAGES,
                 LAYOUTS(TSR_LAYOUT_MORTON, TSR_LAYOUT_LINEAR), vram,
                 t->bounce_list, PAGES_BYTES, 0, 0, 4096);
}

static void build_page_fill(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_page_fill(c, 0x12345678, vram + 8, HALF);
}

static void build_mark(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_mark(c, TSR_MARK_FREE, vram + 4096, HALF);
}

static void build_map(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    uint64_t list = tsr_alloc(t, 2000 * 8);

    for (uint32_t i = 0; i < 2000; i++) {
        qtest_writeq(t->qts, list + i * 8,
                     t->bounce + i % 256 * 4096 +
                     (TSR_APTE_VALID | TSR_APTE_WRITE));
    }
    t->next = list;
    tsr_map(c, 4, 3, 2000, list);
    /* Copy through the aperture, so that VRAM shows the mapping. */
    tsr_transfer(c, 0, 0, tsr_seg_base(t, 4) + 3 * 4096, vram, HALF, 0, 0, 0);
}

static void build_unmap(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_unmap(c, 4, 0, 512 * MIB / 4096);
}

static void bind_2d(TsrCmd *c, uint32_t slot, uint64_t base, uint32_t layout)
{
    TsrSurf s = {
        .base = base, .limit = MIB, .format = TSR_FORMAT_ARGB8888,
        .layout = layout, .access = RW, .pitch = 2048, .width = 512,
        .height = 512,
    };

    tsr_bind(c, slot, &s);
}

static void build_fill(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_2d(c, 0, vram, TSR_LAYOUT_MORTON);
    tsr_fill(c, 0, 5, 7, 500, 490, 0xabcdef01);
}

static void build_fill_buffer(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_bind_buffer(c, 0, vram, HALF, TSR_FORMAT_RGB565, RW);
    tsr_fill(c, 0, 1, 0, HALF / 2 - 1, 1, 0x1234);
}

static void build_copy_rows(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_2d(c, 0, vram, TSR_LAYOUT_LINEAR);
    tsr_copy(c, 0, 0, 1, 40, 0, 0, 500, 300);
}

static void build_copy_buffer(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    tsr_bind_buffer(c, 0, vram, HALF, TSR_FORMAT_R8, RW);
    tsr_bind_buffer(c, 1, vram + HALF, HALF, TSR_FORMAT_R8, RW);
    tsr_copy(c, 1, 0, 3, 0, 0, 0, HALF - 3, 1);
}

static void build_copy_layouts(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_2d(c, 0, vram, TSR_LAYOUT_MORTON);
    bind_2d(c, 1, vram + HALF, TSR_LAYOUT_LINEAR);
    tsr_copy(c, 1, 0, 1, 2, 3, 4, 500, 500);
}

static void build_copy_tiles(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_2d(c, 0, vram, TSR_LAYOUT_TILE4K);
    tsr_copy(c, 0, 0, 0, 32, 0, 0, 512, 480);
}

static void build_blit(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_2d(c, 0, vram, TSR_LAYOUT_TILE4K);
    bind_2d(c, 1, vram + HALF, TSR_LAYOUT_LINEAR);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 1, 0, 3 | 5 << 16,
            400 | 30 << 16, 1 | 2 << 16, 300 | 200 << 16,
            TSR_SAMPLER_LINEAR | TSR_BLEND_PREMULTIPLIED << 8, 0x80ffffff, 0);
}

/* Two triangles that are wider than one piece of a scanline. */
static void build_draw(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    const uint32_t at[6][2] = {
        { 0, 0 }, { 2048, 0 }, { 0, 60 }, { 2048, 60 }, { 2048, 0 }, { 0, 60 },
    };
    TsrSurf target = {
        .base = vram, .limit = MIB, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .layout = TSR_LAYOUT_MORTON, .pitch = 8192,
        .width = 2048, .height = 32,
    };
    uint8_t raw[6 * TSR_VERTEX_BYTES] = { 0 };

    for (uint32_t i = 0; i < 6; i++) {
        uint8_t *p = raw + i * TSR_VERTEX_BYTES;

        stl_le_p(p + TSR_VERTEX_X, at[i][0] * 256);
        stl_le_p(p + TSR_VERTEX_Y, at[i][1] * 256);
        stl_le_p(p + TSR_VERTEX_U, at[i][0] * 65536);
        stl_le_p(p + TSR_VERTEX_V, at[i][1] * 65536);
        stl_le_p(p + TSR_VERTEX_COLOR, 0x40201008 * (i + 1));
    }
    qpci_memwrite(t->dev, t->vram, 3 * MIB, raw, sizeof(raw));
    tsr_bind(c, 0, &target);
    tsr_bind_buffer(c, 1, vram + 3 * MIB, sizeof(raw), TSR_FORMAT_R32,
                    TSR_SURF_READ);
    bind_2d(c, 2, vram + HALF, TSR_LAYOUT_TILE4K);
    tsr_set_state(c, 0, TSR_STATE_COUNT, 0, 0, 2048 | 32 << 16, 2,
                  TSR_SAMPLER_REPEAT, TSR_BLEND_PREMULTIPLIED, 0xffffffff);
    tsr_put(c, TSR_OP_DRAW, TSR_DRAW_TEXTURED, TSR_DRAW_DWORDS, 1, 0, 6);
}

/*
 * Bind a wide texture in the aperture, with only its first two rows of tiles
 * mapped. Their pages are so far apart that they share entries in the cache of
 * texture pages, so each pixel between the rows needs both pages again.
 */
static void bind_far_rows(TsrTest *t, TsrCmd *c, uint32_t slot)
{
    g_autofree TsrCmd *map = g_new0(TsrCmd, 1);
    uint64_t list = tsr_alloc(t, 32 * 8);
    TsrSurf s = {
        .base = tsr_seg_base(t, 4), .limit = 16 * MIB,
        .format = TSR_FORMAT_ARGB8888, .layout = TSR_LAYOUT_TILE4K,
        .access = TSR_SURF_READ, .pitch = TSR_SURF_MAX_PITCH, .width = 512,
        .height = 64,
    };

    for (uint32_t i = 0; i < 32; i++) {
        qtest_writeq(t->qts, list + i * 8, (t->bounce + i * 4096) |
                     TSR_APTE_VALID);
    }
    t->next = list;
    for (uint32_t row = 0; row < 2; row++) {
        tsr_map(map, 4, row * (TSR_SURF_MAX_PITCH * TSR_TILE_ROWS / 4096), 16,
                list + row * 16 * 8);
    }
    tsr_run_ok(t, PAGING, map);
    tsr_bind(c, slot, &s);
}

/*
 * This blit of one row of pixels is so slow that the engine must be able to
 * leave it.
 */
static void build_blit_aperture(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    bind_far_rows(t, c, 0);
    bind_2d(c, 1, vram, TSR_LAYOUT_MORTON);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 1, 0, 0, 512 | 1 << 16,
            31 << 16, 512 | 2 << 16,
            TSR_SAMPLER_LINEAR | TSR_BLEND_PREMULTIPLIED << 8, 0x80ffffff, 0);
}

static void build_draw_aperture(TsrTest *t, TsrCmd *c, uint64_t vram)
{
    const uint32_t at[3][2] = { { 0, 0 }, { 1024, 0 }, { 0, 2 } };
    uint8_t raw[3 * TSR_VERTEX_BYTES] = { 0 };

    for (uint32_t i = 0; i < 3; i++) {
        uint8_t *p = raw + i * TSR_VERTEX_BYTES;

        stl_le_p(p + TSR_VERTEX_X, at[i][0] * 256);
        stl_le_p(p + TSR_VERTEX_Y, at[i][1] * 256);
        stl_le_p(p + TSR_VERTEX_U, at[i][0] * 65536);
        stl_le_p(p + TSR_VERTEX_V, 32 * 65536);
        stl_le_p(p + TSR_VERTEX_COLOR, 0x80ffffff);
    }
    qpci_memwrite(t->dev, t->vram, 3 * MIB, raw, sizeof(raw));
    bind_far_rows(t, c, 0);
    bind_2d(c, 1, vram, TSR_LAYOUT_LINEAR);
    tsr_bind_buffer(c, 2, vram + 3 * MIB, sizeof(raw), TSR_FORMAT_R32,
                    TSR_SURF_READ);
    tsr_set_state(c, 0, TSR_STATE_COUNT, 1, 0, 512 | 1 << 16, 0,
                  TSR_SAMPLER_LINEAR, TSR_BLEND_ALPHA, 0xffffffff);
    tsr_put(c, TSR_OP_DRAW, TSR_DRAW_TEXTURED, TSR_DRAW_DWORDS, 2, 0, 3);
}

static const Case cases[] = {
    { "transfer", PAGING, build_linear },
    { "transfer-overlap", PAGING, build_overlap },
    { "transfer-from-pages", PAGING, build_from_pages },
    { "transfer-to-pages", PAGING, build_to_pages },
    { "transfer-pages-to-pages", PAGING, build_pages_to_pages },
    { "transfer-swizzle", PAGING, build_swizzle },
    { "transfer-swizzle-wide", PAGING, build_wide_swizzle },
    { "transfer-unswizzle", PAGING, build_unswizzle },
    { "page-fill", PAGING, build_page_fill },
    { "mark", PAGING, build_mark },
    { "map", PAGING, build_map },
    { "unmap", PAGING, build_unmap },
    { "fill", RENDER, build_fill },
    { "fill-buffer", RENDER, build_fill_buffer },
    { "copy-rows", RENDER, build_copy_rows },
    { "copy-buffer", RENDER, build_copy_buffer },
    { "copy-layouts", RENDER, build_copy_layouts },
    { "copy-tiles", RENDER, build_copy_tiles },
    { "blit", RENDER, build_blit },
    { "draw", RENDER, build_draw },
    { "blit-from-aperture", RENDER, build_blit_aperture },
    { "draw-from-aperture", RENDER, build_draw_aperture },
};

/* ---- The memory ---------------------------------------------------------- */

typedef struct Image {
    uint8_t vram[VRAM_BYTES];
    uint8_t pages[PAGES_BYTES];
} Image;

/* Use pieces, because long lines are slow in the qtest protocol. */
static void big_write(TsrTest *t, uint64_t addr, const uint8_t *buf,
                      uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += PIECE) {
        qtest_bufwrite(t->qts, addr + i, buf + i, PIECE);
    }
}

static void big_read(TsrTest *t, uint64_t addr, uint8_t *buf, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i += PIECE) {
        qtest_bufread(t->qts, addr + i, buf + i, PIECE);
    }
}

static void memory_set_up(TsrTest *t)
{
    g_autofree Image *image = g_new(Image, 1);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint32_t x = 1;

    for (size_t i = 0; i < sizeof(*image); i += 4) {
        x = x * 1664525 + 1013904223;
        stl_he_p((uint8_t *)image + i, x);
    }
    tsr_mark(c, TSR_MARK_VALID, tsr_seg_base(t, 1), VRAM_BYTES);
    tsr_unmap(c, 4, 0, 512 * MIB / 4096);
    tsr_run_ok(t, PAGING, c);
    big_write(t, t->vram.addr, image->vram, VRAM_BYTES);
    big_write(t, t->bounce, image->pages, PAGES_BYTES);
}

static Image *memory_look(TsrTest *t)
{
    Image *image = g_new(Image, 1);

    big_read(t, t->vram.addr, image->vram, VRAM_BYTES);
    big_read(t, t->bounce, image->pages, PAGES_BYTES);
    return image;
}

static void memory_expect(TsrTest *t, const Image *want)
{
    g_autofree Image *got = memory_look(t);

    g_assert_true(!memcmp(want->pages, got->pages, PAGES_BYTES));
    g_assert_true(!memcmp(want->vram, got->vram, VRAM_BYTES));
}

/* ---- The test ------------------------------------------------------------ */

/* Set up the memory and emit the job. Both must be the same each time. */
static uint64_t start_job(TsrTest *t, const Case *k)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint32_t call[TSR_IB_CALL_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS),
    };
    uint32_t begin[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 7, 0, 0 };
    uint64_t seqno;

    memory_set_up(t);
    k->build(t, c, tsr_seg_base(t, 1));
    qtest_bufwrite(t->qts, t->ib, c->d, c->n * 4);
    call[1] = call[5] = c->n * 4;
    call[2] = t->ib_list;
    tsr_emit(t, k->engine, begin, 4);
    tsr_emit(t, k->engine, call, TSR_IB_CALL_DWORDS);
    seqno = tsr_emit_fence(t, k->engine, 0, t->record);
    return seqno;
}

/*
 * Wait until the engine is held at the next point (true) or the job has ended
 * (false). @stops counts how often the machine was stopped before.
 */
static bool is_held(TsrTest *t, const Case *k, uint64_t seqno,
                    unsigned int stops)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (tsr_seqno(t, k->engine) < seqno) {
        if (!tsr_qom_get(t, "x-hold-after")) {
            return true;
        }
        tsr_rule(g_get_monotonic_time() < deadline,
                 "%s: the job does not end, nor get to where it would be held%s",
                 k->name, stops ? ", as the machine was stopped in the midst "
                 "of it and migrated: that did not wait until the engine "
                 "stood still, or did not take along where it stood" : "");
    }
    return false;
}

static void finish(TsrTest *t, const Case *k, uint64_t seqno)
{
    tsr_wait(t, k->engine, seqno);
    g_assert_cmpuint(qtest_readl(t->qts, t->record + TSR_REC_STATUS), ==, 0);
    tsr_expect_no_errors(t);
}

/*
 * Stop at each point (x-hold-after), migrate at the first two, and compare
 * with an undisturbed run.
 */
static void test_resume(const void *opaque)
{
    const Case *k = opaque;
    g_autofree Image *want = NULL;
    TsrTest *t = tsr_start(PROPS);
    unsigned int stops = 0;
    uint64_t seqno;

    tsr_load_firmware(t);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, tsr_alloc(t, 4096));
    seqno = start_job(t, k);
    tsr_kick(t, k->engine);
    finish(t, k, seqno);
    want = memory_look(t);

    seqno = start_job(t, k);
    tsr_qom_set(t, "x-hold-after", 1);
    tsr_kick(t, k->engine);
    while (is_held(t, k, seqno, stops)) {
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        if (++stops == 2 || stops == 1) {
            t = tsr_migrate(t, PROPS);
        }
        tsr_qom_set(t, "x-hold-after", 1);
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    }
    tsr_qom_set(t, "x-hold-after", 0);
    finish(t, k, seqno);
    g_assert_cmpuint(stops, >, 0);
    memory_expect(t, want);
    tsr_stop(t);
}

/* The packet is preempted at each of these points, and another job runs. */
static void test_preempted(const void *opaque)
{
    const Case *k = opaque;
    g_autofree Image *want = NULL;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(PROPS);
    uint64_t area = tsr_alloc(t, TSR_SAVE_BYTES(64)), seqno;
    uint32_t resume[] = {
        TSR_PKT_HEADER(TSR_OP_RESUME, 0, TSR_RESUME_DWORDS), 0, area, 0,
    };
    uint32_t ring[TSR_IB_CALL_DWORDS];
    unsigned int times = 0;

    tsr_load_firmware(t);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, tsr_alloc(t, 4096));
    seqno = start_job(t, k);
    tsr_kick(t, k->engine);
    finish(t, k, seqno);
    want = memory_look(t);

    tsr_engine_reset(t, k->engine);
    seqno = start_job(t, k);
    /*
     * Read the IB_CALL back from the ring: it is emitted again behind each
     * RESUME.
     */
    qtest_memread(t->qts, t->eng[k->engine].ring +
                  (t->eng[k->engine].tail - TSR_FENCE_DWORDS * 4 -
                   sizeof(ring)), ring, sizeof(ring));
    tsr_qom_set(t, "x-hold-after", 1);
    tsr_kick(t, k->engine);
    while (is_held(t, k, seqno, 0)) {
        tsr_preempt(t, k->engine, area);
        tsr_engine_start(t, k->engine, TSR_TEST_RING_BYTES);
        /* This job unbinds all slots. It does not change the IB. */
        tsr_emit(t, k->engine, (uint32_t[]) {
                 TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 9, 0, 0 }, 4);
        seqno = tsr_emit_fence(t, k->engine, 0, 0);
        tsr_kick(t, k->engine);
        tsr_wait(t, k->engine, seqno);
        tsr_qom_set(t, "x-hold-after", 1);
        tsr_emit(t, k->engine, resume, 4);
        tsr_emit(t, k->engine, ring, TSR_IB_CALL_DWORDS);
        seqno = tsr_emit_fence(t, k->engine, 0, t->record);
        tsr_kick(t, k->engine);
        times++;
    }
    tsr_qom_set(t, "x-hold-after", 0);
    finish(t, k, seqno);
    g_assert_cmpuint(times, >, 0);
    memory_expect(t, want);
    tsr_stop(t);
}

/*
 * A packet that takes seconds delays neither a stop of the machine nor a
 * reset.
 */
static void test_bounded(void)
{
    TsrTest *t = tsr_start("vram-size=4M,vram-hidden-size=0,agp-ro-size=0,"
                           "gart-size=4G,firmware-size=1M");
    uint64_t gart = tsr_seg_base(t, 4), seqno;
    uint32_t move[TSR_TRANSFER_DWORDS] = {
        TSR_PKT_HEADER(TSR_OP_TRANSFER, 0, TSR_TRANSFER_DWORDS), 0, gart,
        gart >> 32, gart, gart >> 32, 0, 1,
    };
    int64_t start;

    /*
     * Move 4 GiB of an aperture that shows only the dummy page, page by page.
     * This is slow and needs no memory.
     */
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, tsr_alloc(t, 4096));
    for (int i = 0; i < 16; i++) {
        tsr_emit(t, PAGING, move, TSR_TRANSFER_DWORDS);
    }
    seqno = tsr_emit_fence(t, PAGING, 0, 0);
    tsr_kick(t, PAGING);
    for (int i = 0; i < 10; i++) {
        uint32_t head = tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_HEAD);

        start = g_get_monotonic_time();
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        g_test_message("stopped after %" PRId64 " us",
                       g_get_monotonic_time() - start);
        g_assert_cmpuint(tsr_r32(t, TSR_ENG(PAGING) + TSR_ENG_HEAD), ==, head);
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    }
    g_assert_cmpuint(tsr_seqno(t, PAGING), <, seqno);
    tsr_engine_reset(t, PAGING);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* An engine writes on both sides of a live migration, and no write is lost. */
static void test_live(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), seqno = 0;
    const uint32_t n = 512, bytes = VRAM_BYTES / 512;
    g_autofree uint32_t *got = g_malloc(VRAM_BYTES);

    tsr_qom_set(t, "x-paging-delay-us", 300);
    for (uint32_t i = 0; i < n / 4; i++) {
        uint32_t begin[] = { TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, 4), 7, 0, 0 };

        tsr_emit(t, PAGING, begin, 4);
        for (uint32_t j = i * 4; j < i * 4 + 4; j++) {
            uint32_t fill[TSR_PAGE_FILL_DWORDS] = {
                TSR_PKT_HEADER(TSR_OP_PAGE_FILL, 0, TSR_PAGE_FILL_DWORDS),
                0xc0de0000 + j, vram + j * bytes, 0, bytes, 0,
            };

            tsr_emit(t, PAGING, fill, TSR_PAGE_FILL_DWORDS);
        }
    }
    seqno = tsr_emit_fence(t, PAGING, 0, 0);
    tsr_kick(t, PAGING);
    t = tsr_migrate(t, PROPS);
    tsr_qom_set(t, "x-paging-delay-us", 300);
    t = tsr_migrate(t, PROPS);
    tsr_wait(t, PAGING, seqno);
    tsr_expect_no_errors(t);
    big_read(t, t->vram.addr, (uint8_t *)got, VRAM_BYTES);
    for (uint32_t i = 0; i < VRAM_BYTES / 4; i++) {
        g_assert_cmphex(le32_to_cpu(got[i]), ==,
                        0xc0de0000 + i / (bytes / 4));
    }
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *name = g_strdup_printf("/tessera/resume/%s",
                                                cases[i].name);

        g_autofree char *preempted = g_strdup_printf(
            "/tessera/resume/preempted/%s", cases[i].name);

        qtest_add_data_func(name, &cases[i], test_resume);
        qtest_add_data_func(preempted, &cases[i], test_preempted);
    }
    qtest_add_func("/tessera/resume/bounded", test_bounded);
    qtest_add_func("/tessera/resume/live-migration", test_live);
    return g_test_run();
}
