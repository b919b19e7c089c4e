#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Run the driver's unit tests in the debug kernel's guest.
#
#   scripts/run-kunit.sh [SUITE]    all suites, or one: tessera_patch, or a glob
#                                   as KUnit knows it: 'tessera_patch.test_check'
#
# Prints the failures and a line of totals for each suite; the whole report goes to
# build/kunit/results.ktap. Exit code: 0 if all ran and passed, 1 if not, else
# that of scripts/guest.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

glob=${1:-}
out=$BUILD/kunit
mkdir -p "$out"
"$ROOT/scripts/build-module.sh" debug

# The pure code needs no device; the module is loaded for its symbols only.
run='insmod /lib/modules/tessera.ko || exit 1
[ -z "$GLOB" ] || printf %s "$GLOB" >/sys/module/kunit/parameters/filter_glob
insmod /lib/modules/tessera_kunit.ko || exit 1
cat /sys/kernel/debug/kunit/*/results'

code=0
"$ROOT/scripts/guest" --kernel debug --no-load --timeout "${TIMEOUT:-600}" \
	-- "GLOB='$glob'; $run" >"$out/results.ktap" || code=$?
[ "$code" -le 1 ] || exit "$code"

# A suite prints its totals behind its cases, then its own line at the left.
awk '
	/^ *not ok / { failed = 1; print }
	/^ +# .*: (EXPECTATION|ASSERTION) FAILED/ { print; detail = 4; next }
	detail > 0 { print; detail-- }
	/^# Totals:/ { totals = $0; sub(/^# Totals: /, "", totals) }
	/^(not )?ok [0-9]+ / {
		printf "%s: %s\n", $NF, totals
		suites++
		if (totals !~ /fail:0/ || totals ~ /pass:0/) failed = 1
	}
	END {
		if (!suites) print "no suite ran"
		exit failed || !suites
	}' "$out/results.ktap" || code=1
exit "$code"
