/*
 * Migration, for the qtests of the Tessera device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "tessera-migrate.h"

/* Return a file name that is unique to this process. */
char *tsr_state_file(void)
{
    return g_strdup_printf("%s/tessera-vmstate-%d", g_get_tmp_dir(), getpid());
}

static char *migration_status(QTestState *qts)
{
    QDict *rsp = qtest_qmp(qts, "{'execute': 'query-migrate'}");
    QDict *ret = qdict_get_qdict(rsp, "return");
    char *status = g_strdup(qdict_get_try_str(ret, "status") ?: "");

    qobject_unref(rsp);
    return status;
}

/* Wait for the end; return "completed" or "failed". */
static char *migration_end(QTestState *qts)
{
    int64_t deadline = g_get_monotonic_time() + TSR_TEST_DEADLINE_US;

    while (g_get_monotonic_time() < deadline) {
        char *status = migration_status(qts);

        if (!strcmp(status, "completed") || !strcmp(status, "failed")) {
            return status;
        }
        g_free(status);
        g_usleep(1000);
    }
    g_error("migration does not end");
}

/* Save the whole machine to a file; return how that ended. */
char *tsr_try_save(TsrTest *t, const char *path)
{
    g_autofree char *uri = g_strdup_printf("file:%s", path);

    qtest_qmp_assert_success(t->qts, "{'execute': 'migrate', "
                             "'arguments': {'uri': %s}}", uri);
    return migration_end(t->qts);
}

/* Save the machine, which must succeed and stops it. */
void tsr_save(TsrTest *t, const char *path)
{
    g_autofree char *status = tsr_try_save(t, path);

    g_assert_cmpstr(status, ==, "completed");
}

/* Start a machine from a file; @status returns how that ended. */
TsrTest *tsr_load_machine(TsrTest *from, const char *props, const char *args,
                          const char *path, char **status)
{
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    g_autofree char *all = g_strdup_printf("%s -incoming defer", args);
    TsrTest *t = tsr_start_machine(props, all);
    QTestState *qts = t->qts;

    *t = *from;
    t->qts = qts;
    t->bus = qpci_new_pc(qts, NULL);
    t->dev = qpci_device_find(t->bus, QPCI_DEVFN(4, 0));
    qtest_qmp_assert_success(qts, "{'execute': 'migrate-incoming', "
                             "'arguments': {'uri': %s, "
                             "'exit-on-error': false}}", uri);
    *status = migration_end(qts);
    return t;
}

TsrTest *tsr_load(TsrTest *from, const char *props, const char *path,
                  char **status)
{
    return tsr_load_machine(from, props, "", path, status);
}

/* Move a device, running or not, to a new machine with the same properties. */
TsrTest *tsr_migrate(TsrTest *t, const char *props)
{
    g_autofree char *path = tsr_state_file(), *status = NULL;
    TsrTest *to;

    tsr_save(t, path);
    to = tsr_load(t, props, path, &status);
    g_assert_cmpstr(status, ==, "completed");
    unlink(path);
    tsr_stop(t);
    return to;
}
