#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The benchmark: tessera-bench in the guest, answered by the host's memcpy in turn, and the
# split planner on the host; both merged into build/bench.json and a table. Arguments
# are names of benches in the guest (default: all); RUNS sets the samples of each row.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

rows=$BUILD/bench-rows.json
ref=$BUILD/userspace/memcpy-ref
[ -x "$ref" ] || die "memcpy-ref is not built" "run 'make userspace'"
: >"$rows"

guest=("$ROOT/scripts/guest" --kernel "${KERNEL:-stock}" --memory "${MEMORY:-3G}"
	--timeout "${TIMEOUT:-600}" ${DEVICE:+--device "$DEVICE"}
	-- env "TESSERA_BENCH_RUNS=${RUNS:-7}" tessera-bench "$@")
echo "-- boot the guest and measure; the host answers what it needs to know"
coproc GUEST { "${guest[@]}"; }
pid=$GUEST_PID
# The variables of a coprocess vanish with it: keep its files.
exec {from}<&"${GUEST[0]}" {to}>&"${GUEST[1]}"
eval "exec ${GUEST[1]}>&-"
while IFS= read -r line <&"$from"; do
	line=${line%$'\r'}
	case $line in
	"REF memcpy "*)
		# Answer when the reference is gone: giving its memory back takes
		# time that is not to fall into the next sample.
		answer=$("$ref" "${line#REF memcpy }")
		printf '%s\n' "$answer" >&"$to"
		;;
	"ROW "*)
		printf '%s\n' "${line#ROW }" >>"$rows"
		printf '   %s\n' "$(expr "$line" : '.*"name": "\([^"]*\)"')"
		;;
	*)
		printf '%s\n' "$line"
		;;
	esac
done
exec {to}>&-
rc=0
wait "$pid" || rc=$?
[ "$rc" -eq 0 ] || die "the guest's benchmark failed (exit code $rc)" "its words are above"

files=("$rows")
if [ $# -eq 0 ] && [ -x "$ROOT/scripts/bench-planner.sh" ]; then
	echo "-- measure the split planner on this machine"
	"$ROOT/scripts/bench-planner.sh" >"$BUILD/bench-planner.json"
	files+=("$BUILD/bench-planner.json")
fi
exec "$ROOT/scripts/bench-merge.py" --output "$BUILD/bench.json" "${files[@]}"
