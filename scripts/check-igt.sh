#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make check-igt IGT_DIR=…`: build what is missing, then scripts/check-igt.py. $NAMES picks tests,
# $RESUME runs what has not passed or been skipped yet; $STEADY is for a machine that does other things;
# $KERNEL is stock (and debug for what only that can run) or debug, $DEVICE the properties.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

[ -n "${IGT_DIR:-}" ] || die "IGT_DIR is not given" \
	"make check-igt IGT_DIR=folder of a finished build of igt-gpu-tools (meson's, or DESTDIR's)"
make -s -C "$ROOT" guest-image
make -s -C "$ROOT" module-debug
# shellcheck disable=SC2086  # several names
exec "$ROOT/scripts/check-igt.py" ${RESUME:+--resume} ${STEADY:+--steady} \
	--kernel "${KERNEL:-stock}" ${DEVICE:+--device "$DEVICE"} "$IGT_DIR" ${NAMES:-}
