#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `make run`: build what is missing, boot the stock guest with the device, and
# render the images of $IMAGES (default: artwork of Debian's desktop-base package)
# into build/run/scene.png. $DEVICE may hold device properties (default strict=on), $OVERSUBSCRIBE the size of
# the textures in video memories (0: the images alone), $MODEL the model, patched or vm, $DEMO_ARGS more for tessera-demo.
# The scene is shown on the device's screen, and scene.png is a picture of that, taken by QEMU.
# The driver's trace events become build/run/timeline.json and timeline.svg. After that the demo
# draws again without priorities, read sets and clean eviction in turn, to say what each saves.
set -euo pipefail
. "$(dirname "$0")/lib/common.sh"
. "$ROOT/scripts/lib/apt.sh"

run=$BUILD/run
images=${IMAGES:-}
model=${MODEL:-patched}
case $model in
patched | vm) ;;
*) die "MODEL=$model is unknown" "make run MODEL=patched or MODEL=vm" ;;
esac

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

"$ROOT/scripts/deps.sh" base qemu kernel guest userspace
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
rm -f "$run"/{scene,diff,reference}.png "$run"/{summary,timeline,trace-summary}.json \
	"$run/timeline.svg" "$run/trace.txt" "$run/wrong"

[ -x "$BUILD/guest-bin/tessera-demo" ] ||
	die "tessera-demo is not built" "look at build/logs/ for why userspace/ did not build"
# Textures of four times the video memory want a gigabyte of system memory for what is not resident.
# The trace ends when the scene is on the screen, where the demo waits for an answer.
# shellcheck disable=SC2016  # for the shell of the guest
command='t=/sys/kernel/tracing; echo 16384 >$t/buffer_size_kb; echo 1 >$t/events/tessera/enable
keep() { echo 0 >$t/events/tessera/enable; cat $t/trace >/mnt/trace.txt; }
{ '"tessera-demo --images /mnt/images --output /mnt --summary-json /mnt/summary.json \\
	--show --savings --model $model --oversubscribe ${OVERSUBSCRIBE:-4} ${DEMO_ARGS:-}"'
echo $? >/tmp/rc; } | while IFS= read -r line; do
	case $line in SCREEN*) keep ;; esac
	printf "%s\n" "$line"
done
[ -e /mnt/trace.txt ] || keep
exit "$(cat /tmp/rc)"'
# Follow the guest's words, and take the picture when it says that it is there.
watch_screen() {
	local line
	while IFS= read -r line; do
		case $line in
		"SCREEN "*)
			python3 "$ROOT/scripts/lib/screen.py" "$qmp" "$run/scene.png" "${line#SCREEN }" ||
				touch "$run/wrong"
			echo
			;;
		*) printf '%s\n' "$line" >&2 ;;
		esac
	done
}

echo "-- boot the guest and render (the demo's own words follow)"
start=$(date +%s%N)
rc=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
qmp=$work/qmp
mkfifo "$work/answers"
# Both ends are open before either side waits for the other.
exec 3<>"$work/answers"
TESSERA_GUEST_TIMES=1 "$ROOT/scripts/guest" --kernel "${KERNEL:-stock}" --share "$run" --qmp "$qmp" \
	--timeout "${TIMEOUT:-600}" --memory "${MEMORY:-3G}" --device "outputs=1,${DEVICE:-strict=on}" \
	-- "$command" <&3 2>&1 3>&- | watch_screen >&3 || rc=${PIPESTATUS[0]}
exec 3>&-
ms=$((($(date +%s%N) - start) / 1000000))
if [ -s "$run/trace.txt" ] && [ -s "$run/summary.json" ]; then
	"$ROOT/scripts/timeline.py" "$run/trace.txt" --json "$run/timeline.json" \
		--svg "$run/timeline.svg" --summary "$run/trace-summary.json" \
		--segments "$run/summary.json" --print
	"$ROOT/scripts/demo-models.py" "$run" "$model"
fi
if [ $rc -ne 0 ]; then
	die "the demo failed (exit code $rc)" \
		"scripts/guest --help explains the codes; the kernel log is build/guest-logs/last"
fi
[ ! -e "$run/wrong" ] || die "the screen did not show the scene" "look at $run/scene.png"
[ -s "$run/scene.png" ] || die "the demo wrote no build/run/scene.png" "read its output above"
printf '   done in %d.%d s: %s, timeline.svg, timeline.json (open in ui.perfetto.dev)\n' \
	$((ms / 1000)) $((ms % 1000 / 100)) "$run/scene.png"
