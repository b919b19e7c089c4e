/*
 * QTest: GPU virtual addresses
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "tessera-common.h"

#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define PAGE 4096
#define MIB (1024 * 1024)
#define MAPPED (TSR_PTE_VALID | TSR_PTE_WRITE)

/* an address whose index differs at each level */
#define VA 0x0000123456789000ULL
#define VA_LARGE 0x0000123456800000ULL

/* An address space with its tables in guest memory. */
typedef struct Space {
    TsrTest *t;
    uint64_t root;
    uint32_t asid;
} Space;

static uint64_t new_table(TsrTest *t)
{
    uint64_t table = tsr_alloc(t, PAGE);

    qtest_memset(t->qts, table, 0, PAGE);
    return table;
}

static Space new_space(TsrTest *t, uint32_t asid)
{
    return (Space) { t, new_table(t) | TSR_PTE_VALID, asid };
}

/*
 * Return the address of the entry of @level for @va. Allocate missing tables.
 */
static uint64_t entry_at(Space *s, uint64_t va, uint32_t level)
{
    uint64_t entry = s->root;

    for (uint32_t l = TSR_PT_LEVELS - 1;; l--) {
        uint64_t at = (entry & TSR_PTE_ADDR_MASK) +
                      (va >> (12 + 9 * l)) % TSR_PT_ENTRIES * 8;

        if (l == level) {
            return at;
        }
        entry = qtest_readq(s->t->qts, at);
        if (!entry) {
            entry = new_table(s->t) | TSR_PTE_VALID;
            qtest_writeq(s->t->qts, at, entry);
        }
    }
}

static void map_page(Space *s, uint64_t va, uint64_t pte)
{
    qtest_writeq(s->t->qts, entry_at(s, va, 0), pte);
}

static void map_64k(Space *s, uint64_t va, uint64_t pte)
{
    for (int i = 0; i < 16; i++) {
        map_page(s, va + i * PAGE, pte | TSR_PTE_64K);
    }
}

static void map_2m(Space *s, uint64_t va, uint64_t pte)
{
    qtest_writeq(s->t->qts, entry_at(s, va, 1), pte | TSR_PTE_LEAF);
}

static void set_vm(TsrCmd *c, const Space *s)
{
    tsr_put(c, TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS, s->asid,
            (uint32_t)s->root, (uint32_t)(s->root >> 32));
}

static void flush(TsrCmd *c, uint32_t asid, uint64_t va, uint64_t bytes)
{
    tsr_put(c, TSR_OP_TLB_FLUSH, 0, TSR_TLB_FLUSH_DWORDS, asid, (uint32_t)va,
            (uint32_t)(va >> 32), (uint32_t)bytes, (uint32_t)(bytes >> 32));
}

static TsrCmd *begin(const Space *s)
{
    TsrCmd *c = g_new0(TsrCmd, 1);

    set_vm(c, s);
    return c;
}

/* Fill @words words at @va with @value. */
static uint32_t try_fill(Space *s, uint64_t va, uint32_t words, uint32_t value)
{
    g_autofree TsrCmd *c = begin(s);

    tsr_bind_buffer(c, 5, va, words * 4, TSR_FORMAT_R32, RW);
    tsr_fill(c, 5, 0, 0, words, 1, value);
    return tsr_run(s->t, RENDER, false, c, NULL);
}

static void fill(Space *s, uint64_t va, uint32_t words, uint32_t value)
{
    uint32_t err = try_fill(s, va, words, value);
    tsr_rule(!err, "fill at 0x%" PRIx64 ": %s", va, tsr_error_name(err));
}

/*
 * Read the word at @va: the engine copies it to guest memory, which is mapped
 * at another address for this.
 */
static uint32_t try_read(Space *s, uint64_t va, uint32_t *value)
{
    g_autofree TsrCmd *c = begin(s);
    uint64_t out = tsr_alloc(s->t, PAGE), out_va = 0x7000000000ULL;
    uint32_t err;

    map_page(s, out_va, out | MAPPED);
    flush(c, s->asid, out_va, PAGE);
    tsr_bind_buffer(c, 0, va, 4, TSR_FORMAT_R32, TSR_SURF_READ);
    tsr_bind_buffer(c, 1, out_va, 4, TSR_FORMAT_R32, RW);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1, 1);
    err = tsr_run(s->t, RENDER, false, c, NULL);
    *value = qtest_readl(s->t->qts, out);
    return err;
}

static uint32_t read_word(Space *s, uint64_t va)
{
    uint32_t value, err = try_read(s, va, &value);

    tsr_rule(!err, "read at 0x%" PRIx64 ": %s", va, tsr_error_name(err));
    return value;
}

static uint32_t vram_word(TsrTest *t, uint64_t offset)
{
    return qpci_io_readl(t->dev, t->vram, offset);
}

/* ---- Translation --------------------------------------------------------- */

/*
 * RES-5: scattered pages of VRAM and of system memory form one range of
 * addresses.
 */
static void test_scattered(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), ram = tsr_alloc(t, 2 * PAGE);
    Space s = new_space(t, 3);

    map_page(&s, VA, (vram + 5 * PAGE) | TSR_PTE_VRAM | MAPPED);
    map_page(&s, VA + PAGE, (ram + PAGE) | MAPPED);
    map_page(&s, VA + 2 * PAGE, (vram + 4 * PAGE) | TSR_PTE_VRAM | MAPPED);
    map_page(&s, VA + 3 * PAGE, ram | TSR_PTE_COHERENT | MAPPED);
    for (int i = 0; i < 4; i++) {
        fill(&s, VA + i * PAGE, 1024, 0x1111 * (i + 1));
    }
    /* One fill of all pages, with both ends inside a page. */
    fill(&s, VA + 8, 4 * 1024 - 4, 0xabcd);
    g_assert_cmphex(vram_word(t, 5 * PAGE + 4), ==, 0x1111);
    g_assert_cmphex(vram_word(t, 5 * PAGE + 8), ==, 0xabcd);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE), ==, 0xabcd);
    g_assert_cmphex(vram_word(t, 5 * PAGE - 4), ==, 0xabcd);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE - 12), ==, 0xabcd);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE - 8), ==, 0x4444);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Leaves of each size, in VRAM and in system memory, written at both ends. */
static void test_leaves(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), ram = tsr_alloc(t, 4 * MIB);
    uint64_t large = ROUND_UP(ram, 2 * MIB), middle = ROUND_UP(ram, 65536);
    Space s = new_space(t, 0);

    map_2m(&s, VA_LARGE, (vram + 4 * MIB) | TSR_PTE_VRAM | MAPPED);
    map_2m(&s, VA_LARGE + 2 * MIB, large | MAPPED);
    map_64k(&s, VA_LARGE + 4 * MIB, (vram + 65536) | TSR_PTE_VRAM | MAPPED);
    map_page(&s, VA_LARGE + 4 * MIB + 65536,
             (vram + PAGE) | TSR_PTE_VRAM | MAPPED);
    fill(&s, VA_LARGE, (4 * MIB + 65536 + PAGE) / 4, 0x5a5a);
    g_assert_cmphex(vram_word(t, 4 * MIB), ==, 0x5a5a);
    g_assert_cmphex(vram_word(t, 6 * MIB - 4), ==, 0x5a5a);
    g_assert_cmphex(qtest_readl(t->qts, large), ==, 0x5a5a);
    g_assert_cmphex(qtest_readl(t->qts, large + 2 * MIB - 4), ==, 0x5a5a);
    g_assert_cmphex(vram_word(t, 65536), ==, 0x5a5a);
    g_assert_cmphex(vram_word(t, 2 * 65536 - 4), ==, 0x5a5a);
    g_assert_cmphex(vram_word(t, PAGE), ==, 0x5a5a);
    map_64k(&s, VA_LARGE + 6 * MIB, middle | MAPPED);
    fill(&s, VA_LARGE + 6 * MIB + 65532, 1, 0x77);
    g_assert_cmphex(qtest_readl(t->qts, middle + 65532), ==, 0x77);
    g_assert_cmphex(read_word(&s, VA_LARGE + 6 * MIB + 65532), ==, 0x77);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * RES-5: address spaces with the same addresses do not see each other's
 * memory.
 */
static void test_spaces(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, 2 * PAGE);
    Space a = new_space(t, 1), b = new_space(t, 2);

    map_page(&a, VA, ram | MAPPED);
    map_page(&b, VA, (ram + PAGE) | MAPPED);
    for (int i = 0; i < 3; i++) {
        fill(&a, VA, 1024, 0xaa + i);
        fill(&b, VA, 1024, 0xbb + i);
        g_assert_cmphex(read_word(&a, VA + 64), ==, 0xaa + i);
        g_assert_cmphex(read_word(&b, VA + 64), ==, 0xbb + i);
    }
    map_page(&a, VA + PAGE, ram | MAPPED);
    tsr_expect_no_errors(t);
    g_assert_cmpuint(try_fill(&b, VA + PAGE, 1, 1), ==, TSR_ERR_MMU);
    tsr_stop(t);
}

/* A NULL entry reads as zero and drops writes. */
static void test_null(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, PAGE);
    Space s = new_space(t, 9);

    map_page(&s, VA, TSR_PTE_NULL | MAPPED);
    map_page(&s, VA + PAGE, ram | MAPPED);
    map_page(&s, VA + 2 * PAGE, TSR_PTE_NULL | TSR_PTE_VALID);
    map_2m(&s, VA_LARGE, TSR_PTE_NULL | MAPPED);
    fill(&s, VA, 2048, 0x99);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 0x99);
    g_assert_cmphex(read_word(&s, VA + 128), ==, 0);
    g_assert_cmphex(read_word(&s, VA + 2 * PAGE), ==, 0);
    fill(&s, VA_LARGE, 2 * MIB / 4, 0x99);
    g_assert_cmphex(read_word(&s, VA_LARGE + MIB), ==, 0);
    tsr_expect_no_errors(t);
    g_assert_cmpuint(try_fill(&s, VA + 2 * PAGE, 1, 1), ==, TSR_ERR_READ_ONLY);
    tsr_stop(t);
}

/* ---- Faults -------------------------------------------------------------- */

static void expect_fault(TsrTest *t, uint32_t err, uint64_t va, uint32_t access)
{
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_TYPE), ==, err);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, va);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ACCESS), ==,
                    TSR_ACCESS_VM | access);
    g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_CONTEXT), ==, 0x77);
    tsr_expect_errors(t, err, 1);
}

/*
 * RES-6: an access to an unmapped page faults with the exact address, and the
 * next job runs.
 */
static void test_faults(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, 2 * PAGE);
    const uint32_t asid = 200 << TSR_ACCESS_ASID_SHIFT;
    Space s = new_space(t, 200);
    uint32_t value;

    qtest_memset(t->qts, ram, 0x33, 2 * PAGE);
    map_page(&s, VA, ram | MAPPED);
    map_page(&s, VA + 2 * PAGE, (ram + PAGE) | TSR_PTE_VALID);
    /* A fault in the middle of a fill: the part before it is done. */
    g_assert_cmpuint(try_fill(&s, VA + PAGE - 16, 8, 1), ==, TSR_ERR_MMU);
    g_assert_cmpuint(tsr_r32(t, TSR_ERR_REC_SLOT), ==, 5);
    expect_fault(t, TSR_ERR_MMU, VA + PAGE, asid | TSR_ACCESS_WRITE);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE - 4), ==, 1);
    g_assert_cmpuint(try_read(&s, VA + PAGE + 8, &value), ==, TSR_ERR_MMU);
    expect_fault(t, TSR_ERR_MMU, VA + PAGE + 8, asid);
    /* A fault because there is no table, at each level. */
    for (int level = 1; level < TSR_PT_LEVELS; level++) {
        uint64_t va = VA ^ 1ULL << (12 + 9 * level);

        g_assert_cmpuint(try_fill(&s, va, 1, 1), ==, TSR_ERR_MMU);
        expect_fault(t, TSR_ERR_MMU, va, asid | TSR_ACCESS_WRITE);
    }
    g_assert_cmpuint(try_fill(&s, VA + 2 * PAGE + 4, 1, 1), ==,
                     TSR_ERR_READ_ONLY);
    expect_fault(t, TSR_ERR_READ_ONLY, VA + 2 * PAGE + 4,
                 asid | TSR_ACCESS_WRITE);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE + 4), ==, 0x33333333);
    g_assert_cmphex(read_word(&s, VA + 2 * PAGE + 4), ==, 0x33333333);
    fill(&s, VA, 1024, 2);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Invalid entries, and entries that point to no memory. */
static void test_bad_entries(void)
{
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1), ram = tsr_alloc(t, PAGE);
    uint64_t gart = tsr_seg_base(t, 4);
    const struct {
        uint32_t level;
        uint64_t entry;
        uint32_t err;
    } rows[] = {
        { 0, 1ULL << 48, TSR_ERR_MMU_TABLE },
        { 0, 1ULL << 9, TSR_ERR_MMU_TABLE },
        { 0, ram | TSR_PTE_FENCE | TSR_PTE_CACHED, TSR_ERR_MMU_TABLE },
        { 0, ram | TSR_PTE_FENCE | TSR_PTE_COHERENT, TSR_ERR_MMU_TABLE },
        { 0, vram | TSR_PTE_FENCE | TSR_PTE_VRAM, TSR_ERR_MMU_TABLE },
        { 0, TSR_PTE_FENCE | TSR_PTE_NULL, TSR_ERR_MMU_TABLE },
        { 1, vram | TSR_PTE_VRAM | TSR_PTE_LEAF | TSR_PTE_FENCE,
          TSR_ERR_MMU_TABLE },
        { 0, vram | TSR_PTE_VRAM | TSR_PTE_CACHED, TSR_ERR_MMU_TABLE },
        { 0, vram | TSR_PTE_VRAM | TSR_PTE_COHERENT, TSR_ERR_MMU_TABLE },
        { 0, ram | TSR_PTE_LEAF, TSR_ERR_MMU_TABLE },
        { 0, (vram + PAGE) | TSR_PTE_VRAM | TSR_PTE_64K, TSR_ERR_MMU_TABLE },
        { 0, TSR_PTE_NULL | TSR_PTE_VRAM, TSR_ERR_MMU_TABLE },
        { 0, TSR_PTE_NULL | ram, TSR_ERR_MMU_TABLE },
        { 0, TSR_PTE_NULL | TSR_PTE_COHERENT, TSR_ERR_MMU_TABLE },
        { 0, gart | TSR_PTE_VRAM, TSR_ERR_ADDRESS },
        { 0, 0x10000 | TSR_PTE_VRAM, TSR_ERR_ADDRESS },
        { 0, 0x700000000000, TSR_ERR_DMA },
        { 1, (vram + 65536) | TSR_PTE_VRAM | TSR_PTE_LEAF, TSR_ERR_MMU_TABLE },
        { 1, vram | TSR_PTE_VRAM | TSR_PTE_LEAF | TSR_PTE_64K,
          TSR_ERR_MMU_TABLE },
        { 1, ram | TSR_PTE_WRITE, TSR_ERR_MMU_TABLE },
        { 1, gart | TSR_PTE_VRAM, TSR_ERR_MMU_TABLE },
        { 1, 0x700000000000, TSR_ERR_MMU_TABLE },
        { 2, ram | TSR_PTE_LEAF, TSR_ERR_MMU_TABLE },
        { 3, ram | TSR_PTE_COHERENT, TSR_ERR_MMU_TABLE },
        { 3, ram | TSR_PTE_NULL, TSR_ERR_MMU_TABLE },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        Space s = new_space(t, i);
        uint64_t entry = rows[i].entry | TSR_PTE_VALID;
        uint32_t err, value;

        g_test_message("level %u entry 0x%" PRIx64, rows[i].level, entry);
        qtest_writeq(t->qts, entry_at(&s, VA, rows[i].level), entry);
        err = try_read(&s, VA, &value);
        g_assert_cmpuint(err, ==, rows[i].err);
        tsr_expect_errors(t, err, 1);
    }
    tsr_stop(t);
}

/*
 * COH-2: without I/O coherence a page is cached and maintained, or uncached.
 * The COHERENT bit is invalid.
 */
static void test_not_coherent(void)
{
    TsrTest *t = tsr_start("io-coherent=off,strict=on");
    uint64_t ram = tsr_alloc(t, 3 * PAGE);
    Space s = new_space(t, 2);

    qtest_memset(t->qts, ram, 0x11, 3 * PAGE);
    map_page(&s, VA, ram | TSR_PTE_CACHED | MAPPED);
    map_page(&s, VA + PAGE, (ram + PAGE) | MAPPED);
    map_page(&s, VA + 2 * PAGE, (ram + 2 * PAGE) | TSR_PTE_COHERENT | MAPPED);
    tsr_w64(t, TSR_COH_ADDR_LO, ram);
    tsr_w32(t, TSR_COH_SIZE, PAGE);
    tsr_w32(t, TSR_COH_COMMAND, TSR_COH_CLEAN);
    fill(&s, VA, 2048, 0x2222);
    g_assert_cmphex(qtest_readl(t->qts, ram + 64), ==, 0x11111111);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE), ==, 0x2222);
    tsr_w32(t, TSR_COH_COMMAND, TSR_COH_INVALIDATE);
    g_assert_cmphex(qtest_readl(t->qts, ram + 64), ==, 0x2222);
    tsr_expect_no_errors(t);
    g_assert_cmpuint(try_fill(&s, VA + 2 * PAGE, 1, 1), ==, TSR_ERR_MMU_TABLE);
    tsr_expect_errors(t, TSR_ERR_MMU_TABLE, 1);
    tsr_stop(t);
}

/* Contiguous addresses, one in VRAM and one on the bus, are not one extent. */
static void test_neighbours(void)
{
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1);
    Space s = new_space(t, 0);

    map_page(&s, VA, vram | TSR_PTE_VRAM | MAPPED);
    map_page(&s, VA + PAGE, (vram + PAGE) | MAPPED);
    g_assert_cmpuint(try_fill(&s, VA, 2048, 1), ==, TSR_ERR_DMA);
    g_assert_cmphex(vram_word(t, PAGE - 4), ==, 1);
    g_assert_cmphex(vram_word(t, PAGE), ==, 0);
    tsr_stop(t);
}

/*
 * Strict mode detects accesses through a mapping to memory that was never
 * written or was evicted.
 */
static void test_referee(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1);
    Space s = new_space(t, 1);
    uint32_t value;

    map_page(&s, VA, vram | TSR_PTE_VRAM | MAPPED);
    g_assert_cmpuint(try_read(&s, VA, &value), ==, TSR_ERR_STRICT_UNWRITTEN);
    tsr_expect_errors(t, TSR_ERR_STRICT_UNWRITTEN, 1);
    fill(&s, VA, 1024, 1);
    tsr_mark(c, TSR_MARK_EVICTED, vram, PAGE);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmpuint(try_fill(&s, VA, 1, 1), ==, TSR_ERR_STRICT_EVICTED);
    tsr_expect_errors(t, TSR_ERR_STRICT_EVICTED, 1);
    tsr_stop(t);
}

/*
 * An eviction makes slots stale by their GPU address. A slot whose virtual
 * address has the same value is not affected.
 */
static void test_virtual_slot_is_not_stale(void)
{
    g_autofree TsrCmd *c = NULL;
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), ram = tsr_alloc(t, PAGE);
    Space s = new_space(t, 1);

    map_page(&s, vram, ram | MAPPED);
    c = begin(&s);
    tsr_bind_buffer(c, 5, vram, PAGE, TSR_FORMAT_R32, RW);
    tsr_mark(c, TSR_MARK_EVICTED, vram, PAGE);
    tsr_fill(c, 5, 0, 0, 4, 1, 7);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- The TLB ------------------------------------------------------------- */

static void run_flush(TsrTest *t, uint32_t engine, uint32_t asid, uint64_t va,
                      uint64_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    flush(c, asid, va, bytes);
    tsr_run_ok(t, engine, c);
}

/*
 * A changed entry takes effect after a TLB_FLUSH on any engine, and not
 * before.
 */
static void test_tlb(void)
{
    TsrTest *t = tsr_start("");
    uint64_t ram = tsr_alloc(t, 4 * PAGE);
    Space s = new_space(t, 4);

    for (int engine = RENDER; engine <= PAGING; engine++) {
        qtest_memset(t->qts, ram, 0, 4 * PAGE);
        map_page(&s, VA, ram | MAPPED);
        map_page(&s, VA + PAGE, (ram + PAGE) | MAPPED);
        run_flush(t, engine, 4, VA, 2 * PAGE);
        fill(&s, VA, 2048, 1);
        map_page(&s, VA, (ram + 2 * PAGE) | MAPPED);
        map_page(&s, VA + PAGE, (ram + 3 * PAGE) | MAPPED);
        fill(&s, VA, 2048, 2);
        g_assert_cmphex(qtest_readl(t->qts, ram), ==, 2);
        g_assert_cmphex(qtest_readl(t->qts, ram + 2 * PAGE), ==, 0);
        /*
         * These flush another address space, nothing, and only the second
         * page.
         */
        run_flush(t, engine, 5, VA, 2 * PAGE);
        run_flush(t, engine, 4, VA, 0);
        run_flush(t, engine, 4, VA + PAGE, PAGE);
        fill(&s, VA, 2048, 3);
        g_assert_cmphex(qtest_readl(t->qts, ram), ==, 3);
        tsr_rule(qtest_readl(t->qts, ram + PAGE) == 2 &&
                 qtest_readl(t->qts, ram + 3 * PAGE) == 3,
                 "a fill of two pages went behind the first one, or where the"
                 " second was before its TLB_FLUSH");
        run_flush(t, engine, 4, 0, 1ULL << TSR_VM_ADDRESS_BITS);
        fill(&s, VA, 1, 4);
        g_assert_cmphex(qtest_readl(t->qts, ram), ==, 3);
        g_assert_cmphex(qtest_readl(t->qts, ram + 2 * PAGE), ==, 4);
    }
    /* A flush of a part of a large leaf flushes all of it. */
    map_2m(&s, VA_LARGE, TSR_PTE_NULL | MAPPED);
    fill(&s, VA_LARGE, 1, 4);
    qtest_writeq(t->qts, entry_at(&s, VA_LARGE, 1), 0);
    fill(&s, VA_LARGE, 1, 4);
    run_flush(t, PAGING, 4, VA_LARGE + MIB, 1);
    tsr_expect_no_errors(t);
    g_assert_cmpuint(try_fill(&s, VA_LARGE, 1, 4), ==, TSR_ERR_MMU);
    tsr_stop(t);
}

/* In strict mode the use of a stale translation is an error. */
static void test_stale(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, 2 * PAGE);
    Space s = new_space(t, 4);

    qtest_memset(t->qts, ram, 0, 2 * PAGE);
    map_page(&s, VA, ram | MAPPED);
    fill(&s, VA, 1024, 1);
    map_page(&s, VA, (ram + PAGE) | MAPPED);
    g_assert_cmpuint(try_fill(&s, VA, 1, 2), ==, TSR_ERR_STRICT_TLB);
    expect_fault(t, TSR_ERR_STRICT_TLB, VA,
                 4 << TSR_ACCESS_ASID_SHIFT | TSR_ACCESS_WRITE);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 1);
    g_assert_cmphex(qtest_readl(t->qts, ram + PAGE), ==, 0);
    /* The same if the tables behind it are gone. */
    qtest_writeq(t->qts, entry_at(&s, VA, 2), 0);
    g_assert_cmpuint(try_fill(&s, VA, 1, 2), ==, TSR_ERR_STRICT_TLB);
    tsr_expect_errors(t, TSR_ERR_STRICT_TLB, 1);
    run_flush(t, PAGING, 4, VA, PAGE);
    g_assert_cmpuint(try_fill(&s, VA, 1, 2), ==, TSR_ERR_MMU);
    tsr_expect_errors(t, TSR_ERR_MMU, 1);
    tsr_stop(t);
}

/* A reset of the engine empties its TLB. */
static void test_reset(void)
{
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, PAGE);
    Space s = new_space(t, 4);

    map_page(&s, VA, ram | MAPPED);
    fill(&s, VA, 1024, 1);
    map_page(&s, VA, TSR_PTE_NULL | MAPPED);
    tsr_engine_reset(t, RENDER);
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
    fill(&s, VA, 1024, 2);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 1);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Packets ------------------------------------------------------------- */

static void write_ptes(TsrCmd *c, uint32_t flags, uint32_t count, uint64_t at,
                       uint64_t value, uint64_t step)
{
    tsr_put(c, TSR_OP_WRITE_PTES, flags, TSR_WRITE_PTES_DWORDS, count,
            (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)value,
            (uint32_t)(value >> 32), (uint32_t)step, (uint32_t)(step >> 32));
}

/*
 * WRITE_PTES of ranges and of a list, for tables in VRAM that another
 * WRITE_PTES clears.
 */
static void test_write_ptes(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t vram = tsr_seg_base(t, 1), tables = tsr_hidden_base(t) + MIB;
    uint64_t ram = tsr_alloc(t, 3 * PAGE);
    uint64_t list[3] = { (ram + 2 * PAGE) | MAPPED, 0, ram | MAPPED };
    Space s = { t, tables | TSR_PTE_VRAM | TSR_PTE_VALID, 6 };
    const uint64_t va = VA & ~(511ULL << 12);

    for (int level = 0; level < TSR_PT_LEVELS; level++) {
        uint64_t at = tables + (TSR_PT_LEVELS - 1 - level) * PAGE;

        write_ptes(c, TSR_PTES_VRAM, 512, at, 0, 0);
        if (level) {
            write_ptes(c, TSR_PTES_VRAM, 1,
                       at + (va >> (12 + 9 * level)) % 512 * 8,
                       (at + PAGE) | TSR_PTE_VRAM | TSR_PTE_VALID, 0);
        }
    }
    write_ptes(c, TSR_PTES_VRAM, 500, tables + 3 * PAGE,
               vram | TSR_PTE_VRAM | MAPPED, PAGE);
    write_ptes(c, TSR_PTES_VRAM | TSR_PTES_LIST, 3,
               tables + 3 * PAGE + 509 * 8, tsr_list(t, list, 3), 0);
    tsr_run_ok(t, PAGING, c);
    tsr_expect_no_errors(t);
    for (int i = 0; i < 500; i += 499) {
        g_autofree TsrCmd *f = begin(&s);

        tsr_bind_buffer(f, 5, va + i * PAGE, PAGE, TSR_FORMAT_R32, RW);
        tsr_fill(f, 5, 0, 0, 1024, 1, 0x100 + i);
        tsr_run_ok(t, RENDER, f);
        g_assert_cmphex(vram_word(t, i * PAGE), ==, 0x100 + i);
    }
    fill(&s, va + 511 * PAGE, 1024, 0x777);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 0x777);
    fill(&s, va + 509 * PAGE, 1024, 0x888);
    g_assert_cmphex(qtest_readl(t->qts, ram + 2 * PAGE), ==, 0x888);
    g_assert_cmpuint(try_fill(&s, va + 510 * PAGE, 1, 1), ==, TSR_ERR_MMU);
    tsr_expect_errors(t, TSR_ERR_MMU, 1);
    /* An access through a directory whose memory was freed fails. */
    c->n = 0;
    tsr_mark(c, TSR_MARK_FREE, tables + PAGE, PAGE);
    flush(c, 6, 0, 1ULL << TSR_VM_ADDRESS_BITS);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmpuint(try_fill(&s, va, 1, 1), ==, TSR_ERR_STRICT_FREED);
    tsr_stop(t);
}

/* The same packet writes tables in guest memory. */
static void test_write_ptes_ram(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t table = new_table(t);

    write_ptes(c, 0, 511, table + 8, 0x1000000000000005ULL, -0x10ULL);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(qtest_readq(t->qts, table), ==, 0);
    for (int i = 0; i < 511; i++) {
        g_assert_cmphex(qtest_readq(t->qts, table + 8 + i * 8), ==,
                        0x1000000000000005ULL - 0x10ULL * i);
    }
    c->n = 0;
    write_ptes(c, TSR_PTES_GROUPS, 48, table + 256, 0x30000, 0x10000);
    tsr_run_ok(t, PAGING, c);
    g_assert_cmphex(qtest_readq(t->qts, table + 248), ==,
                    0x1000000000000005ULL - 0x10ULL * 30);
    for (int i = 0; i < 48; i++) {
        g_assert_cmphex(qtest_readq(t->qts, table + 256 + i * 8), ==,
                        0x30000 + i / 16 * 0x10000);
    }
    g_assert_cmphex(qtest_readq(t->qts, table + 640), ==,
                    0x1000000000000005ULL - 0x10ULL * 79);
    tsr_stop(t);
}

/* Errors in packets that do not depend on any mapping (manual, 3.7). */
#define GART    0xb0000000u
#define NOWHERE 0x70000000u
#define RAM     0x04000000u
#define HI_NONE 0x00007000u
#define HI_49   0x00010000u

#define ROW(what, engine, err, op, flags, ...) \
    { what, engine, TSR_ERR_##err, TSR_OP_##op, flags, TSR_##op##_DWORDS, \
      { __VA_ARGS__ } }

static const struct {
    const char *what;
    uint32_t engine, err, op, flags, dwords;
    uint32_t d[TSR_WRITE_PTES_DWORDS - 1];
} rows[] = {
    ROW("SET_VM asid", RENDER, PACKET, SET_VM, 0, 256, RAM | TSR_PTE_VALID),
    ROW("SET_VM invalid root", RENDER, PACKET, SET_VM, 0, 0, RAM),
    ROW("SET_VM root bits", RENDER, PACKET, SET_VM, 0, 0,
        RAM | TSR_PTE_VALID | TSR_PTE_WRITE),
    ROW("SET_VM root high", RENDER, PACKET, SET_VM, 0, 0, RAM | TSR_PTE_VALID,
        HI_49),
    ROW("WRITE_PTES address", PAGING, PACKET, WRITE_PTES, 0, 1, RAM + 4),
    ROW("WRITE_PTES beyond a page", PAGING, PACKET, WRITE_PTES, 0, 512,
        RAM + 8),
    ROW("WRITE_PTES too many", PAGING, PACKET, WRITE_PTES, 0, 0xffffffff, RAM),
    ROW("WRITE_PTES list", PAGING, PACKET, WRITE_PTES, TSR_PTES_LIST, 1, RAM,
        0, RAM + 4),
    ROW("WRITE_PTES list and step", PAGING, PACKET, WRITE_PTES, TSR_PTES_LIST,
        1, RAM, 0, RAM, 0, 8),
    ROW("WRITE_PTES list of groups", PAGING, PACKET, WRITE_PTES,
        TSR_PTES_LIST | TSR_PTES_GROUPS, 16, RAM, 0, RAM),
    ROW("WRITE_PTES part of a group", PAGING, PACKET, WRITE_PTES,
        TSR_PTES_GROUPS, 8, RAM),
    ROW("WRITE_PTES within a group", PAGING, PACKET, WRITE_PTES,
        TSR_PTES_GROUPS, 16, RAM + 64),
    ROW("WRITE_PTES at nothing", PAGING, DMA, WRITE_PTES, 0, 1, 0, HI_NONE),
    ROW("WRITE_PTES list at nothing", PAGING, DMA, WRITE_PTES, TSR_PTES_LIST,
        1, RAM, 0, 0, HI_NONE),
    ROW("WRITE_PTES in no segment", PAGING, ADDRESS, WRITE_PTES, TSR_PTES_VRAM,
        1, NOWHERE),
    ROW("WRITE_PTES in an aperture", PAGING, ADDRESS, WRITE_PTES,
        TSR_PTES_VRAM, 1, GART),
    ROW("TLB_FLUSH asid", RENDER, PACKET, TLB_FLUSH, 0, 256, 0, 0, 4096),
    ROW("TLB_FLUSH address", RENDER, PACKET, TLB_FLUSH, 0, 0, 0, HI_49, 0),
    ROW("TLB_FLUSH end", PAGING, PACKET, TLB_FLUSH, 0, 0, 1, 0, 0, HI_49),
    ROW("TLB_FLUSH 5", PAGING, PACKET, TLB_FLUSH, 0, 0, 4096, 0, ~0u, ~0u),
    ROW("IB_CALL at a virtual address of nothing", RENDER, PACKET, IB_CALL,
        TSR_IB_VM, 8, RAM, 0, 0, 8),
};

static void test_packets(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        uint32_t p[TSR_WRITE_PTES_DWORDS] = {
            TSR_PKT_HEADER(rows[i].op, rows[i].flags, rows[i].dwords),
        };

        g_test_message("%s", rows[i].what);
        memcpy(p + 1, rows[i].d, (rows[i].dwords - 1) * 4);
        c->n = 0;
        tsr_cmd(c, p, rows[i].dwords);
        tsr_run_err(t, rows[i].engine, c, rows[i].err);
    }
    tsr_stop(t);
}

static uint32_t run_ib(TsrTest *t, const Space *s, uint32_t flags, uint64_t va,
                       uint32_t bytes, uint32_t start)
{
    uint32_t job[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 0x77, 0, 0,
        TSR_PKT_HEADER(TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS), s->asid,
        s->root, s->root >> 32,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, flags, TSR_IB_CALL_DWORDS), bytes,
        va, va >> 32, start, bytes,
    };

    tsr_emit(t, RENDER, job, ARRAY_SIZE(job));
    tsr_emit_fence(t, RENDER, 0, t->record);
    tsr_kick(t, RENDER);
    tsr_wait(t, RENDER, t->eng[RENDER].seqno);
    return qtest_readl(t->qts, t->record + TSR_REC_STATUS);
}

/* A user's IB at a virtual address, in scattered pages. */
static void test_virtual_ib(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("strict=on");
    uint64_t ram = tsr_alloc(t, 3 * PAGE), target = tsr_alloc(t, PAGE);
    const uint32_t flags = TSR_IB_VM | TSR_IB_USER, start = PAGE - 1024;
    Space s = new_space(t, 7);
    uint8_t *bytes = (uint8_t *)c->d;

    map_page(&s, VA, (ram + 2 * PAGE) | TSR_PTE_VALID);
    map_page(&s, VA + PAGE, ram | TSR_PTE_VALID);
    map_page(&s, VA_LARGE, target | MAPPED);
    /* Neither the IB nor the part that runs starts at a page boundary. */
    c->n = (start - 256) / 4;
    tsr_bind_buffer(c, 5, VA_LARGE, PAGE, TSR_FORMAT_R32, RW);
    for (int i = 0; i < 64; i++) {
        tsr_fill(c, 5, i, 0, 1, 1, 0x1000 + i);
    }
    g_assert_cmpuint(c->n * 4, >, PAGE);
    qtest_bufwrite(t->qts, ram + 2 * PAGE + 256, bytes, PAGE - 256);
    qtest_bufwrite(t->qts, ram, bytes + PAGE - 256, c->n * 4 - PAGE + 256);
    g_assert_cmpuint(run_ib(t, &s, flags, VA + 256, c->n * 4, start - 256), ==,
                     0);
    for (int i = 0; i < 64; i++) {
        g_assert_cmphex(qtest_readl(t->qts, target + i * 4), ==, 0x1000 + i);
    }
    tsr_expect_no_errors(t);
    /* The IB ends in an unmapped page. */
    g_assert_cmpuint(run_ib(t, &s, flags, VA + 2 * PAGE - 8, 16, 8), ==,
                     TSR_ERR_MMU);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, VA + 2 * PAGE);
    tsr_expect_errors(t, TSR_ERR_MMU, 1);
    /* The packets before an unmapped page run. */
    c->n = 0;
    tsr_bind_buffer(c, 5, VA_LARGE, PAGE, TSR_FORMAT_R32, RW);
    tsr_fill(c, 5, 0, 0, 1, 1, 0x4321);
    qtest_bufwrite(t->qts, ram + PAGE - c->n * 4, c->d, c->n * 4);
    g_assert_cmpuint(run_ib(t, &s, flags, VA + 2 * PAGE - c->n * 4, PAGE, 0),
                     ==, TSR_ERR_MMU);
    g_assert_cmphex(tsr_r64(t, TSR_ERR_REC_ADDR_LO), ==, VA + 2 * PAGE);
    g_assert_cmphex(qtest_readl(t->qts, target), ==, 0x4321);
    tsr_expect_errors(t, TSR_ERR_MMU, 1);
    /* An IB at a virtual address cannot leave its address space. */
    for (int i = 0; i < 2; i++) {
        c->n = 0;
        tsr_put(c, i ? TSR_OP_SET_VM : TSR_OP_JOB_BEGIN, 0, 4, 1, 0, 0);
        qtest_bufwrite(t->qts, ram, c->d, c->n * 4);
        g_assert_cmpuint(run_ib(t, &s, TSR_IB_VM, VA + PAGE, c->n * 4, 0), ==,
                         TSR_ERR_PACKET);
        tsr_expect_errors(t, TSR_ERR_PACKET, 1);
    }
    /* A user's IB cannot change the address space. */
    c->n = 0;
    set_vm(c, &s);
    qtest_bufwrite(t->qts, ram, c->d, c->n * 4);
    g_assert_cmpuint(run_ib(t, &s, flags, VA + PAGE, c->n * 4, 0), ==,
                     TSR_ERR_PRIVILEGE);
    tsr_stop(t);
}

/* Addresses are virtual from SET_VM to the next JOB_BEGIN. */
static void test_scope(void)
{
    g_autofree TsrCmd *c = NULL;
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1), ram = tsr_alloc(t, PAGE);
    Space s = new_space(t, 1), none = { t, 0, 0 };

    qtest_memset(t->qts, ram, 0, PAGE);
    map_page(&s, vram, ram | MAPPED);
    /* SET_VM unbinds the slots. */
    c = g_new0(TsrCmd, 1);
    tsr_bind_buffer(c, 5, vram, PAGE, TSR_FORMAT_R32, RW);
    set_vm(c, &s);
    tsr_fill(c, 5, 0, 0, 1, 1, 1);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_UNBOUND);
    /*
     * The return to GPU addresses unbinds them as well; the addresses are
     * unchanged.
     */
    c->n = 0;
    set_vm(c, &s);
    tsr_bind_buffer(c, 5, vram, PAGE, TSR_FORMAT_R32, RW);
    tsr_fill(c, 5, 0, 0, 1, 1, 2);
    set_vm(c, &none);
    tsr_bind_buffer(c, 6, vram, PAGE, TSR_FORMAT_R32, RW);
    tsr_fill(c, 6, 0, 0, 1, 1, 3);
    tsr_fill(c, 5, 0, 0, 1, 1, 4);
    tsr_run_err(t, RENDER, c, TSR_ERR_SLOT_UNBOUND);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 2);
    g_assert_cmphex(vram_word(t, 0), ==, 3);
    fill(&s, vram, 1, 5);
    g_assert_cmphex(qtest_readl(t->qts, ram), ==, 5);
    /* The next job uses GPU addresses again. */
    c->n = 0;
    tsr_bind_buffer(c, 6, vram, PAGE, TSR_FORMAT_R32, RW);
    tsr_fill(c, 6, 0, 0, 1, 1, 6);
    tsr_run_ok(t, RENDER, c);
    g_assert_cmphex(vram_word(t, 0), ==, 6);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * A device without address spaces has no packets, registers and capability for
 * them.
 */
static void test_off(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("vm=off");
    Space s = new_space(t, 0);

    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_VM, ==, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_VM_NUM_ASIDS), ==, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_VM_VA_BITS), ==, 0);
    set_vm(c, &s);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    flush(c, 0, 0, PAGE);
    tsr_run_err(t, RENDER, c, TSR_ERR_PACKET);
    c->n = 0;
    write_ptes(c, 0, 1, new_table(t), 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_PACKET);
    tsr_stop(t);
}

static void test_registers(void)
{
    TsrTest *t = tsr_start("");

    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_VM, !=, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_VM_NUM_ASIDS), ==, 256);
    g_assert_cmpuint(tsr_r32(t, TSR_VM_VA_BITS), ==, 48);
    tsr_stop(t);
}

/* ---- Surfaces at virtual addresses --------------------------------------- */

#define SIDE 256                        /* of a surface, in texels */
#define SURFACE_BYTES (SIDE * SIDE * 4)

/* Map a surface to pages of VRAM and of system memory, in random order. */
static void map_shuffled(Space *s, uint64_t va, uint64_t vram, uint64_t ram,
                         GRand *rand)
{
    const uint32_t pages = SURFACE_BYTES / PAGE;
    uint32_t at[SURFACE_BYTES / PAGE];

    for (uint32_t i = 0; i < pages; i++) {
        uint32_t j = g_rand_int_range(rand, 0, i + 1);

        at[i] = at[j];
        at[j] = i;
    }
    for (uint32_t i = 0; i < pages; i++) {
        map_page(s, va + i * PAGE,
                 at[i] % 3 ? (vram + at[i] * PAGE) | TSR_PTE_VRAM | MAPPED
                           : (ram + at[i] * PAGE) | MAPPED);
    }
}

static void put_surface(TsrCmd *c, uint32_t slot, uint64_t base,
                        uint32_t layout)
{
    TsrSurf surf = {
        .base = base, .limit = SURFACE_BYTES, .format = TSR_FORMAT_ARGB8888,
        .layout = layout, .access = RW, .pitch = SIDE * 4, .width = SIDE,
        .height = SIDE,
    };

    tsr_bind(c, slot, &surf);
}

/* Copies between layouts, a scaled and blended one, and overlapping ones. */
static void put_scene(TsrCmd *c, const uint64_t base[3])
{
    for (int i = 0; i < 3; i++) {
        put_surface(c, i, base[i], i);
    }
    for (int y = 0; y < SIDE; y++) {
        tsr_fill(c, 0, y % 64, y, 150, 1, 0x01020304 * (y + 1));
        tsr_fill(c, 0, 100 + y % 32, y, 100, 1, 0x10305070 * (y + 7));
    }
    tsr_copy(c, 1, 0, 0, 0, 0, 0, SIDE, SIDE);
    tsr_copy(c, 2, 1, 0, 0, 0, 0, SIDE, SIDE);
    tsr_copy(c, 0, 2, 7, 9, 33, 1, 200, 211);
    tsr_copy(c, 0, 0, 5, 1, 0, 0, 250, 200);
    tsr_copy(c, 0, 0, 0, 0, 3, 1, 250, 200);
    tsr_copy(c, 1, 1, 17, 3, 0, 0, 230, 220);
    tsr_copy(c, 2, 2, 0, 0, 32, 32, 224, 224);
    tsr_put(c, TSR_OP_BLIT, 0, TSR_BLIT_DWORDS, 2, 1, 10 | 20 << 16,
            200 | 190 << 16, 5 | 6 << 16, 100 | 120 << 16,
            TSR_SAMPLER_LINEAR | TSR_BLEND_ALPHA << 8, 0xffffffff, 0);
}

/*
 * RES-5: the result of an engine's work does not depend on where the pages of
 * a surface are.
 */
static void test_scene(void)
{
    g_autofree uint8_t *want = g_malloc(SURFACE_BYTES);
    g_autofree uint8_t *got = g_malloc(SURFACE_BYTES);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t vram = tsr_seg_base(t, 1), base[3], va[3];
    GRand *rand = g_rand_new_with_seed(g_test_rand_int());
    Space s = new_space(t, 8);

    tsr_load_firmware(t);
    for (int i = 0; i < 3; i++) {
        base[i] = vram + i * MIB;
        va[i] = VA_LARGE + i * MIB;
    }
    put_scene(c, base);
    tsr_run_ok(t, RENDER, c);
    for (int i = 0; i < 3; i++) {
        map_shuffled(&s, va[i], vram + (8 + i) * MIB,
                     tsr_alloc(t, SURFACE_BYTES), rand);
    }
    c->n = 0;
    set_vm(c, &s);
    put_scene(c, va);
    tsr_run_ok(t, RENDER, c);
    for (int i = 0; i < 3; i++) {
        tsr_gpu_read(t, base[i], want, SURFACE_BYTES);
        for (int p = 0; p < SURFACE_BYTES; p += PAGE) {
            uint64_t pte = qtest_readq(t->qts, entry_at(&s, va[i] + p, 0));

            if (pte & TSR_PTE_VRAM) {
                tsr_gpu_read(t, pte & TSR_PTE_ADDR_MASK, got + p, PAGE);
            } else {
                qtest_bufread(t->qts, pte & TSR_PTE_ADDR_MASK, got + p, PAGE);
            }
        }
        g_assert_cmpmem(want, SURFACE_BYTES, got, SURFACE_BYTES);
    }
    tsr_expect_no_errors(t);
    g_rand_free(rand);
    tsr_stop(t);
}

/*
 * An overlapping copy with one extent as its source and several as its
 * destination.
 */
static void test_overlap(void)
{
    g_autofree uint32_t *model = g_new(uint32_t, 3 * MIB / 4);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start("");
    uint64_t ram = tsr_alloc(t, 4 * MIB);
    Space s = new_space(t, 8);
    const uint32_t words = 2 * MIB / 4, shift = 1000;

    /* 2 MiB of VRAM, followed by pages of system memory. */
    map_2m(&s, VA_LARGE, (tsr_seg_base(t, 1)) | TSR_PTE_VRAM | MAPPED);
    for (int i = 0; i < 16; i++) {
        map_page(&s, VA_LARGE + 2 * MIB + i * PAGE,
                 (ram + (15 - i) * 2 * PAGE) | MAPPED);
    }
    for (uint32_t i = 0; i < words + shift; i++) {
        model[i] = i * 2654435761u;
    }
    for (uint32_t i = 0; i < 2 * MIB / 4; i++) {
        qpci_io_writel(t->dev, t->vram, i * 4, model[i]);
        i += i % 64 ? 0 : 62;   /* write two words of each 64 */
    }
    for (uint32_t i = words; i < words + shift; i++) {
        uint64_t at = (i - words) * 4;

        qtest_writel(t->qts, ram + (15 - at / PAGE) * 2 * PAGE + at % PAGE,
                     model[i]);
    }
    set_vm(c, &s);
    tsr_bind_buffer(c, 0, VA_LARGE, (words + shift) * 4, TSR_FORMAT_R32, RW);
    tsr_copy(c, 0, 0, shift, 0, 0, 0, words, 1);
    tsr_run_ok(t, RENDER, c);
    for (uint32_t i = 0; i < words; i += 64) {
        uint64_t at = (i + shift) * 4ULL;

        if (at < 2 * MIB) {
            g_assert_cmphex(vram_word(t, at), ==, model[i]);
        } else {
            at -= 2 * MIB;
            g_assert_cmphex(qtest_readl(t->qts, ram + (15 - at / PAGE) * 2 *
                                        PAGE + at % PAGE), ==, model[i]);
        }
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/mmu/registers", test_registers);
    qtest_add_func("/tessera/mmu/off", test_off);
    qtest_add_func("/tessera/mmu/scattered", test_scattered);
    qtest_add_func("/tessera/mmu/leaves", test_leaves);
    qtest_add_func("/tessera/mmu/spaces", test_spaces);
    qtest_add_func("/tessera/mmu/null", test_null);
    qtest_add_func("/tessera/mmu/faults", test_faults);
    qtest_add_func("/tessera/mmu/bad-entries", test_bad_entries);
    qtest_add_func("/tessera/mmu/not-coherent", test_not_coherent);
    qtest_add_func("/tessera/mmu/neighbours", test_neighbours);
    qtest_add_func("/tessera/mmu/referee", test_referee);
    qtest_add_func("/tessera/mmu/virtual-slot", test_virtual_slot_is_not_stale);
    qtest_add_func("/tessera/mmu/tlb", test_tlb);
    qtest_add_func("/tessera/mmu/stale", test_stale);
    qtest_add_func("/tessera/mmu/reset", test_reset);
    qtest_add_func("/tessera/mmu/write-ptes", test_write_ptes);
    qtest_add_func("/tessera/mmu/write-ptes-ram", test_write_ptes_ram);
    qtest_add_func("/tessera/mmu/packets", test_packets);
    qtest_add_func("/tessera/mmu/virtual-ib", test_virtual_ib);
    qtest_add_func("/tessera/mmu/scope", test_scope);
    qtest_add_func("/tessera/mmu/scene", test_scene);
    qtest_add_func("/tessera/mmu/overlap", test_overlap);
    return g_test_run();
}
