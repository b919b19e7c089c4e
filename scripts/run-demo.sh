#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make run`: build what is missing, boot the stock guest with the device, and
# render the images of $IMAGES (default: artwork of Debian's desktop-base package)
# into build/run/scene.png. $DEVICE may hold device properties.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"

run=$BUILD/run
images=${IMAGES:-}

# Debian's own artwork as PNG files: several themes by Juliette Taka Belin and
# others, GPL-2+ (the package's copyright file is copied along).
default_images() {
	local dir=$CACHE/demo-images/2
	apt_refresh
	rm -rf "$dir" "$dir.tmp"
	download_debs "$dir.tmp/deb" desktop-base
	dpkg -x "$dir.tmp"/deb/*.deb "$dir.tmp/root"
	mkdir -p "$dir.tmp/png"
	# The files differ from release to release: the largest ones, each content once.
	(cd "$dir.tmp/root/usr/share" &&
		find . -type f -name '*.png' -size +30k -printf '%s %P\n' | sort -k1,1rn -k2 |
		cut -d' ' -f2 | xargs sha256sum | awk '!seen[$1]++ { print $2 }' | head -n 24 |
			while read -r f; do
				cp "$f" "$dir.tmp/png/$(printf '%s' "$f" | sed 's|^[a-z]*/||; s|/|-|g')"
			done)
	cp "$dir.tmp/root/usr/share/doc/desktop-base/copyright" "$dir.tmp/png/copyright"
	mv "$dir.tmp/png" "$dir"
	rm -rf "$dir.tmp"
}

# The demo reads what the guest sees in the shared folder.
place_images() {
	mkdir -p "$run/images"
	find "$run/images" -mindepth 1 -delete
	find -L "$1" -maxdepth 1 -type f \( -iname '*.png' -o -name copyright \) \
		-exec cp -t "$run/images" {} +
	find "$run/images" -iname '*.png' | grep -q .
}

make -s -C "$ROOT" guest-image

mkdir -p "$run"
if [ -z "$images" ]; then
	images=$CACHE/demo-images/2
	if [ ! -e "$images/copyright" ]; then
		step "fetch the default images (package desktop-base)" \
			"check the network, or give your own: make run IMAGES=dir" default_images
	fi
fi
[ -d "$images" ] || die "IMAGES=$images is not a folder" "give a folder with PNG files"
step "copy the images of $images" "put PNG files into $images" place_images "$images"
rm -f "$run/scene.png"

[ -x "$BUILD/guest-bin/tessera-demo" ] ||
	die "tessera-demo is not built" "look at build/logs/ for why userspace/ did not build"
echo "-- boot the guest and render (the demo's own words follow)"
start=$(date +%s%N)
rc=0
TESSERA_GUEST_TIMES=1 "$ROOT/scripts/guest" --kernel "${KERNEL:-stock}" --share "$run" \
	--timeout "${TIMEOUT:-300}" ${DEVICE:+--device "$DEVICE"} \
	-- tessera-demo --images /mnt/images --output /mnt </dev/null || rc=$?
ms=$((($(date +%s%N) - start) / 1000000))
if [ $rc -ne 0 ]; then
	die "the demo failed (exit code $rc)" \
		"scripts/guest --help explains the codes; the kernel log is build/guest-logs/last"
fi
[ -s "$run/scene.png" ] || die "the demo wrote no build/run/scene.png" "read its output above"
printf '   done in %d.%d s: %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$run/scene.png"
