#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The debug kernel: Linux 6.12 from Debian's source package, tinyconfig plus
# scripts/debug-kernel.config, with a place for the driver in the tree. The
# driver itself is a module (scripts/build-module.sh), so this is built once.
#
#   scripts/build-debug-kernel.sh           build; build/kernels/debug is the tree
#   scripts/build-debug-kernel.sh --path    print the tree in the cache
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"
. "$ROOT/scripts/lib/kernel.sh"

inputs=(scripts/debug-kernel.config scripts/debug-kernel.Kconfig
	drivers/gpu/drm/tessera/Kconfig)

unpack() {
	rm -rf "$dir.tmp"
	mkdir -p "$dir.tmp/deb" "$dir.tmp/src"
	dpkg-deb --fsys-tarfile "$CACHE/downloads/linux-source-$version"/linux-source-6.12_*.deb |
		tar -C "$dir.tmp/deb" -xf - --wildcards '*/linux-source-6.12.tar.xz'
	tar -C "$dir.tmp/src" --strip-components=1 \
		-xf "$dir.tmp/deb/usr/src/linux-source-6.12.tar.xz"
	rm -rf "$dir.tmp/deb"

	# The driver's place. It has no sources here: only its Kconfig, so that
	# nothing that is built now depends on them.
	local drm=$dir.tmp/src/drivers/gpu/drm
	mkdir -p "$drm/tessera"
	cp "$ROOT/drivers/gpu/drm/tessera/Kconfig" "$drm/tessera/Kconfig"
	cp "$ROOT/scripts/debug-kernel.Kconfig" "$drm/Kconfig.tessera-debug"
	echo '# the driver comes with scripts/build-module.sh' >"$drm/tessera/Makefile"
	sed -i 's|^source "drivers/gpu/drm/vmwgfx/Kconfig"|&\
source "drivers/gpu/drm/tessera/Kconfig"\
source "drivers/gpu/drm/Kconfig.tessera-debug"|' "$drm/Kconfig"
	grep -q 'drm/tessera/Kconfig' "$drm/Kconfig"
	echo 'obj-$(CONFIG_DRM_TESSERA) += tessera/' >>"$drm/Makefile"
	mv "$dir.tmp" "$dir"
}

config() {
	local line lost=0
	make -C "$src" tinyconfig
	(cd "$src" && scripts/kconfig/merge_config.sh -m .config \
		"$ROOT/scripts/debug-kernel.config")
	make -C "$src" olddefconfig
	# An option that was dropped is an error here, not a surprise later.
	while read -r line; do
		case $line in
		CONFIG_*=n)
			if grep -q "^${line%=n}=" "$src/.config"; then
				echo "error: $line did not hold"
				lost=1
			fi
			;;
		CONFIG_*)
			if ! grep -qx "$line" "$src/.config"; then
				echo "error: $line was dropped (a dependency is missing)"
				lost=1
			fi
			;;
		esac
	done <"$ROOT/scripts/debug-kernel.config"
	[ $lost = 0 ]
}

compile() {
	make -C "$src" -j "$JOBS" bzImage
	make -C "$src" -j "$JOBS" modules
	[ -s "$src/Module.symvers" ] || cp "$src/vmlinux.symvers" "$src/Module.symvers"
	# Objects are not needed again: modules are built against headers,
	# generated files and Module.symvers.
	find "$src" -name '*.o' ! -path "$src/scripts/*" ! -path "$src/tools/*" -delete
	find "$src" -name '*.a' -delete
	touch "$dir/built"
}

# A tree that somebody has put in place of ours is used as it is.
use_foreign() {
	local place=$BUILD/kernels/debug tree
	[ -e "$place" ] || return 1
	tree=$(readlink -f "$place")
	case $tree in
	*/kernel-debug/*/src) [ ! -e "${tree%/src}/built" ] || return 1 ;;
	esac
	[ -e "$tree/arch/x86/boot/bzImage" ] && [ -e "$tree/Module.symvers" ] ||
		die "build/kernels/debug is another kernel tree, $tree, and not built" \
			"build it there, or remove build/kernels/debug for the project's own"
	warn "build/kernels/debug is another kernel: $tree is used as it is (remove build/kernels/debug for the project's own)"
}

main() {
	if [ "${1:-}" != --path ] && use_foreign; then
		return
	fi
	# The compiler's version is in the key below; --path prints nothing but the path.
	"$ROOT/scripts/deps.sh" base kernel >&2
	version=$(kernel_version)
	dir=$CACHE/kernel-debug/$({
		echo "$version $(gcc -dumpfullversion 2>/dev/null)"
		hash_tree "${inputs[@]}"
		declare -f unpack config compile
	} | hash_text)
	src=$dir/src
	if [ "${1:-}" = --path ]; then
		echo "$src"
		return
	fi
	if [ ! -e "$dir/built" ]; then
		lock kernel-debug
	fi
	if [ ! -e "$dir/built" ]; then
		fetch_kernel_source
		if [ ! -d "$dir" ]; then
			step "unpack the source of Linux $version" \
				"remove $CACHE/downloads and try again" unpack
		fi
		step "configure the debug kernel" \
			"correct scripts/debug-kernel.config" config
		step "build the debug kernel ($JOBS jobs; some minutes)" \
			"read the log; remove $dir to start over" compile
		prune "$CACHE/kernel-debug" 3
	else
		note "debug kernel $version: up to date"
	fi
	touch "$dir"
	mkdir -p "$BUILD/kernels"
	ln -sfn "$src" "$BUILD/kernels/debug"
}

main "$@"
