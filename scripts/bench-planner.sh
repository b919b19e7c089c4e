#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Benchmark of the split planner, natively on this machine: JSON rows on standard
# output, a table on standard error.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

make -s -C "$ROOT/tests/host" BUILD="$BUILD/host" "$BUILD/host/bench" >&2
exec "$BUILD/host/bench"
