/*
 * Migration, for the qtests of the Tessera device
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef TESSERA_MIGRATE_H
#define TESSERA_MIGRATE_H

#include "tessera-common.h"

char *tsr_state_file(void);
char *tsr_try_save(TsrTest *t, const char *path);
void tsr_save(TsrTest *t, const char *path);
TsrTest *tsr_load_machine(TsrTest *from, const char *props, const char *args,
                          const char *path, char **status);
TsrTest *tsr_load(TsrTest *from, const char *props, const char *path,
                  char **status);
TsrTest *tsr_migrate(TsrTest *t, const char *props);

#endif
