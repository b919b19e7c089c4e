/*
 * QTest: microcode, the steps of BLIT and DRAW in hidden VRAM
 *
 * These tests cover chapter 9 of the manual, which defines the table.
 * tessera-draw-test covers chapter 10, which holds with the usual table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"
#include "tessera-ref.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define SIZE            64              /* width and height of images */
#define PIXELS          (SIZE * SIZE)
#define TABLE_DWORDS    (TSR_FW_TABLE_BYTES / 4)

typedef struct Vtx {
    int32_t x, y, u, v;
    uint32_t color, zero;
} Vtx;

QEMU_BUILD_BUG_ON(sizeof(Vtx) != TSR_VERTEX_BYTES);

typedef struct Gpu {
    TsrTest *t;
    uint64_t target, texture, vertices;
    uint32_t px[PIXELS];                /* expected pixels */
} Gpu;

static Gpu *start(const char *props)
{
    Gpu *g = g_new0(Gpu, 1);

    g->t = tsr_start(props);
    g->target = tsr_seg_base(g->t, 1);
    g->texture = g->target + (1 << 20);
    g->vertices = g->target + (2 << 20);
    tsr_load_firmware(g->t);
    return g;
}

static void stop(Gpu *g)
{
    tsr_stop(g->t);
    g_free(g);
}

static TsrSurf surface(uint64_t base)
{
    return (TsrSurf) {
        .base = base, .limit = PIXELS * 4, .format = TSR_FORMAT_ARGB8888,
        .layout = TSR_LAYOUT_LINEAR, .access = RW, .pitch = SIZE * 4,
        .width = SIZE, .height = SIZE,
    };
}

/* Write and read words in the byte order of the guest. */
static void put(Gpu *g, uint64_t at, const void *words, uint32_t count)
{
    g_autofree uint32_t *raw = g_memdup2(words, count * 4);

    for (uint32_t i = 0; i < count; i++) {
        raw[i] = cpu_to_le32(raw[i]);
    }
    tsr_gpu_write(g->t, at, raw, count * 4);
}

static void get(Gpu *g, uint32_t *px)
{
    tsr_gpu_read(g->t, g->target, px, PIXELS * 4);
    for (int i = 0; i < PIXELS; i++) {
        px[i] = le32_to_cpu(px[i]);
    }
}

static void random_pixels(uint32_t *px)
{
    for (int i = 0; i < PIXELS; i++) {
        px[i] = g_test_rand_int();
    }
}

/* ---- Blend recipes ------------------------------------------------------- */

/* Overwrite the table in place, without telling the device. */
static void overwrite(Gpu *g, const uint32_t *table)
{
    put(g, tsr_hidden_base(g->t) + TSR_FW_HEADER_BYTES, table, TABLE_DWORDS);
}

static uint32_t ref_factor(uint32_t factor, uint32_t s, uint32_t d)
{
    const uint32_t value[TSR_FACTOR_COUNT] = {
        0, 255, s >> 24, 255 - (s >> 24), d >> 24, 255 - (d >> 24),
    };

    return value[factor];
}

static uint32_t ref_recipe(uint32_t factors, uint32_t s, uint32_t d)
{
    uint32_t out = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t f = i == 3 ? factors >> 16 : factors;
        uint32_t sum = tsr_ref_channel(s, i) * ref_factor(f & 0xff, s, d) +
                       tsr_ref_channel(d, i) * ref_factor(f >> 8 & 0xff, s, d);

        out |= MIN(255, tsr_ref_div255(sum)) << (8 * i);
    }
    return out;
}

/* Both definitions of a blend mode in the manual give the same result. */
static void test_recipes(void)
{
    uint32_t table[TABLE_DWORDS];

    tsr_firmware_table(table);
    for (uint32_t i = 0; i < 1 << 24; i++) {
        uint32_t s = (i & 0xff) << 24 | (i >> 8 & 0xff) * 0x010101;
        uint32_t d = (i >> 16) * 0x01010101;

        for (uint32_t mode = 0; mode < TSR_BLEND_COUNT; mode++) {
            if (ref_recipe(table[mode], s, d) != tsr_ref_blend(mode, s, d)) {
                g_error("mode %u of 0x%08x and 0x%08x", mode, s, d);
            }
        }
    }
}

static uint32_t random_factors(void)
{
    uint32_t factors = 0;

    for (int i = 0; i < 4; i++) {
        factors |= g_test_rand_int_range(0, TSR_FACTOR_COUNT) << (8 * i);
    }
    return factors;
}

/* Blend random colours over random ones. */
static void check_recipe(Gpu *g, uint32_t factors, uint32_t mode)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree uint32_t *src = g_new(uint32_t, PIXELS);
    g_autofree uint32_t *got = g_new(uint32_t, PIXELS);
    TsrSurf ts = surface(g->target), ss = surface(g->texture);

    random_pixels(g->px);
    random_pixels(src);
    put(g, g->target, g->px, PIXELS);
    put(g, g->texture, src, PIXELS);
    tsr_bind(c, 0, &ts);
    tsr_bind(c, 1, &ss);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 0, 1, 0, SIZE | SIZE << 16, 0,
            SIZE | SIZE << 16, mode << 8, 0xffffffff, 0);
    tsr_run_ok(g->t, RENDER, c);
    get(g, got);
    for (int i = 0; i < PIXELS; i++) {
        uint32_t want = ref_recipe(factors, src[i], g->px[i]);

        tsr_rule(got[i] == want, "0x%08x over 0x%08x by 0x%08x is 0x%08x, "
                 "not 0x%08x", src[i], g->px[i], factors, got[i], want);
    }
}

/* ---- Vertices ------------------------------------------------------------ */

static TsrCmd *draw(Gpu *g, const Vtx *v, uint32_t n)
{
    TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = surface(g->target);

    put(g, g->vertices, v, n * TSR_VERTEX_BYTES / 4);
    tsr_bind(c, 0, &s);
    tsr_bind_buffer(c, 1, g->vertices, n * TSR_VERTEX_BYTES, TSR_FORMAT_R32,
                    TSR_SURF_READ);
    tsr_set_state(c, 0, TSR_STATE_COUNT, 0, 0, SIZE | SIZE << 16, 0, 0,
                  TSR_BLEND_ALPHA, 0xffffffff);
    tsr_put(c, TSR_OP_DRAW, 0, TSR_DRAW_DWORDS, 1, 0, n);
    return c;
}

static void draw_image(Gpu *g, const Vtx *v, uint32_t n, uint32_t *out)
{
    g_autofree TsrCmd *c = draw(g, v, n);

    put(g, g->target, g->px, PIXELS);
    tsr_run_ok(g->t, RENDER, c);
    get(g, out);
}

static int32_t ref_transform(int32_t v, int32_t scale, int32_t bias)
{
    int64_t p = (int64_t)v * scale;

    return (p >= 0 ? p / 65536 : -((65535 - p) / 65536)) + bias;
}

/*
 * Draw with a table that moves positions and swaps attributes, and compare
 * with the usual table and vertices that the CPU has moved. Leave the usual
 * table in place. Return whether any pixel changed.
 */
static bool check_vertices(Gpu *g, const uint32_t *table, const uint32_t *good)
{
    g_autofree uint32_t *want = g_new(uint32_t, PIXELS);
    g_autofree uint32_t *got = g_new(uint32_t, PIXELS);
    const uint32_t *fetch = &table[TSR_FW_FETCH / 4];
    const uint32_t *scale = &table[TSR_FW_SCALE / 4];
    const uint32_t *bias = &table[TSR_FW_BIAS / 4];
    Vtx in[9], moved[9];

    random_pixels(g->px);
    for (int i = 0; i < 9; i++) {
        const uint32_t *raw = (const uint32_t *)&in[i];

        in[i] = (Vtx) {
            .x = g_test_rand_int_range(-SIZE * 256, 2 * SIZE * 256),
            .y = g_test_rand_int_range(-SIZE * 256, 2 * SIZE * 256),
            .u = g_test_rand_int(), .v = g_test_rand_int(),
            .color = g_test_rand_int(),
        };
        moved[i] = (Vtx) {
            .x = ref_transform(raw[fetch[0] / 4], scale[0], bias[0]),
            .y = ref_transform(raw[fetch[1] / 4], scale[1], bias[1]),
            .color = raw[fetch[4] / 4],
        };
    }
    overwrite(g, table);
    draw_image(g, in, 9, got);
    overwrite(g, good);
    draw_image(g, moved, 9, want);
    tsr_rule(!memcmp(got, want, PIXELS * 4),
             "a table does not move vertices as the manual says");
    return memcmp(want, g->px, PIXELS * 4);
}

/* ---- Tests --------------------------------------------------------------- */

/*
 * SEG-14: BLIT and DRAW follow the table in hidden VRAM, from packet to
 * packet.
 */
static void test_microcode(void)
{
    uint32_t good[TABLE_DWORDS], table[TABLE_DWORDS];
    Gpu *g = start("");

    tsr_firmware_table(good);
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t mode = round % TSR_BLEND_COUNT;

        memcpy(table, good, sizeof(table));
        table[mode] = round < 3 ? good[(mode + 1) % TSR_BLEND_COUNT]
                                : random_factors();
        overwrite(g, table);
        check_recipe(g, table[mode], mode);
        overwrite(g, good);
        check_recipe(g, good[mode], mode);
    }
    tsr_expect_no_errors(g->t);
    stop(g);
}

/*
 * SEG-14: random scales, biases and fetch offsets move vertices as the manual
 * says.
 */
static void test_vertices(void)
{
    uint32_t good[TABLE_DWORDS], table[TABLE_DWORDS], drawn = 0;
    Gpu *g = start("");

    tsr_firmware_table(good);
    for (uint32_t round = 0; round < 40; round++) {
        memcpy(table, good, sizeof(table));
        for (int axis = 0; axis < 2; axis++) {
            table[TSR_FW_SCALE / 4 + axis] =
                g_test_rand_int_range(0, 2) ? g_test_rand_int_range(9000, 99999)
                : g_test_rand_int_range(-99999, -9000);
            table[TSR_FW_BIAS / 4 + axis] =
                g_test_rand_int_range(-SIZE * 64, SIZE * 64);
        }
        if (round % 2) {
            table[TSR_FW_FETCH / 4] = TSR_VERTEX_Y;
            table[TSR_FW_FETCH / 4 + 1] = TSR_VERTEX_X;
        }
        table[TSR_FW_FETCH / 4 + 4] = round % 4 < 2 ? TSR_VERTEX_U
                                                    : TSR_VERTEX_COLOR;
        drawn += check_vertices(g, table, good);
    }
    g_assert_cmpuint(drawn, >, 10);
    tsr_expect_no_errors(g->t);
    stop(g);
}

/* A table that makes no sense fails packets, and does nothing worse. */
static void test_bad_microcode(void)
{
    static const Vtx v[3] = {
        { .x = 256 }, { .y = 256 * 64 }, { .x = 256 * 99 }
    };
    uint32_t good[TABLE_DWORDS], table[TABLE_DWORDS], failed = 0;
    Gpu *g = start("");
    g_autofree TsrCmd *c = draw(g, v, 3);

    tsr_firmware_table(good);
    for (uint32_t i = 0; i < TABLE_DWORDS; i++) {
        uint32_t err;

        memcpy(table, good, sizeof(table));
        table[i] = TSR_POISON;
        overwrite(g, table);
        tsr_err_clear(g->t);
        err = tsr_run(g->t, RENDER, false, c, NULL);
        if (i >= TSR_FW_SCALE / 4 && i < TSR_FW_BIAS / 4 + 2) {
            /* All numbers are valid as scale and bias. */
            continue;
        }
        g_assert_cmpuint(err, ==, TSR_ERR_FIRMWARE);
        g_assert_cmphex(tsr_r64(g->t, TSR_ERR_REC_ADDR_LO), ==,
                        tsr_hidden_base(g->t));
        tsr_expect_errors(g->t, TSR_ERR_FIRMWARE, 1);
        /* The device also refuses to start such a table. */
        tsr_start_firmware(g->t, table);
        tsr_expect_errors(g->t, TSR_ERR_FIRMWARE, 1);
        tsr_load_firmware(g->t);
    }
    for (int round = 0; round < 300; round++) {
        memcpy(table, good, sizeof(table));
        for (int i = round % 3; i >= 0; i--) {
            uint32_t at = g_test_rand_int_range(0, TABLE_DWORDS);
            uint32_t value = g_test_rand_int() & g_test_rand_int();

            table[at] = round % 2 ? value : value & 0x0707070c;
        }
        overwrite(g, table);
        failed += tsr_run(g->t, RENDER, false, c, NULL) != TSR_ERR_NONE;
    }
    g_assert_cmpuint(failed, >, 0);
    tsr_err_clear(g->t);
    check_vertices(g, good, good);
    tsr_expect_no_errors(g->t);
    stop(g);
}

/*
 * Strict mode refuses writes to the running image. The error names the packet.
 */
static void test_strict_microcode(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    Gpu *g = start("strict=on");
    uint64_t base = tsr_hidden_base(g->t);
    uint32_t good[TABLE_DWORDS];

    tsr_firmware_table(good);
    tsr_page_fill(c, TSR_POISON, base + 4096 - 8, 8);
    tsr_page_fill(c, TSR_POISON, base + TSR_FW_BYTES, 8);
    tsr_run_ok(g->t, PAGING, c);
    tsr_expect_no_errors(g->t);
    c->n = 0;
    tsr_page_fill(c, TSR_POISON, base + TSR_FW_BYTES - 8, 8);
    g_assert_cmpuint(tsr_run(g->t, PAGING, false, c, NULL), ==,
                     TSR_ERR_STRICT_MICROCODE);
    g_assert_cmphex(tsr_r64(g->t, TSR_ERR_REC_ADDR_LO), ==,
                    base + TSR_FW_BYTES - 8);
    tsr_expect_errors(g->t, TSR_ERR_STRICT_MICROCODE, 1);
    c->n = 0;
    tsr_page_fill(c, TSR_POISON, base, 4096);
    tsr_run_err(g->t, PAGING, c, TSR_ERR_STRICT_MICROCODE);
    c->n = 0;
    tsr_put(c, TSR_OP_WRITE_PTES, TSR_PTES_VRAM, TSR_WRITE_PTES_DWORDS, 1,
            (uint32_t)base, (uint32_t)(base >> 32), 0, 0, 0, 0);
    tsr_run_err(g->t, PAGING, c, TSR_ERR_STRICT_MICROCODE);
    tsr_err_clear(g->t);
    check_recipe(g, good[TSR_BLEND_ALPHA], TSR_BLEND_ALPHA);
    tsr_expect_no_errors(g->t);
    /* After the microcode has stopped, its image is ordinary memory. */
    tsr_w32(g->t, TSR_FW_START, 0);
    tsr_expect_errors(g->t, TSR_ERR_FIRMWARE, 1);
    tsr_load_firmware(g->t);
    check_recipe(g, good[TSR_BLEND_ALPHA], TSR_BLEND_ALPHA);
    tsr_expect_no_errors(g->t);
    stop(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/microcode/recipes", test_recipes);
    qtest_add_func("/tessera/microcode/SEG-14-blending", test_microcode);
    qtest_add_func("/tessera/microcode/SEG-14-vertices", test_vertices);
    qtest_add_func("/tessera/microcode/SEG-14-bad", test_bad_microcode);
    qtest_add_func("/tessera/microcode/SEG-14-strict", test_strict_microcode);
    return g_test_run();
}
