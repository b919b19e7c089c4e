#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make run-desktop`: Debian 13's display programs on the device's screen, looked at from
# outside; see run-desktop.py. The image with them is made once, and again for other packages.
# $CLIENTS picks programs, $DEVICE holds the properties, $KERNEL is stock or debug.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"

packages=weston,xserver-xorg-core,x11-xserver-utils,x11-xkb-utils,xkb-data,kmscube,drm-info,libdrm-tests
packages+=,libgl1-mesa-dri,libegl-mesa0,libgles2,libgbm1,nvtop,intel-gpu-tools

make_image() {
	local tar=$1.tar
	mkdir -p "$(dirname "$1")"
	mmdebstrap --variant=essential --include="$packages" --aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' trixie "$tar" "$(archive_uri)"
	python3 "$ROOT/scripts/lib/desktop.py" "$tar" "$1.tmp"
	rm -f "$tar"
	mv "$1.tmp" "$1"
}

make -s -C "$ROOT" guest-image
[ "${KERNEL:-stock}" = stock ] || make -s -C "$ROOT" module-debug
key=$( (echo "$packages"; cat "$ROOT/scripts/lib/desktop.py" "$0") | hash_text)
image=$CACHE/desktop/$key/root.cpio
lock desktop
if [ ! -s "$image" ] || [ -n "${REFRESH:-}" ]; then
	apt_need mmdebstrap debian-archive-keyring
	step "make the image with Debian 13's display programs" \
		"check the network; 'apt-get update' must work" make_image "$image"
fi
touch "$CACHE/desktop/$key"
prune "$CACHE/desktop" 2
# shellcheck disable=SC2086  # several names
exec "$ROOT/scripts/run-desktop.py" --image "$image" --kernel "${KERNEL:-stock}" \
	${DEVICE:+--device "$DEVICE"} ${CLIENTS:-}
