#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make check`: build what the tiers need and run them; see scripts/check.py.
#   scripts/check.sh [TIER|TEST…]
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

"$ROOT/scripts/deps.sh" || exit 125
exec python3 "$ROOT/scripts/check.py" "$@"
