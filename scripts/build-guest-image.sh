#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The guest's whole initramfs as one file, build/guest-KERNEL.cpio. scripts/guest
# makes its own for each run; this one is for looking at and for other tools.
#   scripts/build-guest-image.sh stock|debug
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

kernel=${1:-stock}
"$ROOT/scripts/deps.sh" base guest
step "pack the guest image for the $kernel kernel" \
	"run 'make guest-image' for what is missing" \
	python3 "$ROOT/scripts/lib/initramfs.py" "$kernel" "$BUILD/guest-$kernel.cpio"
