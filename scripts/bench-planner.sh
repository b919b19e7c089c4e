#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Benchmark of the split planner, natively on this machine: JSON rows on standard
# output, a table on standard error.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

make -s -C "$ROOT/tests/oracle" BUILD="$BUILD/oracle" "$BUILD/oracle/bench" >&2
exec "$BUILD/oracle/bench"
