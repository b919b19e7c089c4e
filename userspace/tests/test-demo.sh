#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest: the demo, with textures of more than the video memory in one submission, and others that the CPU writes
# meanwhile, draws the same picture however it is cut, and it is that of the CPU renderer to the bit (TAP).
dir=$(mktemp -d) || exit 1
n=0

# demo NAME ARGUMENTS...: the demo's exit code says whether every pixel is right.
demo() {
	name=$1
	shift
	n=$((n + 1))
	mkdir -p "$dir/$n"
	tessera-demo --output "$dir/$n" --oversubscribe 1.5 "$@" >"$dir/log" 2>&1
	rc=$?
	sed 's/^/# /' "$dir/log"
	if [ $rc -eq 0 ] && cmp -s "$dir/1/scene.png" "$dir/$n/scene.png"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name (exit code $rc)"
	fi
}

demo "SPLIT-2 SPLIT-35 larger than memory, cut where needed" --force-split none
# Or nothing was shown by the first.
if grep -Eq '^parts +scene ([2-9]|[1-9][0-9])' "$dir/log"; then
	echo "ok 2 - SPLIT-1 SPLIT-14 it was cut"
else
	echo "not ok 2 - SPLIT-1 SPLIT-14 it was cut"
fi
n=2
# What the CPU writes while that is drawn goes where it lies, and follows it out of memory.
seen() {
	n=$((n + 1))
	if grep -Eq "^  $2 .*[1-9][0-9]* faults on $3" "$dir/log"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
	fi
}
seen "SWZ-4 kept pointers: BAR 2" bar bar
seen "SWZ-6 kept pointers: swizzling ranges" swizzle-range swizzle-range
seen "CHA-1 kept pointers: host aperture" host-aperture host-aperture
seen "SWZ-13 SWZ-14 kept pointers: evicted under way" bar system
seen "SWZ-25 kept pointers: the twin of a surface" surface system
demo "SPLIT-3 SPLIT-4 SPLIT-27 the same, cut everywhere" --force-split all
demo "SPLIT-3 SPLIT-4 the same, cut at random" --force-split random=7
demo "RES-1 RES-2 RES-5 the same at virtual addresses, in phases" --model vm
# One phase would have proved nothing.
n=$((n + 1))
if grep -Eq '^phases +scene ([2-9]|[1-9][0-9])' "$dir/log"; then
	echo "ok $n - RES-3 it did not fit at once"
else
	echo "not ok $n - RES-3 it did not fit at once"
fi
# verdict NAME CONDITION: as awk knows it, with the variables of copies().
verdict() {
	n=$((n + 1))
	if awk "$vars BEGIN { exit !($2) }"; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1: expected $2"
	fi
}

# field NAME KEY: a number from the line NAME of the JSON summary; 0 if it is missing.
field() {
	value=$(sed -n "s/^ *\"$1\": .*\"$2\": *\([0-9]*\).*/\1/p" "$dir/json")
	echo "${value:-0}"
}

# The bytes that the paging engine copied for the scene, with all techniques and without each.
copies() {
	vars="BEGIN { all_in = $(field paged in); all_out = $(field paged out)
		clean = $(field paged clean); MiB = 1048576
		textures = $(sed -n 's/.*"texture_bytes": *\([0-9]*\).*/\1/p' "$dir/json")
		priorities_in = $(field paged_without_priorities in)
		priorities_out = $(field paged_without_priorities out)
		sets_in = $(field paged_without_read-sets in)
		sets_out = $(field paged_without_read-sets out)
		dirty_out = $(field paged_without_clean-eviction out) }"
}

# What came back and would have been evicted is 8 MiB, what is read in the aperture 27 MiB, and
# what is evicted after the sheet has only read it more than 100 MiB.
# Seven more pictures take minutes under the debug kernel, and copy the same bytes there.
models="patched vm"
[ "${TESSERA_KERNEL:-}" = debug ] && models=
for model in $models; do
	n=$((n + 1))
	tessera-demo --output "$dir" --oversubscribe 4 --model $model --savings \
		--summary-json "$dir/json" >"$dir/log" 2>&1
	rc=$?
	sed 's/^/# /' "$dir/log"
	if [ $rc -eq 0 ] && [ "$(grep -c '^saved by .*; right$' "$dir/log")" -ge 2 ]; then
		echo "ok $n - SEG-37 SEG-38 RES-9 $model: the same picture without each technique"
	else
		echo "not ok $n - SEG-37 SEG-38 RES-9 $model: the same picture without each technique"
	fi
	copies
	verdict "SEG-37 $model: priorities keep in memory what comes back" \
		"priorities_in >= all_in + 4 * MiB && priorities_out >= all_out - MiB"
	verdict "RES-9 $model: textures that were only read leave without a copy" \
		"all_out > 0 && all_out <= textures + MiB && clean >= 100"
	verdict "RES-9 $model: the same textures are copied if jobs may write them" \
		"dirty_out >= all_out + 50 * MiB"
	[ $model = vm ] || verdict "SEG-38 $model: textures in the aperture are not copied in" \
		"sets_in >= all_in + 15 * MiB && sets_out >= all_out - MiB"
done
echo "1..$n"
rm -rf "$dir"
