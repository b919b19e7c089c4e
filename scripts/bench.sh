#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The benchmark: tessera-bench in guests, answered by the host's memcpy in turn, what a still
# picture costs the host, and the split planner on the host; all merged into build/bench.json
# and a table.
#
#   scripts/bench.sh [BENCH…]     default: all
#
# RUNS sets the samples of each row, BOOTS (default 5) how often the guest is booted for rows
# that vary from boot to boot; of those the median counts, and the spread is printed. With names
# everything is measured BOOTS times, which is then 1 by default. DEVICE replaces
# the properties of the device.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

# A boot for each line: properties of its device, and what is measured on it.
groups=(
	": copy_linear copy_swizzled draw_textured empty_job split_overhead cpu_bar cpu_aperture cpu_swizzle_range fault_rate lock_unlock vm_empty_job vm_submit_scaling user_invalidate bind_4k bind_2m vm_fill"
	"host-aperture-size=0: moves oversubscribed residency_cycle"
	"vram-size=1M,vram-hidden-size=4M,gart-size=32M,preemption=off: stall_split stalled_owner"
	"vram-size=1M,vram-hidden-size=32M,gart-size=32M,preemption=on: stall_split_preempt stall_queue preempt_latency"
	"vram-size=1M,vram-hidden-size=4M,gart-size=32M,x-render-delay-us=100000,preemption=on: client_memory"
	"vram-size=1M,vram-hidden-size=4M,gart-size=32M,x-render-delay-us=100000,preemption=off: long_queue"
	"preemption=on,x-render-delay-us=200000: destroy_scaling submit_many_fences"
	"vram-size=8M,vram-hidden-size=16M: vm_clean_evict"
	"vram-size=4M,vram-hidden-size=256M: many_objects kill_submit"
	"vram-size=4M,vram-hidden-size=264M: evict_many_blocks"
	"outputs=1: flip_rate dumb_write dumb_cycle screen_update vblank_jitter"
)
# Whom the display's rows are compared with, in the guest of those.
peers=(--qemu-args "-device bochs-display -device virtio-gpu-pci -device cirrus-vga"
	--modules "bochs,virtio-gpu,cirrus")
# What the placement of the guest's memory on the host makes a difference for.
varying=" copy_swizzled moves oversubscribed "

rows=$BUILD/bench-rows.json
ref=$BUILD/userspace/memcpy-ref
[ -x "$ref" ] || die "memcpy-ref is not built" "run 'make userspace'"
: >"$rows"

# boot PROPERTIES BENCH… : rows go to the file
boot() {
	local device=${DEVICE-$1} pid line from to rc=0 more=()
	[[ $1 != *outputs=* ]] || more=("${peers[@]}")
	shift
	echo "-- boot the guest and measure $*; the host answers what it needs to know"
	coproc GUEST {
		"$ROOT/scripts/guest" --kernel "${KERNEL:-stock}" --memory "${MEMORY:-3G}" \
			--timeout "${TIMEOUT:-900}" ${device:+--device "$device"} "${more[@]}" \
			-- env "TESSERA_BENCH_RUNS=${RUNS:-7}" tessera-bench "$@"
	}
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
	exec {to}>&- {from}<&-
	wait "$pid" || rc=$?
	[ "$rc" -eq 0 ] || die "the guest's benchmark failed (exit code $rc)" "its words are above"
}

# Those of a group's benches that are asked for, in the order of the group.
chosen() {
	local bench
	for bench in ${1#*:}; do
		[[ $# -eq 1 || " ${*:2} " == *" $bench "* ]] && echo "$bench"
	done
	return 0
}

all=$(for group in "${groups[@]}"; do chosen "$group"; done)$'\n'idle_screen
for name in "$@"; do
	grep -qx -e "$name" <<<"$all" || die "there is no bench '$name'" "there are ${all//$'\n'/, }"
done
boots=${BOOTS:-$(($# ? 1 : 5))}
for ((n = 1; n <= boots; n++)); do
	for group in "${groups[@]}"; do
		benches=()
		for bench in $(chosen "$group" "$@"); do
			[[ $n -eq 1 || $# -gt 0 || $varying == *" $bench "* ]] && benches+=("$bench")
		done
		[ ${#benches[@]} -eq 0 ] || boot "${group%%:*}" "${benches[@]}"
	done
done

if [[ $# -eq 0 || " $* " == *" idle_screen "* ]]; then
	echo "-- boot two guests and measure idle_screen"
	for ((n = 1; n <= ($# ? boots : 1); n++)); do
		"$ROOT/scripts/bench-idle.py" >>"$rows"
	done
fi

files=("$rows")
if [ $# -eq 0 ]; then
	echo "-- measure the split planner on this machine"
	"$ROOT/scripts/bench-planner.sh" >"$BUILD/bench-planner.json"
	files+=("$BUILD/bench-planner.json")
fi
exec "$ROOT/scripts/bench-merge.py" --output "$BUILD/bench.json" "${files[@]}"
