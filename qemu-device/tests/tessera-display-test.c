/*
 * QTest: display outputs, timing and commits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-head.h"

#define SMALL "vram-size=4M,vram-hidden-size=4M,gart-size=4M"

/*
 * The number of heads is that of the property. Registers of other heads, and
 * invalid accesses, are errors.
 */
static void test_identity(void)
{
    TsrTest *t = tsr_start("outputs=3");
    uint32_t i;

    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_DISPLAY, !=, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_CRTCS), ==, 3);
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(tsr_r32(t, TSR_CRTC(i) + TSR_CRTC_MAX_ACTIVE), ==,
                        4096 | 2160 << 16);
        g_assert_cmphex(tsr_r32(t, TSR_CRTC(i) + TSR_CRTC_CONTROL), ==, 0);
    }
    tsr_expect_no_errors(t);
    tsr_r32(t, TSR_CRTC(3) + TSR_CRTC_CONTROL);
    tsr_w32(t, TSR_CRTC(3) + TSR_CRTC_CONTROL, 1);
    tsr_r32(t, TSR_CRTC(0) + 0x1c0);
    tsr_r32(t, TSR_CRTC(0) + TSR_PLANE(0) + 0x30);
    tsr_w32(t, TSR_CRTC(0) + TSR_CRTC_LINE, 0);
    tsr_r32(t, TSR_CRTC(0) + TSR_CRTC_COMMIT);
    tsr_w32(t, TSR_DISPLAY_INT, 0);
    tsr_w32(t, TSR_CRTC(0) + TSR_CRTC_CONTROL, 2);
    tsr_w32(t, TSR_CRTC(0) + TSR_CRTC_COMMIT, 3);
    tsr_w32(t, TSR_CRTC(0) + TSR_CRTC_CRC_CONTROL, 2);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 10);
    tsr_stop(t);

    t = tsr_start("outputs=0");
    g_assert_cmphex(tsr_r32(t, TSR_ID_CAPS) & TSR_CAP_DISPLAY, ==, 0);
    g_assert_cmpuint(tsr_r32(t, TSR_ID_NUM_CRTCS), ==, 0);
    tsr_expect_no_errors(t);
    tsr_r32(t, TSR_CRTC(0) + TSR_CRTC_CONTROL);
    tsr_r32(t, TSR_DISPLAY_INT);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 2);
    tsr_stop(t);
}

/* ---- Outputs ------------------------------------------------------------- */

static uint32_t read_edid(TsrHead *h, uint8_t *edid)
{
    uint32_t bytes = tsr_head_r32(h, TSR_CRTC_EDID_SIZE), i, block, sum;

    tsr_head_w32(h, TSR_CRTC_EDID_INDEX, 0);
    for (i = 0; i < bytes; i += 4) {
        g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_EDID_INDEX), ==, i);
        stl_le_p(edid + i, tsr_head_r32(h, TSR_CRTC_EDID_DATA));
    }
    for (block = 0; block < bytes; block += 128) {
        for (i = 0, sum = 0; i < 128; i++) {
            sum += edid[block + i];
        }
        g_assert_cmphex(sum & 0xff, ==, 0);
    }
    return bytes;
}

static void check_preferred(const uint8_t *edid, uint32_t width,
                            uint32_t height, uint32_t mhz)
{
    const uint8_t *d = edid + 54;
    uint32_t w = d[2] | (d[4] & 0xf0) << 4, wb = d[3] | (d[4] & 0xf) << 8;
    uint32_t h = d[5] | (d[7] & 0xf0) << 4, hb = d[6] | (d[7] & 0xf) << 8;
    uint64_t rate = lduw_le_p(d) * 10000000ULL / ((w + wb) * (h + hb));

    g_assert_cmphex(ldq_le_p(edid), ==, 0x00ffffffffffff00ULL);
    g_assert_cmpuint(w, ==, width);
    g_assert_cmpuint(h, ==, height);
    g_assert_cmpuint(rate, >=, mhz - mhz / 100);
    g_assert_cmpuint(rate, <=, mhz + mhz / 100);
}

static void set_connected(TsrTest *t, const char *name, bool on)
{
    QDict *args = qdict_new();

    qdict_put_str(args, "path", "/machine/peripheral/gpu");
    qdict_put_str(args, "property", name);
    qdict_put_bool(args, "value", on);
    qtest_qmp_assert_success(t->qts, "{'execute': 'qom-set', "
                             "'arguments': %p}", args);
}

/*
 * The EDID describes the monitor, and a hotplug interrupt reports each change
 * of the connection.
 */
static void test_output(void)
{
    TsrTest *t = tsr_start("outputs=2,xres=1024,yres=600,refresh_rate=75000,"
                           "connected1=off");
    TsrHead h = { .t = t, .regs = TSR_CRTC(0) };
    TsrHead h1 = { .t = t, .regs = TSR_CRTC(1) };
    uint64_t msix = tsr_msix_enable(t);
    uint8_t edid[TSR_EDID_MAX_BYTES];

    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_OUTPUT), ==,
                    TSR_OUTPUT_CONNECTED);
    g_assert_cmpuint(read_edid(&h, edid), ==, 256);
    check_preferred(edid, 1024, 600, 75000);
    g_assert_cmphex(tsr_head_r32(&h1, TSR_CRTC_OUTPUT), ==, 0);
    g_assert_cmpuint(read_edid(&h1, edid), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h1, TSR_CRTC_EDID_DATA), ==, 0);

    tsr_head_w32(&h1, TSR_CRTC_INT_MASK, TSR_CRTC_INT_HOTPLUG);
    set_connected(t, "connected1", true);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    g_assert_cmphex(tsr_r32(t, TSR_DISPLAY_INT), ==, 1 << 1);
    g_assert_cmphex(tsr_head_r32(&h1, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_HOTPLUG);
    tsr_head_w32(&h1, TSR_CRTC_INT_STATUS, TSR_CRTC_INT_HOTPLUG);
    g_assert_cmphex(tsr_r32(t, TSR_DISPLAY_INT), ==, 0);
    g_assert_cmpuint(read_edid(&h1, edid), ==, 256);
    check_preferred(edid, 1024, 600, 75000);
    /*
     * Setting the same state again is no event. Head 0 has its interrupt
     * masked.
     */
    set_connected(t, "connected1", true);
    set_connected(t, "connected0", false);
    g_assert_cmphex(tsr_r32(t, TSR_DISPLAY_INT), ==, 0);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_DISPLAY));
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_HOTPLUG);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_HOTPLUG);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    /* A reset leaves the output disconnected. */
    tsr_device_reset(t);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_OUTPUT), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h1, TSR_CRTC_OUTPUT), ==,
                    TSR_OUTPUT_CONNECTED);
    tsr_expect_no_errors(t);
    tsr_stop(t);

    /* A mode too large for a detailed timing is described in a third block. */
    t = tsr_start("xres=4096,yres=2160");
    h.t = t;
    g_assert_cmpuint(read_edid(&h, edid), ==, 384);
    g_assert_cmphex(edid[256], ==, 0x70);
    g_assert_cmpuint(lduw_le_p(edid + 256 + 12) + 1, ==, 4096);
    g_assert_cmphex(edid[24] & 1, ==, 0);
    tsr_stop(t);

    t = tsr_start("variable-refresh=on");
    h.t = t;
    read_edid(&h, edid);
    g_assert_cmphex(edid[24] & 1, ==, 1);
    tsr_stop(t);
}

/* ---- Time ---------------------------------------------------------------- */

/* An invalid mode is an error and leaves the head disabled. */
static void test_modes(void)
{
    static const uint32_t bad[][3] = {
        { 0, 0, 0 },
        { 64 | 40 << 16, 100 | 50 << 16, 0 },
        { 64 | 40 << 16, 64 | 50 << 16, 300 },
        { 64 | 40 << 16, 100 | 40 << 16, 300 },
        { 64 | 0 << 16, 100 | 50 << 16, 300 },
        { 0 | 40 << 16, 100 | 50 << 16, 300 },
        { 4097 | 40 << 16, 5000 | 50 << 16, 30000 },
        { 64 | 2161u << 16, 100 | 3000u << 16, 30000 },
        { 64 | 40 << 16, 100 | 50 << 16, 5001 },    /* above 1 kHz */
        { 64 | 40 << 16, 100 | 50 << 16, 4 },       /* below 1 Hz */
        { 4096 | 2160 << 16, 5000 | 2500u << 16, 2000001 },
        { 64 | 40 << 16, 0xffffffff, 0xffffffff },
    };
    TsrTest *t = tsr_start("");
    TsrHead h = { .t = t, .regs = TSR_CRTC(0) };

    for (int i = 0; i < ARRAY_SIZE(bad); i++) {
        for (int j = 0; j < 3; j++) {
            tsr_head_w32(&h, TSR_CRTC_ACTIVE + 4 * j, bad[i][j]);
        }
        tsr_head_w32(&h, TSR_CRTC_CONTROL, TSR_CRTC_ENABLE);
        g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_CONTROL), ==, 0);
        g_assert_cmphex(tsr_r32(t, TSR_ERR_REC_ENGINE), ==, TSR_ERR_CRTC(0));
        tsr_expect_errors(t, TSR_ERR_MODE, 1);
    }
    tsr_head_on(&h, t, 0, 4096, 2160);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_ACTIVE), ==, 4096 | 2160 << 16);
    /* The mode registers are read-only while the head is enabled. */
    tsr_head_w32(&h, TSR_CRTC_ACTIVE, 1 | 1 << 16);
    tsr_head_w32(&h, TSR_CRTC_TOTAL, 2 | 2 << 16);
    tsr_head_w32(&h, TSR_CRTC_CLOCK, 1);
    tsr_expect_errors(t, TSR_ERR_REGISTER, 3);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_ACTIVE), ==, 4096 | 2160 << 16);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_TOTAL), ==,
                    4132 | 2170 << 16);
    tsr_stop(t);
}

/*
 * Vblanks come at the times that the mode defines, however late the registers
 * are read.
 */
static void test_vblank(void)
{
    TsrTest *t = tsr_start("");
    uint64_t msix = tsr_msix_enable(t), start, count;
    TsrHead h;

    qtest_clock_step(t->qts, 12345678);
    tsr_head_on(&h, t, 0, 64, 40);
    start = tsr_r64(t, TSR_ID_TIMESTAMP_LO);
    g_assert_cmpuint(h.frame_ns, ==, 10000000);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 40);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS), ==, TSR_CRTCS_VBLANK);
    qtest_clock_step(t->qts, 2000000);      /* blanking is 10 of 50 lines */
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS), ==, 0);
    qtest_clock_step(t->qts, 7999999);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 39);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==, 0);
    qtest_clock_step(t->qts, 1);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 40);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 1);
    g_assert_cmpuint(tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO), ==,
                     start + h.frame_ns);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_VBLANK);
    /* The vblank interrupt is masked. */
    qtest_clock_step(t->qts, 17 * h.frame_ns + 1234567);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_DISPLAY));
    /* Reading the count latches the time of this vblank. */
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 18);
    qtest_clock_step(t->qts, h.frame_ns);
    g_assert_cmpuint(tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO), ==,
                     start + 18 * h.frame_ns);

    tsr_head_w32(&h, TSR_CRTC_INT_STATUS, TSR_CRTC_INT_VBLANK);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_VBLANK);
    count = tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT);
    for (int i = 1; i <= 3; i++) {
        qtest_clock_step(t->qts, h.frame_ns);
        tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
        tsr_head_w32(&h, TSR_CRTC_INT_STATUS, TSR_CRTC_INT_VBLANK);
        g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==,
                         count + i);
    }
    /* A disabled head has no vblanks, and keeps its count. */
    tsr_head_w32(&h, TSR_CRTC_CONTROL, 0);
    qtest_clock_step(t->qts, 5 * h.frame_ns);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, count + 3);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS), ==, 0);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_DISPLAY));
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * With variable refresh a frame is extended until a commit, at most to
 * VRR_TOTAL.
 */
static void test_vrr(void)
{
    TsrTest *t = tsr_start(SMALL);
    uint64_t last, now;
    TsrHead h;

    tsr_head_on(&h, t, 0, 64, 40);          /* 50 lines, 10 ms */
    tsr_head_w32(&h, TSR_CRTC_VRR_TOTAL, 150);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    /* Without a commit the frame takes 30 ms. */
    qtest_clock_step(t->qts, 29999999);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LINE), ==, 40);
    qtest_clock_step(t->qts, 1);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 1);
    last = tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO);
    /* A commit in time for the shortest frame takes effect after 10 ms. */
    qtest_clock_step(t->qts, 4000000);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_ARMED, !=,
                    0);
    qtest_clock_step(t->qts, 7000000);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 2);
    now = tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO);
    g_assert_cmpuint(now, ==, last + 10000000);
    /* A commit while the frame is extended takes effect at once. */
    qtest_clock_step(t->qts, 16000000);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_ARMED, ==,
                    0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 3);
    g_assert_cmpuint(tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO), ==,
                     now + 17000000);
    g_assert_cmpuint(tsr_head_r64(&h, TSR_CRTC_VBLANK_NS_LO), ==,
                     tsr_r64(t, TSR_ID_TIMESTAMP_LO));
    /* The next commit turns variable refresh off. */
    tsr_head_w32(&h, TSR_CRTC_VRR_TOTAL, 0);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    qtest_clock_step(t->qts, 10 * h.frame_ns);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 13);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Commits ------------------------------------------------------------- */

static void check_latch(TsrHead *h, uint32_t latched, uint32_t count,
                        uint64_t ns)
{
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_LATCHED), ==, latched);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_LATCH_COUNT), ==, count);
    g_assert_cmpuint(tsr_head_r64(h, TSR_CRTC_LATCH_NS_LO), ==, ns);
}

/*
 * A commit is latched at the vblank, or at once, and its interrupt is raised
 * as the manual says.
 */
static void test_commit(void)
{
    TsrTest *t = tsr_start(SMALL);
    uint64_t msix = tsr_msix_enable(t), start;
    TsrHead h = { .t = t, .regs = TSR_CRTC(0) };

    qtest_clock_step(t->qts, 777);
    /* A commit to a disabled head is latched at once. */
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    check_latch(&h, 1, 0, tsr_r64(t, TSR_ID_TIMESTAMP_LO));
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_LATCH);
    tsr_head_w32(&h, TSR_CRTC_INT_STATUS, ~0u);
    tsr_head_on(&h, t, 0, 64, 40);
    start = tsr_r64(t, TSR_ID_TIMESTAMP_LO);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_LATCH);

    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS), ==,
                    TSR_CRTCS_ARMED | TSR_CRTCS_VBLANK);
    qtest_clock_step(t->qts, h.frame_ns - 1);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 1);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_DISPLAY));
    /* A second commit replaces the one that is armed. */
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    qtest_clock_step(t->qts, 1);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    check_latch(&h, 3, 1, start + h.frame_ns);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_LATCH | TSR_CRTC_INT_VBLANK);
    tsr_head_w32(&h, TSR_CRTC_INT_STATUS, ~0u);

    /* An asynchronous commit is latched at once, in the middle of a frame. */
    qtest_clock_step(t->qts, h.frame_ns / 2);
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    check_latch(&h, 5, 1, start + h.frame_ns + h.frame_ns / 2);
    tsr_head_w32(&h, TSR_CRTC_INT_STATUS, ~0u);
    tsr_head_frame(&h);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_VBLANK);
    /*
     * An asynchronous commit raises no LATCH interrupt if no commit is armed.
     */
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    check_latch(&h, 6, 2, tsr_r64(t, TSR_ID_TIMESTAMP_LO));
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_VBLANK);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_DISPLAY));

    /* Disabling the head latches the armed commit, as no vblank will come. */
    tsr_head_commit(&h, TSR_COMMIT_VBLANK);
    tsr_head_w32(&h, TSR_CRTC_CONTROL, 0);
    tsr_msix_wait(t, msix, TSR_VECTOR_DISPLAY);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_LATCHED), ==, 7);
    tsr_expect_no_errors(t);
    tsr_device_reset(t);
    check_latch(&h, 0, 0, 0);
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT), ==, 0);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_INT_MASK), ==, 0);
    tsr_stop(t);
}

static void refuse_as(TsrHead *h, uint32_t how, uint32_t plane, uint32_t err)
{
    uint32_t committed = tsr_head_r32(h, TSR_CRTC_COMMITTED);

    tsr_plane_write(h, plane);
    tsr_err_clear(h->t);
    tsr_head_w32(h, TSR_CRTC_COMMIT, how);
    g_assert_cmphex(tsr_head_r32(h, TSR_CRTC_STATUS) & TSR_CRTCS_REFUSED, !=,
                    0);
    g_assert_cmpuint(tsr_head_r32(h, TSR_CRTC_COMMITTED), ==, committed);
    g_assert_cmphex(tsr_r32(h->t, TSR_ERR_REC_ENGINE), ==, TSR_ERR_CRTC(0));
    g_assert_cmpuint(tsr_r32(h->t, TSR_ERR_REC_SLOT), ==, plane);
    tsr_expect_errors(h->t, err, 1);
}

static void refuse(TsrHead *h, uint32_t plane, uint32_t err)
{
    refuse_as(h, TSR_COMMIT_ASYNC, plane, err);
    refuse_as(h, TSR_COMMIT_PLANE(plane), plane, err);
}

#define REFUSE(change, err) do {                \
    TsrPlane saved = h.plane[1], *p = &h.plane[1]; \
    change;                                     \
    refuse(&h, 1, TSR_ERR_##err);               \
    *p = saved;                                 \
} while (0)

/* A commit with one invalid plane register fails as a whole. */
static void test_refused(void)
{
    TsrTest *t = tsr_start(SMALL);
    uint64_t vram = tsr_seg_base(t, 1), hidden = tsr_seg_base(t, 2);
    TsrHead h;

    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, TSR_LAYOUT_LINEAR, vram);
    tsr_head_full_plane(&h, 1, TSR_FORMAT_ARGB8888, TSR_LAYOUT_TILE4K,
                        hidden);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    REFUSE(p->format = 0, SURFACE);
    REFUSE(p->format = TSR_FORMAT_R8, SURFACE);
    REFUSE(p->format = TSR_FORMAT_R32, SURFACE);
    REFUSE(p->format = 7, SURFACE);
    REFUSE(p->layout = TSR_LAYOUT_COUNT, SURFACE);
    REFUSE(p->blend = TSR_PLANE_BLEND_COUNT, SURFACE);
    REFUSE(p->pitch = 0, SURFACE);
    REFUSE(p->pitch = 128, SURFACE);        /* shorter than a row */
    REFUSE(p->pitch += 64, SURFACE);        /* no whole tiles */
    REFUSE(p->pitch = TSR_SURF_MAX_PITCH + 128, SURFACE);
    REFUSE(p->addr += 2048, SURFACE);
    REFUSE((p->layout = TSR_LAYOUT_LINEAR, p->addr += 2), SURFACE);
    REFUSE((p->layout = TSR_LAYOUT_LINEAR, p->pitch += 2), SURFACE);
    REFUSE(p->width = 0, SURFACE);
    REFUSE(p->height = 0, SURFACE);
    REFUSE(p->height = TSR_SURF_MAX_DIM + 1, SURFACE);
    REFUSE(p->src[0] = 1, SURFACE);
    REFUSE(p->src[1] = 0xffffffff, SURFACE);
    REFUSE(p->src[2] = 0, SURFACE);
    REFUSE(p->src[3] = 0, SURFACE);
    REFUSE(p->src[3] = (40 << 16) + 1, SURFACE);
    REFUSE(p->dst_w = 0, SURFACE);
    REFUSE(p->dst_h = 0, SURFACE);
    REFUSE(p->dst_w = TSR_SURF_MAX_DIM + 1, SURFACE);
    REFUSE(p->addr = 0, ADDRESS);
    REFUSE(p->addr = vram + (4 << 20) - 4096, ADDRESS); /* two rows of tiles */
    REFUSE(p->addr = -4096ULL, ADDRESS);
    REFUSE(p->addr = tsr_seg_base(t, 4), SEGMENT);
    REFUSE(p->addr = tsr_hidden_base(t), SEGMENT);
    /* With good values the same plane can be committed again. */
    tsr_plane_write(&h, 1);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    g_assert_cmphex(tsr_head_r32(&h, TSR_CRTC_STATUS) & TSR_CRTCS_REFUSED, ==,
                    0);
    /* The surface ends at the last byte of the segment. */
    h.plane[1].addr = vram + (4 << 20) - tsr_plane_bytes(&h.plane[1]);
    tsr_plane_write(&h, 1);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_expect_no_errors(t);
    g_free(h.plane[0].texels);
    g_free(h.plane[1].texels);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/display/identity", test_identity);
    qtest_add_func("/tessera/display/output", test_output);
    qtest_add_func("/tessera/display/modes", test_modes);
    qtest_add_func("/tessera/display/vblank", test_vblank);
    qtest_add_func("/tessera/display/vrr", test_vrr);
    qtest_add_func("/tessera/display/commit", test_commit);
    qtest_add_func("/tessera/display/refused", test_refused);
    return g_test_run();
}
