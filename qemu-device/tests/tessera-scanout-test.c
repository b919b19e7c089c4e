/*
 * QTest: the output of heads, compared with a model pixel by pixel
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-head.h"
#include "tessera-migrate.h"

#define SMALL "vram-size=4M,vram-hidden-size=4M,gart-size=4M,agp-ro-size=1M," \
              "firmware-size=1M"
#define WB_OFFSET (3 << 20)     /* of writeback, in segment 1 */

static GRand *rng;

static uint32_t rnd(uint32_t n)
{
    return g_rand_int(rng) % n;
}

static void free_texels(TsrHead *h)
{
    for (int i = 0; i < TSR_NUM_PLANES; i++) {
        g_free(h->plane[i].texels);
        h->plane[i].texels = NULL;
    }
}

static uint64_t wb_addr(TsrHead *h)
{
    return tsr_seg_base(h->t, 1) + WB_OFFSET;
}

/* Commit, and return what the first frame that shows it writes back. */
static uint32_t *capture(TsrHead *h, uint32_t pitch)
{
    g_autofree uint8_t *raw = g_malloc(pitch * h->height);
    uint32_t *out = g_new(uint32_t, h->width * h->height);

    tsr_head_w64(h, TSR_CRTC_WB_ADDR_LO, wb_addr(h));
    tsr_head_w32(h, TSR_CRTC_WB_PITCH, pitch);
    tsr_head_w32(h, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);
    tsr_head_commit(h, TSR_COMMIT_VBLANK);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_WB_CONTROL), ==, 0);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_WB_STATUS), ==, TSR_WB_PENDING);
    tsr_head_frame(h);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_WB_STATUS), ==, TSR_WB_DONE);
    tsr_gpu_read(h->t, wb_addr(h), raw, pitch * (h->height - 1) +
                 h->width * 4);
    for (uint32_t i = 0; i < h->width * h->height; i++) {
        out[i] = ldl_le_p(raw + i / h->width * pitch + i % h->width * 4);
    }
    return out;
}

static uint32_t model_crc(const TsrHead *h, const uint32_t *pixels)
{
    g_autofree uint8_t *raw = g_malloc(h->width * h->height * 4);

    for (uint32_t i = 0; i < h->width * h->height; i++) {
        stl_le_p(raw + 4 * i, pixels[i]);
    }
    return tsr_crc32(raw, h->width * h->height * 4);
}

static void compare(const TsrHead *h, const uint32_t *got, const char *what)
{
    g_autofree uint32_t *want = tsr_head_model(h);

    for (uint32_t i = 0; i < h->width * h->height; i++) {
        if (got[i] != want[i]) {
            const TsrPlane *p = h->plane;

            for (int k = 0; k < TSR_NUM_PLANES; k++, p++) {
                g_printerr("plane %d on %d format %u layout %u turns %u "
                           "reflect %d%d blend %u alpha %u dst %d,%d %ux%u\n",
                           k, p->on, p->format, p->layout, p->turns,
                           p->reflect_x, p->reflect_y, p->blend, p->alpha,
                           p->dst_x, p->dst_y, p->dst_w, p->dst_h);
            }
            g_error("%s: pixel %u,%u is 0x%08x, not 0x%08x", what,
                    i % h->width, i / h->width, got[i], want[i]);
        }
    }
}

/* Writeback, CRC and model must agree. */
static void check_frame(TsrHead *h, const char *what)
{
    uint32_t pitch = h->width * 4 + rnd(3) * 4;
    g_autofree uint32_t *got = capture(h, pitch);

    compare(h, got, what);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_CRC_COUNT), ==, 1);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_CRC_FRAME), ==,
                     tsr_head_r32(h, TSR_CRTC_VBLANK_COUNT));
    g_assert_cmphex(tsr_head_r32(h, TSR_CRTC_CRC_VALUE), ==,
                    model_crc(h, got));
}

/* ---- Pixels -------------------------------------------------------------- */

static const uint32_t formats[] = {
    TSR_FORMAT_RGB565, TSR_FORMAT_XRGB8888, TSR_FORMAT_ARGB8888,
    TSR_FORMAT_XRGB2101010,
};

/* Each format in each layout, from both segments, is shown unchanged. */
static void test_formats(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    TsrHead h;

    rng = g_rand_new_with_seed(1);
    tsr_head_on(&h, t, 0, 67, 45);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    check_frame(&h, "nothing");
    for (uint32_t i = 0; i < ARRAY_SIZE(formats); i++) {
        for (uint32_t layout = 0; layout < TSR_LAYOUT_COUNT; layout++) {
            uint64_t base = tsr_seg_base(t, 1 + (i + layout) % 2);

            tsr_head_full_plane(&h, TSR_PLANE_PRIMARY, formats[i], layout,
                                base + rnd(100) * 4096);
            check_frame(&h, "format");
        }
    }
    free_texels(&h);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

/* Each rotation and reflection, for each layout. */
static void test_rotation(void)
{
    TsrTest *t = tsr_start(SMALL);
    TsrHead h;
    TsrPlane *p = &h.plane[0];

    rng = g_rand_new_with_seed(2);
    tsr_head_on(&h, t, 0, 50, 34);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    for (uint32_t i = 0; i < 48; i++) {
        tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, i / 16,
                            tsr_seg_base(t, 1));
        p->turns = i % 4;
        p->reflect_x = i & 4;
        p->reflect_y = i & 8;
        if (p->turns & 1) {     /* a part of the surface, unscaled */
            p->src[2] = 34 << 16;
            p->src[3] = 30 << 16;
            p->dst_w = 30;
        }
        tsr_plane_write(&h, 0);
        check_frame(&h, "rotation");
    }
    free_texels(&h);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

static void random_plane(TsrHead *h, uint32_t plane)
{
    TsrPlane *p = &h->plane[plane];
    uint32_t row;

    g_free(p->texels);
    *p = (TsrPlane) {
        .on = rnd(8), .blend = rnd(3), .turns = rnd(4),
        .alpha = rnd(2) ? 255 : rnd(256),
        .reflect_x = rnd(2), .reflect_y = rnd(2),
        .format = formats[rnd(4)], .layout = rnd(3),
        .width = 1 + rnd(90), .height = 1 + rnd(90),
        .addr = tsr_seg_base(h->t, 1 + rnd(2)) + plane * (1 << 19) +
                rnd(16) * 4096,
        .dst_x = (int)rnd(100) - 40, .dst_y = (int)rnd(100) - 40,
        .dst_w = 1 + rnd(120), .dst_h = 1 + rnd(120),
    };
    row = p->width * tsr_format_bytes(p->format);
    p->pitch = p->layout ? ROUND_UP(row, 128) + 128 * rnd(2)
                         : row + 4 * rnd(9);
    p->pitch = ROUND_UP(p->pitch, tsr_format_bytes(p->format));
    if (!p->layout) {
        p->addr += 4 * rnd(9);
    }
    for (int i = 0; i < 2; i++) {
        uint32_t size = (i ? p->height : p->width) << 16;

        p->src[2 + i] = rnd(3) ? 1 + rnd(size) : size;
        p->src[i] = rnd(size - p->src[2 + i] + 1);
    }
    if (rnd(4) == 0 && p->src[2] >= 0x10000 && p->src[3] >= 0x10000) {
        /* Without scaling. */
        p->dst_w = p->src[p->turns & 1 ? 3 : 2] >> 16;
        p->dst_h = p->src[p->turns & 1 ? 2 : 3] >> 16;
        p->src[p->turns & 1 ? 3 : 2] = p->dst_w << 16;
        p->src[p->turns & 1 ? 2 : 3] = p->dst_h << 16;
    }
    tsr_plane_fill(h->t, p, rng);
    tsr_plane_write(h, plane);
}

static void random_colour(TsrHead *h)
{
    h->ctm_on = rnd(3) == 0;
    h->gamma_on = rnd(3) == 0;
    for (int i = 0; i < TSR_CTM_ENTRIES; i++) {
        h->ctm[i] = rnd(9) ? (int32_t)rnd(0x20000) - 0x8000
                           : (int32_t)g_rand_int(rng);
    }
    for (int i = 0; i < TSR_GAMMA_ENTRIES; i++) {
        h->gamma[i] = rnd(0x1000000);
    }
    tsr_head_write_color(h);
}

/* Random planes and colours. */
static void test_random(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on,outputs=2");
    TsrHead h;

    rng = g_rand_new_with_seed(20261122);
    for (int round = 0; round < 120; round++) {
        if (round % 40 == 0) {
            tsr_device_reset(t);
            tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
            tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
            tsr_head_on(&h, t, round / 40 % 2, 40 + rnd(60), 30 + rnd(60));
            tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
        }
        for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
            random_plane(&h, i);
        }
        random_colour(&h);
        check_frame(&h, "random");
    }
    free_texels(&h);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

/* ---- CRCs ---------------------------------------------------------------- */

/*
 * There is one CRC for each frame, in order, however late the registers are
 * read.
 */
static void test_crc(void)
{
    TsrTest *t = tsr_start(SMALL);
    uint64_t msix = tsr_msix_enable(t), vram = tsr_seg_base(t, 1);
    uint32_t first, crc[2], n;
    TsrHead h;

    rng = g_rand_new_with_seed(3);
    tsr_head_on(&h, t, 0, 64, 40);
    for (int i = 0; i < 2; i++) {
        g_autofree uint32_t *pixels = NULL;

        tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, TSR_LAYOUT_LINEAR,
                            vram + (1 - i) * 65536);
        pixels = tsr_head_model(&h);
        crc[1 - i] = model_crc(&h, pixels);
    }
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 0);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_CRC);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    first = tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT);
    tsr_head_frame(&h);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    /*
     * A commit that is latched at a vblank shows in the frame that begins
     * there.
     */
    tsr_head_w64(&h, TSR_PLANE(0) + TSR_PLANE_ADDR_LO, vram + 65536);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_head_frame(&h);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 3);
    for (int i = 0; i < 3; i++) {
        g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_FRAME), ==,
                         first + 1 + i);
        g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CRC_VALUE), ==, crc[!!i]);
    }
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_FRAME), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CRC_VALUE), ==, 0);
    /* The queue keeps the latest CRCs. */
    qtest_clock_step(t->qts, 40 * h.frame_ns);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==,
                     TSR_CRC_QUEUE);
    n = tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT);
    g_assert_cmpuint(n, ==, first + 43);
    for (int i = 0; i < TSR_CRC_QUEUE; i++) {
        g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_FRAME), ==,
                         n - TSR_CRC_QUEUE + 1 + i);
        g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CRC_VALUE), ==, crc[1]);
    }
    /* Enabling CRCs empties the queue, and disabling them does not. */
    tsr_head_frame(&h);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, 0);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 1);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 0);
    free_texels(&h);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

/* ---- Writeback ----------------------------------------------------------- */

static void refuse_writeback(TsrHead *h, uint64_t addr, uint32_t pitch,
                             uint32_t err)
{
    uint32_t committed = tsr_head_r32(h, TSR_CRTC_COMMITTED);

    tsr_head_w64(h, TSR_CRTC_WB_ADDR_LO, addr);
    tsr_head_w32(h, TSR_CRTC_WB_PITCH, pitch);
    tsr_head_w32(h, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);
    tsr_head_w32(h, TSR_CRTC_COMMIT, TSR_COMMIT_ASYNC);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_COMMITTED), ==, committed);
    g_assert_cmpuint(tsr_r32(h->t, TSR_ERR_REC_SLOT), ==, TSR_NUM_PLANES);
    tsr_expect_errors(h->t, err, 1);
}

/* Writeback checks its settings, and captures one frame after its commit. */
static void test_writeback(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1), msix = tsr_msix_enable(t);
    uint32_t guard = 0x12345678, got;
    TsrHead h;

    tsr_head_on(&h, t, 0, 64, 40);
    refuse_writeback(&h, vram + 2, 256, TSR_ERR_SURFACE);
    refuse_writeback(&h, vram, 252, TSR_ERR_SURFACE);
    refuse_writeback(&h, vram, 258, TSR_ERR_SURFACE);
    refuse_writeback(&h, vram, TSR_SURF_MAX_PITCH + 4, TSR_ERR_SURFACE);
    refuse_writeback(&h, vram + (4 << 20) - 40 * 256 + 4, 256,
                     TSR_ERR_ADDRESS);
    refuse_writeback(&h, -256ULL, 256, TSR_ERR_ADDRESS);
    refuse_writeback(&h, tsr_seg_base(t, 4), 256, TSR_ERR_SEGMENT);
    refuse_writeback(&h, tsr_hidden_base(t), 256, TSR_ERR_SEGMENT);

    /* One writeback at a time; another commit in between does not cancel it. */
    tsr_gpu_write(t, vram + 40 * 256, &guard, 4);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_WRITEBACK);
    tsr_head_w64(&h, TSR_CRTC_WB_ADDR_LO, vram);
    tsr_head_w32(&h, TSR_CRTC_WB_PITCH, 256);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    refuse_writeback(&h, vram, 256, TSR_ERR_SURFACE);
    tsr_head_w32(&h, TSR_CRTC_WB_CONTROL, 0);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_WB_STATUS), ==,
                     TSR_WB_PENDING);
    tsr_head_frame(&h);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS) &
                    TSR_CRTC_INT_WRITEBACK, !=, 0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_WB_STATUS), ==, TSR_WB_DONE);
    /*
     * Writeback covers the whole frame and nothing else, and makes its memory
     * valid.
     */
    tsr_gpu_read(t, vram + 40 * 256 - 4, &got, 4);
    g_assert_cmphex(got, ==, 0);
    tsr_gpu_read(t, vram + 40 * 256, &got, 4);
    g_assert_cmphex(got, ==, guard);
    tsr_expect_no_errors(t);

    /*
     * Writeback fails to memory that was freed, and on a CRTC that is turned
     * off.
     */
    tsr_w64(t, TSR_MARK_ADDR_LO, vram + 4096);
    tsr_w64(t, TSR_MARK_SIZE_LO, 4096);
    tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_FREE);
    tsr_head_w32(&h, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_WB_STATUS), ==, TSR_WB_FAILED);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, TSR_NUM_PLANES);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, vram + 4096);
    tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 1);
    tsr_head_w64(&h, TSR_CRTC_WB_ADDR_LO, vram + 65536);
    tsr_head_w32(&h, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_head_w32(&h, TSR_CRTC_CONTROL, 0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_WB_STATUS), ==, TSR_WB_FAILED);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Strict mode --------------------------------------------------------- */

/*
 * A plane with an invalid page is not shown, and is one error for each commit.
 */
static void test_referee(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1);
    TsrHead h;

    rng = g_rand_new_with_seed(4);
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, TSR_LAYOUT_LINEAR, vram);
    tsr_head_full_plane(&h, 1, TSR_FORMAT_RGB565, TSR_LAYOUT_MORTON,
                        vram + 65536);
    h.plane[1].dst_w = h.plane[1].dst_h = 20;
    tsr_plane_write(&h, 1);
    check_frame(&h, "valid");
    tsr_w64(t, TSR_MARK_ADDR_LO, vram + 65536 + 4096);
    tsr_w64(t, TSR_MARK_SIZE_LO, 4096);
    tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_EVICTED);
    qtest_clock_step(t->qts, 7 * h.frame_ns);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ENGINE), ==, TSR_ERR_CRTC(0));
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 1);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, vram + 65536 + 4096);
    tsr_expect_errors(t, TSR_ERR_STRICT_EVICTED, 1);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, 0);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    /* The plane is not shown, and the new commit is an error again. */
    h.plane[1].on = false;
    check_frame(&h, "evicted");
    tsr_expect_errors(t, TSR_ERR_STRICT_EVICTED, 1);
    /*
     * Strict mode checks frames that are neither captured nor viewed. This
     * page belongs to the other plane.
     */
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, 0);
    tsr_w64(t, TSR_MARK_ADDR_LO, vram + 8192);
    tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_FREE);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 0);
    tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 1);
    free_texels(&h);
    tsr_stop(t);
    g_rand_free(rng);
}

/* Pages outside of the source rectangle are not checked. */
static void test_referee_exact(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1);
    TsrHead h;

    tsr_head_on(&h, t, 0, 32, 32);
    h.plane[0] = (TsrPlane) {
        .on = true, .alpha = 255, .format = TSR_FORMAT_XRGB8888,
        .addr = vram, .pitch = 8192, .width = 2048, .height = 32,
        .src = { 1024 << 16, 0, 32 << 16, 32 << 16 },
        .dst_w = 32, .dst_h = 32,
    };
    for (uint32_t layout = 0; layout < 2; layout++) {
        tsr_w64(t, TSR_MARK_ADDR_LO, vram);
        tsr_w64(t, TSR_MARK_SIZE_LO, 1 << 18);
        tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_FREE);
        tsr_w64(t, TSR_MARK_SIZE_LO, 4096);
        for (uint32_t i = 0; i < 32; i++) {
            /*
             * Validate the second page of each row, or the tile in the middle.
             */
            if (!layout || i == 0) {
                tsr_w64(t, TSR_MARK_ADDR_LO,
                        vram + (layout ? 32 : 1 + 2 * i) * 4096);
                tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_VALID);
            }
        }
        h.plane[0].layout = layout;
        tsr_plane_write(&h, 0);
        tsr_head_commit(&h, TSR_COMMIT_ASYNC);
        tsr_head_frame(&h);
        tsr_expect_no_errors(t);
        tsr_head_w32(&h, TSR_PLANE(0) + TSR_PLANE_SRC_X, (1024 << 16) - 1);
        tsr_head_commit(&h, TSR_COMMIT_ASYNC);
        tsr_head_frame(&h);
        tsr_expect_errors(t, TSR_ERR_STRICT_FREED, 1);
    }
    tsr_stop(t);
}

/* ---- Composing time, single planes --------------------------------------- */

static void check_crc(TsrHead *h, const uint32_t *pixels)
{
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_CRC_COUNT), ==, 1);
    g_assert_cmphex(tsr_head_r32(h, TSR_CRTC_CRC_VALUE), ==,
                    model_crc(h, pixels));
}

/*
 * A commit has taken more than a second in advance, so the next ones find no
 * time for pictures. A device reset would give none, either.
 */
static void overdraw(TsrHead *h)
{
    while (tsr_head_r32(h, TSR_CRTC_CRC_COUNT)) {
        tsr_head_r32(h, TSR_CRTC_CRC_VALUE);
    }
    tsr_head_w64(h, TSR_CRTC_WB_ADDR_LO, tsr_seg_base(h->t, 1) + 65536);
    tsr_head_w32(h, TSR_CRTC_WB_PITCH, 64 * 4);
    tsr_head_w32(h, TSR_CRTC_WB_CONTROL, TSR_WB_CAPTURE);
    tsr_head_commit(h, TSR_COMMIT_ASYNC);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_WB_STATUS), ==, TSR_WB_PENDING);
    tsr_head_frame(h);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_WB_STATUS), ==, TSR_WB_PENDING);
    tsr_head_commit(h, TSR_COMMIT_ASYNC);
    tsr_rule(tsr_head_r32(h, TSR_CRTC_WB_STATUS) == TSR_WB_FAILED &&
             !tsr_head_r32(h, TSR_CRTC_CRC_COUNT), "a commit has made a picture "
             "although more than a second is taken in advance");
}

/*
 * The device spends at most half of its time on pictures, for all heads
 * together and however often a CPU reads registers. If pictures take long, the
 * registers show vblanks late, but a commit makes them happen first.
 */
static void test_budget(void)
{
    TsrTest *t = tsr_start(SMALL ",outputs=2");
    uint32_t first[2], crcs = 0, late;
    TsrHead h[2];

    rng = g_rand_new_with_seed(8);
    for (int i = 0; i < 2; i++) {
        tsr_head_on(&h[i], t, i, 64, 40);
        tsr_head_full_plane(&h[i], 0, TSR_FORMAT_XRGB8888, 0,
                            tsr_seg_base(t, 1));
        tsr_head_commit(&h[i], TSR_COMMIT_ASYNC);
        free_texels(&h[i]);
    }
    tsr_qom_set(t, "x-picture-us", 1000000);
    for (int i = 0; i < 2; i++) {
        first[i] = tsr_head_r32(&h[i], TSR_CRTC_VBLANK_COUNT);
        tsr_head_w32(&h[i], TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    }
    for (int n = 0; n < 20; n++) {
        qtest_clock_step(t->qts, h[0].frame_ns);
        tsr_r32(t, TSR_DISPLAY_INT);
        crcs = tsr_head_r32(&h[0], TSR_CRTC_CRC_COUNT) +
               tsr_head_r32(&h[1], TSR_CRTC_CRC_COUNT);
        g_assert_cmpuint(crcs, ==, 1);
    }
    late = tsr_head_r32(&h[0], TSR_CRTC_CRC_COUNT);
    g_assert_cmpuint(tsr_head_r32(&h[late], TSR_CRTC_VBLANK_COUNT), ==,
                     first[late]);
    g_assert_cmpuint(tsr_head_r32(&h[!late], TSR_CRTC_VBLANK_COUNT), ==,
                     first[!late] + 1);
    /* The commit makes the 20 delayed vblanks happen first. */
    tsr_head_commit(&h[late], TSR_COMMIT_ASYNC);
    g_assert_cmpuint(tsr_head_r32(&h[late], TSR_CRTC_VBLANK_COUNT), ==,
                     first[late] + 20);
    g_assert_cmpuint(tsr_head_r32(&h[late], TSR_CRTC_CRC_COUNT), ==,
                     TSR_CRC_QUEUE);
    overdraw(&h[late]);
    tsr_head_w32(&h[late], TSR_CRTC_CRC_CONTROL, 0);
    /* There is time again, and the other head has lost no CRC. */
    qtest_clock_step(t->qts, 1000000000);
    g_assert_cmpuint(tsr_head_r32(&h[!late], TSR_CRTC_CRC_COUNT), ==, 1);
    qtest_clock_step(t->qts, 1000000000);
    g_assert_cmpuint(tsr_head_r32(&h[!late], TSR_CRTC_CRC_COUNT), ==,
                     TSR_CRC_QUEUE);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

/*
 * A commit of one plane takes effect at once, although another commit is
 * armed, and changes no other plane.
 */
static void test_plane(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    uint64_t vram = tsr_seg_base(t, 1), shown;
    TsrHead h;

    rng = g_rand_new_with_seed(4);
    tsr_head_on(&h, t, 0, 64, 40);
    for (uint32_t i = 0; i < 2; i++) {
        tsr_head_full_plane(&h, 2 * i, TSR_FORMAT_XRGB8888, TSR_LAYOUT_LINEAR,
                            vram + i * 65536);
    }
    h.plane[2].dst_x = 20;
    tsr_plane_write(&h, 2);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_head_w32(&h, TSR_CRTC_INT_STATUS, ~0u);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    /* The first position is armed, and the second is not even committed. */
    h.plane[0].dst_y = 7;
    tsr_plane_write(&h, 0);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    h.plane[0].dst_y = 9;
    tsr_plane_write(&h, 0);
    h.plane[2].dst_x = -11;
    tsr_plane_write(&h, 2);
    tsr_head_w32(&h, TSR_CRTC_COMMIT, TSR_COMMIT_PLANE(2));
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS), ==,
                    TSR_CRTCS_ARMED | TSR_CRTCS_VBLANK);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_COMMITTED), ==, 2);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 1);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==, 0);
    h.plane[0].dst_y = 0;
    {
        g_autofree uint32_t *got = tsr_screendump(t, 0, 64, 40);

        compare(&h, got, "at once");
    }
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 2);
    h.plane[0].dst_y = 7;
    {
        g_autofree uint32_t *want = tsr_head_model(&h);

        check_crc(&h, want);
    }
    /* A commit of one plane does not end a frame of variable length. */
    tsr_plane_write(&h, 0);
    tsr_head_w32(&h, TSR_CRTC_VRR_TOTAL, 150);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    shown = tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT);
    qtest_clock_step(t->qts, 2 * h.frame_ns);
    tsr_head_w32(&h, TSR_CRTC_COMMIT, TSR_COMMIT_PLANE(2));
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, shown);
    tsr_expect_no_errors(t);
    tsr_head_w32(&h, TSR_CRTC_COMMIT, TSR_COMMIT_PLANE(TSR_NUM_PLANES));
    tsr_expect_errors(t, TSR_ERR_REGISTER, 1);
    free_texels(&h);
    tsr_stop(t);
    g_rand_free(rng);
}

static void check_screen(TsrHead *h, int head)
{
    g_autofree uint32_t *got = tsr_screendump(h->t, head, h->width, h->height);

    compare(h, got, "screen");
}

/* Each head has a console, which follows the mode and the memory. */
static void test_screen(void)
{
    TsrTest *t = tsr_start(SMALL ",outputs=2");
    uint64_t vram = tsr_seg_base(t, 1);
    g_autofree uint32_t *placeholder = NULL;
    TsrHead h[2];

    rng = g_rand_new_with_seed(5);
    placeholder = tsr_screendump(t, 0, 640, 480);
    for (int i = 0; i < 2; i++) {
        tsr_head_on(&h[i], t, i, 80 + 20 * i, 60);
        tsr_head_full_plane(&h[i], 0, TSR_FORMAT_XRGB8888, i,
                            vram + i * 65536);
        tsr_head_commit(&h[i], TSR_COMMIT_ASYNC);
    }
    check_screen(&h[0], 0);
    check_screen(&h[1], 1);
    /* Writes of engines show without a commit. */
    tsr_plane_fill(t, &h[0].plane[0], rng);
    check_screen(&h[0], 0);
    /* One word in one row, written by a CPU. */
    qpci_io_writel(t->dev, t->vram, 30 * 320 + 40, 0x00c0ffee);
    h[0].plane[0].texels[30 * 80 + 10] = 0xc0ffee;
    check_screen(&h[0], 0);
    free_texels(&h[0]);
    /* Another mode, and no mode. */
    tsr_head_w32(&h[0], TSR_CRTC_CONTROL, 0);
    tsr_head_on(&h[0], t, 0, 36, 77);
    tsr_head_full_plane(&h[0], 0, TSR_FORMAT_RGB565, 0, vram);
    tsr_head_commit(&h[0], TSR_COMMIT_ASYNC);
    check_screen(&h[0], 0);
    check_screen(&h[1], 1);
    tsr_head_w32(&h[0], TSR_CRTC_CONTROL, 0);
    g_free(tsr_screendump(t, 0, 36, 77));
    free_texels(&h[0]);
    free_texels(&h[1]);
    tsr_expect_no_errors(t);
    /* A reset removes the picture. */
    tsr_device_reset(t);
    g_free(tsr_screendump(t, 1, 100, 60));
    tsr_stop(t);
    g_rand_free(rng);
}

/*
 * Return whether looking at a head composes a new picture. The picture must
 * match the model. The device may compose a second one, because a dirty mark
 * may come before the bytes.
 */
static bool looked(TsrHead *h, int head)
{
    int64_t before = tsr_qom_get(h->t, "x-pictures"), taken;

    check_screen(h, head);
    check_screen(h, head);
    check_screen(h, head);
    taken = tsr_qom_get(h->t, "x-pictures") - before;
    g_assert_cmpint(taken, <=, 2);
    return taken;
}

static void write_texel(TsrHead *h, QPCIBar bar, uint32_t x, uint32_t y,
                        uint32_t value)
{
    qpci_io_writel(h->t->dev, bar, y * h->plane[0].pitch + x * 4, value);
    h->plane[0].texels[y * h->width + x] = value;
}

/* A picture is composed once, until something that it depends on changes. */
static void test_still(void)
{
    TsrTest *t = tsr_start(SMALL ",outputs=2,host-aperture-size=1M");
    QPCIBar window = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    uint64_t vram = tsr_seg_base(t, 1);
    TsrHead h[2];

    rng = g_rand_new_with_seed(7);
    for (int i = 0; i < 2; i++) {
        tsr_head_on(&h[i], t, i, 80 + 20 * i, 60);
        /*
         * So close that clearing the marks of one plane clears those of the
         * other.
         */
        tsr_head_full_plane(&h[i], 0, TSR_FORMAT_XRGB8888, 0,
                            vram + i * 65536);
        tsr_head_commit(&h[i], TSR_COMMIT_ASYNC);
    }
    for (int i = 0; i < 2; i++) {
        g_assert_true(looked(&h[i], i));
        g_assert_false(looked(&h[i], i));
    }
    g_assert_false(looked(&h[0], 0));
    /*
     * A store of a CPU for head 1: looking at head 0 finds its mark, and keeps
     * it.
     */
    write_texel(&h[1], (QPCIBar) { .addr = t->vram.addr + 65536 }, 3, 4,
                0x123456);
    g_assert_false(looked(&h[0], 0));
    g_assert_true(looked(&h[1], 1));
    g_assert_false(looked(&h[1], 1));
    /* A store to memory that no head shows. */
    qpci_io_writel(t->dev, t->vram, 3 << 20, 1);
    g_assert_false(looked(&h[0], 0));
    /* Writes of an engine. */
    tsr_plane_fill(t, &h[0].plane[0], rng);
    g_assert_true(looked(&h[0], 0));
    g_assert_false(looked(&h[0], 0));
    g_assert_false(looked(&h[1], 1));
    /* Stores through the host aperture. */
    tsr_w64(t, TSR_HA_ADDR_LO, vram);
    tsr_w32(t, TSR_HA_COUNT, 16);
    tsr_w32(t, TSR_HA_MAP, 0);
    g_assert_false(looked(&h[0], 0));
    write_texel(&h[0], window, 70, 50, 0x654321);
    g_assert_true(looked(&h[0], 0));
    write_texel(&h[0], window, 70, 50, 0x654322);
    tsr_w32(t, TSR_HA_UNMAP, 0);
    g_assert_true(looked(&h[0], 0));
    g_assert_false(looked(&h[0], 0));
    /* Colour settings. */
    h[1].gamma_on = true;
    h[1].gamma[0x12] = 0x0a0b0c;
    tsr_head_write_color(&h[1]);
    g_assert_false(looked(&h[0], 0));
    tsr_head_commit(&h[1], TSR_COMMIT_ASYNC);
    g_assert_true(looked(&h[1], 1));
    g_assert_false(looked(&h[1], 1));
    free_texels(&h[0]);
    free_texels(&h[1]);
    tsr_expect_no_errors(t);
    tsr_stop(t);
    g_rand_free(rng);
}

/* The device is unplugged while it shows a picture, and plugged in again. */
static void test_unplug(void)
{
    TsrTest *t = tsr_start_machine(SMALL, "");
    uint32_t *got;
    TsrHead h;

    tsr_map_device(t);
    tsr_set_up_memory(t);
    for (int round = 0; round < 3; round++) {
        tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
        tsr_head_on(&h, t, 0, 80, 60);
        tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, 0,
                            tsr_seg_base(t, 1));
        tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_ALL);
        tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
        tsr_head_commit(&h, TSR_COMMIT_VBLANK);
        tsr_head_frame(&h);
        check_screen(&h, 0);
        free_texels(&h);
        g_free(t->dev);
        t->dev = NULL;
        qpci_free_pc(t->bus);
        t->bus = NULL;
        qpci_unplug_acpi_device_test(t->qts, "gpu", 4);
        qtest_clock_step(t->qts, 100000000);
        qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', "
                                 "'arguments': {'driver': 'tessera', "
                                 "'id': 'gpu', 'addr': '04.0', "
                                 "'vram-size': 4194304, "
                                 "'vram-hidden-size': 0}}");
        /*
         * The console keeps the size of the last picture, and the new device
         * has none yet.
         */
        got = tsr_screendump(t, 0, 80, 60);
        g_free(got);
        tsr_map_device(t);
    }
    tsr_stop(t);
}

/* ---- Migration ----------------------------------------------------------- */

#define MOVED SMALL ",strict=on,outputs=2"

/* A head with an armed commit reaches the vblank on the destination. */
static void test_migrate(void)
{
    TsrTest *t = tsr_start(MOVED);
    g_autofree uint32_t *want = NULL, *got = NULL;
    uint32_t crc, frame;
    TsrHead h;

    rng = g_rand_new_with_seed(6);
    tsr_head_on(&h, t, 1, 60, 40);
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        random_plane(&h, i);
    }
    random_colour(&h);
    want = tsr_head_model(&h);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_LATCH);
    tsr_head_frame(&h);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    crc = tsr_head_r32(&h, TSR_CRTC_CRC_COUNT);
    g_assert_cmpuint(crc, ==, 1);
    tsr_head_w32(&h, TSR_PLANE(0) + TSR_PLANE_SIZE, 0);
    tsr_head_w32(&h, TSR_PLANE(0) + TSR_PLANE_CONTROL, TSR_PLANE_ENABLE);
    tsr_head_w32(&h, TSR_CRTC_COMMIT, TSR_COMMIT_PLANE(0));
    tsr_plane_write(&h, 0);
    tsr_expect_errors(t, TSR_ERR_SURFACE, 1);
    tsr_err_clear(t);
    t = tsr_migrate(t, MOVED ",connected0=off");
    h.t = t;
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CONTROL), ==, TSR_CRTC_ENABLE);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_ARMED, !=,
                    0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_REFUSED, !=,
                    0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_MASK), ==,
                    TSR_CRTC_INT_LATCH);
    frame = tsr_head_r32(&h, TSR_CRTC_CRC_FRAME);
    g_assert_cmpuint(frame, ==, 1);
    tsr_head_r32(&h, TSR_CRTC_CRC_VALUE);
    tsr_head_frame(&h);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 1);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 1);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_FRAME), ==, 2);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CRC_VALUE), ==,
                    model_crc(&h, want));
    got = tsr_screendump(t, 1, 60, 40);
    compare(&h, got, "migrated");
    /* The first monitor is not connected on the destination. */
    g_assert_cmphex(tsr_r32(t, TSR_CRTC(0) + TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_HOTPLUG);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS) &
                    TSR_CRTC_INT_HOTPLUG, ==, 0);
    free_texels(&h);
    tsr_expect_no_errors(t);
    tsr_device_reset(t);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_REFUSED, ==,
                    0);
    tsr_stop(t);
    g_rand_free(rng);
}

/* Return the start of the data of subsection @name, behind its name. */
static char *find(char *data, gsize bytes, const char *name)
{
    char *at = memmem(data, bytes, name, strlen(name));

    g_assert_nonnull(at);
    return at + strlen(name);
}

/* A damaged state of heads is refused or harmless. */
static void test_damaged(void)
{
    g_autofree char *path = tsr_state_file(), *data = NULL;
    TsrTest *t = tsr_start(MOVED);
    unsigned int refused = 0, taken = 0;
    uint32_t from, head_bytes;
    gsize bytes;
    TsrHead h;

    rng = g_rand_new_with_seed(7);
    tsr_head_on(&h, t, 0, 60, 40);
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        random_plane(&h, i);
        h.plane[i].on = true;
        tsr_plane_write(&h, i);
    }
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_save(t, path);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    from = find(data, bytes, "tessera/heads") - data + 8;
    head_bytes = 4 * (3 * (2 + TSR_CTM_ENTRIES + TSR_GAMMA_ENTRIES +
                           TSR_NUM_PLANES * TSR_PLANE_REGS)) + 200;
    for (int round = 0; round < 12; round++) {
        g_autofree char *copy = g_memdup2(data, bytes), *status = NULL;
        TsrTest *to;
        TsrHead th = h;

        /* The state is intact in the first round. */
        for (int i = 0; i < round; i++) {
            copy[from + rnd(rnd(2) ? 80 : head_bytes)] ^= 1 << rnd(8);
        }
        g_assert_true(g_file_set_contents(path, copy, bytes, NULL));
        to = tsr_load(t, MOVED, path, &status);
        if (!strcmp(status, "failed")) {
            refused++;
        } else {
            th.t = to;
            taken++;
            qtest_clock_step(to->qts, 3 * h.frame_ns);
            tsr_head_r32(&th, TSR_CRTC_LINE);
            g_assert_cmpint(tsr_head_r32(&th, TSR_CRTC_CRC_COUNT), <=,
                            TSR_CRC_QUEUE);
            tsr_device_reset(to);
        }
        tsr_stop(to);
    }
    g_assert_cmpuint(refused, >, 0);
    g_assert_cmpuint(taken, >, 0);
    unlink(path);
    free_texels(&h);
    tsr_stop(t);
    g_rand_free(rng);
}

/*
 * Fields of the first head's state, by their offset from the end of the number
 * of heads, with values that must be refused.
 */
#define SCANOUT_BYTES   (4 * (2 + TSR_CTM_ENTRIES + TSR_GAMMA_ENTRIES + \
                              TSR_NUM_PLANES * TSR_PLANE_REGS))
#define REGS            63
#define NEXT            (REGS + SCANOUT_BYTES)
#define SHOWN           (NEXT + SCANOUT_BYTES)
#define PLANES          (4 * (2 + TSR_CTM_ENTRIES + TSR_GAMMA_ENTRIES))
#define BEHIND          (SHOWN + SCANOUT_BYTES)

static const struct {
    uint32_t offset;
    uint32_t value;
} bad_fields[] = {
    { 1, 0x20 },                            /* events */
    { 5, 0x20 },
    { 9, 0 },                               /* mode */
    { 13, 0 },
    { 17, 0 },
    { 21, TSR_GAMMA_ENTRIES },
    { 25, TSR_EDID_MAX_BYTES },
    { 25, 2 },
    { REGS, 0x10000 },                      /* lines of a frame */
    { NEXT, 0x10000 },
    { SHOWN, 0x80000000 },
    { SHOWN + PLANES + TSR_PLANE_ADDR_HI, 0xffffffff },
    { SHOWN + PLANES + TSR_PLANE_SIZE, 0xffffffff },
    { SHOWN + PLANES + TSR_PLANE_SRC_W, 0xffffffff },
    { NEXT + PLANES + 0x30 + TSR_PLANE_PITCH, 0xffffff00 },
    { NEXT + PLANES + 0x60 + TSR_PLANE_DST_SIZE, 0 },
    { BEHIND + 41, 1 << TSR_NUM_PLANES },   /* in error */
    { BEHIND + 45, TSR_CRC_QUEUE + 1 },     /* CRCs */
    { BEHIND + 49 + 8 * TSR_CRC_QUEUE + 16, TSR_WB_FAILED + 1 },
};

/*
 * A state with an invalid field is refused, and a screendump afterwards must
 * not use it.
 */
static void test_bad_fields(void)
{
    g_autofree char *path = tsr_state_file(), *screen = tsr_screen_file();
    g_autofree char *data = NULL;
    TsrTest *t = tsr_start(MOVED);
    gsize bytes, from;
    TsrHead h;

    tsr_head_on(&h, t, 0, 60, 40);
    for (uint32_t i = 0; i < TSR_NUM_PLANES; i++) {
        tsr_head_full_plane(&h, i, TSR_FORMAT_XRGB8888, TSR_LAYOUT_LINEAR,
                            tsr_seg_base(t, 1));
    }
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_save(t, path);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    from = find(data, bytes, "tessera/heads") - data + 8;
    for (int i = 0; i < ARRAY_SIZE(bad_fields); i++) {
        g_autofree char *copy = g_memdup2(data, bytes), *status = NULL;
        TsrTest *to;

        stl_be_p(copy + from + bad_fields[i].offset, bad_fields[i].value);
        g_assert_true(g_file_set_contents(path, copy, bytes, NULL));
        to = tsr_load(t, MOVED, path, &status);
        if (strcmp(status, "failed")) {
            g_error("field at %u is taken", bad_fields[i].offset);
        }
        /* The device must not use the refused state for a picture. */
        qtest_qmp_assert_success(to->qts, "{'execute': 'screendump', "
                                 "'arguments': {'filename': %s, "
                                 "'device': 'gpu', 'head': 0}}", screen);
        tsr_stop(to);
    }
    unlink(screen);
    unlink(path);
    free_texels(&h);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/scanout/formats", test_formats);
    qtest_add_func("/tessera/scanout/rotation", test_rotation);
    qtest_add_func("/tessera/scanout/random", test_random);
    qtest_add_func("/tessera/scanout/crc", test_crc);
    qtest_add_func("/tessera/scanout/budget", test_budget);
    qtest_add_func("/tessera/scanout/plane", test_plane);
    qtest_add_func("/tessera/scanout/writeback", test_writeback);
    qtest_add_func("/tessera/scanout/referee", test_referee);
    qtest_add_func("/tessera/scanout/referee-exact", test_referee_exact);
    qtest_add_func("/tessera/scanout/screen", test_screen);
    qtest_add_func("/tessera/scanout/still", test_still);
    qtest_add_func("/tessera/scanout/unplug", test_unplug);
    qtest_add_func("/tessera/scanout/migrate", test_migrate);
    qtest_add_func("/tessera/scanout/damaged", test_damaged);
    qtest_add_func("/tessera/scanout/bad-fields", test_bad_fields);
    return g_test_run();
}
