/*
 * QTest: loading a machine state that cannot be trusted
 *
 * A snapshot that was modified on disk is refused, and leaves nothing behind
 * when the machine continues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "tessera-head.h"
#include "tessera-migrate.h"

#define PROPS "vram-size=4M,vram-hidden-size=0,agp-ro-size=1M,gart-size=4M," \
              "firmware-size=1M,strict=on"
#define RW (TSR_SURF_READ | TSR_SURF_WRITE)
#define BAD_WIDTH 0x7fffffff    /* the device has no buffer for such a row */

static void wait_job(TsrTest *t, const char *job)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    bool concluded = false;

    while (!concluded) {
        QDict *rsp = qtest_qmp(t->qts, "{'execute': 'query-jobs'}");
        QList *jobs = qdict_get_qlist(rsp, "return");
        QDict *info = qobject_to(QDict, qlist_peek(jobs));

        concluded = !strcmp(qdict_get_str(info, "status"), "concluded");
        g_assert_null(qdict_get_try_str(info, "error"));
        qobject_unref(rsp);
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
    }
    qtest_qmp_assert_success(t->qts, "{'execute': 'job-dismiss', "
                             "'arguments': {'id': %s}}", job);
}

/* Add a qcow2 disk, so that the machine can take snapshots. */
static char *add_disk(TsrTest *t)
{
    char *path = g_strdup_printf("%s/tessera-load-%d", g_get_tmp_dir(),
                                 getpid());

    qtest_qmp_assert_success(t->qts, "{'execute': 'blockdev-create', "
                             "'arguments': {'job-id': 'file', 'options': "
                             "{'driver': 'file', 'filename': %s, "
                             "'size': 0}}}", path);
    wait_job(t, "file");
    qtest_qmp_assert_success(t->qts, "{'execute': 'blockdev-add', "
                             "'arguments': {'driver': 'file', "
                             "'node-name': 'file', 'filename': %s}}", path);
    qtest_qmp_assert_success(t->qts, "{'execute': 'blockdev-create', "
                             "'arguments': {'job-id': 'qcow2', 'options': "
                             "{'driver': 'qcow2', 'file': 'file', "
                             "'size': 1048576}}}");
    wait_job(t, "qcow2");
    qtest_qmp_assert_success(t->qts, "{'execute': 'blockdev-add', "
                             "'arguments': {'driver': 'qcow2', "
                             "'node-name': 'disk', 'file': 'file'}}");
    return path;
}

/* Set the width of the slot with @base to @width in the file at @path. */
static void spoil(const char *path, uint64_t base, uint32_t width)
{
    g_autofree char *data = NULL;
    unsigned int found = 0;
    uint8_t mark[16];
    gsize bytes;
    int fd;

    stq_be_p(mark, base);
    stq_be_p(mark + 8, 4096);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    fd = open(path, O_WRONLY);
    g_assert_cmpint(fd, >=, 0);
    for (gsize i = 0; i + 32 <= bytes; i++) {
        if (!memcmp(data + i, mark, sizeof(mark))) {
            uint32_t be = cpu_to_be32(width);

            g_assert_cmpint(pwrite(fd, &be, 4, i + 24), ==, 4);
            found++;
        }
    }
    close(fd);
    g_assert_cmpuint(found, ==, 1);
}

static void save_snapshot(TsrTest *t)
{
    g_autofree char *said = qtest_hmp(t->qts, "savevm one");

    g_assert_cmpstr(said, ==, "");
}

static void expect_refused(TsrTest *t)
{
    g_autofree char *said = qtest_hmp(t->qts, "loadvm one");

    g_assert_nonnull(strstr(said, "Error"));
}

/* Bind a slot of the render engine that spoil() finds. */
static void bind_slot(TsrTest *t, uint32_t slot, uint64_t base)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = {
        .base = base, .limit = 4096, .format = TSR_FORMAT_ARGB8888,
        .access = RW, .pitch = 64, .width = 16, .height = 1,
    };

    tsr_bind(c, slot, &s);
    tsr_run_ok(t, RENDER, c);
}

/*
 * A snapshot with an invalid slot is refused. The device must be as after a
 * reset, and keep nothing of the state before.
 */
static void test_refused_is_cleared(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    g_autofree char *path = NULL, *said = NULL;
    TsrTest *t = tsr_start(PROPS);
    uint64_t vram = tsr_seg_base(t, 1), base = vram + 0x123000, pte;
    uint64_t gart = tsr_seg_base(t, 4);

    path = add_disk(t);
    pte = t->bounce | TSR_APTE_VALID | TSR_APTE_WRITE;
    tsr_page_fill(c, 1, vram, 4096);
    tsr_map(c, 4, 0, 1, tsr_list(t, &pte, 1));
    tsr_run_ok(t, PAGING, c);
    bind_slot(t, 5, base);
    tsr_w32(t, TSR_CTRL_SCRATCH, 0xfeed);
    save_snapshot(t);
    said = qtest_hmp(t->qts, "loadvm one");
    g_assert_cmpstr(said, ==, "");
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SELECT, 5);
    g_assert_cmphex(tsr_r64(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_BASE_LO), ==,
                    base);

    spoil(path, base, BAD_WIDTH);
    expect_refused(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    g_assert_cmphex(tsr_r32(t, TSR_CTRL_SCRATCH), ==, 0);
    for (uint32_t e = RENDER; e <= PAGING; e++) {
        g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_CONTROL), ==, 0);
        g_assert_cmphex(tsr_r32(t, TSR_ENG(e) + TSR_ENG_STATUS), ==,
                        TSR_ENGS_IDLE);
        g_assert_cmphex(tsr_r64(t, TSR_ENG(e) + TSR_ENG_RING_LO), ==, 0);
    }
    tsr_w32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SELECT, 5);
    g_assert_cmphex(tsr_r32(t, TSR_ENG(RENDER) + TSR_ENG_SLOT_SURFACE), ==, 0);
    tsr_err_clear(t);

    /* The device works as after a reset. */
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    c->n = 0;
    tsr_transfer(c, 0, 0, vram, gart, 8, 0, 0, 0);
    tsr_run_err(t, PAGING, c, TSR_ERR_STRICT_UNWRITTEN);
    c->n = 0;
    tsr_page_fill(c, 1, vram, 4096);
    tsr_transfer(c, 0, 0, gart, vram, 8, 0, 0, 0);
    /* The page is unmapped, and no dummy page is set. */
    g_assert_cmpuint(tsr_run(t, PAGING, false, c, NULL), ==, TSR_ERR_DMA);
    tsr_stop(t);
    g_unlink(path);
}

/*
 * The clock is that of a snapshot that was refused. Pictures must not wait for a
 * time that was set by the clock before.
 */
static void test_refused_budget(void)
{
    g_autofree char *path = NULL;
    TsrTest *t = tsr_start(PROPS);
    uint64_t base = tsr_seg_base(t, 1) + 0x123000;
    TsrHead h;

    path = add_disk(t);
    bind_slot(t, 5, base);
    save_snapshot(t);
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_qom_set(t, "x-picture-us", 3600 * 1000000LL);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    for (int n = 0; n < 3; n++) {
        tsr_head_frame(&h);
    }
    g_assert_cmpuint(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT), ==, 1);
    tsr_qom_set(t, "x-picture-us", 0);

    spoil(path, base, BAD_WIDTH);
    expect_refused(t);
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    tsr_head_frame(&h);
    tsr_rule(tsr_head_r32(&h, TSR_CRTC_CRC_COUNT) == 1,
             "after a refused load a CRC waits for time of the machine before");
    tsr_stop(t);
    g_unlink(path);
}

/* The state of the first head, behind the number of heads: see vmstate_head. */
#define HEAD_CLOCK      17

/*
 * A stream breaks off inside the state of the device, behind a field that would
 * have been refused. The registers must not use this state.
 */
static void test_broken_off(void)
{
    static const char name[] = "tessera/heads";
    g_autofree char *path = tsr_state_file(), *data = NULL, *status = NULL;
    TsrTest *t = tsr_start(PROPS), *to;
    gsize bytes;
    TsrHead h;
    char *at;

    tsr_head_on(&h, t, 0, 64, 40);
    tsr_save(t, path);
    g_assert_true(g_file_get_contents(path, &data, &bytes, NULL));
    at = memmem(data, bytes, name, strlen(name));
    g_assert_nonnull(at);
    at += strlen(name) + 8 + HEAD_CLOCK;    /* behind version and number */
    g_assert_cmpuint(ldl_be_p(at), ==, tsr_head_r32(&h, TSR_CRTC_CLOCK));
    stl_be_p(at, 0);
    g_assert_true(g_file_set_contents(path, data, at + 4 - data, NULL));
    to = tsr_load(t, PROPS, path, &status);
    g_assert_cmpstr(status, ==, "failed");
    tsr_rule(tsr_r32(to, h.regs + TSR_CRTC_LINE) == UINT32_MAX,
             "a register can be read that is from a state that broke off");
    tsr_w32(to, TSR_CTRL_SCRATCH, 1);
    unlink(path);
    tsr_stop(to);
    tsr_stop(t);
}

/*
 * An interrupt that becomes pending while the machine is stopped is raised
 * when it continues, also after it was loaded.
 */
static void test_interrupt_waits(void)
{
    g_autofree char *path = NULL, *said = NULL;
    TsrTest *t = tsr_start(PROPS);
    uint64_t msix = tsr_msix_enable(t);

    path = add_disk(t);
    tsr_w32(t, TSR_INT_MASK, TSR_INT_PING);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    tsr_w32(t, TSR_CTRL_PING, 1);
    save_snapshot(t);
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);

    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    said = qtest_hmp(t->qts, "loadvm one");
    g_assert_cmpstr(said, ==, "");
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_stop(t);
    g_unlink(path);
}

/*
 * While the guest is in S3 the device still raises interrupts and poisons
 * memory. While the machine is stopped it does neither.
 */
static void test_guest_sleeps(void)
{
    TsrTest *t = tsr_start(PROPS);
    uint64_t msix = tsr_msix_enable(t), vram = tsr_seg_base(t, 1);
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    tsr_w32(t, TSR_INT_MASK, TSR_INT_PING);
    tsr_sleep(t);
    tsr_w32(t, TSR_CTRL_PING, 1);
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_w64(t, TSR_MARK_ADDR_LO, vram);
    tsr_w64(t, TSR_MARK_SIZE_LO, 4 << 20);
    tsr_w32(t, TSR_MARK_COMMAND, TSR_MARK_FREE);
    while (qpci_io_readl(t->dev, t->vram, (4 << 20) - 4) != TSR_POISON) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
    }

    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    tsr_w32(t, TSR_INT_STATUS, TSR_INT_PING);
    tsr_w32(t, TSR_CTRL_PING, 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'query-status'}");
    g_assert_false(tsr_msix_seen(t, msix, TSR_VECTOR_ERROR));
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    tsr_msix_wait(t, msix, TSR_VECTOR_ERROR);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/load/guest-sleeps", test_guest_sleeps);
    qtest_add_func("/tessera/load/refused-is-cleared",
                   test_refused_is_cleared);
    qtest_add_func("/tessera/load/refused-budget", test_refused_budget);
    qtest_add_func("/tessera/load/broken-off", test_broken_off);
    qtest_add_func("/tessera/load/interrupt-waits", test_interrupt_waits);
    return g_test_run();
}
