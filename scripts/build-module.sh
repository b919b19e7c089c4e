#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Build the driver. Sources are copied, so the checkout stays clean; compiler
# warnings (W=1) are printed.
#
#   scripts/build-module.sh stock [MAKE-ARG…]   out of tree, against Debian's headers:
#                                               build/module-stock/tessera.ko
#   scripts/build-module.sh debug [MAKE-ARG…]   in the debug kernel's tree, with KUnit tests:
#                                               build/module-debug/tessera.ko, tessera_kunit.ko
#
# MAKE-ARGs go to Kbuild, e.g. C=2 for sparse.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"

driver=drivers/gpu/drm/tessera
flavour=${1:-}
[ $# -gt 0 ] && shift
extra=("$@")
fix="fix the driver; the complete log is in build/logs/"
export STEP_SHOW='warning:|WARNING:'

sync_in() { rsync -rc --delete --exclude '.*' --exclude '*~' "$@"; }

# Nothing to do when neither the sources nor the kernel changed since last time.
inputs_key() {
	{
		readlink -f "$BUILD/kernels/$flavour"
		echo "${extra[*]}"
		hash_tree $driver include kunit Kbuild scripts/build-module.sh
	} | hash_text
}

# Objects built by a plain M= build are stale after another kernel's.
for_kernel() {
	local tree=$1 kernel
	kernel=$(readlink -f "$BUILD/kernels/$flavour")
	if [ "$(cat "$tree/.kernel" 2>/dev/null)" != "$kernel" ]; then
		rm -rf "$tree"
		mkdir -p "$tree"
		echo "$kernel" >"$tree/.kernel"
	fi
}

compile_stock() {
	local src=$out/src
	for_kernel "$src"
	mkdir -p "$src/$driver" "$src/include"
	# Objects that were built stay; sources that are gone go.
	sync_in --filter 'P *.o' --filter 'P *.ko' --filter 'P *.mod*' --filter 'P .*' \
		--filter 'P *.symvers' --filter 'P modules.order' \
		"$ROOT/$driver/" "$src/$driver/"
	sync_in "$ROOT/include/" "$src/include/"
	rsync -c "$ROOT/Kbuild" "$src/Kbuild"
	make -C "$BUILD/kernels/stock/headers" M="$src" W=1 -j "$JOBS" "${extra[@]}" modules
	cp "$src/$driver/tessera.ko" "$out/tessera.ko.new"
	mv "$out/tessera.ko.new" "$out/tessera.ko"
}

# The tree in the cache is shared: whoever holds the lock puts its own sources in.
compile_debug() {
	local tree=$BUILD/kernels/debug/ ko
	sync_in --filter 'P *.o' --filter 'P *.ko' --filter 'P *.mod*' --filter 'P .*' \
		--filter 'P *.symvers' --filter 'P modules.order' --filter 'P /kunit/' \
		"$ROOT/$driver/" "$tree$driver/"
	if [ -d "$ROOT/kunit" ]; then
		mkdir -p "$tree$driver/kunit"
		sync_in --filter 'P *.o' --filter 'P *.ko' --filter 'P *.mod*' --filter 'P .*' \
			--filter 'P *.symvers' --filter 'P modules.order' \
			"$ROOT/kunit/" "$tree$driver/kunit/"
	else
		mkdir -p "$tree$driver/kunit"
		: >"$tree$driver/kunit/Makefile"
	fi
	mkdir -p "$tree/include/uapi/drm" "$tree/include/tessera"
	if [ -d "$ROOT/include/uapi/drm" ]; then
		rsync -rc "$ROOT/include/uapi/drm/" "$tree/include/uapi/drm/"
	fi
	if [ -d "$ROOT/include/tessera" ]; then
		sync_in "$ROOT/include/tessera/" "$tree/include/tessera/"
	fi
	make -C "$tree" M=$driver W=1 -j "$JOBS" "${extra[@]}" modules
	# A guest may start at any moment: each file is replaced at once.
	rm -rf "$out/new"
	mkdir "$out/new"
	find "$tree$driver" -name '*.ko' -exec cp -t "$out/new" {} +
	for ko in "$out"/*.ko; do
		[ -e "$out/new/$(basename "$ko")" ] || rm -f "$ko"
	done
	mv -f "$out"/new/*.ko "$out/"
	rmdir "$out/new"
	[ -e "$out/tessera.ko" ]
}

main() {
	case $flavour in
	stock) kernel_target="kernel-stock" ;;
	debug) kernel_target="kernel-debug" ;;
	*) die "usage: scripts/build-module.sh stock|debug [MAKE-ARG…]" ;;
	esac
	"$ROOT/scripts/deps.sh" base kernel
	[ -e "$BUILD/kernels/$flavour" ] ||
		die "the $flavour kernel is not there" "make $kernel_target"
	[ -f "$ROOT/$driver/Makefile" ] ||
		die "$driver/Makefile does not exist" "the driver's sources are missing; check out the tree again"
	out=$BUILD/module-$flavour
	key=$(inputs_key)
	if [ "$(cat "$out/key" 2>/dev/null)" = "$key" ] && [ -e "$out/tessera.ko" ]; then
		note "driver for the $flavour kernel: up to date"
		# Not older than sources that were only touched.
		touch "$out/tessera.ko"
		return
	fi
	mkdir -p "$out"
	if [ "$flavour" = debug ]; then
		lock module-debug
	else
		lock "module-stock-$(printf '%s' "$ROOT" | hash_text)"
	fi
	# Another run may have built it while this one waited.
	if [ "$(cat "$out/key" 2>/dev/null)" = "$key" ]; then
		return
	fi
	rm -f "$out/key"
	step "build the driver for the $flavour kernel${extra[*]:+ (${extra[*]})}" "$fix" \
		"compile_$flavour"
	echo "$key" >"$out/key"
}

main
