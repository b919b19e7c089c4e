#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make bench`: build what is missing and run the benchmark's driver program.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

make -s -C "$ROOT" guest-image
for program in bench bench.py bench.sh; do
	if [ -x "$ROOT/scripts/$program" ]; then
		exec "$ROOT/scripts/$program" "$@"
	fi
done
die "scripts/bench.py does not exist" "check out the tree again"
