#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the guest, on a device whose largest memory segment lies in guest RAM: the
# demo's exit code says whether every pixel is that of the CPU renderer, and no
# paging operation copies into or out of that segment (TAP).
dir=$(mktemp -d) || exit 1
tracing=/sys/kernel/tracing
n=0

verdict() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
	fi
}

uma=$(tessera-info | awk '/^segment .* uma$/ { print $2 }')
echo 16384 >$tracing/buffer_size_kb
for model in patched vm; do
	echo >$tracing/trace
	echo 1 >$tracing/events/tessera/tessera_paging_op/enable
	tessera-demo --output "$dir" --oversubscribe 1.5 --model $model >"$dir/log" 2>&1
	verdict $? "SEG-36 the scene in UMA memory, $model: identical pixels"
	sed 's/^/# /' "$dir/log"
	echo 0 >$tracing/events/tessera/tessera_paging_op/enable
	cp $tracing/trace "$dir/trace"
	grep -q "kind=map .* dst=$uma:" "$dir/trace"
	verdict $? "SEG-36 the scene in UMA memory, $model: pages were handed over"
	! grep -Eq "kind=(transfer|fill) .*(src|dst)=$uma:" "$dir/trace"
	verdict $? "SEG-36 the scene in UMA memory, $model: without a copy"
done
echo "1..$n"
rm -rf "$dir"
