#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The stock kernel: Debian's 6.12 image and headers, unpacked in the cache and
# not installed. build/kernels/stock/ then has vmlinuz, headers/ and modules/.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"
. "$ROOT/scripts/lib/kernel.sh"

# The packages expect to lie in /; make their links and includes point into the
# unpacked tree.
fix_headers() {
	local root=$1 link target f
	find "$root/usr/src" "$root/usr/lib" -type l | while read -r link; do
		target=$(readlink "$link")
		case $target in
		/*) ln -sfn "$root$target" "$link" ;;
		esac
	done
	grep -rlE '/usr/(src|lib)/linux-' "$root"/usr/src/linux-headers-*/Makefile \
		"$root"/usr/src/linux-headers-*/.kernelvariables \
		"$root"/usr/src/linux-headers-*/.config 2>/dev/null | while read -r f; do
		sed -i "s|/usr/src/linux-|$root&|g; s|/usr/lib/linux-|$root&|g" "$f"
	done
}

unpack() {
	local deb modules
	rm -rf "$dir.tmp" "$dir"
	mkdir -p "$dir.tmp/root"
	for deb in "$CACHE/downloads/linux-stock-$version"/*.deb; do
		dpkg -x "$deb" "$dir.tmp/root"
	done
	# Paths are written into the tree: move it to its final place first.
	mv "$dir.tmp" "$dir"
	fix_headers "$dir/root"
	modules=$(find "$dir/root" -type d -path "*lib/modules/$release" | head -n 1)
	ln -s "$dir/root/boot/vmlinuz-$release" "$dir/vmlinuz"
	ln -s "$dir/root/usr/src/linux-headers-$release" "$dir/headers"
	ln -s "$modules" "$dir/modules"
	depmod -b "${modules%/lib/modules/*}" "$release"
	echo "$release" >"$dir/release"
	# A module must be buildable against it now, or it never will be.
	mkdir "$dir/try"
	echo 'obj-m := try.o' >"$dir/try/Kbuild"
	printf '#include <linux/module.h>\nMODULE_LICENSE("GPL");\nMODULE_DESCRIPTION("try");\n' \
		>"$dir/try/try.c"
	make -C "$dir/headers" M="$dir/try" modules
	echo "$dir" >"$dir/ready"
}

# The tree names itself in its links and makefiles: in a cache that was restored at
# another place it must be unpacked again.
is_ready() { [ "$(cat "$dir/ready" 2>/dev/null)" = "$dir" ]; }

main() {
	"$ROOT/scripts/deps.sh" base kernel
	version=$(kernel_version)
	release=$(kernel_release)
	dir=$CACHE/kernel-stock/$(
		{
			echo "$version $release"
			declare -f fix_headers unpack
		} | hash_text
	)
	if ! is_ready; then
		lock kernel-stock
	fi
	if ! is_ready; then
		fetch_kernel_stock
		step "unpack the stock kernel $release and its headers" \
			"remove $CACHE/downloads/linux-stock-* and try again" unpack
		prune "$CACHE/kernel-stock" 3
	else
		note "stock kernel $release: up to date"
	fi
	touch "$dir"
	mkdir -p "$BUILD/kernels"
	ln -sfn "$dir" "$BUILD/kernels/stock"
}

main "$@"
