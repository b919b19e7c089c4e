#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The library, tools and demo (userspace/) and the guest tests (tests/); what goes
# into the guest is placed in build/guest-bin/.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

guest_bin=$BUILD/guest-bin
export STEP_SHOW='warning:'

build_part() {
	make -C "$ROOT/$1" -j "$JOBS" BUILD="$BUILD/$1" GUEST_BIN="$guest_bin" all
	make -C "$ROOT/$1" BUILD="$BUILD/$1" GUEST_BIN="$guest_bin" install-guest
}

mkdir -p "$guest_bin"
"$ROOT/scripts/deps.sh" base userspace
if [ -f "$ROOT/userspace/Makefile" ]; then
	step "build the library, tools and demo" \
		"fix userspace/; the complete log is in build/logs/" build_part userspace
fi
if [ -f "$ROOT/tests/Makefile" ]; then
	step "build the guest tests" "fix tests/; the complete log is in build/logs/" build_part tests
fi
