#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The library, tools and demo (userspace/) or the guest tests (tests/); what goes
# into the guest is placed in build/guest-bin/.
#   scripts/build-userspace.sh userspace|tests
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

guest_bin=$BUILD/guest-bin
export STEP_SHOW='warning:'

build_part() {
	make -C "$ROOT/$1" -j "$JOBS" BUILD="$BUILD/$1" GUEST_BIN="$guest_bin" all
	make -C "$ROOT/$1" BUILD="$BUILD/$1" GUEST_BIN="$guest_bin" install-guest
}

part=${1:-}
case $part in
userspace) title="build the library, tools and demo" ;;
tests) title="build the guest tests" ;;
*) die "usage: scripts/build-userspace.sh userspace|tests" ;;
esac
mkdir -p "$guest_bin"
"$ROOT/scripts/deps.sh" base userspace
step "$title" "fix $part/; the complete log is in build/logs/" build_part "$part"
