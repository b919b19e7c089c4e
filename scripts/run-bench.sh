#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make bench`: build what is missing and measure. Arguments and environment: see bench.sh.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

make -s -C "$ROOT" guest-image
exec "$ROOT/scripts/bench.sh" "$@"
