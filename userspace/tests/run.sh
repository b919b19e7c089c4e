#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Host tests of the library: every program speaks TAP; their results are joined into one
# stream, and the exit code says whether all passed. Usage: run.sh BUILD
set -u
build=$1
src=$(cd "$(dirname "$0")" && pwd)
failed=0
export CMOCKA_MESSAGE_OUTPUT=TAP

# The exported symbols of a library are those of the header, no more and no fewer.
check_symbols() {
	nm -D --defined-only "$1" | sed -n 's/.* T \(tessera_[a-z0-9_]*\).*/\1/p' |
		sort >"$build/tests/exported"
	tr '\n' ' ' <"$src/../libtessera/tessera.h" | tr ';' '\n' |
		sed -n 's/.*TESSERA_API .*[ *]\(tessera_[a-z0-9_]*\)(.*/\1/p' |
		sort >"$build/tests/declared"
	diff "$build/tests/declared" "$build/tests/exported"
}

# What is installed where, and does the .pc say so? Last time's must not count.
check_install() {
	root=$build/tests/root
	rm -rf "$root"
	multiarch=$("${CC:-gcc}" -print-multiarch)
	while read -r prefix libdir args; do
		# shellcheck disable=SC2086
		${MAKE:-make} -s -C "$src/.." BUILD="$build" DESTDIR="$root" PREFIX="$prefix" \
			$args install >"$build/tests/install.log" 2>&1 || return 1
		[ -e "$root$libdir/libtessera.so" ] || return 1
		[ "$(PKG_CONFIG_PATH=$root$libdir/pkgconfig pkg-config --variable=libdir \
			libtessera)" = "$libdir" ] || return 1
		[ "$(PKG_CONFIG_PATH=$root$libdir/pkgconfig pkg-config --variable=prefix \
			libtessera)" = "$prefix" ] || return 1
	done <<EOF
/usr/local /usr/local/lib
/usr /usr/lib${multiarch:+/$multiarch}
/opt/tessera /opt/tessera/lib64 LIBDIR=/opt/tessera/lib64
EOF
}

# The library as meson builds it: installed, and inside a project that vendors it.
check_meson() {
	root=$build/tests/meson
	rm -rf "$root"
	mkdir -p "$root/project/subprojects/tessera/userspace"
	cp "$src/vendored/meson.build" "$src/vendored/main.c" "$root/project"
	# No link, which would be a loop in the tree.
	(cd "$src/../.." && cp -r meson.build include "$root/project/subprojects/tessera" &&
		cp -r userspace/Makefile userspace/libtessera \
			"$root/project/subprojects/tessera/userspace")
	{
		meson setup "$root/build" "$src/../.." --prefix="$root/installed" \
			--libdir=lib64 -Dwerror=true && meson install -C "$root/build" &&
			meson setup "$root/project/build" "$root/project" &&
			meson compile -C "$root/project/build"
	} >"$root/log" 2>&1 || { sed "s/^/# /" "$root/log"; return 1; }
	check_symbols "$root/installed/lib64/libtessera.so" || return 1
	# Of the same name and version as the Makefile's.
	[ -e "$root/installed/lib64/$(basename "$(readlink -f "$build/libtessera.so")")" ] &&
		[ -e "$root/installed/lib64/$(readlink "$build/libtessera.so")" ] || return 1
	[ "$("$root/project/build/vendored")" = vendored ] || return 1
	flags=$(PKG_CONFIG_PATH=$root/installed/lib64/pkgconfig pkg-config --cflags --libs \
		libtessera) || return 1
	# shellcheck disable=SC2086
	"${CC:-gcc}" "$src/vendored/main.c" -o "$root/installed/program" $flags || return 1
	[ "$(LD_LIBRARY_PATH=$root/installed/lib64 "$root/installed/program")" = vendored ]
}

echo "TAP version 13"
if check_install; then
	echo "ok - install: PREFIX and LIBDIR, and the .pc file"
else
	echo "not ok - install: PREFIX and LIBDIR, and the .pc file"
	failed=1
fi
if check_symbols "$build/libtessera.so"; then
	echo "ok - symbols: exported symbols match tessera.h"
else
	echo "not ok - symbols: exported symbols match tessera.h"
	failed=1
fi
if ! command -v meson >/dev/null; then
	echo "ok - meson: the installed and the vendored library # SKIP no meson"
elif check_meson; then
	echo "ok - meson: the installed and the vendored library"
else
	echo "not ok - meson: the installed and the vendored library"
	failed=1
fi
for t in "$build"/tests/test_*; do
	case $t in *.o | *.d | *.tap) continue ;; esac
	name=$(basename "$t")
	if ! "$t" >"$build/tests/$name.tap" 2>&1; then
		failed=1
	fi
	if ! grep -qE '^1\.\.[0-9]+' "$build/tests/$name.tap"; then
		echo "not ok - $name: died before its plan"
		failed=1
	fi
	# One line per test, prefixed by its program; plans are dropped, diagnostics kept.
	sed -n -E "s/^(ok|not ok) [0-9]+ - /\1 - ${name#test_}: /p; s/^ERROR: /# /; /^#/p; /^\s+[^0-9]/p" \
		"$build/tests/$name.tap"
done
exit $failed
