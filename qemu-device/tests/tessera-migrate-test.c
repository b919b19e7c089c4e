/*
 * QTest: live migration while engines write video memory
 *
 * A render engine and a paging engine write all the time while memory is sent,
 * and have work left on arrival. Each packet depends on those before it. A
 * packet that is lost or run twice, or bytes that are not sent, show up in the
 * comparison with the same work done by the test.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qobject/qdict.h"
#include "tessera-migrate.h"

#define RW      (TSR_SURF_READ | TSR_SURF_WRITE)
#define MIB     (1u << 20)
#define PROPS   "strict=on,vram-size=4M,vram-hidden-size=4M,gart-size=4M," \
                "agp-ro-size=1M,firmware-size=1M,x-render-delay-us=3000," \
                "x-paging-delay-us=3000"
#define WORDS   MIB             /* of each engine's 4 MiB */
#define PAGES   256             /* of system memory, for paging */
#define JOBS    200
#define FIRST   20              /* these wait until migration starts */
#define GATE    (JOBS - 20)     /* these wait until it has ended */
#define STEP    (64 * 1024)     /* words that one packet moves */

typedef struct Work {
    TsrCmd *cmd;
    uint32_t start[JOBS + 1];   /* index in cmd->d */
    uint32_t *vram;             /* expected contents in the end */
    uint32_t *pages;
    uint64_t ib, ib_list;
    uint64_t last;
} Work;

static char *migration_status(QTestState *qts)
{
    QDict *rsp = qtest_qmp(qts, "{'execute': 'query-migrate'}");
    QDict *ret = qdict_get_qdict(rsp, "return");
    char *status = g_strdup(qdict_get_try_str(ret, "status") ?: "");

    qobject_unref(rsp);
    return status;
}

static void wait_completed(QTestState *qts)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    for (;;) {
        g_autofree char *status = migration_status(qts);

        g_assert_cmpstr(status, !=, "failed");
        if (!strcmp(status, "completed")) {
            return;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_usleep(1000);
    }
}

static void set_bandwidth(QTestState *qts, int bytes)
{
    qtest_qmp_assert_success(qts, "{'execute': 'migrate-set-parameters', "
                             "'arguments': {'max-bandwidth': %d, "
                             "'downtime-limit': 2000}}", bytes);
}

/*
 * Migrate @t to the machine @to, which listens at @uri. Nearly nothing is sent
 * until both engines have passed the gate. Then the bandwidth is low enough
 * for some hundred packets, and high enough to complete.
 */
static void migrate_live(TsrTest *t, TsrTest *to, const char *uri,
                         uint64_t gate)
{
    set_bandwidth(t->qts, 100000);
    qtest_qmp_assert_success(t->qts, "{'execute': 'migrate', "
                             "'arguments': {'uri': %s}}", uri);
    qtest_writeq(t->qts, gate, 1);
    tsr_wait(t, RENDER, FIRST + 1);
    tsr_wait(t, PAGING, FIRST + 1);
    set_bandwidth(t->qts, 20000000);
    wait_completed(t->qts);
    wait_completed(to->qts);
    g_free(t->dev);
    qpci_free_pc(t->bus);
    qtest_quit(t->qts);
    t->qts = to->qts;
    t->bus = qpci_new_pc(t->qts, NULL);
    t->dev = qpci_device_find(t->bus, QPCI_DEVFN(4, 0));
    g_free(to);
}

static uint32_t any(uint32_t bound)
{
    return g_test_rand_int_range(0, bound);
}

/* Begin a job. Jobs FIRST and GATE start with a WAIT for the gate. */
static void begin_job(Work *w, uint32_t job, uint64_t gate)
{
    w->start[job] = w->cmd->n;
    if (job == FIRST || job == GATE) {
        tsr_put(w->cmd, TSR_OP_WAIT, 0, TSR_WAIT_DWORDS, 0, (uint32_t)gate, 0,
                job == FIRST ? 1 : 2, 0);
    }
}

/* FILL and overlapping COPY in one buffer. */
static void render_work(TsrTest *t, Work *w, uint64_t gate)
{
    w->cmd->n = 0;
    for (uint32_t job = 0; job < JOBS; job++) {
        uint32_t at = any(WORDS - STEP), src = any(WORDS - STEP);
        uint32_t dst = MIN(src + 1 + any(1000), WORDS - STEP);

        begin_job(w, job, gate);
        tsr_bind_buffer(w->cmd, 0, tsr_seg_base(t, 1), WORDS * 4,
                        TSR_FORMAT_R32, RW);
        if (job == 0) {
            tsr_fill(w->cmd, 0, 0, 0, WORDS, 1, 0x5a5a5a5a);
            for (uint32_t i = 0; i < WORDS; i++) {
                w->vram[i] = 0x5a5a5a5a;
            }
        }
        tsr_fill(w->cmd, 0, at, 0, 1 + job, 1, job << 16 | at);
        for (uint32_t i = 0; i < 1 + job; i++) {
            w->vram[at + i] = job << 16 | at;
        }
        tsr_copy(w->cmd, 0, 0, dst, 0, src, 0, STEP, 1);
        memmove(w->vram + dst, w->vram + src, STEP * 4);
    }
    w->start[JOBS] = w->cmd->n;
}

/* TRANSFER from pages, to pages, and within video memory. */
static void paging_work(TsrTest *t, Work *w, uint64_t gate, uint64_t list)
{
    uint64_t base = tsr_seg_base(t, 2);

    w->cmd->n = 0;
    for (uint32_t job = 0; job < JOBS; job++) {
        uint32_t at = any(WORDS - STEP), page = any(PAGES - STEP / 1024);
        uint32_t dst = any(WORDS - STEP);

        begin_job(w, job, gate);
        if (job == 0) {
            tsr_page_fill(w->cmd, 0x01020304, base, WORDS * 4);
            for (uint32_t i = 0; i < WORDS; i++) {
                w->vram[i] = 0x01020304;
            }
        }
        switch (job % 3) {
        case 0:
            tsr_transfer(w->cmd, TSR_TRANSFER_SRC_PAGES, 0, list,
                         base + at * 4, STEP * 4, page * 4096, 0, 0);
            memcpy(w->vram + at, w->pages + page * 1024, STEP * 4);
            break;
        case 1:
            tsr_transfer(w->cmd, 0, 0, base + at * 4, base + dst * 4, STEP * 4,
                         0, 0, 0);
            memmove(w->vram + dst, w->vram + at, STEP * 4);
            break;
        default:
            tsr_transfer(w->cmd, TSR_TRANSFER_DST_PAGES, 0, base + at * 4,
                         list, STEP * 4, 0, page * 4096, 0);
            memcpy(w->pages + page * 1024, w->vram + at, STEP * 4);
        }
    }
    w->start[JOBS] = w->cmd->n;
}

static void start_work(TsrTest *t, uint32_t e, Work *w)
{
    uint64_t pages[64];

    g_assert_cmpuint(w->cmd->n * 4, <=, sizeof(pages) / 8 * 4096);
    w->ib = tsr_alloc(t, w->cmd->n * 4);
    for (uint32_t i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = w->ib + i * 4096;
    }
    w->ib_list = tsr_list(t, pages, ARRAY_SIZE(pages));
    qtest_bufwrite(t->qts, w->ib, w->cmd->d, w->cmd->n * 4);
    for (uint32_t job = 0; job < JOBS; job++) {
        uint32_t begin[] = {
            TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 1 + job,
            0, 0,
        };
        uint32_t call[] = {
            TSR_PKT_HEADER(TSR_OP_IB_CALL, 0, TSR_IB_CALL_DWORDS),
            w->cmd->n * 4, w->ib_list, w->ib_list >> 32, w->start[job] * 4,
            w->start[job + 1] * 4,
        };

        tsr_emit(t, e, begin, ARRAY_SIZE(begin));
        tsr_emit(t, e, call, ARRAY_SIZE(call));
        w->last = tsr_emit_fence(t, e, 0, 0);
    }
    tsr_kick(t, e);
}

static Work *new_work(void)
{
    Work *w = g_new0(Work, 1);

    w->cmd = g_new0(TsrCmd, 1);
    w->vram = g_new(uint32_t, WORDS);
    w->pages = g_new(uint32_t, PAGES * 1024);
    for (uint32_t i = 0; i < PAGES * 1024; i++) {
        w->pages[i] = g_test_rand_int();
    }
    return w;
}

static void free_work(Work *w)
{
    g_free(w->cmd);
    g_free(w->vram);
    g_free(w->pages);
    g_free(w);
}

static void expect_vram(TsrTest *t, uint64_t base, const Work *w)
{
    g_autofree uint8_t *got = g_malloc(MIB);

    for (uint32_t mib = 0; mib < WORDS * 4 / MIB; mib++) {
        tsr_gpu_read(t, base + mib * MIB, got, MIB);
        g_assert_cmpmem(got, MIB, (uint8_t *)w->vram + mib * MIB, MIB);
    }
}

/*
 * Both engines work on during a live migration and finish on the destination.
 * VRAM and system memory must equal the model.
 */
static void test_live(void)
{
    g_autofree char *path = g_strdup_printf("%s/tessera-migrate-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    g_autofree char *args = g_strdup_printf("-incoming %s", uri);
    TsrTest *to = tsr_start_machine(PROPS, args), *t = tsr_start(PROPS);
    Work *render = new_work(), *paging = new_work();
    uint64_t gate = tsr_alloc(t, 4096), system = tsr_alloc(t, PAGES * 4096);
    uint64_t pages[PAGES], list;
    g_autofree uint8_t *got = g_malloc(PAGES * 4096);

    for (uint32_t i = 0; i < PAGES; i++) {
        pages[i] = system + (PAGES - 1 - i) * 4096;
        qtest_bufwrite(t->qts, pages[i], paging->pages + i * 1024, 4096);
    }
    list = tsr_list(t, pages, PAGES);
    qtest_writeq(t->qts, gate, 0);
    render_work(t, render, gate);
    paging_work(t, paging, gate, list);
    start_work(t, RENDER, render);
    start_work(t, PAGING, paging);
    tsr_wait(t, RENDER, FIRST);
    tsr_wait(t, PAGING, FIRST);

    migrate_live(t, to, uri, gate);
    g_unlink(path);
    for (uint32_t e = RENDER; e <= PAGING; e++) {
        g_test_message("engine %u: %u jobs done before, %" PRIu64
                       " on arrival", e, FIRST, tsr_seqno(t, e));
        /* The engine has worked in the meantime, and is not done. */
        g_assert_cmpuint(tsr_seqno(t, e), >, FIRST);
        g_assert_cmpuint(tsr_seqno(t, e), <=, GATE);
    }
    qtest_writeq(t->qts, gate, 2);
    tsr_wait(t, RENDER, render->last);
    tsr_wait(t, PAGING, paging->last);
    tsr_expect_no_errors(t);
    tsr_qom_set(t, "x-paging-delay-us", 0);
    expect_vram(t, tsr_seg_base(t, 1), render);
    expect_vram(t, tsr_seg_base(t, 2), paging);
    for (uint32_t i = 0; i < PAGES; i++) {
        qtest_bufread(t->qts, pages[i], got + i * 4096, 4096);
    }
    g_assert_cmpmem(got, PAGES * 4096, paging->pages, PAGES * 4096);
    free_work(render);
    free_work(paging);
    tsr_stop(t);
}

/* ---- Packets that fail after partial writes ------------------------------ */

#define HALF_PROPS  "vram-size=16M,vram-hidden-size=0,gart-size=4M," \
                    "agp-ro-size=0,firmware-size=1M"
#define MARK        0xfeedf00du
#define BAND        (128 * 1024)    /* a row of tiles, pitch 4096 */
#define BAND_PAGES  (BAND / 4096)
#define GOOD        5               /* tiles before the invalid ones */

static int listen_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(g_strlcpy(at.sun_path, path, sizeof(at.sun_path)), <,
                     sizeof(at.sun_path));
    g_assert_cmpint(bind(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

/* Read up to the first MARK words, or to the end. */
static void read_stream(int fd, GByteArray *stream, bool to_mark)
{
    g_autofree uint8_t *buf = g_malloc(65536);
    uint32_t mark[16];

    for (int i = 0; i < 16; i++) {
        mark[i] = cpu_to_le32(MARK);
    }
    for (;;) {
        gsize from = stream->len < sizeof(mark) ? 0
                                                : stream->len - sizeof(mark);
        ssize_t n = read(fd, buf, 65536);

        g_assert_cmpint(n, >=, 0);
        if (!n) {
            g_assert_false(to_mark);
            return;
        }
        g_byte_array_append(stream, buf, n);
        if (to_mark && memmem(stream->data + from, stream->len - from, mark,
                              sizeof(mark))) {
            return;
        }
    }
}

/* A migration whose stream the test reads at its own pace. */
typedef struct Stream {
    char *path, *at;
    int listener, fd;
    GByteArray *bytes;
} Stream;

static Stream stream_begin(TsrTest *t)
{
    Stream s = { .path = tsr_state_file(), .bytes = g_byte_array_new() };
    g_autofree char *uri = NULL;

    s.at = g_strdup_printf("%s.socket", s.path);
    uri = g_strdup_printf("unix:%s", s.at);
    s.listener = listen_at(s.at);
    qtest_qmp_assert_success(t->qts, "{'execute': 'migrate', "
                             "'arguments': {'uri': %s}}", uri);
    s.fd = accept(s.listener, NULL, NULL);
    g_assert_cmpint(s.fd, >=, 0);
    read_stream(s.fd, s.bytes, true);
    return s;
}

/* Read the rest of the stream, and load it into a new machine. */
static TsrTest *stream_end(TsrTest *t, Stream *s, const char *props)
{
    g_autofree char *status = NULL;
    TsrTest *to;

    read_stream(s->fd, s->bytes, false);
    wait_completed(t->qts);
    g_assert_true(g_file_set_contents(s->path, (char *)s->bytes->data,
                                      s->bytes->len, NULL));
    to = tsr_load(t, props, s->path, &status);
    g_assert_cmpstr(status, ==, "completed");
    close(s->fd);
    close(s->listener);
    g_unlink(s->at);
    g_unlink(s->path);
    g_free(s->at);
    g_free(s->path);
    g_byte_array_unref(s->bytes);
    return to;
}

typedef struct Half {
    uint64_t vram;              /* two bands that are written to */
    uint64_t pages;             /* one band, pages in pairs swapped */
    uint64_t tiles;             /* list of tiles, invalid from GOOD on */
    uint64_t linear;            /* list of the pages */
} Half;

static void half_set_up(TsrTest *t, Half *h)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    uint64_t entries[BAND_PAGES], aperture;

    h->vram = tsr_seg_base(t, 1);
    h->pages = tsr_alloc(t, BAND);
    qtest_memset(t->qts, h->pages, 0x22, BAND);
    for (uint32_t i = 0; i < BAND_PAGES; i++) {
        entries[i] = h->pages + (i ^ 1) * 4096;
    }
    h->linear = tsr_list(t, entries, BAND_PAGES);
    qtest_memset(t->qts, t->bounce, 0x5a, BAND);
    for (uint32_t i = 0; i < BAND_PAGES; i++) {
        entries[i] = t->bounce + i * 4096 + (i < GOOD ? 0 : 8);
    }
    h->tiles = tsr_list(t, entries, BAND_PAGES);
    for (uint32_t i = 0; i < GOOD; i++) {
        entries[i] |= TSR_APTE_VALID;
    }
    aperture = tsr_list(t, entries, GOOD);
    tsr_map(c, 4, 0, GOOD, aperture);
    tsr_page_fill(c, 0x11111111, h->vram, 4 * MIB);
    tsr_page_fill(c, MARK, h->vram + 4 * MIB, 12 * MIB);
    tsr_run_ok(t, PAGING, c);
}

/* Run three packets that convert tiles to rows, and fail at an invalid tile. */
static void half_run(TsrTest *t, const Half *h)
{
    const uint32_t layouts = TSR_LAYOUT_TILE4K |
                             TSR_LAYOUT_LINEAR << 8;
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrSurf s = {
        .base = tsr_seg_base(t, 4), .limit = BAND,
        .format = TSR_FORMAT_R32, .layout = TSR_LAYOUT_TILE4K, .access = RW,
        .pitch = 4096, .width = 1024, .height = 32,
    };

    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES, layouts, h->tiles, h->vram, BAND,
                 0, 0, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    c->n = 0;
    tsr_transfer(c, TSR_TRANSFER_SRC_PAGES | TSR_TRANSFER_DST_PAGES, layouts,
                 h->tiles, h->linear, BAND, 0, 0, 4096);
    tsr_run_err(t, PAGING, c, TSR_ERR_DMA);
    c->n = 0;
    tsr_bind(c, 0, &s);
    s.base = h->vram + BAND;
    s.layout = TSR_LAYOUT_LINEAR;
    tsr_bind(c, 1, &s);
    tsr_copy(c, 1, 0, 0, 0, 0, 0, 1024, 32);
    tsr_run_err(t, RENDER, c, TSR_ERR_DMA);
}

static void half_look(TsrTest *t, const Half *h, uint8_t *buf)
{
    qtest_bufread(t->qts, t->vram.addr, buf, 2 * BAND);
    qtest_bufread(t->qts, h->pages, buf + 2 * BAND, BAND);
}

static bool any_is(const uint8_t *buf, uint8_t value)
{
    return memchr(buf, value, BAND);
}

/*
 * Packets write to memory that was sent before, and then fail, while the
 * stream is not read. The destination must get the bytes that they wrote.
 */
static void test_failed_half_way(void)
{
    g_autofree uint8_t *want = g_malloc(3 * BAND), *got = g_malloc(3 * BAND);
    TsrTest *t = tsr_start(HALF_PROPS), *to;
    Stream stream;
    Half h;

    half_set_up(t, &h);
    stream = stream_begin(t);
    half_run(t, &h);
    half_look(t, &h, want);
    for (int i = 0; i < 2; i++) {
        g_assert_true(any_is(want + i * BAND, 0x5a));
        g_assert_true(any_is(want + i * BAND, 0x11));
    }
    to = stream_end(t, &stream, HALF_PROPS);
    half_look(to, &h, got);
    g_assert_cmpmem(got, 3 * BAND, want, 3 * BAND);
    tsr_stop(t);
    tsr_stop(to);
}

/* ---- Stores of a CPU through windows ------------------------------------- */

static void expect_came(TsrTest *to, uint64_t offset, uint32_t value,
                        const char *through)
{
    uint32_t word = qpci_io_readl(to->dev, to->vram, offset);

    tsr_rule(word == value, "what a CPU has written through %s while the "
             "machine was migrated has not come along: 0x%08x at 0x%" PRIx64
             ", not 0x%08x", through, word, offset, value);
}

/*
 * As test_failed_half_way(), but for stores of a CPU: through the host
 * aperture, to a page that stays mapped and to a page that is mapped elsewhere
 * before the next look at its dirty state; and through a swizzling range.
 */
static void check_windows(const char *props)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props), *to;
    uint64_t vram = tsr_seg_base(t, 1), window;
    QPCIBar bar = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    Stream stream;

    tsr_page_fill(c, 0x11111111, vram, 4 * MIB);
    tsr_page_fill(c, MARK, vram + 4 * MIB, 12 * MIB);
    tsr_run_ok(t, PAGING, c);
    tsr_w64(t, TSR_HA_ADDR_LO, vram + MIB);
    tsr_w32(t, TSR_HA_COUNT, 2);
    tsr_w32(t, TSR_HA_MAP, 1);
    tsr_w64(t, TSR_SWR(0) + TSR_SWR_BASE_LO, vram + 2 * MIB);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_LAYOUT, TSR_LAYOUT_TILE4K);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_PITCH, 256);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_HEIGHT, 32);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    window = tsr_r64(t, TSR_SWR_WINDOW_LO) + 2 * MIB;
    stream = stream_begin(t);
    qpci_io_writel(t->dev, bar, 0x1010, 0x22222222);
    qpci_io_writel(t->dev, bar, 0x2020, 0x33333333);
    tsr_w32(t, TSR_HA_COUNT, 1);
    if (strstr(props, "strict=on")) {
        /* Strict mode requires an unmap first. */
        tsr_w32(t, TSR_HA_UNMAP, 2);
    }
    tsr_w32(t, TSR_HA_MAP, 2);
    qpci_io_writel(t->dev, t->vram, window + 128, 0x44444444);
    tsr_expect_no_errors(t);
    to = stream_end(t, &stream, props);
    expect_came(to, MIB + 0x10, 0x22222222, "the host aperture");
    expect_came(to, MIB + 0x1020, 0x33333333, "the host aperture");
    expect_came(to, 2 * MIB + 4096, 0x44444444, "a swizzling range");
    expect_came(to, window + 128, 0x44444444, "a swizzling range");
    tsr_expect_no_errors(to);
    tsr_stop(t);
    tsr_stop(to);
}

/* Stores through the host aperture as RAM, and as a trap, must migrate. */
static void test_windows(void)
{
    check_windows(HALF_PROPS);
    check_windows(HALF_PROPS ",strict=on");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/migrate/live", test_live);
    qtest_add_func("/tessera/migrate/failed-half-way", test_failed_half_way);
    qtest_add_func("/tessera/migrate/windows", test_windows);
    return g_test_run();
}
