/*
 * QTest: video memory in a memory backend
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qobject/qdict.h"
#include "tessera-migrate.h"

#define SIZES   "vram-size=4M,vram-hidden-size=8M,firmware-size=1M"
#define BYTES   (13 << 20)      /* sum of the three */
#define FIRST   (1 << 20)       /* offset of VRAM in its file */
#define PAGE    4096

static char *make_file(void)
{
    char *path = g_build_filename(g_get_tmp_dir(), "tessera-vram.XXXXXX", NULL);
    int fd = g_mkstemp(path);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, FIRST + BYTES), ==, 0);
    close(fd);
    return path;
}

static uint64_t file_word(const char *path, uint64_t offset)
{
    uint64_t value = 0;
    int fd = g_open(path, O_RDONLY, 0);

    g_assert_cmpint(pread(fd, &value, sizeof(value), FIRST + offset), ==,
                    sizeof(value));
    close(fd);
    return value;
}

static void fill(TsrTest *t, uint32_t value, uint64_t gpa, uint64_t bytes)
{
    g_autofree TsrCmd *c = g_new0(TsrCmd, 1);

    tsr_page_fill(c, value, gpa, bytes);
    tsr_run_ok(t, PAGING, c);
}

static int64_t file_blocks(const char *path)
{
    struct stat st;

    g_assert_cmpint(stat(path, &st), ==, 0);
    return st.st_blocks;
}

static char *object_args(const char *path)
{
    return g_strdup_printf("-object memory-backend-file,id=vram0,mem-path=%s,"
                           "offset=%u,size=%u,share=on,prealloc=on", path, FIRST,
                           BYTES);
}

/*
 * Stores of CPUs and of engines reach the file. A reset that loses VRAM clears
 * the file, but keeps its blocks allocated.
 */
static void test_file(void)
{
    g_autofree char *path = make_file(), *object = object_args(path);
    TsrTest *t = tsr_start_machine(SIZES ",memdev=vram0,x-lose-vram=on",
                                   object);
    QPCIBar window;
    uint64_t hidden;
    int64_t blocks;

    tsr_set_up(t);
    hidden = tsr_seg_base(t, 2);

    qpci_io_writeq(t->dev, t->vram, 3 * PAGE, 0x1122334455667788);
    g_assert_cmphex(file_word(path, 3 * PAGE), ==, 0x1122334455667788);
    fill(t, 0x5a5a5a5a, hidden, 1 << 20);
    g_assert_cmphex(file_word(path, (4 << 20) + PAGE), ==, 0x5a5a5a5a5a5a5a5a);

    /* The host aperture shows pages of the file. */
    qtest_qmp_assert_success(t->qts, "{'execute': 'qom-get', 'arguments': {"
                             "'path': '/machine/peripheral/gpu/"
                             "tessera.host-aperture[0]', "
                             "'property': 'size'}}");
    window = qpci_iomap(t->dev, TSR_BAR_HOST_APERTURE, NULL);
    tsr_w64(t, TSR_HA_ADDR_LO, hidden + 5 * PAGE);
    tsr_w32(t, TSR_HA_COUNT, 1);
    tsr_w32(t, TSR_HA_MAP, 2);
    qpci_io_writeq(t->dev, window, 2 * PAGE + 8, 0x99);
    g_assert_cmphex(file_word(path, (4 << 20) + 5 * PAGE + 8), ==, 0x99);

    blocks = file_blocks(path);
    tsr_device_reset(t);
    g_assert_cmphex(file_word(path, (4 << 20) + PAGE), ==, 0);
    g_assert_cmpint(file_blocks(path), >=, blocks);
    tsr_stop(t);
    g_unlink(path);
}

/*
 * Migration needs a backend of the same name on the destination, and fails
 * without a backend.
 */
static void test_migrate(void)
{
    g_autofree char *path = make_file(), *object = object_args(path);
    g_autofree char *to_path = make_file(), *to_object = object_args(to_path);
    g_autofree char *state = tsr_state_file(), *moved = NULL, *failed = NULL;
    TsrTest *t = tsr_start_machine(SIZES ",memdev=vram0", object), *to;

    tsr_map_device(t);
    qpci_io_writeq(t->dev, t->vram, 3 * PAGE, 0x1122334455667788);
    tsr_save(t, state);
    to = tsr_load_machine(t, SIZES ",memdev=vram0", to_object, state, &moved);
    g_assert_cmpstr(moved, ==, "completed");
    g_assert_cmphex(file_word(to_path, 3 * PAGE), ==, 0x1122334455667788);
    tsr_stop(to);
    to = tsr_load(t, SIZES, state, &failed);
    g_assert_cmpstr(failed, ==, "failed");
    tsr_stop(to);
    tsr_stop(t);
    g_unlink(state);
    g_unlink(path);
    g_unlink(to_path);
}

/* Return the error text of a reply, or NULL if the command succeeded. */
static char *error_of(QDict *rsp)
{
    char *text = NULL;

    if (qdict_haskey(rsp, "error")) {
        text = g_strdup(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"));
    }
    qobject_unref(rsp);
    return text;
}

static char *add(TsrTest *t, const char *memdev)
{
    return error_of(qtest_qmp(t->qts, "{'execute': 'device_add', "
                              "'arguments': {'driver': 'tessera', "
                              "'id': 'second', 'addr': '05.0', "
                              "'vram-size': 4194304, "
                              "'vram-hidden-size': 8388608, "
                              "'firmware-size': 1048576, 'memdev': %s}}",
                              memdev));
}

static void expect_refused(TsrTest *t, const char *memdev, const char *why)
{
    g_autofree char *error = add(t, memdev);

    g_assert_cmpstr(error, ==, why);
}

static char *del_object(TsrTest *t, const char *id)
{
    return error_of(qtest_qmp(t->qts, "{'execute': 'object-del', "
                              "'arguments': {'id': %s}}", id));
}

/*
 * Repeat @call until it succeeds: an unplugged device releases its backend
 * only when no thread can still access the memory.
 */
static void until_free(TsrTest *t, char *(*call)(TsrTest *t, const char *id),
                       const char *id)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;
    char *error;

    while ((error = call(t, id))) {
        g_assert_nonnull(strstr(error, "in use"));
        g_assert_cmpint(g_get_monotonic_time(), <, deadline);
        g_free(error);
        g_usleep(1000);
    }
}

/*
 * A backend serves one device at a time, and is free again after that device
 * was unplugged.
 */
static void test_properties(void)
{
    g_autofree char *path = make_file(), *error = NULL;
    g_autofree char *objects = g_strdup_printf(
        "-object memory-backend-memfd,id=used,size=13M "
        "-object memory-backend-memfd,id=small,size=12M "
        "-object memory-backend-memfd,id=private,size=13M,share=off "
        "-object memory-backend-file,id=fixed,size=13M,mem-path=%s,share=on,"
        "readonly=on", path);
    TsrTest *t = tsr_start_machine(SIZES ",memdev=used", objects);

    expect_refused(t, "used", "tessera: memdev used is in use");
    expect_refused(t, "small", "tessera: memdev small has 12582912 bytes, "
                   "video memory takes 13631488");
    expect_refused(t, "private", "tessera: memdev private needs share=on");
    expect_refused(t, "fixed", "tessera: memdev fixed is read-only");
    error = del_object(t, "used");
    g_assert_nonnull(error);
    qpci_unplug_acpi_device_test(t->qts, "gpu", 4);
    until_free(t, add, "used");
    qpci_unplug_acpi_device_test(t->qts, "second", 5);
    until_free(t, del_object, "used");
    /* A new backend of the same name has a new file. */
    qtest_qmp_assert_success(t->qts, "{'execute': 'object-add', 'arguments': {"
                             "'qom-type': 'memory-backend-memfd', "
                             "'id': 'used', 'size': 13631488}}");
    until_free(t, add, "used");
    tsr_stop(t);
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/tessera/memdev/file", test_file);
    qtest_add_func("/tessera/memdev/migrate", test_migrate);
    qtest_add_func("/tessera/memdev/properties", test_properties);
    return g_test_run();
}
