/*
 * QTest: QEMU consoles: dirty logging for viewers, time for pictures, and window
 * sizes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qobject/qdict.h"
#include "tessera-head.h"

#define SMALL "vram-size=4M,vram-hidden-size=4M,gart-size=4M"
#define EJECT "o /w 0xae08 0x10"    /* acknowledge the ejection of slot 4 */
#define UNWATCHED_NS (10 * 1000000000LL)

enum { LOG_VRAM = 1, LOG_APERTURE = 2 };

/* ---- Sockets ------------------------------------------------------------- */

static char *socket_path(const char *name)
{
    return g_strdup_printf("%s/tessera-%s-%d", g_get_tmp_dir(), name, getpid());
}

static int connect_to(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_assert_cmpint(g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path)), <,
                    sizeof(addr.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    return fd;
}

static void receive(int fd, void *buf, size_t bytes)
{
    g_assert_cmpint(recv(fd, buf, bytes, MSG_WAITALL), ==, bytes);
}

static void transmit(int fd, const void *buf, size_t bytes)
{
    g_assert_cmpint(send(fd, buf, bytes, MSG_NOSIGNAL), ==, bytes);
}

/* Wait until QEMU has read all that was sent to @fd. */
static void wait_taken(int fd)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    int left = 1;

    while (left) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_assert_cmpint(ioctl(fd, TIOCOUTQ, &left), ==, 0);
    }
}

/* ---- A VNC client -------------------------------------------------------- */

/* Connect with RFB 3.8 without a password, up to the first request. */
static int vnc_connect(const char *path)
{
    static const char version[] = "RFB 003.008\n";
    int fd = connect_to(path);
    uint8_t buf[256];

    receive(fd, buf, strlen(version));
    transmit(fd, version, strlen(version));
    receive(fd, buf, 1);
    receive(fd, buf + 1, buf[0]);           /* security types */
    transmit(fd, "\1", 1);                  /* none */
    receive(fd, buf, 4);
    g_assert_cmphex(ldl_be_p(buf), ==, 0);
    transmit(fd, "\1", 1);                  /* shared */
    receive(fd, buf, 24);
    g_assert_cmpuint(ldl_be_p(buf + 20), <=, sizeof(buf));
    receive(fd, buf, ldl_be_p(buf + 20));   /* the name of the desktop */
    return fd;
}

/* Send SetPixelFormat, and thus have QEMU update the console at once. */
static void vnc_look(int fd)
{
    uint8_t msg[20] = { [4] = 32, 24, 0, 1, [14] = 16, 8, 0 };

    for (uint32_t channel = 0; channel < 3; channel++) {
        stw_be_p(msg + 8 + 2 * channel, 255);
    }
    transmit(fd, msg, sizeof(msg));
    wait_taken(fd);
}

/* Send SetDesktopSize: the viewer's window has a new size. */
static void vnc_resize(int fd, uint16_t width, uint16_t height)
{
    uint8_t msg[8 + 16] = { 251 };

    stw_be_p(msg + 2, width);
    stw_be_p(msg + 4, height);
    msg[6] = 1;
    stw_be_p(msg + 16, width);
    stw_be_p(msg + 18, height);
    transmit(fd, msg, sizeof(msg));
}

/* ---- Dirty logs ---------------------------------------------------------- */

static void expect_log(TsrTest *t, int64_t log, const char *when)
{
    int64_t got = tsr_qom_get(t, "x-dirty-log");

    tsr_rule(got == log, "stores are logged for consoles (1 to VRAM, 2 through "
             "the host aperture) as %" PRId64 ", not as %" PRId64 ", %s", got,
             log, when);
}

static void screendump_qmp(TsrTest *t)
{
    g_free(tsr_screendump(t, 0, 64, 40));
}

/* The console must show what the model predicts. */
static void look(TsrHead *h)
{
    g_autofree uint32_t *want = tsr_head_model(h);
    g_autofree uint32_t *got = tsr_screendump(h->t, 0, h->width, h->height);

    g_assert_cmpmem(got, h->width * h->height * 4, want,
                    h->width * h->height * 4);
}

static void write_texel(TsrHead *h, QPCIBar bar, uint32_t texel, uint32_t value)
{
    qpci_io_writel(h->t->dev, bar, texel * 4, value);
    h->plane[0].texels[texel] = value;
}

/*
 * Stores are logged for as long as a viewer reads the console. A viewer that
 * comes later still sees the stores that were not logged.
 */
static void test_log(void)
{
    TsrTest *t = tsr_start(SMALL ",host-aperture-size=1M");
    QPCIBar window = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    uint64_t vram = tsr_seg_base(t, 1);
    TsrHead h;

    expect_log(t, 0, "before anybody looked");
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, 0, vram);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    tsr_w64(t, TSR_HA_ADDR_LO, vram);
    tsr_w32(t, TSR_HA_COUNT, 3);
    tsr_w32(t, TSR_HA_MAP, 0);
    expect_log(t, 0, "with a picture that nobody looks at");
    for (uint32_t round = 0; round < 3; round++) {
        look(&h);
        expect_log(t, LOG_VRAM | LOG_APERTURE, "while somebody looks");
        look(&h);
        look(&h);
        /* Each look restarts the time until logging stops. */
        qtest_clock_step(t->qts, UNWATCHED_NS / 2);
        look(&h);
        qtest_clock_step(t->qts, UNWATCHED_NS / 2);
        expect_log(t, LOG_VRAM | LOG_APERTURE, "after half the time");
        qtest_clock_step(t->qts, UNWATCHED_NS);
        expect_log(t, 0, "when nobody has looked for long");
        /* These stores are not logged; the next look must show them. */
        write_texel(&h, t->vram, 100 + round, 0x010203 + round);
        write_texel(&h, window, 200 + round, 0x040506 + round);
    }
    look(&h);
    g_free(h.plane[0].texels);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/*
 * The time until logging stops begins anew when the machine starts: a load may
 * have set the clock back, and the end would be far away.
 */
static void test_log_start(void)
{
    TsrTest *t = tsr_start(SMALL);
    TsrHead h;

    tsr_head_on(&h, t, 0, 64, 40);
    screendump_qmp(t);
    qtest_clock_step(t->qts, UNWATCHED_NS - 1);
    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    qtest_clock_step(t->qts, UNWATCHED_NS / 2 - 1);
    expect_log(t, LOG_VRAM | LOG_APERTURE, "before that time is over");
    qtest_clock_step(t->qts, 1);
    expect_log(t, 0, "when nobody has looked since the start");
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* Strict mode composes each picture anew, so it needs no log. */
static void test_log_strict(void)
{
    TsrTest *t = tsr_start(SMALL ",strict=on");
    TsrHead h;

    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, 0, tsr_seg_base(t, 1));
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    look(&h);
    expect_log(t, 0, "in strict mode");
    g_free(h.plane[0].texels);
    tsr_expect_no_errors(t);
    tsr_stop(t);
}

/* ---- Time for pictures --------------------------------------------------- */

#define PICTURE_NS  1000000000LL

/* Start a machine that a VNC viewer looks at. A picture takes a second. */
static TsrTest *start_with_viewer(const char *props, char **path, int *fd)
{
    g_autofree char *args = NULL;
    TsrTest *t;

    *path = socket_path("vnc");
    args = g_strdup_printf("-vnc unix:%s", *path);
    t = tsr_start_machine(props, args);
    tsr_set_up(t);
    tsr_qom_set(t, "x-picture-us", PICTURE_NS / 1000);
    *fd = vnc_connect(*path);
    return t;
}

static void stop_with_viewer(TsrTest *t, char *path, int fd)
{
    close(fd);
    tsr_stop(t);
    unlink(path);
    g_free(path);
}

static void expect_pictures(TsrTest *t, int fd, int64_t pictures,
                            const char *when)
{
    int64_t got;

    vnc_look(fd);
    got = tsr_qom_get(t, "x-pictures");
    tsr_rule(got == pictures, "%" PRId64 " pictures were drawn, not %" PRId64
             ", %s", got, pictures, when);
}

static void screendump_hmp(TsrTest *t)
{
    g_autofree char *file = tsr_screen_file();
    g_autofree char *said = qtest_hmp(t->qts, "screendump %s", file);

    g_assert_cmpstr(said, ==, "");
    g_assert_cmpint(unlink(file), ==, 0);
}

/*
 * A picture for a viewer waits until there is time for one. A reset of the
 * device gives no time. While the machine stands there is time.
 */
static void test_late(void)
{
    char *path;
    TsrHead h;
    int fd;
    TsrTest *t = start_with_viewer(SMALL, &path, &fd);

    tsr_head_on(&h, t, 0, 64, 40);
    expect_pictures(t, fd, 1, "when a viewer looks");
    qtest_clock_step(t->qts, PICTURE_NS - 1);
    expect_pictures(t, fd, 1, "before there is time for another one");
    qtest_clock_step(t->qts, 1);
    expect_pictures(t, fd, 2, "when there is time");

    tsr_device_reset(t);
    tsr_head_on(&h, t, 0, 64, 40);
    qtest_clock_step(t->qts, PICTURE_NS - 1);
    expect_pictures(t, fd, 2, "although a reset gives no time");
    qtest_clock_step(t->qts, 1);
    expect_pictures(t, fd, 3, "after a reset");

    qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
    expect_pictures(t, fd, 4, "while the machine stands");
    stop_with_viewer(t, path, fd);
}

/* A screendump takes its picture at once, and none of the viewers' time. */
static void test_late_dump(void)
{
    char *path;
    TsrHead h;
    int fd;
    TsrTest *t = start_with_viewer(SMALL ",strict=on", &path, &fd);

    tsr_head_on(&h, t, 0, 64, 40);
    expect_pictures(t, fd, 1, "when a viewer looks");
    screendump_qmp(t);
    expect_pictures(t, fd, 2, "after a screendump");
    screendump_hmp(t);
    expect_pictures(t, fd, 3, "after one of the human monitor");
    qtest_clock_step(t->qts, PICTURE_NS);
    expect_pictures(t, fd, 4, "when there is time for a viewer");
    stop_with_viewer(t, path, fd);
}

/* A machine that stands is not drawn anew each time, in strict mode neither. */
static void test_stopped(const void *props)
{
    char *path;
    TsrHead h;
    int64_t drawn;
    int fd;
    TsrTest *t = start_with_viewer(props, &path, &fd);

    tsr_head_on(&h, t, 0, 64, 40);
    vnc_look(fd);
    for (uint32_t round = 0; round < 2; round++) {
        drawn = tsr_qom_get(t, "x-pictures");
        tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, 0, tsr_seg_base(t, 1));
        tsr_head_commit(&h, TSR_COMMIT_ASYNC);
        qtest_qmp_assert_success(t->qts, "{'execute': 'stop'}");
        look(&h);
        vnc_look(fd);
        vnc_look(fd);
        tsr_rule(tsr_qom_get(t, "x-pictures") > drawn, "the last picture before "
                 "a stop was not drawn");
        drawn = tsr_qom_get(t, "x-pictures");
        expect_pictures(t, fd, drawn, "while the machine stands");
        expect_pictures(t, fd, drawn, "while the machine stands");
        qtest_qmp_assert_success(t->qts, "{'execute': 'cont'}");
    }
    g_free(h.plane[0].texels);
    stop_with_viewer(t, path, fd);
}

/* ---- Stores of a running vCPU -------------------------------------------- */

#define TO_WORD         0x8000  /* bus address of BAR 2; 0: idle */
#define FIRST_WORD      0x8004  /* kept in the word there */
#define SECOND_WORD     0x8008  /* kept in the word SECOND_AT behind it */
#define SECOND_AT       0x8000  /* in the same block of the dirty log */

/*
 * start:   cli
 *          lgdtl   %cs:gdtr - start
 *          movl    %cr0, %eax
 *          orb     $1, %al
 *          movl    %eax, %cr0
 *          ljmpl   $8, $(pm - start + 0xf0000)
 *          .code32
 * pm:      movw    $16, %ax
 *          movw    %ax, %ds
 * next:    movl    0x8000, %esi                # TO_WORD
 *          testl   %esi, %esi
 *          jz      next
 *          movl    0x8004, %eax                # FIRST_WORD
 *          cmpl    (%esi), %eax
 *          je      second
 *          movl    %eax, (%esi)
 * second:  movl    0x8008, %eax                # SECOND_WORD
 *          cmpl    0x8000(%esi), %eax          # SECOND_AT
 *          je      next
 *          movl    %eax, 0x8000(%esi)
 *          jmp     next
 * gdt:     .quad   0, 0x00cf9b000000ffff, 0x00cf93000000ffff
 * gdtr:    .word   23
 *          .long   gdt - start + 0xf0000
 */
static const uint8_t program[] = {
    0xfa, 0x2e, 0x66, 0x0f, 0x01, 0x16, 0x60, 0x00, 0x0f, 0x20, 0xc0, 0x0c,
    0x01, 0x0f, 0x22, 0xc0, 0x66, 0xea, 0x18, 0x00, 0x0f, 0x00, 0x08, 0x00,
    0x66, 0xb8, 0x10, 0x00, 0x8e, 0xd8, 0x8b, 0x35, 0x00, 0x80, 0x00, 0x00,
    0x85, 0xf6, 0x74, 0xf6, 0xa1, 0x04, 0x80, 0x00, 0x00, 0x3b, 0x06, 0x74,
    0x02, 0x89, 0x06, 0xa1, 0x08, 0x80, 0x00, 0x00, 0x3b, 0x86, 0x00, 0x80,
    0x00, 0x00, 0x74, 0xde, 0x89, 0x86, 0x00, 0x80, 0x00, 0x00, 0xeb, 0xd6,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x9b, 0xcf, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x93, 0xcf, 0x00,
    0x17, 0x00, 0x48, 0x00, 0x0f, 0x00,
};

/* Have the vCPU store a texel of a plane, and wait for it. */
static void vcpu_writes(TsrHead *h, uint32_t plane, uint32_t value)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    uint64_t at = plane ? SECOND_AT : 0;

    qtest_writel(h->t->qts, plane ? SECOND_WORD : FIRST_WORD, value);
    while (qpci_io_readl(h->t->dev, h->t->vram, at) != value) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
    }
    h->plane[plane].texels[0] = value;
}

/* Look until nothing is left to draw. */
static void look_until_drawn(TsrHead *h)
{
    int64_t drawn;

    do {
        drawn = tsr_qom_get(h->t, "x-pictures");
        look(h);
    } while (tsr_qom_get(h->t, "x-pictures") != drawn);
}

/*
 * Marks are taken for a block of pages at once. Stores to all pages of the block
 * are marked again after that, not only stores to the plane that was looked at.
 */
static void test_log_block(void)
{
    g_autofree char *firmware = tsr_write_firmware(program, sizeof(program));
    g_autofree char *args = tsr_firmware_args(firmware, "");
    TsrTest *t = tsr_start_machine(SMALL, args);
    TsrHead h;

    tsr_map_device(t);
    tsr_set_up_memory(t);
    tsr_run_firmware(t);
    tsr_engine_start(t, PAGING, TSR_TEST_RING_BYTES);
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_full_plane(&h, 0, TSR_FORMAT_XRGB8888, 0, tsr_seg_base(t, 1));
    tsr_head_full_plane(&h, 1, TSR_FORMAT_XRGB8888, 0,
                        tsr_seg_base(t, 1) + SECOND_AT);
    tsr_head_commit(&h, TSR_COMMIT_ASYNC);
    qtest_writel(t->qts, FIRST_WORD, h.plane[0].texels[0]);
    qtest_writel(t->qts, SECOND_WORD, h.plane[1].texels[0]);
    qtest_writel(t->qts, TO_WORD, t->vram.addr);
    look_until_drawn(&h);
    for (uint32_t round = 0; round < 3; round++) {
        vcpu_writes(&h, 0, 0x010203 + round);
        vcpu_writes(&h, 1, 0x040506 + round);
        look_until_drawn(&h);
        vcpu_writes(&h, 1, 0x070809 + round);
        look_until_drawn(&h);
    }
    for (uint32_t i = 0; i < 2; i++) {
        g_free(h.plane[i].texels);
    }
    tsr_expect_no_errors(t);
    tsr_stop(t);
    unlink(firmware);
}

/* ---- A vCPU that commits without end ------------------------------------- */

/*
 * The same start as above, and then:
 *
 * next:    movl    0x8000, %esi                # TO_WORD
 *          testl   %esi, %esi
 *          jz      next
 *          movl    0x8004, %eax                # FIRST_WORD
 *          movl    %eax, (%esi)
 *          jmp     next
 */
static const uint8_t committer[] = {
    0xfa, 0x2e, 0x66, 0x0f, 0x01, 0x16, 0x49, 0x00, 0x0f, 0x20, 0xc0, 0x0c,
    0x01, 0x0f, 0x22, 0xc0, 0x66, 0xea, 0x18, 0x00, 0x0f, 0x00, 0x08, 0x00,
    0x66, 0xb8, 0x10, 0x00, 0x8e, 0xd8, 0x8b, 0x35, 0x00, 0x80, 0x00, 0x00,
    0x85, 0xf6, 0x74, 0xf6, 0xa1, 0x04, 0x80, 0x00, 0x00, 0x89, 0x06, 0xeb,
    0xed, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00,
    0x00, 0x00, 0x9b, 0xcf, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x93, 0xcf,
    0x00, 0x17, 0x00, 0x31, 0x00, 0x0f, 0x00,
};

static void wait_more_pictures(TsrTest *t)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    int64_t drawn = tsr_qom_get(t, "x-pictures");

    while (tsr_qom_get(t, "x-pictures") == drawn) {
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(1000);
    }
}

/*
 * A guest that overdraws the time for pictures without end delays its viewers,
 * but neither freezes their console nor blocks a monitor.
 */
static void test_late_commits(void)
{
    g_autofree char *firmware = tsr_write_firmware(committer,
                                                   sizeof(committer));
    g_autofree char *path = socket_path("vnc");
    g_autofree char *more = g_strdup_printf("-vnc unix:%s", path);
    g_autofree char *args = tsr_firmware_args(firmware, more);
    TsrTest *t = tsr_start_machine(SMALL ",strict=on", args);
    TsrHead h;
    int fd;

    tsr_map_device(t);
    tsr_run_firmware(t);
    tsr_qom_set(t, "x-picture-us", PICTURE_NS / 10000);
    tsr_head_on(&h, t, 0, 64, 40);
    tsr_head_w32(&h, TSR_CRTC_CRC_CONTROL, TSR_CRC_ENABLE);
    qtest_writel(t->qts, FIRST_WORD, TSR_COMMIT_ASYNC);
    qtest_writel(t->qts, TO_WORD, t->regs.addr + h.regs + TSR_CRTC_COMMIT);
    /* A second is taken in advance before ten such pictures have their time. */
    while (tsr_head_r32(&h, TSR_CRTC_VBLANK_COUNT) < 20) {
        g_usleep(1000);
    }
    fd = vnc_connect(path);
    for (uint32_t i = 0; i < 3; i++) {
        wait_more_pictures(t);
    }
    screendump_qmp(t);
    screendump_hmp(t);
    tsr_expect_no_errors(t);
    close(fd);
    tsr_stop(t);
    unlink(path);
    unlink(firmware);
}

/* ---- Sizes of windows ---------------------------------------------------- */

static void preferred(TsrHead *h, uint32_t *width, uint32_t *height)
{
    uint8_t edid[128];
    uint8_t sum = 0;

    tsr_head_w32(h, TSR_CRTC_EDID_INDEX, 0);
    for (int i = 0; i < sizeof(edid); i += 4) {
        stl_le_p(edid + i, tsr_head_r32(h, TSR_CRTC_EDID_DATA));
    }
    for (int i = 0; i < sizeof(edid); i++) {
        sum += edid[i];
    }
    g_assert_cmphex(sum, ==, 0);
    *width = edid[56] | (edid[58] & 0xf0) << 4;
    *height = edid[59] | (edid[61] & 0xf0) << 4;
}

static void expect_preferred(TsrHead *h, uint32_t width, uint32_t height)
{
    uint32_t w, v;

    preferred(h, &w, &v);
    tsr_rule(w == width && v == height, "the monitor prefers %ux%u, not the "
             "window's %ux%u", w, v, width, height);
}

/*
 * Resize the window. The guest gets a hotplug interrupt, and the EDID prefers
 * a mode of @mode_width x @mode_height.
 */
static void expect_resize(TsrHead *h, int fd, uint64_t msix, uint32_t width,
                          uint32_t height, uint32_t mode_width,
                          uint32_t mode_height)
{
    vnc_resize(fd, width, height);
    tsr_msix_wait(h->t, msix, TSR_VECTOR_DISPLAY);
    g_assert_cmphex(tsr_head_r32(h, TSR_CRTC_INT_STATUS), ==,
                    TSR_CRTC_INT_HOTPLUG);
    tsr_head_w32(h, TSR_CRTC_INT_STATUS, TSR_CRTC_INT_HOTPLUG);
    expect_preferred(h, mode_width, mode_height);
}

/*
 * Start a machine where a VNC viewer can connect to head 1, but not to head 0.
 */
static TsrTest *start_viewed(const char *props, const char *path,
                             const char *more)
{
    g_autofree char *all = g_strdup_printf(SMALL ",outputs=2%s", props);
    g_autofree char *args = g_strdup_printf("-vnc unix:%s,display=gpu,head=1 %s",
                                            path, more);
    TsrTest *t = tsr_start_machine(all, args);

    tsr_map_device(t);
    tsr_set_up_memory(t);
    return t;
}

/* The guest learns the size of the viewer's window. */
static void test_resize(void)
{
    g_autofree char *path = socket_path("vnc");
    TsrTest *t = start_viewed(",xmax=2000", path, "");
    TsrHead h0 = { .t = t, .regs = TSR_CRTC(0) };
    TsrHead h = { .t = t, .regs = TSR_CRTC(1) };
    uint64_t msix = tsr_msix_enable(t);
    int fd = vnc_connect(path);

    expect_preferred(&h, 1280, 800);
    tsr_head_w32(&h, TSR_CRTC_INT_MASK, TSR_CRTC_INT_HOTPLUG);
    expect_resize(&h, fd, msix, 1023, 601, 1023, 601);
    /* The mode is at most the xmax property and at least 64x64. */
    expect_resize(&h, fd, msix, 3000, 900, 2000, 900);
    expect_resize(&h, fd, msix, 10, 20, 64, 64);
    /* A window of size 0 is hidden and changes nothing. */
    vnc_resize(fd, 0, 0);
    expect_resize(&h, fd, msix, 700, 500, 700, 500);
    /*
     * The other monitor keeps its size. The device keeps this one over a
     * reset.
     */
    expect_preferred(&h0, 1280, 800);
    g_assert_cmphex(tsr_head_r32(&h0, TSR_CRTC_INT_STATUS), ==, 0);
    tsr_device_reset(t);
    expect_preferred(&h, 700, 500);
    tsr_expect_no_errors(t);
    close(fd);
    tsr_stop(t);
    unlink(path);
}

/*
 * The device is ejected in the same iteration of the main loop in which the
 * viewer's new size arrives, just after it. QEMU is stopped while both
 * messages are sent. It polls the monitor after the viewer, because the
 * monitor's socket was connected later.
 */
static void test_resize_unplug(void)
{
    g_autofree char *path = socket_path("vnc"), *hmp = socket_path("hmp");
    g_autofree char *more = g_strdup_printf("-chardev socket,id=hmp,path=%s,"
                                            "server=on,wait=off -mon hmp", hmp);
    TsrTest *t = start_viewed("", path, more);
    int fd = vnc_connect(path), monitor = connect_to(hmp);

    for (int round = 0; round < 4; round++) {
        TsrHead h = { .t = t, .regs = TSR_CRTC(1) };

        expect_preferred(&h, 1280, 800);
        g_free(t->dev);
        t->dev = NULL;
        qpci_free_pc(t->bus);
        t->bus = NULL;
        qtest_qmp_device_del_send(t->qts, "gpu");
        transmit(monitor, EJECT, strlen(EJECT));
        wait_taken(monitor);
        g_assert_cmpint(kill(qtest_pid(t->qts), SIGSTOP), ==, 0);
        vnc_resize(fd, 800 + round, 600);
        transmit(monitor, "\n", 1);
        g_assert_cmpint(kill(qtest_pid(t->qts), SIGCONT), ==, 0);
        qtest_qmp_eventwait(t->qts, "DEVICE_DELETED");
        qtest_qmp_assert_success(t->qts, "{'execute': 'device_add', "
                                 "'arguments': {'driver': 'tessera', "
                                 "'id': 'gpu', 'addr': '04.0', 'outputs': 2, "
                                 "'vram-size': 4194304, "
                                 "'vram-hidden-size': 0}}");
        tsr_map_device(t);
    }
    close(monitor);
    close(fd);
    tsr_stop(t);
    unlink(path);
    unlink(hmp);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/console/log", test_log);
    qtest_add_func("/tessera/console/log-start", test_log_start);
    qtest_add_func("/tessera/console/log-strict", test_log_strict);
    qtest_add_func("/tessera/console/log-block", test_log_block);
    qtest_add_func("/tessera/console/late", test_late);
    qtest_add_func("/tessera/console/late-dump", test_late_dump);
    qtest_add_func("/tessera/console/late-commits", test_late_commits);
    qtest_add_data_func("/tessera/console/stopped", SMALL, test_stopped);
    qtest_add_data_func("/tessera/console/stopped-strict", SMALL ",strict=on",
                        test_stopped);
    qtest_add_func("/tessera/console/resize", test_resize);
    qtest_add_func("/tessera/console/resize-unplug", test_resize_unplug);
    return g_test_run();
}
