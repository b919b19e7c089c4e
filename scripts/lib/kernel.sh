# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Which 6.12 kernel the archive offers, and its packages. Source after apt.sh;
# the caller sets $version and $release from the two functions.

# kernel_version: the version of Debian's 6.12 packages, looked up once and then
# kept, so that a later run needs no network; REFRESH=1 asks again.
kernel_version() {
	local f
	f=$CACHE/kernel-version-$(os_codename)
	if [ ! -s "$f" ] || [ -n "${REFRESH:-}" ]; then
		apt_refresh >&2
		apt-cache policy linux-source-6.12 | awk '/Candidate:/ { print $2 }' >"$f.tmp"
		grep -q '^6\.12\.' "$f.tmp" || die "the archive offers no linux-source-6.12" \
			"'apt-get update', and keep the security suite among the system's sources"
		mv "$f.tmp" "$f"
	fi
	cat "$f"
}

# kernel_release: the name of the stock flavour of $version, e.g. 6.12.1+deb12-amd64.
kernel_release() {
	local f release
	f=$CACHE/kernel-release-$version
	if [ ! -s "$f" ]; then
		apt_refresh >&2
		release=$(apt-cache search --names-only "^linux-headers-6\.12\.[0-9]+\+deb[0-9]+-amd64\$" |
			awk '{ print $1 }' | while read -r p; do
			apt-cache show "$p" | awk -v p="$p" -v v="$version" \
				'/^Version:/ && $2 == v { print p }'
		done | head -n 1)
		[ -n "$release" ] || die "no kernel headers of version $version in the archive" \
			"REFRESH=1 make kernels, to look for a newer version"
		echo "${release#linux-headers-}" >"$f.tmp"
		mv "$f.tmp" "$f"
	fi
	cat "$f"
}

_fetch() {
	local dir=$1
	shift
	rm -rf "$dir.tmp"
	download_debs "$dir.tmp" "$@"
	mv "$dir.tmp" "$dir"
}

fetch_kernel_source() {
	local dir=$CACHE/downloads/linux-source-$version
	[ -d "$dir" ] && return
	apt_refresh
	step "fetch the source of Linux $version" \
		"check the network; if the version is gone from the archive: REFRESH=1 make kernels" \
		_fetch "$dir" "linux-source-6.12=$version"
}

fetch_kernel_stock() {
	local dir=$CACHE/downloads/linux-stock-$version
	[ -d "$dir" ] && return
	apt_refresh
	step "fetch the image and headers of Linux $version" \
		"check the network; if the version is gone from the archive: REFRESH=1 make kernels" \
		_fetch "$dir" "linux-image-$release" "linux-headers-$release" \
		"linux-headers-${release%-amd64}-common" "linux-kbuild-${release%-amd64}"
}
