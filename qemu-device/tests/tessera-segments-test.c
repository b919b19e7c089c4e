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

#define UMA "segments=vram:1M/uma:2M/gart:1M,firmware-size=1M"
#define UMA_BYTES (2 * MiB)

/* SEG-36: a UMA segment is memory, and not an aperture. */
static void test_uma_descriptor(void)
{
    TsrTest *t = tsr_start(UMA ",page-size=64K");

    g_assert_cmphex(tsr_r32(t, TSR_SEG(1) + TSR_SEG_FLAGS), ==,
                    TSR_SEGF_UMA | TSR_SEGF_CACHE_COHERENT);
    g_assert_cmphex(tsr_r64(t, TSR_SEG(1) + TSR_SEG_SIZE_LO), ==, UMA_BYTES);
    g_assert_cmphex(tsr_r64(t, TSR_SEG(1) + TSR_SEG_COMMIT_LO), ==, UMA_BYTES);
    g_assert_cmpuint(tsr_r32(t, TSR_SEG(1) + TSR_SEG_PAGE_SIZE), ==, 4096);
    check_name(t, 1, "uma");
    tsr_stop(t);
}

static void map_uma(TsrTest *t, uint32_t first, const uint64_t *ptes,
                    uint32_t num)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_map(c, 2, first, num, tsr_list(t, ptes, num));
    tsr_run_ok(t, PAGING, c);
}

/*
 * SEG-36: the memory consists of the guest's pages. Two scattered pages are
 * contiguous for a FILL, and the segment's last page works.
 */
static void test_uma_pages(void)
{
    const uint64_t bits = TSR_APTE_VALID | TSR_APTE_WRITE;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(UMA ",strict=on");
    uint64_t ram = tsr_alloc(t, 4 * 4096), base = tsr_seg_base(t, 2);
    uint64_t ptes[2] = { (ram + 8192) | bits, ram | bits };
    uint32_t word;

    qtest_memset(t->qts, ram, 0x11, 4 * 4096);
    map_uma(t, 0, ptes, 2);
    map_uma(t, UMA_BYTES / 4096 - 1, ptes, 1);
    tsr_bind_buffer(c, 0, base, 8192, TSR_FORMAT_R32,
                    TSR_SURF_READ | TSR_SURF_WRITE);
    tsr_fill(c, 0, 1024 - 1, 0, 2, 1, 0x22222222);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(qtest_readl(t->qts, ram + 8192 + 4092), ==, 0x22222222);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 0x22222222);
    g_assert_cmphex(qtest_readl(t->qts, ram + 4), ==, 0x11111111);
    g_assert_cmphex(qtest_readl(t->qts, ram + 4096), ==, 0x11111111);
    /* What the CPU writes is there at once: nothing was copied. */
    qtest_writel(t->qts, ram + 8192, 0x33333333);
    tsr_gpu_read(t, base + UMA_BYTES - 4096, &word, 4);
    g_assert_cmphex(word, ==, 0x33333333);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* SEG-36: the memory is snooped, so a device that never snoops has none. */
static void test_uma_coherence(void)
{
    TsrTest *t = tsr_start(UMA);
    uint64_t pte = tsr_alloc(t, 4096) | TSR_APTE_VALID | TSR_APTE_WRITE |
                   TSR_APTE_CACHED | TSR_APTE_COHERENT;
    QDict *rsp;

    map_uma(t, 0, &pte, 1);
    tsr_expect_no_errors(t);
    rsp = qtest_qmp(t->qts, "{'execute': 'device_add', 'arguments': {"
                    "'driver': 'tessera', 'segments': 'vram:1M/uma:1M', "
                    "'io-coherent': false}}");
    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"), ==,
                    "tessera: a uma segment needs io-coherent=on");
    qobject_unref(rsp);
    tsr_stop(t);
}

/*
 * SEG-36: nothing that only VRAM can do works on a UMA segment, and a page
 * that is not mapped shows the dummy page.
 */
static void test_uma_limits(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(UMA ",strict=on");
    uint64_t base = tsr_seg_base(t, 2), dummy = tsr_alloc(t, 4096);
    uint8_t got;

    qtest_memset(t->qts, dummy, 0xdd, 4096);
    tsr_w64(t, TSR_CTRL_DUMMY_PAGE_LO, dummy);
    tsr_page_fill(c, 0, base, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    c->n = 0;
    tsr_mark(c, TSR_MARK_ALLOCATED, base, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_SEGMENT);
    tsr_err_clear(t);
    tsr_gpu_read(t, base + 4096, &got, 1);
    g_assert_cmphex(got, ==, 0xdd);
    tsr_expect_errors(t, TSR_ERR_STRICT_DUMMY, 1);
    tsr_stop(t);
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
    qtest_add_func("/tessera/segments/SEG-36-uma-descriptor",
                   test_uma_descriptor);
    qtest_add_func("/tessera/segments/SEG-36-uma-pages", test_uma_pages);
    qtest_add_func("/tessera/segments/SEG-36-uma-coherence",
                   test_uma_coherence);
    qtest_add_func("/tessera/segments/SEG-36-uma-limits", test_uma_limits);
    return g_test_run();
}
