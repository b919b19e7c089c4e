/*
 * QTest: the list of segments (SEG-34)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "tessera-common.h"

#define MIXED "segments=gart:8M:4M/vram-hidden:2M/vram:1M/agp-ro:4M/" \
              "vram-hidden:1M/vram:3M,firmware-size=1M"
#define VISIBLE (TSR_SEGF_CPU_VISIBLE | TSR_SEGF_SWIZZLE_RANGES)
#define GART (TSR_SEGF_APERTURE | TSR_SEGF_CPU_CACHED | \
              TSR_SEGF_CACHE_COHERENT)

typedef struct Expected {
    const char *name;
    uint32_t flags;
    uint64_t size, commit, cpu_offset;
} Expected;

static const Expected mixed[] = {
    { "gart", GART, 8 * MiB, 4 * MiB, 0 },
    { "vram-hidden-from-cpu", TSR_SEGF_HOST_APERTURE, 2 * MiB, 2 * MiB, 0 },
    { "vram", VISIBLE, 1 * MiB, 1 * MiB, 0 },
    { "agp-ro", TSR_SEGF_APERTURE | TSR_SEGF_GPU_READ_ONLY |
      TSR_SEGF_CACHE_COHERENT, 4 * MiB, 4 * MiB, 0 },
    { "vram-hidden-from-cpu-2", TSR_SEGF_HOST_APERTURE, 1 * MiB, 1 * MiB, 0 },
    { "vram-2", VISIBLE, 3 * MiB, 3 * MiB, 1 * MiB },
};

static void check_name(TsrTest *t, uint32_t i, const char *name)
{
    char text[TSR_SEG_NAME_BYTES];

    for (uint32_t j = 0; j < TSR_SEG_NAME_BYTES; j += 4) {
        stl_le_p(text + j, tsr_r32(t, TSR_SEG(i) + TSR_SEG_NAME + j));
    }
    g_assert_cmpstr(text, ==, name);
}

/* Ids and addresses follow the order of the list. */
static void test_order(void)
{
    TsrTest *t = tsr_start(MIXED);
    uint32_t i;

    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_SEGMENTS), ==, ARRAY_SIZE(mixed));
    for (i = 0; i < ARRAY_SIZE(mixed); i++) {
        const Expected *e = &mixed[i];

        g_assert_cmpuint(tsr_r32(t, TSR_SEG(i) + TSR_SEG_ID), ==, i + 1);
        g_assert_cmphex(tsr_r32(t, TSR_SEG(i) + TSR_SEG_FLAGS), ==, e->flags);
        g_assert_cmphex(tsr_seg_base(t, i + 1), ==,
                        TSR_SEG_FIRST_BASE + i * TSR_SEG_BASE_ALIGN);
        g_assert_cmphex(tsr_r64(t, TSR_SEG(i) + TSR_SEG_SIZE_LO), ==, e->size);
        g_assert_cmphex(tsr_r64(t, TSR_SEG(i) + TSR_SEG_COMMIT_LO), ==,
                        e->commit);
        g_assert_cmphex(tsr_r64(t, TSR_SEG(i) + TSR_SEG_CPU_OFFSET_LO), ==,
                        e->cpu_offset);
        check_name(t, i, e->name);
    }
    g_assert_cmphex(tsr_hidden_base(t), ==,
                    TSR_SEG_FIRST_BASE + i * TSR_SEG_BASE_ALIGN);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* A distinct word for the first and the last page of each memory segment. */
static uint64_t word(uint32_t segment, uint32_t last)
{
    return 0x5e90000 + segment * 2 + last;
}

static uint64_t end_of(TsrTest *t, uint32_t i, uint32_t last)
{
    return last ? tsr_r64(t, TSR_SEG(i) + TSR_SEG_SIZE_LO) - 8 : 0;
}

/*
 * No two segments share memory, and BAR 2 shows those that the table marks as
 * visible.
 */
static void check_memory(const char *props)
{
    TsrTest *t = tsr_start(props);
    uint32_t num = tsr_r32(t, TSR_ID_NUM_SEGMENTS), shown = 0;
    uint64_t value;

    tsr_set_up(t);
    for (uint32_t i = 0; i < num * 2; i++) {
        if (!(tsr_r32(t, TSR_SEG(i / 2) + TSR_SEG_FLAGS) & TSR_SEGF_APERTURE)) {
            value = word(i / 2, i % 2);
            tsr_gpu_write(t, tsr_seg_base(t, i / 2 + 1) + end_of(t, i / 2, i % 2),
                          &value, 8);
        }
    }
    for (uint32_t i = 0; i < num * 2; i++) {
        uint32_t flags = tsr_r32(t, TSR_SEG(i / 2) + TSR_SEG_FLAGS);
        uint64_t end = end_of(t, i / 2, i % 2);

        if (flags & TSR_SEGF_APERTURE) {
            continue;
        }
        tsr_gpu_read(t, tsr_seg_base(t, i / 2 + 1) + end, &value, 8);
        g_assert_cmphex(value, ==, word(i / 2, i % 2));
        if (flags & TSR_SEGF_CPU_VISIBLE) {
            end += tsr_r64(t, TSR_SEG(i / 2) + TSR_SEG_CPU_OFFSET_LO);
            g_assert_cmphex(qpci_io_readq(t->dev, t->vram, end), ==, value);
            shown++;
        }
    }
    g_assert_cmpuint(shown, >, 0);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void test_memory(void)
{
    check_memory(MIXED);
    check_memory(MIXED ",page-size=64K,strict=on");
    check_memory("segments=vram:1M,firmware-size=1M");
}

/* The maximum of segments: apertures, visible and hidden VRAM in turn. */
static void test_most(void)
{
    g_autoptr(GString) props = g_string_new("firmware-size=1M,segments=");

    for (uint32_t i = 0; i < TSR_MAX_SEGMENTS; i++) {
        g_string_append(props, i % 3 == 0 ? "gart:1M" :
                               i % 3 == 1 ? "vram:64K" : "vram-hidden:128K");
        if (i + 1 < TSR_MAX_SEGMENTS) {
            g_string_append_c(props, '/');
        }
    }
    check_memory(props->str);
}

/* Packets name an aperture by its id, whatever segments precede it. */
static void test_apertures(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(MIXED);

    tsr_set_up(t);
    tsr_unmap(c, 1, 0, 2048);
    tsr_unmap(c, 4, 0, 1024);
    tsr_run_ok(t, PAGING, c);
    for (uint32_t id = 0; id < 8; id++) {
        if (id != 1 && id != 4) {
            c->n = 0;
            tsr_unmap(c, id, 0, 1);
            tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
        }
    }
    tsr_stop(t);
}

/* A swizzling range works in the second CPU-visible segment. */
static void check_range(const char *props)
{
    TsrTest *t = tsr_start(props);
    uint64_t base = tsr_seg_base(t, 6) + 2 * TSR_TILE_BYTES;
    uint64_t offset = tsr_r64(t, TSR_SEG(5) + TSR_SEG_CPU_OFFSET_LO) +
                      2 * TSR_TILE_BYTES;
    uint64_t window = tsr_r64(t, TSR_SWR_WINDOW_LO);
    uint32_t value;

    tsr_set_up(t);
    tsr_mark_register(t, TSR_MARK_VALID, base, 2 * TSR_TILE_BYTES);
    tsr_w64(t, TSR_SWR(1) + TSR_SWR_BASE_LO, base);
    tsr_w32(t, TSR_SWR(1) + TSR_SWR_LAYOUT, TSR_LAYOUT_TILE4K);
    tsr_w32(t, TSR_SWR(1) + TSR_SWR_PITCH, 2 * TSR_TILE_WIDTH_BYTES);
    tsr_w32(t, TSR_SWR(1) + TSR_SWR_HEIGHT, TSR_TILE_ROWS);
    tsr_w32(t, TSR_SWR(1) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    /* The first word of the second tile is in the first row. */
    qpci_io_writel(t->dev, t->vram, window + offset + TSR_TILE_WIDTH_BYTES,
                   0xcafe);
    tsr_gpu_read(t, base + TSR_TILE_BYTES, &value, 4);
    g_assert_cmphex(value, ==, 0xcafe);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

static void test_swizzle_range(void)
{
    check_range(MIXED);
    check_range(MIXED ",strict=on");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/segments/SEG-34-order", test_order);
    qtest_add_func("/tessera/segments/SEG-34-memory", test_memory);
    qtest_add_func("/tessera/segments/SEG-34-most", test_most);
    qtest_add_func("/tessera/segments/SEG-5-SEG-34-apertures", test_apertures);
    qtest_add_func("/tessera/segments/SEG-34-swizzle-range",
                   test_swizzle_range);
    return g_test_run();
}
