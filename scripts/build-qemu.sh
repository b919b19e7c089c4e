#!/bin/bash
# SPDX-License-Identifier: MIT
#
# QEMU with the Tessera device, in build/qemu/.
#
# Debian 13's QEMU source is fetched and unpacked once, the device is registered
# in it (nothing else is changed), and qemu-device/ is copied in. One build tree
# of each version stays in the cache, so a changed device costs only its own
# objects; finished binaries are kept by the content of everything they were made
# from.
#
# The variable QEMU selects the version, 10.0 or 11.1. Without it: 10.0. A version
# other than 10.0 has its name in the folder: build/qemu-11.1/.
#
#   scripts/build-qemu.sh            build and place build/qemu/
#   scripts/build-qemu.sh asan|tsan  the same, the device under AddressSanitizer and
#                                    UBSan or ThreadSanitizer: build/qemu-asan/, -tsan/
#   scripts/build-qemu.sh --path     print the build tree in the cache
#   scripts/build-qemu.sh --key [asan|tsan]  print what the finished binaries are kept by
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"

# The versions, and the suite of Debian 13 that has each of them.
default_release=10.0
declare -A suites=([10.0]=trixie [11.1]=trixie-backports)

configure_options=(
	--target-list=x86_64-softmmu
	--without-default-features
	--enable-tcg --enable-kvm --enable-pixman --enable-fdt=system
	--enable-vnc --enable-png --enable-virtfs --enable-attr
	--enable-trace-backends=log
	--disable-docs --disable-tools --disable-install-blobs
)
# What of this repository goes into QEMU's tree.
overlay_inputs=(qemu-device include/tessera)

# What a sanitizer looks at: the device, and those units of QEMU without which it
# would misjudge the device (stacks of coroutines; how threads hand work on) or
# could not tell a leak of QEMU's own by who made it.
declare -A san_flags=(
	[asan]="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
	[tsan]="-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan -iquote tsan"
)
declare -A san_units=(
	[asan]='/(hw/display/tessera/|util/coroutine-ucontext\.c|qom/object\.c|qobject/json-writer\.c)'
	[tsan]='/(hw/display/tessera/|util/(coroutine-ucontext|async|rcu|qemu-thread-posix)\.c)'
)

# The version is looked up once and then stays, so that a later run needs no
# network; REFRESH=1 asks again.
qemu_version() {
	local f=$CACHE/qemu-version$suffix
	if [ ! -s "$f" ] || [ -n "${REFRESH:-}" ]; then
		suite_refresh "$suite" >&2
		suite_apt "$suite" apt-cache showsrc qemu | awk -v start="1:$release." \
			'/^Version:/ && index($2, start) == 1 && !n++ { print $2 }' >"$f.tmp"
		[ -s "$f.tmp" ] || die "no source of QEMU $release in the archive" \
			"check that the archive in the system's sources carries Debian's $suite"
		mv "$f.tmp" "$f"
	fi
	cat "$f"
}

# QEMU's source and firmware of one suite, and the Python modules that configure it.
fetch() {
	local dir=$1
	suite_setup trixie
	[ "$suite" = trixie ] || suite_setup "$suite"
	rm -rf "$dir.tmp"
	mkdir -p "$dir.tmp/debs"
	(cd "$dir.tmp" && suite_apt "$suite" apt-get source --download-only "qemu=$version")
	download_suite_debs trixie "$dir.tmp/debs" meson python3-pycotap \
		python3-wheel python3-packaging
	download_suite_debs "$suite" "$dir.tmp/debs" seabios qemu-system-data
	# Later versions than 10.0 do not bring it.
	[ "$suite" = trixie ] ||
		download_suite_debs "$suite" "$dir.tmp/debs" python3-qemu-qmp
	for deb in "$dir.tmp"/debs/*.deb; do
		dpkg -x "$deb" "$dir.tmp/root"
	done
	mv "$dir.tmp" "$dir"
}

# Copy one folder or file so that only changed files get a new time.
sync_in() { rsync -rc --delete --exclude '*~' --exclude '.*' "$@"; }

# What the device's folder must hold even before it is written.
placeholder() {
	mkdir -p "$1"
	touch "$1/meson.build" "$1/Kconfig" "$1/trace-events"
	echo '#include "trace/trace-hw_display_tessera.h"' >"$1/trace.h"
}

qtest_meson() {
	# One list of tests and of the helpers linked into each of them.
	local t helpers="" names=""
	for t in "$ROOT"/qemu-device/tests/tessera-*.c; do
		[ -e "$t" ] || continue
		t=$(basename "$t" .c)
		case $t in
		*-test) names+="  '$t'," ;;
		*) helpers+=" '../$t.c'," ;;
		esac
	done
	cat <<-END
		tessera_qtests = [$names]
		tessera_qtest_helpers = files($helpers)
	END
}

# One state of the sources, however they are edited meanwhile: what is built is
# what the key says.
snapshot() {
	inputs=$(mktemp -d)
	trap 'rm -rf "$inputs"' EXIT
	(cd "$ROOT" && rsync -rR --ignore-missing-args --exclude docs/ --exclude '*~' \
		--exclude '.*' "${overlay_inputs[@]/#/./}" "$inputs/")
}

# Copy the device and its tests into the tree.
overlay() {
	local src=$1 device=$1/hw/display/tessera tests=$1/tests/qtest
	if [ -f "$inputs/qemu-device/meson.build" ]; then
		sync_in --exclude tests/ --exclude host/ "$inputs/qemu-device/" "$device/"
		# What depends on the host, each in a folder of its own of QEMU's.
		if [ -d "$inputs/qemu-device/host" ]; then
			rsync -rc "$inputs/qemu-device/host/" "$src/host/"
		fi
	else
		placeholder "$device"
	fi
	mkdir -p "$src/include/tessera" "$tests/tessera"
	if [ -d "$inputs/include/tessera" ]; then
		sync_in "$inputs/include/tessera/" "$src/include/tessera/"
	fi
	# Tests and their headers stand directly in tests/qtest.
	for old in "$tests"/tessera-*.[ch]; do
		[ -e "$inputs/qemu-device/tests/$(basename "$old")" ] || rm -f "$old"
	done
	if [ -d "$inputs/qemu-device/tests" ]; then
		find "$inputs/qemu-device/tests" -maxdepth 1 -name 'tessera-*.[ch]' -print0 |
			rsync -c --from0 --files-from=- --no-relative / "$tests/"
	fi
	qtest_meson >"$tests/tessera/meson.build.new"
	if cmp -s "$tests/tessera/meson.build.new" "$tests/tessera/meson.build"; then
		rm "$tests/tessera/meson.build.new"
	else
		mv "$tests/tessera/meson.build.new" "$tests/tessera/meson.build"
	fi
}

# The only lines of QEMU's own that change.
register() {
	local src=$1
	echo "subdir('tessera')" >>"$src/hw/display/meson.build"
	echo "source tessera/Kconfig" >>"$src/hw/display/Kconfig"
	sed -i "s|^    'hw/display',|&\n    'hw/display/tessera',|" "$src/meson.build"
	grep -q "'hw/display/tessera'" "$src/meson.build"
	# Debian's tarball has no firmware images to unpack.
	sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' "$src/meson.build"
	if grep -q 'unpack_edk2_blobs = bzip2' "$src/meson.build"; then
		return 1
	fi
	python3 - "$src/tests/qtest/meson.build" <<-'END'
		import sys
		path = sys.argv[1]
		text = open(path, encoding="utf-8").read()
		anchor = "foreach dir : target_dirs"
		assert text.count(anchor) == 1, "tests/qtest/meson.build is not as expected"
		extra = ("subdir('tessera')\n"
		         "qtests_x86_64 += tessera_qtests\n"
		         "foreach test : tessera_qtests\n"
		         "  qtests += {test: tessera_qtest_helpers}\n"
		         "endforeach\n\n")
		open(path, "w", encoding="utf-8").write(text.replace(anchor, extra + anchor))
	END
}

unpack() {
	rm -rf "$tree.tmp"
	mkdir -p "$tree.tmp"
	dpkg-source --no-check -x "$fetched"/qemu_*.dsc "$tree.tmp/src"
	register "$tree.tmp/src"
	overlay "$tree.tmp/src"
	mv "$tree.tmp" "$tree"
}

run_configure() {
	mkdir -p "$tree/build"
	# Debian 12's meson is too old; Debian 13's is pure Python and runs beside.
	printf '#!/bin/sh\nPYTHONPATH=%s exec python3 %s "$@"\n' \
		"$fetched/root/usr/lib/python3/dist-packages" "$fetched/root/usr/bin/meson" \
		>"$tree/meson"
	chmod +x "$tree/meson"
	(cd "$tree/build" &&
		PYTHONPATH=$fetched/root/usr/lib/python3/dist-packages \
			../src/configure "${configure_options[@]}")
	touch "$tree/configured"
}

# The same rules, with some objects made once more; see sanitize-ninja.py.
compile_sanitized() {
	cd "$tree/build"
	export PYTHONPATH=$fetched/root/usr/lib/python3/dist-packages
	ninja build.ninja
	if [ "$kind" = tsan ]; then
		# Found before QEMU's own, which says that this is no such build.
		mkdir -p tsan
		printf '#include "../config-host.h"\n#undef CONFIG_TSAN\n#define CONFIG_TSAN 1\n' \
			>tsan/config-host.h.new
		cmp -s tsan/config-host.h.new tsan/config-host.h || mv tsan/config-host.h.new tsan/config-host.h
	fi
	python3 "$ROOT/scripts/lib/sanitize-ninja.py" "$kind" "${san_flags[$kind]}" \
		"${san_units[$kind]}" <build.ninja >"$kind.ninja"
	ninja -j "$JOBS" -f "$kind.ninja" "$kind/qemu-system-x86_64"
	store "$kind/qemu-system-x86_64"
}

compile() {
	cd "$tree/build"
	export PYTHONPATH=$fetched/root/usr/lib/python3/dist-packages
	local targets=(qemu-system-x86_64) t
	# Configure again first where the build files ask for it: test names below
	# may be new.
	ninja build.ninja
	for t in "$inputs"/qemu-device/tests/tessera-*-test.c; do
		[ -e "$t" ] && targets+=("tests/qtest/$(basename "$t" .c)")
	done
	ninja -j "$JOBS" "${targets[@]}"
	store "${targets[@]}"
}

# Keep the finished binaries by content.
store() {
	rm -rf "$entry.tmp"
	mkdir -p "$entry.tmp/share" "$(dirname "$entry")"
	cp "$@" "$entry.tmp/"
	find "$fetched"/root/usr/share/{seabios,qemu} -type f \
		\( -name '*.bin' -o -name '*.rom' -o -name '*.img' \) -size -2M \
		-exec cp -t "$entry.tmp/share" {} +
	# Without a keymap there is no VNC server.
	install -D -m 644 -t "$entry.tmp/share/keymaps" "$fetched/root/usr/share/qemu/keymaps/en-us"
	rm -rf "$entry"
	mv "$entry.tmp" "$entry"
}

# Hard links where the cache is on the same file system, else copies.
place() {
	rm -rf "$placed.tmp"
	cp -al "$entry" "$placed.tmp" 2>/dev/null ||
		{ rm -rf "$placed.tmp"; cp -a "$entry" "$placed.tmp"; }
	echo "$key" >"$placed.tmp/key"
	rm -rf "$placed"
	mv "$placed.tmp" "$placed"
	touch "$entry"
}

# The binaries depend on the tree, on what is copied into it, and on how.
binary_key() {
	{
		echo "$tree_key"
		ROOT=$inputs hash_tree "${overlay_inputs[@]}"
		declare -f sync_in overlay qtest_meson compile store
		if [ -n "$kind" ]; then
			echo "$kind ${san_flags[$kind]} ${san_units[$kind]}"
			declare -f compile_sanitized
			hash_tree scripts/lib/sanitize-ninja.py
		fi
	} | hash_text
}

# The tree as it must be before anything is compiled in it.
prepare() {
	if [ ! -d "$fetched/root" ]; then
		step "fetch QEMU $version, meson and firmware" \
			"check the network; if the archive has the files no longer: REFRESH=1 make qemu" \
			fetch "$fetched"
	fi
	if [ ! -d "$tree" ]; then
		step "unpack QEMU $version and register the device" \
			"remove $CACHE/downloads and try again" unpack
		prune "$CACHE/qemu" 4
	else
		overlay "$tree/src"
	fi
	if [ ! -e "$tree/configured" ]; then
		step "configure QEMU $version" "read the log; remove $tree to start over" run_configure
	fi
}

main() {
	local what=build call=compile title
	case ${1:-} in
	--path | --key)
		what=$1
		shift
		;;
	esac
	release=${QEMU:-$default_release}
	suite=${suites[$release]:-}
	[ -n "$suite" ] || die "QEMU=$release is unknown" "QEMU=10.0 or QEMU=11.1"
	suffix=
	[ "$release" = "$default_release" ] || suffix=-$release
	title="build QEMU $release with the device"
	kind=${1:-}
	case $kind in
	'') ;;
	asan | tsan)
		call=compile_sanitized
		title+=" under ${kind}"
		;;
	*) die "usage: scripts/build-qemu.sh [--path|--key] [asan|tsan]" ;;
	esac
	# The finished program needs the libraries, too.
	if [ "$what" = build ]; then
		"$ROOT/scripts/deps.sh" base qemu
	fi
	version=$(qemu_version)
	fetched=$CACHE/downloads/qemu-${version//[^0-9A-Za-z.]/_}
	# The tree depends on the version, the options and the registration.
	tree_key=$({
		echo "$version ${configure_options[*]}"
		declare -f register placeholder run_configure
	} | hash_text)
	tree=$CACHE/qemu/$tree_key
	if [ "$what" = --path ]; then
		echo "$tree"
		return
	fi
	snapshot
	key=$(binary_key)
	if [ "$what" = --key ]; then
		echo "$key"
		return
	fi
	entry=$CACHE/qemu-bin/$key
	placed=$BUILD/qemu$suffix${kind:+-$kind}

	if [ "$(cat "$placed/key" 2>/dev/null)" = "$key" ]; then
		note "QEMU $version with the device${kind:+ under $kind}: up to date"
		return
	fi
	[ -d "$tree" ] && touch "$tree"
	if [ ! -x "$entry/qemu-system-x86_64" ]; then
		lock "qemu$suffix"
		prepare
		STEP_SHOW='warning:' step "$title ($JOBS jobs)" \
			"fix the device in qemu-device/; if QEMU itself does not build, remove $tree" $call
		prune "$CACHE/qemu-bin" 12
	fi
	step "place QEMU in build/${placed##*/}" "check the free space below $BUILD" place
}

main "$@"
