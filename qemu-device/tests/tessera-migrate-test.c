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

static void expect_came(TsrTest *to, uint64_t offset, uint32_t value)
{
    uint32_t word = qpci_io_readl(to->dev, to->vram, offset);

    tsr_rule(word == value, "what a CPU has written through the host aperture "
             "while the machine was migrated has not come along: 0x%08x at 0x%"
             PRIx64 ", not 0x%08x", word, offset, value);
}

#define RANGE_PITCH     512
#define RANGE_ROWS      96
#define RANGE_BYTES     (RANGE_PITCH * RANGE_ROWS)

/* The offset of a byte of the range in its surface, whose layout is TILE4K. */
static uint32_t in_surface(uint32_t at)
{
    uint32_t x = at % RANGE_PITCH, y = at / RANGE_PITCH;

    return (y / TSR_TILE_ROWS * (RANGE_PITCH / TSR_TILE_WIDTH_BYTES) +
            x / TSR_TILE_WIDTH_BYTES) * TSR_TILE_BYTES +
           y % TSR_TILE_ROWS * TSR_TILE_WIDTH_BYTES + x % TSR_TILE_WIDTH_BYTES;
}

/* Store bytes through the range. No doorbell tells the device. */
static void write_range(TsrTest *t, uint64_t window, uint8_t *rows,
                        uint32_t at, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        rows[at + i] = g_test_rand_int();
    }
    qtest_memwrite(t->qts, t->vram.addr + window + at, rows + at, bytes);
}

static void expect_range(TsrTest *to, uint64_t window, const uint8_t *rows)
{
    g_autofree uint8_t *got = g_malloc(RANGE_BYTES);

    qtest_memread(to->qts, to->vram.addr + window, got, RANGE_BYTES);
    g_assert_cmpmem(got, RANGE_BYTES, rows, RANGE_BYTES);
    tsr_gpu_read(to, tsr_seg_base(to, 1) + 2 * MIB, got, RANGE_BYTES);
    for (uint32_t i = 0; i < RANGE_BYTES; i++) {
        tsr_rule(got[in_surface(i)] == rows[i], "byte %u of what a CPU has "
                 "written through a swizzling range has not come along", i);
    }
}

/*
 * As test_failed_half_way(), but for stores of a CPU: through the host
 * aperture, to a page that stays mapped and to a page that is mapped elsewhere
 * before the next look at its dirty state; and through a swizzling range that
 * a CPU has filled before, all of it, and writes to again.
 */
static void check_windows(const char *props)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(props), *to;
    uint64_t vram = tsr_seg_base(t, 1), window;
    QPCIBar bar = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    g_autofree uint8_t *rows = g_malloc(RANGE_BYTES);
    Stream stream;

    tsr_page_fill(c, 0x11111111, vram, 4 * MIB);
    tsr_page_fill(c, MARK, vram + 4 * MIB, 12 * MIB);
    tsr_run_ok(t, PAGING, c);
    tsr_w64(t, TSR_HA_ADDR_LO, vram + MIB);
    tsr_w32(t, TSR_HA_COUNT, 2);
    tsr_w32(t, TSR_HA_MAP, 1);
    tsr_w64(t, TSR_SWR(0) + TSR_SWR_BASE_LO, vram + 2 * MIB);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_LAYOUT, TSR_LAYOUT_TILE4K);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_PITCH, RANGE_PITCH);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_HEIGHT, RANGE_ROWS);
    tsr_w32(t, TSR_SWR(0) + TSR_SWR_CONTROL, TSR_SWR_ENABLE);
    window = tsr_r64(t, TSR_SWR_WINDOW_LO) + 2 * MIB;
    write_range(t, window, rows, 0, RANGE_BYTES);
    stream = stream_begin(t);
    qpci_io_writel(t->dev, bar, 0x1010, 0x22222222);
    qpci_io_writel(t->dev, bar, 0x2020, 0x33333333);
    tsr_w32(t, TSR_HA_COUNT, 1);
    if (strstr(props, "strict=on")) {
        /* Strict mode requires an unmap first. */
        tsr_w32(t, TSR_HA_UNMAP, 2);
    }
    tsr_w32(t, TSR_HA_MAP, 2);
    write_range(t, window, rows, RANGE_BYTES / 3 + 1, RANGE_BYTES / 3);
    tsr_expect_no_errors(t);
    to = stream_end(t, &stream, props);
    expect_came(to, MIB + 0x10, 0x22222222);
    expect_came(to, MIB + 0x1020, 0x33333333);
    expect_range(to, window, rows);
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

/* ---- Preempted jobs and page tables in VRAM ------------------------------ */

#define VA          0x40000000ULL
#define DATA_PAGES  8               /* of each job, behind its IB */
#define DATA_WORDS  (DATA_PAGES * 4096 / 4)

/* A job at virtual addresses. Its IB waits between two FILLs. */
typedef struct VmJob {
    uint64_t va;                    /* of the IB's page; the data follow */
    uint64_t data;                  /* GPU address */
    uint64_t ib, sem, area, record;
    uint64_t root;                  /* of the page tables */
    uint32_t bytes;
    uint32_t value;
    uint64_t seqno;
} VmJob;

static void vm_job_init(TsrTest *t, VmJob *job, uint32_t index)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    job->va = VA + index * (1 + DATA_PAGES) * 4096;
    job->data = tsr_seg_base(t, 1) + MIB + index * DATA_PAGES * 4096;
    job->ib = tsr_alloc(t, 4096);
    job->sem = tsr_alloc(t, 4096);
    job->area = tsr_alloc(t, TSR_SAVE_BYTES(64));
    job->record = tsr_alloc(t, 4096);
    job->value = 0x11110000 * (index + 1);
    qtest_writeq(t->qts, job->sem, 0);
    tsr_bind_buffer(c, 3, job->va + 4096, DATA_WORDS * 4, TSR_FORMAT_R32, RW);
    tsr_fill(c, 3, 0, 0, DATA_WORDS / 2, 1, job->value);
    tsr_put(c, TSR_OP_WAIT, 0, TSR_WAIT_DWORDS, 0, (uint32_t)job->sem, 0, 1,
            0);
    tsr_fill(c, 3, DATA_WORDS / 2, 0, DATA_WORDS / 2, 1, job->value + 1);
    job->bytes = c->n * 4;
    qtest_bufwrite(t->qts, job->ib, c->d, job->bytes);
}

static void put_ptes(TsrCmd *c, uint64_t table, uint64_t va, uint32_t level,
                     uint32_t count, uint64_t value)
{
    uint64_t at = table + (va >> (12 + 9 * level)) % TSR_PT_ENTRIES * 8;

    tsr_put(c, TSR_OP_WRITE_PTES, TSR_PTES_VRAM, TSR_WRITE_PTES_DWORDS, count,
            (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)value,
            (uint32_t)(value >> 32), 4096, 0);
}

/* Let the paging engine write the page tables of the jobs, in VRAM. */
static void write_tables(TsrTest *t, VmJob *jobs, uint32_t num)
{
    const uint64_t dir = TSR_PTE_VALID | TSR_PTE_VRAM;
    const uint64_t leaf = TSR_PTE_VALID | TSR_PTE_WRITE;
    uint64_t tables = tsr_seg_base(t, 1);
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    for (uint32_t level = TSR_PT_LEVELS - 1; level; level--) {
        put_ptes(c, tables + level * 4096, VA, level, 1,
                 (tables + (level - 1) * 4096) | dir);
    }
    for (uint32_t i = 0; i < num; i++) {
        put_ptes(c, tables, jobs[i].va, 0, 1, jobs[i].ib | leaf);
        put_ptes(c, tables, jobs[i].va + 4096, 0, DATA_PAGES,
                 jobs[i].data | leaf | TSR_PTE_VRAM);
        jobs[i].root = (tables + (TSR_PT_LEVELS - 1) * 4096) | dir;
    }
    tsr_run_ok(t, PAGING, c);
}

/* Emit the job behind JOB_BEGIN or RESUME, which are equally long. */
static void vm_job_emit(TsrTest *t, VmJob *job)
{
    uint32_t p[] = {
        TSR_PKT_HEADER(TSR_OP_SET_VM, 0, TSR_SET_VM_DWORDS), 5, job->root,
        job->root >> 32,
        TSR_PKT_HEADER(TSR_OP_IB_CALL, TSR_IB_VM, TSR_IB_CALL_DWORDS),
        job->bytes, job->va, job->va >> 32, 0, job->bytes,
    };

    tsr_emit(t, RENDER, p, ARRAY_SIZE(p));
    job->seqno = tsr_emit_fence(t, RENDER, 0, job->record);
    tsr_kick(t, RENDER);
}

static void vm_job_start(TsrTest *t, VmJob *job)
{
    uint32_t begin[] = {
        TSR_PKT_HEADER(TSR_OP_JOB_BEGIN, 0, TSR_JOB_BEGIN_DWORDS), 1, 0, 0,
    };

    tsr_emit(t, RENDER, begin, ARRAY_SIZE(begin));
    vm_job_emit(t, job);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
}

static void vm_job_preempt(TsrTest *t, VmJob *job)
{
    tsr_preempt(t, RENDER, job->area);
    tsr_engine_start(t, RENDER, TSR_TEST_RING_BYTES);
}

static void vm_job_resume(TsrTest *t, VmJob *job)
{
    uint32_t resume[] = {
        TSR_PKT_HEADER(TSR_OP_RESUME, 0, TSR_RESUME_DWORDS), 0, job->area,
        job->area >> 32,
    };

    tsr_emit(t, RENDER, resume, ARRAY_SIZE(resume));
    vm_job_emit(t, job);
}

static void vm_job_finish(TsrTest *t, VmJob *job)
{
    g_autofree uint32_t *got = g_malloc(DATA_WORDS * 4);

    qtest_writeq(t->qts, job->sem, 1);
    tsr_wait(t, RENDER, job->seqno);
    g_assert_cmphex(qtest_readl(t->qts, job->record + TSR_REC_STATUS), ==, 0);
    tsr_gpu_read(t, job->data, got, DATA_WORDS * 4);
    for (uint32_t i = 0; i < DATA_WORDS; i++) {
        g_assert_cmphex(le32_to_cpu(got[i]), ==,
                        job->value + (i >= DATA_WORDS / 2));
    }
}

/*
 * While the stream is not read, page tables are written to VRAM that was sent
 * before, and two jobs use them. One is preempted, and still is on arrival. The
 * other one is preempted and resumed, and waits on arrival. Both must go on
 * through these tables.
 */
static void test_preempted_in_vm(void)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);
    TsrTest *t = tsr_start(HALF_PROPS), *to;
    uint64_t vram = tsr_seg_base(t, 1);
    VmJob jobs[2];
    Stream stream;

    vm_job_init(t, &jobs[0], 0);
    vm_job_init(t, &jobs[1], 1);
    tsr_page_fill(c, 0, vram, 4 * MIB);
    tsr_page_fill(c, MARK, vram + 4 * MIB, 12 * MIB);
    tsr_run_ok(t, PAGING, c);
    stream = stream_begin(t);
    write_tables(t, jobs, ARRAY_SIZE(jobs));
    vm_job_start(t, &jobs[0]);
    vm_job_preempt(t, &jobs[0]);
    vm_job_start(t, &jobs[1]);
    vm_job_preempt(t, &jobs[1]);
    vm_job_resume(t, &jobs[1]);
    tsr_wait_reg(t, TSR_ENG(RENDER) + TSR_ENG_STATUS, ~0, TSR_ENGS_WAITING);
    to = stream_end(t, &stream, HALF_PROPS);
    g_assert_cmphex(qtest_readl(to->qts, jobs[0].area + TSR_SAVE_MAGIC), ==,
                    TSR_SAVE_JOB);
    g_assert_cmphex(tsr_r32(to, TSR_ENG(RENDER) + TSR_ENG_STATUS), ==,
                    TSR_ENGS_WAITING);
    vm_job_finish(to, &jobs[1]);
    vm_job_resume(to, &jobs[0]);
    vm_job_finish(to, &jobs[0]);
    tsr_expect_no_errors(to);
    tsr_stop(t);
    tsr_stop(to);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/migrate/live", test_live);
    qtest_add_func("/tessera/migrate/failed-half-way", test_failed_half_way);
    qtest_add_func("/tessera/migrate/windows", test_windows);
    qtest_add_func("/tessera/migrate/preempted-in-vm", test_preempted_in_vm);
    return g_test_run();
}
